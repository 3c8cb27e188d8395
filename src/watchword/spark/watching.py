"""watch: decisions after every post of a stream, subject by subject.

The state is one value per subject: the bytes of `Reader.to_bytes`, the hashes of the latest post
ids (8 bytes each, oldest first), and the highest order so far. Spark checks the columns when a
query resumes from a checkpoint; the bytes have their own version.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from watchword._checks import as_whole
from watchword.errors import DataFormatError
from watchword.model.engine import engine_of
from watchword.model.parameters import Summary
from watchword.model.text import Tokenizer, WordHook
from watchword.spark.needs import (
    check_workers,
    column,
    column_type,
    require,
    require_text,
)
from watchword.spark.scoring import (
    ModelFile,
    Scoring,
    label_array,
    seen_by_driver,
    spark_label_type,
)
from watchword.streams import states
from watchword.streams.ledger import Ledger
from watchword.streams.policies import Policy, as_policy

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HORIZON = 64


def watch(
    stream: DataFrame,
    model_path: str | os.PathLike[str],
    policy: Policy,
    *,
    subject: str = "subject",
    text: str = "text",
    post_id: str | None = None,
    order: str | None = None,
    horizon: int | None = HORIZON,
    alerts_only: bool = False,
    allow_changed_model: bool = False,
    word_hook: WordHook | None = None,
    tokenizer: Tokenizer | None = None,
    summary: Summary | None = None,
) -> DataFrame:
    """Return the decisions after every post of a stream, as a `Reader` per subject would.

    Parameters
    ----------
    stream
        a streaming frame, or a static frame, which is read to its end, with a post per row.
    model_path
        a model file that all workers see under this path; see `classify`.
    policy
        the policy. A policy that compares all subjects of a round is rejected.
    subject, text
        the names of the columns with subjects and texts.
    post_id
        a column with an id that is unique within a subject. A post whose id is among the latest
        `horizon` ids of its subject is a duplicate and is skipped.
    order
        a column of integers or times that orders the posts of a subject within a batch of the
        stream; by default they are read in the order of the source. A post that arrives in a later
        batch than its order implies is read when it arrives.
    horizon
        the number of ids to remember per subject, 8 bytes each. With None, or without `post_id`,
        the order must increase: a post that is not above all earlier ones is skipped.
    alerts_only
        return only the rows of posts that raised an alert.
    allow_changed_model
        resume from a checkpoint of another model, as `TauSS3.reader` does.
    word_hook, tokenizer, summary
        functions that the model was trained with, as for `TauSS3.load`.

    The columns of the result: the subject, the post's id and order if given, the number of `posts`
    read so far, the `label` of the alert or null, its `delay` in posts or 0, `is_new` if this post
    raised it, and the `confidence` of every label so far. Start the query with a checkpoint
    location in the output mode `append`; it resumes from there after a crash. Spark supports this
    operator with RocksDB only, so `watch` selects RocksDB for the session.
    """
    require()
    from pyspark.sql import functions

    as_policy("policy", policy)
    if policy.is_population:
        raise ValueError(
            f"{policy!r} compares all subjects of a round, which Spark never has in one place: "
            "use another policy, or a Watcher on one machine"
        )
    for role, name in (("subject", subject), ("text", text)):
        require_text(stream, role, name)
    if horizon is not None:
        horizon = as_whole("horizon", horizon, 1, 2**20) if post_id is not None else None
    file, model = seen_by_driver(
        model_path, word_hook=word_hook, tokenizer=tokenizer, summary=summary
    )
    model.reader(policy)  # raises for an unknown label
    columns = {"subject": (subject, column(stream, subject), functions.col("subject"))}
    if post_id is not None:
        columns["post_id"] = (post_id, *_id_columns(stream, post_id))
    if order is not None:
        columns["order"] = (order, *_order_columns(stream, order))
    watching = Watching(
        model=file,
        policy=policy,
        columns=tuple(columns),
        horizon=horizon,
        alerts_only=alerts_only,
        allow_changed_model=allow_changed_model,
    )
    inward = [own.alias(name) for name, (_, own, _) in columns.items()]
    posts = stream.select(*inward, column(stream, text).alias("text"))
    check_workers(stream.sparkSession, file)
    stream.sparkSession.conf.set(_PROVIDER, _ROCKSDB)
    decided = _decided(posts, watching, (*(name for name, _, _ in columns.values()), text))
    read, delay = functions.col("posts"), functions.col("delay")
    positive = functions.lit(policy.positive).cast(spark_label_type(model.labels))
    confidence = functions.map_from_arrays(label_array(model.labels), functions.col("sums"))
    return decided.select(
        *(outward.alias(name) for name, _, outward in columns.values()),
        read,
        functions.when(delay > 0, positive).alias("label"),
        delay,
        ((delay > 0) & (delay == read)).alias("is_new"),
        confidence.alias("confidence"),
    )


def _id_columns(stream: DataFrame, post_id: str) -> tuple[Column, Column]:
    """Return the id column as text, and the text as ids of the stream's type."""
    from pyspark.sql import functions
    from pyspark.sql.types import AtomicType, BinaryType

    kind = column_type(stream, "post_id", post_id)
    own, text = column(stream, post_id), functions.col("post_id")
    if isinstance(kind, BinaryType):  # as text, different bytes may be equal
        return functions.hex(own), functions.unhex(text)
    if isinstance(kind, AtomicType):
        return own.cast("string"), text.cast(kind)
    raise DataFormatError(
        f"column {post_id!r} for post_id must hold single values, "
        f"but is {kind.simpleString()}: select one of its fields, or convert it with to_json"
    )


