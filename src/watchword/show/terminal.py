"""Explanations in the terminal, drawn from `Explanation.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from watchword._checks import Label, as_choice
from watchword._display import visible
from watchword.errors import MissingExtraError
from watchword.model.explanation import Explanation
from watchword.show.blocks import LEVELS, Head, PaintLevel, Rules
from watchword.show.palette import FAINTEST, INK, label_ground

if TYPE_CHECKING:
    from rich.text import Text


def to_terminal(
    explanation: Explanation | Mapping[str, Any],
    label: Label | None = None,
    *,
    level: PaintLevel = "ngram",
    alert: Label | None = None,
    all_labels: bool = False,
) -> Text:
    """Paint a text's blocks by their contribution to a label's score [default: predicted label].

    The block with the largest contribution to any score has the strongest colour and the others are
    in proportion; blocks below a twentieth of it are not painted. With `all_labels`, each block has
    the colour of the label that it supports; `alert` is the label that has the warm colour. Takes
    an explanation or its `to_dict()` and returns a `rich.text.Text` to print with rich.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> painted = to_terminal(model.explain("So, machine learning!"))
    >>> painted.plain
    'So, machine learning!'
    >>> [painted.plain[span.start : span.end] for span in painted.spans]
    ['machine', 'learning']
    """
    try:
        from rich.style import Style
        from rich.text import Text
    except ImportError as error:
        raise MissingExtraError.of("cli", "painting in the terminal needs rich") from error
    as_choice("level", level, LEVELS)
    head, rules = Head(explanation, label, alert=alert, all_labels=all_labels), Rules()
    painted = Text(visible(head.text))
    for start, end, number in rules.add(explanation, [level]):
        column, share = rules.paint(rules.all[number], head)
        if share >= FAINTEST:  # white, on a dark terminal, would look strongest
            ground = label_ground(share, column, head.alert)
            painted.stylize(Style(color=INK, bgcolor=ground, bold=share >= 0.5), start, end)
    return painted


class Contribution(NamedTuple):
    """What all occurrences of an n-gram add to a label's score, and its value for the label.

    In a refined model, `counted` and `corrected` are the two parts of the total, and `value` is
    what each occurrence adds.
    """

    ngram: str
    value: float
    times: int
    total: float
    counted: float | None = None
    corrected: float | None = None


def largest_contributions(
    explanation: Explanation | Mapping[str, Any], label: Label | None = None, n: int = 10
) -> list[Contribution]:
    """Return the n-grams of a text that add most to a label's score [default: predicted label].

    N-grams that add nothing, or lower the score, are left out. In a refined model, n-grams overlap.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> found = largest_contributions(model.explain("So, a machine, machine learning!"), "tech")
    >>> [(one.ngram, one.times) for one in found]
    [('machine', 2), ('learning', 1)]
    """
    column, rules = Head(explanation, label).column, Rules()
    rules.add(explanation, ["ngram"])
    found = []
    for words, times, total, rule, *parts in rules.largest("ngram", column, n):
        value = total / times if rule is None else rule.block["value"][column]
        found.append(Contribution(words, value, times, total, *parts))
    return found
