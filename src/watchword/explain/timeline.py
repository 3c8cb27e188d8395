"""Timelines: the confidence that each label accumulates over the posts, and the alert.

Drawn from `Story.to_dict()` alone, as SVG or with matplotlib. Lines differ in colour, dashes and
markers; each has its label at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from watchword._display import many
from watchword.explain import svg
from watchword.explain.blocks import PlainData, as_value, shown_columns
from watchword.explain.chart import new_axes, plot_name
from watchword.explain.palette import label_colour, label_dash

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 8
_MARKS = 8  # markers per line
_MARKERS = (  # for matplotlib, and as the path of an SVG
    ("o", "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z"),
    ("s", "m-3 -3h6v6h-6z"),
    ("^", "m0 -4l4 7h-8z"),
    ("D", "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z"),
    ("v", "m0 4l4 -7h-8z"),
    ("x", "m-3.5 -3.5l7 7m0 -7l-7 7"),
    ("|", "m0 -4.5v9"),
    ("+", "m-4 0h8m-4 -4v8"),
)
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 320, 52, 48, 44


def timeline_svg(plain: PlainData, *, points: int = 400, alone: bool = True) -> svg.Markup:
    """Draw the accumulated confidences over the posts, and the alert.

    At most about `points` points are drawn per line. Inside a page the picture has the page's
    colours; with `alone=True`, for a file, its own.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot sleep"], ww.Overtakes("at risk"))
    >>> timeline_svg(story.to_dict()).count("alert after 2 posts")
    1
    """
    columns = _columns(plain)
    frame = _TimelineFrame(plain, columns, points)
    lines = (_line(plain, frame, column, rank) for rank, column in enumerate(columns))
    drawn = [*_axes(frame), *_alert(plain, frame), *lines, *_names(plain, frame, columns)]
    of = "" if plain["subject"] is None else f" of {plain['subject']}"
    return svg.drawing(
        _WIDTH,
        _HEIGHT,
        *drawn,
        title=f"Accumulated confidence over the posts{of}",
        description=timeline_description(plain),
        css=svg.STYLE if alone else "",
    )


def timeline_description(plain: PlainData) -> str:
    """Return what the picture shows, in words, for screen readers."""
    posts = len(plain["sums"])
    if not posts:
        return "No posts."
    columns, told = _columns(plain), "No alert."
    if delay := plain["decision"]["delay"]:
        told = f"Alert after post {delay} of {posts}: {_sums(plain, delay, columns)}."
    told += f" After the last post, {posts}: {_sums(plain, posts, columns)}."
    left_out = len(plain["labels"]) - len(columns)
    return f"{told} {left_out} labels of lower value are not drawn." if left_out else told


def _sums(plain: PlainData, post: int, columns: Sequence[int]) -> str:
    row = plain["sums"][post - 1]
    return ", ".join(f"{plain['labels'][at]} {as_value(row[at])}" for at in columns)


def _columns(plain: PlainData) -> list[int]:
    """Return the labels to draw: the positive one, and the best others at the alert or the end."""
    labels = plain["labels"]
    positive = labels.index(plain["positive"])
    at = plain["decision"]["delay"] or len(plain["sums"])
    row = plain["sums"][at - 1] if plain["sums"] else [0.0] * len(labels)
    return shown_columns(row, positive, MOST_LINES)


class _TimelineFrame:
    """The coordinates of posts and values in the picture."""

    def __init__(self, plain: PlainData, columns: Sequence[int], points: int) -> None:
        self.count = len(plain["sums"])
        self.highest = max((row[at] for row in plain["sums"] for at in columns), default=0.0) or 1.0
        names = [svg.text_width(str(plain["labels"][at]), 12) for at in columns]
        self.room = min(max(names, default=0.0), _WIDTH / 4)
        self.left, self.right = _LEFT, _WIDTH - self.room - 30
        self.top, self.bottom = _TOP, _HEIGHT - _BOTTOM
        # The posts to draw: all, or an even selection with first, last and alert.
        spread = np.linspace(1, self.count, min(self.count, points)).round().astype(int).tolist()
        delay = plain["decision"]["delay"]
        self.points = sorted({*spread, *([delay] if delay else [])})

    def x(self, post: int) -> float:
        """Return the x coordinate of a post, counted from 1."""
        if self.count < 2:
            return (self.left + self.right) / 2
        return self.left + (post - 1) / (self.count - 1) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - value / self.highest * (self.bottom - self.top)


def _axes(frame: _TimelineFrame) -> Iterator[svg.Markup]:
    for value in svg.ticks(0, frame.highest, 5):
        y = frame.y(value)
        yield svg.line(frame.left, y, frame.right, y, stroke_opacity=0.18)
        yield svg.text(frame.left - 6, y + 4, svg.number(value, 4), size=11, anchor="end")
    whole = {max(1, round(at)) for at in svg.ticks(1, max(frame.count, 1), 6)} | {1}
    for post in sorted(at for at in whole if at <= frame.count):
        x = frame.x(post)
        yield svg.line(x, frame.bottom, x, frame.bottom + 4)
        yield svg.text(x, frame.bottom + 17, str(post), size=11, anchor="middle")
    middle = (frame.left + frame.right) / 2
    yield svg.line(frame.left, frame.bottom, frame.right, frame.bottom)
    yield svg.text(middle, frame.bottom + 36, "posts read", size=12, anchor="middle")
    yield svg.text(8, 14, "accumulated confidence", size=12)


def _alert(plain: PlainData, frame: _TimelineFrame) -> Iterator[svg.Markup]:
    delay = plain["decision"]["delay"]
    if not delay:
        return
    x = frame.x(delay)
    text = f"alert after {many(delay, 'post')}"
    room = svg.text_width(text, 12) / 2
    middle = min(max(x, frame.left + room), frame.right - room + 20)
    yield svg.line(x, frame.top - 6, x, frame.bottom, stroke_width=1.5, stroke_dasharray="3 3")
    yield svg.text(middle, frame.top - 11, text, size=12, anchor="middle", font_weight="bold")
    yield svg.element("path", d=f"M{svg.number(x - 5)} {svg.number(frame.top - 7)}h10l-5 7z")


def _line(plain: PlainData, frame: _TimelineFrame, column: int, rank: int) -> svg.Markup:
    sums, colour = plain["sums"], _colour(plain, column)
    points = [(frame.x(post), frame.y(sums[post - 1][column])) for post in frame.points]
    every = max(1, -(-len(points) // _MARKS))
    # Markers of different lines are at different posts, so that overlapping lines are all visible.
    marked = points[(rank * every // MOST_LINES) % every :: every] if points else []
    positive = plain["labels"][column] == plain["positive"]
    path = svg.element(
        "path",
        d=svg.path_of(points),
        fill="none",
        stroke=colour,
        stroke_width=2.5 if positive else 1.75,
        stroke_dasharray=label_dash(column) or None,
        stroke_linejoin="round",
    )
    marks = "".join(_mark(rank, x, y) for x, y in marked)
    shapes = svg.element(
        "path", d=marks, fill=colour, stroke=colour, stroke_width=1.5, stroke_linejoin="round"
    )
    return svg.group(svg.tooltip(str(plain["labels"][column])), path, shapes)


def _colour(plain: PlainData, column: int) -> str:
    return label_colour(column, plain["labels"].index(plain["positive"]))


def _mark(rank: int, x: float, y: float) -> str:
    """Return the path of a line's marker around a point."""
    return f"M{svg.number(x)} {svg.number(y)}{_MARKERS[rank % len(_MARKERS)][1]}"


