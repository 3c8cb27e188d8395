"""Subjects in the store: one with its history, and lists."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from watchword._checks import Label, as_choice
from watchword.data import Post, Subject
from watchword.reasons.story import tell
from watchword.service.brief_cache import BriefCache
from watchword.service.intake import IntakeSettings
from watchword.service.records import HistoryPost, SubjectRow, SubjectView, moment
from watchword.service.rows import NO_LAYOUT, Detector, Layout, Layouts
from watchword.service.store import Session, Store, decoded, encoded
from watchword.service.stored_posts import (
    StoredPost,
    all_posts,
    read_posts,
    reading_order,
    texts_of,
)

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
_Told = tuple[StoredPost, HistoryPost]
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
            history = _history(session, self.layouts, key)
            end = len(history) if before is None else max(0, min(before - 1, len(history)))
            begin = max(0, end - limit)
            texts = texts_of(session, [post for post, _ in history[begin:end]])
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
            history=tuple(
                replace(one, text=texts.get(post.key)) for post, one in history[begin:end]
            ),
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
                contains = [session.contains("s.name")] if query else []
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

        None if the subject is unknown, or if the text of one of its posts is not stored.
        """
        with self.store.reading() as session:
            query = "SELECT id, delay FROM subjects WHERE name = ?"
            found = session.run(query, encoded(name))
            if not found:
                return None
            [(key, delay)] = found
            rows = reading_order(read_posts(session, [key]), self.settings.order == "time")
            texts = texts_of(session, rows)
        if not rows or len(texts) < len(rows):
            return None
        posts = [Post(texts[one.key], time=moment(one.time), id=one.id) for one in rows]
        person, engine, policy = Subject(name, posts), self.detector.engine, self.detector.policy
        given = delay if policy.is_population else None
        story = tell(engine, person, policy, alert=given)
        if story.decision.delay != delay:  # raised by another model, policy or order
            story = tell(engine, person, policy, alert=delay)
        return story.to_dict()


def _history(session: Session, layouts: Layouts, subject: int) -> list[_Told]:
    """Return all posts of a subject in the order of their numbers, as stored and as shown."""
    found = all_posts(session, subject)
    known = layouts.get(session, {post.layout for post in found})
    sums: dict[Label, float] = {}
    posts = []
    for post in found:
        own = known[post.layout]
        added = {} if post.number is None else own.by_label(post.contribution)
        sums = sums | {label: sums.get(label, 0.0) + one for label, one in added.items()}
        when = moment(post.time), moment(post.arrived)
        posts.append((post, HistoryPost(post.number, post.id, *when, added, sums)))
    return posts


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