def _order_columns(stream: DataFrame, order: str) -> tuple[Column, Column]:
    """Return the order column as integers, and these in the type of the stream."""
    from pyspark.sql import functions
    from pyspark.sql.types import DateType, IntegralType, TimestampType

    kind = column_type(stream, "order", order)
    own, number = column(stream, order), functions.col("order")
    if isinstance(kind, TimestampType):
        return functions.unix_micros(own), functions.timestamp_micros(number)
    if isinstance(kind, DateType):
        days = functions.unix_date(own).cast("long")
        return days, functions.date_from_unix_date(number.cast("int"))
    if isinstance(kind, IntegralType):
        return own.cast("long"), number.cast(kind)
    raise DataFormatError(
        f"column {order!r} for order must hold whole numbers or times, "
        f"but is {kind.simpleString()}: cast it to long or timestamp"
    )


def _decided(posts: DataFrame, watching: Watching, named: tuple[str, ...]) -> DataFrame:
    kinds = {"subject": "string", "post_id": "string", "order": "long"}
    kept = ", ".join(f"`{name}` {kinds[name]}" for name in watching.columns)
    scored = f"{kept}, gains binary, place long"
    result = f"{kept}, posts long, delay long, sums array<double>"
    processor: Any = SubjectProcessor(watching)
    return (
        posts.mapInArrow(Scoring(watching.model, watching.columns, named), scored)
        .groupBy("subject")
        .transformWithState(processor, result, outputMode="Append", timeMode="None")
    )


STATE = "reader binary, seen binary, last long"
STATE_NAME = "subject"
_HASH = 8
_ROW = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Watching:
    """The settings for reading subjects, sent to workers."""

    model: ModelFile
    policy: Policy
    columns: tuple[str, ...]  # of a post besides its gains
    horizon: int | None  # latest post ids to remember; None: the order must increase
    alerts_only: bool
    allow_changed_model: bool

    @property
    def has_order(self) -> bool:
        """Whether a column orders the posts."""
        return "order" in self.columns


