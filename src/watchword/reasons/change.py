"""Counterfactual changes: the fewest n-gram occurrences without which a decision would differ.

The contributions of these occurrences are set to zero and everything else stays as read; the text
is not read again without them. If values are summarised by sums or means, the result is exact for
labels and for the paper's policy: no smaller set changes the decision. Otherwise a smaller set may
exist, and `Change.exact` is false. In a refined model, blocks are zeroed and the bias stays; the
result is exact for labels, but not for alerts, because posts add probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from watchword._arrays import BoolArray, IntArray
from watchword._checks import Label
from watchword._display import ToDict
from watchword.model.engine import Engine, decide
from watchword.reasons.smallest import Goal, SmallestSet, Works, fewest_in_order, smallest
from watchword.reasons.weights import Weights, weigh

Aim = Literal["label", "delay", "cancel"]

ROUNDING = 8 * np.finfo(np.float64).eps  # error per addition, a generous bound
_MOST_RIVALS = 20  # labels tried if the result is not exact


@dataclass(frozen=True)
class Occurrence(ToDict):
    """An occurrence of an n-gram: its offsets, its post (from 1), its contribution per label."""

    ngram: str
    start: int
    end: int
    contribution: tuple[float, ...]
    post: int | None = None


@dataclass(frozen=True)
class Change(ToDict):
    """The fewest occurrences that would have changed a decision; false if there are none.

    `aim` is `"label"` (another label of a text), `"delay"` (a later alert, or none) or `"cancel"`
    (no alert). `before` and `after` are labels, or delays of the alert with 0 for no alert. `exact`
    is true if provably no smaller set, or no set at all, changes the decision.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> print(model.what_would_change("A match about machine learning"))
    Without 1 of the 4 n-grams the label would be tech instead of sports. No fewer would do.
    """

    aim: Aim
    labels: tuple[Label, ...]
    before: Label
    after: Label
    possible: bool
    exact: bool
    occurrences: tuple[Occurrence, ...]
    total: int  #: number of occurrences with a nonzero value

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self) -> str:
        if not self.possible:
            aims = {
                "label": "change the label",
                "delay": "delay the alert",
                "cancel": "cancel the alert",
            }
            if self.exact:
                return f"Removing n-grams cannot {aims[self.aim]}."
            return f"No set of n-grams was found whose removal would {aims[self.aim]}."
        few = f"{len(self.occurrences):,} of the {self.total:,} n-grams"
        without = f"Without {few if self.total > 1 else 'the only n-gram'}"
        if self.aim == "label":
            text = f"{without} the label would be {self.after} instead of {self.before}."
        elif self.after:
            text = (
                f"{without} the alert would come after {self.after:,} posts, not {self.before:,}."
            )
        else:
            text = f"{without} there would be no alert."
        return f"{text} {'No fewer' if self.exact else 'Perhaps fewer'} would do."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `text` is the change in words."""
        return {"text": str(self)} | super().to_dict()


# A text and its label


def change_of_label(engine: Engine, text: str) -> Change:
    """Return the smallest change that would have given a text another label."""
    frozen = engine.replaced(engine.parameters)
    weights, labels, default = weigh(frozen, text), frozen.labels, frozen.default_label()

    def decided(places: IntArray) -> Label:
        values = weights.without(mask_of(places, len(weights.places)))
        return decide(labels, values.reshape(1, -1), default=lambda: default)[0]

    before = decided(np.zeros(0, np.int64))
    found = _found_for_label(
        weights,
        labels.index(before),
        lambda places: decided(places) != before,
        may_be_empty=weights.score is None and default != before,
    )
    after = before if found.places is None else decided(found.places)
    change = make_change("label", labels, before, found, [weights])
    return replace(change, after=after)


def _found_for_label(
    weights: Weights, winner: int, works: Works, *, may_be_empty: bool
) -> SmallestSet:
    others = [column for column in range(weights.values.shape[1]) if column != winner]
    every = np.flatnonzero(weights.values.any(axis=1))
    if not every.size:
        return SmallestSet(None, True)
    if weights.adds_up:
        goals = [goal for other in others if (goal := _overtaken(weights, winner, other))]
        found = smallest(goals, works)
    else:
        totals = weights.without(np.zeros(len(weights.places), np.bool_))
        others.sort(key=lambda column: -float(totals[column]))
        found = SmallestSet(None, False)
        for other in others[:_MOST_RIVALS]:
            gains = weights.values[:, winner] - weights.values[:, other]
            order = np.argsort(-gains, kind="stable")
            tried = fewest_in_order(order[gains[order] > 0], works)
            found = min(found, tried, key=lambda one: one.size)
    if may_be_empty and len(every) < found.size:
        # A text without values gets the default label, so zeroing every occurrence works.
        return SmallestSet(every, found.certain)
    return found


def _overtaken(weights: Weights, winner: int, other: int) -> Goal | None:
    """Return the goal that another label wins; in a tie, the label that is first in order wins."""
    ahead, behind = weights.contributions[:, winner], weights.contributions[:, other]
    gains = ahead - behind
    need, size = float(gains.sum()), float(np.abs(ahead).sum() + np.abs(behind).sum())
    if weights.score is not None:
        need = float(weights.score[winner] - weights.score[other])
        size += float(np.abs(weights.score[[winner, other]]).sum())
    elif other > winner and (weights.values[:, winner] >= weights.values[:, other]).all():
        return None  # no value of the other label is larger, so its sum can never be larger
    concerned = np.flatnonzero((ahead != 0) | (behind != 0))
    return Goal(concerned, gains[concerned], need, ROUNDING * (len(gains) + 8) * size)


# Shared by texts and subjects


def mask_of(places: IntArray, size: int) -> BoolArray:
    """Return a mask that is true at these indices."""
    mask = np.zeros(size, np.bool_)
    mask[places] = True
    return mask


def make_change(
    aim: Aim, labels: tuple[Label, ...], before: Label, found: SmallestSet, read: list[Weights]
) -> Change:
    """Return a change with n-grams and posts; the caller must replace `after`."""
    places = [] if found.places is None else sorted(found.places.tolist())
    return Change(
        aim=aim,
        labels=labels,
        before=before,
        after=before,
        possible=found.places is not None,
        exact=found.certain or len(places) == 1,  # no nonempty set is smaller than one
        occurrences=tuple(_occurrences(aim, places, read)),
        total=sum(int(weights.values.any(axis=1).sum()) for weights in read),
    )


def _occurrences(aim: Aim, places: list[int], read: list[Weights]) -> Iterator[Occurrence]:
    ends = np.cumsum([len(weights.places) for weights in read])
    for place in places:
        at = int(np.searchsorted(ends, place, side="right"))
        weights = read[at]
        inside = place - (int(ends[at]) - len(weights.places))
        start, end, ngram = weights.places[inside]
        contribution = tuple(weights.contributions[inside].tolist())
        post = None if aim == "label" else at + 1
        yield Occurrence(ngram, start, end, contribution, post)
