"""The command line's notation for policies, parsed.

    overtakes
    overtakes(ratio=2, margin=1)
    reaches(threshold=0.8) after 10
    overtakes or leaps(factor=4)
    (overtakes and repeats(times=2)) after 5
    overtakes(margin=0.5) ranked_by log_ratio

`after` and `ranked_by` bind tighter than `and`, and `and` tighter than `or`. Where several policies
are compared, a value may be a list: `overtakes(ratio=1|2|4, margin=0|1)` is six policies. Names and
arguments are read from `watchword.streams.policies`, so a policy added there is known here; the
other direction, from policies to text, is `watchword.streams.notation`. A text that ends with
`.json` is the name of a file with a policy as plain data (`Policy.to_dict`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Any, NoReturn

from watchword._checks import Label
from watchword._files import read_regular
from watchword.cli.base import find_label
from watchword.cli.files import is_policy_file
from watchword.errors import DataFormatError
from watchword.evaluation.fitted_policies import FittedPolicies, Learnt, Thresholds
from watchword.streams.notation import NAMES, options_of
from watchword.streams.policies import After, AllOf, AnyOf, Policy, RankedBy, policy_from_dict

THRESHOLDS = "thresholds"
LEARNT = "learnt"
MOST_POLICIES = 100_000
_DEEPEST = 50
_MOST_BYTES = 1 << 20  # of a file with a policy

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<word>[^\W\d][\w-]*)|(?P<sign>[()=,|]))"
)
_WHOLE = re.compile(r"[+-]?\d{1,18}")

_Lexeme = tuple[str, str]  # kind, text
_END: _Lexeme = ("end", "the end")


def known_policies() -> str:
    """Return the names of all policies, with their arguments.

    >>> known_policies().partition("), ")[0]
    'overtakes(ratio, margin'
    """
    return ", ".join(f"{name}({', '.join(options_of(kind))})" for name, kind in NAMES.items())


def parse_policies(text: str, positive: Label) -> list[Policy]:
    """Parse all policies that a text describes: several if it has lists of values.

    >>> [policy.ratio for policy in parse_policies("overtakes(ratio=1|2)", "at risk")]
    [1.0, 2.0]
    """
    if is_policy_file(text):
        policy = read_policy_file(text)
        if policy.positive != positive:
            raise ValueError(
                f"{text}: the policy is for the label {policy.positive!r}, not {positive!r}"
            )
        return [policy]
    return _Parser(text, positive).parse()


def read_policy_file(path: str) -> Policy:
    """Read a policy as plain data from a JSON file."""
    try:
        written = read_regular(path.strip(), DataFormatError, most_bytes=_MOST_BYTES)
        if not written.strip():
            raise ValueError("it is empty")
        data = json.loads(written)
        return policy_from_dict(data)
    except OSError as error:
        raise ValueError(f"cannot read the policy {path}: {error.strerror}") from None
    except RecursionError:
        raise ValueError(f"{path}: too many nested policies") from None
    except DataFormatError as error:
        raise ValueError(f"cannot read the policy: {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a file with a policy: {error}") from None


def parse_policy(text: str, positive: Label) -> Policy:
    """Parse a text that describes one policy.

    >>> parse_policy("leaps(factor=2) after 3", "at risk")
    After(of=Leaps(positive='at risk', factor=2.0), posts=3)
    """
    described = parse_policies(text, positive)
    if len(described) > 1:
        raise ValueError(
            f"{text!r} describes {len(described)} policies (use a single value instead of lists)"
        )
    return described[0]


def policy_for(text: str, positive: str, labels: Iterable[Label]) -> Policy:
    """Parse a policy that alerts for the label spelt like `positive`, one of a model's labels."""
    return parse_policy(text, find_label(positive, labels, where="the model"))


def check_policy(text: str, parse: Callable[[str, Label], Any] = parse_policy) -> str:
    """Check a `--policy` option before the label is known."""
    if is_policy_file(text):
        read_policy_file(text)
    else:
        parse(text, "positive")
    return text


def check_policies(texts: Sequence[str]) -> Sequence[str]:
    """Check a repeatable `--policy` option, in which lists of values are allowed."""
    return [check_policy(text, parse_policies) for text in texts]


def check_tried(texts: Sequence[str]) -> Sequence[str]:
    """Check a `--policy` option that may also be `thresholds` or `learnt`."""
    return [check_policy(text, lambda one, label: parse_tried([one], label)) for text in texts]


def parse_tried(texts: Sequence[str], positive: Label) -> list[Policy | FittedPolicies]:
    """Parse the policies to try, `thresholds` as `Thresholds` and `learnt` as `Learnt`.

    >>> parse_tried(["thresholds after 5|10"], "at risk")[0].first_posts
    (5, 10)
    """
    tried: list[Policy | FittedPolicies] = []
    for text in texts:
        fitted = None if is_policy_file(text) else _Parser(text, positive).fitted()
        tried += parse_policies(text, positive) if fitted is None else [fitted]
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

    def fitted(self) -> FittedPolicies | None:
        """Parse `thresholds` or `learnt`; return None if the text is something else."""
        kind = Thresholds if self._take(THRESHOLDS) else Learnt if self._take(LEARNT) else None
        if kind is None:
            return None
        posts = {"first_posts": tuple(self._values())} if self._take("after") else {}
        if self._next != _END:
            self._fail("'after' or the end")
        return kind(self._positive, **posts)

    def _tokenise(self) -> list[_Lexeme]:
        tokens: list[_Lexeme] = []
        text, at = self._text.rstrip(), 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"cannot read {text[at:].strip()[:20]!r} in policy {self._text!r}")
            tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()
        return [*tokens, _END]

    @property
    def _next(self) -> _Lexeme:
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
        return self._joined("or", lambda: self._joined("and", self._timed, AllOf), AnyOf)

    def _joined(
        self, word: str, part: Callable[[], list[Policy]], made: Callable[..., Policy]
    ) -> list[Policy]:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else self._combined(parts, lambda *each: made(each))

    def _timed(self) -> list[Policy]:
        found = self._one()
        while (is_after := self._take("after")) or self._take("ranked_by", "ranked-by"):
            found = self._combined([found, self._values()], After if is_after else RankedBy)
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
        known = options_of(chosen)
        arguments: dict[str, list[Any]] = {}
        while self._next[0] in ("word", "number"):
            if self._next[0] == "number" and len(arguments) < len(known):
                name = next(name for name in known if name not in arguments)
                self._fail(f"an argument with its name, such as {name}={self._next[1]},")
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
