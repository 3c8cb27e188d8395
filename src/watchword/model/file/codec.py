"""Codec: a model to the manifest and arrays of a model file, and back (docs/model-file.md)."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping
from typing import Any

from watchword import _native
from watchword.errors import HookError, ModelFormatError
from watchword.model.engine import Engine, MappedFile
from watchword.model.file import container, layout
from watchword.model.parameters import (
    EARLIER,
    LEVELS,
    SUMMARY_NAMES,
    TABLE,
    Parameters,
    Summary,
    SummaryOperator,
)
from watchword.model.text import (
    MissingFunction,
    TextSource,
    Tokenizer,
    WordHook,
    check_function,
    function_name,
)


def parts_of(engine: Engine) -> tuple[dict[str, Any], container.Arrays]:
    """Return the manifest and the arrays of a model."""
    manifest, arrays = layout.to_file(engine.snapshot())
    return manifest | settings_of(engine), arrays


def settings_of(engine: Engine) -> dict[str, Any]:
    """Return the parameters and the text settings of a model for the manifest."""
    parameters = engine.parameters
    own = parameters.as_dict() | {"summary": parameters.operator_names}
    return {"parameters": own, "reading": engine.source.description}


def bytes_of(engine: Engine) -> bytes:
    """Return the model file as bytes."""
    buffer = io.BytesIO()
    container.write_model(buffer, *parts_of(engine))
    return buffer.getvalue()


_fingerprints: dict[int, str] = {}  # a cache, by state of a model
_FINGERPRINTS_KEPT = 64


def fingerprint_of(engine: Engine) -> str:
    """Return a hash of 32 hexadecimal digits, equal for equal models; costs a save per change."""
    state = engine.native.state()
    known = _fingerprints.get(state)
    if known is None:
        if engine.described is None:
            text = container.manifest_text(*parts_of(engine))
        else:
            manifest = engine.described["totals"] | settings_of(engine)
            text = container.described_text(manifest, engine.described["arrays"])
        known = hashlib.sha256(text.encode()).hexdigest()[:32]
        if engine.native.state() == state:  # no other thread changed the model meanwhile
            if len(_fingerprints) >= _FINGERPRINTS_KEPT:
                _fingerprints.clear()
            _fingerprints[state] = known
    return known


def engine_from(
    data: bytes | memoryview, functions: Functions, *, source: str = "the data"
) -> Engine:
    """Return the model in a file, with these functions; `source` names the file in messages."""
    manifest, arrays = container.read_model(data, source=source)
    parameters, text_source = functions.settle(manifest, source)
    built = layout.from_file(manifest, arrays, parameters.max_ngram, source=source)
    return engine_built(built, parameters, text_source, source=source)


def engine_built(
    snapshot: Mapping[str, Any], parameters: Parameters, text_source: TextSource, *, source: str
) -> Engine:
    """Return the model with the counts of a snapshot; `source` names its origin in messages."""
    try:
        native = _native.Model.from_snapshot(parameters.for_native(), dict(snapshot))
    except (_native.SnapshotFailure, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{source} is corrupt: {error}") from None
    return Engine(parameters, text_source, native)


def engine_over(path: str | os.PathLike[str], functions: Functions) -> Engine:
    """Return a model whose counts are mapped from a file, with these functions.

    Only the manifest is read at first.
    """
    source = str(path)
    manifest, arrays = container.read_model(
        container.mapped_file(path), source=source, checksums=False
    )
    parameters, text_source = functions.settle(manifest, source)
    known = layout.totals_from_file(manifest, source=source)
    refined = container.FIT in manifest
    placed = layout.in_place(arrays, parameters.max_ngram, refined=refined, source=source)
    try:
        native = _native.Model.from_mapped(
            parameters.for_native(), known | {"maxima": placed["maxima"]}, placed, source
        )
    except (_native.SnapshotFailure, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{source} is corrupt: {error}") from None
    described = layout.as_written(
        manifest["arrays"], arrays, parameters.max_ngram, len(known["labels"]), refined=refined
    )
    if described is not None:
        described = {"totals": layout.totals_to_file(known), "arrays": described}
    file = MappedFile(source, manifest["arrays"], arrays)
    return Engine(parameters, text_source, native, described, file)


class Functions:
    """The user-defined functions of a model, which are not stored in its file."""

    def __init__(
        self, word_hook: WordHook | None, tokenizer: Tokenizer | None, summary: Summary | None
    ) -> None:
        self._given = {"word_hook": word_hook, "tokenizer": tokenizer}
        for role, function in self._given.items():
            check_function(role, function)
        self._summary = None if summary is None else Parameters(summary=summary).operators

    def settle(self, manifest: Mapping[str, Any], source: str) -> tuple[Parameters, TextSource]:
        """Return the parameters and the text source of a manifest; `source` names the file."""
        given = self._given
        try:
            parameters = _parameters(manifest["parameters"], self._summary)
            reading = manifest["reading"]
            unicode = reading["unicode"]
            taught = {name: reading[name] for name in given}
            if parameters.paragraphs != reading["paragraphs"]:
                raise ValueError("contradictory entries")
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFormatError(
                f"{source} is corrupt: bad entry in the manifest: {error}"
            ) from None
        if unicode != _native.unicode_version:
            raise ModelFormatError(
                f"{source} was taught with Unicode {unicode}, but this version of watchword "
                f"uses Unicode {_native.unicode_version}: train the model again"
            )
        functions = {name: _hook(name, given[name], taught[name], source) for name in given}
        return parameters, TextSource(parameters.paragraphs, parameters.tokenization, **functions)


def _parameters(kept: Mapping[str, Any], summary: Summary | None) -> Parameters:
    own = EARLIER | dict(kept)
    # Every parameter must be in the file: a later version may have other defaults.
    for one in TABLE:
        if one.name not in own:
            raise KeyError(one.name)
    if not set(own["summary"]) <= set(LEVELS):
        raise ValueError(f"summary {own['summary']!r}")
    if summary is None:
        summary = {level: _operator(name) for level, name in own["summary"].items()}
    return Parameters(**(own | {"summary": summary}))


def _operator(name: object) -> SummaryOperator:
    if not isinstance(name, str):
        raise TypeError(f"summary {name!r}")
    for known in SUMMARY_NAMES:
        if name == known:
            return known
    return MissingFunction("summary", name)


def _hook(
    role: str, given: Callable[..., Any] | None, taught: str | None, source: str
) -> Callable[..., Any] | None:
    """Return the given function, or a placeholder if the model needs one that was not given."""
    if given is None:
        return None if taught is None else MissingFunction(role, taught)
    if function_name(given) != taught:
        raise HookError(f"{source} was taught with the {role} {taught}, got {function_name(given)}")
    return given
