"""The two threads behind the service: one scores posts, the other commits them.

Batches that wait are joined into groups, each committed in one transaction. While a group is
written, the next one is scored; a small group is written by the thread that has scored it, if the
other one is idle.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from watchword.errors import BusyError, StoreError
from watchword.service.intake import Group, Intake, PostBatch
from watchword.service.logs import logger
from watchword.service.records import Receipt
from watchword.service.rows import Detector

_MOST_TOGETHER = 4_000  # posts in a group of several batches
_SMALL = 32  # posts in a group that is scored faster than another thread wakes up
_SECONDS = 60  # for which arrivals are counted


class Rates:
    """Counts posts per second for the latest seconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()  # by second
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Count posts as accepted now."""
        now = int(time.monotonic())
        with self._lock:
            self._counts[now] += count
            for second in [one for one in self._counts if one <= now - _SECONDS]:
                del self._counts[second]

    def latest(self) -> tuple[int, ...]:
        """Return the counts of the latest seconds, newest last."""
        now = int(time.monotonic())
        with self._lock:
            return tuple(self._counts[one] for one in range(now - _SECONDS + 1, now + 1))


class Writer:
    """A queue of batches, and the threads that empty it."""

    def __init__(
        self,
        intake: Intake,
        detector: Callable[[], Detector],
        *,
        lock: threading.RLock,
        queue_posts: int,
        committed: Callable[[Sequence[Receipt]], None],
        threads: int,
    ) -> None:
        self._intake = intake
        self._detector = detector
        self._lock = lock
        self._most = queue_posts
        self._on_commit = committed
        self._threads = threads
        self._state = threading.Condition()
        self._queue: deque[PostBatch] = deque()
        # One group waits here, and another one in the thread that has weighed it.
        self._weighed: queue.Queue[Group | None] = queue.Queue(1)
        self.queued = 0  #: posts that are not committed yet
        self._is_closing = False
        self.rates = Rates()
        self.accepted = self.duplicates = self.failures = 0
        self.is_failing = False  #: whether the latest group could not be committed
        self.last_commit: float | None = None
        self._workers = [
            threading.Thread(target=self._score_all, name="watchword-score", daemon=True),
            threading.Thread(target=self._write_all, name="watchword-write", daemon=True),
        ]
        for worker in self._workers:
            worker.start()

    def submit(self, batch: PostBatch) -> Future[Receipt]:
        """Queue a batch; its future has the receipt once it is committed."""
        batch.receipt.set_running_or_notify_cancel()  # from now on, it cannot be cancelled
        with self._state:
            if self._is_closing:
                raise StoreError("the service is stopping: send the posts again after its restart")
            if self.queued and self.queued + len(batch.posts) > self._most:
                rate = max(sum(self.rates.latest()[-5:]) / 5, 1_000.0)
                raise BusyError(
                    f"{self.queued:,} posts are waiting: send these again later",
                    retry_after=max(1.0, self.queued / rate),
                )
            self.queued += len(batch.posts)
            self._queue.append(batch)
            self._state.notify()
        return batch.receipt

    def close(self) -> None:
        """Finish queued batches, and end the threads."""
        with self._state:
            self._is_closing = True
            self._state.notify()
        for worker in self._workers:
            worker.join()

    # Weighing

    def _score_all(self) -> None:
        while batches := self._next_group():
            self._score(batches, self._hand_over)
        self._weighed.put(None)

    def _hand_over(self, group: Group) -> None:
        """Pass a group to the thread that writes; while it is idle, write a small group here."""
        if len(group.posts) <= _SMALL and not self._weighed.unfinished_tasks:
            self._write(group)
        else:
            self._weighed.put(group)

    def _next_group(self) -> list[PostBatch]:
        """Wait for batches, and return those that are joined; none at the end."""
        group: list[PostBatch] = []
        posts = 0
        with self._state:
            self._state.wait_for(lambda: self._queue or self._is_closing)
            while self._queue:
                posts += len(self._queue[0].posts)
                if group and posts > _MOST_TOGETHER:
                    break
                group.append(self._queue.popleft())
        return group

    def _score(self, batches: Sequence[PostBatch], then: Callable[[Group], None]) -> None:
        try:
            group = Group.score(batches, self._detector(), threads=self._threads)
        except Exception as error:  # it would end the thread
            self._apart(batches, error, then)
        else:
            then(group)

    # Writing

    def _write_all(self) -> None:
        while (group := self._weighed.get()) is not None:
            self._write(group)
            self._weighed.task_done()

    def _write(self, group: Group) -> None:
        try:
            with self._lock:
                if group.detector is not self._detector():  # loaded since the posts were scored
                    group = Group.score(group.batches, self._detector())
                receipts = self._intake.accept(group)
        except StoreError as error:
            self.failures += 1
            self.is_failing = True
            self._fail(group.batches, error)
            return
        except Exception as error:
            self._apart(group.batches, error, self._write)
            return
        self._note(receipts)
        for one, receipt in zip(group.batches, receipts, strict=True):
            one.receipt.set_result(receipt)
        self._on_commit(receipts)

    def _note(self, receipts: Sequence[Receipt]) -> None:
        accepted = sum(one.accepted for one in receipts)
        duplicates = sum(one.duplicates for one in receipts)
        self.accepted += accepted
        self.duplicates += duplicates
        self.is_failing, self.last_commit = False, time.time()
        self.rates.add(accepted)
        with self._state:
            self.queued -= accepted + duplicates

    def _apart(
        self, batches: Sequence[PostBatch], error: Exception, then: Callable[[Group], None]
    ) -> None:
        """Try the batches of a group one by one, so that only the bad one fails."""
        if len(batches) == 1:
            # Without the message, which may quote a text.
            logger.error("a batch was refused: %s", type(error).__name__)
            self._fail(batches, error)
            return
        for one in batches:
            self._score([one], then)

    def _fail(self, batches: Sequence[PostBatch], error: Exception) -> None:
        with self._state:
            self.queued -= sum(len(one.posts) for one in batches)
        for one in batches:
            one.receipt.set_exception(error)