class SubjectProcessor:
    """A processor that reads the posts of one subject at a time.

    It implements the methods of pyspark's `StatefulProcessor`, which Spark calls by name.
    """

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._state: Any = None
        self._desk: _Desk | None = None

    def init(self, handle: Any) -> None:
        """Declare the state of a subject."""
        self._state = handle.getValueState(STATE_NAME, STATE)

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        """Read the new posts of a subject and yield the decision after each."""
        from pyspark.sql import Row

        if self._desk is None:
            self._desk = _Desk(self._watching)
        found, kept = self._desk.read(self._state.get(), rows)
        self._state.update(kept)
        template = Row(*self._watching.columns, "posts", "delay", "sums")
        return (template(*each) for each in found)

    def handleExpiredTimer(self, *_: Any) -> Iterator[Any]:  # noqa: N802
        """Return no rows: no timers are used."""
        return iter(())

    def close(self) -> None:
        """Do nothing: no resources are open."""


StoredState = tuple[bytes, bytes, int | None]


class _Desk:
    """A reader of one subject at a time, with the data shared by all subjects computed once."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._engine = engine_of(watching.model.open())
        self._labels = self._engine.labels
        self._ledger = self._new_ledger()
        blank = states.to_bytes(self._ledger.state_of(0, 1))
        self._blank = states.from_bytes(blank)
        self._own = blank[: states.IDENTITY]  # header of all states of this model and policy

    def _new_ledger(self) -> Ledger:
        ledger = Ledger(self._engine, self._watching.policy)
        ledger.resize(1)
        return ledger

    def read(
        self, kept: StoredState | None, rows: Iterable[Any]
    ) -> tuple[list[tuple[Any, ...]], StoredState]:
        """Return the decisions after each of these posts, and the new state of the subject."""
        reader, seen, last = (None, b"", None) if kept is None else kept
        ledger = self._ledger_of(None if reader is None else bytes(reader))
        marks = _Marks(self._watching, bytes(seen), last)
        found = list(self._decisions(ledger, marks, rows))
        state = states.to_bytes(ledger.state_of(0, 1))
        return found, (state, marks.to_bytes(), marks.last)

    def _ledger_of(self, reader: bytes | None) -> Ledger:
        """Return a ledger with the state of one subject."""
        ledger, state = self._ledger, self._blank
        if reader is not None:
            state, watching = states.from_bytes(reader), self._watching
            if reader[: states.IDENTITY] != self._own:
                allowed = watching.allow_changed_model
                states.check(state, self._engine, watching.policy, allow_changed_model=allowed)
            if state.labels != self._labels:
                # It gets extra columns that other subjects must not have.
                ledger = self._new_ledger()
        ledger.restore(state)
        return ledger

    def _decisions(
        self, ledger: Ledger, marks: _Marks, rows: Iterable[Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Read posts in their order, without duplicates."""
        watching = self._watching
        placed = [(row["order"] if watching.has_order else 0, row) for row in rows]
        placed.sort(key=lambda pair: (pair[0], pair[1]["place"]))
        for place, row in placed:
            if marks.was_read(place, row):
                continue
            gains = np.frombuffer(row["gains"], "<f8").reshape(1, -1)
            every = not watching.alerts_only
            _, *records = ledger.read(_ROW, self._labels, gains, every=every)
            for delay, posts, sums in zip(*records, strict=True):
                values = [sums[label] for label in self._labels]
                yield (*(row[name] for name in watching.columns), posts, delay, values)


class _Marks:
    """A record of the posts of a subject that were read."""

    def __init__(self, watching: Watching, seen: bytes, last: int | None) -> None:
        self.last = last
        self._watching = watching
        self._seen = dict.fromkeys(  # in order of arrival
            seen[at : at + _HASH] for at in range(0, len(seen), _HASH)
        )

    def was_read(self, place: int, row: Any) -> bool:
        """Return whether the post was read before; record it otherwise."""
        watching, last = self._watching, self.last
        if watching.has_order:
            self.last = place if last is None else max(last, place)
        if watching.horizon is None:
            return watching.has_order and last is not None and place <= last
        mark = hashlib.blake2b(str(row["post_id"]).encode(), digest_size=_HASH).digest()
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > watching.horizon:
            del self._seen[next(iter(self._seen))]
        return False

    def to_bytes(self) -> bytes:
        return b"".join(self._seen)
