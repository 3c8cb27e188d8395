"""An evaluation to look at: measures, all subjects, wrong ones first, and why it came to that.

`report_data` gathers plain data, `watchword.show.report` draws it as one self-contained page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from watchword._checks import Label, as_list, as_whole
from watchword.data import Subject
from watchword.evaluation.replaying import Outcome, Replay
from watchword.evaluation.scores import first_alerts
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.reasons.alert_change import paper_rule
from watchword.reasons.story import tell
from watchword.reasons.story_data import plain_story

__all__ = ["VERDICTS", "report_data"]

VERDICTS = ("missed", "false alarm", "found", "left alone", "alert", "no alert")
"""What a decision was, the wrong ones first; the last two where the truth is not known."""

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
    """Everything about an evaluation as plain data, the stories of some subjects included.

    `found` is what `watchword.replay` made of just these subjects with this model. The first
    `stories` subjects, wrong ones first, are told about in full, with so many texts each, cut
    after so many characters: a page must not grow without bound.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(12, seed=1)
    >>> model = ww.TauSS3()
    >>> ww.teach(model, people[:6])
    >>> found = ww.replay(people[6:], model, ww.Overtakes("at risk"))
    >>> plain = report_data(found, model, people[6:], stories=2)
    >>> len(plain["subjects"]), len(plain["stories"])
    (6, 2)
    """
    everybody: list[Subject] = as_list(subjects, "subjects")
    if tuple(subject.id for subject in everybody) != found.scores.subjects:
        raise ValueError("the subjects must be those of the replay, in the same order")
    most = as_whole("stories", stories, 0)
    order = _order(found.outcomes, found.scores.positive)
    alerts = _alerts(found)
    chosen = order[:most]
    wanted = progress(chosen, len(chosen)) if progress is not None else chosen
    size = {"texts": as_whole("texts", texts, 0)}
    size["characters"] = as_whole("characters", characters, 0)
    # What would have changed it takes long to look for where it cannot be found exactly.
    exact = paper_rule(found.policy) is not None
    told = [
        plain_story(
            tell(engine_of(model), everybody[at], found.policy, alert=alerts[at]),
            **size,
            changes=exact,
        )
        for at in wanted
    ]
    return {
        "positive": found.scores.positive,
        "by": found.scores.by,
        "rule": repr(found.policy),
        "model": {"labels": list(model.labels), "fingerprint": model.fingerprint},
        "measures": found.to_dict()["measures"] if found.measures is not None else None,
        "ranking": [asdict(row) for row in found.ranking()] if found.measures else [],
        "verdicts": _counts(found),
        "subjects": [
            asdict(found.outcomes[at])
            | {"verdict": verdict_of(found.outcomes[at], found.scores.positive)}
            for at in order[:_MOST_ROWS]
        ],
        "stories": told,
        "left_out": {
            "subjects": max(len(order) - _MOST_ROWS, 0),
            "stories": len(order) - len(told),
        },
    }


def verdict_of(outcome: Outcome, positive: Label) -> str:
    """What a decision was: one of `VERDICTS`."""
    alerted = outcome.label is not None
    if outcome.truth is None:
        return "alert" if alerted else "no alert"
    if outcome.truth == positive:
        return "found" if alerted else "missed"
    return "false alarm" if alerted else "left alone"


def _order(outcomes: Sequence[Outcome], positive: Label) -> list[int]:
    """Wrong ones first; then early alerts, or high scores where there is no alert."""

    def key(at: int) -> tuple[int, float, float, int]:
        one = outcomes[at]
        alerted = one.label is not None
        delay = one.delay if alerted else np.inf
        return VERDICTS.index(verdict_of(one, positive)), delay, -one.score, at

    return sorted(range(len(outcomes)), key=key)


def _alerts(found: Replay) -> list[int | None]:
    """After how many posts each alert fell, where a subject alone would not tell; else None."""
    scores = found.scores
    if scores.by == "post" and not found.policy.is_population:
        return [None] * len(scores.subjects)
    steps = first_alerts(scores, found.policy).tolist()
    return [
        int(series.posts[step]) if step >= 0 else 0
        for series, step in zip(scores.series, steps, strict=True)
    ]


def _counts(found: Replay) -> dict[str, int]:
    counts = dict.fromkeys(VERDICTS, 0)
    for outcome in found.outcomes:
        counts[verdict_of(outcome, found.scores.positive)] += 1
    return {verdict: count for verdict, count in counts.items() if count}
