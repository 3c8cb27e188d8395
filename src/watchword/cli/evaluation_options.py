"""Options of commands that search for parameters or replay streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from watchword.cli.base import COUNT, FILE, FiniteFloat, is_given, refuse_together
from watchword.cli.files import UpdatedPath
from watchword.cli.options import Option, converted, flag, joined, option
from watchword.evaluation.labels import MEASURES
from watchword.evaluation.metrics import LATENCY_P
from watchword.evaluation.replaying import DEADLINES
from watchword.evaluation.scores import BYS
from watchword.model.parameters import TABLE, Number, Parameter, Whole
from watchword.searching.searcher import seconds_of
from watchword.searching.space import PRUNE, Between, Space, check_space
from watchword.streams.steps import COMBINES, EMA_WEIGHT

_PRUNE = Whole(name=PRUNE, help="Largest count that is dropped after training.", least=0)
_SEARCHED = {one.name: one for one in (*TABLE, _PRUNE) if one.name != "default_label"}
_MOST_WHOLE = 1000  # most values in a range of integers

# Search space


def _space(given: Sequence[str]) -> Space | None:
    found: dict[str, Any] = {}
    for one in given:
        spelt, sign, values = one.partition("=")
        name = spelt.strip().replace("-", "_")
        if not (name and sign and values.strip()):
            raise ValueError(f"{one!r} is not like smoothness=0.1,0.2")
        if name in found:
            raise ValueError(f"duplicate parameter {name!r}")
        if name not in _SEARCHED:
            raise ValueError(f"unknown parameter {name!r} (known: {', '.join(_SEARCHED)})")
        found[name] = _values(_SEARCHED[name], values)
    if found:
        check_space(found)
    return found or None


def _values(one: Parameter, text: str) -> list[Any] | Between:
    """Parse a list of values, or a range."""
    first, dots, last = text.partition("..")
    if not dots or not isinstance(one, Number | Whole):
        return [converted(one, part.strip()) for part in text.split(",")]
    low, high = (converted(one, end.strip()) for end in (first, last))
    if isinstance(one, Number):
        try:
            return Between(low, high, log=low > 0)
        except ValueError as error:
            raise ValueError(f"{one.name}={text}: {error}") from None
    if not low < high <= low + _MOST_WHOLE:
        steps = f"an increasing range of at most {_MOST_WHOLE} steps"
        raise ValueError(f"{one.name}={text} must be {steps}")
    return list(range(low, high + 1))


try_option = option(
    "--try NAME=VALUES",
    "Values of a parameter to try: smoothness=0.1,0.2,0.4, or a range: prior=0.1..10; repeatable.",
    name="space",
    multiple=True,
    parse=_space,
)


# Budget and measure


def budget_option(text: str) -> Option:
    """Add `--budget`, converted to seconds."""
    return option("--budget TIME", text, parse=_seconds)


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("budget ")) from None


keep_option = option(
    "--keep FILE", "File to store all results in; the search resumes from it.", type=UpdatedPath()
)
measure_option = option(
    "--measure", "Measure to optimise.", type=click.Choice(MEASURES), default="accuracy"
)


def _tuning(*, tune: bool, **options: Any) -> dict[str, Any] | None:
    for name in ("budget", "trials", "measure", "keep"):
        if not tune and is_given(name):
            raise click.UsageError(f"--{name} requires --tune")
    return options if tune else None


tuning_options = joined(
    "tuning",  # None without --tune
    _tuning,
    flag(
        "--tune",
        "Search for the best parameters first, starting from those given here. All texts "
        "must fit into memory.",
    ),
    budget_option(
        "With --tune: time limit of the search: 90s, 5m, 1h.  [default: 30s without --trials]"
    ),
    option(
        "--trials N",
        "With --tune: number of settings to try; unlike with a time limit, the result is "
        "reproducible.",
        type=COUNT,
    ),
    measure_option,
    keep_option,
)


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
