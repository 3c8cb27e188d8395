"""watchword erisk score, symptoms: the official measures for any team's runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from watchword.cli.base import ABOVE_ZERO, FILE, emit, show, verb, write_text
from watchword.cli.commands.erisk import erisk
from watchword.cli.files import CSV_RESULT, TABLES, InputPath, OutputPath
from watchword.cli.options import flag, option, table_option
from watchword.cli.stream_options import whole_numbers
from watchword.erisk import Scoreboard, score_runs
from watchword.erisk.run_score import MEASURES, RunIntervals
from watchword.erisk.scoring import MENTALRISKES_P, run_interval_lines
from watchword.erisk.symptoms import read_judgements, read_ranking, score_ranking, table_of
from watchword.evaluation.metrics import LATENCY_P
from watchword.evaluation.replaying import RANKING_ROUNDS

_PLACE = InputPath(exists=True, of=Path)


@verb(
    group=erisk,
    example="""
    watchword erisk make collection --task 2018-anorexia --subjects 40 --most-writings 30
    watchword erisk run 2018-anorexia --data collection --name ours -o runs
    watchword erisk run 2018-anorexia --data collection --name eager --policy "leaps" -o runs
    watchword erisk score "collection/2018 anorexia/test" runs --table
    """,
)
@click.argument("truth", type=_PLACE)
@click.argument("runs", type=_PLACE, nargs=-1, required=True, metavar="RUN...")
@option(
    "--counts FILE",
    "File with the number of writings per subject, for runs by chunk.  [default: the file "
    "beside TRUTH]",
    type=FILE,
)
@option(
    "--rankings ROUNDS,…",
    "Numbers of rounds after which to measure the ranking.",
    default=",".join(map(str, RANKING_ROUNDS)),
    parse=whole_numbers,
)
@option(
    "--measures",
    "Measures of eRisk, MentalRiskES (supports several classes) or PAN 2012 (F0.5).",
    type=click.Choice(list(MEASURES)),
    default="erisk",
)
@option(
    "--deadlines POSTS,…",
    "Deadlines of ERDE.  [default: 5,50; mentalriskes: 5,30]",
    parse=whole_numbers,
)
@option(
    "--latency-p P",
    "Parameter p of the penalty in speed and F_latency.  "
    f"[default: {LATENCY_P}; mentalriskes: none]",
    type=ABOVE_ZERO,
)
@flag(
    "--intervals",
    "Add 95 % bootstrap intervals of the measures, and of the differences between runs.",
)
@option("--baseline NAME", "Run to compare with.  [default: the first run]")
@option("--csv FILE", "Write a CSV file with a row per run.", type=OutputPath(CSV_RESULT))
@option("--latex FILE", "Write the tables for LaTeX (booktabs).", type=OutputPath(TABLES))
@table_option
def score(
    truth: Path,
    runs: tuple[Path, ...],
    measures: Any,
    latency_p: float | None,
    intervals: bool,
    baseline: str | None,
    csv: str | None,
    latex: str | None,
    table: bool,
    **options: Any,
) -> None:
    """Compute the official measures for any team's runs.

    TRUTH is the golden truth (subject 0|1 per line), or a folder that contains it. RUN is a folder
    with the ten files of one or more runs (2017, 2018), or a log of rounds (2019 and later): JSON
    lines or CSV with nick, decision, score, round, and run if there are several. Rounds count from
    0. A FILE may be - for standard output.

    For MentalRiskES, TRUTH may be a CSV file with the columns Subject and label, and a decision the
    name of a class. For PAN 2012, TRUTH and RUN may be lists of ids (.txt), one per line.
    """
    if baseline is not None and not intervals:
        raise click.UsageError("--baseline requires --intervals")
    if measures == "mentalriskes" and latency_p is None:
        raise click.UsageError(f"--measures mentalriskes requires --latency-p: {MENTALRISKES_P}")
    found = score_runs(truth, runs, measures=measures, latency_p=latency_p, **options)
    own = found.intervals() if intervals else []
    between = found.differences(baseline) if intervals else []
    if csv is not None:
        write_text(csv, found.to_csv(own))
    if latex is not None:
        write_text(latex, found.to_latex(own, between))
    if "-" in (csv, latex):
        return
    if table:
        show("\n".join([str(found), *_lines(own, between)]))
    else:
        emit(_records(found, own, between))


def _lines(own: Sequence[RunIntervals], between: Sequence[RunIntervals]) -> list[str]:
    if not own:
        return []
    lines = ["", "95 % bootstrap intervals:", *run_interval_lines(own)]
    if between:
        title = f"Differences to {between[0].baseline}, paired (* excludes 0):"
        lines += ["", title, *run_interval_lines(between)]
    return lines


def _records(
    found: Scoreboard, own: Sequence[RunIntervals], between: Sequence[RunIntervals]
) -> list[dict[str, Any]]:
    records = found.to_dict()
    by_name = {run.name: run for run in between}
    for record, run in zip(records, own, strict=False):
        record["intervals"] = {name: asdict(each) for name, each in run.intervals.items()}
        if other := by_name.get(record["name"]):
            differences = {name: asdict(each) for name, each in other.intervals.items()}
            record["differences"] = {"baseline": other.baseline, **differences}
    return records


@verb(
    group=erisk,
    example="""
    watchword erisk make ranked --task 2023-symptoms
    watchword erisk symptoms ranked/judgements.txt ranked/good.txt ranked/poor.txt --table
    """,
)
@click.argument("judgements", type=_PLACE)
@click.argument("runs", type=_PLACE, nargs=-1, required=True, metavar="RUN...")
@table_option
def symptoms(judgements: Path, runs: tuple[Path, ...], table: bool) -> None:
    """Measure rankings of sentences for symptoms.

    JUDGEMENTS has lines of symptom, 0, sentence and relevance; RUN has lines of symptom, Q0,
    sentence, rank, score and name, as for trec_eval. Prints average precision, R-precision,
    precision at 10 and NDCG at 1000.
    """
    judged = read_judgements(judgements)
    found = [score_ranking(*read_ranking(path), judged) for path in runs]
    if table:
        show(table_of(found))
    else:
        emit(one.to_dict() for one in found)
