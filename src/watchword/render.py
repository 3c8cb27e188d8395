"""Explanations for the eye. Everything is drawn from `Explanation.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from watchword.checks import Label
from watchword.errors import MissingExtraError, UnknownLabelError
from watchword.explanation import Explanation
from watchword.results import RankedNgram

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["strongest_ngrams", "to_terminal", "visible"]

_REPLACEMENT = "\ufffd"


def _stand_ins() -> dict[int, str]:
    """List what a terminal would obey instead of showing it, and what to show instead."""
    table = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    table[0x7F] = "\u2421"
    table |= dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT)
    table |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], _REPLACEMENT)
    table |= dict.fromkeys([0x2028, 0x2029], "\u2424")
    return table | dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT)


_STAND_INS = _stand_ins()


def visible(text: str) -> str:
    r"""Replace control characters by visible ones, one by one, so that places stay the same.

    Line feeds and tabs stay. What could move the cursor, recolour the terminal, reverse the
    direction of writing or cannot be encoded at all is shown, not obeyed.

    >>> visible("red\x1b[31m alert\n")
    'red␛[31m alert\n'
    """
    return text.translate(_STAND_INS)


def to_terminal(explanation: Explanation | Mapping[str, Any], label: Label | None = None) -> Text:
    """Paint the n-grams of a text by their value for a label; by default for the predicted one.

    The n-gram of highest value has the strongest colour, the others are in proportion to it. Takes
    an explanation or its `to_dict()`, and gives a `rich.text.Text` to print with rich.

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
    plain = _plain(explanation)
    column = _column(plain, label)
    painted = Text(visible(plain["text"]))
    ngrams = list(_ngrams(plain["blocks"]))
    highest = max((ngram["value"][column] for ngram in ngrams), default=0.0)
    for ngram in ngrams:
        value = ngram["value"][column]
        if value > 0:
            share = value / highest
            style = Style(color="black", bgcolor=_colour(share), bold=share >= 0.5)
            painted.stylize(style, ngram["start"], ngram["end"])
    return painted


def strongest_ngrams(
    explanation: Explanation | Mapping[str, Any], label: Label | None = None, n: int = 10
) -> list[RankedNgram]:
    """List the n-grams read in a text that are worth most for a label, each once.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> [ngram for ngram, _, _ in strongest_ngrams(model.explain("So, machine learning!"), "tech")]
    ['learning', 'machine']
    """
    plain = _plain(explanation)
    column = _column(plain, label)
    read = {
        RankedNgram(ngram["ngram"], ngram["value"][column], ngram["count"][column])
        for ngram in _ngrams(plain["blocks"])
        if ngram["value"][column] > 0
    }
    return sorted(read, key=lambda ngram: (-ngram.value, ngram.ngram))[:n]


def _plain(explanation: Explanation | Mapping[str, Any]) -> Mapping[str, Any]:
    return explanation.to_dict() if isinstance(explanation, Explanation) else explanation


def _column(plain: Mapping[str, Any], label: Label | None) -> int:
    labels: list[Label] = plain["labels"]
    wanted = plain["label"] if label is None else label
    if wanted not in labels:
        listed = ", ".join(map(repr, labels))
        raise UnknownLabelError(f"unknown label {wanted!r}; the explanation has {listed}")
    return labels.index(wanted)


def _ngrams(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["kind"] == "ngram":
            yield block
        else:
            yield from _ngrams(block["blocks"])


def _colour(share: float) -> str:
    """From pale yellow to red, dark text readable on all of it."""
    pale, strong = (255, 246, 200), (244, 100, 80)
    mixed = [round(low + (high - low) * share) for low, high in zip(pale, strong, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
