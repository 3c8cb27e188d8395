"""watchword search: the best parameters for texts; also the search of train --tune."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

import watchword
from watchword import TauSS3
from watchword._interrupts import INTERRUPTED
from watchword.cli.base import (
    COUNT,
    emit,
    model_of,
    progress_of,
    show,
    verb,
    warn,
    with_known_default,
)
from watchword.cli.evaluation_options import (
    budget_option,
    keep_option,
    measure_option,
    try_option,
)
from watchword.cli.files import DATA, MODEL, OutputPath
from watchword.cli.loading import Loader
from watchword.cli.options import (
    fold_options,
    like_option,
    option,
    parameter_options,
    preset_options,
    reading_options,
)
from watchword.cli.output import ResultFiles, result_options
from watchword.searching import Search, SearchedSetting
from watchword.searching.result import rank_of
from watchword.searching.searcher import METHODS, search_best, search_within
from watchword.searching.space import DEFAULT_SPACE, combinations

_FOLDS = 4


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword search streams.jsonl --try smoothness=0.2,0.4 --try max-ngram=1..3 --table
    watchword search streams.jsonl --trials 20 --measure macro_f1 --keep search.kept -o model.ww
    """
)
@click.argument("data", nargs=-1, required=True, type=DATA)
@try_option
@option(
    "--method",
    "All combinations, a random sample, or a random sample whose worse half is dropped after "
    "each fold.  [default: grid for lists, random for ranges]",
    type=click.Choice(METHODS),
)
@option(
    "--trials N",
    "Number of settings to draw.  [default: 100, or as many as --budget allows]",
    type=COUNT,
)
@budget_option("Time limit of the search: 90s, 5m, 1h.")
@option(
    "--refine/--no-refine",
    "Also try the best setting and the defaults with refinement.",
    default=True,
)
@measure_option
@fold_options(folds=_FOLDS)
@keep_option
@like_option
@preset_options
@parameter_options
@option(
    "-o, --output",
    "Write the best model, trained on all texts.",
    type=OutputPath(MODEL, of=Path),
)
@result_options(
    json="Write the full result as JSON.", csv="Write a CSV file with a row per setting."
)
@reading_options()
def search(
    data: tuple[str, ...],
    space: Any,
    method: Any,
    trials: int | None,
    budget: float | None,
    measure: str,
    keep: Path | None,
    like: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    group: str | None,
    output: Path | None,
    files: ResultFiles,
    loader: Loader,
    table: bool,
    **options: Any,
) -> None:
    """Search for the best parameters for labelled texts.

    DATA contains texts or posts with labels, as for train. Settings are compared by
    cross-validation; texts of one subject are always in the same fold. For parameters and policies
    of alerts, see tune. Without --try, a default search space is used. Other parameters keep the
    values given as options, or those of the --like model. Ctrl-C ends the search; the results so
    far are printed and written, and with --keep the same command resumes. A FILE may be - for
    standard output.
    """
    begun = model_of(like, preset, parameters)
    texts, labels, groups = loader.labelled_texts(data, group, folds=options["folds"])
    model = with_known_default(begun, labels)
    shown = progress_of(_best_so_far(measure), timed=budget is not None)
    options |= {"model": model, "groups": groups, "measure": measure, "keep": keep}
    endless = combinations(DEFAULT_SPACE if space is None else space) == math.inf
    if budget is not None and trials is None and method in (None, "random") and endless:
        found = search_within(budget, texts, labels, space, progress=shown, **options)
    else:
        limits: dict[str, Any] = {"method": method, "trials": trials, "budget": budget}
        found = watchword.search(texts, labels, space, **limits, progress=shown, **options)
    loader.report()
    if output is not None:
        found.model(texts, labels, threads=options["threads"]).save(output)
    more: dict[str, Any] = {"groups": None if groups is None else len(set(groups))}
    more |= {} if output is None else {"model": str(output)}
    files.write(found)
    if not files.include_output:
        _show_search(found, table=table, more=more)
    end_as_interrupted(found, keep)


def tuned(
    model: TauSS3,
    data: Sequence[str],
    loader: Loader,
    tuning: dict[str, Any],
    threads: int | None,
    *,
    refine: bool,
) -> tuple[TauSS3, Search]:
    """Return a model with the best parameters by the options of `--tune`, and the search."""
    texts, labels, groups = loader.labelled_texts(data, None, folds=_FOLDS)
    found = search_best(
        texts,
        labels,
        None,
        refine=refine,
        model=with_known_default(model, labels),
        groups=groups,
        folds=_FOLDS,
        threads=threads,
        progress=progress_of(_best_so_far(tuning["measure"]), timed=tuning["trials"] is None),
        **tuning,
    )
    return found.model(texts, labels, threads=threads), found


def end_as_interrupted(found: Search, keep: Path | None) -> None:
    """After Ctrl-C, print how to resume, and exit with the code for an interrupt."""
    if not found.interrupted:
        return
    tried = f"{len(found.settings)} settings"
    if found.unfinished:
        tried = f"{len(found.settings)} of {len(found.settings) + found.unfinished} settings"
    if keep is None:
        how = "use --keep FILE to be able to resume"
    else:
        how = f"run the same command to resume from {str(keep)!r}"
    warn(f"interrupted after {tried}; {how}")
    raise click.exceptions.Exit(INTERRUPTED)


def _best_so_far(measure: str) -> Callable[[SearchedSetting], str]:
    """Return a function that describes the best of the settings it was called with."""
    best: list[SearchedSetting] = []

    def rank(one: SearchedSetting) -> tuple[Any, ...]:
        return -len(one.by_fold), *rank_of(one.value, measure)

    def tell(one: SearchedSetting) -> str:
        best[:] = [min(*best, one, key=rank)] if best else [one]
        return f"best {measure} so far: {best[0].value:.4f}"

    return tell


def _show_search(found: Search, *, table: bool, more: dict[str, Any]) -> None:
    """Print the best setting, or with `table` the best ones."""
    if table:
        show(str(found))
        return
    record: dict[str, Any] = {found.measure: found.best.value, "by_fold": found.best.by_fold}
    record |= {"parameters": found.best.parameters, "refined": found.best.refined}
    record |= {"tried": len(found.settings), "unfinished": found.unfinished}
    record |= {"texts": found.texts, "folds": found.folds}
    emit([record | more])
