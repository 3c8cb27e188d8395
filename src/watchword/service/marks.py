"""Marks: verdicts of people about alerts, the precision of alerts, and training data from both."""

from __future__ import annotations

import json
from collections.abc import Iterator

from watchword._checks import Label, as_choice
from watchword.errors import UnknownAlertError, UnknownLabelError
from watchword.service.choices import VERDICTS, Verdict
from watchword.service.layouts import Reading
from watchword.service.records import Mark, Precision, TrainingText, moment, now
from watchword.service.store import Session, Store, decoded, encoded
from watchword.service.stored_posts import posts_until, texts_of

MOST_NOTE = 10_000  # characters


def write_mark(
    store: Store,
    reading: Reading,
    alert: int,
    *,
    verdict: Verdict,
    note: str,
    by: str,
    label: Label | None,
) -> Mark:
    """Write a mark; it replaces an earlier one of the same alert."""
    as_choice("verdict", verdict, VERDICTS)
    if len(note) > MOST_NOTE:
        raise ValueError(f"the note is longer than {MOST_NOTE:,} characters")
    at = now()
    with store.writing() as session:
        # With the subject locked: a mark must not outlive a subject that is being forgotten.
        found = session.run(
            "SELECT a.label FROM alerts a JOIN subjects s ON s.id = a.subject WHERE a.id = ?"
            + session.for_update,
            alert,
        )
        if not found:
            raise UnknownAlertError(f"alert {alert} not found")
        true = _true_label(reading, json.loads(found[0][0]), verdict, label)
        session.run(
            "INSERT INTO marks (alert, verdict, note, marked_by, label, at) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (alert) DO UPDATE SET "
            "verdict = excluded.verdict, note = excluded.note, marked_by = excluded.marked_by, "
            "label = excluded.label, at = excluded.at",
            *(alert, verdict, encoded(note), encoded(by)),
            *(None if true is None else json.dumps(true), at),
        )
    return Mark(alert, verdict, note, by, moment(at), true)


def _true_label(
    reading: Reading, alerted: Label, verdict: Verdict, label: Label | None
) -> Label | None:
    """Return the label that a mark says the subject has, if it says so."""
    known = reading.engine.labels
    if label is not None and label not in known:
        listed = ", ".join(map(repr, known))
        raise UnknownLabelError(f"unknown label {label!r}; the model knows {listed}")
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
        session.run("SELECT verdict, count(*) FROM marks GROUP BY verdict")
    )
    return Precision(*(counts.get(verdict, 0) for verdict in VERDICTS))


def training_texts(store: Store) -> Iterator[TrainingText]:
    """Yield the posts up to each alert that has a true label, with it, in the order of alerts.

    Without stored texts, there is one record per subject, without a text. Marks that do not say
    which label is the true one are left out.
    """
    query = (
        "SELECT m.alert, s.id, s.name, m.label, a.post_id, a.delay, a.by_time "
        "FROM marks m "
        "JOIN alerts a ON a.id = m.alert JOIN subjects s ON s.id = a.subject "
        "WHERE m.label IS NOT NULL AND m.alert > ? ORDER BY m.alert LIMIT 100"
    )
    last = 0
    while True:
        with store.reading() as session:
            found = session.run(query, last)
            records = [record for _, *own in found for record in _records(session, *own)]
        if not found:
            return
        last = found[-1][0]
        yield from records


def _records(
    session: Session,
    subject: int,
    name: bytes,
    label: str,
    post_id: bytes,
    delay: int,
    by_time: int,
) -> list[TrainingText]:
    posts = posts_until(session, subject, decoded(post_id), delay, by_time)
    texts = texts_of(session, posts)
    known, true = decoded(name), json.loads(label)
    if not texts:
        return [TrainingText(known, true, None)]
    ids = {post.key: post.id for post in posts}
    return [TrainingText(known, true, text, ids[post]) for post, text in texts.items()]
