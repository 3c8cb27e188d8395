"""Model files in worker processes: opened once per process, and checked against the driver's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from watchword.errors import ModelFormatError
from watchword.model.engine import engine_of
from watchword.model.functions import check_function
from watchword.model.tau_ss3 import TauSS3
from watchword.spark.needs import check_shippable

_open: dict[tuple[object, ...], TauSS3] = {}
_KEPT = 4  # models per process; a stream may switch to a new model


@dataclass(frozen=True)
class ModelFile:
    """A reference to a model file for workers: its path, and its identity."""

    path: str
    fingerprint: str | None = None
    functions: dict[str, Any] = field(default_factory=dict)  # arguments of `TauSS3.load`
    digest: str = ""  # of the functions; with other functions it is another model

    def open(self) -> TauSS3:
        """Return the model, shared by all calls in a process."""
        try:
            found = Path(self.path).stat()
        except OSError as error:
            raise ModelFormatError(
                f"a worker cannot read the model file {self.path} ({error.strerror}): put it under "
                "this path on every machine, on shared storage or as a copy"
            ) from None
        which = (found.st_ino, found.st_size, found.st_mtime_ns, self.fingerprint)
        key = (self.path, *which, self.digest)
        model = _open.get(key)
        if model is None:
            model = TauSS3.load(self.path, mapped=True, **self.functions)
            if self.fingerprint is not None and model.fingerprint != self.fingerprint:
                raise ModelFormatError(
                    f"a worker has another model file at {self.path} than the driver: "
                    "copy the same file to all machines"
                )
            if len(_open) >= _KEPT:
                _open.clear()
            _open[key] = model
        return model


def seen_by_driver(path: str | os.PathLike[str], **functions: object) -> tuple[ModelFile, TauSS3]:
    """Return the reference to a model file as seen by the driver, and the model in it.

    `functions` are those of `TauSS3.load`: `word_hook`, `tokenizer` and `summary`.
    """
    absolute = str(Path(path).expanduser().absolute())
    if not Path(absolute).is_file():
        raise ModelFormatError(f"model file {absolute} not found: the driver also needs it")
    for role, function in functions.items():
        if role != "summary":
            check_function(role, function)
        check_shippable(role, function)
    file = ModelFile(absolute, None, functions, _digest(*functions.values()))
    model = file.open()
    engine_of(model).refuse_if_unreadable()
    return replace(file, fingerprint=model.fingerprint), model


def _digest(*functions: object) -> str:
    """Return a digest of functions as sent to workers; empty without functions."""
    from pyspark import cloudpickle

    if all(function is None for function in functions):
        return ""
    dumps: Callable[[object], bytes] = cloudpickle.dumps
    return hashlib.sha256(dumps(functions)).hexdigest()
