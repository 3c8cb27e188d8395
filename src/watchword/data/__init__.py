"""Subjects, posts and documents: read from files and pipes, written to files, or made up.

`lines` turns bytes into lines; `records` and `tables` turn lines into items; `fast_lines` is a
faster path for well-formed JSON lines, with the same results as `records`. `inputs` combines them,
and every reader calls it.
"""

from __future__ import annotations

from watchword.data.files import (
    iterate_posts,
    iterate_texts,
    read_csv,
    read_jsonl,
    read_subjects,
    read_texts,
    write_jsonl,
)
from watchword.data.folders import read_folder
from watchword.data.subjects import Document, Post, Subject
from watchword.data.synthetic import AT_RISK, CONTROL, SEQUENCE_PAIRS, make_risk_streams

__all__ = [
    "AT_RISK",
    "CONTROL",
    "SEQUENCE_PAIRS",
    "Document",
    "Post",
    "Subject",
    "iterate_posts",
    "iterate_texts",
    "make_risk_streams",
    "read_csv",
    "read_folder",
    "read_jsonl",
    "read_subjects",
    "read_texts",
    "write_jsonl",
]
