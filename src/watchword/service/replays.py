"""Reading stored posts: those that wait for a round, and whole subjects again.

If posts are read by time and one is late, or if the policy has changed and remembers something, the
stored contributions of posts are read again, and no texts are needed. Another model needs the texts
(`reload --replay`).

With rounds, for policies that compare all subjects, a post is stored with its contribution when it
arrives. When the round closes, the waiting posts are read in turns, as `Watcher.read_round` reads
them: first the first waiting post of each subject, then the second ones, and so on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from watchword._checks import FloatArray, IntArray, Label
from watchword.service.alerts import Raised, write_alerts
from watchword.service.rows import COLUMNS, Detector, Layouts, SubjectRows, cut
from watchword.service.store import Session, Store
from watchword.service.stored_posts import (
    StoredPost,
    read_posts,
    reading_order,
    texts_of,
    waiting_posts,
)
from watchword.streams.ledger import Records

Evidence = tuple[IntArray, tuple[Label, ...], FloatArray]
"""The row of each post, the labels of columns, and what each post adds."""

_AT_ONCE = 100  # subjects per transaction


@dataclass(frozen=True)
class _ReplayedPost:
    """A post in a replay: its number, what it adds, and the post itself."""

    number: int
    gains: dict[Label, float]
    post: Raised


def replayed(
    session: Session,
    rows: SubjectRows,
    *,
    group: Evidence,
    posts: list[Raised],
    numbers: Sequence[int],
    late: set[int],
    by_time: bool,
) -> list[Raised]:
    """Read the posts of a group with replays of some rows; return the new alerts.

    Late rows are read by time from the start, the new posts among the old ones; an alert once
    raised stays. Stale rows get the memory of the policy from their old posts, without alerts;
    then their new posts are read like all others. `by_time` says in which order posts are read.
    """
    where, labels, gains = group
    merged = _stored(session, rows, late | rows.stale) + [
        _ReplayedPost(number, dict(zip(labels, own, strict=True)), post)
        for post, number, own in zip(posts, numbers, gains.tolist(), strict=True)
        if post.row in late
    ]
    merged.sort(key=lambda one: (one.post.at, one.number) if by_time else (one.number, 0))
    raised = _rebuilt(rows, merged, late)
    rest = np.array([at for at, row in enumerate(where.tolist()) if row not in late], np.int64)
    if rest.size:
        found, delays, _, sums = rows.ledger.read(where[rest], labels, gains[rest], every=False)
        raised += [
            replace(posts[rest[at]], delay=delay, sums=own)
            for at, delay, own in zip(found, delays, sums, strict=True)
        ]
    return raised


def rebuild_memory(session: Session, rows: SubjectRows) -> None:
    """Give stale rows the memory of the policy from their old posts, in the order of reading."""
    entries = _stored(session, rows, rows.stale)
    entries.sort(key=lambda one: one.number)
    _rebuilt(rows, entries, set())


def _rebuilt(rows: SubjectRows, entries: list[_ReplayedPost], late: set[int]) -> list[Raised]:
    """Replace late and stale rows by what reading their posts from the start gives."""
    chosen = late | rows.stale
    delays = rows.contents()["delays"]
    blocked = [row for row in chosen if row not in late or delays[row] > 0]
    labels = tuple(dict.fromkeys([*rows.ledger.labels, *(one for e in entries for one in e.gains)]))
    gains = np.array([[one.gains.get(label, 0.0) for label in labels] for one in entries])
    where = np.array([one.post.row for one in entries], np.int64)
    evidence = where, labels, gains.reshape(len(entries), len(labels))
    found, new_delays, _, sums = _read_again(rows, evidence, list(chosen), blocked)
    return [
        replace(entries[at].post, delay=delay, sums=own)
        for at, delay, own in zip(found, new_delays, sums, strict=True)
    ]


def _read_again(
    rows: SubjectRows, evidence: Evidence, chosen: list[int], blocked: list[int]
) -> Records:
    """Read chosen rows from the start; those that are blocked keep their delays."""
    before = rows.contents()
    blank = {name: values.copy() for name, values in before.items()}
    for values in blank.values():
        values[chosen] = 0
    blank["delays"][blocked] = 1
    rows.restore(blank)
    found = rows.ledger.read(*evidence, every=False)
    after = rows.contents()
    delays = after["delays"].copy()
    delays[blocked] = before["delays"][blocked]
    rows.restore(after | {"delays": delays})
    return found


def _stored(session: Session, rows: SubjectRows, chosen: set[int]) -> list[_ReplayedPost]:
    row_of = {rows.ids[row]: row for row in chosen}
    found = read_posts(session, list(row_of))
    known = rows.layouts.get(session, {one.layout for one in found})
    return [
        _ReplayedPost(
            one.number,
            known[one.layout].by_label(one.contribution),
            Raised(row_of[one.subject], one.id, one.time, one.at),
        )
        for one in found
    ]


# Stored texts


def reread_some(
    store: Store, detector: Detector, *, after: int, by_time: bool
) -> tuple[int | None, int, int, list[int]]:
    """Read some subjects again whose texts are all stored; others keep their sums.

    `after` is the row id of the last subject done. Return that of the last one now, None at the
    end, the numbers of subjects read again and kept, and the ids of new alerts. An alert that was
    raised before stays as it is.
    """
    with store.writing() as session:
        found = session.run(
            f"SELECT {COLUMNS} FROM subjects WHERE id > ? ORDER BY id LIMIT {_AT_ONCE}"
            + session.for_update,
            after,
        )
        if not found:
            return None, 0, 0, []
        posts: defaultdict[int, list[StoredPost]] = defaultdict(list)
        for post in reading_order(read_posts(session, [one[0] for one in found]), by_time):
            posts[post.subject].append(post)
        texts = texts_of(session, [post for own in posts.values() for post in own])
        whole = [
            one
            for one in found
            if one[0] in posts and all(post.key in texts for post in posts[one[0]])
        ]
        alerts = _reread(session, detector, whole, posts, texts, by_time) if whole else []
        kept = sum(one[0] in posts for one in found) - len(whole)
    return found[-1][0], len(whole), kept, alerts


def _reread(
    session: Session,
    detector: Detector,
    found: list[Any],
    posts: Mapping[int, list[StoredPost]],
    texts: dict[int, str],
    by_time: bool,
) -> list[int]:
    rows = SubjectRows.load_all(session, Layouts(), detector, found)
    flat = [(row, post) for row, one in enumerate(found) for post in posts[one[0]]]
    labels, gains = detector.engine.evidence([texts[post.key] for _, post in flat], 1)
    where = np.array([row for row, _ in flat], np.int64)
    blocked = np.flatnonzero(rows.contents()["delays"]).tolist()
    alerts = _read_again(rows, (where, labels, gains), list(range(len(found))), blocked)
    raised = []
    for at, delay, _, sums in zip(*alerts, strict=True):
        row, post = flat[at]
        own = Raised(row, post.id, post.time, post.at, texts[post.key], delay=delay, sums=sums)
        raised.append(own)
    layout = rows.layouts.id_of(session, detector, labels)
    session.many(
        "UPDATE posts SET layout = ?, contribution = ? WHERE id = ?",
        [(layout, blob, post.key) for blob, (_, post) in zip(cut(gains), flat, strict=True)],
    )
    rows.posts[:] = -1  # write all
    rows.write(session)
    written = write_alerts(session, rows, raised, texts_kept=True, by_time=by_time)
    return sorted(written.values())


_APART = 60_000_000  # microseconds by which the clocks of processes may differ


def close_round(
    store: Store, detector: Detector, *, texts_kept: bool, due: int | None = None
) -> list[int]:
    """Read the posts that wait, in one transaction; return the ids of new alerts.

    `due` is the time of the round's end in microseconds: if another process has closed the round
    already, nothing happens. If it was closed much later than `due`, the clock has been set back
    since.
    """
    with store.writing() as session:
        session.lock("rounds")
        facts: dict[str, str] = dict(session.run("SELECT name, value FROM facts"))
        if due is not None:
            if due <= int(facts.get("round closed at", 0)) <= due + _APART:
                return []
            session.set_fact("round closed at", str(due))
        waiting = waiting_posts(session)
        if not waiting:
            return []
        rows, rounds, raised = _read(session, detector, waiting, int(facts.get("rounds", 0)))
        session.set_fact("rounds", str(rounds))
        written = write_alerts(session, rows, raised, texts_kept=texts_kept)
        if not texts_kept:
            session.many("DELETE FROM texts WHERE post = ?", [(one.key,) for one in waiting])
    return sorted(written.values())


def _read(
    session: Session, detector: Detector, waiting: list[StoredPost], rounds: int
) -> tuple[SubjectRows, int, list[Raised]]:
    """Read waiting posts in turns; write states and numbers."""
    new = {one.subject for one in waiting}
    found = session.run(f"SELECT {COLUMNS} FROM subjects ORDER BY id" + session.for_update)
    found = [one for one in found if one[3] or one[0] in new]  # others have had no post yet
    # Not the layouts of the intake: the transaction may be rolled back.
    rows = SubjectRows.load_all(session, Layouts(), detector, found)
    if rows.stale and not detector.policy.is_population:  # which remembers what others wrote, too
        rebuild_memory(session, rows)
    rows.restore(rows.contents(), rounds=rounds)
    row_of = {one[0]: row for row, one in enumerate(found)}
    known = rows.layouts.get(session, {one.layout for one in waiting})
    labels = tuple(dict.fromkeys([label for one in known.values() for label in one.labels]))
    counts: defaultdict[int, int] = defaultdict(int)
    turns: defaultdict[int, list[StoredPost]] = defaultdict(list)
    for post in waiting:
        turns[counts[post.subject]].append(post)
        counts[post.subject] += 1
    raised: list[Raised] = []
    numbers = []
    for turn, posts in turns.items():
        where = np.array([row_of[post.subject] for post in posts], np.int64)
        added = [known[post.layout].by_label(post.contribution) for post in posts]
        gains = np.array([[own.get(label, 0.0) for label in labels] for own in added])
        alerts, delays, _, sums = rows.ledger.read_round(where, labels, gains)
        for at, delay, own in zip(alerts, delays, sums, strict=True):
            post, row = posts[at], int(where[at])
            text = texts_of(session, [post]).get(post.key)
            raised.append(Raised(row, post.id, post.time, post.at, text, delay=delay, sums=own))
        read = rows.posts[where] + turn + 1
        numbers += [(int(n), post.key) for n, post in zip(read, posts, strict=True)]
    rows.see_times([row_of[post.subject] for post in waiting], [post.at for post in waiting])
    rows.write(session)
    session.many("UPDATE posts SET number = ? WHERE id = ?", numbers)
    return rows, rounds + len(turns), raised
