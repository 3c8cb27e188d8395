"""Alerts with their reasons, and marks: verdicts of people about alerts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from watchword._checks import Label, as_choice, reprs
from watchword.errors import UnknownAlertError, UnknownLabelError
from watchword.explain.alerts import AlertReasons, alert_reasons
from watchword.service.logs import logger
from watchword.service.records import (
    VERDICTS,
    Alert,
    Mark,
    Precision,
    TrainingText,
    Verdict,
    as_json_data,
    moment,
    now,
)
from watchword.service.rows import Detector, Layouts
from watchword.service.store import Session, Store, decoded, encoded
from watchword.service.stored_posts import posts_until, texts_of
from watchword.streams.histories import Series, best_other
from watchword.streams.policy_base import ranking_score
from watchword.streams.steps import Step

if TYPE_CHECKING:
    from watchword.service.rows import SubjectRows

MOST_NOTE = 10_000  # characters
MOST_POSTS = 1_000  # of a long history, the latest, that are weighed for the reasons of an alert
_MOST_TEXTS = 200  # whose n-grams are looked up for the reasons of an alert

_COLUMNS = (
    "a.id, s.name, a.layout, a.label, a.post_id, a.post_time, a.raised_at, a.delay, a.score, "
    "a.sums, a.reasons, m.verdict, m.note, m.marked_by, m.label, m.at"
)
_TABLES = (
    "alerts a JOIN subjects s ON s.id = a.subject "
    "LEFT JOIN marks m ON m.alert = a.id AND m.is_latest = 1"
)

SORTS = {
    "newest": "a.id DESC",
    "oldest": "a.id",
    "score": "a.score DESC, a.id DESC",
    "subject": "s.name, a.id",
    "label": "a.label, a.id DESC",
    "time": "a.post_time IS NULL, a.post_time DESC, a.id DESC",  # stores differ in where NULL is
}


@dataclass(frozen=True)
class Raised:
    """A post that may have raised an alert; `index` is its place in the group, if it is new."""

    row: int
    post_id: str
    time: int | None  # in microseconds
    at: int  # the time by which it is read
    text: str | None = None
    index: int | None = None
    delay: int = 0
    sums: dict[Label, float] = field(default_factory=dict)


def write_alerts(
    session: Session,
    rows: SubjectRows,
    raised: Sequence[Raised],
    *,
    texts_kept: bool,
    by_time: bool = False,
) -> dict[int, int]:
    """Write new alerts with their reasons; return the alert of each index of a post.

    With `by_time`, posts were read in the order of their times.
    """
    if not raised:
        return {}
    session.lock("alerts")  # so that the ids are in the order of commits
    found = {}
    for number, one in enumerate(raised):
        key = -1 - number if one.index is None else one.index
        found[key] = _write(session, rows, one, texts_kept, by_time)
    return found


def _write(
    session: Session, rows: SubjectRows, one: Raised, texts_kept: bool, by_time: bool
) -> int:
    detector, layouts, sums = rows.detector, rows.layouts, one.sums
    subject, post_id = rows.ids[one.row], encoded(one.post_id)
    posts = posts_until(session, subject, post_id, one.delay, by_time, most=MOST_POSTS)
    known = layouts.get(session, {post.layout for post in posts})
    gains = [known[post.layout].by_label(post.contribution) for post in posts]
    texts = [] if one.text is None else [one.text]
    every = False
    if texts_kept or not texts:
        kept = list(texts_of(session, posts[-_MOST_TEXTS:]).values())
        every = bool(kept) and texts_kept
        texts = kept if every else texts
    reasons = alert_reasons(
        detector.engine,
        texts,
        positive=detector.policy.positive,
        sums=sums,
        posts=[
            (post.number, post.id, as_json_data(moment(post.time)), own)
            for post, own in zip(posts, gains, strict=True)
        ],
        every=every,
    )
    [(key,)] = session.run(
        "INSERT INTO alerts (subject, layout, label, post_id, post_time, raised_at, delay, "
        "by_time, score, sums, reasons) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        rows.ids[one.row],
        layouts.id_of(session, detector, tuple(sums)),
        json.dumps(detector.policy.positive),
        encoded(one.post_id),
        one.time,
        rows.arrived,
        one.delay,
        int(by_time),
        _score(rows, one, gains),
        np.array(list(sums.values()), "<f8").tobytes(),
        json.dumps(reasons.to_dict()),
    )
    session.run(
        "INSERT INTO deliveries (alert, webhook, attempts, next_at, state, error) "
        "SELECT CAST(? AS BIGINT), id, 0, 0, 'due', '' FROM webhooks",  # due, whatever the clock
        key,
    )
    return int(key)


def _score(rows: SubjectRows, one: Raised, gains: Sequence[dict[Label, float]]) -> float:
    """Return the score of the subject after the post that raised the alert.

    `gains` are those of the latest posts. If there are more, the score is that after the last post
    of the group.
    """
    detector = rows.detector
    if len(gains) < one.delay:
        return float(rows.ledger.scores()[one.row])
    positive, sums = detector.policy.positive, one.sums
    column = list(sums).index(positive)
    added = np.array([[own.get(label, 0.0) for label in sums] for own in gains])
    last = Series.from_gains(added.reshape(len(gains), len(sums)), column).log_ratios[-1:]
    total = np.array([list(sums.values())])
    none, memory = np.zeros(1), np.zeros((1, 0))
    value, other = total[:, column].copy(), best_other(total, column).copy()
    step = Step(np.array([one.delay]), value, other, none, none, 0, memory, last)
    return float(step.score(ranking_score(detector.policy))[0])


def avoid_used_ids(store: Store, *, is_restored: bool = False) -> None:
    """Let new alerts of a restored store have ids that were not used after its backup.

    They begin with the milliseconds since 1970, which no counter reaches by itself: so they are
    above all earlier ones, even if the same backup is restored again. `is_restored` says that the
    store was restored in a way that it cannot notice.
    """
    with store.writing() as session:
        session.lock("alerts")
        if is_restored or session.is_restored():
            session.skip_ids("alerts", now() // 1_000)
            logger.info("the store was restored: new alerts have ids that were never used")
        session.mark_as_used()


AlertSort = Literal["newest", "oldest", "score", "subject", "label", "time"]


class Alerts:
    """The alerts of a service, and their marks."""

    store: Store
    layouts: Layouts
    detector: Detector

    def alerts(
        self,
        *,
        since: int = 0,
        before: int | None = None,
        limit: int = 100,
        label: Label | None = None,
        query: str | None = None,
        sort: AlertSort = "newest",
        unmarked: bool = False,
    ) -> list[Alert]:
        """Return alerts whose number is above `since` (and below `before`).

        `query` is part of a subject's id. `sort` is "newest", "oldest", "score", "subject", "label"
        or "time". Numbers grow in the order in which alerts become visible.
        """
        as_choice("sort", sort, tuple(SORTS))
        asked: dict[str, Any] = {"a.id > ?": since}
        if before is not None:
            asked["a.id < ?"] = before
        if label is not None:
            asked["a.label = ?"] = json.dumps(label)
        with self.store.reading() as session:
            if query:
                asked[session.contains("s.name")] = encoded(query)
            tests = [*asked, *(["m.alert IS NULL"] if unmarked else [])]
            order = f"ORDER BY {SORTS[sort]} LIMIT ?"
            return self._found(session, f"{' AND '.join(tests)} {order}", *asked.values(), limit)

    def alert(self, number: int) -> Alert:
        """Return an alert; raise `UnknownAlertError` if the number is unknown."""
        with self.store.reading() as session:
            found = self._found(session, "a.id = ?", number)
        if not found:
            raise UnknownAlertError(f"alert {number} not found")
        return found[0]

    def _found(self, session: Session, test: str, *values: Any) -> list[Alert]:
        query = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE {test}"
        found = session.run(query, *values)
        known = self.layouts.get(session, {one[2] for one in found})
        return [_alert(row, known) for row in found]

    def last_alert(self) -> int:
        """Return the number of the newest alert, 0 without one."""
        return int(self.store.rows("SELECT coalesce(max(id), 0) FROM alerts")[0][0])

    def mark(
        self,
        alert: int,
        verdict: Verdict,
        note: str = "",
        *,
        by: str = "",
        label: Label | None = None,
    ) -> Mark:
        """Mark an alert "right", "wrong" or "unsure". The latest mark counts; all are kept.

        `label` is the true label; it follows from the verdict unless the alert is wrong and the
        model has more than two labels. Raise `UnknownAlertError`, or `ValueError` for an invalid
        mark.
        """
        as_choice("verdict", verdict, VERDICTS)
        if len(note) > MOST_NOTE:
            raise ValueError(f"the note is longer than {MOST_NOTE:,} characters")
        at = now()
        with self.store.writing() as session:
            # With the subject locked: a mark must not outlive a subject that is being forgotten.
            found = session.run(
                "SELECT a.label FROM alerts a JOIN subjects s ON s.id = a.subject WHERE a.id = ?"
                + session.for_update,
                alert,
            )
            if not found:
                raise UnknownAlertError(f"alert {alert} not found")
            true = _true_label(self.detector, json.loads(found[0][0]), verdict, label)
            session.run("UPDATE marks SET is_latest = 0 WHERE alert = ? AND is_latest = 1", alert)
            session.run(
                "INSERT INTO marks (alert, is_latest, verdict, note, marked_by, label, at) "
                "VALUES (?, 1, ?, ?, ?, ?, ?)",
                *(alert, verdict, encoded(note), encoded(by)),
                *(None if true is None else json.dumps(true), at),
            )
        return Mark(alert, verdict, note, by, moment(at), true)

    def marks(self, alert: int) -> list[Mark]:
        """Return all marks of an alert, oldest first; the last one counts."""
        with self.store.reading() as session:
            if not session.run("SELECT 1 FROM alerts WHERE id = ?", alert):
                raise UnknownAlertError(f"alert {alert} not found")
            return marks_in(session, alert)

    def training(self) -> Iterator[TrainingText]:
        """Yield the posts of marked subjects up to their alerts as training data."""
        return training_texts(self.store)


def _alert(row: Any, known: dict[int, Any]) -> Alert:
    key, name, layout, label, post_id, post_time, raised_at, delay, score, sums, reasons = row[:11]
    own = known[layout]
    return Alert(
        id=key,
        subject=decoded(name),
        label=json.loads(label),
        post_id=decoded(post_id),
        post_time=moment(post_time),
        raised_at=moment(raised_at),
        delay=delay,
        score=score,
        confidence=own.by_label(sums),
        model=own.model,
        policy=own.policy,
        reasons=AlertReasons.from_dict(json.loads(reasons)),
        mark=None if row[11] is None else _mark(key, *row[11:]),
    )


def _mark(alert: int, verdict: Verdict, note: bytes, by: bytes, label: str | None, at: int) -> Mark:
    true = None if label is None else json.loads(label)
    return Mark(alert, verdict, decoded(note), decoded(by), moment(at), true)


def marks_in(session: Session, alert: int | None = None) -> list[Mark]:
    """Return all marks, or those of one alert, oldest first."""
    test, values = ("WHERE alert = ?", (alert,)) if alert is not None else ("", ())
    rows = session.run(
        f"SELECT alert, verdict, note, marked_by, label, at FROM marks {test} ORDER BY id", *values
    )
    return [_mark(*row) for row in rows]


def _true_label(
    detector: Detector, alerted: Label, verdict: Verdict, label: Label | None
) -> Label | None:
    """Return the label that a mark says the subject has, if it says so."""
    known = detector.engine.labels
    if label is not None and label not in known:
        raise UnknownLabelError(f"unknown label {label!r}; the model knows {reprs(known)}")
    if verdict == "right" and label not in (None, alerted):
        raise ValueError(f"a right alert for {alerted!r} cannot have the label {label!r}")
    if verdict == "wrong" and label == alerted:
        raise ValueError(f"a wrong alert for {alerted!r} cannot have this label")
    if verdict == "unsure":
        return None
    if verdict == "right":
        return alerted
    others = [one for one in known if one != alerted]
    return others[0] if label is None and len(others) == 1 else label


def precision_of(session: Session) -> Precision:
    """Return how many alerts were marked right, wrong and unsure."""
    counts: dict[str, int] = dict(
        session.run("SELECT verdict, count(*) FROM marks WHERE is_latest = 1 GROUP BY verdict")
    )
    return Precision(*(counts.get(verdict, 0) for verdict in VERDICTS))


def training_texts(store: Store) -> Iterator[TrainingText]:
    """Yield the posts up to each alert that has a true label, with it, in the order of alerts.

    Without stored texts, there is one record per subject, without a text. Marks that do not say
    which label is the true one are left out.
    """
    query = (
        "SELECT m.alert, s.id, s.name, m.label, a.post_id, a.delay, a.by_time FROM marks m "
        "JOIN alerts a ON a.id = m.alert JOIN subjects s ON s.id = a.subject "
        "WHERE m.is_latest = 1 AND m.label IS NOT NULL AND m.alert > ? ORDER BY m.alert LIMIT 100"
    )
    last = 0
    while True:
        with store.reading() as session:
            found = session.run(query, last)
            records = [one for _, *mark in found for one in _records(session, *mark)]
        if not found:
            return
        last = found[-1][0]
        yield from records


def _records(
    session: Session, subject: int, name: bytes, label: str, *alert: Any
) -> list[TrainingText]:
    posts = posts_until(session, subject, *alert)
    texts = texts_of(session, posts)
    known, true = decoded(name), json.loads(label)
    if not texts:
        return [TrainingText(known, true, None)]
    ids = {post.key: post.id for post in posts}
    return [TrainingText(known, true, text, ids[post]) for post, text in texts.items()]
