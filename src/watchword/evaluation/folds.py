"""Stratified folds of texts and of subjects, reproducible by seed, and cross-validation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from watchword._checks import (
    IntArray,
    Label,
    Progress,
    Targets,
    are_several,
    as_choice,
    as_label_sets,
    as_labelled_texts,
    as_list,
    as_whole,
    refuse_one_label,
    reprs,
    tracked,
)
from watchword.data import Subject
from watchword.data.times import in_utc
from watchword.errors import UnknownLabelError
from watchword.evaluation.counts import in_order
from watchword.evaluation.labels import Evaluation, compared
from watchword.evaluation.scores import Scores
from watchword.model.tau_ss3 import TauSS3

Order = Literal["random", "time"]
ORDERS: tuple[Order, ...] = get_args(Order)

_MOST_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Fold:
    """The indices of the texts that are held out together; all other texts are learnt."""

    repeat: int
    number: int
    held_out: IntArray

    def others(self, texts: int) -> IntArray:
        """Return the indices that are not held out, given the number of texts."""
        return np.setdiff1d(np.arange(texts), self.held_out)


def deal(
    labels: Sequence[Label] | Sequence[Collection[Label]],
    *,
    folds: int = 5,
    groups: Sequence[Hashable] | None = None,
    repeats: int = 1,
    seed: int = 0,
) -> list[Fold]:
    """Return stratified folds in which every text is held out once per repeat.

    Texts of one group are always in the same fold, and labels are spread as evenly as that allows.
    A label with fewer texts than folds is missing from some folds, but a label with at least two
    texts is never confined to one fold: the model for that fold would not know it. (With groups, or
    several labels per text, this may be impossible.) Each repeat shuffles again; the first repeats
    do not depend on the number of repeats.

    >>> for fold in deal(["a", "a", "b", "b", "b", "b"], folds=2):
    ...     print(fold.number, fold.held_out.tolist())
    0 [0, 3, 4]
    1 [1, 2, 5]
    """
    given = as_list(labels, "labels")
    wanted = as_whole("folds", folds, 2)
    times = as_whole("repeats", repeats, 1)
    start = as_whole("seed", seed, 0, _MOST_SEED)
    if len(given) < wanted:
        raise ValueError(f"{wanted} folds need at least {wanted} texts, got {len(given)}")
    spread = _spreader(given, None if groups is None else as_list(groups, "groups"), wanted)
    dealt = []
    for repeat in range(times):
        generator = np.random.default_rng([start, repeat])
        parts = spread(generator)
        dealt += [
            Fold(repeat, number, np.array(sorted(part), np.int64))
            for number, part in enumerate(parts)
        ]
    return dealt


def _spreader(
    labels: list[object], groups: list[Hashable] | None, folds: int
) -> Callable[[np.random.Generator], list[list[int]]]:
    """Return a function that deals the texts to folds."""
    sets = as_label_sets(labels)
    order = in_order(label for one in sets for label in one)
    if groups is None and not are_several(labels):
        by_label: dict[Label, list[int]] = {label: [] for label in order}
        for index, (label,) in enumerate(sets):
            by_label[label].append(index)
        return partial(_dealt, list(by_label.values()), folds)
    members = _members(groups, len(sets), folds)
    # In order, because sets have another order in every process, and sums of floats depend on it.
    counts = [
        Counter(label for index in unit for label in in_order(sets[index])) for unit in members
    ]
    return lambda generator: _Units(members, counts, folds).spread(generator)


def _members(groups: list[Hashable] | None, texts: int, folds: int) -> list[list[int]]:
    """Return the indices of each group's texts, groups in order of appearance."""
    if groups is None:
        return [[index] for index in range(texts)]
    if len(groups) != texts:
        raise ValueError(f"{texts} labels but {len(groups)} groups")
    found: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        if group is None or group != group:  # NaN: an empty cell of a table
            raise ValueError(f"groups[{index}] is missing ({group!r}): every text needs a group")
        found.setdefault(group, []).append(index)
    if len(found) < folds:
        raise ValueError(f"{folds} folds need at least {folds} groups, got {len(found)}")
    return list(found.values())


