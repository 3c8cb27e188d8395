"""Options shared by several commands: model parameters, field names, formats, policies."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword._checks import as_number
from watchword.cli.base import COUNT, FILE, FOLDER, refuse_together
from watchword.cli.files import PolicyPath
from watchword.cli.loading import FORMATS, Loader
from watchword.cli.policy_notation import check_policies, check_policy, known_policies
from watchword.data.records import SUBJECT_FIELDS
from watchword.model.engine import engine_of
from watchword.model.parameters import (
    DEFAULTS,
    SUMMARY_NAMES,
    TABLE,
    Choice,
    Number,
    Parameter,
    SummaryOperators,
    Whole,
)

Function = Callable[..., Any]
Option = Callable[[Function], Function]

_OBVIOUS_LEAST = 2  # the least number of folds


class _Option(click.Option):
    """An option whose help shows the range of a number only if it is not obvious.

    One with an environment variable may also be in the file that the variable with _FILE names.
    """

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the variable, or the content of the file that VARIABLE_FILE names."""
        value = super().resolve_envvar_value(ctx)
        path = os.environ.get(f"{self.envvar}_FILE") if self.envvar else None
        if value is not None or not path:
            return value
        try:
            return Path(path).read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{self.envvar}_FILE: {error}") from None

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the default and the range, without a range such as x>=1."""
        extra = super().get_help_extra(ctx)
        kind = self.type
        if (
            isinstance(kind, click.IntRange | click.FloatRange)
            and kind.max is None
            and (kind.min or 0) <= _OBVIOUS_LEAST
        ):
            extra.pop("range", None)
        return extra


def _metavar_of(kind: object) -> str | None:
    """Return the metavar of an option whose declaration has none."""
    if kind is int or isinstance(kind, click.IntRange | click.FloatRange):
        return "N"
    return "FOLDER" if kind is FOLDER else None


def option(
    declared: str,
    text: str,
    *,
    name: str | None = None,
    parse: Callable[[Any], Any] | None = None,
    is_secret: Callable[[str], bool] | None = None,
    **attributes: Any,
) -> Option:
    """Add an option, declared by its names and its metavar as in its help: `-o, --output FILE`.

    Without a metavar, it is N for numbers, and otherwise the name of the type. `name` is the name
    of the function's parameter [default: the last name of the option]. `parse` is called with a
    given value; its `ValueError` or `TypeError` is an error of usage. Values that are secret may
    only come from the environment.
    """

    def parsed(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if is_secret is not None and _is_on_command_line(ctx, param):
            values = value if param.multiple else [value]
            if any(map(is_secret, values)):
                raise click.UsageError(
                    f"{param.opts[0]}: every user of this machine can see the password (ps): set "
                    f"{param.envvar}, or {param.envvar}_FILE to a file that has the URL"
                )
        try:
            return value if value is None or parse is None else parse(value)
        except (ValueError, TypeError) as error:
            raise click.BadParameter(str(error)) from None  # click names the option

    words = declared.split(" ")
    names = [word.rstrip(",") for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :]) or _metavar_of(attributes.get("type"))
    given = names if name is None else [*names, name]
    return click.option(
        *given, cls=_Option, metavar=metavar, help=text, callback=parsed, **attributes
    )


def _is_on_command_line(ctx: click.Context, param: click.Parameter) -> bool:
    return ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE


def flag(declared: str, text: str, *, name: str | None = None) -> Option:
    """Add an option without a value."""
    return option(declared, text, name=name, is_flag=True, default=False)


def joined(name: str, join: Callable[..., Any], *options: Option) -> Option:
    """Add options to a function, which receives the result of `join` on them as `name`."""

    def add(function: Function) -> Function:
        before = len(getattr(function, "__click_params__", ()))

        @functools.wraps(function)
        def wrapped(**given: Any) -> Any:
            mine = {each: given.pop(each) for each in own}
            return function(**given, **{name: join(**mine)})

        added(*options)(wrapped)
        own = [one.name for one in wrapped.__click_params__[before:]]  # type: ignore[attr-defined]
        return wrapped

    return add


def added(*options: Option) -> Option:
    """Add several options to a function."""
    return lambda function: functools.reduce(
        lambda inner, add: add(inner), reversed(options), function
    )


def _operators(text: str) -> Any:
    """Parse one operator for all levels, or one per level: `sentence=max,document=sum`."""
    if "=" not in text:
        return _operator(text)
    levels = {}
    for part in text.split(","):
        level, sign, operator = part.partition("=")
        if not sign:
            raise ValueError(f"{text!r} is not like sentence=max,document=sum")
        levels[level.strip()] = _operator(operator.strip())
    return levels


def _operator(text: str) -> str:
    """Return an operator; functions, which the library also accepts, have no name here."""
    if text not in SUMMARY_NAMES:
        raise ValueError(f"{text!r} is not one of {', '.join(SUMMARY_NAMES)}")
    return text


def parameter_options(function: Function, defaults: Mapping[str, Any] = DEFAULTS) -> Function:
    """Add an option per TauSS3 parameter; `parameters` holds those given on the command line."""
    options = []
    for one in TABLE:
        default = defaults[one.name]
        shown = "" if default is None else f"  [default: {default}]"
        if choices := _choices(one):
            options.append(option(_flag(one.name), one.help + shown, type=click.Choice(choices)))
        else:
            declared = f"{_flag(one.name)} {one.metavar}"
            options.append(option(declared, one.help + shown, parse=partial(_checked, one)))
    return joined("parameters", _given, *options)(function)


def _choices(one: Parameter) -> tuple[str, ...]:
    if isinstance(one, SummaryOperators) or not isinstance(one, Choice):
        return ()
    return one.choices


def _preset(paper: bool, pyss3: bool) -> str | None:
    refuse_together(("--paper", paper), ("--pyss3", pyss3))
    return "paper" if paper else "pyss3" if pyss3 else None


preset_options = joined(
    "preset",  # the name of the one given, or None
    _preset,
    flag("--paper", "Use the paper's parameters as defaults."),
    flag("--pyss3", "Use PySS3's parameters as defaults."),
)


def list_options(function: Function) -> Function:
    """Add options for TauSS3 parameters as comma-separated lists of values to try."""
    options = []
    for one in TABLE:
        # Other parameters take effect while learning; the values of a summary contain commas.
        if one.title is not None and one.name != "summary":
            values = f"[{'|'.join(_choices(one))}]" if _choices(one) else one.metavar
            text = f"{one.help.rstrip('.')} (values to try)."
            parse = partial(_all_checked, one)
            options.append(option(f"{_flag(one.name)} {values},…", text, parse=parse))
    return joined("parameters", _given, *options)(function)


def _given(**options: Any) -> dict[str, Any]:
    return {one.name: options[one.name] for one in TABLE if options.get(one.name) is not None}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _checked(one: Parameter, text: str) -> Any:
    """Return the value of a parameter, or raise an error that does not repeat its name."""
    value = converted(one, text)
    try:
        one.check(value)
    except ValueError as error:
        raise ValueError(str(error).removeprefix(f"{one.name} ")) from None
    return value


def _all_checked(one: Parameter, text: str) -> list[Any]:
    return [_checked(one, part.strip()) for part in text.split(",")]


def converted(one: Parameter, text: str) -> Any:
    """Return a parameter's value from the command line, not yet checked."""
    if isinstance(one, SummaryOperators):
        return _operators(text)
    kind, wanted = (float, "a number") if isinstance(one, Number) else (int, "a whole number")
    if isinstance(one, Number | Whole):
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {wanted}") from None
    if isinstance(one, Choice) and text not in one.choices:
        raise ValueError(f"{text!r} is not one of {', '.join(one.choices)}")
    return text


