"""Charts as plain data, to be drawn as SVG or with matplotlib; and curves of thresholds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from watchword._display import finite, view
from watchword._files import atomic_file
from watchword.evaluation.held_out import HeldOutFold
from watchword.evaluation.objectives import sign_of
from watchword.evaluation.replaying import is_positive
from watchword.evaluation.scores import Scores, alerts_of
from watchword.streams.policies import After, Policy, Weighs
from watchword.streams.policy_base import field_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALERT = -1  #: the colour of alerts, instead of an index
SUFFIXES = (".svg", ".png", ".pdf")  #: the kinds of files that a chart can be saved to


@dataclass(frozen=True)
class Curve:
    """Points of a chart that belong together, with a name for the legend.

    `drawn` says how: a line, a line of steps, dots, or bars from `base` to y, each beginning at x.
    `ends` are the ends of an interval of x for each dot. `colour` is an index of the palette, or
    `ALERT`, the colour of alerts; a faint curve is background.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    drawn: Literal["line", "steps", "dots", "bars"] = "line"
    colour: int = 0
    dashed: bool = False
    faint: bool = False
    base: tuple[float, ...] = ()
    ends: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class ChartPoint:
    """A point of a chart that stands out, such as an alert or the chosen setting."""

    x: float
    y: float
    name: str = ""
    colour: int = ALERT


@dataclass(frozen=True)
class ChartLine:
    """A vertical line through a chart, with a name; or a horizontal one."""

    at: float
    name: str
    horizontal: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart as plain data; displayed as a picture in a notebook.

    `save` writes it as SVG, PNG or PDF, `svg` returns it as markup, and `plot` draws it with
    matplotlib. If there are `rows`, they are the names of y = 0, 1, …, from top to bottom.

    >>> chart = Chart("Squares", "x", "x²", (Curve("x²", (0, 1, 2), (0, 1, 4)),))
    >>> chart.svg().startswith("<svg ")
    True
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    marks: tuple[ChartPoint, ...] = ()
    rules: tuple[ChartLine, ...] = ()
    rows: tuple[str, ...] = ()
    description: str = ""  #: what it shows in words, for screen readers
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    bar_width: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain

    def svg(self, *, alone: bool = True) -> str:
        """Return the picture as SVG.

        Inside a page it has the page's colours; with `alone`, for a file, its own.
        """
        chart_svg: Callable[..., str] = view("chart_svg")
        return chart_svg(self.to_dict(), alone=alone)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the chart with matplotlib (`watchword[plot]`) on the given or new axes."""
        plot_chart: Callable[..., Axes] = view("plot_chart")
        return plot_chart(self.to_dict(), ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, or replace it: `.svg`, with matplotlib `.png` or `.pdf`."""
        suffix = suffix_of(path)
        if suffix == ".svg":
            data = self.svg().encode()
        else:
            figure_bytes: Callable[..., bytes] = view("figure_bytes")
            data = figure_bytes(self.to_dict(), suffix[1:])
        with atomic_file(path) as file:
            file.write(data)

    def _repr_html_(self) -> str:
        return self.svg(alone=False)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture's file, or raise `ValueError`.

    >>> suffix_of("delays.PDF")
    '.pdf'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)!r} must end with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    return suffix


def as_points(values: Iterable[float]) -> tuple[float, ...]:
    """Return numbers as a tuple of floats."""
    return tuple(float(one) for one in values)


# The field of a policy that decides how easily it alerts, the first of these that it has.
_FIELDS = ("threshold", "margin", "start", "gamma", "factor")
_COUNT = 81  # thresholds of a curve
_FEW = 41  # thresholds combined with first posts
FIRST_POSTS = (1, 2, 3, 5, 8, 12, 20, 30, 50)


class Threshold(NamedTuple):
    """The threshold of a policy: the part that has it, its name and value, and how to change it."""

    part: Policy
    name: str
    value: float
    with_value: Callable[[float], Policy]  #: the whole policy with another value


def threshold_of(policy: Policy) -> Threshold | None:
    """Return the threshold of a policy or, of a combined one, of its first part that has one.

    >>> from watchword import Overtakes
    >>> found = threshold_of(Overtakes("at risk", margin=0.5).after(3))
    >>> found.name, found.value, found.with_value(2).of.margin
    ('margin', 0.5, 2.0)
    """
    for name in _FIELDS:
        if name in field_names(type(policy)):
            return Threshold(policy, name, getattr(policy, name), partial(_with, policy, name))
    for at, part in enumerate(policy.parts):
        if (inner := threshold_of(part)) is not None:
            return inner._replace(with_value=partial(_with_inner, policy, at, inner))
    return None


