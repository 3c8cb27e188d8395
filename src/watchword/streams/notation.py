"""Policies as text in the notation of the command line; `cli/policy_notation.py` parses it."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from typing import Any

from watchword.streams.policies import POLICIES, After, AllOf, AnyOf, Policy, RankedBy


def _spelling(kind: type[Policy]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def options_of(kind: type[Policy]) -> dict[str, Field[Any]]:
    """Return the arguments of a policy by name, without the label."""
    own: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    return {field.name: field for field in own if field.name != "positive"}


_COMBINING = (After, RankedBy, AnyOf, AllOf)  # written with after, ranked_by, or, and
#: The policies with a name on the command line.
NAMES: dict[str, type[Policy]] = {
    _spelling(kind): kind for kind in POLICIES.values() if kind not in _COMBINING
}


def spell_policy(policy: Policy) -> str:
    """Format a policy for the command line, without arguments that have their default value.

    >>> from watchword import Leaps, Overtakes
    >>> spell_policy(Overtakes("at risk", ratio=2) | Leaps("at risk").after(3))
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
    shown = [
        f"{name}={_plain(getattr(policy, name))}"
        for name, one in options_of(type(policy)).items()
        if getattr(policy, name) != one.default
    ]
    return _spelling(type(policy)) + (f"({', '.join(shown)})" if shown else "")


def _inside(policy: Policy, *looser: type[Policy]) -> str:
    return f"({spell_policy(policy)})" if isinstance(policy, looser) else spell_policy(policy)


def _plain(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]
