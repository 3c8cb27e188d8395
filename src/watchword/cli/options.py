"""Options shared by several commands: model parameters, field names, formats, policies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click

from watchword.cli.policies import check_policy, known_policies
from watchword.cli.texts import Data
from watchword.data.records import SUBJECT_FIELDS
from watchword.model.parameters import LEVELS, Parameters
from watchword.model.presets import PAPER_TASKS

Function = Callable[..., Any]
Option = Callable[[Function], Function]


@dataclass(frozen=True)
class Parameter:
    """A TauSS3 parameter as a command-line option."""

    name: str
    help: str
    convert: Callable[[str], Any] = str
    metavar: str = "TEXT"
    choices: tuple[str, ...] | None = None


def _summary(text: str) -> Any:
    """Parse one operator for all levels, or one per level: `sentence=max,document=sum`."""
    if "=" not in text:
        return text
    levels = {}
    for part in text.split(","):
        level, sign, operator = part.partition("=")
        if not sign:
            raise ValueError("like sentence=max,document=sum")
        levels[level.strip()] = operator.strip()
    return levels


PARAMETERS = (
    Parameter("smoothness", "σ: exponent of the relative frequency, in (0, 1].", float, "NUMBER"),
    Parameter("significance", "λ: margin over other labels to be significant.", float, "NUMBER"),
    Parameter("sanction", "ρ: penalty for significance in several labels.", float, "NUMBER"),
    Parameter("max_ngram", "Length of the longest n-grams.", int, "WORDS"),
    Parameter("min_count", "Smallest count of an n-gram for a value above 0.", int, "TIMES"),
    Parameter("alpha", "Threshold: values at or below it are 0.", float, "NUMBER"),
    Parameter("prior", "Prior count over all labels.", float, "NUMBER"),
    Parameter(
        "ngram_scale",
        "Reference for frequency: n-grams of equal length, words, or all words of the label.",
        choices=("length", "words", "label"),
    ),
    Parameter(
        "significance_function",
        "Significance: the original (vanilla), one that also silences common words (xai), or the "
        "original rule for two labels (ratio).",
        choices=("vanilla", "xai", "ratio"),
    ),
    Parameter(
        "confidence_function", "Confidence: values (gv), or values divided by the largest.",
        choices=("gv", "norm_gv", "norm_gv_xai"),
    ),
    Parameter("reading", "Rule to split sentences into n-grams.", choices=("paper", "words_sum")),
    Parameter(
        "summary",
        f"Summary operator: sum, max, mean, or one per level: {LEVELS[0]}=max,{LEVELS[2]}=sum.",
        _summary, "OPERATOR",
    ),
)  # fmt: skip
ONLY_TRAINING = (
    Parameter("default_label", "Label to predict without evidence.", metavar="LABEL"),
    Parameter(
        "counting",
        "Unit of counts: every occurrence of an n-gram, or every document that contains it.",
        choices=("occurrences", "documents"),
    ),
    Parameter("paragraphs", "Paragraph separator.", choices=("lines", "blank_lines")),
    Parameter("prune_period", "Words between prunings while learning.", int, "WORDS"),
    Parameter("prune_floor", "With --prune-period: drop n-grams with count ≤ TIMES.", int, "TIMES"),
    Parameter("prune_shortest", "Length of the shortest n-grams to prune.", int, "WORDS"),
)

_DEFAULTS = {field.name: field.default for field in fields(Parameters)}


def parameter_options(function: Function, defaults: Mapping[str, Any] = _DEFAULTS) -> Function:
    """Add an option per TauSS3 parameter; `parameters` holds those given on the command line."""
    options = []
    for one in PARAMETERS + ONLY_TRAINING:
        default = defaults[one.name]
        shown = "" if default is None else f"  [default: {default}]"
        options.append(
            click.option(
                _flag(one.name),
                type=click.Choice(one.choices) if one.choices else None,
                metavar=None if one.choices else one.metavar,
                callback=None if one.choices else _converter(one.convert),
                help=one.help + shown,
            )
        )
    return joined(function, options, "parameters", _given)


def preset_options(function: Function) -> Function:
    """Add `--paper` and `--pyss3`; `preset` is the name of the one given, or None."""
    options = [
        click.option("--paper", is_flag=True, help="Use the paper's parameters as defaults."),
        click.option("--pyss3", is_flag=True, help="Use PySS3's parameters as defaults."),
    ]
    return joined(function, options, "preset", _only_one)


def _only_one(**flags: bool) -> str | None:
    given = sorted(name for name, is_given in flags.items() if is_given)
    if len(given) > 1:
        raise click.UsageError(f"--{given[0]} and --{given[1]} cannot be used together")
    return given[0] if given else None


def paper_parameter_options(function: Function) -> Function:
    """Add an option per TauSS3 parameter, with the paper's values as defaults."""
    return parameter_options(function, _DEFAULTS | PAPER_TASKS)


def list_options(function: Function) -> Function:
    """Add options for TauSS3 parameters as comma-separated lists of values to try."""
    options = [
        click.option(
            _flag(one.name),
            metavar=one.metavar + ",…" if not one.choices else f"[{'|'.join(one.choices)}],…",
            callback=_list_converter(one_of(one.choices) if one.choices else one.convert),
            help=f"{one.help.rstrip('.')} (values to try).",
        )
        for one in PARAMETERS
        if one.name != "summary"  # its values contain commas
    ]
    return joined(function, options, "parameters", _given)