def numbers_by_name(text: str, example: str) -> dict[str, float]:
    """Parse names with finite numbers, separated by commas."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (one.strip() for one in part.partition("="))
        if name in found:
            raise ValueError(f"duplicate {name!r} in {text!r}")
        try:
            found[name] = as_number(name, float(number))
        except ValueError:
            raise ValueError(f"{part.strip()!r} is not like {example}") from None
    return found


# Data


def _fields(value: Sequence[str]) -> dict[str, str]:
    names = {}
    for one in value:
        field, sign, name = one.partition("=")
        if not (field and sign and name):
            raise ValueError(f"{one!r} is not like text=body")
        if field not in SUBJECT_FIELDS:
            raise ValueError(f"unknown field {field!r} (known: {', '.join(SUBJECT_FIELDS)})")
        names[field] = name
    return names


def data_options(*, bad_lines: str = "error") -> Option:
    """Add the options of commands that read texts or posts; `loader` is made of them."""
    return joined(
        "loader",
        Loader,
        option(
            "--format",
            "Format of the data; erisk_context includes the texts of others as context.  "
            "[default: from the file name]",
            type=click.Choice(FORMATS),
        ),
        option(
            "--field FIELD=NAME",
            "Name of a field in the data: text=body; repeatable.",
            name="names",
            multiple=True,
            parse=_fields,
        ),
        option("--label-separator TEXT", "Separator of the labels of a text, as in a;b."),
        option(
            "--bad-lines",
            "Stop at an invalid line, or skip it with a warning.",
            type=click.Choice(["error", "skip"]),
            default=bad_lines,
        ),
    )


def reading_options(*, bad_lines: str = "error") -> Option:
    """Add `data_options`, `--threads` and `--table`."""
    return added(data_options(bad_lines=bad_lines), threads_option, table_option)


def fold_options(*, folds: int) -> Option:
    """Add the options of cross-validation: folds, repeats, seed, groups."""
    return added(
        option("--folds", "Number of folds.", type=click.IntRange(min=2), default=folds),
        option(
            "--repeats",
            "Number of times to repeat the split into folds.",
            type=click.IntRange(1, 1000),
            default=1,
        ),
        option("--seed", "Random seed of the split.", type=click.IntRange(min=0), default=0),
        option(
            "--group FIELD",
            "Field that groups texts; folds never split a group.  [default: the subject]",
        ),
    )


threads_option = option("--threads", "Number of threads.  [default: all cores]", type=COUNT)


table_option = flag("--table", "Print a table instead of JSON lines.")
like_option = option("--like MODEL", "Model whose parameters are the defaults.", type=FILE)
prune_option = option(
    "--prune COUNT", "Drop n-grams with count ≤ COUNT under a label after training.", type=COUNT
)


refine_option = option(
    "--refine/--no-refine",
    "Fit corrections around the counts, which makes labels more accurate; all texts must fit "
    "into memory.  [default: refine, except for posts of subjects and with --paper, --pyss3 or "
    "pruning]",
    default=None,
)


def refine_choice(
    refine: bool | None, model: TauSS3, preset: str | None, conflicts: Mapping[str, Any]
) -> bool | None:
    """Return whether to refine a model; None if that depends on whether the texts are posts.

    `conflicts` are options with which a model cannot be refined, and their values.
    """
    own = model.parameters
    conflicts = {**conflicts, "--prune-period": own["prune_period"]}
    refuse_together(("--refine", refine), *conflicts.items())
    if any(value is not None for value in conflicts.values()):
        return False
    if refine is None and (preset is not None or not engine_of(model).parameters.is_summed):
        return False
    return refine


host_option = option("--host HOST", "Address to listen on.", default="127.0.0.1")
port_option = option(
    "-p, --port PORT",
    "Port to listen on; 0 picks a free port.",
    type=click.IntRange(0, 65535),
    default=8000,
)


def server_options(envvar: str, user: str, *, default: str) -> Option:
    """Add `--host`, `--port` and `--token`, which may also be in the environment variable.

    `default` says what the token is if none is given.
    """
    return added(
        host_option,
        port_option,
        option(
            "--token TOKEN",
            f"Access token for {user}: at least 8 characters, 16 on a host that other "
            f"machines can reach.  [default: {default}]",
            envvar=envvar,
        ),
    )


# Options of commands about subjects

positive_option = option("--positive LABEL", "Label to alert for.", required=True)
allow_changed_model_option = flag(
    "--allow-changed-model", "Accept a state saved with another model."
)
policy_option = option(
    "--policy POLICY",
    f"Alert policy: {known_policies()}; combined with or, and, after POSTS, ranked_by SCORE; "
    "or a file ending with .json, written by tune --save-policy.",
    default="overtakes",
    type=PolicyPath(),
    parse=check_policy,
)


def policies_option(
    text: str, *, default: str = "overtakes", check: Callable[..., Any] = check_policies
) -> Option:
    """Add a repeatable `--policy` that accepts lists of values."""
    return option(
        "--policy POLICY",
        text,
        name="policies",
        multiple=True,
        default=[default],
        type=PolicyPath(),
        parse=check,
    )
