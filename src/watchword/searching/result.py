"""Results of a search, best first, and the file that keeps them.

Every result has a digest of all that it depends on, so that another data set's result, or that of
another version, is never taken for it.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from watchword._checks import IntArray, Label, Targets, as_labelled_texts, reprs
from watchword._database import Database, DatabaseKind, open_database, table
from watchword._display import csv_of, finite, many, named_values, ranked_lines, view
from watchword._files import AnyPath
from watchword.evaluation.counts import LabelMeasures, cells_of
from watchword.evaluation.labels import MEASURES, Evaluation
from watchword.model.native import core as _native
from watchword.model.parameters import Parameters
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import TextSource
from watchword.searching.space import PRUNE

Measure = str | Callable[[Evaluation], float]

_LESS_IS_BETTER = ("hamming",)
_MOST_TEXTS = 2**40  # per fold, so that sums over folds stay far below 64 bits


def judge_of(measure: Measure) -> tuple[str, Callable[[Evaluation], float], int]:
    """Return the name of a measure, a function to compute it, and -1 if lower is better."""
    if callable(measure):
        return getattr(measure, "__name__", "measure"), measure, 1
    if measure not in MEASURES:
        names = reprs(MEASURES)
        raise ValueError(f"measure must be a function or one of {names}, got {measure!r}")
    return measure, lambda found: found.measure(measure), -1 if measure in _LESS_IS_BETTER else 1


def rank_of(value: float, measure: Measure) -> tuple[bool, float]:
    """Return a sort key that puts the best value first and NaN last."""
    _, _, sign = judge_of(measure)
    return math.isnan(value), -sign * value


def parameters_of(parameters: Parameters) -> dict[str, Any]:
    """Return the parameters as plain data; user-defined summary functions are not supported."""
    return parameters.as_dict() | {"summary": parameters.operator_names}


@dataclass(frozen=True)
class SearchedSetting:
    """Parameters with their evaluation on held-out texts.

    `value` is the measure over all texts, `by_fold` the measure of each fold; a setting dropped by
    halving has fewer folds.
    """

    parameters: dict[str, Any]
    value: float
    by_fold: tuple[float, ...]
    labels: tuple[Label, ...]
    results: tuple[dict[str, Any], ...]
    refined: bool = False  #: whether the model of each fold was refined with the texts it learnt

    @classmethod
    def of(
        cls,
        parameters: dict[str, Any],
        results: Mapping[int, dict[str, Any]],
        labels: tuple[Label, ...],
        measure: Measure,
        *,
        refined: bool = False,
    ) -> SearchedSetting:
        """Return the setting with its results by fold."""
        own = tuple(results.values())
        by_fold = tuple(_number(measure, _evaluation([one], labels)) for one in own)
        value = _number(measure, _evaluation(own, labels)) if own else math.nan
        return cls(parameters, value, by_fold, labels, own, refined)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation over all folds together; its `folds` has that of each fold."""
        return Evaluation.pooled([_evaluation([one], self.labels) for one in self.results])