def _with(policy: Any, name: str, value: object) -> Policy:
    changed: Policy = replace(policy, **{name: value})
    return changed


def _with_inner(policy: Policy, at: int, inner: Threshold, value: float) -> Policy:
    # By its place, because the same part may be in a policy twice.
    part = inner.with_value(value)
    if hasattr(policy, "of"):
        return _with(policy, "of", part)
    return _with(policy, "policies", (*policy.parts[:at], part, *policy.parts[at + 1 :]))


def with_thresholds(scores: Scores, policy: Policy, *, count: int = _COUNT) -> dict[float, Policy]:
    """Return the policy with thresholds over the range that matters, and its own, in order.

    It is empty if the policy has no threshold.
    """
    found = threshold_of(policy)
    if found is None:
        return {}
    low, high = _range(scores, policy, found)
    spread = np.linspace(min(low, found.value), max(high, found.value), count)
    values = sorted({found.value, *(float(f"{one:.5g}") for one in spread.tolist())})
    policies = {}
    for value in values:
        with contextlib.suppress(ValueError):  # not every policy takes every threshold
            policies[value] = found.with_value(value)
    return policies


def _range(scores: Scores, policy: Policy, found: Threshold) -> tuple[float, float]:
    """Return the lowest and the highest threshold to try."""
    steps = scores.histories.steps
    if found.name == "margin":
        reached = steps.value - getattr(found.part, "ratio", 1.0) * steps.other
    elif isinstance(found.part, Weighs):
        reached = found.part.contributions(scores.histories).sum(axis=1)
    elif hasattr(found.part, "score"):
        reached = steps.score(found.part.score)
    elif found.name == "threshold":
        return 0.0, 1.0
    else:
        return 0.0, 3 * max(found.value, 1.0)
    late = reached[steps.posts >= first_post(policy)]
    known = late if late.size else reached
    if not known.size:
        return found.value, found.value
    # The last 1 % at both ends would stretch the axis for nothing.
    low, high = np.quantile(known, [0.01, 0.99])
    return float(low), float(high)


def first_post(policy: Policy) -> int:
    """Return the number of posts before which a policy never alerts; at least 1."""
    own = policy.posts if isinstance(policy, After) else 1
    return max([own, *(first_post(part) for part in policy.parts[:1])])


def measured(
    scores: Scores, policies: Sequence[Policy], deadlines: Sequence[int], p: float
) -> Iterator[dict[str, float]]:
    """Yield the measures of alerts for each policy, without average precision."""
    fold = HeldOutFold.of(scores.subjects, is_positive(scores), scores.totals, scores.by)
    for policy in policies:
        alerted, delays = alerts_of(scores, policy)
        yield fold.measures(alerted, delays, deadlines, p)


def varied(scores: Scores, policy: Policy) -> list[Policy]:
    """Return the policy with other thresholds and other first posts."""
    inner = policy.of if isinstance(policy, After) else policy
    kinds = [*with_thresholds(scores, inner, count=_FEW).values()] or [inner]
    longest = int(scores.totals.max(initial=1))
    firsts = sorted({first_post(policy), *(one for one in FIRST_POSTS if one <= longest)})
    return [kind.after(first) for first in firsts for kind in kinds]


def frontier(
    rows: Sequence[Mapping[str, float]], measure: str, *, least_recall: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return median delays with a measure: of all settings, and of those that no other beats.

    Settings without correct alerts or with a lower recall are left out.

    >>> values = [(2, 0.5), (1, 0.25), (3, 0.5)]
    >>> rows = [{"median_delay": delay, "recall": 1, "f1": f1} for delay, f1 in values]
    >>> frontier(rows, "f1", least_recall=0.5)[1]
    [(1, 0.25), (2, 0.5)]
    """
    sign = sign_of(measure)
    points = sorted(
        {
            (row["median_delay"], row[measure])
            for row in rows
            if np.isfinite(row["median_delay"]) and row["recall"] >= least_recall
        },
        key=lambda point: (point[0], sign * point[1]),
    )
    best: list[tuple[float, float]] = []
    for point in points:
        if not best or sign * point[1] < sign * best[-1][1]:
            best.append(point)
    return points, best
