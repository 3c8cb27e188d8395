"""Rounds for policies that compare all subjects: posts wait, and a round is closed by the clock.

A post is stored with its contribution when it arrives. When the round closes, the waiting posts
are read in turns, as `Watcher.read_round` reads them: first the first waiting post of each subject,
then the second ones, and so on.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from watchword.service.alerts import Raised, write_alerts
from watchword.service.layouts import Layouts, Reading
from watchword.service.replays import rebuild_memory
from watchword.service.rows import COLUMNS, SubjectRows
from watchword.service.store import Session, Store
from watchword.service.stored_posts import StoredPost, texts_of, waiting_posts
from watchword.service.versions import set_fact

_APART = 60_000_000  # microseconds by which the clocks of processes may differ


def close_round(
    store: Store, reading: Reading, *, texts_kept: bool, due: int | None = None
) -> list[int]:
    """Read the posts that wait, in one transaction; return the ids of new alerts.

    `due` is the time of the round's end in microseconds: if another process has closed the round
    already, nothing happens. A round that was closed much later than `due` is one of a clock that
    has been set back since.
    """
    with store.writing() as session:
        session.lock("rounds")
        facts: dict[str, str] = dict(session.run("SELECT name, value FROM facts"))
        if due is not None:
            if due <= int(facts.get("round closed at", 0)) <= due + _APART:
                return []
            set_fact(session, "round closed at", str(due))
        waiting = waiting_posts(session)
        if not waiting:
            return []
        rows, rounds, raised = _read(session, reading, waiting, int(facts.get("rounds", 0)))
        set_fact(session, "rounds", str(rounds))
        written = write_alerts(session, rows, raised, texts_kept=texts_kept)
        if not texts_kept:
            session.many("DELETE FROM texts WHERE post = ?", [(one.key,) for one in waiting])
    return sorted(written.values())


def _read(
    session: Session, reading: Reading, waiting: list[StoredPost], rounds: int
) -> tuple[SubjectRows, int, list[Raised]]:
    """Read waiting posts in turns; write states and numbers."""
    new = {one.subject for one in waiting}
    found = session.run(f"SELECT {COLUMNS} FROM subjects ORDER BY id" + session.for_update)
    found = [one for one in found if one[3] or one[0] in new]  # others have had no post yet
    # Not the layouts of the intake: the transaction may be rolled back.
    rows = SubjectRows.load_all(session, Layouts(), reading, found)
    if rows.stale and not reading.policy.is_population:  # which remembers what others wrote, too
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
