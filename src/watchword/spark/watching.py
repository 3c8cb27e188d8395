"""watch: decisions after every post of a stream, subject by subject."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from watchword._checks import as_whole
from watchword.model.parameter_kinds import Summary
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import Tokenizer, WordHook
from watchword.spark.carried import id_as_text, id_from_text, order_as_number, order_from_number
from watchword.spark.classifying import label_array, spark_label_type
from watchword.spark.needs import check_workers, column, require, require_text
from watchword.spark.opening import seen_by_driver
from watchword.spark.scoring import Scoring
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
    watching = Watching(
        model=file,
        policy=policy,
        has_id=post_id is not None,
        has_order=order is not None,
        horizon=horizon,
        alerts_only=alerts_only,
        allow_changed_model=allow_changed_model,
    )
    posts = _plain(stream, subject, text, post_id, order)
    check_workers(stream.sparkSession, file)
    stream.sparkSession.conf.set(_PROVIDER, _ROCKSDB)
    given = {"subject": subject, "post_id": post_id, "order": order}
    named = tuple(name for name in given.values() if name is not None)
    decided = _decided(posts, watching, (*named, text))
    return decided.select(*_shown(stream, model, policy, subject, post_id, order))


def _plain(
    stream: DataFrame, subject: str, text: str, post_id: str | None, order: str | None
) -> DataFrame:
    """Return the required columns, under internal names."""
    chosen = [column(stream, subject).alias("subject"), column(stream, text).alias("text")]
    if post_id is not None:
        chosen.append(id_as_text(stream, post_id).alias("post_id"))
    if order is not None:
        chosen.append(order_as_number(stream, order).alias("order"))
    return stream.select(*chosen)


def _decided(posts: DataFrame, watching: Watching, named: tuple[str, ...]) -> DataFrame:
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        DoubleType,
        LongType,
        StringType,
        StructField,
        StructType,
    )

    kinds = {"subject": StringType(), "post_id": StringType(), "order": LongType()}
    kept = [StructField(name, kinds[name]) for name in watching.columns]
    scored = StructType(
        [*kept, StructField("gains", BinaryType()), StructField("place", LongType())]
    )
    result = StructType(
        [
            *kept,
            StructField("posts", LongType()),
            StructField("delay", LongType()),
            StructField("sums", ArrayType(DoubleType())),
        ]
    )
    processor: Any = SubjectProcessor(watching)
    return (
        posts.mapInArrow(Scoring(watching.model, "text", watching.columns, named), scored)
        .groupBy("subject")
        .transformWithState(processor, result, outputMode="Append", timeMode="None")
    )


def _shown(
    stream: DataFrame,
    model: TauSS3,
    policy: Policy,
    subject: str,
    post_id: str | None,
    order: str | None,
) -> list[Column]:
    from pyspark.sql import functions

    posts, delay = functions.col("posts"), functions.col("delay")
    positive = functions.lit(policy.positive).cast(spark_label_type(model.labels))
    confidence = functions.map_from_arrays(label_array(model.labels), functions.col("sums"))
    own = [functions.col("subject").alias(subject)]
    if post_id is not None:
        own.append(id_from_text(stream, post_id).alias(post_id))
    if order is not None:
        own.append(order_from_number(stream, order).alias(order))
    return [
        *own,
        posts,
        functions.when(delay > 0, positive).alias("label"),
        delay,
        ((delay > 0) & (delay == posts)).alias("is_new"),
        confidence.alias("confidence"),
    ]
