"""Options that several verbs have: parameters of a model, names of fields, formats, policies."""

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
    """A parameter of TauSS3 as an option."""

    name: str
    help: str
    convert: Callable[[str], Any] = str
    metavar: str = "TEXT"
    choices: tuple[str, ...] | None = None


def _summary(text: str) -> Any:
    """One operator for all levels, or `sentence=max,document=sum`."""
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
    Parameter("smoothness", "σ: how much frequent n-grams stand out, up to 1.", float, "NUMBER"),
    Parameter("significance", "λ: how much more frequent than elsewhere counts.", float, "NUMBER"),
    Parameter("sanction", "ρ: what being significant elsewhere costs.", float, "NUMBER"),
    Parameter("max_ngram", "The longest word sequence to learn.", int, "WORDS"),
    Parameter("min_count", "N-grams seen less often count for nothing.", int, "TIMES"),
    Parameter("alpha", "Values at or below this count as 0.", float, "NUMBER"),
    Parameter("prior", "Counts assumed beforehand, over all labels.", float, "NUMBER"),
    Parameter(
        "ngram_scale",
        "N-grams are frequent compared with others as long, with words, or with all words.",
        choices=("length", "words", "label"),
    ),
    Parameter(
        "significance_function",
        "The first, one that also silences common words, or the first for two labels.",
        choices=("vanilla", "xai", "ratio"),
    ),
    Parameter(
        "confidence_function", "Values as they are, or divided by the largest.",
        choices=("gv", "norm_gv", "norm_gv_xai"),
    ),
    Parameter("reading", "How a sentence is cut into n-grams.", choices=("paper", "words_sum")),
    Parameter(
        "summary", f"sum, max, mean, or one per level: {LEVELS[0]}=max,{LEVELS[2]}=sum.",
        _summary, "HOW",
    ),
)  # fmt: skip
ONLY_TRAINING = (
    Parameter("default_label", "What to answer where nothing is known.", metavar="LABEL"),
    Parameter(
        "counting",
        "What counts: every occurrence of an n-gram, or every document that has it.",
        choices=("occurrences", "documents"),
    ),
    Parameter("paragraphs", "Where paragraphs end.", choices=("lines", "blank_lines")),
    Parameter("prune_period", "Forget rare n-grams every so many words.", int, "WORDS"),
    Parameter("prune_floor", "With a period: how often is still rare.", int, "TIMES"),
    Parameter("prune_shortest", "Forget no n-gram shorter than this.", int, "WORDS"),
)

_DEFAULTS = {field.name: field.default for field in fields(Parameters)}


def parameter_options(function: Function, defaults: Mapping[str, Any] = _DEFAULTS) -> Function:
    """Add every parameter of TauSS3 that is plain data; `parameters` are those that were given."""
    options = []
    for one in PARAMETERS + ONLY_TRAINING:
        default = defaults[one.name]
        told = "" if default is None else f"  [default: {default}]"
        options.append(
            click.option(
                _flag(one.name),
                type=click.Choice(one.choices) if one.choices else None,
                metavar=None if one.choices else one.metavar,
                callback=None if one.choices else _converter(one.convert),
                help=one.help + told,
            )
        )
    return joined(function, options, "parameters", _given)


def preset_options(function: Function) -> Function:
    """Add the flags for parameters of others; `preset` is the name of the one given, if any."""
    options = [
        click.option("--paper", is_flag=True, help="Begin with the parameters of the paper."),
        click.option("--pyss3", is_flag=True, help="Begin with the parameters of PySS3."),
    ]
    return joined(function, options, "preset", _only_one)


def _only_one(**flags: bool) -> str | None:
    given = sorted(name for name, is_given in flags.items() if is_given)
    if len(given) > 1:
        raise click.UsageError(f"--{given[0]} and --{given[1]} cannot go together")
    return given[0] if given else None


def paper_parameter_options(function: Function) -> Function:
    """The same, for verbs that train as the paper did for its tasks."""
    return parameter_options(function, _DEFAULTS | PAPER_TASKS)


