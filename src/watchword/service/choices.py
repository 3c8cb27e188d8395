"""Choices and defaults of callers, also for the help of the command line.

That is read at every start, so nothing else may be imported here.
"""

from __future__ import annotations

from typing import Literal

ReadingOrder = Literal["arrival", "time"]
ORDERS: tuple[ReadingOrder, ...] = ("arrival", "time")
ReloadMode = Literal["keep", "replay"]
RELOAD_MODES: tuple[ReloadMode, ...] = ("keep", "replay")
Scope = Literal["feed", "read", "mark", "admin"]
SCOPES: tuple[Scope, ...] = ("feed", "read", "mark", "admin")
Verdict = Literal["right", "wrong", "unsure"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "unsure")

QUEUE_POSTS = 50_000
BODY_LIMIT = 8 << 20  # bytes
MODEL_LIMIT = 4 << 30  # bytes
RATE = 2_000  # requests per second
MOST_CONNECTIONS = 512
