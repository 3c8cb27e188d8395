"""Tables of scores: cells, columns of intervals, and tabulars for LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

from watchword._display import aligned, visible
from watchword.erisk.run_score import RunIntervals
from watchword.evaluation import metrics

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
}


def interval_lines(found: Sequence[RunIntervals]) -> list[str]:
    """Return a table of intervals: a row per measure, a column per run.

    Differences whose interval excludes 0 are marked with a star.
    """
    names = list(dict.fromkeys(name for one in found for name in one.intervals))
    rows = [[title_of(name), *(_interval_cell(name, one) for one in found)] for name in names]
    return aligned([["", *(one.name for one in found)], *rows])


def _interval_cell(name: str, run: RunIntervals) -> str:
    if name not in run.intervals:
        return "–"
    found, is_difference = run.intervals[name], run.baseline is not None
    value, low, high = interval_cells(name, found, "+" if is_difference else "")
    star = "" if not is_difference else "*" if found.low > 0 or found.high < 0 else " "
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
    """Return a value as tables show it: ERDE in percent."""
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
    """Return a tabular; the best value of each column is bold in the rows of runs.

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
        if at == runs:
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
