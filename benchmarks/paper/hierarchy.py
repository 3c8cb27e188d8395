"""Explanations as a hierarchy of blocks with their vectors, as SVG: the paper's figures 1 and 2.

Drawn from `Explanation.to_dict()` alone: a row per sentence with its n-grams, whose vectors add up
to that of the sentence, and those of the sentences to that of the document.
"""

from __future__ import annotations

from collections.abc import Sequence

from watchword.explain import svg
from watchword.explain.blocks import PlainData
from watchword.explain.palette import STRONGEST, label_colour
from watchword.model.explanation import Explanation

_EDGE, _GAP, _PAD, _ROW, _BOX = 16.0, 7.0, 6.0, 62.0, 42.0
_SIZE, _SMALL = 13.0, 10.5
_MOST = 60  # n-grams drawn


def hierarchy_svg(explanation: Explanation | PlainData, *, title: str) -> svg.Markup:
    """Draw the n-grams, sentences and the document with their vectors.

    N-grams are painted in the colour of the label they support most. Longer texts are cut.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> picture = hierarchy_svg(model.explain("A match. Machine learning!"), title="Example")
    >>> picture.count("Σ")
    3
    """
    plain = explanation.to_dict() if isinstance(explanation, Explanation) else explanation
    sentences = [one for paragraph in plain["blocks"] for one in paragraph["blocks"]]
    highest = max((max(ngram["value"]) for one in sentences for ngram in one["blocks"]), default=0)
    rows = [_row(plain, one, highest or 1.0) for one in sentences]
    width = max((end for _, end in rows), default=0) + 2 * _EDGE
    room = 34 + svg.text_width(_vector(plain["value"]), _SIZE)
    top, drawn = 62.0, list[svg.Markup]()
    vectors = width + 14
    for (shapes, end), sentence in zip(rows, sentences, strict=True):
        drawn.append(svg.group(*shapes, transform=f"translate({_EDGE} {svg.number(top)})"))
        middle = top + _BOX / 2 + 4
        drawn.append(svg.line(_EDGE + end, middle - 4, vectors - 6, middle - 4, stroke_opacity=0.4))
        drawn.append(svg.text(vectors, middle, f"Σ {_vector(sentence['value'])}", size=_SIZE))
        top += _ROW
    drawn += _document(plain, width, vectors, top + 8)
    head = svg.text(_EDGE, 24, title, size=14, font_weight="bold")
    described = f"{_vector(plain['value'])} for {', '.join(map(str, plain['labels']))}: "
    described += f"classified as {plain['label']}."
    return svg.drawing(
        vectors + room,
        top + 38,
        head,
        *_legend(plain["labels"], 46),
        *drawn,
        title=title,
        description=described,
        css=svg.STYLE,
    )


def _legend(labels: Sequence[object], y: float) -> list[svg.Markup]:
    drawn, x = [svg.text(_EDGE, y, "Vectors: (", size=_SMALL)], _EDGE + 58.0
    for at, label in enumerate(labels):
        comma = ", " if at + 1 < len(labels) else ")"
        drawn.append(svg.rectangle(x, y - 9, 10, 10, fill=label_colour(at)))
        shown = svg.clip(str(label), _SMALL, 120) + comma
        drawn.append(svg.text(x + 14, y, shown, size=_SMALL))
        x += 20 + svg.text_width(shown, _SMALL)
    return drawn


def _document(plain: PlainData, width: float, vectors: float, top: float) -> list[svg.Markup]:
    start = width - svg.text_width("document", _SIZE)
    return [
        svg.line(vectors, top - 18, vectors + 90, top - 18, stroke_opacity=0.4),
        svg.text(start - 8, top, "document", size=_SIZE),
        svg.text(vectors, top, f"Σ {_vector(plain['value'])}", size=_SIZE, font_weight="bold"),
        svg.text(vectors, top + 18, f"→ {plain['label']}", size=_SIZE, font_weight="bold"),
    ]


def _row(plain: PlainData, sentence: PlainData, highest: float) -> tuple[list[svg.Markup], float]:
    """Return the shapes of a sentence, and where they end."""
    shapes: list[svg.Markup] = []
    x, before = 0.0, sentence["start"]
    for ngram in sentence["blocks"][:_MOST]:
        between = plain["text"][before : ngram["start"]].strip()
        if between:
            shapes.append(svg.text(x, 20, between, size=_SIZE))
            x += svg.text_width(between, _SIZE) + _GAP
        words = " → ".join(plain["text"][ngram["start"] : ngram["end"]].split())
        vector = _vector(ngram["value"])
        width = max(svg.text_width(words, _SIZE), svg.text_width(vector, _SMALL)) + 2 * _PAD
        shapes += _block(words, vector, x, width, ngram, highest)
        x, before = x + width + _GAP, ngram["end"]
    ending = plain["text"][before : sentence["end"]].strip()
    if ending and len(sentence["blocks"]) <= _MOST:
        shapes.append(svg.text(x, 20, ending, size=_SIZE))
        x += svg.text_width(ending, _SIZE) + _GAP
    return shapes, x


def _block(
    words: str, vector: str, x: float, width: float, ngram: PlainData, highest: float
) -> list[svg.Markup]:
    best = max(range(len(ngram["value"])), key=lambda at: ngram["value"][at])
    share = ngram["value"][best] / highest
    several = len(ngram["ngram"].split()) > 1
    frame = svg.rectangle(
        x,
        0,
        width,
        _BOX,
        fill=label_colour(best),
        fill_opacity=share * STRONGEST,
        rx=4,
        stroke="currentColor",
        stroke_opacity=0.9 if several else 0.35,
        stroke_width=1.6 if several else 1.0,
    )
    middle = x + width / 2
    return [
        frame,
        svg.text(middle, 18, words, size=_SIZE, anchor="middle"),
        svg.text(middle, 34, vector, size=_SMALL, anchor="middle"),
    ]


def _vector(values: Sequence[float]) -> str:
    return f"({', '.join(f'{value:.2f}' for value in values)})"
