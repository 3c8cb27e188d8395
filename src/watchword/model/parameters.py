"""Parameters of the model: their kinds, the one table of them, and presets.

The constructor, its docstring and the presets, the model file, the command line, the scikit-learn
estimator, the live page and docs/parameters.md derive from it.
"""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, cast, get_args

from watchword import _native
from watchword._checks import (
    FloatArray,
    Label,
    as_choice,
    as_label,
    as_not_negative,
    as_number,
    as_whole,
    reprs,
)
from watchword.model.text import function_name

SummaryFunction = Callable[[FloatArray], FloatArray]
SummaryName = Literal["sum", "max", "mean"]
SummaryOperator = SummaryName | SummaryFunction
Level = Literal["sentence", "paragraph", "document"]
Summary = SummaryOperator | Mapping[Level, SummaryOperator]

LEVELS: tuple[Level, ...] = ("sentence", "paragraph", "document")
SUMMARY_NAMES: tuple[SummaryName, ...] = get_args(SummaryName)

REQUIRED = object()  # in every model file


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A row of the table.

    `help` is the text of the command line, and with `details` that of the docstring. `paper` and
    `pyss3` are the values of the presets, `earlier` the value in model files written before the
    parameter existed. A parameter that `shapes_counts` takes effect while learning; one without
    `affects_values` leaves the value of every n-gram as it is, so that corrections fitted with
    another value of it still hold. `title` is its name on the live page, which shows it only if it
    has one; `slider` is the range of its slider.
    """

    help: str
    details: str = ""
    paper: Any = None
    pyss3: Any = None
    earlier: Any = REQUIRED
    shapes_counts: bool = False
    affects_values: bool = True
    metavar: str = "NUMBER"
    title: str | None = None
    slider: tuple[float, float, float] | None = None  # lowest, highest, step
    name: str = ""  # set in `parameters.TABLE`
    default: Any = None  # set in `parameters.TABLE`

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        return ""

    @property
    def description(self) -> str:
        """The help text, the details and, of numbers, the range."""
        text = f"{self.help} {self.details}".rstrip()
        return f"{text} Range: {self.range}." if isinstance(self, Number | Whole) else text

    def check(self, value: Any) -> Any:
        """Return the value as a model stores it, or raise an error that names the parameter."""
        raise NotImplementedError

    def to_native(self, value: Any) -> Any:
        """Return the value as the core stores it."""
        return value


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A finite number that is not negative, with bounds where given."""

    above_zero: bool = False
    most: float | None = None

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        low = "(0" if self.above_zero else "[0"
        return f"{low}, {'∞)' if self.most is None else f'{self.most:g}]'}"

    def check(self, value: Any) -> float:
        """Return a `float`."""
        if self.most is None and not self.above_zero:
            return as_not_negative(self.name, value)
        number = as_number(self.name, value)
        if number < 0 or (self.above_zero and number == 0) or number > (self.most or number):
            raise ValueError(f"{self.name} must be in {self.range}, got {number:g}")
        return number


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter):
    """A whole number, or None where that is the default."""

    least: int
    most: int | None = None

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        return f"{self.least} to {self.most}" if self.most else f"{self.least} or more"

    def check(self, value: Any) -> int | None:
        """Return an `int`, or None."""
        if value is None and self.default is None:
            return None
        limits = (self.least,) if self.most is None else (self.least, self.most)
        return as_whole(self.name, value, *limits)


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of several names, which the core defines."""

    of: type[enum.Enum]
    titles: Mapping[str, str] = field(default_factory=dict)  # on the live page, where they differ

    @property
    def choices(self) -> tuple[str, ...]:
        """The valid names."""
        return tuple(self.of.__members__)

    @property
    def range(self) -> str:
        """The valid names."""
        return ", ".join(self.choices)

    def check(self, value: Any) -> Any:
        """Return one of the names."""
        return as_choice(self.name, value, self.choices)

    def to_native(self, value: Any) -> Any:
        """Return the member of the core's enumeration."""
        return self.of[value]


