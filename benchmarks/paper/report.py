"""The results of the paper's experiments as files: tables, pages, figures, and one report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from paper.comparison import Side, comparison_page
from paper.figures import draw_figures
from paper.study import MODELS, Comparison, TaskStudy
from watchword._display import aligned, csv_of
from watchword._files import AnyPath, atomic_file
from watchword.erisk.paper_tasks import (
    TABLE_TITLES,
    TableRow,
    decisions_of,
    table_cells,
    table_rows,
    table_values,
)
from watchword.erisk.run_files import write_submissions
from watchword.erisk.scoring import interval_cells, latex_of, markdown_of, title_of
from watchword.erisk.synthetic import MARKER, NOTICE, check_is_new
from watchword.evaluation.tuning_result import Trial
from watchword.model.parameters import PAPER, PAPER_GRID

REPORT = "report.md"
_UNFINISHED = "unfinished-paper.txt"

TableRows = list[tuple[str, ...]]


class PaperFolder:
    """A new folder for results: those of each task are written as soon as they are there.

    Until `finish`, the folder contains a file that says so. A folder that an earlier run did not
    finish is used again.
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)
        if not (self.path / _UNFINISHED).is_file():
            check_is_new(self.path)
        self._studies: list[TaskStudy] = []

    def add(self, study: TaskStudy) -> None:
        """Write the tables, runs and pages of a task."""
        self._studies.append(study)
        name = study.task.name
        if study.is_synthetic:
            self._write(MARKER, NOTICE)
        self._write(f"{name}.csv", _results_csv(study))
        self._write(f"{name}.tex", _results_latex(study))
        self._write(f"{name}.json", json.dumps(study.to_dict(), indent=1, allow_nan=False) + "\n")
        self._write(f"{name}-differences.csv", _differences_csv(study))
        self._write(f"{name}-differences.tex", _differences_latex(study))
        if study.search is not None:
            self._write(f"{name}-search.csv", _search_csv(study))
            table = latex_of(search_table(study), 0, words=3, note=study.warning)
            self._write(f"{name}-search.tex", table)
            rows = [row | {"notice": study.warning} for row in study.search.rows()]
            self._write(f"{name}-trials.csv", csv_of(rows))
        for run in study.runs:
            decisions = decisions_of(run.result.replay)
            write_submissions(
                self.path / "runs" / name, decisions, name=run.name.replace("τ", "tau")
            )
        if study.pair is not None:
            self._write(page_name(study), story_pair_page(study))

    def draw_figures(self) -> list[Path]:
        """Write figures 1 to 4."""
        return [self._write(name, picture + "\n") for name, picture in draw_figures().items()]

    def finish(self) -> Path:
        """Write the tables of all tasks and the report, and return its path."""
        report = self.path / REPORT
        if any(study.lengths for study in self._studies):
            self._write("lengths.csv", _lengths_csv(self._studies))
            self._write("lengths.tex", _lengths_latex(self._studies))
        if self._studies:
            self._write(REPORT, markdown_report(self._studies))
        (self.path / _UNFINISHED).unlink(missing_ok=True)
        return report

    def _write(self, name: str, text: str) -> Path:
        path, unfinished = self.path / name, self.path / _UNFINISHED
        if not unfinished.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            unfinished.write_text("watchword has not finished writing this folder.\n")
        with atomic_file(path) as file:
            file.write(text.encode())
        return path


def page_name(study: TaskStudy) -> str:
    """Return the name of the page like figure 5."""
    return f"{study.task.name}-story.html"


def story_pair_page(study: TaskStudy) -> str:
    """Return a page with the story of a subject under both models, as in figure 5."""
    if study.pair is None:
        raise ValueError("no positive subject of the test set has posts")
    sides = [
        Side(name, story.to_dict(texts=0), story.posts[-1].explanation)
        for name, story in study.pair.stories.items()
    ]
    title = f"{study.pair.subject.id}, post {study.pair.post}: SS3 and τ-SS3"
    return comparison_page(sides, title=title, notice=study.warning)


