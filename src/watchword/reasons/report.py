"""Reports: the measures of a replay, its subjects with errors first, and their stories.

`report_data` gathers plain data; `watchword.show.report` renders it as a self-contained page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from watchword._checks import Label, as_list, as_whole
from watchword.data import Subject
from watchword.evaluation.replay_charts import usual_charts
from watchword.evaluation.replaying import Outcome, Replay
from watchword.evaluation.scores import first_alerts
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.reasons.alert_change import paper_rule
from watchword.reasons.story import tell
from watchword.reasons.story_data import plain_story
from watchword.streams.notation import spell_policy

__all__ = ["OUTCOMES", "report_data"]

OUTCOMES = ("missed", "false alarm", "found", "left alone", "alert", "no alert")
"""Outcomes in words, errors first; the last two are for subjects without a true label."""

_MOST_ROWS = 10_000


def report_data(
    found: Replay,
    model: TauSS3,
    subjects: Iterable[Subject],
    *,
    stories: int = 100,
    texts: int = 2,
    characters: int = 1_000,
    progress: Callable[[Iterable[Any], int], Iterable[Any]] | None = None,
) -> dict[str, Any]:
    """Return a replay as plain data, including the stories of some subjects.

    `found` must be the result of `watchword.replay` for exactly these subjects and this model.
    Stories are included for the first `stories` subjects, errors first, each with at most `texts`
    texts of at most `characters` characters, to limit the size of the page.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(12, seed=1)
    >>> model = ww.TauSS3()
    >>> ww.teach(model, people[:6])
    >>> found = ww.replay(people[6:], model, ww.Overtakes("at risk"))
    >>> plain = report_data(found, model, people[6:], stories=2)
    >>> len(plain["subjects"]), len(plain["stories"])
    (6, 2)
    """
    listed: list[Subject] = as_list(subjects, "subjects")
    if tuple(subject.id for subject in listed) != found.scores.subjects:
        raise ValueError("the subjects must be those of the replay, in the same order")
    most = as_whole("stories", stories, 0)
    order = _order(found.outcomes, found.scores.positive)
    alerts = _alerts(found)
    chosen = order[:most]
    wanted = progress(chosen, len(chosen)) if progress is not None else chosen
    size = {"texts": as_whole("texts", texts, 0)}
    size["characters"] = as_whole("characters", characters, 0)
    # Without an exact solution, the search for changes takes too long for many subjects.
    exact = paper_rule(found.policy) is not None
    plain_stories = [
        plain_story(
            tell(engine_of(model), listed[index], found.policy, alert=alerts[index]),
            **size,
            changes=exact,
        )
        for index in wanted
    ]
    return {
        "positive": found.scores.positive,
        "by": found.scores.by,
        "policy_text": spell_policy(found.policy),
        "model": {"labels": list(model.labels), "fingerprint": model.fingerprint},
        "measures": None if found.measures is None else list(map(list, found.measures.cells())),
        "ranking": [asdict(row) for row in found.ranking()] if found.measures else [],
        "charts": [chart.to_dict() for chart in usual_charts(found)],
        "outcomes": _counts(found),
        "subjects": [
            asdict(found.outcomes[index])
            | {"outcome": outcome_name(found.outcomes[index], found.scores.positive)}
            for index in order[:_MOST_ROWS]
        ],
        "stories": plain_stories,
        "left_out": {
            "subjects": max(len(order) - _MOST_ROWS, 0),
            "stories": len(order) - len(plain_stories),
        },
    }


def outcome_name(outcome: Outcome, positive: Label) -> str:
    """Return an outcome in words, one of `OUTCOMES`."""
    alerted = outcome.label is not None
    if outcome.truth is None:
        return "alert" if alerted else "no alert"
    if outcome.truth == positive:
        return "found" if alerted else "missed"
    return "false alarm" if alerted else "left alone"


def _order(outcomes: Sequence[Outcome], positive: Label) -> list[int]:
    """Return the indices of outcomes: errors first, then by delay, then by falling score."""

    def key(index: int) -> tuple[int, float, float, int]:
        one = outcomes[index]
        alerted = one.label is not None
        delay = one.delay if alerted else np.inf
        return OUTCOMES.index(outcome_name(one, positive)), delay, -one.score, index

    return sorted(range(len(outcomes)), key=key)


def _alerts(found: Replay) -> list[int | None]:
    """Return each alert's number of posts read, or None if the subject's posts determine it."""
    scores = found.scores
    if scores.by == "post" and not found.policy.is_population:
        return [None] * len(scores.subjects)
    steps = first_alerts(scores, found.policy).tolist()
    return [
        int(series.posts[step]) if step >= 0 else 0
        for series, step in zip(scores.series, steps, strict=True)
    ]


def _counts(found: Replay) -> dict[str, int]:
    counts = Counter(outcome_name(one, found.scores.positive) for one in found.outcomes)
    return {name: counts[name] for name in OUTCOMES if counts[name]}
