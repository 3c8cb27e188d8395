"""The base class of policies, and policies that combine others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from watchword._checks import Label, as_label, as_whole
from watchword.streams.steps import QUANTITIES, BoolArray, Quantity, Step


class Policy(ABC):
    """The base of all policies; subclasses are frozen dataclasses with a field `positive`."""

    positive: Label

    @abstractmethod
    def alerts(self, step: Step) -> BoolArray:
        """For whom to raise an alert now, a boolean per row.

        Rows do not depend on each other, unless `is_population`. Nothing may be remembered but in
        `Step.memory`: what remembers nothing is asked about many posts of a subject at once.
        """

    @property
    def remembers(self) -> int:
        """How many numbers it notes per subject in `Step.memory`, which begins with zeros."""
        return 0

    @property
    def is_population(self) -> bool:
        """Whether it compares all subjects of a round, so that one alone cannot be read."""
        return False

    @property
    def needs(self) -> frozenset[Quantity]:
        """What it looks at: `"shares"`, `"sums"` or `"gains"`; by default everything.

        Scores that lack something of it are refused. A policy that only compares `Step.value` with
        `Step.other`, or looks at `Step.score("share")`, needs no more than shares.
        """
        return frozenset(QUANTITIES)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies that it combines."""
        return ()

    def after(self, posts: int) -> After:
        """The same, but no alert before so many posts were read."""
        return After(self, posts)

    def __or__(self, other: Policy) -> AnyOf:
        return AnyOf((self, other))

    def __and__(self, other: Policy) -> AllOf:
        return AllOf((self, other))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `policy_from_dict` understands.

        >>> from watchword import Overtakes
        >>> Overtakes("at risk", margin=1).to_dict()
        {'policy': 'Overtakes', 'positive': 'at risk', 'ratio': 1.0, 'margin': 1.0}
        """
        own = {name: _plain(getattr(self, name)) for name in field_names(type(self))}
        return {"policy": type(self).__name__} | own


@dataclass(frozen=True)
class After(Policy):
    """Another policy, whose alerts count from so many posts on. Made by `Policy.after`."""

    of: Policy
    posts: int

    def __post_init__(self) -> None:
        settle(self, of=as_policy, posts=as_at_least_one)

    @property
    def positive(self) -> Label:  # type: ignore[override]
        """The label it alerts for."""
        return self.of.positive

    @property
    def remembers(self) -> int:
        """As much as the other policy."""
        return self.of.remembers

    @property
    def is_population(self) -> bool:
        """If the other policy is."""
        return self.of.is_population

    @property
    def needs(self) -> frozenset[Quantity]:
        """What the other policy needs."""
        return self.of.needs

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The other policy."""
        return (self.of,)

    def alerts(self, step: Step) -> BoolArray:
        """Where the other policy alerts, and enough was read."""
        return np.asarray(checked_alerts(self.of, step) & (step.posts >= self.posts))


@dataclass(frozen=True)
class _Combined(Policy):
    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        checked = tuple(as_policy("a policy", policy) for policy in self.policies)
        flat: list[Policy] = []
        for policy in checked:  # a | b | c is one policy of three
            flat += policy.policies if isinstance(policy, type(self)) else [policy]
        if not flat:
            raise ValueError("policies must not be empty")
        labels = {policy.positive for policy in flat}
        if len(labels) > 1:
            raise ValueError(f"policies for different labels cannot be combined: {labels}")
        object.__setattr__(self, "policies", tuple(flat))

    @property
    def positive(self) -> Label:  # type: ignore[override]
        """The label that all of them alert for."""
        return self.policies[0].positive

    @property
    def remembers(self) -> int:
        """As much as all of them."""
        return sum(policy.remembers for policy in self.policies)

    @property
    def is_population(self) -> bool:
        """If one of them is."""
        return any(policy.is_population for policy in self.policies)

    @property
    def needs(self) -> frozenset[Quantity]:
        """What any of them needs."""
        return frozenset[Quantity]().union(*(policy.needs for policy in self.policies))

    @property
    def parts(self) -> tuple[Policy, ...]:
        """All of them."""
        return self.policies

    def _each(self, step: Step) -> list[BoolArray]:
        """What each says; all are asked every time, because they may take notes."""
        answers, begin = [], 0
        for policy in self.policies:
            end = begin + policy.remembers
            answers.append(checked_alerts(policy, step.with_memory(begin, end)))
            begin = end
        return answers


@dataclass(frozen=True)
class AnyOf(_Combined):
    """Alerts where one of several policies does. Made by `a | b`.

    >>> from watchword import Leaps, Overtakes
    >>> Overtakes("at risk") | Leaps("at risk", factor=8)  # doctest: +ELLIPSIS
    AnyOf(policies=(Overtakes(...), Leaps(positive='at risk', factor=8.0)))
    """

    def alerts(self, step: Step) -> BoolArray:
        """Where one of them alerts."""
        return np.asarray(np.logical_or.reduce(self._each(step)))


@dataclass(frozen=True)
class AllOf(_Combined):
    """Alerts where all of several policies do, at the same post. Made by `a & b`.

    >>> from watchword import Overtakes, Repeats
    >>> Overtakes("at risk") & Repeats("at risk", times=2)  # doctest: +ELLIPSIS
    AllOf(policies=(Overtakes(...), Repeats(positive='at risk', times=2)))
    """

    def alerts(self, step: Step) -> BoolArray:
        """Where all of them alert."""
        return np.asarray(np.logical_and.reduce(self._each(step)))


def checked_alerts(policy: Policy, step: Step) -> BoolArray:
    """What a policy says, if it is a boolean per row."""
    alerts: Any = policy.alerts(step)
    if not (isinstance(alerts, np.ndarray) and alerts.dtype == np.bool_):
        kind = getattr(alerts, "dtype", type(alerts).__name__)
        raise TypeError(f"{type(policy).__name__}.alerts must give an array of bool, got {kind}")
    if alerts.shape != step.posts.shape:
        raise ValueError(
            f"{type(policy).__name__}.alerts must give one bool per subject "
            f"{step.posts.shape}, got {alerts.shape}"
        )
    return alerts


def field_names(kind: type[Policy]) -> list[str]:
    """What a kind of policy can be told."""
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Policy):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def settle(policy: object, **checks: Any) -> None:
    """Check the fields and make them plain; they are frozen for everybody else."""
    for name, check in checks.items():
        value = getattr(policy, name)
        settled = check(value) if check is as_label else check(name, value)
        object.__setattr__(policy, name, settled)


def as_policy(name: str, value: object) -> Policy:
    """The policy, if it is one."""
    if not isinstance(value, Policy):
        raise TypeError(f"{name} must be a Policy, such as Overtakes(label), got {value!r}")
    return value


def as_at_least_one(name: str, value: object) -> int:
    """A whole number above 0."""
    return as_whole(name, value, 1)
