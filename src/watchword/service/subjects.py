"""Subjects in the store: one with its history, lists, and a cache of what they cost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, TypeVar

import numpy as np

from watchword._checks import Label, as_choice
from watchword.data import Post, Subject
from watchword.explain.story import tell
from watchword.service.intake import IntakeSettings
from watchword.service.records import HistoryPost, SubjectRow, SubjectView, moment
from watchword.service.rows import NO_LAYOUT, Detector, Layout, Layouts
from watchword.service.store import Session, Store, decoded, encoded
from watchword.service.stored_posts import post_ids_of, posts_by_id, reading_ids, texts_of

_Result = TypeVar("_Result")
_SHARE = 10  # a result is kept for this many times as long as it took
_SHORTEST = 0.5  # seconds for which it is worth keeping


class BriefCache:
    """Results by request; threads may share them.

    >>> cache = BriefCache()
    >>> cache.get("posts", lambda: 3)  # quick, so it is computed again next time
    3
    >>> cache.get("posts", lambda: 4)
    4
    """

    def __init__(self) -> None:
        self._kept: dict[object, tuple[float, Any]] = {}
        self._cleared = 0
        self._lock = threading.Lock()
        self._turns: dict[object, tuple[threading.Lock, int]] = {}  # and the threads that wait

    def get(self, asked: object, compute: Callable[[], _Result]) -> _Result:
        """Return the kept result, or compute it; threads that ask the same wait for one of them."""
        with self._lock:
            turn, users = self._turns.get(asked, (threading.Lock(), 0))
            self._turns[asked] = turn, users + 1
        try:
            with turn:
                return self._get(asked, compute)
        finally:
            with self._lock:
                _, users = self._turns.pop(asked)
                if users > 1:
                    self._turns[asked] = turn, users - 1

    def _get(self, asked: object, compute: Callable[[], _Result]) -> _Result:
        kept_until, found = self._kept.get(asked, (0.0, None))
        began, cleared = time.monotonic(), self._cleared
        if began < kept_until:
            return found  # type: ignore[no-any-return]
        found = compute()
        now = time.monotonic()
        kept_until = now + (now - began) * _SHARE
        self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > now}
        if kept_until - now > _SHORTEST and cleared == self._cleared:
            self._kept[asked] = kept_until, found
        return found

    def clear(self) -> None:
        """Drop all results, also those that are being computed."""
        self._cleared += 1
        self._kept = {}


_COLUMNS = (
    "s.id, s.name, s.layout, s.posts, s.delay, s.score, s.first_time, s.last_time, s.state, "
    "a.id, a.label"
)
_TABLES = "subjects s LEFT JOIN alerts a ON a.subject = s.id"

SORTS = {
    "score": "s.score DESC, s.id",
    "name": "s.name",
    "newest": "s.last_time DESC, s.id",
    "posts": "s.posts DESC, s.id",
}
SubjectSort = Literal["score", "name", "newest", "posts"]
_MOST_TOLD = 1_000  # posts in a story
_AT_ONCE = 10_000  # posts whose contributions are read at once
_NONE = Layout(NO_LAYOUT, (), "", "", "")


class Subjects:
    """The subjects of a service."""

    store: Store
    layouts: Layouts
    detector: Detector
    settings: IntakeSettings
    kept: BriefCache

    def subject(
        self, name: str, *, before: int | None = None, limit: int = 200
    ) -> SubjectView | None:
        """Return a subject with its latest `limit` posts, or those before the number `before`."""
        with self.store.reading() as session:
            query = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE s.name = ?"
            found = session.run(query, encoded(name))
            if not found:
                return None
            [(key, _, layout, posts, delay, score, first, last, state, alert, label)] = found
            own = self.layouts.get(session, {layout} - {NO_LAYOUT}).get(layout, _NONE)
            ids = post_ids_of(session, [key])
            end = len(ids) if before is None else max(0, min(before - 1, len(ids)))
            begin = max(0, end - limit)
            history = _history(session, self.layouts, ids[:begin], ids[begin:end])
        return SubjectView(
            id=name,
            posts=posts,
            score=score,
            confidence=own.by_label(state),
            label=None if label is None else json.loads(label),
            delay=delay,
            first_time=moment(first),
            last_time=moment(last),
            alert=alert,
            model=own.model,
            policy=own.policy,
            history=tuple(history),
            before=begin + 1 if begin else None,
        )

    def subjects(
        self,
        *,
        query: str | None = None,
        sort: SubjectSort = "score",
        limit: int = 100,
        offset: int = 0,
        undecided: bool = False,
    ) -> list[SubjectRow]:
        """Return subjects whose ids contain `query`, sorted; or only those without an alert.

        A list takes a pass over all subjects. It is cached for ten times as long as that took, and
        may be some seconds old.
        """
        as_choice("sort", sort, tuple(SORTS))
        tests = ["s.posts > 0", *(["s.delay = 0"] if undecided else [])]
        order = f"ORDER BY {SORTS[sort]} LIMIT ? OFFSET ?"

        def find() -> list[SubjectRow]:
            with self.store.reading() as session:
                # In the index of names first: the rows are many times as large.
                named = f"s.id IN (SELECT id FROM subjects WHERE {session.contains('name')})"
                contains = [named] if query else []
                found = session.run(
                    f"SELECT {_COLUMNS} FROM {_TABLES} "
                    f"WHERE {' AND '.join(tests + contains)} {order}",
                    *([encoded(query)] if query else []),
                    *(limit, offset),
                )
                known = self.layouts.get(session, {one[2] for one in found})
            return [_row(one, known) for one in found]

        return self.kept.get((query, sort, limit, offset, undecided), find)

    def story(self, name: str) -> dict[str, Any] | None:
        """Return the story of a subject as plain data (`Story.to_dict`), by the current model.

        Of a long history, only a part is told: the latest posts up to the alert or, without one,
        the latest of all. `first` is the number of its first post; the alert and what would have
        changed it are then not computed again. Return None if the subject is unknown, or if the
        text of one of these posts is not stored.
        """
        by_time = self.settings.order == "time"
        with self.store.reading() as session:
            query = "SELECT id, posts, delay FROM subjects WHERE name = ?"
            found = session.run(query, encoded(name))
            if not found:
                return None
            [(key, count, delay)] = found
            ids = reading_ids(session, key, count, by_time=by_time)
            begin = max(0, (delay or len(ids)) - _MOST_TOLD)
            before = _sums_of(session, self.layouts, ids[:begin])
            rows = posts_by_id(session, ids[begin : begin + _MOST_TOLD])
            texts = texts_of(session, rows)
        if not rows or len(texts) < len(rows):
            return None
        posts = [Post(texts[one.key], time=moment(one.time), id=one.id) for one in rows]
        person, engine, policy = Subject(name, posts), self.detector.engine, self.detector.policy
        is_whole = len(rows) == len(ids)
        given = delay - begin if delay else 0
        is_given = policy.is_population or not is_whole
        story = tell(engine, person, policy, alert=given if is_given else None)
        if story.decision.delay != given:  # raised by another model, policy or order
            story = tell(engine, person, policy, alert=given)
        plain = story.to_dict() | {"first": 1}
        return plain if is_whole else _part_of_story(plain, begin, before, len(ids))


def _part_of_story(
    story: dict[str, Any], begin: int, before: dict[Label, float], posts: int
) -> dict[str, Any]:
    """Return the story of a part with the numbers and sums that it has in the whole history."""
    start = np.array([before.get(label, 0.0) for label in story["labels"]])

    def numbered(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry | {"number": begin + entry["number"]} for entry in entries]

    decision, tipped = story["decision"], story["tipped"]
    delay = decision["delay"] and begin + decision["delay"]
    sums = (start + np.array(decision["sums"])).tolist()
    return story | {
        "first": begin + 1,
        "decision": decision | {"delay": delay, "posts": posts, "sums": sums},
        "sums": (start + np.array(story["sums"])).tolist(),
        "tipped": tipped
        | {name: numbered(tipped[name]) for name in ("posts_for", "posts_against")},
        "shown": numbered(story["shown"]),
    }


def _history(
    session: Session, layouts: Layouts, earlier: Sequence[int], shown: Sequence[int]
) -> list[HistoryPost]:
    """Return the posts to show after the earlier ones; all are given by their row ids."""
    sums = _sums_of(session, layouts, earlier)
    rows = posts_by_id(session, shown)
    texts = texts_of(session, rows)
    known = layouts.get(session, {post.layout for post in rows})
    posts = []
    for post in rows:
        own = known[post.layout]
        added = {} if post.number is None else own.by_label(post.contribution)
        sums = sums | {label: sums.get(label, 0.0) + one for label, one in added.items()}
        when = moment(post.time), moment(post.arrived)
        text = texts.get(post.key)
        posts.append(HistoryPost(post.number, post.id, *when, added, sums, text))
    return posts


def _sums_of(session: Session, layouts: Layouts, ids: Sequence[int]) -> dict[Label, float]:
    """Return what posts, given by their row ids in the order of reading, have added."""
    query = "SELECT id, layout, contribution FROM posts WHERE number IS NOT NULL AND id {keys}"
    sums: dict[Label, float] = {}
    for begin in range(0, len(ids), _AT_ONCE):
        part = ids[begin : begin + _AT_ONCE]
        found = {row[0]: row[1:] for row in session.where(query, part)}
        rows = [found[key] for key in part if key in found]
        for layout, group in groupby(rows, itemgetter(0)):
            labels = layouts.get(session, {layout})[layout].labels
            added = np.frombuffer(b"".join(row[1] for row in group), "<f8")
            start = [sums.get(label, 0.0) for label in labels]
            # One post after the other, as they were read: another order would round differently.
            steps = np.concatenate([[start], added.reshape(-1, len(labels))])
            sums |= dict(zip(labels, np.cumsum(steps, axis=0)[-1].tolist(), strict=True))
    return sums


def _row(row: Any, known: dict[int, Layout]) -> SubjectRow:
    _, name, layout, posts, _, score, _, last, state, alert, label = row
    return SubjectRow(
        id=decoded(name),
        posts=posts,
        score=score,
        confidence=known[layout].by_label(state),
        label=None if label is None else json.loads(label),
        last_time=moment(last),
        alert=alert,
    )
