"""Evaluations as text for the terminal, drawn from `Evaluation.to_dict()` alone."""

from __future__ import annotations

from watchword._display import aligned, excerpt, many, visible
from watchword.show.blocks import PlainData
from watchword.show.confusion import most_mistaken

# Shown over folds, for one label per text and for several.
_MEASURES = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "weighted_f1")
_MEASURES_OF_SEVERAL = ("exact_match", "hamming", "macro_f1", "micro_f1", "weighted_f1")

_MOST_LABELS = 50  # in the table
_MOST_COLUMNS = 10  # of a matrix; terminals are narrow
_MISTAKES = 10
_LONGEST_NAME = 30
_ONE_LINE = str.maketrans({"\n": "␤", "\t": "␉"})


def evaluation_text(plain: PlainData) -> str:
    r"""Return measures over folds, a table of labels, and the confusion matrix or top mistakes.

    >>> from watchword.evaluation import Evaluation
    >>> print(Evaluation.of(["tech", "tech", "sports"], ["tech", "sports", "sports"]))
    3 texts, 2 labels, accuracy 0.667, macro F1 0.667
    always predicting tech: accuracy 0.667, macro F1 0.400
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


def measure_name(measure: str) -> str:
    """Return the display name of a measure.

    >>> measure_name("macro_f1"), measure_name("hamming")
    ('macro F1', 'hamming loss')
    """
    return measure.replace("_", " ").replace("f1", "F1").replace("hamming", "hamming loss")


def majority_text(plain: PlainData) -> str:
    """Return the measures of always predicting the most frequent label, in words."""
    majority = plain["majority"]
    name, measures = _name(majority["label"]), majority["measures"]
    accuracy, f1 = measures["accuracy"], measures["macro_f1"]
    return f"always predicting {name}: accuracy {accuracy:.3f}, macro F1 {f1:.3f}"


def _heading(plain: PlainData) -> str:
    counted = f"{many(plain['texts'], 'text')}, {many(len(plain['labels']), 'label')}"
    measures = plain["measures"]
    if plain["confusion"] is not None:
        found = f"accuracy {measures['accuracy']:.3f}, macro F1 {measures['macro_f1']:.3f}"
        return f"{counted}, {found}\n{majority_text(plain)}"
    exact, hamming = measures["exact_match"], measures["hamming"]
    return f"{counted}, exact match {exact:.3f}, hamming loss {hamming:.3f}"


def _folds(plain: PlainData) -> list[str]:
    if not plain["folds"]:
        return []
    names = _MEASURES_OF_SEVERAL if plain["confusion"] is None else _MEASURES
    rows = [("", "mean", "±")]
    for name in names:
        spread = plain["spread"][name]
        rows.append((measure_name(name), f"{spread['mean']:.3f}", f"{spread['deviation']:.3f}"))
    return [f"Over {many(len(plain['folds']), 'fold')}:\n" + "\n".join(aligned(rows))]


def _labels(plain: PlainData) -> str:
    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "texts", "predicted")]
    for one in plain["per_label"][:_MOST_LABELS]:
        numbers = (f"{one[name]:.3f}" for name in ("precision", "recall", "f1"))
        rows.append((_name(one["label"]), *numbers, f"{one['support']:,}", f"{one['predicted']:,}"))
    rest = len(plain["labels"]) - _MOST_LABELS
    if rest > 0:
        rows.append((f"({rest:,} more)", "", "", "", "", ""))
    totals = [sum(one[name] for one in plain["per_label"]) for name in ("support", "predicted")]
    for kind in ("macro", "micro", "weighted"):
        means = (plain["measures"][f"{kind}_{one}"] for one in ("precision", "recall", "f1"))
        counts = (f"{total:,}" if kind == "micro" else "" for total in totals)
        rows.append((kind, *(f"{mean:.3f}" for mean in means), *counts))
    return "\n".join(aligned(rows))


def _confusion(plain: PlainData) -> str:
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
    return excerpt(visible(str(label)).translate(_ONE_LINE), _LONGEST_NAME)