def _dealt(
    groups: Iterable[Sequence[int]], folds: int, generator: np.random.Generator
) -> list[list[int]]:
    """Shuffle each group of indices and deal all of them to the folds in turn."""
    parts: list[list[int]] = [[] for _ in range(folds)]
    shuffled = chain.from_iterable(generator.permutation(group).tolist() for group in groups)
    for number, index in enumerate(shuffled):
        parts[number % folds].append(index)
    return parts


class _Units:
    """Units that stay together: the texts of a group, or one text.

    They are assigned to folds one by one, each where its labels are rarest so far.
    """

    def __init__(self, members: list[list[int]], counts: list[Counter[Label]], folds: int) -> None:
        self._members, self._counts = members, counts  # by unit: its texts, and their labels
        self._total = Counter[Label]()
        self._holders = Counter[Label]()  # number of units with each label
        for own in counts:
            self._total.update(own)
            self._holders.update(own.keys())
        self._home: dict[int, int] = {}  # the fold of each unit
        self._sizes, self._texts = [0] * folds, [0] * folds  # numbers of units and of texts
        self._labels = [Counter[Label]() for _ in range(folds)]

    def spread(self, generator: np.random.Generator) -> list[list[int]]:
        """Return the texts of each fold."""
        # Units that are hard to place come first, so that the others can fill the gaps: large
        # units, units with many labels, then units with rare labels.
        rarity = [min((self._total[x] for x in own), default=0) for own in self._counts]
        shuffled: list[int] = generator.permutation(len(self._members)).tolist()
        shuffled.sort(
            key=lambda unit: (-len(self._members[unit]), -len(self._counts[unit]), rarity[unit])
        )
        for unit in shuffled:
            self._put(unit)
        self._spare_labels(shuffled)
        parts: list[list[int]] = [[] for _ in self._texts]
        for unit, fold in self._home.items():
            parts[fold] += self._members[unit]
        return parts

    def _spare_labels(self, order: list[int]) -> None:
        """Move a unit of each label that is confined to one fold, if another fold is better."""
        confined = [
            label
            for counts in self._labels
            for label, count in counts.items()
            if count == self._total[label] and self._holders[label] > 1
        ]
        for label in confined:
            for unit in order:
                if self._counts[unit][label] and self._move(unit):
                    break

    def _move(self, unit: int) -> bool:
        here = self._home[unit]
        if self._sizes[here] == 1:  # no fold may become empty
            return False
        self._sizes[here] -= 1
        self._texts[here] -= len(self._members[unit])
        self._labels[here].subtract(self._counts[unit])
        return self._put(unit) != here

    def _put(self, unit: int) -> int:
        """Assign a unit to the best fold."""
        own = self._counts[unit]
        best = min(range(len(self._texts)), key=lambda fold: self._cost(fold, own))
        self._home[unit] = best
        self._sizes[best] += 1
        self._texts[best] += len(self._members[unit])
        self._labels[best].update(own)
        return best

    def _cost(self, fold: int, own: Counter[Label]) -> tuple[int, float, int]:
        """Return the cost of adding a unit: labels that cannot be learnt, unevenness, size.

        Unevenness is the growth of the sum over folds and labels of (share − 1 / folds)², without
        the terms that are the same for all folds.
        """
        counts, total = self._labels[fold], self._total
        lost = sum(
            counts[label] + count == total[label] and self._holders[label] > 1
            for label, count in own.items()
        )
        uneven = sum(counts[label] * count / total[label] ** 2 for label, count in own.items())
        return lost, uneven, self._texts[fold]


