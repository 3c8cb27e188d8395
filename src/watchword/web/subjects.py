"""Subjects on the live page: decisions and their delays, replayed post by post."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field
from functools import partial
from typing import Any, get_args

import numpy as np

from watchword._checks import Label, as_list, as_threads
from watchword.data import Post, Subject
from watchword.evaluation.replaying import Outcome, Replay, replay, replay_scores
from watchword.evaluation.scores import Scores, score_streams
from watchword.explain.blocks import scale_of
from watchword.explain.story import tell
from watchword.model.engine import engine_of
from watchword.streams.notation import NAMES, options_of
from watchword.streams.policies import Overtakes, Policy, as_policy, policy_from_dict
from watchword.streams.steps import ScoreName
from watchword.web.documents import Selection, listed_documents, sorted_labels
from watchword.web.models import LatestUsed, Models, Settings, explained, found_at, text_limit

_SCORES = get_args(ScoreName)
_DIGITS = 6  # of the curves: finer than pixels
_SCALED = 200  # posts of a subject that decide about its scale: more would take long


class SubjectShelf:
    """Subjects, their labels where known, and the decisions of policies."""

    def __init__(
        self, models: Models, subjects: Iterable[Subject], policy: Policy | None = None
    ) -> None:
        self._models = models
        self._subjects: list[Subject] = as_list(subjects, "subjects")
        truth = {one.label for one in self._subjects if one.label is not None}
        self._labels = sorted_labels(truth)
        if policy is None:
            policy = Overtakes(self._usual_positive())
        self._policy = as_policy("policy", policy)
        self._kept = LatestUsed(4)
        self._scales = LatestUsed()
        place = {label: at for at, label in enumerate(self._labels)}
        self._truth = np.array(
            [-1 if one.label is None else place[one.label] for one in self._subjects], np.int64
        )

    def _usual_positive(self) -> Label:
        """Return the likely positive label: the one that the fewest subjects have."""
        known = self._models.first.labels
        counts = {label: 0 for label in self._labels if label in known}
        for subject in self._subjects:
            if subject.label in counts:
                counts[subject.label] += 1
        return min(counts or dict.fromkeys(known, 0), key=lambda label: counts.get(label, 0))

    def about(self) -> dict[str, Any]:
        """Return the number of subjects, their labels, and the available policies."""
        return {
            "total": len(self._subjects),
            "labelled": int((self._truth >= 0).sum()),
            "labels": self._labels,
            "policy": self._policy.to_dict(),
            "policies": [_kind(kind) for kind in NAMES.values()],
        }

    def policy(self, given: Mapping[str, Any]) -> Policy:
        """Return the policy that a request gives as JSON [default: the page's own policy]."""
        described = given.get("policy")
        if not described:
            return self._policy
        try:
            plain = json.loads(described) if isinstance(described, str) else described
            return policy_from_dict(plain)
        except json.JSONDecodeError:
            raise ValueError("policy must be JSON, as Policy.to_dict gives it") from None
        except RecursionError:
            raise ValueError("policy is nested too deeply") from None

    def listing(self, settings: Settings, policy: Policy, selection: Selection) -> dict[str, Any]:
        """Return a page of the selected subjects, and the measures over all subjects."""
        found = replay_scores(self._scores(settings, policy.positive), policy)
        decided = np.array([outcome.label is None for outcome in found.outcomes], np.int64)
        positive = [one.label == policy.positive for one in self._subjects]
        right = (decided == 0) == np.array(positive, np.bool_)
        entry = partial(self._entry, policy, found.outcomes)
        return listed_documents(selection, self._truth, decided, right, entry) | {
            "measures": _measures(found),
            "positive": policy.positive,
        }

    def one(self, at: int, settings: Settings, policy: Policy) -> dict[str, Any]:
        """Return a subject's accumulated values after every post, and the decision."""
        subject = self.subject(at)
        model = self._models.under(settings)
        outcome = self._outcome(at, settings, policy)
        table = engine_of(model).evidence(
            [post.content for post in subject.posts], as_threads(None)
        )
        return self._entry(policy, {at: outcome}, at) | {
            "labels": list(table.labels),
            "positive": policy.positive,
            "sums": np.cumsum(table.values, axis=0).round(_DIGITS).tolist(),
        }

    def story(self, at: int, settings: Settings, policy: Policy) -> dict[str, Any]:
        """Return what tipped the decision about a subject, and what would have changed it."""
        alert = self._outcome(at, settings, policy).delay
        engine = engine_of(self._models.under(settings))
        story = tell(
            engine, self.subject(at), policy, alert=alert if policy.is_population else None
        )
        plain = story.to_dict(texts=0)
        names = ("labels", "positive", "refined", "tipped", "weighed", "changes")
        return {name: plain[name] for name in names}

    def post(self, at: int, number: int, settings: Settings) -> dict[str, Any]:
        """Return a post, counted from 1, with its explanation, on the scale of its subject."""
        post = self._post(at, number)
        scale = self._scale(at, settings)
        return {
            "number": number,
            "id": post.id,
            "time": None if post.time is None else post.time.isoformat(" ", "minutes"),
        } | explained(self._models.under(settings), post.content, scale)

    def _scale(self, at: int, settings: Settings) -> dict[str, float]:
        """Return the scale of painting for all posts of a subject.

        Of many posts, those with the strongest evidence for any label decide.
        """

        def make() -> dict[str, float]:
            model, posts = self._models.under(settings), self.subject(at).posts
            texts = [post.content for post in posts]
            strongest = engine_of(model).evidence(texts, as_threads(None)).values.max(axis=1)
            order = np.argsort(-strongest, kind="stable")[:_SCALED].tolist()
            limit = text_limit(len(model.labels))
            return scale_of(model.explain(texts[index][:limit]) for index in order)

        return self._scales.get((at, settings), make)

    def text(self, at: int, number: int) -> str:
        """Return the text of a post, counted from 1."""
        return self._post(at, number).content

    def _post(self, at: int, number: int) -> Post:
        return found_at(self.subject(at).posts, number, "post", first=1)

    def subject(self, at: int) -> Subject:
        """Return the subject at this index."""
        return found_at(self._subjects, at, "subject")

    def _outcome(self, at: int, settings: Settings, policy: Policy) -> Outcome:
        subject = self.subject(at)
        if policy.is_population:  # it compares subjects, so all must be read
            return replay_scores(self._scores(settings, policy.positive), policy).outcomes[at]
        return replay([subject], self._models.under(settings), policy).outcomes[0]

    def _entry(
        self, policy: Policy, outcomes: Mapping[int, Outcome] | Sequence[Outcome], at: int
    ) -> dict[str, Any]:
        subject, outcome = self._subjects[at], outcomes[at]
        return {
            "at": at,
            "id": subject.id,
            "truth": subject.label,
            "alert": outcome.label is not None,
            "delay": outcome.delay,
            "posts": outcome.posts,
            "score": outcome.score,
            "right": None
            if subject.label is None
            else (outcome.label is not None) == (subject.label == policy.positive),
        }

    def _scores(self, settings: Settings, positive: Label) -> Scores:
        def make() -> Scores:
            return score_streams(self._subjects, self._models.under(settings), positive)

        return self._kept.get((settings, positive), make)


def _kind(kind: type[Policy]) -> dict[str, Any]:
    """Describe a kind of policy and its fields, for a form."""
    optional = [field for field in options_of(kind).values() if field.default is not MISSING]
    meaning = (kind.__doc__ or "").strip().partition("\n")[0]
    own = {"name": kind.__name__, "meaning": meaning}
    return own | {"fields": [_field(field) for field in optional]}


def _field(field: Field[Any]) -> dict[str, Any]:
    plain = {"name": field.name, "value": field.default, "whole": isinstance(field.default, int)}
    return plain | ({"choices": _SCORES} if field.default in _SCORES else {})


def _measures(found: Replay) -> dict[str, Any] | None:
    if found.measures is None:
        return None
    names = ("erde5", "erde50", "precision", "recall", "f1", "f_latency", "median_delay")
    return {name: getattr(found.measures, name) for name in names}
