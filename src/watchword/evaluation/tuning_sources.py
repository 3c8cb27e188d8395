"""Sources of tuning: subjects that models read fold by fold, or scores as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from watchword._checks import IntArray, Label, as_choice
from watchword.data import Subject
from watchword.evaluation.folds import folds_of, folds_of_scores
from watchword.evaluation.held_out import HeldOutFold
from watchword.evaluation.replaying import is_positive
from watchword.evaluation.scores import BYS, By, Scores, score_streams
from watchword.evaluation.tuning_result import Tuning
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.readers import teach


@dataclass(frozen=True, eq=False)
class FromSubjects:
    """Subjects whose posts are read by models taught with the other folds."""

    subjects: list[Subject]
    parts: list[list[int]]
    positive: Label
    base: dict[str, Any]
    by: By
    threads: int | None

    @cached_property
    def totals(self) -> IntArray:
        """The number of posts of each subject."""
        return np.array([len(one.posts) for one in self.subjects], np.int64)

    def held_out(self) -> Iterator[HeldOutFold]:
        """Yield the subjects of each fold."""
        as_choice("by", self.by, BYS)
        for part in self.parts:
            own = [self.subjects[index] for index in part]
            truth = np.array([one.label == self.positive for one in own], np.bool_)
            yield HeldOutFold.of((one.id for one in own), truth, self.totals[part], self.by)

    def can_refine(self, setting: dict[str, Any]) -> bool:
        """Return whether models with these parameters can be refined."""
        return engine_of(TauSS3(**(self.base | setting))).parameters.suits_refining

    def read(self, settings: list[dict[str, Any]], refined: bool) -> Iterator[Scores]:
        """Yield the scores of each fold's subjects with each setting.

        Models are taught with the longest n-grams of any setting. A refined model has the
        parameters of the only setting, for which its corrections hold.
        """
        longest = [setting["max_ngram"] for setting in settings if "max_ngram" in setting]
        own = settings[0] if refined else {"max_ngram": max(longest)} if longest else {}
        for part in self.parts:
            taught = TauSS3(**(self.base | own))
            teach(taught, self.without(part), refine=refined, threads=self.threads)
            for setting in settings:
                yield self._scored(part, taught.replace(**setting))

    def without(self, part: list[int]) -> list[Subject]:
        """Return all subjects but those of a fold."""
        left_out = set(part)
        return [one for index, one in enumerate(self.subjects) if index not in left_out]

    def tested(self, part: list[int], tuning: Tuning) -> Scores:
        """Return the scores of a fold's subjects with a model that was tuned on the others."""
        return self._scored(part, tuning.model(self.without(part), threads=self.threads))

    def _scored(self, part: list[int], model: TauSS3) -> Scores:
        own = [self.subjects[index] for index in part]
        return score_streams(own, model, self.positive, by=self.by, threads=self.threads)


@dataclass(frozen=True, eq=False)
class FromScores:
    """Scores as they are, in folds."""

    scores: Scores
    parts: list[list[int]]

    base: ClassVar[None] = None  # there is no model

    @property
    def totals(self) -> IntArray:
        """The number of posts of each subject."""
        return self.scores.totals

    def held_out(self) -> Iterator[HeldOutFold]:
        """Yield the subjects of each fold."""
        for part in self.parts:
            own = self.scores.chosen(part)
            yield HeldOutFold.of(own.subjects, is_positive(own), own.totals, own.by)

    def can_refine(self, _setting: dict[str, Any]) -> bool:
        """Return False: there is no model."""
        return False

    def read(self, _settings: list[dict[str, Any]], _refined: bool) -> Iterator[Scores]:
        """Yield the scores of each fold's subjects."""
        for part in self.parts:
            yield self.scores.chosen(part)

    def without(self, part: list[int]) -> Scores:
        """Return the scores of all subjects but those of a fold."""
        return self.scores.chosen(np.setdiff1d(np.arange(self.totals.size), part).tolist())

    def tested(self, part: list[int], _tuning: Tuning) -> Scores:
        """Return the scores of a fold's subjects."""
        return self.scores.chosen(part)


def tuning_source(
    subjects: Iterable[Subject] | Scores,
    positive: Label,
    *,
    model: TauSS3 | None,
    parameters: object,
    by: By,
    threads: int | None,
    **dealing: Any,
) -> FromSubjects | FromScores:
    """Return the source for arguments of `tune`; `dealing` are further ones of `folds_of`."""
    if isinstance(subjects, Scores):
        _check_scores(subjects, positive, by, parameters=parameters or None, model=model)
        return FromScores(subjects, folds_of_scores(subjects, **dealing))
    listed = list(subjects)
    parts = folds_of(listed, positive, **dealing)
    base = {} if model is None else model.parameters
    return FromSubjects(listed, parts, positive, base, by, threads)


def _check_scores(scores: Scores, positive: Label, by: By, **models: object) -> None:
    """Raise `ValueError` if an argument of `tune` does not fit the scores."""
    for name, value in models.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used with scores, which have no model")
    if positive != scores.positive:
        raise ValueError(
            f"the scores are for the label {scores.positive!r}, but the policies for {positive!r}"
        )
    if as_choice("by", by, BYS) != "post" and scores.by != by:
        raise ValueError(f"by={by!r} cannot be used with scores after each {scores.by}")
