"""The command line's notation for policies: parsing and formatting.

    overtakes
    overtakes(ratio=2, margin=1)
    reaches(threshold=0.8) after 10
    overtakes or leaps(factor=4)
    (overtakes and repeats(times=2)) after 5
    overtakes(margin=0.5) ranked_by log_ratio

`after` and `ranked_by` bind tighter than `and`, and `and` tighter than `or`. Where several policies
are compared, a value may be a list: `overtakes(ratio=1|2|4, margin=0|1)` is six policies. Names and
arguments are read from `watchword.streams.policies`, so a policy added there is known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, fields
from itertools import islice, product
from typing import Any, NoReturn

import click

from watchword._checks import Label
from watchword.cli.base import find_label
from watchword.evaluation.thresholds import Thresholds
from watchword.streams.policies import POLICIES, After, AllOf, AnyOf, Policy, RankedBy

THRESHOLDS = "thresholds"
MOST_POLICIES = 100_000
_DEEPEST = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<word>[^\W\d][\w-]*)|(?P<sign>[()=,|]))"
)
_WHOLE = re.compile(r"[+-]?\d{1,18}")

_Token = tuple[str, str]  # kind, text
_END: _Token = ("end", "the end")


def _spelling(kind: type[Policy]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def _options(kind: type[Policy]) -> dict[str, Field[Any]]:
    own: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    return {field.name: field for field in own if field.name != "positive"}


_COMBINING = (After, RankedBy, AnyOf, AllOf)  # written with after, ranked_by, or, and
#: The policies with a name on the command line.
NAMES: dict[str, type[Policy]] = {
    _spelling(kind): kind for kind in POLICIES.values() if kind not in _COMBINING
}


def known_policies() -> str:
    """Return the names of all policies, with their arguments.

    >>> known_policies().partition("), ")[0]
    'overtakes(ratio, margin'
    """
    return ", ".join(f"{name}({', '.join(_options(kind))})" for name, kind in NAMES.items())


def parse_policies(text: str, positive: Label) -> list[Policy]:
    """Parse all policies that a text describes: several if it has lists of values.

    >>> [policy.ratio for policy in parse_policies("overtakes(ratio=1|2)", "at risk")]
    [1.0, 2.0]
    """
    return _Parser(text, positive).parse()


def parse_policy(text: str, positive: Label) -> Policy:
    """Parse a text that describes one policy.

    >>> parse_policy("leaps(factor=2) after 3", "at risk")
    After(of=Leaps(positive='at risk', factor=2.0), posts=3)
    """
    described = parse_policies(text, positive)
    if len(described) > 1:
        raise ValueError(
            f"{text!r} describes {len(described)} policies (give a single value instead of lists)"
        )
    return described[0]


def policy_for(text: str, positive: str, labels: Iterable[Label]) -> Policy:
    """Parse a policy that alerts for the label spelt like `positive`, one of a model's labels."""
    return parse_policy(text, find_label(positive, labels, where="the model"))


def spell_policy(policy: Policy) -> str:
    """Format a policy for the command line, without arguments that have their default value.

    >>> spell_policy(parse_policy("Overtakes(ratio=2.0, margin=0) or leaps after 3", "at risk"))
    'overtakes(ratio=2) or leaps after 3'
    """
    if isinstance(policy, AnyOf):
        return " or ".join(map(spell_policy, policy.policies))
    if isinstance(policy, AllOf):
        return " and ".join(_inside(each, AnyOf) for each in policy.policies)
    if isinstance(policy, After):
        return f"{_inside(policy.of, AnyOf, AllOf)} after {policy.posts}"
    if isinstance(policy, RankedBy):
        return f"{_inside(policy.of, AnyOf, AllOf)} ranked_by {policy.score}"
    if type(policy) not in NAMES.values():
        return repr(policy)
    arguments = {name: (getattr(policy, name), one) for name, one in _options(type(policy)).items()}
    shown = [
        f"{name}={_plain(value)}"
        for name, (value, one) in arguments.items()
        if value != one.default
    ]
    return _spelling(type(policy)) + (f"({', '.join(shown)})" if shown else "")


def _inside(policy: Policy, *looser: type[Policy]) -> str:
    return f"({spell_policy(policy)})" if isinstance(policy, looser) else spell_policy(policy)


