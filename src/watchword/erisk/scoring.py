"""Official measures of runs from any team, side by side, with paired bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from watchword._checks import as_choice, as_whole
from watchword._display import aligned, csv_of, finite, visible
from watchword._files import AnyPath
from watchword.erisk.layout import Collection
from watchword.erisk.run_files import ChunkRun, RoundRun, read_runs
from watchword.erisk.run_score import (
    BOUND_TITLES,
    COUNTED,
    MEASURES,
    RANKED,
    MeasureSet,
    RunIntervals,
    RunScore,
    intervals_of,
    p_values_of,
    score_run,
)
from watchword.erisk.truth import NEGATIVE, read_counts, read_labels, read_truth
from watchword.errors import DataFormatError
from watchword.evaluation import metrics
from watchword.evaluation.replaying import DEADLINES, RANKING_ROUNDS

_TITLES = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "f05": "F0.5",
    "accuracy": "accuracy",
    "macro_precision": "macro P",
    "macro_recall": "macro R",
    "macro_f1": "macro F1",
    "latency": "latency",
    "speed": "speed",
    "f_latency": "F_latency",
    "precision_at_10": "P@10",
    "ndcg_at_10": "NDCG@10",
    "ndcg_at_100": "NDCG@100",
}
_LATEX_TITLES = {
    "F1": "$F_1$",
    "F0.5": "$F_{0.5}$",
    "macro F1": "macro $F_1$",
    "latency": r"latency$_{TP}$",
    "F_latency": r"$F_{latency}$",
}
_MARKDOWN_SIGNS = {ord(sign): rf"\{sign}" for sign in "\\|`*_<>[]"} | {0x0A: " "}
_LATEX_SIGNS = {sign: rf"\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "τ": r"$\tau$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "ρ": r"$\rho$",
}


@dataclass(frozen=True)
class Scoreboard:
    """The scores of several runs on the same golden truth.

    `print` shows tables, `to_csv` returns a row per run, `to_latex` the tables for a paper.
    """

    runs: tuple[RunScore, ...]
    latency_p: float

    def __str__(self) -> str:
        first = self.runs[0]
        lines = [f"{first.subjects} subjects, {first.positives} positive", ""]
        for table in self._decisions(), self._rankings():
            if table:
                lines += [*aligned(table), ""]
        return "\n".join(lines[:-1])

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain data for JSON, one object per run."""
        return [run.to_dict() for run in self.runs]

    def to_csv(
        self, intervals: Sequence[RunIntervals] = (), *, spreadsheet_safe: bool = False
    ) -> str:
        """Return a row per run and a column per measure; undefined measures are empty.

        With the result of `intervals`, columns such as `f1_low` and `f1_high` follow.
        """
        names = list(dict.fromkeys(name for run in self.runs for name in run.measures))
        rows = [
            {name: getattr(run, name) for name in COUNTED}
            | {name: run.measures.get(name) for name in names}
            for run in self.runs
        ]
        for row, own in zip(rows, intervals, strict=False):
            for name in names:
                interval = own.intervals.get(name)
                for end in ("low", "high"):
                    value = math.nan if interval is None else getattr(interval, end)
                    row[f"{name}_{end}"] = finite(value)
        return csv_of(rows, spreadsheet_safe=spreadsheet_safe)

    def to_latex(self, *intervals: Sequence[RunIntervals]) -> str:
        """Return the tables of decisions and rankings for LaTeX with booktabs, best values bold.

        The results of `intervals` and `differences` become further tables.
        """
        tables = [latex_of(self._decisions(), len(self.runs), words=1)]
        if ranked := self._rankings():
            for rounds in dict.fromkeys(row[1] for row in ranked[1:]):
                rows = [row for row in ranked[1:] if row[1] == rounds]
                tables.append(latex_of([ranked[0], *rows], len(rows), words=2))
        tables += [latex_of(_interval_rows(runs), 0, words=1) for runs in intervals if runs]
        return "\n".join(tables)

    def intervals(
        self, *, seed: int = 0, repeats: int = 1000, confidence_level: float = 0.95
    ) -> list[RunIntervals]:
        """Return bootstrap intervals of all measures of each run, over subjects."""
        options = {"seed": seed, "repeats": repeats, "confidence_level": confidence_level}
        return [intervals_of(run, None, self.latency_p, options) for run in self.runs]

    def differences(
        self,
        baseline: str | None = None,
        *,
        seed: int = 0,
        repeats: int = 1000,
        confidence_level: float = 0.95,
    ) -> list[RunIntervals]:
        """Return the differences of all other runs to a baseline [default: the first run].

        The intervals are paired: both runs are measured on the same resamples of subjects.
        """
        base, others = self._baseline(baseline)
        options = {"seed": seed, "repeats": repeats, "confidence_level": confidence_level}
        return [intervals_of(run, base, self.latency_p, options) for run in others]

    def p_values(
        self, baseline: str | None = None, *, seed: int = 0, repeats: int = 1000
    ) -> dict[str, dict[str, float]]:
        """Return the p-value of each measure of all other runs against a baseline.

        By a paired randomization test: the decisions of both runs about random subjects are
        exchanged. The baseline is the first run, unless given. Rankings, whose scores cannot be
        exchanged, and measures that need a true positive (latency, speed) are left out.
        """
        base, others = self._baseline(baseline)
        return {
            run.name: p_values_of(run, base, self.latency_p, seed=seed, repeats=repeats)
            for run in others
        }

    def _baseline(self, name: str | None) -> tuple[RunScore, list[RunScore]]:
        """Return the run to compare with, and the others."""
        by_name = {run.name: run for run in self.runs}
        base = self.runs[0] if name is None else by_name.pop(name, None)
        if base is None:
            raise ValueError(f"baseline must be one of {', '.join(by_name)}, got {name!r}")
        return base, [run for run in self.runs if run is not base]

    def _decisions(self) -> list[list[str]]:
        """Return the rows of the table of decisions, with the bounds of ERDE at the end."""
        names = [name for name in self.runs[0].measures if "_after_" not in name]
        rows = [["run", *(title_of(name) for name in names)]]
        rows += [
            [run.name, *(cell_of(name, run.measures[name]) for name in names)] for run in self.runs
        ]
        for bound, title in BOUND_TITLES.items() if self.runs[0].bounds else ():
            limits = dict.fromkeys(
                tuple(
                    cell_of(name, getattr(run.bounds[name], bound)) if name in run.bounds else ""
                    for name in names
                )
                for run in self.runs
            )
            rows += [[title, *cells] for cells in limits]
        return rows

    def _rankings(self) -> list[list[str]]:
        rows = [
            [run.name, f"{each.rounds}", *(f"{getattr(each, name):.3f}" for name in RANKED)]
            for run in self.runs
            for each in run.rankings
        ]
        head = ["run", "after rounds", *map(title_of, RANKED)]
        return [head, *rows] if rows else []


