"""The table of rejected lines: what sources left out, and why, without its content."""

from __future__ import annotations

from collections.abc import Sequence

from watchword.service.records import RejectedLine, micros, moment
from watchword.service.store import Session, Store, decoded, encoded

_MOST = 10_000  # rows: of a source of garbage, the newest are enough


def write_rejected(session: Session, rejected: Sequence[RejectedLine]) -> None:
    """Write rejected lines, and remove the oldest rows beyond the limit."""
    if not rejected:
        return
    session.many(
        "INSERT INTO rejected (source, line, reason, at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (source, line) DO NOTHING",
        [
            (encoded(line.source), encoded(line.line), line.reason, micros(line.at))
            for line in rejected[-_MOST:]
        ],
    )
    session.run("DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?", _MOST)


def rejected_lines(store: Store) -> list[RejectedLine]:
    """Return the rejected lines that are kept, oldest first."""
    rows = store.rows("SELECT source, line, reason, at FROM rejected ORDER BY id")
    return [
        RejectedLine(decoded(source), decoded(line), reason, moment(at))
        for source, line, reason, at in rows
    ]
