"""Ids and orders of posts: conversion to the types used inside Spark, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchword.errors import DataFormatError
from watchword.spark.needs import column, column_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def id_as_text(stream: DataFrame, post_id: str) -> Column:
    """Return the id column as text that can be converted back."""
    from pyspark.sql import functions
    from pyspark.sql.types import AtomicType, BinaryType

    kind = column_type(stream, "post_id", post_id)
    if isinstance(kind, BinaryType):  # as text, different bytes may be equal
        return functions.hex(column(stream, post_id))
    if isinstance(kind, AtomicType):
        return column(stream, post_id).cast("string")
    raise DataFormatError(
        f"column {post_id!r} for post_id must hold single values, "
        f"but is {kind.simpleString()}: select one of its fields, or convert it with to_json"
    )


def id_from_text(stream: DataFrame, post_id: str) -> Column:
    """Return the id column in the type of the stream, from text."""
    from pyspark.sql import functions
    from pyspark.sql.types import BinaryType

    kind, known = column_type(stream, "post_id", post_id), functions.col("post_id")
    return functions.unhex(known) if isinstance(kind, BinaryType) else known.cast(kind)


def order_as_number(stream: DataFrame, order: str) -> Column:
    """Return the order column as an integer."""
    from pyspark.sql import functions
    from pyspark.sql.types import DateType, IntegralType, TimestampType

    kind = column_type(stream, "order", order)
    if isinstance(kind, TimestampType):
        return functions.unix_micros(column(stream, order))
    if isinstance(kind, DateType):
        return functions.unix_date(column(stream, order)).cast("long")
    if isinstance(kind, IntegralType):
        return column(stream, order).cast("long")
    raise DataFormatError(
        f"column {order!r} for order must hold whole numbers or times, "
        f"but is {kind.simpleString()}: cast it to long or timestamp"
    )


def order_from_number(stream: DataFrame, order: str) -> Column:
    """Return the order column in the type of the stream, from an integer."""
    from pyspark.sql import functions
    from pyspark.sql.types import DateType, TimestampType

    kind, number = column_type(stream, "order", order), functions.col("order")
    if isinstance(kind, TimestampType):
        return functions.timestamp_micros(number)
    if isinstance(kind, DateType):
        return functions.date_from_unix_date(number.cast("int"))
    return number.cast(kind)
