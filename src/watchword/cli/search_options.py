"""Options of commands that search for parameters: search space, budget, measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from watchword.cli.base import COUNT, is_given
from watchword.cli.files import UpdatedPath
from watchword.cli.options import Option, converted, flag, joined, option
from watchword.evaluation.labels import MEASURES
from watchword.model.parameter_kinds import Number, Parameter, Whole
from watchword.model.parameters import TABLE
from watchword.searching.searcher import seconds_of
from watchword.searching.space import PRUNE, Between, Space, check_space

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