# Tables


def result_table(study: TaskStudy) -> TableRows:
    """Return the table of a task: own and published runs by ERDE50, then the bounds.

    Runs on another test set than the official one are not sorted among the published ones.
    """
    rows: TableRows = [("run", "source", *TABLE_TITLES)]
    for row in _task_rows(study):
        rows.append((row.name, _source(study, row), *(cell or "–" for cell in row.cells)))
    return rows


def _task_rows(study: TaskStudy) -> list[TableRow]:
    rows = table_rows(study.task, [run.score for run in study.runs])
    return sorted(rows, key=lambda row: not row.is_own) if study.warning else rows


def _source(study: TaskStudy, row: TableRow) -> str:
    if row.is_own:
        return "synthetic" if study.is_synthetic else "watchword"
    return "" if row.is_bound else "published"


def length_table(study: TaskStudy) -> TableRows:
    """Return the table of n-gram lengths of a task."""
    rows: TableRows = [("longest n-gram", *result_table(study)[0][2:])]
    for length, score in study.lengths.items():
        rows.append((str(length), *table_cells(table_values(score))))
    return rows


def search_table(study: TaskStudy) -> TableRows:
    """Return what the search found for both models, beside the values of the paper."""
    rows: TableRows = [("model", "σ, λ, ρ", "", "ERDE50 %, by cross-validation")]
    for name, source, trial in _searched(study):
        spelt = ", ".join(f"{trial.parameters[parameter]:g}" for parameter in PAPER_GRID)
        rows.append((name, spelt, source, f"{100 * trial.value:.2f}"))
    return rows


def _searched(study: TaskStudy) -> Iterator[tuple[str, str, Trial]]:
    """Yield the best values and those of the paper for both models."""
    for name in MODELS:
        for source, trial in ("best", study.found(name)), ("paper", study.of_paper(name)):
            if trial is not None:
                yield name, source, trial


def comparison_table(comparison: Comparison) -> TableRows:
    """Return the differences between two runs, with intervals and p-values."""
    rows: TableRows = [("measure", "difference", "95 % interval", "p")]
    for name, one in comparison.differences.items():
        value, low, high = interval_cells(name, one, "+")
        p = comparison.p_values.get(name)
        rows.append((title_of(name), value, f"{low} to {high}", "–" if p is None else f"{p:.3f}"))
    return rows


def _results_csv(study: TaskStudy) -> str:
    rows = [
        {
            "task": study.task.name,
            "run": row.name,
            "source": _source(study, row) or "bound",
            **row.values,
            "notice": study.warning if row.is_own or row.is_bound else "",
        }
        for row in _task_rows(study)
    ]
    return csv_of(rows, spreadsheet_safe=True)


def _results_latex(study: TaskStudy) -> str:
    rows = result_table(study)
    # The best value is bold among runs on the same test set.
    runs = len(study.runs) + (0 if study.warning else len(study.task.table))
    return latex_of(rows, runs, words=2, note=study.warning)


def _search_csv(study: TaskStudy) -> str:
    rows = [
        {
            "task": study.task.name,
            "model": name,
            "source": source,
            **{parameter: trial.parameters[parameter] for parameter in PAPER_GRID},
            "erde50": trial.value,
            "notice": study.warning,
        }
        for name, source, trial in _searched(study)
    ]
    return csv_of(rows)


def _differences_csv(study: TaskStudy) -> str:
    rows = [
        {
            "task": study.task.name,
            "run": comparison.run,
            "baseline": comparison.baseline,
            "measure": measure,
            **difference,
            "notice": study.warning,
        }
        for comparison in study.comparisons
        for measure, difference in comparison.to_dict()["differences"].items()
    ]
    return csv_of(rows)