@dataclass(frozen=True, kw_only=True)
class SummaryOperators(Choice):
    """An operator for each level."""

    def check(self, value: Any) -> dict[Level, SummaryOperator]:
        """Return the operator of each level."""
        if not isinstance(value, Mapping):
            return dict.fromkeys(LEVELS, self._operator(value))
        unknown = [level for level in value if level not in LEVELS]
        if unknown:
            raise ValueError(f"{self.name} has levels {', '.join(LEVELS)}, got {unknown[0]!r}")
        return {level: self._operator(value.get(level, "sum")) for level in LEVELS}

    def _operator(self, operator: Any) -> SummaryOperator:
        if callable(operator):
            return cast("SummaryFunction", operator)
        for known in SUMMARY_NAMES:
            if isinstance(operator, str) and operator == known:
                return known
        names = reprs(SUMMARY_NAMES)
        raise ValueError(f"{self.name} must be one of {names} or a function, got {operator!r}")

    def to_native(self, value: Any) -> Any:
        """Return the operator of each level; the user's functions are not the core's: sums."""
        return [self.of["sum" if callable(one) else one] for one in value.values()]


@dataclass(frozen=True, kw_only=True)
class DefaultLabel(Parameter):
    """A label, or None."""

    metavar: str = "LABEL"

    def check(self, value: Any) -> Label | None:
        """Return a plain `str` or `int`, or None."""
        return None if value is None else as_label(value)


_Class = TypeVar("_Class")
_P = ParamSpec("_P")


