"""Replays: subjects are read again from their stored contributions; no texts are needed.

That happens if posts are read by time and one is late, and if the policy has changed and
remembers something. With another model, texts are needed: `rereading.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from watchword._arrays import FloatArray, IntArray
from watchword._checks import Label
from watchword.service.alerts import Raised
from watchword.service.layouts import Layouts
from watchword.service.records import moment
from watchword.service.rows import SubjectRows
from watchword.service.store import Session
from watchword.service.stored_posts import read_posts

Evidence = tuple[IntArray, tuple[Label, ...], FloatArray]
"""The row of each post, the labels of columns, and what each post adds."""


@dataclass(frozen=True)
class _Entry:
    """A post in a replay: its place in the order, its row, and what it adds."""

    at: int
    number: int
    row: int
    gains: dict[Label, float]
    post: Raised


def replayed(
    session: Session,
    layouts: Layouts,
    rows: SubjectRows,
    *,
    group: Evidence,
    posts: list[Raised],
    numbers: Sequence[int],
    late: set[int],
    stale: set[int],
    by_time: bool,
) -> list[Raised]:
    """Read the posts of a group with replays of some rows; return the new alerts.

    Late rows are read by time from the start, the new posts among the old ones; an alert once
    raised stays. Stale rows get the memory of the policy from their old posts, without alerts;
    then their new posts are read like all others. `by_time` says in which order posts are read.
    """
    where, labels, gains = group
    old = _stored(session, layouts, rows, late | stale)
    new = [
        _Entry(post.at, number, post.row, dict(zip(labels, own, strict=True)), post)
        for post, number, own in zip(posts, numbers, gains.tolist(), strict=True)
        if post.row in late
    ]
    merged = old + new
    merged.sort(key=lambda one: (one.at, one.number) if by_time else (one.number, 0))
    raised = _rebuilt(rows, merged, late=late, stale=stale)
    rest = np.array([at for at, row in enumerate(where.tolist()) if row not in late], np.int64)
    if rest.size:
        found, delays, _, sums = rows.ledger.read(where[rest], labels, gains[rest], every=False)
        raised += [
            replace(posts[rest[at]], delay=delay, sums=own)
            for at, delay, own in zip(found, delays, sums, strict=True)
        ]
    return raised


def rebuild_memory(session: Session, layouts: Layouts, rows: SubjectRows) -> None:
    """Give stale rows the memory of the policy from their old posts, in the order of reading."""
    entries = _stored(session, layouts, rows, rows.stale)
    entries.sort(key=lambda one: one.number)
    _rebuilt(rows, entries, late=set(), stale=rows.stale)


def _rebuilt(
    rows: SubjectRows, entries: list[_Entry], *, late: set[int], stale: set[int]
) -> list[Raised]:
    """Replace the rows of these posts by what reading them from the start gives."""
    before = rows.contents()
    chosen = np.array(sorted(late | stale), np.int64)
    posts, delays = before["posts"].copy(), before["delays"].copy()
    sums, memory = before["sums"].copy(), before["memory"].copy()
    posts[chosen], sums[chosen], memory[chosen] = 0, 0, 0
    delays[chosen] = [row in stale or delays[row] > 0 for row in chosen.tolist()]
    rows.restore(rows.ledger.labels, posts, delays, sums, memory)
    labels = tuple(dict.fromkeys([*rows.ledger.labels, *(one for e in entries for one in e.gains)]))
    gains = np.array([[one.gains.get(label, 0.0) for label in labels] for one in entries])
    where = np.array([one.row for one in entries], np.int64)
    found, new_delays, _, new_sums = rows.ledger.read(
        where, labels, gains.reshape(len(entries), len(labels)), every=False
    )
    after = rows.contents()
    kept = after["delays"].copy()
    decided = [row for row in chosen.tolist() if row in stale or before["delays"][row] > 0]
    kept[decided] = before["delays"][decided]
    rows.restore(rows.ledger.labels, after["posts"], kept, after["sums"], after["memory"])
    return [
        replace(entries[at].post, delay=delay, sums=own)
        for at, delay, own in zip(found, new_delays, new_sums, strict=True)
    ]


def _stored(
    session: Session, layouts: Layouts, rows: SubjectRows, chosen: set[int]
) -> list[_Entry]:
    """Return the posts of some rows that have been read."""
    row_of = {rows.ids[row]: row for row in chosen}
    found = read_posts(session, list(row_of))
    known = layouts.get(session, {one.layout for one in found})
    entries = []
    for one in found:
        row = row_of[one.subject]
        post = Raised(row=row, post_id=one.id, time=moment(one.time), at=one.at)
        gains = known[one.layout].by_label(one.contribution)
        entries.append(_Entry(one.at, one.number, row, gains, post))
    return entries
