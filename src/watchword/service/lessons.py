"""Lessons: marked texts that the model learns, each stored so that it can be unlearnt.

A taught model is the given one after `learn_one` of each lesson in order, with a step of
correction if the model is refined and does not prune while learning. So a lesson is taken back
exactly, corrections included, by teaching the others again on top of the last version without it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from watchword._checks import Label
from watchword.errors import StoreError
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.service.records import now
from watchword.service.rows import Detector
from watchword.service.store import Session, decoded, encoded
from watchword.service.stored_posts import posts_until, texts_of
from watchword.service.versions import (
    CHANGED,
    Versions,
    active_version,
    ancestry,
    lineage,
    remove_unsettled,
    set_active,
    settle,
    version_file,
)


@dataclass(frozen=True)
class Lesson:
    """A text and its true label, from the mark of an alert."""

    alert: int
    subject: int
    label: Label
    text: str


def learn(model: TauSS3, lessons: Sequence[Lesson]) -> TauSS3:
    """Return a copy of the model that has learnt the lessons."""
    taught = model.replace()
    correct = model.refinement is not None and engine_of(model).parameters.suits_refining
    texts, labels = [one.text for one in lessons], [one.label for one in lessons]
    taught.learn_many(texts, labels, threads=1, correct=correct)
    return taught


@dataclass(frozen=True)
class _Plan:
    """What to teach: the version to begin with, and the lessons on top of it."""

    base: int
    lessons: tuple[Lesson, ...]


def teach(versions: Versions, detector: Detector, alerts: Sequence[int] | None) -> Detector:
    """Teach what marks say and the active version has not learnt; return the new version.

    Lessons of alerts that are marked otherwise since are replaced or taken back: the later lessons
    are taught again on top of the last version without them. If no lesson remains, that version
    becomes the active one. Raise `StoreError` if there is nothing to teach.
    """
    with versions.store.reading() as session:
        plan = _planned(session, detector.version, alerts)
        base_file = version_file(session, plan.base)
    kept = versions.save(detector.model)  # a way back, whatever becomes of the given file
    base = detector.model if plan.base == detector.version else versions.load(*base_file)
    taught = learn(base, plan.lessons) if plan.lessons else base
    path = versions.save(taught) if plan.lessons else None
    try:
        with versions.store.writing() as session:
            session.lock("lessons")
            _refuse_changed(session, detector.version)
            _refuse_forgotten(session, plan.lessons)
            settle(session, kept)
            session.run("UPDATE versions SET path = ? WHERE id = ?", str(kept), detector.version)
            number = _write_taught(session, versions, plan, taught, path)
            set_active(session, number)
    except StoreError:
        # The file may contain texts of a forgotten subject. If this fails, the next start does it.
        with suppress(StoreError), versions.store.writing() as session:
            session.lock("lessons")
            remove_unsettled(session)
        raise
    return Detector(taught, detector.policy, number)


def _write_taught(
    session: Session, versions: Versions, plan: _Plan, taught: TauSS3, path: Path | None
) -> int:
    """Write a taught version with its lessons; return its number, or that of its base without."""
    if path is None:
        version_file(session, plan.base)  # it may have been removed meanwhile
        return plan.base
    settle(session, path)
    number = versions.add(session, plan.base, path, taught.fingerprint)
    _write(session, number, plan.lessons)
    return number


def _refuse_forgotten(session: Session, lessons: Sequence[Lesson]) -> None:
    alerts = sorted({lesson.alert for lesson in lessons})
    if len(session.where("SELECT id FROM alerts WHERE id {keys}", alerts)) < len(alerts):
        raise StoreError("a subject was forgotten in the meantime: try again")


def activate(versions: Versions, detector: Detector, number: int) -> Detector:
    """Make an earlier or later version the active one; return the detector with its model."""
    with versions.store.reading() as session:
        path, fingerprint = version_file(session, number)
    model = versions.load(path, fingerprint)
    if detector.policy.positive not in model.labels:
        raise StoreError(f"version {number} does not know the label {detector.policy.positive!r}")
    with versions.store.writing() as session:
        session.lock("lessons")
        version_file(session, number)  # it may have been removed meanwhile
        set_active(session, number)
    return Detector(model, detector.policy, number)


def _planned(session: Session, version: int, alerts: Sequence[int] | None) -> _Plan:
    """Return what to teach, of these alerts or of all; raise `StoreError` if there is nothing."""
    marked = [
        (alert, mark)
        for alert, *mark in session.run(
            "SELECT m.alert, m.label, a.subject, a.post_id, a.delay, a.by_time FROM marks m "
            "JOIN alerts a ON a.id = m.alert WHERE m.is_latest = 1 ORDER BY m.alert"
        )
        if alerts is None or alert in alerts
    ]
    line = ancestry(session, version)
    learnt = _lessons_of(session, line)
    labels = {alert: None if label is None else json.loads(label) for alert, (label, *_) in marked}
    outdated = {
        number
        for number, lesson in learnt
        if lesson.alert in labels and lesson.label != labels[lesson.alert]
    }
    base = line[max((line.index(number) + 1 for number in outdated), default=0)]
    again = [
        (labels.get(lesson.alert, lesson.label), lesson)
        for number, lesson in learnt
        if line.index(number) < line.index(base)
    ]
    lessons = [replace(lesson, label=label) for label, lesson in again if label is not None]
    taught = {lesson.alert for _, lesson in learnt}
    for alert, (_, subject, *place) in marked:
        label = labels[alert]
        if label is not None and alert not in taught:
            texts = texts_of(session, posts_until(session, subject, *place)).values()
            lessons += [Lesson(alert, subject, label, text) for text in texts]
    if not lessons and not outdated:
        raise StoreError(
            "nothing to teach: no newly or differently marked alert has stored texts and a known "
            "true label (store_texts stores texts)"
        )
    return _Plan(base, tuple(lessons))


def _lessons_of(session: Session, versions: Sequence[int]) -> list[tuple[int, Lesson]]:
    """Return the lessons of versions in the order of teaching, each with its version."""
    query = "SELECT id, version, alert, subject, label, text FROM lessons WHERE version {keys}"
    return [
        (version, Lesson(alert, subject, json.loads(label), decoded(text)))
        for _, version, alert, subject, label, text in sorted(session.where(query, versions))
    ]


def _write(session: Session, version: int, lessons: Sequence[Lesson]) -> None:
    at = now()
    session.many(
        "INSERT INTO lessons (version, alert, subject, label, text, at) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (version, one.alert, one.subject, json.dumps(one.label), encoded(one.text), at)
            for one in lessons
        ],
    )


def _refuse_changed(session: Session, version: int | None) -> None:
    if active_version(session) != version:
        raise StoreError(CHANGED)


# Unlearning


@dataclass(frozen=True)
class Unlearning:
    """The changes to versions that remove everything about a subject."""

    removed: tuple[int, ...] = ()  # versions that learnt texts of the subject
    files: tuple[Path, ...] = ()
    active: int | None = None
    base: int | None = None  # the version to teach the rest on top of; None if nothing changes
    rest: tuple[Lesson, ...] = ()
    unlearnt: int = 0  # lessons of the subject in the active version
    model: TauSS3 | None = field(default=None, repr=False)


def plan_unlearning(session: Session, versions: Versions, subject: int) -> Unlearning:
    """Return how to unlearn a subject, with the model that is active afterwards."""
    active = active_version(session)
    bad = _knowing(session, subject)
    if not bad or active is None:
        return Unlearning(active=active)
    files = [Path(version_file(session, number)[0]) for number in bad]
    line = ancestry(session, active)
    if active not in bad:
        return Unlearning(tuple(bad), tuple(files), active)
    base = next(number for number in line if number not in bad)
    between = line[: line.index(base)]
    every = [lesson for _, lesson in _lessons_of(session, between)]
    rest = [one for one in every if one.subject != subject]
    model = versions.load(*version_file(session, base))
    return Unlearning(
        removed=tuple(bad),
        files=tuple(files),
        active=active,
        base=base,
        rest=tuple(rest),
        unlearnt=len(every) - len(rest),
        model=learn(model, rest) if rest else model,
    )


def _knowing(session: Session, subject: int) -> list[int]:
    """Return the versions that learnt texts of a subject, directly or from their parents."""
    found = session.run("SELECT DISTINCT version FROM lessons WHERE subject = ?", subject)
    own = {version for (version,) in found}
    parents: dict[int, int | None] = dict(session.run("SELECT id, parent FROM versions"))
    return [number for number in parents if own & set(lineage(parents, number))]


def write_unlearning(
    session: Session, versions: Versions, plan: Unlearning, subject: int, path: Path | None
) -> int | None:
    """Write the plan; return the number of the version that is active afterwards.

    `path` is the file of the plan's model, if it is a new one. Raise `StoreError` if the model was
    changed since the plan was made.
    """
    session.lock("lessons")
    if set(_knowing(session, subject)) != set(plan.removed):
        raise StoreError(CHANGED)
    if not plan.removed:
        return plan.active
    _refuse_changed(session, plan.active)
    gone = [(number,) for number in plan.removed]
    session.many("DELETE FROM lessons WHERE version = ?", gone)
    session.many("DELETE FROM versions WHERE id = ?", gone)
    if plan.base is None or plan.model is None:
        return plan.active
    number = plan.base
    if path is not None:
        settle(session, path)
        number = versions.add(session, plan.base, path, plan.model.fingerprint)
        _write(session, number, plan.rest)
    set_active(session, number)
    return number
