"""Explanations in the terminal, drawn from `Explanation.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from watchword._checks import Label, as_choice
from watchword._display import visible
from watchword.errors import MissingExtraError
from watchword.model.explanation import Explanation
from watchword.model.results import RankedNgram
from watchword.show.blocks import LEVELS, Head, PaintLevel, Rules, blocks_of
from watchword.show.palette import FAINTEST, INK, label_ground

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["strongest_ngrams", "to_terminal"]


def to_terminal(
    explanation: Explanation | Mapping[str, Any],
    label: Label | None = None,
    *,
    level: PaintLevel = "ngram",
) -> Text:
    """Paint a text's blocks by their contribution to a label's score [default: predicted label].

    The block with the largest contribution to any score has the strongest colour and the others are
    in proportion; blocks below a twentieth of it are not painted. Takes an explanation or its
    `to_dict()` and returns a `rich.text.Text` to print with rich.

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
        raise MissingExtraError(
            "painting in the terminal needs rich: pip install 'watchword[cli]'"
        ) from error
    as_choice("level", level, LEVELS)
    head, rules = Head(explanation, label), Rules()
    painted = Text(visible(head.text))
    for start, end, number in rules.add(explanation, [level]):
        share = rules.share(rules.all[number], head.column)
        if share >= FAINTEST:  # white, on a dark terminal, would look strongest
            ground = label_ground(share, head.column)
            painted.stylize(Style(color=INK, bgcolor=ground, bold=share >= 0.5), start, end)
    return painted


def strongest_ngrams(
    explanation: Explanation | Mapping[str, Any], label: Label | None = None, n: int = 10
) -> list[RankedNgram]:
    """Return the distinct n-grams of a text with the highest values for a label.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> [ngram for ngram, _, _ in strongest_ngrams(model.explain("So, machine learning!"), "tech")]
    ['learning', 'machine']
    """
    column = Head(explanation, label).column
    read = {
        RankedNgram(block["ngram"], block["value"][column], block["count"][column])
        for block in blocks_of(explanation)
        if block["kind"] == "ngram" and block["value"][column] > 0
    }
    return sorted(read, key=lambda ngram: (-ngram.value, ngram.ngram))[:n]
