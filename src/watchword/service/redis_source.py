"""Redis Streams as a source: a consumer group, with entries acknowledged after the commit.

An entry has the fields of a post (subject, text, id, time, title), or one field `json` with a JSON
object. A post without an id is identified by the id of its entry. Entries that were delivered but
not acknowledged, because the service ended in between, are read first after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from watchword.data.lines import Flaw, LineBlock
from watchword.errors import MissingExtraError
from watchword.service.records import Position
from watchword.service.sources import Sink, incoming_posts
from watchword.service.store import URL, shown_url

try:
    import redis
except ImportError as error:
    raise MissingExtraError.of("redis", "Redis Streams need redis-py") from error

GROUP = "watchword"
_FIELDS = ("subject", "text", "id", "post_id", "time", "title")
_WHOLE = b"json"
_COUNT = 2000  # entries per transaction
_BLOCK = 500  # milliseconds to wait for entries
_SHORTEST_WAIT = 0.2  # seconds
_LAG_TIMEOUT = 1.0  # seconds: a metric is not worth a longer wait
_NEW = ">"

_StreamEntry = tuple[bytes, Mapping[bytes, bytes] | None]


@dataclass(frozen=True)
class StreamAddress:
    """Where a stream is: the URL of the server with its database, and the name of the stream.

    >>> StreamAddress.parse("redis://localhost:6379/0/posts").stream
    'posts'
    >>> StreamAddress.parse("redis://localhost/posts").server
    'redis://localhost'
    """

    server: str
    stream: str

    @classmethod
    def parse(cls, url: str) -> StreamAddress:
        """Parse redis://HOST:PORT/DATABASE/STREAM; the database may be left out."""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            parts, host = urlsplit(""), None
        *database, stream = parts.path.strip("/").split("/")
        known = parts.scheme in ("redis", "rediss") and host and URL.fullmatch(url)
        is_path = len(database) < 2 and all(map(str.isdecimal, database))
        if not known or not is_path or not stream or (not database and stream.isdecimal()):
            raise ValueError(
                f"{shown_url(url)!r} is not like redis://host:6379/0/stream "
                "(write @, /, ? and # in a password as %40, %2F, %3F and %23)"
            )
        path = f"/{database[0]}" if database else ""
        return cls(urlunsplit(parts._replace(path=path)), unquote(stream))

    @property
    def shown(self) -> str:
        """The address without a user, a password or options."""
        server = shown_url(self.server).partition("://")[2].partition("?")[0]
        return f"{server.rpartition('@')[2]}/{self.stream}"


class RedisStream:
    """A stream of Redis, read by one consumer of a group."""

    def __init__(self, url: str, *, group: str = GROUP, consumer: str = GROUP) -> None:
        self.address = StreamAddress.parse(url)
        self.name = f"redis:{self.address.shown}"
        self._group = group
        self._consumer = consumer

    def read(self, into: Sink) -> None:
        """Read entries until the sink stops; connect again when the connection is lost."""
        wait = _SHORTEST_WAIT
        while True:
            try:
                with redis.Redis.from_url(self.address.server, socket_timeout=30) as client:
                    self._join(client)
                    into.state, wait = "reading", _SHORTEST_WAIT
                    self._read_entries(client, into)
            except redis.RedisError as error:  # noqa: PERF203
                reason = f"{type(error).__name__}: {error}"
                into.state = "unreachable"
                wait = into.hold("source waits for Redis", reason, wait)

    def lag(self) -> tuple[str, int] | None:
        """Return how many entries are not acknowledged yet; None if Redis does not tell."""
        with (
            suppress(redis.RedisError),
            redis.Redis.from_url(self.address.server, socket_timeout=_LAG_TIMEOUT) as client,
        ):
            for group in client.xinfo_groups(self.address.stream):
                if group["name"] == self._group.encode() and group.get("lag") is not None:
                    return "entries", int(group["lag"]) + int(group["pending"])
        return None

    def _join(self, client: Any) -> None:
        """Create the group, and the stream, unless they are there."""
        try:
            client.xgroup_create(self.address.stream, self._group, id="0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    def _read_entries(self, client: Any, into: Sink) -> None:
        after = "0"  # pending entries first
        while True:
            into.check()
            entries = self._next(client, after)
            if entries:
                self._hand_over(client, into, entries)
            if after != _NEW:
                # With nothing left that is pending, only new entries are of interest.
                after = entries[-1][0].decode() if entries else _NEW

    def _next(self, client: Any, after: str) -> list[_StreamEntry]:
        answer = client.xreadgroup(
            self._group,
            self._consumer,
            {self.address.stream: after},
            count=_COUNT,
            block=_BLOCK if after == _NEW else None,
        )
        if isinstance(answer, dict):  # the third version of the protocol
            [entries] = list(answer.values())[:1] or [[]]
            return [entry for page in entries for entry in page]
        return list(answer[0][1]) if answer else []

    def _hand_over(self, client: Any, into: Sink, entries: list[_StreamEntry]) -> None:
        """Submit the posts of entries, and acknowledge these when the posts are committed."""
        keys = [key.decode() for key, _ in entries]
        lines = [self._line(into, key.decode(), fields) for key, fields in entries]
        block = LineBlock(b"\n".join(lines), len(lines), 1)

        def identity(line: int) -> str:
            return f"{self.name}#{keys[line - 1]}"

        texts = into.texts(block, identity, lambda line: f"entry {keys[line - 1]}")
        posts = incoming_posts(texts, identity)
        into.put(posts, Position(self.name, keys[-1]))
        client.xack(self.address.stream, self._group, *keys)

    def _line(self, into: Sink, key: str, fields: Mapping[bytes, bytes] | None) -> bytes:
        """Return an entry as a line of JSON; a blank one if there is nothing to read."""
        if not fields:  # it was deleted from the stream, but is still pending
            return b""
        if _WHOLE in fields:
            return fields[_WHOLE].replace(b"\n", b" ")
        into.fields.look_at([{name.decode("utf-8", "replace"): None for name in fields}])
        try:
            known = {
                name: fields[name.encode()].decode() for name in _FIELDS if name.encode() in fields
            }
        except UnicodeDecodeError:
            into.reject(Flaw("not UTF-8"), f"{self.name}#{key}", f"entry {key}")
            return b""
        return json.dumps(known).encode()