def score_runs(
    truth: AnyPath | Mapping[str, str],
    runs: Iterable[AnyPath | ChunkRun | RoundRun],
    *,
    counts: AnyPath | Mapping[str, int] | None = None,
    rankings: Sequence[int] = RANKING_ROUNDS,
    measures: MeasureSet = "erisk",
    deadlines: Sequence[int] | None = None,
    latency_p: float | None = None,
) -> Scoreboard:
    """Compute the official measures for any team's runs.

    Parameters
    ----------
    truth
        the golden truth: a file, a folder of a collection that contains it, or the result of
        `read_truth` or `read_classes`.
    runs
        folders with the ten files of runs, logs of rounds, or results of `read_runs`.
    counts
        the number of writings per subject, for runs by chunk; found in the folder of `truth`.
    rankings
        numbers of rounds after which to measure the ranking by score.
    measures
        `"erisk"`; `"mentalriskes"` for accuracy and means over classes; or `"pan"` for F₀.₅, where
        truth and runs may also be lists of ids, one per line.
    deadlines
        deadlines of ERDE, in posts [default: 5 and 50; MentalRiskES: 5 and 30].
    latency_p
        parameter p of the penalty in speed and F_latency [default: 0.0078; MentalRiskES: none].

    Subjects of the truth that a run does not mention count as never alerted and rank last. Subjects
    that are not in the truth are left out, with a `CollectionWarning`.

    >>> log = RoundRun("ours", 1, frozenset(["ann", "bob"]), {"ann": 1}, {1: {"ann": 2, "bob": 1}})
    >>> score = score_runs({"ann": "positive", "bob": "negative"}, [log]).runs[0]
    >>> score.measures["f_latency"], score.measures["ndcg_at_10_after_1"]
    (1.0, 1.0)
    """
    kind = as_choice("measures", measures, tuple(MEASURES))
    rounds = tuple(as_whole("rankings", one, 1) for one in rankings)
    limits = tuple(as_whole("deadlines", one, 1) for one in deadlines or _DEADLINES[kind])
    if latency_p is None and kind == "mentalriskes":
        raise ValueError(f"latency_p is required for MentalRiskES: {MENTALRISKES_P}")
    p = metrics.LATENCY_P if latency_p is None else latency_p
    labels, found = _tables(truth)
    given = found if counts is None else counts
    totals = given if given is None or isinstance(given, Mapping) else read_counts(given)
    listed: list[ChunkRun | RoundRun] = []
    for source in runs:
        if isinstance(source, ChunkRun | RoundRun):
            listed.append(source)
        else:
            listed += read_runs(source, rankings=rounds)
    if kind == "pan":  # negatives do not count in F₀.₅, so golden truth may list positives only
        named = (run.subjects if isinstance(run, RoundRun) else run.decisions for run in listed)
        labels = dict.fromkeys(chain.from_iterable(named), NEGATIVE) | dict(labels)
    taken: dict[str, RunScore] = {}
    for run in listed:
        if run.name in taken:
            raise DataFormatError(f"two runs are named {run.name} (rename the files of one)")
        ranked = rounds if kind == "erisk" else ()
        taken[run.name] = score_run(run, labels, totals, limits, p, ranked, kind)
    if not taken:
        raise ValueError("runs must contain at least one run")
    return Scoreboard(tuple(taken.values()), p)


