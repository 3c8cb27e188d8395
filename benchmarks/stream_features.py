"""Growing histories as features: what re-reading every prefix of a subject's posts would give.

A prefix's term counts are cumulative sums of its posts' counts. So are, term by term, any
function f of the counts (1 + log for sublinear tf) and their squares, whose weighted sum is the
squared length of the row: each post adds f(after) − f(before). A linear model's score of every
prefix is then a cumulative sum over posts, and no prefix is ever built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import BenchmarkError
from scipy import sparse
from stream_parts import Part

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

COUNTS = "counts"
TFIDF = "tf-idf"
LOG_TFIDF = "sublinear tf-idf"
WEIGHTINGS = (COUNTS, TFIDF, LOG_TFIDF)

HISTORIES = "histories"
PREFIXES = "prefixes"
POSTS = "posts"
DOCUMENTS = (HISTORIES, PREFIXES, POSTS)
_PREFIX_LENGTHS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120)

MINIMUM_DOCUMENTS = 2  # rarer terms are dropped (min_df)
_CHECKED = 50  # subjects


@dataclass(frozen=True)
class Linear:
    """Several linear models on the same features; `scale` is a term's idf, 0 where dropped."""

    scale: FloatArray
    weights: FloatArray  # terms × models
    biases: FloatArray
    has_unit_rows: bool


class Growing:
    """The posts of a part as what each adds to its subject's features."""

    def __init__(self, part: Part, counts: Any, weighting: str) -> None:
        self._part = part
        self._weighting = weighting
        before, after = _cumulated(part, counts)
        if weighting == LOG_TFIDF:
            before, after = _one_plus_log(before), _one_plus_log(after)

        def with_data(data: FloatArray) -> Any:
            return sparse.csr_matrix((data, counts.indices, counts.indptr), counts.shape)

        self._gains = with_data(after - before)
        self._square_gains = with_data(after**2 - before**2)

    def training_rows(self, places: Sequence[int], kind: str) -> tuple[Any, FloatArray, IntArray]:
        """Rows to train with, as scikit-learn's vectorizers make them of documents of this kind.

        Also the scale of each term, and whose row each is.
        """
        spans = [span for place in places for span in self._spans(place, kind)]
        begins, ends, owners = (np.array(column, np.int64) for column in zip(*spans, strict=True))
        rows = _sums(self._gains, begins, ends)
        frequency = np.bincount(rows.indices, minlength=rows.shape[1])
        scale = np.where(frequency >= MINIMUM_DOCUMENTS, 1.0, 0.0)
        if self._weighting != COUNTS:
            scale *= np.log((1 + len(spans)) / (1 + frequency)) + 1
        rows = (rows @ sparse.diags(scale)).tocsr()
        rows.eliminate_zeros()
        if self._weighting != COUNTS:
            rows = (sparse.diags(1 / _positive(sparse.linalg.norm(rows, axis=1))) @ rows).tocsr()
        return rows, scale, owners

    def scores(self, places: Iterable[int], models: Linear) -> FloatArray:
        """Every model's score after each post of these subjects: posts × models."""
        chosen = list(places)
        posts = self._part.posts_of(chosen)
        sizes = np.diff(self._part.starts)[chosen]
        weights = models.scale[:, np.newaxis] * models.weights
        sums = _cumulative(self._gains[posts] @ weights, sizes)
        if models.has_unit_rows:
            squares = self._square_gains[posts] @ (models.scale**2)[:, np.newaxis]
            sums /= _positive(np.sqrt(np.maximum(_cumulative(squares, sizes), 0)))
        return sums + models.biases

    def _spans(self, place: int, kind: str) -> list[tuple[int, int, int]]:
        """The documents of a subject: first post, end, subject."""
        begin, end = self._part.starts[place : place + 2].tolist()
        if kind == POSTS:
            return [(post, post + 1, place) for post in range(begin, end)]
        lengths = [length for length in _PREFIX_LENGTHS if length < end - begin]
        lengths = [*lengths, end - begin] if kind == PREFIXES else [end - begin]
        return [(begin, begin + length, place) for length in lengths]


def check_rereading(
    part: Part, counts: Any, weighting: str, models: Linear, scores: FloatArray
) -> None:
    """Compares the scores of some prefixes with those of documents that are built and read."""
    for place in range(0, len(part.subjects), max(len(part.subjects) // _CHECKED, 1)):
        begin, end = part.starts[place : place + 2].tolist()
        for post in {begin, (begin + end) // 2, end - 1}:
            row = np.asarray(counts[begin : post + 1].sum(axis=0)).ravel().astype(float)
            if weighting == LOG_TFIDF:
                row = _one_plus_log(row)
            row *= models.scale
            if models.has_unit_rows:
                row /= _positive(np.linalg.norm(row))
            expected = row @ models.weights + models.biases
            if not np.allclose(scores[post], expected, rtol=1e-9, atol=1e-9):
                raise BenchmarkError(
                    f"{part.subjects[place]}, post {post - begin + 1}: the cumulated score "
                    f"{scores[post]} is not that of the prefix, {expected}"
                )


def _cumulated(part: Part, counts: Any) -> tuple[FloatArray, FloatArray]:
    """For each entry (post, term): the subject's count of the term before and after the post."""
    posts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    subjects = np.repeat(np.arange(len(part.subjects)), np.diff(part.starts))[posts]
    keys = subjects * counts.shape[1] + counts.indices
    order = np.argsort(keys, kind="stable")  # by subject and term; posts stay in order
    added, keys = counts.data[order].astype(np.int64), keys[order]
    running = np.cumsum(added)
    is_first = np.r_[True, keys[1:] != keys[:-1]]
    begins = np.maximum.accumulate(np.where(is_first, np.arange(keys.size), 0))
    after = np.empty(keys.size)
    after[order] = running - (running - added)[begins]
    return after - counts.data, after


def _one_plus_log(counts: FloatArray) -> FloatArray:
    return np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0.0)


def _sums(rows: Any, begins: IntArray, ends: IntArray) -> Any:
    """Sums of consecutive rows, one for each span."""
    sizes = ends - begins
    pointers = np.r_[0, np.cumsum(sizes)]
    columns = np.arange(pointers[-1]) + np.repeat(begins - pointers[:-1], sizes)
    shape = (len(sizes), rows.shape[0])
    summed = (sparse.csr_matrix((np.ones(columns.size), columns, pointers), shape) @ rows).tocsr()
    summed.eliminate_zeros()
    return summed


def _cumulative(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Cumulative sums over the rows of each subject."""
    # One sum over all subjects and a subtraction would leave rounding errors where 0 belongs.
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return np.concatenate([np.cumsum(part, axis=0) for part in parts])


def _positive(lengths: Any) -> Any:
    # A row without any known term has length 0 and stays as it is.
    return np.where(lengths > 1e-9, lengths, 1.0)