def _row(
    default: Any, kind: Callable[_P, Parameter], /, *values: _P.args, **named: _P.kwargs
) -> Any:
    return field(default=default, metadata={"parameter": kind(*values, **named)})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a model.

    >>> Parameters(smoothness=3)
    Traceback (most recent call last):
    ...
    ValueError: smoothness must be in (0, 1], got 3
    """

    smoothness: float = _row(
        0.13,
        Number,
        help="σ: exponent of the relative frequency.",
        details="In lv = (tf / max tf)^σ, the weight of frequent n-grams.",
        above_zero=True,
        most=1,
        paper=0.455,
        pyss3=0.45,
        title="Smoothness σ",
        slider=(0.01, 1, 0.01),
    )
    significance: float = _row(
        0.7,
        Number,
        help="λ: margin over other labels to be significant.",
        details="In sg, how much more frequent an n-gram must be in a label than in others.",
        paper=1.0,
        pyss3=0.5,
        title="Significance λ",
        slider=(0, 5, 0.05),
    )
    sanction: float = _row(
        0.25,
        Number,
        help="ρ: penalty for significance in several labels.",
        details="The exponent of sn.",
        paper=1.0,
        pyss3=1.0,
        title="Sanction ρ",
        slider=(0, 5, 0.05),
    )
    max_ngram: int = _row(
        3,
        Whole,
        help="Length of the longest n-grams, in words.",
        least=1,
        most=_native.max_ngram_limit,
        paper=3,
        pyss3=1,
        metavar="WORDS",
        title="Longest n-gram",
    )
    min_count: int = _row(
        1,
        Whole,
        help="Give the value 0 to n-grams counted fewer than this many times under a label.",
        least=1,
        paper=1,
        pyss3=2,
        metavar="COUNT",
        title="Minimum count",
    )
    alpha: float = _row(
        0.0,
        Number,
        help="Treat values up to this as 0.",
        paper=0.0,
        pyss3=0.0,
        title="Threshold α",
    )
    prior: float = _row(
        3.0,
        Number,
        help="Prior count over all labels.",
        details="Counts assumed beforehand where labels are compared (in sg), so that a single "
        "occurrence is no proof. Applies to two labels with many documents; it is less with "
        "more labels (times 2 / labels) and with only a handful of documents per label. Use 0 "
        "for the paper's behaviour.",
        paper=0.0,
        pyss3=0.0,
        earlier=0.0,
        title="Prior count",
    )
    label_weight: float = _row(
        0.2,
        Number,
        help="Exponent of the penalty on labels with few documents (0: none).",
        details="With more than two labels, values are multiplied by (documents of the label / "
        "most documents of any label) to the power of this times (1 - 2 / labels), so that "
        "rare labels do not win too often. Use 0 for the paper's behaviour.",
        paper=0.0,
        pyss3=0.0,
        earlier=0.0,
        title="Label weight",
    )
    ngram_scale: Literal["length", "words", "label"] = _row(
        "label",
        Choice,
        help="Divisor of an n-gram's count: the largest count of n-grams of its length (length) or "
        "of words (words), or the number of words of the label (label).",
        details='The maximum in lv: with `"length"`, as in the paper, a rare long n-gram has a '
        'higher value than a common word; `"words"` takes the most frequent of the words; '
        '`"label"` the label\'s words, times the largest share that any word has under any '
        "label, so that a frequent word does not lower the values of one label.",
        of=_native.NgramScale,
        paper="length",
        pyss3="length",
        earlier="length",
        title="N-gram scale",
    )
    significance_function: Literal["vanilla", "xai", "ratio"] = _row(
        "ratio",
        Choice,
        help="Significance: the original (vanilla), one that also silences common words (xai), "
        "or the original rule for two labels (ratio).",
        details='For two labels, only the ratio of their values matters; `"ratio"` extends '
        "this to any number of labels.",
        of=_native.SignificanceFunction,
        paper="vanilla",
        pyss3="xai",
        title="Significance function",
    )
    confidence_function: Literal["gv", "norm_gv", "norm_gv_xai"] = _row(
        "gv",
        Choice,
        help="How confidence is computed: from values (gv), from values divided by the largest "
        "(norm_gv), or from these with the values of an n-gram's words added (norm_gv_xai).",
        details='With `"norm_gv_xai"`, an n-gram of several words gets the sum of its words\' '
        "values added if each of them has a value under the label, and is 0 if that sum is "
        "below 0.05. The largest value costs a pass over the model after every change.",
        of=_native.ConfidenceFunction,
        paper="gv",
        pyss3="norm_gv_xai",
        title="Confidence function",
        titles={
            "gv": "global value",
            "norm_gv": "normalised",
            "norm_gv_xai": "normalised (xai)",
        },
    )
    reading: Literal["paper", "words_sum"] = _row(
        "paper",
        Choice,
        help="Rule to split sentences into n-grams.",
        details='`"paper"` takes those of highest value, `"words_sum"` takes single words '
        "where their sum is higher.",
        of=_native.ReadingRule,
        paper="paper",
        pyss3="words_sum",
        title="Reading rule",
        titles={"words_sum": "sum of words"},
    )
    summary: Summary = _row(
        "sum",
        SummaryOperators,
        help=f"Summary operator: sum, max, mean, or one per level: {LEVELS[0]}=max,"
        f"{LEVELS[2]}=sum.",
        details="In Python, also a function from an array (blocks, labels) to one vector; or "
        'one of these per level, as `{"sentence": …, "paragraph": …, "document": …}`.',
        of=_native.SummaryOperator,
        paper="sum",
        pyss3="sum",
        metavar="OPERATOR",
        title="Summary operator",
        titles={"max": "maximum"},
    )
    default_label: Label | None = _row(
        None,
        DefaultLabel,
        affects_values=False,
        help="Label to predict without evidence.",
        details="By default the label with the most words. It may be set before it is learnt; "
        "predicting it before then raises `UnknownLabelError`.",
    )
    counting: Literal["occurrences", "documents"] = _row(
        "documents",
        Choice,
        help="Unit of counts: every occurrence of an n-gram, or every document that contains it.",
        details='The paper counts `"occurrences"`; but words come in bursts, so repetition '
        "adds little evidence.",
        of=_native.Counting,
        paper="occurrences",
        pyss3="occurrences",
        earlier="occurrences",
        shapes_counts=True,
    )
    paragraphs: Literal["lines", "blank_lines"] = _row(
        "lines",
        Choice,
        help="Paragraph separator.",
        details='Use `"blank_lines"` for hard-wrapped text.',
        of=_native.Paragraphs,
        shapes_counts=True,
    )
    tokenization: Literal["unicode", "pyss3"] = _row(
        "unicode",
        Choice,
        help="Rules to split text into words: Unicode's, or those of PySS3.",
        details='`"pyss3"` cleans text as PySS3 does: apostrophes are dropped, numbers become '
        "placeholders, n-grams are learnt across line ends and read across commas. Pruning "
        "then takes place at punctuation, and does not lower the largest counts.",
        of=_native.Tokenization,
        pyss3="pyss3",
        earlier="unicode",
        shapes_counts=True,
    )
    prune_period: int | None = _row(
        None,
        Whole,
        pyss3=1_000_000,
        affects_values=False,
        help="Words between prunings while learning.",
        details="Pruning drops the n-grams of at least `prune_shortest` words with a count of "
        "at most `prune_floor` under a label. Off by default.",
        least=1,
        metavar="WORDS",
    )
    prune_floor: int = _row(
        10,
        Whole,
        pyss3=10,
        affects_values=False,
        help="Largest count that periodic pruning drops.",
        least=0,
        metavar="COUNT",
    )
    prune_shortest: int = _row(
        1,
        Whole,
        pyss3=2,
        affects_values=False,
        help="Length of the shortest n-grams to prune.",
        least=1,
        most=_native.max_ngram_limit,
        metavar="WORDS",
    )

    def __post_init__(self) -> None:
        for one in TABLE:
            object.__setattr__(self, one.name, one.check(getattr(self, one.name)))

    @property
    def operators(self) -> dict[Level, SummaryOperator]:
        """The summary operator of each level."""
        return cast("dict[Level, SummaryOperator]", self.summary)  # since __post_init__

    @property
    def operator_names(self) -> dict[Level, str]:
        """The summary operator of each level as a file and an explanation name it."""
        return {
            level: function_name(operator) if callable(operator) else operator
            for level, operator in self.operators.items()
        }

    @cached_property
    def has_own_operators(self) -> bool:
        """Whether some level is summarised by a function of the user's."""
        return any(callable(operator) for operator in self.operators.values())

    @property
    def is_summed(self) -> bool:
        """Whether the confidence of a text is a sum over its n-grams, which can be corrected."""
        return all(operator == "sum" for operator in self.operators.values())

    @property
    def is_additive(self) -> bool:
        """Whether an n-gram without a value would lower that of its text by its contribution."""
        return all(operator in ("sum", "mean") for operator in self.operators.values())

    @property
    def suits_refining(self) -> bool:
        """Whether models are refined where that is the default: not if learning prunes counts."""
        return self.is_summed and self.prune_period is None

    @property
    def is_normalised(self) -> bool:
        """Whether values depend on the largest of the model, which costs a pass over it."""
        return self.confidence_function != "gv"

    @property
    def weighs_words(self) -> bool:
        """Whether the value of an n-gram depends on its words, too, and not only on counts."""
        return self.confidence_function == "norm_gv_xai"

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {one.name: getattr(self, one.name) for one in TABLE}

    def plain(self) -> dict[str, Any]:
        """Return the parameters as plain data: functions by name, one operator where all agree."""
        names = self.operator_names
        alike = len(set(names.values())) == 1
        return self.as_dict() | {"summary": names["sentence"] if alike else names}

    def for_native(self) -> _native.Parameters:
        """Return the parameters as the core has them; levels with the user's functions are sums."""
        native = _native.Parameters()
        for one in TABLE:
            if one.name != "default_label":
                setattr(native, one.name, one.to_native(getattr(self, one.name)))
        return native