def _names(plain: PlainData, frame: _TimelineFrame, columns: Sequence[int]) -> Iterator[svg.Markup]:
    """Draw each line's label at its end, moved apart where labels would overlap."""
    if not plain["sums"]:
        return
    last = plain["sums"][-1]
    order = sorted(columns, key=lambda at: -last[at])
    places = [frame.y(last[at]) for at in order]
    gap = min(15.0, (frame.bottom - frame.top) / max(len(order), 1))
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + gap)
    for at in range(len(places) - 1, -1, -1):  # not below the picture
        limit = frame.bottom - gap * (len(places) - 1 - at)
        places[at] = min(places[at], limit)
    for column, y in zip(order, places, strict=True):
        shape = _mark(columns.index(column), frame.right + 12, y)
        colour = _colour(plain, column)
        bold = "bold" if plain["labels"][column] == plain["positive"] else None
        name = svg.clip(str(plain["labels"][column]), 12, frame.room + 2)
        yield svg.element("path", d=shape, fill=colour, stroke=colour, stroke_width=1.5)
        yield svg.text(frame.right + 21, y + 4, name, size=12, font_weight=bold)


def plot_timeline(plain: PlainData, ax: Axes | None = None) -> Axes:
    """Draw the timeline with matplotlib (`watchword[plot]`) on `ax` [default: new axes]."""
    ax = new_axes(8, 3.5) if ax is None else ax
    sums = np.array(plain["sums"], np.float64).reshape(-1, len(plain["labels"]))
    posts = np.arange(1, len(sums) + 1)
    for rank, column in enumerate(_columns(plain)):
        positive = plain["labels"][column] == plain["positive"]
        dashes = [float(part) / 2 for part in label_dash(column).split()]
        ax.plot(
            posts,
            sums[:, column],
            label=plot_name(plain["labels"][column]),
            color=_colour(plain, column),
            linestyle=(0, tuple(dashes)) if dashes else "solid",
            linewidth=2.5 if positive else 1.75,
            marker=_MARKERS[rank % len(_MARKERS)][0],
            markevery=max(1, len(posts) // _MARKS),
        )
    delay = plain["decision"]["delay"]
    if delay:
        ax.axvline(delay, color="0.3", linestyle=":", label=f"alert after {delay} posts")
    ax.set_xlabel("posts read")
    ax.set_ylabel("accumulated confidence")
    if plain["subject"] is not None:
        ax.set_title(plot_name(plain["subject"]))
    ax.legend()
    return ax
