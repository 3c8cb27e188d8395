"""The story of one subject under several models, side by side on one page.

Drawn from `Story.to_dict()` and `Explanation.to_dict()` alone. The texts are those of the last
post, painted at the level of sentences and of n-grams, as in figure 5 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from watchword._display import excerpt
from watchword.explain.blocks import (
    LEVEL_NAMES,
    PaintLevel,
    PlainData,
    as_value,
    blocks_of,
    plain_of,
)
from watchword.explain.markup import document, escaped, name_html, table_html
from watchword.explain.painting import Painter
from watchword.explain.story_view import STORY_STYLE, decision_html, timeline_figure, tipped_html
from watchword.model.explanation import Explanation

_STYLE = """
body { max-width: 84rem; }
.ww-compared {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem 2rem;
}
.ww-compared > section { min-width: 0; }
.ww-panel {
  border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .8rem; margin: .8rem 0;
}
.ww-panel h3 { margin: .2rem 0; }
.ww-notice { border: 3px solid; padding: .5rem 1rem; font-weight: 700; }
"""


@dataclass(frozen=True)
class Side:
    """A model: its name, a subject's story, and the explanation of the story's last post."""

    name: str
    story: PlainData
    explanation: Explanation | PlainData


def comparison_page(sides: Sequence[Side], *, title: str, notice: str = "") -> str:
    """Return a page with a column per model: the decision, the timeline and the last post.

    `notice` is shown in a frame at the top.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot sleep"], ww.Overtakes("at risk"))
    >>> sides = [Side(name, story.to_dict(), story.posts[-1].explanation) for name in ("a", "b")]
    >>> comparison_page(sides, title="Two models").count("<section>")
    2
    """
    painters: list[Painter] = []
    columns = "\n".join(_column(side, painters) for side in sides)
    framed = f'<p class="ww-notice" role="alert">{escaped(notice)}</p>\n' if notice else ""
    about = _about(sides[0].story)
    body = (
        f'<main class="ww-story">\n{framed}<h1>{escaped(excerpt(title))}</h1>\n{about}\n'
        f'<div class="ww-compared">{columns}</div>\n{_ngrams(sides)}\n{framed}</main>'
    )
    css = "".join(painter.css() for painter in painters)
    return document(excerpt(title), body, STORY_STYLE + _STYLE + css)


def _about(plain: PlainData) -> str:
    subject = "A subject" if plain["subject"] is None else name_html(plain["subject"])
    posts = len(plain["sums"])
    time = plain["times"][-1] if posts and plain["times"][-1] else None
    written = "" if time is None else f", written <time>{escaped(time)}</time>"
    return (
        f"<p>{subject}, read post by post up to post {posts:,}{written}. Blocks are painted in "
        f"proportion to their values for {name_html(plain['positive'])}.</p>"
    )


def _column(side: Side, painters: list[Painter]) -> str:
    plain, positive = side.story, side.story["positive"]
    scores = plain["sums"][-1] if plain["sums"] else [0.0] * len(plain["labels"])
    levels: tuple[PaintLevel, ...] = ("sentence", "ngram")
    panels = []
    for level in levels:
        name = f"side{len(painters)}"
        painter = Painter(plain["labels"], scores, positive, level=level, name=name, alert=positive)
        painters.append(painter)
        painted = painter.paint(side.explanation)
        strongest = as_value(painter.rules.highest[level])
        panels.append(
            f'<div class="ww-panel {name}"><h3>Post {len(plain["sums"]):,}: '
            f"{escaped(LEVEL_NAMES[level])}</h3>{painted}"
            f'<p class="quiet">The strongest colour stands for {strongest}.</p></div>'
        )
    return (
        f"<section><h2>{name_html(side.name)}</h2>{decision_html(plain, policy=False)}"
        f"{''.join(panels)}{timeline_figure(plain, table=False)}"
        f"<h3>What tipped the decision</h3>{tipped_html(plain)}</section>"
    )


def _ngrams(sides: Sequence[Side]) -> str:
    """Return a table of the n-grams that each model recognised in the post, with their values."""
    found = [_values(side) for side in sides]
    strongest: dict[str, float] = {}
    for ngram, value in chain.from_iterable(own.items() for own in found):
        strongest[ngram] = max(value, strongest.get(ngram, 0.0))
    ngrams = sorted(strongest, key=lambda one: (-strongest[one], one))
    heads = ["n-gram of the post", *(name_html(side.name) for side in sides)]
    rows = [(name_html(ngram), *(own.get(ngram, "–") for own in found)) for ngram in ngrams]
    return f"<h2>n-grams recognised in the post</h2>{table_html('', heads, rows)}" if rows else ""


def _values(side: Side) -> dict[str, float]:
    """Return the n-grams with a value for the positive label."""
    column = plain_of(side.explanation)["labels"].index(side.story["positive"])
    return {
        block["ngram"]: block["value"][column]
        for block in blocks_of(side.explanation)
        if block["kind"] == "ngram" and block["value"][column] > 0
    }