def _plain(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def check_policy(
    ctx: click.Context, param: click.Parameter, value: str | Sequence[str]
) -> str | Sequence[str]:
    """Check a `--policy` option (a click callback) before the label is known.

    Lists of values are allowed if the option is repeatable.
    """
    texts = (value,) if isinstance(value, str) else value
    with _mistakes_of(ctx, param):
        for text in texts:
            (parse_policies if param.multiple else parse_policy)(text, "positive")
    return value


def check_thresholds(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> Sequence[str]:
    """Check a `--policy` option that may also be `thresholds`."""
    with _mistakes_of(ctx, param):
        parse_tried(value, "positive")
    return value


@contextmanager
def _mistakes_of(ctx: click.Context, param: click.Parameter) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        raise click.BadParameter(str(error), ctx, param) from None


def parse_tried(texts: Sequence[str], positive: Label) -> list[Policy | Thresholds]:
    """Parse the policies to try; `thresholds` is parsed as a `Thresholds`.

    >>> parse_tried(["thresholds after 5|10"], "at risk")[0].first_posts
    (5, 10)
    """
    tried: list[Policy | Thresholds] = []
    for text in texts:
        fitting = _Parser(text, positive).thresholds()
        tried += parse_policies(text, positive) if fitting is None else [fitting]
    return tried


class _Parser:
    """A recursive-descent parser; each rule returns all policies that its text describes."""

    def __init__(self, text: str, positive: Label) -> None:
        self._text = text
        self._positive = positive
        self._tokens = self._tokenise()
        self._at = 0
        self._depth = 0

    def parse(self) -> list[Policy]:
        found = self._any()
        if self._next != _END:
            self._fail("'or', 'and', 'after', 'ranked_by' or the end")
        return found

    def thresholds(self) -> Thresholds | None:
        """Parse `thresholds`; return None if the text is something else."""
        if not self._take(THRESHOLDS):
            return None
        posts = {"first_posts": tuple(self._values())} if self._take("after") else {}
        if self._next != _END:
            self._fail("'after' or the end")
        return Thresholds(self._positive, **posts)

    def _tokenise(self) -> list[_Token]:
        tokens: list[_Token] = []
        text, at = self._text.rstrip(), 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"cannot read {text[at:].strip()[:20]!r} in policy {self._text!r}")
            tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()
        return [*tokens, _END]

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *wanted: str) -> bool:
        """Consume the next token if it is one of these."""
        kind, spelt = self._next
        taken = kind in ("word", "sign") and spelt.lower() in wanted
        self._at += taken
        return taken

    def _fail(self, wanted: str) -> NoReturn:
        kind, spelt = self._next
        found = spelt if kind == "end" else repr(spelt)
        raise ValueError(f"expected {wanted} instead of {found} in policy {self._text!r}")

    def _any(self) -> list[Policy]:
        return self._joined("or", self._all, AnyOf)

    def _all(self) -> list[Policy]:
        return self._joined("and", self._timed, AllOf)

    def _joined(
        self, word: str, part: Callable[[], list[Policy]], made: Callable[..., Policy]
    ) -> list[Policy]:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else self._combined(parts, lambda *each: made(each))

    def _timed(self) -> list[Policy]:
        found = self._one()
        while True:
            if self._take("after"):
                found = self._combined([found, self._values()], After)
            elif self._take("ranked_by", "ranked-by"):
                found = self._combined([found, self._values()], RankedBy)
            else:
                return found

    def _one(self) -> list[Policy]:
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise ValueError("policy with too many nested parentheses")
            found = self._any()
            self._close()
            return found
        kind, spelt = self._next
        if kind != "word":
            self._fail("a policy")
        chosen = NAMES.get(spelt.lower().replace("-", "_"))
        if chosen is None:
            raise ValueError(f"unknown policy {spelt!r} (known: {known_policies()})")
        self._at += 1
        arguments = self._arguments(spelt, chosen) if self._take("(") else {}
        names = list(arguments)
        return self._combined(
            list(arguments.values()),
            lambda *values: chosen(self._positive, **dict(zip(names, values, strict=True))),  # type: ignore[call-arg]
        )

    def _arguments(self, spelt: str, chosen: type[Policy]) -> dict[str, list[Any]]:
        known = _options(chosen)
        arguments: dict[str, list[Any]] = {}
        while self._next[0] == "word":
            name = self._next[1].lower()
            if name not in known:
                raise ValueError(
                    f"unknown argument {name!r} of {spelt} (known: {', '.join(known)})"
                )
            if name in arguments:
                raise ValueError(f"duplicate argument {name!r} of {spelt}")
            self._at += 1
            if not self._take("="):
                self._fail(f"'=' after {name}")
            arguments[name] = self._values()
            if not self._take(","):
                break
        self._close()
        return arguments

    def _close(self) -> None:
        if not self._take(")"):
            self._fail("')'")

    def _values(self) -> list[Any]:
        values = [self._value()]
        while self._take("|"):
            values.append(self._value())
        return values

    def _value(self) -> Any:
        kind, spelt = self._next
        if kind not in ("number", "word"):
            self._fail("a value")
        self._at += 1
        if kind == "word":
            return spelt
        return int(spelt) if _WHOLE.fullmatch(spelt) else float(spelt)

    def _combined(
        self, parts: Sequence[Sequence[Any]], make: Callable[..., Policy]
    ) -> list[Policy]:
        """Return one policy for each combination of values, one from each part."""
        chosen = list(islice(product(*parts), MOST_POLICIES + 1))
        if len(chosen) > MOST_POLICIES:
            raise ValueError(f"policy {self._text!r} has more than {MOST_POLICIES} variants")
        return [make(*each) for each in chosen]
