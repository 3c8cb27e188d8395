"""classify: labels and confidences for the texts of a frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from watchword._checks import Label
from watchword.model.parameter_kinds import Summary
from watchword.model.text import Tokenizer, WordHook
from watchword.spark.needs import check_workers, column, require, require_free, require_text
from watchword.spark.opening import seen_by_driver
from watchword.spark.scoring import Classifying

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def classify(
    frame: DataFrame,
    model_path: str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    confidence: str = "confidence",
    word_hook: WordHook | None = None,
    tokenizer: Tokenizer | None = None,
    summary: Summary | None = None,
) -> DataFrame:
    """Return the frame with two more columns: the label and the confidences of each text.

    `label` and `confidence` are the names of the new columns; a confidence is a map from labels to
    numbers. Both equal those of `TauSS3.predict_many` and `confidence_many`. Streaming frames are
    supported. All workers must see the model file under the same path; each worker process opens it
    once, mapped into memory, so the processes of one machine share one copy. Pass functions that
    the model was trained with as to `TauSS3.load`.
    """
    require()
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

    require_text(frame, "text", text)
    require_free(frame, "label", label)
    require_free(frame, "confidence", confidence)
    if label.lower() == confidence.lower():
        raise ValueError(f"label and confidence must be two columns, got {label!r} for both")
    file, model = seen_by_driver(
        model_path, word_hook=word_hook, tokenizer=tokenizer, summary=summary
    )
    check_workers(frame.sparkSession, file)
    labels = model.labels
    result = StructType(
        [
            StructField("label", spark_label_type(labels)),
            StructField("confidence", ArrayType(DoubleType())),
        ]
    )
    found = _reading(Classifying(file, text), result)(column(frame, text))
    values = functions.map_from_arrays(label_array(labels), found["confidence"])
    return frame.withColumns({label: found["label"], confidence: values})


def _reading(function: Classifying, result: Any) -> Any:
    """Return an Arrow UDF of the text column: other columns stay in Spark, no text comes back."""
    import pyarrow as pa
    from pyspark.sql.pandas import functions

    def read(texts: Any) -> Any:
        return function(texts)

    read.__annotations__ = {
        "texts": pa.Array,
        "return": pa.Array,
    }  # Spark infers the UDF type from these
    arrow_udf: Any = functions.arrow_udf  # its type stub has no structures
    return arrow_udf(read, result)


def spark_label_type(labels: tuple[Label, ...]) -> Any:
    """Return the Spark type of a column of these labels."""
    from pyspark.sql.types import LongType, StringType

    return LongType() if isinstance(labels[0], int) else StringType()


def label_array(labels: tuple[Label, ...]) -> Column:
    """Return a column with the array of all labels in every row."""
    from pyspark.sql import functions

    kind = spark_label_type(labels)
    return functions.array(*(functions.lit(label).cast(kind) for label in labels))
