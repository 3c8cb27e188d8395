"""Structured logs: one JSON object per line, without texts of posts."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, TextIO

_FIELDS = "watchword_fields"
logger = logging.getLogger("watchword.service")


def say(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields.

    Fields are ids, names, numbers and messages of errors, never a text of a subject.
    """
    logger.log(level, event, extra={_FIELDS: fields})


class JsonLines(logging.Formatter):
    """Formats records as JSON: time, level, event, and the fields of the event.

    >>> record = logging.LogRecord("watchword", logging.INFO, "", 0, "started", (), None)
    >>> JsonLines().format(record)  # doctest: +ELLIPSIS
    '{"time": "...Z", "level": "info", "event": "started"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line, in ASCII: control characters cannot reach a terminal."""
        at = datetime.fromtimestamp(record.created, timezone.utc)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= getattr(record, _FIELDS, {})
        if record.exc_info and record.exc_info[0] is not None:
            # Not the message: it may quote what a post says.
            line["error"] = record.exc_info[0].__name__
            for frame, number in traceback.walk_tb(record.exc_info[2]):
                line["at"] = f"{frame.f_code.co_filename}:{number}"
        return json.dumps(line, default=str)


@contextmanager
def json_logs(level: str = "info", stream: TextIO | None = None) -> Iterator[None]:
    """Write what the package and its server log as JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines())
    owned = [logging.getLogger(name) for name in ("watchword", "uvicorn.error")]
    before = [(one, one.handlers, one.level, one.propagate) for one in owned]
    try:
        for one in owned:
            one.handlers = [handler]
            one.setLevel(level.upper())
            one.propagate = False
        owned[1].setLevel(logging.ERROR)
        yield
    finally:
        for one, handlers, own_level, propagate in before:
            one.handlers, one.propagate = handlers, propagate
            one.setLevel(own_level)
