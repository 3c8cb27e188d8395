"""Functions that score texts, used as models: streams, states and clients for any classifier."""

from __future__ import annotations

from watchword._checks import Label, as_label
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import function_name
from watchword.streams.policies import Policy
from watchword.streams.readers import Reader, Watcher
from watchword.streams.sources import FunctionSource, ScoreFunction, ScoreSource, load_function
from watchword.streams.steps import EMA_WEIGHT, Combination, CombineName


class FunctionModel:
    """A classifier of any kind: a function from a list of texts to scores from 0 to 1.

    A score is the probability of the positive label. The scores of a subject's posts are combined
    as in `Scores.from_posts`, with the same values to the last digit. Readers, watchers, `replay`
    and the eRisk client take this model like a `TauSS3`.

    States belong to the function's `name` and `version` and to the combination: change the version
    whenever the function returns other scores.

    Parameters
    ----------
    function
        called with a list of texts, never empty; returns a score for each.
    positive
        the label whose probability the scores are.
    other
        the name of the other label [default: "other", or 0 or 1 if the positive label is a number].
    combine, ema_weight
        how scores of posts are combined: `"mean"`, `"sum"`, `"last"`, `"max"`, or `"ema"`, an
        exponential moving average with the weight `ema_weight` of the latest post.
    name, version
        identify the function [default: its own name, and its attribute `version`, if any].

    >>> import watchword as ww
    >>> def shouting(texts):
    ...     return [text.isupper() for text in texts]
    >>> model = FunctionModel(shouting, "loud", combine="last")
    >>> watcher = model.watcher(ww.Reaches("loud", threshold=0.5))
    >>> [alert.subject for alert in watcher.read_many(["ann", "bob"], ["Hello.", "GO AWAY"])]
    ['bob']
    """

    def __init__(
        self,
        function: ScoreFunction,
        positive: Label,
        *,
        other: Label | None = None,
        combine: CombineName = "mean",
        ema_weight: float = EMA_WEIGHT,
        name: str | None = None,
        version: str | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be a function from texts to scores, got {function!r}")
        label = as_label(positive)
        if other is None:
            other = "other" if isinstance(label, str) else int(label == 0)
        if as_label(other) == label:
            raise ValueError(f"positive and other must be different labels, got {label!r} for both")
        self._source = FunctionSource(
            function,
            (label, as_label(other)),
            function_name(function) if name is None else name,
            str(getattr(function, "version", "") if version is None else version),
            Combination(combine, ema_weight),
        )

    @classmethod
    def load(
        cls,
        name: str,
        positive: Label,
        *,
        other: Label | None = None,
        combine: CombineName = "mean",
        ema_weight: float = EMA_WEIGHT,
    ) -> FunctionModel:
        """Return the model of a function that is named like `module:function`.

        Its version is the function's attribute `version`, if it has one.
        """
        function = load_function(name)
        return cls(
            function, positive, other=other, combine=combine, ema_weight=ema_weight, name=name
        )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The positive and the other label."""
        return self._source.labels

    @property
    def fingerprint(self) -> str:
        """A hash of the name, the version and the combination, to which states belong."""
        return self._source.fingerprint

    def reader(
        self,
        policy: Policy,
        *,
        state: bytes | str | None = None,
        allow_changed_model: bool = False,
    ) -> Reader:
        """Return a reader for the posts of one subject; see `TauSS3.reader`."""
        return Reader(self._source, policy, state=state, allow_changed_model=allow_changed_model)

    def watcher(
        self,
        policy: Policy,
        *,
        state: bytes | memoryview | None = None,
        allow_changed_model: bool = False,
    ) -> Watcher:
        """Return a watcher for the posts of many subjects; see `TauSS3.watcher`."""
        return Watcher(self._source, policy, state=state, allow_changed_model=allow_changed_model)

    def __repr__(self) -> str:
        rule = self._source.combination
        return f"<FunctionModel {self._source.name} for {self.labels[0]!r}, combined by {rule.how}>"


def score_source(model: TauSS3 | FunctionModel) -> ScoreSource:
    """Return the object that reads posts for a model; not for users of the package."""
    return model._source if isinstance(model, FunctionModel) else engine_of(model)
