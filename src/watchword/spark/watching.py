"""watch: decisions after every post of a stream, subject by subject."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from watchword._checks import as_whole
from watchword.errors import DataFormatError
from watchword.model.parameter_kinds import Summary
from watchword.model.text import Tokenizer, WordHook
from watchword.spark.needs import check_workers, column, column_type, require, require_text
from watchword.spark.opening import seen_by_driver
from watchword.spark.scoring import Scoring, label_array, spark_label_type
from watchword.spark.subjects import SubjectProcessor, Watching
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
        posts.mapInArrow(Scoring(watching.model, "text", watching.columns, named), scored)
        .groupBy("subject")
        .transformWithState(processor, result, outputMode="Append", timeMode="None")
    )
