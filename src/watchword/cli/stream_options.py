"""Options of commands that replay streams: measures, and scores of other classifiers."""

from __future__ import annotations

from typing import Any

import click

from watchword.cli.base import FILE, FiniteFloat, is_given, refuse_together
from watchword.cli.options import joined, option
from watchword.evaluation.metrics import LATENCY_P
from watchword.evaluation.replaying import DEADLINES
from watchword.evaluation.scores import BYS
from watchword.streams.combining import COMBINES, EMA_WEIGHT


def whole_numbers(text: str) -> tuple[int, ...]:
    """Parse numbers separated by commas."""
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise ValueError(f"{text!r} is not like 5,50")
    return numbers


deadlines_option = option(
    "--deadlines POSTS,…",
    "Deadlines of ERDE.",
    default=",".join(map(str, DEADLINES)),
    parse=whole_numbers,
)


class _LatencyPType(FiniteFloat):
    """A positive number, or the word `median`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word."""
        return value if value == "median" else super().convert(value, param, ctx)


latency_option = option(
    "--latency-p P",
    "Parameter p of the penalty in speed and F_latency: a number, or median for "
    "ln 3 / (median posts - 1).",
    type=_LatencyPType(min=0, min_open=True),
    default=LATENCY_P,
)
by_option = option(
    "--by",
    "Decide after every post, or after each tenth of the posts as in eRisk 2017 and 2018.",
    type=click.Choice(BYS),
    default="post",
)


# Scores of other classifiers

scores_option = option(
    "--scores FILE",
    "Scores of posts from another classifier, instead of a model and data: JSON lines with "
    "subject, seq, score and label.",
    type=FILE,
)


def check_without_data(*more: str) -> None:
    """Raise a usage error if an option for reading data, or one of `more`, is used with scores."""
    for spelt in ("format", "field", "label-separator", "bad-lines", "threads", *more):
        name = "names" if spelt == "field" else spelt.replace("-", "_")
        refuse_together(("--scores", True), (f"--{spelt}", is_given(name)))


def _combination(**options: Any) -> dict[str, Any]:
    if options["ema_weight"] is not None and options["combine"] != "ema":
        raise click.UsageError("--ema-weight requires --combine ema")
    return {name: value for name, value in options.items() if value is not None}


combination_options = joined(
    "combination",  # arguments of the library; empty without them
    _combination,
    option(
        "--combine",
        "For scores from another classifier: how to combine the scores of a subject's posts.  "
        "[default: mean]",
        type=click.Choice(COMBINES),
    ),
    option(
        "--ema-weight WEIGHT",
        f"With --combine ema: weight of the latest post.  [default: {EMA_WEIGHT}]",
        type=FiniteFloat(min=0, max=1, min_open=True),
    ),
)
