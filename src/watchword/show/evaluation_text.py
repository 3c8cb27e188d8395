"""Evaluations as text for the terminal, drawn from `Evaluation.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchword._display import aligned, visible
from watchword.show.confusion import most_mistaken

__all__ = ["MAIN_MEASURES", "evaluation_text"]

Plain = Mapping[str, Any]

MAIN_MEASURES = {  # shown over folds, with their names
    "accuracy": "accuracy",
    "macro_precision": "macro precision",
    "macro_recall": "macro recall",
    "macro_f1": "macro F1",
    "weighted_f1": "weighted F1",
}
MEASURES_OF_SEVERAL = {
    "exact_match": "exact match",
    "hamming": "hamming loss",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "weighted_f1": "weighted F1",
}

_MOST_LABELS = 50  # in the table
_MOST_COLUMNS = 10  # of a matrix; terminals are narrow
_MISTAKES = 10
_LONGEST_NAME = 30
_ONE_LINE = str.maketrans({"\n": "␤", "\t": "␉"})


def evaluation_text(plain: Plain) -> str:
    r"""Return measures over folds, a table of labels, and the confusion matrix or top mistakes.

    >>> from watchword.evaluation import Evaluation
    >>> print(Evaluation.of(["tech", "tech", "sports"], ["tech", "sports", "sports"]))
    3 texts, 2 labels, accuracy 0.667
    <BLANKLINE>
              precision  recall     F1  texts  predicted
    sports        0.500   1.000  0.667      1          2
    tech          1.000   0.500  0.667      2          1
    macro         0.750   0.750  0.667
    micro         0.667   0.667  0.667      3          3
    weighted      0.833   0.667  0.667
    <BLANKLINE>
    truth \ predicted  sports  tech
    sports                  1     0
    tech                    1     1
    """
    parts = [_heading(plain), *_folds(plain), _labels(plain)]
    if plain["confusion"] is not None:
        parts.append(_confusion(plain))
    return "\n\n".join(part for part in parts if part)


def many(number: int, what: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> many(1, "text"), many(2000, "text")
    ('1 text', '2,000 texts')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _heading(plain: Plain) -> str:
    counted = f"{many(plain['texts'], 'text')}, {many(len(plain['labels']), 'label')}"
    measures = plain["measures"]
    if plain["confusion"] is None:
        return (
            f"{counted}, exact match {measures['exact_match']:.3f}, "
            f"hamming loss {measures['hamming']:.3f}"
        )
    return f"{counted}, accuracy {measures['accuracy']:.3f}"


def _folds(plain: Plain) -> list[str]:
    if not plain["folds"]:
        return []
    names = MEASURES_OF_SEVERAL if plain["confusion"] is None else MAIN_MEASURES
    rows = [("", "mean", "±")]
    for name, spelt in names.items():
        spread = plain["spread"][name]
        rows.append((spelt, f"{spread['mean']:.3f}", f"{spread['deviation']:.3f}"))
    return [f"Over {many(len(plain['folds']), 'fold')}:\n" + "\n".join(aligned(rows))]


def _labels(plain: Plain) -> str:
    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "texts", "predicted")]
    for one in plain["per_label"][:_MOST_LABELS]:
        numbers = (f"{one[name]:.3f}" for name in ("precision", "recall", "f1"))
        rows.append((_name(one["label"]), *numbers, f"{one['support']:,}", f"{one['predicted']:,}"))
    rest = len(plain["labels"]) - _MOST_LABELS
    if rest > 0:
        rows.append((f"({rest:,} more)", "", "", "", "", ""))
    totals = {
        "micro": tuple(
            f"{sum(one[name] for one in plain['per_label']):,}" for name in ("support", "predicted")
        )
    }
    for kind in ("macro", "micro", "weighted"):
        numbers = (
            f"{plain['measures'][f'{kind}_{one}']:.3f}" for one in ("precision", "recall", "f1")
        )
        rows.append((kind, *numbers, *totals.get(kind, ("", ""))))
    return "\n".join(aligned(rows))


def _confusion(plain: Plain) -> str:
    names = [_name(label) for label in plain["labels"]]
    if len(names) <= _MOST_COLUMNS:
        counts = {(row, column): count for row, column, count in plain["confusion"]}
        rows = [
            (name, *(f"{counts.get((at, column), 0):,}" for column in range(len(names))))
            for at, name in enumerate(names)
        ]
        return "\n".join(aligned([("truth \\ predicted", *names), *rows]))
    mistakes = most_mistaken(plain["confusion"], _MISTAKES)
    if not mistakes:
        return ""
    listed = [(names[row], names[column], f"{count:,}") for row, column, count in mistakes]
    return "Most frequent mistakes:\n" + "\n".join(
        aligned([("truth", "predicted", "texts"), *listed], words=2)
    )


def _name(label: object) -> str:
    text = visible(str(label)).translate(_ONE_LINE)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
