"""The constants of the prior and of label weights: `defaults.py --constants FOLDER …`.

A model multiplies its `prior` by d² / (d² + 5²), where d is the number of documents per label, and
by 2 / labels; it multiplies its `label_weight` by 1 − 2 / labels. Other constants are tried by
giving it the prior and the label weight that lead to the same product. One of the constants is
changed at a time, the others are those of the package. Models learn a few texts or three quarters
of the training part, and read the rest; test parts are not looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Part, read_corpus
from numpy.typing import NDArray
from ours import watchword
from report import markdown_table, say

FOLDS = 4
SEED = 0
SIZES = (10, 30, 100, 300, 1000)  # of the few texts that are learnt, besides all
DRAWS = 3  # of each of these sizes
MOST_READ = 2000  # held-out texts
ENOUGH = 2 / 3  # of the best gain, for the smallest value that has it
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Constants:
    """How much of the prior and of the label weight is used; the defaults are the package's."""

    prior: float = 3.0
    handful: float = 5.0  # documents per label at which half of the prior is assumed
    by_labels: float = 1.0  # exponent of 2 / labels in the prior
    weight: float = 0.2
    weight_by_labels: bool = True  # whether the weight is multiplied by 1 − 2 / labels

    def parameters(self, documents: int, labels: int) -> dict[str, float]:
        """Return the parameters of a model with which the package's constants give the same."""
        own = Constants()
        prior = self._prior(documents, labels) / own._prior(documents, labels) * own.prior
        weight = self.weight
        if not self.weight_by_labels and labels > 2:
            weight /= 1 - 2 / labels
        return {"prior": prior, "label_weight": weight}

    def _prior(self, documents: int, labels: int) -> float:
        each = (documents / labels) ** 2
        return self.prior * each / (each + self.handful**2) * min(1, 2 / labels) ** self.by_labels


BASE = Constants()
Named = dict[str, Constants]
HANDFULS: Named = {f"{one:g}": replace(BASE, handful=one) for one in (0, 2, 5, 10, 20, 50)}
BY_LABELS: Named = {
    "1": replace(BASE, by_labels=0),
    "(2 / labels)^½": replace(BASE, by_labels=0.5),
    "2 / labels": BASE,
    "(2 / labels)²": replace(BASE, by_labels=2),
}
WEIGHTS: Named = {
    f"{one:g} · (1 − 2 / labels)": replace(BASE, weight=one) for one in (0, 0.1, 0.2, 0.3, 0.5)
}
WEIGHTS |= {
    f"{one:g}": replace(BASE, weight=one, weight_by_labels=False) for one in (0.1, 0.2, 0.3)
}


def study_constants(folders: Sequence[Path]) -> int:
    """Print a table for each constant."""
    names = [folder.name for folder in folders]
    few: dict[Constants, list[float]] = {}
    whole: dict[Constants, list[float]] = {}
    for folder in folders:
        say(f"{folder.name}: constants")
        for constants, (small, large) in _accuracies(read_corpus(folder).train).items():
            few.setdefault(constants, []).append(small)
            whole.setdefault(constants, []).append(large)
    print(
        f"Accuracy on held-out training texts after learning {', '.join(map(str, SIZES))} texts "
        f"(mean of all, {DRAWS} draws each), and after learning three quarters of the training "
        "part. The regret is the mean difference to the best row of each column.\n"
    )
    _print_table("documents per label at half of the prior", HANDFULS, few, whole, names, _least)
    _print_table("factor of the prior", BY_LABELS, few, whole, names, _least)
    _print_table("power of label weights", WEIGHTS, few, whole, names, _smallest_with_most)
    return 0


def _accuracies(train: Part) -> dict[Constants, tuple[float, float]]:
    """Return the mean accuracy after few texts, and that after many, with all constants."""
    from watchword.evaluation.folds import deal

    held_out = deal(train.labels, folds=FOLDS, seed=SEED)[0].held_out.tolist()
    rest = sorted(set(range(len(train.texts))) - set(held_out))
    held_out = random.Random(SEED).sample(held_out, min(len(held_out), MOST_READ))
    draws = [
        random.Random(seed).sample(rest, min(size, len(rest)))
        for size in SIZES
        for seed in range(DRAWS)
    ]
    tried = list(dict.fromkeys([*HANDFULS.values(), *BY_LABELS.values(), *WEIGHTS.values()]))
    small = np.mean([_read(train, chosen, held_out, tried) for chosen in draws], axis=0)
    large = _read(train, rest, held_out, tried)
    return dict(zip(tried, zip(small.tolist(), large.tolist(), strict=True), strict=True))


def _read(
    train: Part, learnt: list[int], held_out: list[int], tried: list[Constants]
) -> FloatArray:
    """Return the accuracy on the held-out texts with each of the constants."""
    model = watchword().TauSS3()
    model.learn_many(
        [train.texts[at] for at in learnt], [train.labels[at] for at in learnt], threads=1
    )
    texts = [train.texts[at] for at in held_out]
    truth = np.array([train.labels[at] for at in held_out])
    found = []
    for constants in tried:
        own = model.replace(**constants.parameters(len(learnt), len(model.labels)))
        found.append(float(np.mean(np.array(own.predict_many(texts, threads=1)) == truth)))
    return np.array(found)


# Tables

_Choice = Callable[[list[Constants], FloatArray], int]


def _least(_: list[Constants], scores: FloatArray) -> int:
    """Choose the least mean regret."""
    return int((scores.max(axis=0) - scores).mean(axis=1).argmin())


def _smallest_with_most(tried: list[Constants], scores: FloatArray) -> int:
    """Choose the smallest weight with most of the gain, by mean accuracy.

    Corpora with less equal labels will come, where a large weight does harm.
    """
    means = scores.mean(axis=1)
    none = next(at for at, one in enumerate(tried) if one.weight == 0)
    enough = means - means[none] >= ENOUGH * (means.max() - means[none])
    return min(np.flatnonzero(enough).tolist(), key=lambda at: (tried[at].weight, -means[at]))


def _print_table(
    title: str,
    named: Named,
    few: dict[Constants, list[float]],
    whole: dict[Constants, list[float]],
    names: list[str],
    choose: _Choice,
) -> None:
    tried, rows = list(named.values()), []
    scores = np.array([[*few[one], *whole[one]] for one in tried])
    regrets = (scores.max(axis=0) - scores).mean(axis=1)
    for at, name in enumerate(named):
        small, large = scores[at, : len(names)], scores[at, len(names) :]
        cells = [f"{a:.3f} / {b:.3f}" for a, b in zip(small, large, strict=True)]
        rows.append([name, *cells, f"{scores[at].mean():.4f}", f"{regrets[at]:.4f}"])
    print(markdown_table([title, *names, "mean", "regret"], rows))
    labels = list(named)
    print(f"\nchosen: {labels[choose(tried, scores)]}; with one corpus left out: ", end="")
    chosen: list[Any] = []
    for at in range(len(names)):
        left = np.delete(scores, [at, at + len(names)], axis=1)
        if left.size:
            chosen.append(f"{labels[choose(tried, left)]} ({names[at]})")
    print(f"{', '.join(chosen) or 'none'}\n", flush=True)
