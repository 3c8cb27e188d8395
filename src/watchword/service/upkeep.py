"""Upkeep in a thread of its own: rounds, retention, new versions; deletion of a subject's data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from watchword.errors import WatchwordError
from watchword.service import lessons
from watchword.service.logs import logger
from watchword.service.records import Forgotten, now
from watchword.service.store import Session, Store, encoded
from watchword.service.stored_posts import post_ids_of
from watchword.service.versions import Versions, remove_unsettled, unsettle

_AT_ONCE = 5_000  # texts per transaction

_OF_POST = {"texts": "post", "posts": "id"}
_OF_SUBJECT = {
    "deliveries": "alert IN (SELECT id FROM alerts WHERE subject = ?)",
    "marks": "alert IN (SELECT id FROM alerts WHERE subject = ?)",
    "alerts": "subject = ?",
    "lessons": "subject = ?",
    "subjects": "id = ?",
}


def plan_forgetting(versions: Versions, name: str) -> tuple[int | None, lessons.Unlearning]:
    """Return the row id of a subject, None if it is unknown, and how to unlearn its texts."""
    with versions.store.reading() as session:
        key = _key(session, name)
        if key is None:
            return None, lessons.Unlearning()
        return key, lessons.plan_unlearning(session, versions, key)


def write_forgetting(
    versions: Versions, name: str, *, key: int, plan: lessons.Unlearning
) -> tuple[Forgotten, int | None]:
    """Remove a subject; return the removed data, and the active version afterwards."""
    store = versions.store
    rows = {}
    path = versions.save(plan.model) if plan.model is not None and plan.rest else None
    with store.writing() as session:
        _key(session, name, lock=True)
        posts = [(post,) for post in post_ids_of(session, [key])]
        for table, where in _OF_SUBJECT.items():
            [(count,)] = session.run(f"SELECT count(*) FROM {table} WHERE {where}", key)
            rows[table] = int(count)
        active = lessons.write_unlearning(session, versions, plan, key, path)
        for table, column in _OF_POST.items():
            rows[table] = session.many(f"DELETE FROM {table} WHERE {column} = ?", posts)
        session.run("DELETE FROM post_index WHERE subject = ?", key)
        for table, where in _OF_SUBJECT.items():
            session.run(f"DELETE FROM {table} WHERE {where}", key)
        for file in plan.files:
            unsettle(session, file)
    with store.writing() as session:  # after the commit: files cannot be rolled back
        session.lock("lessons")
        remove_unsettled(session)
    store.scrub()
    return Forgotten(name, rows, plan.unlearnt, plan.removed), active


def _key(session: Session, name: str, *, lock: bool = False) -> int | None:
    query = "SELECT id FROM subjects WHERE name = ?" + (session.for_update if lock else "")
    found = session.run(query, encoded(name))
    return int(found[0][0]) if found else None


def expire_texts(store: Store, days: float) -> int:
    """Remove the texts that arrived more than some days ago; return their number."""
    limit = now() - int(days * 86_400_000_000)
    removed = 0
    while True:
        with store.writing() as session:
            found = session.run(
                "SELECT t.post FROM texts t JOIN posts p ON p.id = t.post "
                "WHERE t.arrived < ? AND p.number IS NOT NULL ORDER BY t.arrived LIMIT ?",
                *(limit, _AT_ONCE),
            )
            session.many("DELETE FROM texts WHERE post = ?", found)
        removed += len(found)
        if len(found) < _AT_ONCE:
            break
    if removed:
        store.scrub()
    return removed


_LONGEST = 3_600.0


@dataclass
class Duty:
    """A task that is due every `every` seconds; at whole multiples of them if `on_the_clock`."""

    name: str
    every: float
    action: Callable[[], object]
    on_the_clock: bool = False
    next_at: float = 0.0

    def plan(self, now: float) -> None:
        """Set the time of the next turn."""
        clock = (now // self.every + 1) * self.every
        self.next_at = clock if self.on_the_clock else now + self.every

    def newest(self) -> float:
        """Return the newest multiple of `every`: the planned one, or a later one if it is late."""
        return time.time() // self.every * self.every


class Upkeep:
    """A thread that runs tasks when they are due; failed tasks are retried next time."""

    def __init__(self, duties: list[Duty]) -> None:
        self._duties = duties
        self._stop = threading.Event()
        for duty in duties:
            duty.plan(time.time())
        self._thread = threading.Thread(target=self._work, name="watchword-upkeep", daemon=True)
        if duties:
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._duties:
            self._thread.join()

    def _work(self) -> None:
        while True:
            wait = min(duty.next_at for duty in self._duties) - time.time()
            if self._stop.wait(max(0.0, min(wait, _LONGEST))):
                return
            for duty in self._duties:
                if time.time() >= duty.next_at:
                    try:
                        duty.action()
                    except (WatchwordError, OSError) as error:
                        logger.warning("%s: %s", duty.name, error)
                    except Exception:
                        logger.exception("%s failed", duty.name)
                    duty.plan(time.time())
                elif duty.next_at - time.time() > duty.every:  # the clock was set back
                    duty.plan(time.time())