@dataclass(frozen=True, eq=False)
class Search:
    """All settings tried, best first. `print` shows a table, a notebook draws charts.

    `base` has the parameters that all settings share, `unfinished` counts the settings not reached
    in time, and `interrupted` is true if Ctrl-C ended the search.
    """

    measure: str
    better: str
    settings: tuple[SearchedSetting, ...]
    base: dict[str, Any]
    varied: tuple[str, ...]
    labels: tuple[Label, ...]
    texts: int
    folds: int
    several: bool
    hooks: dict[str, Any]
    unfinished: int
    interrupted: bool = False

    @classmethod
    def of(cls, settings: Sequence[SearchedSetting], *, measure: Measure, **known: Any) -> Search:
        """Return the search with its settings ranked; of equals, the first given is the best."""
        name, _, sign = judge_of(measure)
        ranked = sorted(settings, key=lambda one: (-len(one.by_fold), *rank_of(one.value, measure)))
        better = "more" if sign > 0 else "less"
        return cls(name, better, tuple(ranked), **known)

    @property
    def best(self) -> SearchedSetting:
        """The best setting; of equals, the first given."""
        if not self.settings:
            raise ValueError("no setting was tried: increase the budget")
        return self.settings[0]

    def model(self, texts: Iterable[str], labels: Targets, *, threads: int | None = None) -> TauSS3:
        """Return a model with the best parameters, taught with these texts.

        It is refined if that was better by cross-validation (`best.refined`).
        """
        chosen = self.base | self.best.parameters
        floor = chosen.pop(PRUNE, 0)
        model = TauSS3(**chosen, **self.hooks)
        documents, truth = as_labelled_texts(texts, labels)
        model.learn_many(documents, truth, threads=threads)
        if floor:
            model.prune(floor, chosen["prune_shortest"])
        if self.best.refined:
            model.refine(documents, truth, threads=threads)
        return model

    # Output

    def __str__(self) -> str:
        lines = ranked_lines(
            self.measure,
            [
                (one.value, named_values(one.parameters) + ("; refined" if one.refined else ""))
                for one in self.settings
            ],
        )
        if self.unfinished:
            verb = "was" if self.unfinished == 1 else "were"
            lines.append(f"{many(self.unfinished, 'setting')} {verb} not reached")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; confusion cells refer to labels by index."""
        return {
            "measure": self.measure,
            "better": self.better,
            "texts": self.texts,
            "folds": self.folds,
            "labels": list(self.labels),
            "several": self.several,
            "base": {name: value for name, value in self.base.items() if name not in self.varied},
            "varied": [*self.varied, *self._refined],
            "settings": [self._plain(one) for one in self.settings],
            "unfinished": self.unfinished,
        }

    @property
    def _refined(self) -> tuple[str, ...]:
        """The column that tells refined settings apart, if there are any."""
        return ("refined",) if any(one.refined for one in self.settings) else ()

    def _described(self, setting: SearchedSetting) -> dict[str, Any]:
        return setting.parameters | dict.fromkeys(self._refined, setting.refined)

    def _plain(self, setting: SearchedSetting) -> dict[str, Any]:
        found = _evaluation(setting.results, self.labels, drop=False)
        cells = None if found.confusion is None else cells_of(found.confusion)
        return {
            "parameters": self._described(setting),
            "value": setting.value,
            "by_fold": list(setting.by_fold),
            "confusion": cells,
            "per_label": [[one.support, one.predicted, one.right] for one in found.per_label],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(finite(self.to_dict()))

    def to_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return a line per setting: its parameters, the measure, and its number of folds.

        With `spreadsheet_safe`, text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        rows = [
            {**self._described(one), self.measure: one.value, "folds": len(one.by_fold)}
            for one in self.settings
        ]
        return csv_of(rows, spreadsheet_safe=spreadsheet_safe)

    def to_html(self, *, title: str = "Parameter search") -> str:
        """Return a table of the settings, and charts by parameter, as a snippet of HTML."""
        search_html: Callable[..., str] = view("search_html")
        return search_html(self.to_dict(), title=title)

    def to_page(self, *, title: str = "Parameter search") -> str:
        """Return the same as a self-contained page."""
        search_page: Callable[..., str] = view("search_page")
        return search_page(self.to_dict(), title=title)

    def _repr_html_(self) -> str:
        return self.to_html()


def _number(measure: Measure, found: Evaluation) -> float:
    name, judge, _ = judge_of(measure)
    value = judge(found)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"the measure {name!r} must return a number, got {value!r}") from None


def is_fold_result(result: object, *, labels: int, several: bool) -> bool:
    """Return whether data read from a file is a valid result of a fold."""

    def are_counts(row: object, most: int = _MOST_TEXTS) -> bool:
        return isinstance(row, list) and all(type(one) is int and 0 <= one <= most for one in row)

    if not isinstance(result, dict):
        return False
    name, expected = ("per_label", {"texts", "right"}) if several else ("confusion", set())
    rows = result.get(name)
    return (
        result.keys() == expected | {name}
        and are_counts([result[key] for key in expected])
        and isinstance(rows, list)
        and all(are_counts(row) and len(row) == 3 for row in rows)
        and (len(rows) == labels if several else all(max(row[:2]) < labels for row in rows))
    )


def _evaluation(
    results: Sequence[dict[str, Any]], labels: tuple[Label, ...], *, drop: bool = True
) -> Evaluation:
    """Return the evaluation of some folds together; `drop` labels without any texts."""
    if results and "confusion" not in results[0]:
        counts = np.sum([one["per_label"] for one in results], axis=0)
        texts, right = (sum(one[name] for one in results) for name in ("texts", "right"))
        rows = [
            LabelMeasures(label, *row)
            for label, row in zip(labels, counts.tolist(), strict=True)
            if not drop or row[0] or row[1]
        ]
        return Evaluation(tuple(row.label for row in rows), None, tuple(rows), texts, right)
    matrix = np.zeros((len(labels), len(labels)), np.int64)
    for one in results:
        for row, column, count in one["confusion"]:
            matrix[row, column] += count
    used = np.arange(len(labels))
    if drop:
        used = used[matrix.sum(axis=0) + matrix.sum(axis=1) > 0]
    return Evaluation.of_confusion([labels[index] for index in used], matrix[np.ix_(used, used)])


KIND = DatabaseKind(
    name="a file of search results",
    application_id=int.from_bytes(b"wwSR", "big"),
    version=1,
    tables=(
        table(
            "results",
            "digest, setting, fold",
            *("digest TEXT", "setting TEXT", "fold INTEGER", "result TEXT", "checksum INTEGER"),
        ),
    ),
    durable=False,  # at worst, the latest results are computed again
)


class KeptResults:
    """The results for one digest (see `digest_of`), in memory and perhaps in a file."""

    def __init__(self, digest: str, database: Database | None = None) -> None:
        self._digest = digest
        self._database = database
        self._known: dict[tuple[str, int], Any] = {}
        self.continued = False  #: whether the file had results when it was opened

    @classmethod
    @contextmanager
    def open(
        cls,
        path: AnyPath | None,
        digest: str,
        *,
        is_sound: Callable[[object], bool] = lambda _: True,
    ) -> Iterator[KeptResults]:
        """Open the results in a file, creating it if missing; without a path, keep them in memory.

        A result that is damaged or not sound is ignored, and replaced when it is added again.
        """
        if path is None:
            yield cls(digest)
            return
        with open_database(path, KIND) as database:
            results = cls(digest, database)
            results._read(database, is_sound)
            yield results

    def get(self, setting: str, fold: int) -> Any | None:
        """Return the result of a setting on a fold; None if there is none yet."""
        return self._known.get((setting, fold))

    def add(self, setting: str, fold: int, result: Any) -> None:
        """Add a result; it is in the file when this returns."""
        self._known[setting, fold] = result
        if self._database is not None:
            text = json.dumps(result, separators=(",", ":"))
            checksum = _checksum(self._digest, setting, fold, text)
            with self._database.transaction() as changes:
                changes.execute(
                    "REPLACE INTO results VALUES (?, ?, ?, ?, ?)",
                    (self._digest, setting, fold, text, checksum),
                )

    def _read(self, database: Database, is_sound: Callable[[object], bool]) -> None:
        query = "SELECT setting, fold, result, checksum FROM results WHERE digest = ?"
        for setting, fold, text, checksum in database.rows(query, self._digest):
            if checksum == _checksum(self._digest, setting, fold, text):
                try:
                    result = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if is_sound(result):
                    self._known[setting, fold] = result
        self.continued = bool(self._known)


def _checksum(digest: str, setting: str, fold: int, result: str) -> int:
    """Return a checksum of a row: SQLite has none of its own."""
    return zlib.crc32(f"{digest} {fold} {setting} {result}".encode())


def digest_of(
    texts: Sequence[str],
    labels: Sequence[Sequence[Label]],
    folds: Sequence[IntArray],
    *,
    several: bool,
    source: TextSource,
    terms: _native.TermBatch,
) -> str:
    """Return a digest of data, folds, tokenisation and the program."""
    hashed = hashlib.sha256()

    def feed(part: bytes) -> None:
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)

    feed(_program().encode())
    feed(json.dumps([several, source.description], sort_keys=True).encode())
    if not source.is_plain:
        # The name of a function does not tell what it does: what it made of the texts does.
        feed(json.dumps(terms.words).encode())
        feed(terms.symbols.tobytes())
    for text, own in zip(texts, labels, strict=True):
        feed(text.encode("utf-8", "surrogatepass"))
        feed(json.dumps(own).encode())
    for places in folds:
        feed(np.ascontiguousarray(places, "<i8").tobytes())
    return hashed.hexdigest()[:32]


@lru_cache(maxsize=1)
def _program() -> str:
    """Return the version and the compiled core: a new build may count differently."""
    from watchword import __version__

    core = Path(str(_native.__file__)).read_bytes()
    return f"{__version__} {hashlib.sha256(core).hexdigest()}"
