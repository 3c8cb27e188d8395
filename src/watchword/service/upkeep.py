"""Upkeep: periodic tasks in a thread of their own (rounds, retention, new versions)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from watchword.errors import WatchwordError
from watchword.service.logs import logger

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