TABLE: tuple[Parameter, ...] = tuple(
    replace(one.metadata["parameter"], name=one.name, default=one.default)
    for one in fields(Parameters)
)
DEFAULTS: dict[str, Any] = {one.name: one.default for one in TABLE}
EARLIER: dict[str, Any] = {one.name: one.earlier for one in TABLE if one.earlier is not REQUIRED}


class ParameterTypes(TypedDict, total=False):
    """The parameters as keyword arguments, for type checkers."""

    smoothness: float
    significance: float
    sanction: float
    max_ngram: int
    min_count: int
    alpha: float
    prior: float
    label_weight: float
    ngram_scale: Literal["length", "words", "label"]
    significance_function: Literal["vanilla", "xai", "ratio"]
    confidence_function: Literal["gv", "norm_gv", "norm_gv_xai"]
    reading: Literal["paper", "words_sum"]
    summary: Summary
    default_label: Label | None
    counting: Literal["occurrences", "documents"]
    paragraphs: Literal["lines", "blank_lines"]
    tokenization: Literal["unicode", "pyss3"]
    prune_period: int | None
    prune_floor: int
    prune_shortest: int


_PYSS3_NAMES = {
    "s": "smoothness",
    "l": "significance",
    "p": "sanction",
    "a": "alpha",
    "cv_m": "confidence_function",
    "sg_m": "significance_function",
    "n_grams": "max_ngram",
}