def _differences_latex(study: TaskStudy) -> str:
    return "\n".join(
        f"% {comparison.run} minus {comparison.baseline}\n"
        + latex_of(comparison_table(comparison), 0, words=1, note=study.warning)
        for comparison in study.comparisons
    )


def _lengths_csv(studies: Sequence[TaskStudy]) -> str:
    rows = [
        {
            "task": study.task.name,
            "max_ngram": length,
            **table_values(score),
            "notice": study.warning,
        }
        for study in studies
        for length, score in study.lengths.items()
    ]
    return csv_of(rows)


def _lengths_latex(studies: Iterable[TaskStudy]) -> str:
    tables = []
    for study in studies:
        rows = length_table(study)
        table = latex_of(rows, len(rows) - 1, words=1, note=study.warning)
        tables.append(f"% {study.task.title}\n{table}")
    return "\n".join(tables)


# The report


def markdown_report(studies: Sequence[TaskStudy]) -> str:
    """Return the report of all tasks in Markdown."""
    parts = ["# The experiments of the τ-SS3 paper, reproduced by watchword"]
    warnings = dict.fromkeys(study.warning for study in studies if study.warning)
    parts += [f"> **{warning}**" for warning in warnings]
    parts.append(_method(studies[0].prune_period))
    for study in studies:
        parts += _sections(study)
    parts.append("## Figures\n\n" + "\n".join(f"- [{name}]({name})" for name in draw_figures()))
    return "\n\n".join(parts) + "\n"


def _method(prune_period: int) -> str:
    return (
        f"Parameters of the paper: σ = {PAPER['smoothness']}, λ = {PAPER['significance']:g}, "
        f"ρ = {PAPER['sanction']:g}; n-grams of at most {PAPER['max_ngram']} words for τ-SS3, "
        "words only for SS3; n-grams with count ≤ 10 under a label dropped every "
        f"{prune_period:,} words; an alert as soon as the positive value exceeds the negative one; "
        "decisions by chunk. Runs with -tuned use the values found by the search."
    )


def _sections(study: TaskStudy) -> Iterable[str]:
    yield f"## {study.task.title}"
    if study.warning:
        yield f"**{study.warning}**"
    own = study.learnt
    words, posts = sum(own.words.values()), sum(own.documents.values())
    dropped = f"{own.pruned_ngrams:,} n-grams were pruned" if own.pruned else "nothing was pruned"
    yield (
        f"Training: {posts:,} posts, {words:,} words; {sum(own.ngrams):,} n-grams of at most "
        f"{PAPER['max_ngram']} words are kept, {dropped}."
    )
    yield markdown_of(result_table(study), words=2)
    for comparison in study.comparisons:
        yield f"### {comparison.run} minus {comparison.baseline}"
        yield (
            "Paired, on the same subjects: bootstrap intervals, and two-sided p-values by "
            "randomization (p above 0.05: no significant difference)."
        )
        yield markdown_of(comparison_table(comparison))
    if study.lengths:
        yield "### Length of n-grams"
        yield markdown_of(length_table(study))
    if study.search is not None:
        yield "### Search for σ, λ and ρ on the training set"
        yield markdown_of(search_table(study), words=3)
    if study.pair is not None:
        yield (
            f"[A subject's story up to post {study.pair.post}, SS3 and τ-SS3 side by side]"
            f"({page_name(study)}), as in figure 5."
        )


def report_lines(study: TaskStudy) -> list[str]:
    """Return the results of a task as lines for a terminal."""
    lines = [study.task.title]
    lines += [study.warning] if study.warning else []
    lines += ["", *aligned(result_table(study), words=2)]
    for one in study.comparisons:
        title = f"{one.run} minus {one.baseline}, paired:"
        lines += ["", title, *aligned(comparison_table(one))]
    if study.lengths:
        lines += ["", "Length of n-grams:", *aligned(length_table(study))]
    if study.search is not None:
        lines += ["", "Search on the training set:", *aligned(search_table(study), words=3)]
    return lines
