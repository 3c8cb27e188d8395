"""Sources of evidence about posts: a model of this package, or a function that scores texts."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from watchword._checks import FloatArray, Label, as_label
from watchword._display import many
from watchword.errors import HookError, UnknownLabelError
from watchword.model.engine import Engine
from watchword.model.file import codec
from watchword.model.results import ConfidenceTable
from watchword.streams.steps import SUM, Combination, gains_of

ScoreFunction = Callable[[list[str]], ArrayLike]
"""A function from texts to scores: the probability of the positive label of each, from 0 to 1."""


@dataclass(frozen=True)
class FunctionSource:
    """A function that scores texts, with what a watcher asks of a model."""

    function: ScoreFunction
    labels: tuple[Label, Label]  # the positive one first
    name: str
    version: str
    combination: Combination

    is_native: ClassVar[bool] = False

    @property
    def fingerprint(self) -> str:
        """A hash of 32 hexadecimal digits of the name, the version and the combination."""
        rule = self.combination
        described = [
            self.name,
            self.version,
            rule.how,
            rule.ema_weight if rule.how == "ema" else None,
        ]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]

    def evidence(self, texts: list[str], _threads: int) -> ConfidenceTable:
        """Return the values of posts for both labels; see `gains_of`."""
        scores = self._scores(texts) if texts else np.zeros(0)
        return ConfidenceTable(self.labels, gains_of(scores))

    def _scores(self, texts: list[str]) -> FloatArray:
        try:
            returned = self.function(texts)
        except Exception as error:
            raise HookError(f"{self.name} raised {type(error).__name__}: {error}") from error
        try:
            scores = np.asarray(returned, np.float64)
        except (TypeError, ValueError):
            kind = type(returned).__name__
            raise HookError(f"{self.name} must return numbers, one per text, got {kind}") from None
        if scores.ndim != 1:
            got = f"an array of the shape {scores.shape}" if scores.ndim else repr(returned)
            column = " (of predict_proba, return the positive label's column)"
            raise HookError(
                f"{self.name} must return one number per text, got {got}"
                f"{column if scores.ndim == 2 else ''}"
            )
        if scores.size != len(texts):
            raise HookError(
                f"{self.name} returned {many(scores.size, 'score')} for {many(len(texts), 'text')}"
            )
        wrong = np.flatnonzero(~((scores >= 0) & (scores <= 1)))
        if wrong.size:
            raise HookError(
                f"{self.name} returned {scores[wrong[0]]:g} for text {wrong[0] + 1} of "
                f"{len(texts)}: scores must be from 0 to 1 (pass other scores, such as decision "
                "values, through the logistic function first)"
            )
        return scores

    def known_label(self, label: Label) -> Label:
        """Return the label as a plain `str` or `int`; raise if it is not the positive one."""
        known = as_label(label)
        if known != self.labels[0]:
            raise UnknownLabelError(f"{self.name} scores {self.labels[0]!r}, not {known!r}")
        return known

    def refuse_if_unreadable(self) -> None:
        """Do nothing: a function needs no learning."""


ScoreSource = Engine | FunctionSource


def source_fingerprint(source: ScoreSource) -> str:
    """Return a hash of 32 hexadecimal digits that identifies a model."""
    if isinstance(source, FunctionSource):
        return source.fingerprint
    return codec.fingerprint_of(source)


def combination_of(source: ScoreSource) -> Combination:
    """Return how the posts of a subject combine."""
    return source.combination if isinstance(source, FunctionSource) else SUM


def load_function(name: str) -> ScoreFunction:
    """Import a function by its name `module:function`.

    >>> load_function("math:prod").__name__
    'prod'
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise ValueError(f"{name!r} is not like module:function")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            where = f"is {missing.replace('.', '/')}.py in the current folder, or installed?"
            raise HookError(f"there is no module {missing!r} ({where})") from None
        raise HookError(
            f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    try:
        function: Any = reduce(getattr, path.split("."), module)
    except AttributeError:
        known = [one for one in vars(module) if callable(getattr(module, one)) and one[0] != "_"]
        listed = ", ".join(known[:10]) or "none"
        raise HookError(
            f"the module {module_name!r} has no function {path!r} (its functions: {listed})"
        ) from None
    if not callable(function):
        raise HookError(f"{name} is not a function, but {type(function).__name__}")
    return function  # type: ignore[no-any-return]