MENTALRISKES_P = (
    "0.0411, 0.0326, 0.0308 (2023, tasks 1 to 3), 0.0314 (2024, tasks 1 and 2) or 0.0199 (2024, "
    "task 3)"
)
_DEADLINES: dict[MeasureSet, tuple[int, ...]] = {
    "erisk": DEADLINES,
    "mentalriskes": (5, 30),
    "pan": DEADLINES,
}


def _tables(truth: AnyPath | Mapping[str, str]) -> tuple[Mapping[str, str], AnyPath | None]:
    """Return the golden truth, and the file with the counts beside it."""
    if isinstance(truth, Mapping):
        return truth, None
    path = Path(truth)
    if not path.is_dir():
        return read_labels(path), None
    folder = Collection(path, "test")
    if folder.truth is None:
        raise DataFormatError(f"{path}: contains no golden truth (use the file itself)")
    return read_truth(folder.truth), folder.counts


# Tables: cells, columns of intervals, and tabulars for LaTeX


def run_interval_lines(found: Sequence[RunIntervals]) -> list[str]:
    """Return a table of intervals: a row per measure, a column per run.

    Differences whose interval excludes 0 are marked with a star.
    """
    return aligned(_interval_rows(found))


def _interval_rows(runs: Sequence[RunIntervals]) -> list[list[str]]:
    head = ["" if runs[0].baseline is None else f"minus {runs[0].baseline}"]
    names = dict.fromkeys(name for run in runs for name in run.intervals)
    rows = [[title_of(name), *(_interval_cell(name, run) for run in runs)] for name in names]
    return [head + [run.name for run in runs], *rows]


def _interval_cell(name: str, run: RunIntervals) -> str:
    if name not in run.intervals:
        return "–"
    found, is_difference = run.intervals[name], run.baseline is not None
    value, low, high = interval_cells(name, found, "+" if is_difference else "")
    star = "" if not is_difference else "*" if found.excludes_zero else " "
    return f"{value} [{low}, {high}]{star}"


def interval_cells(name: str, found: metrics.Interval, sign: str) -> list[str]:
    """Return the value of a measure and the ends of its interval as tables show them."""
    values = (found.value, found.low, found.high)
    return [cell_of(name, None if math.isnan(each) else each, sign) for each in values]


def title_of(name: str) -> str:
    """Return the title of the column of a measure."""
    if name.startswith("erde"):
        return f"ERDE{name.removeprefix('erde')} %"
    kind, _, rounds = name.partition("_after_")
    return f"{_TITLES[kind]} after {rounds}" if rounds else _TITLES[kind]


def cell_of(name: str, value: float | None, sign: str = "") -> str:
    """Return a value as tables show it: ERDE in percent, with the sign in the title."""
    if value is None:
        return "–"
    if name.startswith("erde"):
        return f"{100 * value:{sign}.2f}"
    return f"{value:{sign}.1f}" if name == "latency" else f"{value:{sign}.3f}"


def markdown_of(rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    r"""Return a table in Markdown; the first row is the head, the first `words` columns are text.

    >>> print(markdown_of([("run", "F1"), ("a|b", "0.50")]))
    | run | F1 |
    |:---|---:|
    | a\|b | 0.50 |
    """
    cells = ([visible(cell).translate(_MARKDOWN_SIGNS) for cell in row] for row in rows)
    lines = [f"| {' | '.join(row)} |" for row in cells]
    columns = [":---"] * words + ["---:"] * (len(rows[0]) - words)
    return "\n".join([lines[0], f"|{'|'.join(columns)}|", *lines[1:]])


def latex_of(rows: Sequence[Sequence[str]], runs: int, words: int, *, note: str = "") -> str:
    """Return a tabular; the best value of each column is bold in the rows of runs, which are first.

    `note` is printed in a last row of the table.
    """
    body = [list(map(_escaped, row)) for row in rows[1:]]
    for column in range(words, len(rows[0])):
        values = {
            at: float(rows[at + 1][column]) for at in range(runs) if rows[at + 1][column] != "–"
        }
        if len(values) > 1:
            is_cost = rows[0][column].startswith(("ERDE", "latency"))
            best = (min if is_cost else max)(values.values())
            for at in (at for at, value in values.items() if value == best):
                body[at][column] = rf"\textbf{{{body[at][column]}}}"
    lines = [rf"\begin{{tabular}}{{{'l' * words}{'r' * (len(rows[0]) - words)}}}", r"\toprule"]
    lines += [" & ".join(map(_latex_title, rows[0])) + r" \\", r"\midrule"]
    for at, row in enumerate(body):
        if runs and at == runs:
            lines.append(r"\midrule")
        lines.append(" & ".join(row) + r" \\")
    if note:
        lines += [r"\midrule", rf"\multicolumn{{{len(rows[0])}}}{{l}}{{{_escaped(note)}}} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_title(title: str) -> str:
    if title.startswith("ERDE"):
        return rf"ERDE$_{{{title[4:].split()[0]}}}$ (\%)"
    return _LATEX_TITLES.get(title, _escaped(title))


def _escaped(text: str) -> str:
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in text).replace("–", "--")