def list_options(function: Function) -> Function:
    """Add parameters of TauSS3 as lists of values to try, with commas between them."""
    options = [
        click.option(
            _flag(one.name),
            metavar=one.metavar + ",…" if not one.choices else f"[{'|'.join(one.choices)}],…",
            callback=_list_converter(one_of(one.choices) if one.choices else one.convert),
            help=f"{one.help.rstrip('.')}: values to try.",
        )
        for one in PARAMETERS
        if one.name != "summary"  # its values have commas of their own
    ]
    return joined(function, options, "parameters", _given)


def _given(**options: Any) -> dict[str, Any]:
    names = [one.name for one in PARAMETERS + ONLY_TRAINING]
    return {name: options[name] for name in names if options.get(name) is not None}


def joined(
    function: Function, options: Sequence[Option], name: str, join: Callable[..., Any]
) -> Function:
    """Add options to a function that gets what `join` makes of them all, under one name."""
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
    """What a text means; usage is wrong where it means nothing."""
    try:
        return convert(text)
    except ValueError as error:
        kinds: dict[object, str] = {int: "a whole number", float: "a number"}
        raise click.BadParameter(
            f"{text!r} is not {kinds.get(convert, str(error))}", ctx, param
        ) from None


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A function that takes one of these words and no other."""

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
            raise click.BadParameter(f"no field is called {field!r}, but {known}", ctx, param)
        names[field] = name
    return names


def data_options(*, bad_lines: str) -> Option:
    """Add the options of verbs that read texts or posts; they become `reading`, a `Data`."""
    options = [
        click.option(
            "--format",
            type=click.Choice(["jsonl", "csv", "folder", "erisk"]),
            help="What the data is, where the name does not say it.",
        ),
        click.option(
            "--field",
            "names",
            multiple=True,
            metavar="FIELD=NAME",
            callback=_fields,
            help="What a field is called in the data: text=body.",
        ),
        click.option(
            "--bad-lines",
            type=click.Choice(["error", "skip"]),
            default=bad_lines,
            show_default=True,
            help="Stop at a line that cannot be read, or tell about it and go on.",
        ),
    ]
    return lambda function: joined(function, options, "reading", Data)


def dealing_options(*, folds: int) -> Option:
    """Add what decides which texts are learnt from and which are judged: folds, seed, groups."""
    options = [
        click.option(
            "--folds",
            type=click.IntRange(min=2),
            default=folds,
            show_default=True,
            help="Parts of the data.",
        ),
        click.option(
            "--repeats",
            type=click.IntRange(1, 1000),
            default=1,
            show_default=True,
            help="How often to deal all texts to parts.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Other seed, other parts.",
        ),
        click.option(
            "--group",
            metavar="FIELD",
            help="Keep texts together that are equal in this field; by default those of a subject.",
        ),
    ]
    return lambda function: functools.reduce(
        lambda inner, add: add(inner), reversed(options), function
    )


def threads_option(function: Function) -> Function:
    """Add `--threads`."""
    option = click.option(
        "--threads", type=click.IntRange(min=1), help="How many to use; by default all there are."
    )
    return option(function)


def table_option(function: Function) -> Function:
    """Add `--table`."""
    return click.option("--table", is_flag=True, help="Print for eyes, not for programs.")(function)


def spreadsheet_option(function: Function) -> Function:
    """Add `--spreadsheet-safe`."""
    option = click.option(
        "--spreadsheet-safe",
        is_flag=True,
        help="With --csv: an apostrophe before text that a spreadsheet would run as a formula.",
    )
    return option(function)


# What verbs about subjects have in common

positive_option = click.option(
    "--positive", required=True, metavar="LABEL", help="The label that alerts are about."
)
by_option = click.option(
    "--by",
    type=click.Choice(["post", "chunk"]),
    default="post",
    show_default=True,
    help="Decide after every post, or after tenths as eRisk 2017 and 2018 did.",
)
policy_option = click.option(
    "--policy",
    default="overtakes",
    show_default=True,
    metavar="POLICY",
    callback=check_policy,
    help=f"When to alert: {known_policies()}, joined by or, and, after POSTS.",
)


def policies_option(
    told: str, *, default: str = "overtakes", check: Callable[..., Any] = check_policy
) -> Option:
    """`--policy` that may be given several times, with lists of values."""
    return click.option(
        "--policy",
        "policies",
        multiple=True,
        default=[default],
        show_default=True,
        metavar="POLICY",
        callback=check,
        help=told,
    )
