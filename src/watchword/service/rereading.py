"""Reading stored texts again with another model, subject by subject (`reload --replay`).

`replays.py` reads subjects again without texts, from what the same model has made of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from watchword.service.alerts import Raised, write_alerts
from watchword.service.layouts import Layouts, Reading, cut
from watchword.service.records import moment, now
from watchword.service.rows import COLUMNS, SubjectRows
from watchword.service.store import Session, Store
from watchword.service.stored_posts import StoredPost, in_order, read_posts, texts_of

_AT_ONCE = 100  # subjects per transaction


def reread_some(
    store: Store, layouts: Layouts, reading: Reading, *, after: int, by_time: bool
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
        for post in in_order(read_posts(session, [one[0] for one in found]), by_time):
            posts[post.subject].append(post)
        texts = texts_of(session, [post for own in posts.values() for post in own])
        whole = [
            one
            for one in found
            if one[0] in posts and all(post.key in texts for post in posts[one[0]])
        ]
        alerts: list[int] = []
        if whole:
            alerts = _reread(session, layouts, reading, whole, posts, texts, by_time)
        kept = sum(one[0] in posts for one in found) - len(whole)
    return found[-1][0], len(whole), kept, alerts


def _reread(
    session: Session,
    layouts: Layouts,
    reading: Reading,
    found: list[Any],
    posts: Mapping[int, list[StoredPost]],
    texts: dict[int, str],
    by_time: bool,
) -> list[int]:
    rows = SubjectRows.load_all(session, layouts, reading, found)
    before = rows.contents()["delays"]
    flat = [(row, post) for row, one in enumerate(found) for post in posts[one[0]]]
    labels, gains = reading.engine.evidence([texts[post.key] for _, post in flat], 1)
    width, none = len(rows.ledger.labels), np.zeros(len(found), np.uint32)
    memory = np.zeros((len(found), reading.policy.columns))
    blocked = (before > 0).astype(np.uint32)
    rows.restore(rows.ledger.labels, none, blocked, np.zeros((len(found), width)), memory)
    where = np.array([row for row, _ in flat], np.int64)
    raised = []
    for at, delay, _, sums in zip(
        *rows.ledger.read(where, labels, gains, every=False), strict=True
    ):
        row, post = flat[at]
        own = Raised(row, post.id, moment(post.time), post.at, texts[post.key])
        raised.append(replace(own, delay=delay, sums=sums))
    after = rows.contents()
    delays = np.where(before > 0, before, after["delays"]).astype(np.uint32)
    rows.restore(rows.ledger.labels, after["posts"], delays, after["sums"], after["memory"])
    layout = layouts.id_of(session, reading, labels)
    session.many(
        "UPDATE posts SET layout = ?, contribution = ? WHERE id = ?",
        [(layout, blob, post.key) for blob, (_, post) in zip(cut(gains), flat, strict=True)],
    )
    rows.posts[:] = -1  # write all
    rows.write(session)
    written = write_alerts(
        session,
        reading,
        rows,
        raised,
        arrived=now(),
        texts_kept=True,
        layouts=layouts,
        by_time=by_time,
    )
    return sorted(written.values())
