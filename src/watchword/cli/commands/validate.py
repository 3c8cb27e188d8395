"""watchword validate: accuracy by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import watchword
from watchword.cli.base import model_of, progress_of, verb, with_known_default
from watchword.cli.files import DATA
from watchword.cli.loading import Loader
from watchword.cli.options import (
    fold_options,
    like_option,
    parameter_options,
    preset_options,
    reading_options,
    refine_choice,
    refine_option,
)
from watchword.cli.output import ResultFiles, result_options, show_evaluation
from watchword.model.refining import POST_SETTINGS


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword validate streams.jsonl --max-ngram 2 --table
    """
)
@click.argument("data", nargs=-1, required=True, type=DATA)
@like_option
@preset_options
@parameter_options
@refine_option
@fold_options(folds=5)
@result_options(
    json="Write the full result, with every fold, as JSON.",
    csv="Write a CSV file with a row per label.",
)
@reading_options()
def validate(
    data: tuple[str, ...],
    like: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    refine: bool | None,
    group: str | None,
    files: ResultFiles,
    loader: Loader,
    table: bool,
    **options: Any,
) -> None:
    """Measure accuracy by cross-validation.

    DATA contains texts or posts with labels, as for train. Texts are split into folds with about
    the same share of each label; each fold is predicted by a model trained on the others. Texts of
    one subject are always in the same fold. Models are refined as in train. A FILE may be - for
    standard output.
    """
    begun = model_of(like, preset, parameters)
    chosen = refine_choice(refine, begun, preset, {})
    texts, labels, groups = loader.labelled_texts(data, group, folds=options["folds"])
    has_posts = groups is not None and group is None
    if chosen is None:
        chosen = not has_posts
    found = watchword.cross_validate(
        texts,
        labels,
        model=with_known_default(begun, labels),
        groups=groups,
        refine=POST_SETTINGS if chosen and has_posts else chosen,
        progress=progress_of("validating"),
        **options,
    )
    loader.report()
    setting = {name: options[name] for name in ("folds", "repeats")}
    setting |= {"groups": None if groups is None else len(set(groups)), "refined": chosen}
    show_evaluation(found, files, table=table, more=setting)
