"""watchword classify, explain: labels of texts with confidences, and the reasons for them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from watchword import Explanation, TauSS3
from watchword._checks import Label
from watchword._display import visible
from watchword.cli.base import (
    FILE,
    find_label,
    refuse_together,
    show,
    show_records,
    show_table,
    verb,
    write_text,
)
from watchword.cli.files import DATA, JSON_RESULT, PAGE, OutputPath
from watchword.cli.loading import Loader
from watchword.cli.options import data_options, flag, option, policy_option, reading_options
from watchword.cli.output import evaluate_batches
from watchword.cli.policy_notation import policy_for
from watchword.data.lines import numbered_lines
from watchword.data.texts import Texts, batched, labelled
from watchword.errors import DataFormatError, HookError, UnknownSubjectError
from watchword.evaluation import Evaluation
from watchword.explain.blocks import by_score
from watchword.explain.change import Change
from watchword.explain.story import Story, Tipped, decision_text
from watchword.explain.text_view import largest_contributions, to_terminal
from watchword.model.engine import engine_of


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword classify model.ww --text "I cannot sleep, so I work."
    """
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1, type=DATA)
@option("--text", "Text to classify, instead of DATA; repeatable.", name="texts", multiple=True)
@flag("--several", "Predict all labels that stand out instead of one.")
@flag(
    "--probabilities",
    "Print probabilities instead of confidences: calibrated if the model is refined, "
    "otherwise each label's share of the total.",
)
@flag("--accuracy", "Print only the accuracy on labelled data.")
@reading_options()
def classify(
    model: Path,
    data: tuple[str, ...],
    texts: tuple[str, ...],
    several: bool,
    probabilities: bool,
    accuracy: bool,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Predict the label of each text, with confidences.

    DATA is as for train, with or without labels [default: standard input]. Prints a line per text
    as soon as the text arrives. The confidences of a refined model are scores, which may be
    negative.
    """
    others = (("--several", several), ("--probabilities", probabilities))
    refuse_together(("--accuracy", accuracy), *others)
    refuse_together(("--text", texts), ("DATA", data))
    if accuracy and texts:
        raise click.UsageError("--accuracy needs labelled data (use DATA instead of --text)")
    taught = TauSS3.load(model)
    given = batched(((None, (text, None, None, None, None)) for text in texts), "--text")
    batches = given if texts else loader.batches(data or ("-",))
    if accuracy:
        needed = "--accuracy needs labelled data"
        known = labelled(batches, loader.bad, like=taught.labels, needed=needed)
        found = evaluate_batches(taught, known, threads)
        if found is None:
            raise DataFormatError("no text has a label (--accuracy needs labels)")
        show_records([_accuracy(found)], table=table)
    else:
        for batch in batches:
            answers = _answers(
                taught, batch, several=several, probabilities=probabilities, threads=threads
            )
            show_records(list(answers), table=table)
    loader.report()


def _answers(
    model: TauSS3, batch: Texts, *, several: bool, probabilities: bool, threads: int | None
) -> Iterator[dict[str, Any]]:
    """Yield a model's predictions for texts as records to print."""
    found = model.confidence_table(batch.texts, threads=threads)
    chosen: Sequence[Label | tuple[Label, ...]] = (
        model.decide_several(found) if several else model.decide(found)
    )
    name, shown = "confidence", found
    if probabilities:
        name, shown = "probability", engine_of(model).probability_of(found)
    rows = zip(batch.subjects, batch.ids, chosen, shown.values.tolist(), strict=True)
    for subject, identity, choice, row in rows:
        record: dict[str, Any] = {}
        if subject is not None:
            record["subject"] = subject
        if identity is not None:
            record["id"] = identity
        record["labels" if several else "label"] = choice
        yield record | {name: dict(zip(shown.labels, row, strict=True))}


def _accuracy(found: Evaluation) -> dict[str, Any]:
    """Return the accuracy of a model as a record, with the recall of each label in the data."""
    recall = {str(one.label): one.recall for one in found.per_label if one.support}
    if found.several:
        return {"texts": found.texts, "exact_match": found.exact_match, "recall": recall}
    record = {"texts": found.texts, "right": found.right, "accuracy": found.accuracy}
    return record | {"recall": recall}


_TOP = 5  # n-grams and posts to print
_DATA = (".jsonl", ".csv", ".tsv")  # extensions of files with many texts


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword explain model.ww --text "I cannot sleep, so I work."
    watchword explain model.ww streams.jsonl --subject subject07 --positive "at risk" --html a.html
    """
)
@click.argument("model", type=FILE)
@click.argument("data", required=False, type=DATA)
@option("--text", "Text to explain, instead of a file.")
@option("--subject ID", "Subject whose decision to explain.")
@option(
    "--label LABEL", "Label whose evidence to paint.  [default: the predicted or positive label]"
)
@flag("--all-labels", "Paint each n-gram in the colour of the label it supports.")
@option("--positive LABEL", "Label to alert for; needed with --subject.")
@policy_option
@option("--html FILE", "Write a self-contained HTML page.", name="html_file", type=OutputPath(PAGE))
@option(
    "--json FILE",
    "Write the data of the page as JSON.",
    name="json_file",
    type=OutputPath(JSON_RESULT),
)
@data_options()
def explain(
    model: Path,
    data: str | None,
    text: str | None,
    subject: str | None,
    label: str | None,
    all_labels: bool,
    positive: str | None,
    policy: str,
    html_file: str | None,
    json_file: str | None,
    loader: Loader,
) -> None:
    """Explain the label of a text, or the decision about a subject.

    DATA is a file with one text [default: standard input]; with --subject, data as for evaluate.
    Prints the explanation, or writes it to a file with --html or --json (- is standard output).
    """
    if text is not None and (data is not None or subject is not None):
        raise click.UsageError("--text cannot be combined with DATA or --subject")
    if subject is not None and (data is None or positive is None):
        raise click.UsageError("--subject needs DATA and --positive")
    if all_labels and (label is not None or subject is not None):
        raise click.UsageError("--all-labels cannot be combined with --label or --subject")
    if subject is None and data is not None and data.lower().removesuffix(".gz").endswith(_DATA):
        raise click.UsageError(
            f"{data} contains many texts (choose a subject with --subject and --positive, or "
            "pass one text with --text)"
        )
    taught = TauSS3.load(model)
    if subject is None:
        if positive is not None:
            raise click.UsageError("--positive requires --subject")
        shown = _label(label, taught)
        painting = {"label": shown, "all_labels": all_labels}
        _explain_text(taught, _text_of(data, text), painting, html_file, json_file)
        return
    rule = policy_for(policy, str(positive), taught.labels)
    known = loader.subjects(str(data))
    loader.report()
    chosen = [one for one in known if one.id == subject]
    if not chosen:
        raise UnknownSubjectError(f"unknown subject {subject!r} in {data} ({len(known)} subjects)")
    story = taught.story(chosen[0], rule)
    _write(story.to_dict, lambda: story.to_page(), html_file, json_file)
    if html_file is None and json_file is None:
        show_story(story, _label(label, taught) or story.positive)


def _label(label: str | None, model: TauSS3) -> Label | None:
    return None if label is None else find_label(label, model.labels, where="the model")


def _text_of(data: str | None, text: str | None) -> str:
    if text is not None:
        return text
    lines = (line for _, line in numbered_lines(data or "-"))
    return "\n".join(
        line if isinstance(line, str) else line.decode(errors="replace") for line in lines
    )


def _explain_text(
    model: TauSS3, text: str, painting: dict[str, Any], html_file: str | None, json_file: str | None
) -> None:
    from watchword.explain.story_view import page_with_changes

    explanation = model.explain(text)
    change = None
    with contextlib.suppress(HookError):  # a custom summary function cannot be analysed
        change = model.what_would_change(text)
    changes = [] if change is None else [change.to_dict()]
    _write(
        lambda: explanation.to_dict() | {"changes": changes},
        lambda: page_with_changes(explanation.to_page(**painting), changes),
        html_file,
        json_file,
    )
    if html_file is None and json_file is None:
        show_explanation(explanation, change, **painting)


def _write(plain: Any, page: Any, html_file: str | None, json_file: str | None) -> None:
    for file, text in ((html_file, page), (json_file, lambda: json.dumps(plain()))):
        if file is not None:
            write_text(file, text())


def show_explanation(
    explanation: Explanation,
    change: Change | None,
    *,
    label: Label | None = None,
    all_labels: bool = False,
) -> None:
    """Print a painted text, its largest contributions, and changes that would change its label."""
    show(to_terminal(explanation, label, all_labels=all_labels))
    show()
    rows = []
    for at in by_score(range(len(explanation.labels)), explanation.value)[:10]:
        name = explanation.labels[at]
        bias = {} if explanation.bias is None else {"bias": explanation.bias[at]}
        if explanation.probability is not None:
            bias["probability"] = explanation.probability[at]
        note = "← predicted" if explanation.has_evidence else "← default"
        predicted = note if name == explanation.label else ""
        rows.append({"label": name, "confidence": explanation.value[at], **bias, "": predicted})
    if not explanation.has_evidence:
        show("No evidence for any label.")
    show_table(rows)
    show()
    chosen = explanation.label if label is None else label
    largest = largest_contributions(explanation, chosen, _TOP)
    rows = [
        {name: number for name, number in one._asdict().items() if number is not None}
        for one in largest
    ]
    _show_titled(f"Largest contributions to {chosen!r}", rows)
    if change is not None:
        show(visible(str(change)))


def show_story(story: Story, label: Label) -> None:
    """Print the decision about a subject, its reasons, and changes that would reverse it."""
    decision, tipped = story.decision, story.tipped
    text = decision_text(story.positive, story.truth, delay=decision.delay, posts=decision.posts)
    show(text)
    show()
    _show_weighed(story)
    _show_tipped(story, tipped)
    numbers = [decision.delay] if decision else [one.number for one in tipped.posts_for[:1]]
    for number in numbers:
        show(f"Post {number}, painted by evidence for {label!r}:\n")
        show(to_terminal(story.posts[number - 1].explanation, label))
    if decision and not story.history.is_given:
        show()
        with contextlib.suppress(HookError):
            changes = [story.what_would_delay(), story.what_would_cancel()]
            for change in changes:
                show(visible(str(change)))


def _show_weighed(story: Story) -> None:
    for weighed in story.weighed:
        rows = []
        for one in weighed.features:
            row = {"feature": one.feature, "value": one.value, "weight": one.weight}
            rows.append(row | {"weight · value": one.contribution})
        compared = f"sum {weighed.total:.4g}, threshold {weighed.threshold:.4g}"
        _show_titled(f"Features weighed at post {weighed.post}: {compared}", rows)


def _show_tipped(story: Story, tipped: Tipped) -> None:
    labels = [story.positive] + ([] if tipped.rival is None else [tipped.rival])
    columns = [story.labels.index(label) for label in labels]
    for title, ngrams in (
        (f"N-grams for {story.positive!r}", tipped.ngrams_for),
        (f"N-grams against {story.positive!r}", tipped.ngrams_against),
    ):
        rows = [
            {"n-gram": one.ngram, "times": one.times}
            | {str(story.labels[at]): one.contribution[at] for at in columns}
            for one in ngrams[:_TOP]
        ]
        if rows:
            _show_titled(title, rows)
    rows = [
        {"post": one.number} | {str(story.labels[at]): one.contribution[at] for at in columns}
        for one in tipped.posts_for[:_TOP]
    ]
    if rows:
        _show_titled(f"Posts for {story.positive!r}", rows)


def _show_titled(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    show_table(rows, title=title)
    show()