def cross_validate(
    texts: Iterable[str],
    labels: Targets,
    *,
    model: TauSS3 | None = None,
    folds: int = 5,
    groups: Sequence[Hashable] | None = None,
    repeats: int = 1,
    seed: int = 0,
    refine: bool | Mapping[str, Any] = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a model by cross-validation: each fold is predicted from all other texts.

    Folds are stratified by label, and texts of one group (for example, one author) are always in
    the same fold. With `repeats`, the texts are dealt to folds that number of times, and each text
    is counted as often. `model` provides parameters and hooks; it is not changed. `labels` has one
    label per text, or one collection of labels per text: a text is then learnt under each of its
    labels, and several labels are predicted. With `refine` (True, or arguments of `TauSS3.refine`),
    each model is refined with the texts it learnt, never with those it predicts. The result covers
    all folds together; `folds` has the evaluation of each fold, and `spread` the deviation between
    them.

    >>> texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
    >>> found = cross_validate(texts, ["tech", "tech", "sports", "sports"] * 5, folds=2)
    >>> found.accuracy, len(found.folds)
    (1.0, 2)
    """
    documents, truth = as_labelled_texts(texts, labels)
    if model is not None and not isinstance(model, TauSS3):
        raise TypeError(f"model must be a TauSS3, got {type(model).__name__}")
    known = [in_order(one) for one in as_label_sets(truth)]
    judged: list[Any] = known if are_several(truth) else truth
    parameters = {} if model is None else model.parameters
    settings = refine if isinstance(refine, Mapping) else {} if refine else None
    parts = deal(truth, folds=folds, groups=groups, repeats=repeats, seed=seed)
    refuse_one_label(truth)

    def judge_all() -> Iterator[Evaluation]:
        for fold in parts:
            taught = TauSS3(**parameters)
            learnt, held_out = fold.others(len(documents)).tolist(), fold.held_out.tolist()
            texts, labels = ([column[i] for i in learnt] for column in (documents, known))
            taught.learn_many(texts, labels, threads=threads)
            if settings is not None:
                taught.refine(texts, labels, threads=threads, **settings)
            texts, labels = ([column[i] for i in held_out] for column in (documents, judged))
            yield compared(taught, texts, labels, threads)

    return Evaluation.pooled(tracked(judge_all(), len(parts), progress))


# Subjects


def folds_of(
    subjects: Sequence[Subject],
    positive: Label,
    *,
    folds: int,
    order: Order = "random",
    seed: int = 0,
) -> list[list[int]]:
    """Return the indices of the subjects in each fold, with positives spread evenly.

    Subjects without posts are dealt last, so that the folds of the others do not depend on them.
    Subjects that write about the same events share words. If future subjects will write about other
    events, random folds give measures that are too good; with `order="time"`, each fold covers a
    period of time.
    """
    members = [(one.id, one.label, bool(one.posts), _beginning(one)) for one in subjects]
    return _folds_of_members(members, positive, folds, order, seed)


def folds_of_scores(
    scores: Scores, *, folds: int, order: Order = "random", seed: int = 0
) -> list[list[int]]:
    """Return the same for scores; with `order="time"`, neighbours share a fold."""
    has_posts, beginnings = (scores.totals > 0).tolist(), [-math.inf] * len(scores.subjects)
    members = list(zip(scores.subjects, scores.truth, has_posts, beginnings, strict=True))
    return _folds_of_members(members, scores.positive, folds, order, seed)


_Member = tuple[str, Label | None, bool, float]
"""The properties that decide the fold of a subject: id, label, whether it has posts, beginning."""


def _folds_of_members(
    members: Sequence[_Member], positive: Label, folds: int, order: Order, seed: int
) -> list[list[int]]:
    wanted = as_whole("folds", folds, 2)
    if len({name for name, *_ in members}) < len(members):
        raise ValueError("duplicate subject id: a subject must not be in two folds")
    as_choice("order", order, ORDERS)
    groups: tuple[list[int], list[int]] = ([], [])
    silent: list[int] = []
    for index, (name, label, has_posts, _) in enumerate(members):
        if label is None:
            raise ValueError(f"subject {name!r} has no label")
        (groups[label == positive] if has_posts else silent).append(index)
    labels = {label: None for _, label, *_ in members if label is not None}
    if labels and positive not in labels:
        raise UnknownLabelError(
            f"no subject has the label {positive!r}; the subjects have {reprs(labels, most=10)}"
        )
    if len(groups[True]) < wanted or len(groups[False]) < wanted:
        raise ValueError(
            f"{wanted} folds need at least {wanted} subjects with the label {positive!r} "
            f"and {wanted} others, with posts, got {len(groups[True])} and {len(groups[False])}"
        )
    if order == "random":
        parts = _dealt(groups, wanted, np.random.default_rng(seed))
    else:
        parts = [[] for _ in range(wanted)]
        for group in groups:
            by_time = sorted(group, key=lambda index: members[index][3])
            for part, stretch in zip(parts, np.array_split(by_time, wanted), strict=True):
                part += stretch.tolist()
    for number, index in enumerate(silent):
        parts[number % wanted].append(index)
    return [sorted(part) for part in parts]


def _beginning(subject: Subject) -> float:
    time = subject.posts[0].time if subject.posts else None
    return -math.inf if time is None else in_utc(time).timestamp()
