"""Symptom ranking (eRisk 2023 to 2025): runs and judgements in the forms of TREC, and measures.

A run ranks sentences for each of the 21 symptoms of the BDI-II. Its lines are `symptom Q0 sentence
rank score name`; judgements are lines `symptom 0 sentence relevance`, separated by spaces or, as in
the files of the organisers, by commas below a header. Measures follow trec_eval: sentences are
sorted by score, ties by id in reverse order, and the mean is over all judged symptoms.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from watchword._checks import as_whole
from watchword._display import aligned
from watchword._files import AnyPath
from watchword.data.lines import Flaw, decoded, numbered_lines, shown
from watchword.erisk.synthetic import mark, new_folder
from watchword.errors import DataFormatError

_SEPARATOR = re.compile(r"[ \t]+|[ \t]*,[ \t]*")
_SYMPTOMS = 21  # of the BDI-II
_DEPTH = 1000  # of NDCG, and of runs at eRisk

_Value = TypeVar("_Value")

Judgements = Mapping[str, Mapping[str, int]]  #: symptom → sentence → relevance
Ranked = Mapping[str, Mapping[str, float]]  #: symptom → sentence → score


@dataclass(frozen=True)
class SymptomMeasures:
    """Average precision, R-precision, precision at 10 and NDCG at 1000."""

    average_precision: float
    r_precision: float
    precision_at_10: float
    ndcg_at_1000: float


@dataclass(frozen=True)
class SymptomScore:
    """The measures of a run: their means over symptoms, and those of each symptom."""

    name: str
    mean: SymptomMeasures
    by_symptom: Mapping[str, SymptomMeasures]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        by_symptom = {name: asdict(one) for name, one in self.by_symptom.items()}
        return {"name": self.name, **asdict(self.mean), "symptoms": by_symptom}


def read_judgements(path: AnyPath) -> dict[str, dict[str, int]]:
    """Read judgements, as symptom → sentence → relevance."""
    found: dict[str, dict[str, int]] = {}
    for place, cells, judged in _rows(Path(path), 4, found, "judgement"):
        sentence, relevance = cells[2:]
        if not re.fullmatch(r"-?[0-9]{1,4}", relevance):
            raise DataFormatError(f"{place}: relevance must be a number, got {shown(relevance)}")
        judged[sentence] = int(relevance)
    return found


def read_ranking(path: AnyPath) -> tuple[str, dict[str, dict[str, float]]]:
    """Read a run: its name, and symptom → sentence → score."""
    name, found = Path(path).stem, dict[str, dict[str, float]]()
    for place, cells, ranked in _rows(Path(path), 6, found, "ranked sentence"):
        _, _, sentence, _, score, name = cells
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataFormatError(f"{place}: the score must be a finite number, got {shown(score)}")
        ranked[sentence] = value
    return name, found


def score_ranking(name: str, ranked: Ranked, judged: Judgements) -> SymptomScore:
    """Measure a run; symptoms that it does not rank count as 0.

    >>> judged = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> score_ranking("ours", {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, judged).mean.r_precision
    0.5
    """
    by_symptom = {
        symptom: _measured(_order(ranked.get(symptom, {})), relevances)
        for symptom, relevances in judged.items()
    }
    values = [asdict(one) for one in by_symptom.values()]
    names = list(values[0])
    means = {each: sum(one[each] for one in values) / len(values) for each in names}
    return SymptomScore(name, SymptomMeasures(**means), by_symptom)


def make_rankings(folder: AnyPath, *, sentences: int = 50, seed: int = 0) -> None:
    """Write synthetic judgements and two runs, `good.txt` and `poor.txt`, to a new folder."""
    chance = random.Random(seed)  # noqa: S311
    count = as_whole("sentences", sentences, 1)
    judged: list[str] = []
    runs: dict[str, list[str]] = {"good": [], "poor": []}
    for symptom in range(1, _SYMPTOMS + 1):
        relevances = [int(chance.random() < 0.2) for _ in range(count)]
        names = [f"s_{symptom}_{at}" for at in range(count)]
        judged += [
            f"{symptom} 0 {name} {one}\n" for name, one in zip(names, relevances, strict=True)
        ]
        for run, lines in runs.items():
            weight = 1.0 if run == "good" else 0.2
            scores = {
                name: round(weight * one + chance.random(), 4)
                for name, one in zip(names, relevances, strict=True)
            }
            ranked = enumerate(_order(scores), 1)
            lines += [f"{symptom} Q0 {name} {rank} {scores[name]} {run}\n" for rank, name in ranked]
    with new_folder(folder) as temporary:
        for name, lines in {"judgements": judged, **runs}.items():
            (temporary / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        mark(temporary)


def _order(scores: Mapping[str, float]) -> list[str]:
    return sorted(sorted(scores, reverse=True), key=lambda sentence: -scores[sentence])


def _measured(order: Sequence[str], relevances: Mapping[str, int]) -> SymptomMeasures:
    positive = [gain for gain in relevances.values() if gain > 0]
    total = len(positive)
    gains = [max(relevances.get(sentence, 0), 0) for sentence in order]
    hits, precisions = 0, []
    for rank, gain in enumerate(gains, 1):
        if gain:
            hits += 1
            precisions.append(hits / rank)
    ideal = _dcg(sorted(positive, reverse=True)[:_DEPTH])
    return SymptomMeasures(
        sum(precisions) / total if total else 0.0,
        sum(map(bool, gains[:total])) / total if total else 0.0,
        sum(map(bool, gains[:10])) / 10,
        _dcg(gains[:_DEPTH]) / ideal if ideal else 0.0,
    )


def _dcg(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def table_of(scores: Iterable[SymptomScore]) -> str:
    """Return the means of runs as a table."""
    heads = ["", "AP", "R-PREC", "P@10", "NDCG@1000"]
    rows = [[one.name, *(f"{v:.3f}" for v in asdict(one.mean).values())] for one in scores]
    return "\n".join(aligned([heads, *rows]))


def _rows(
    path: Path, width: int, found: dict[str, dict[str, _Value]], what: str
) -> Iterator[tuple[str, list[str], dict[str, _Value]]]:
    """Yield the place and the cells of each line, and the table of its symptom to fill.

    Blank lines and the header are skipped.
    """
    for number, line in numbered_lines(path):
        place = f"{path}, line {number}"
        try:
            text = decoded(line).strip()
        except Flaw as flaw:
            raise flaw.at(place) from None
        if not text:
            continue
        cells = _SEPARATOR.split(text)
        if number == 1 and [cell.lower() for cell in cells] == ["query", "q0", "docid", "rel"]:
            continue
        if len(cells) != width:
            raise DataFormatError(f"{place}: must have {width} columns, got {shown(text)}")
        table = found.setdefault(cells[0], {})
        if cells[2] in table:
            raise DataFormatError(f"{place}: duplicate sentence {cells[2]} of symptom {cells[0]}")
        yield place, cells, table
    if not found:
        raise DataFormatError(f"{path}: contains no {what}")
