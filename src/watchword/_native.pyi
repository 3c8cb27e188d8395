"""The native core of watchword."""

from collections.abc import Sequence
import enum
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


unicode_version: str = '14.0.0'

max_ngram_limit: int = 64

max_count: int = 1099511627775

class UnlearnFailure(Exception):
    pass

class SnapshotFailure(Exception):
    pass

class RowsFailure(Exception):
    pass

class SignificanceFunction(enum.Enum):
    vanilla = 0

    xai = 1

    ratio = 2

class ConfidenceFunction(enum.Enum):
    gv = 0

    norm_gv = 1

    norm_gv_xai = 2

class Counting(enum.Enum):
    occurrences = 0

    documents = 1

class ReadingRule(enum.Enum):
    paper = 0

    words_sum = 1

class NgramScale(enum.Enum):
    length = 0

    words = 1

    label = 2

class SummaryOperator(enum.Enum):
    sum = 0

    max = 1

    mean = 2

class Paragraphs(enum.Enum):
    lines = 0

    blank_lines = 1

def evaluate(counts: Sequence[int], units: Sequence[float], parameters: dict[str, Any]) -> list[tuple[float, float, float, float]]: ...

def several(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[list[int]]: ...

class TermBatch:
    @property
    def words(self) -> list[str]: ...

    @property
    def symbols(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    def rewrite(self, replacement: Sequence[str | None]) -> None: ...

    def part(self, documents: Sequence[int]) -> TermBatch: ...

    def tree(self) -> list[list[list[tuple[int, int, str | None]]]]: ...

def read_terms(texts: list[str], paragraphs: Paragraphs, with_spans: bool) -> TermBatch: ...

def read_utf8(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], paragraphs: Paragraphs) -> TermBatch: ...

def foreign_terms(texts: list[str], terms: Sequence[Sequence[tuple[int, int, str | None]]], paragraphs: Paragraphs, with_spans: bool) -> TermBatch: ...

class Trails:
    @property
    def labels(self) -> list[int | str]: ...

    @property
    def rows(self) -> int: ...

    def confidence(self, parameters: dict[str, Any]) -> tuple[list[int | str], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

class Model:
    def __init__(self, parameters: dict[str, Any]) -> None: ...

    @staticmethod
    def from_snapshot(parameters: dict[str, Any], arrays: dict[str, Any]) -> Model: ...

    @staticmethod
    def from_mapped(parameters: dict[str, Any], known: dict[str, Any], arrays: dict[str, Any], source: str) -> Model: ...

    def replace(self, parameters: dict[str, Any]) -> Model: ...

    def learn(self, texts: list[str], labels: Sequence[int | str], threads: int) -> None: ...

    def learn_terms(self, batch: TermBatch, labels: Sequence[int | str]) -> None: ...

    def unlearn(self, document: TermBatch, label: int | str) -> None: ...

    def merge(self, other: Model) -> None: ...

    def prune(self, floor: int, shortest: int) -> tuple[int, int]: ...

    def confidence(self, texts: list[str], threads: int) -> tuple[list[int | str], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    def confidence_terms(self, batch: TermBatch) -> tuple[list[int | str], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    def trails(self, batch: TermBatch, largest_values: bool, words: bool) -> Trails: ...

    def explain(self, batch: TermBatch) -> dict[str, Any]: ...

    def value(self, words: Sequence[str]) -> dict[str, Any]: ...

    def top_ngrams(self, label: int | str, most: int, length: int | None) -> list[tuple[str, float, int]]: ...

    def survey(self, most: int) -> dict[str, Any]: ...

    def next_words(self, words: Sequence[str], label: int | str | None) -> list[tuple[str, int]]: ...

    def stop_words(self, threshold: float) -> list[str]: ...

    def is_mapped(self) -> bool: ...

    def is_empty(self) -> bool: ...

    def state(self) -> int: ...

    def labels(self) -> list[int | str]: ...

    def totals(self) -> dict[str, Any]: ...

    def size(self) -> int: ...

    def drain(self) -> CountDrain: ...

    def rows(self) -> CountDrain: ...

    def ngrams_by_length(self) -> list[int]: ...

    def snapshot(self) -> dict[str, Any]: ...

class CountDrain:
    def next(self, most: int) -> dict[str, Any]: ...

class LevelCounter:
    def __init__(self, kept: Model, length: int) -> None: ...

    def add(self, batch: TermBatch, labels: Sequence[int | str]) -> None: ...

    def size(self) -> int: ...

    def take(self, most: int) -> dict[str, Any]: ...

class Assembler:
    def __init__(self, max_ngram: int, labels: int) -> None: ...

    def add(self, keys: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], above: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]: ...

    def end_length(self, above: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict[str, Any]: ...

    def length(self) -> int: ...

    def ngrams(self) -> int: ...

    def maxima(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
