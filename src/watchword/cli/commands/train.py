"""watchword train: a model from labelled texts or subjects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword._checks import Target, as_label_sets
from watchword.cli.base import (
    FILE,
    model_of,
    progress,
    progress_of,
    refuse_together,
    verb,
    warn,
    with_known_default,
)
from watchword.cli.commands.search import end_as_interrupted, tuned
from watchword.cli.evaluation_options import tuning_options
from watchword.cli.files import DATA, MODEL, OutputPath
from watchword.cli.loading import Loader
from watchword.cli.options import (
    option,
    parameter_options,
    preset_options,
    prune_option,
    reading_options,
    refine_choice,
    refine_option,
)
from watchword.cli.output import show_model
from watchword.data.lines import name_of
from watchword.data.texts import Texts, as_targets, labelled
from watchword.model.engine import engine_of
from watchword.model.refining import POST_SETTINGS

_SUFFICIENT = 0.25  # share of a label's texts


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww --max-ngram 3
    """
)
@click.argument("data", nargs=-1, required=True, type=DATA)
@option(
    "-o, --output",
    "Model file to write.",
    required=True,
    type=OutputPath(MODEL, of=Path, updates="add_to"),
)
@option(
    "--add-to MODEL",
    "Model to continue training; its file is not changed unless it is also the output.",
    type=FILE,
)
@preset_options
@parameter_options
@prune_option
@refine_option
@tuning_options
@reading_options()
def train(
    data: tuple[str, ...],
    output: Path,
    add_to: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    prune: int | None,
    refine: bool | None,
    tuning: dict[str, Any] | None,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Train a model on labelled texts or subjects.

    DATA are files of JSON lines ({"text": …, "label": …}, for posts also "subject"), CSV files,
    folders LABEL/ID.txt or LABEL/SUBJECT/POST.txt (or, with --format label_files, folders of files
    LABEL.txt, one text per line), or - for standard input. A post is learnt under the label of its
    subject. Prints a summary of the model.

    By default the model is then refined: corrections are fitted around its counts, for which the
    texts are kept in memory. Posts of subjects are only counted, because refining helps less there;
    see tune. With --tune, the model is refined if that is better by cross-validation. With
    --no-refine, --paper, --pyss3, --add-to or pruning, no text is kept, unless --refine is given.

    A refined MODEL loses its corrections if --prune or other parameters are given. They are then
    fitted again to the new texts, if these are at least a quarter of all texts of every label.
    """
    refuse_together(("--add-to", add_to), (f"--{preset}", preset))
    refuse_together(("--tune", tuning), ("--add-to", add_to), ("--prune", prune))
    was_refined = False
    if add_to is not None:
        earlier = TauSS3.load(add_to)
        was_refined = earlier.refinement is not None
        model = earlier.replace(**parameters)
    else:
        model = model_of(None, preset, parameters)
    chosen = refine_choice(refine, model, preset, {"--add-to": add_to})
    if prune is not None and refine is None:
        chosen = False
    if tuning is not None:
        compared = chosen is not False
        model, found = tuned(model, data, loader, tuning, threads, refine=compared)
        model.save(output)
        loader.report()
        more = {"model": str(output), "learnt": found.texts, "tried": len(found.settings)}
        show_model(model, more | {found.measure: found.best.value}, table=table)
        end_as_interrupted(found, tuning["keep"])
        return
    kept = None
    if chosen is not False:
        kept = _RefinementTexts(only_texts=chosen is None)
    elif was_refined and refine is None and (prune is not None or model.refinement is None):
        kept = _RefinementTexts(only_texts=False)
    batches = labelled(loader.batches(data), loader.bad, like=model.labels)
    learnt = _learn(model, batches, threads, kept)
    if not learnt:
        raise loader.bad.nothing_in(", ".join(map(name_of, data)), "texts with labels")
    model = with_known_default(model, model.labels)
    if prune is not None:
        model.prune(prune, parameters.get("prune_shortest", 1))
    if kept is not None and (chosen is not False or kept.suffice_for(model)):
        kept.refine(model, threads)
    if was_refined and model.refinement is None and refine is not False:
        warn(
            f"Warning: {output} is not refined, although {add_to} is: its corrections do not fit "
            "other parameters or pruned counts; train a new model with all texts and --refine"
        )
    model.save(output)
    loader.report()
    show_model(model, {"model": str(output), "learnt": learnt}, table=table)


@dataclass
class _RefinementTexts:
    """Texts to refine a model with; with `only_texts`, none once a post of a subject was seen."""

    only_texts: bool
    texts: list[str] = field(default_factory=list)
    labels: list[Target | None] = field(default_factory=list)
    has_posts: bool = False

    def add(self, texts: list[str], labels: list[Target | None], *, are_posts: bool) -> None:
        self.has_posts = self.has_posts or are_posts
        if self.has_posts and self.only_texts:
            self.texts, self.labels = [], []
        else:
            self.texts += texts
            self.labels += labels

    def suffice_for(self, model: TauSS3) -> bool:
        """Return whether a refined model that lost its corrections should get them from the texts.

        With few of the texts that it has learnt, or of one label, it would be less accurate than
        without corrections.
        """
        if model.refinement is not None or not engine_of(model).parameters.suits_refining:
            return False
        texts = Counter(chain.from_iterable(as_label_sets(as_targets(self.labels))))
        documents = model.statistics.documents
        return all(texts[label] >= _SUFFICIENT * documents[label] for label in documents)

    def refine(self, model: TauSS3, threads: int | None) -> None:
        """Refine a model with the texts, if there are any and the model tells labels apart."""
        if self.texts and len(model.labels) > 1:
            settings = POST_SETTINGS if self.has_posts else {}
            shown = progress_of("refining")
            labels = as_targets(self.labels)
            model.refine(self.texts, labels, **settings, threads=threads, progress=shown)


def _learn(
    model: TauSS3, batches: Iterable[Texts], threads: int | None, kept: _RefinementTexts | None
) -> int:
    """Train a model batch by batch; return the number of texts."""
    learnt = 0
    for batch in progress(batches, "learning", total=None):
        model.learn_many(batch.texts, as_targets(batch.labels), threads=threads)
        if kept is not None:
            kept.add(batch.texts, batch.labels, are_posts=batch.has_posts)
        learnt += len(batch)
    return learnt