def check_names(function: str, given: Iterable[str]) -> None:
    """Raise `TypeError` for a name that is not a parameter.

    >>> check_names("TauSS3()", ["smoothness", "smoothnes"])
    Traceback (most recent call last):
    ...
    TypeError: TauSS3() got an unexpected keyword argument 'smoothnes'
    """
    for name in given:
        if name in _PYSS3_NAMES:
            raise TypeError(
                f"{function} got an unexpected keyword argument {name!r}, which is PySS3's name "
                f"for {_PYSS3_NAMES[name]!r}: see docs/moving-from-pyss3.md"
            )
        if name not in DEFAULTS:
            raise TypeError(f"{function} got an unexpected keyword argument {name!r}")


def takes_parameters(**others: tuple[str, Any]) -> Callable[[type[_Class]], type[_Class]]:
    """Return a class decorator that completes the signature and the docstring of a constructor.

    Its keyword arguments become all parameters and the `others`, given with their types and
    defaults. The line `{parameters}` in the docstring becomes their description.
    """

    def complete(kind: type[_Class]) -> type[_Class]:
        listed = [(one.name, one.type, one.default) for one in fields(Parameters)]
        listed += [(name, *other) for name, other in others.items()]
        constructor: Any = kind.__init__
        constructor.__signature__ = inspect.Signature(
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
            + [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_
                )
                for name, type_, default in listed
            ]
        )
        if kind.__doc__ is not None:
            kind.__doc__ = _PLACE.sub(lambda found: _descriptions(found[1]), kind.__doc__)
        return kind

    return complete


_PLACE = re.compile(r"^( *)\{parameters\}$", re.MULTILINE)


def _descriptions(indent: str) -> str:
    lines = []
    for one in TABLE:
        lines.append(indent + one.name)
        deeper = indent + "    "
        lines += textwrap.wrap(
            one.description, 100, initial_indent=deeper, subsequent_indent=deeper
        )
    return "\n".join(lines)


PAPER: dict[str, Any] = {one.name: one.paper for one in TABLE if one.paper is not None}

# The paper's training for its tasks: every million words, drop n-grams with a count of at most ten
# under a label. Not part of PAPER, because a pruned model cannot merge, unlearn or learn in several
# threads.
PAPER_TASKS: dict[str, Any] = PAPER | {
    "prune_period": 1_000_000,
    "prune_floor": 10,
    "prune_shortest": 1,
}

# Values to try in the 4-fold search over σ, λ and ρ. The paper names the best of its values, which
# are among these (0.455, 1 and 1), but not the others.
PAPER_GRID: dict[str, tuple[float, ...]] = {
    "smoothness": (0.1, 0.2, 0.3, 0.4, 0.455, 0.5, 0.6, 0.8, 1.0),
    "significance": (0.5, 1.0, 1.5, 2.0),
    "sanction": (0.5, 1.0, 1.5, 2.0),
}

PYSS3: dict[str, Any] = {one.name: one.pyss3 for one in TABLE if one.pyss3 is not None}