def _given(**options: Any) -> dict[str, Any]:
    names = [one.name for one in PARAMETERS + ONLY_TRAINING]
    return {name: options[name] for name in names if options.get(name) is not None}


def joined(
    function: Function, options: Sequence[Option], name: str, join: Callable[..., Any]
) -> Function:
    """Add options to a function, which receives the result of `join` on them as `name`."""
    before = len(getattr(function, "__click_params__", ()))

    @functools.wraps(function)
    def wrapped(**given: Any) -> Any:
        mine = {each: given.pop(each) for each in own}
        return function(**given, **{name: join(**mine)})

    for option in reversed(options):
        option(wrapped)
    own = [one.name for one in wrapped.__click_params__[before:]]  # type: ignore[attr-defined]
    return wrapped


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


_Callback = Callable[[click.Context, click.Parameter, str | None], Any]


def _converter(convert: Callable[[str], Any]) -> _Callback:
    def callback(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        return None if value is None else converted(convert, value, ctx, param)

    return callback


def _list_converter(convert: Callable[[str], Any]) -> _Callback:
    def callback(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        return [converted(convert, one.strip(), ctx, param) for one in value.split(",")]

    return callback


def converted(
    convert: Callable[[str], Any], text: str, ctx: click.Context, param: click.Parameter
) -> Any:
    """Return the converted text, or raise a usage error if it is invalid."""
    try:
        return convert(text)
    except ValueError as error:
        kinds: dict[object, str] = {int: "a whole number", float: "a number"}
        raise click.BadParameter(
            f"{text!r} is not {kinds.get(convert, str(error))}", ctx, param
        ) from None


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Return a converter that accepts only these words."""

    def convert(text: str) -> str:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return text

    return convert


# Data


def _fields(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    names = {}
    for one in value:
        field, sign, name = one.partition("=")
        if not (field and sign and name):
            raise click.BadParameter(f"{one!r} is not like text=body", ctx, param)
        if field not in SUBJECT_FIELDS:
            known = ", ".join(SUBJECT_FIELDS)
            raise click.BadParameter(f"unknown field {field!r} (known: {known})", ctx, param)
        names[field] = name
    return names


def data_options(*, bad_lines: str) -> Option:
    """Add the options of commands that read texts or posts; `reading` is a `Data` made of them."""
    options = [
        click.option(
            "--format",
            type=click.Choice(["jsonl", "csv", "folder", "erisk"]),
            help="Format of the data.  [default: from the file name]",
        ),
        click.option(
            "--field",
            "names",
            multiple=True,
            metavar="FIELD=NAME",
            callback=_fields,
            help="Name of a field in the data: text=body; repeatable.",
        ),
        click.option(
            "--bad-lines",
            type=click.Choice(["error", "skip"]),
            default=bad_lines,
            show_default=True,
            help="Stop at an invalid line, or skip it with a warning.",
        ),
    ]
    return lambda function: joined(function, options, "reading", Data)


def dealing_options(*, folds: int) -> Option:
    """Add the options of cross-validation: folds, repeats, seed, groups."""
    options = [
        click.option(
            "--folds",
            type=click.IntRange(min=2),
            default=folds,
            show_default=True,
            help="Number of folds.",
        ),
        click.option(
            "--repeats",
            type=click.IntRange(1, 1000),
            default=1,
            show_default=True,
            help="Number of times to repeat the split into folds.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Random seed of the split.",
        ),
        click.option(
            "--group",
            metavar="FIELD",
            help="Field whose equal values stay in one fold.  [default: the subject]",
        ),
    ]
    return lambda function: functools.reduce(
        lambda inner, add: add(inner), reversed(options), function
    )


def threads_option(function: Function) -> Function:
    """Add `--threads`."""
    option = click.option(
        "--threads", type=click.IntRange(min=1), help="Number of threads.  [default: all cores]"
    )
    return option(function)


def table_option(function: Function) -> Function:
    """Add `--table`."""
    return click.option("--table", is_flag=True, help="Print a table instead of JSON lines.")(
        function
    )


def spreadsheet_option(function: Function) -> Function:
    """Add `--spreadsheet-safe`."""
    option = click.option(
        "--spreadsheet-safe",
        is_flag=True,
        help="With --csv: put an apostrophe before text that a spreadsheet would run as a formula.",
    )
    return option(function)


# Options of commands about subjects

positive_option = click.option(
    "--positive", required=True, metavar="LABEL", help="Label to alert for."
)
by_option = click.option(
    "--by",
    type=click.Choice(["post", "chunk"]),
    default="post",
    show_default=True,
    help="Decide after every post, or after each tenth of the posts as in eRisk 2017 and 2018.",
)
policy_option = click.option(
    "--policy",
    default="overtakes",
    show_default=True,
    metavar="POLICY",
    callback=check_policy,
    help=f"Alert policy: {known_policies()}; combined with or, and, after POSTS.",
)


def policies_option(
    text: str, *, default: str = "overtakes", check: Callable[..., Any] = check_policy
) -> Option:
    """Add a repeatable `--policy` that accepts lists of values."""
    return click.option(
        "--policy",
        "policies",
        multiple=True,
        default=[default],
        show_default=True,
        metavar="POLICY",
        callback=check,
        help=text,
    )
