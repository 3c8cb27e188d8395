"""watchword report: an evaluation of alerts as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import watchword
from watchword import TauSS3
from watchword.cli.base import FILE, emit, progress_of, verb, write_text
from watchword.cli.files import DATA, PAGE, OutputPath
from watchword.cli.loading import Loader
from watchword.cli.options import (
    data_options,
    option,
    policy_option,
    positive_option,
    threads_option,
)
from watchword.cli.policy_notation import policy_for
from watchword.cli.stream_options import by_option, deadlines_option, latency_option


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword make others.jsonl --subjects 60 --seed 1
    watchword train streams.jsonl -o model.ww
    watchword report model.ww others.jsonl --positive "at risk" -o report.html
    """
)
@click.argument("model", type=FILE)
@click.argument("data", type=DATA)
@positive_option
@policy_option
@by_option
@deadlines_option
@latency_option
@option("-o, --output", "HTML file to write.", required=True, type=OutputPath(PAGE, of=Path))
@option(
    "--stories N",
    "Number of subjects to show in full, wrong decisions first.",
    type=click.IntRange(min=0),
    default=100,
)
@option(
    "--texts N",
    "Number of posts to show per subject; 0 shows n-grams only.",
    type=click.IntRange(min=0),
    default=2,
)
@option("--title", "Title of the page.")
@data_options()
@threads_option
def report(
    model: Path,
    data: str,
    positive: str,
    policy: str,
    output: Path,
    stories: int,
    texts: int,
    title: str | None,
    loader: Loader,
    **options: Any,
) -> None:
    """Write an evaluation as one HTML page.

    DATA contains subjects, as for evaluate. The page is self-contained and needs no network. It
    shows the measures with their bounds, a table of all subjects (wrong decisions first), and for
    some subjects the timeline, the reasons for the decision and changes that would reverse it.
    """
    from watchword.reasons.report import report_data
    from watchword.show.report import report_html

    taught = TauSS3.load(model)
    rule = policy_for(policy, positive, taught.labels)
    subjects = loader.subjects(data)
    loader.report()
    found = watchword.replay(subjects, taught, rule, **options)
    plain = report_data(
        found, taught, subjects, stories=stories, texts=texts, progress=progress_of("telling")
    )
    page = report_html(plain, **({} if title is None else {"title": title}))
    write_text(str(output), page)
    written = {"file": str(output), "bytes": output.stat().st_size}
    counts = {"subjects": len(subjects), "stories": len(plain["stories"])}
    emit([{**written, **counts, "decisions": plain["outcomes"]}])
