"""Options of verbs that search for parameters: what to try, how long, by which measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from watchword.cli.options import (
    ONLY_TRAINING,
    PARAMETERS,
    Function,
    Option,
    Parameter,
    converted,
    joined,
    one_of,
)
from watchword.evaluation.labels import MEASURES
from watchword.searching.searcher import seconds_of
from watchword.searching.space import PRUNE, Between, Space, check_space

_PRUNE = Parameter(PRUNE, "After learning, forget n-grams seen so often or less.", int, "TIMES")
_SEARCHED = {
    one.name: one for one in (*PARAMETERS, *ONLY_TRAINING, _PRUNE) if one.name != "default_label"
}
_MOST_WHOLE = 1000  # values of a range of whole numbers
_BUDGET = 30.0  # seconds to tune

# What to try


def try_option(function: Function) -> Function:
    """Add `--try NAME=VALUES`; `space` is what to search, None if nothing was said."""
    option = click.option(
        "--try",
        "space",
        multiple=True,
        metavar="NAME=VALUES",
        callback=_space,
        help="What to try of a parameter: smoothness=0.1,0.2,0.4, or a range: prior=0.1..10. "
        "Several times for several.",
    )
    return option(function)


def _space(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> Space | None:
    found: dict[str, Any] = {}
    for one in value:
        spelt, sign, values = one.partition("=")
        name = spelt.strip().replace("-", "_")
        if not (name and sign and values.strip()):
            raise click.BadParameter(f"{one!r} is not like smoothness=0.1,0.2", ctx, param)
        if name in found:
            raise click.BadParameter(f"{name} stands there twice", ctx, param)
        if name not in _SEARCHED:
            known = ", ".join(_SEARCHED)
            raise click.BadParameter(f"no parameter is called {name!r}, but {known}", ctx, param)
        found[name] = _values(_SEARCHED[name], values, ctx, param)
    try:
        if found:
            check_space(found)
    except (ValueError, TypeError) as error:
        raise click.BadParameter(str(error), ctx, param) from None
    return found or None


def _values(
    one: Parameter, text: str, ctx: click.Context, param: click.Parameter
) -> list[Any] | Between:
    """A list of values, or all between two."""
    first, dots, last = text.partition("..")
    if not dots or one.convert not in (int, float):
        convert = one_of(one.choices) if one.choices else one.convert
        return [converted(convert, part.strip(), ctx, param) for part in text.split(",")]
    low, high = (converted(one.convert, end.strip(), ctx, param) for end in (first, last))
    if one.convert is float:
        try:
            return Between(low, high, log=low > 0)
        except ValueError as error:
            raise click.BadParameter(f"{one.name}={text}: {error}", ctx, param) from None
    if not low < high <= low + _MOST_WHOLE:
        told = f"{one.name}={text} must go up, by at most {_MOST_WHOLE}"
        raise click.BadParameter(told, ctx, param)
    return list(range(low, high + 1))


# How long, and how well


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    try:
        return None if value is None else seconds_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def budget_option(told: str) -> Option:
    """Add `--budget`, in seconds."""
    return click.option("--budget", metavar="TIME", callback=_time, help=told)


keep_option = click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep every result in this file, and go on from what it knows.",
)
measure_option = click.option(
    "--measure",
    type=click.Choice(MEASURES),
    help="What the best is best at.  [default: accuracy]",
)


@dataclass(frozen=True)
class Tuning:
    """How to search for parameters before learning."""

    budget: float
    measure: str
    keep: Path | None


def tuning_options(function: Function) -> Function:
    """Add `--tune` and what goes with it; `tuning` is None where that was not asked for."""
    options: list[Option] = [
        click.option(
            "--tune",
            is_flag=True,
            help="Search for the parameters that fit the data best, beginning with those given "
            "here. All texts must fit into memory then.",
        ),
        budget_option("With --tune: how long to search, as 90s, 5m or 1h.  [default: 30s]"),
        measure_option,
        keep_option,
    ]
    return joined(function, options, "tuning", _tuning)


def _tuning(
    *, tune: bool, budget: float | None, measure: str | None, keep: Path | None
) -> Tuning | None:
    for name, value in (("budget", budget), ("measure", measure), ("keep", keep)):
        if not tune and value is not None:
            raise click.UsageError(f"--{name} goes with --tune")
    return Tuning(budget or _BUDGET, measure or "accuracy", keep) if tune else None
