"""Results of commands, how they are printed, and graceful stopping between units of work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any, TypeVar, cast

import click

from watchword import TauSS3
from watchword._checks import Label, Target, are_several
from watchword.cli.base import emit, progress, show, show_table, warn, write_text
from watchword.cli.files import CSV_RESULT, JSON_RESULT, PAGE, PICTURE, OutputPath
from watchword.cli.options import Option, flag, joined, option
from watchword.data.texts import Texts, as_targets
from watchword.evaluation import Evaluation, Replay, Tuning
from watchword.evaluation.charts import SUFFIXES, suffix_of
from watchword.evaluation.labels import warn_of_one_label
from watchword.searching import Search


@dataclass(frozen=True)
class ResultFiles:
    """The files to write a result to; - is standard output."""

    json: str | None
    csv: str | None
    html: str | None
    spreadsheet_safe: bool

    def __post_init__(self) -> None:
        if self.spreadsheet_safe and self.csv is None:
            raise click.UsageError("--spreadsheet-safe requires --csv")

    @property
    def include_output(self) -> bool:
        """Whether a file is standard output, so that nothing else may be printed."""
        return "-" in (self.json, self.csv, self.html)

    def write(self, found: Evaluation | Replay | Search) -> None:
        """Write a result; a replay has no HTML page."""
        if self.json is not None:
            write_text(self.json, found.to_json())
        if self.csv is not None:
            write_text(self.csv, found.to_csv(spreadsheet_safe=self.spreadsheet_safe))
        if self.html is not None and not isinstance(found, Replay):
            write_text(self.html, found.to_page())


def result_options(*, json: str, csv: str, html: str = "Write an HTML page.") -> Option:
    """Add options for files, with these help texts; `files` is the `ResultFiles` made of them."""
    return joined(
        "files",
        ResultFiles,
        option("--json FILE", json, type=OutputPath(JSON_RESULT)),
        option("--csv FILE", csv, type=OutputPath(CSV_RESULT)),
        flag(
            "--spreadsheet-safe",
            "With --csv: put an apostrophe before text that a spreadsheet would run as a formula.",
        ),
        option("--html FILE", html, type=OutputPath(PAGE)),
    )


class _PicturePath(OutputPath):
    """A file of a picture, as in KIND=FILE."""

    is_bare = False

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the files of parsed values."""
        return (file for _, file in value or ())


def picture_option(charts: Sequence[str]) -> Option:
    """Add a repeatable `--picture KIND=FILE`; `pictures` has the files of the named charts."""
    return option(
        "--picture KIND=FILE",
        f"Draw a chart into a file, {', '.join(SUFFIXES)}; KIND is one of "
        f"{', '.join(charts)}; repeatable.",
        name="pictures",
        multiple=True,
        type=_PicturePath(PICTURE),
        parse=lambda given: [_as_picture(text, charts) for text in given],
    )


def _as_picture(text: str, charts: Sequence[str]) -> tuple[str, str]:
    kind, separator, file = text.partition("=")
    if not separator or kind not in charts:
        known = ", ".join(charts)
        raise ValueError(f"{text!r} is not like {charts[0]}=picture.svg; known are {known}")
    suffix_of(file)  # checks it
    return kind, file


def write_pictures(found: Replay | Tuning, pictures: Iterable[tuple[str, str]]) -> None:
    """Draw charts of a result into files."""
    for kind, file in pictures:
        found.chart(cast("Any", kind)).save(file)


def evaluate_batches(
    model: TauSS3, batches: Iterable[Texts], threads: int | None
) -> Evaluation | None:
    """Evaluate a model on labelled texts, batch by batch; return None without any."""
    truth: list[Target | None] = []
    one: list[Label] = []
    several: list[tuple[Label, ...]] = []
    for batch in progress(batches, "reading", total=None):
        truth += batch.labels
        table = model.confidence_table(batch.texts, threads=threads)
        one += model.decide(table)
        several += model.decide_several(table)
    known = as_targets(truth)
    if not known:
        return None
    warn_of_one_label(known)
    return Evaluation.of(known, several if are_several(known) else one)


def show_evaluation(
    found: Evaluation, files: ResultFiles, *, table: bool, more: Mapping[str, Any] | None = None
) -> None:
    """Write an evaluation to files, and print it unless one of them is standard output."""
    files.write(found)
    if files.include_output:
        return
    if table:
        show(str(found))
    else:
        emit([{**(more or {}), **_record_of(found)}])


def _record_of(found: Evaluation) -> dict[str, Any]:
    # With one label per text, these equal accuracy.
    measures = {
        name: value
        for name, value in found.measures.items()
        if found.several or name not in ("hamming", "exact_match")
    }
    record: dict[str, Any] = {"texts": found.texts, **measures}
    if found.majority is not None:
        label, trivial = found.majority
        names = ("accuracy", "macro_f1")
        record["majority"] = {"label": label} | {name: trivial.measure(name) for name in names}
    if found.folds:
        record["spread"] = {name: found.spread(name)._asdict() for name in measures}
    return record | {"labels": [one.to_dict() for one in found.per_label]}


def show_model(model: TauSS3, more: Mapping[str, Any], *, table: bool) -> None:
    """Print a summary of a model, with a warning if it knows a single label."""
    if len(model.labels) == 1:
        warn(
            f"Warning: the model has learnt only the label {model.labels[0]!r} and predicts it for "
            "every text (train --add-to adds others)"
        )
    statistics = model.statistics
    if table:
        rows = [
            {"label": label, "documents": count, "words": statistics.words[label]}
            for label, count in statistics.documents.items()
        ]
        show_table(rows)
        lengths = enumerate(statistics.ngrams, 1)
        show_table([{"words in n-gram": n, "n-grams": many} for n, many in lengths])
        given = {name: value for name, value in model.parameters.items() if value is not None}
        rest = {
            **more,
            "fingerprint": model.fingerprint,
            "pruned": statistics.pruned,
            "refinement": model.refinement or "none",
            **given,
        }
        show_table([{"about": name, "value": str(value)} for name, value in rest.items()])
        return
    known = asdict(statistics)
    known["ngrams"] = list(statistics.ngrams)
    plain = {
        name: value if isinstance(value, str | int | float | dict | None) else repr(value)
        for name, value in model.parameters.items()
    }
    labels = {"labels": model.labels, "fingerprint": model.fingerprint}
    refinement = None if model.refinement is None else model.refinement.to_dict()
    emit([{**more, **labels, **known, "refinement": refinement, "parameters": plain}])


_Item = TypeVar("_Item")
# Ctrl-C, kill, and a closed terminal.
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def term_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, which background jobs of scripts do not receive."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _StopWaiting(BaseException):
    """Raised by a signal to stop waiting for input."""


class Stops:
    """Handles signals: ends `waiting` at once, but lets the current item finish.

    >>> with Stops() as stops:
    ...     for number in stops.until_stopped([1, 2, 3]):
    ...         signal.raise_signal(signal.SIGTERM)  # while at work
    ...         print(number)
    1
    >>> stops.exit_code
    143
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """The exit code of a command ended by the received signal; 0 without one."""
        return 0 if self.signal is None else 128 + self.signal

    def __enter__(self) -> Stops:
        if threading.current_thread() is threading.main_thread():  # only it receives signals
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def until_stopped(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the items until they end or a signal arrives."""
        try:
            for item in items:
                yield item
                if self.signal is not None:
                    return
        except _StopWaiting:
            return

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal interrupt the wait for the next item; work done inside would be lost."""
        self._waiting = True
        try:
            if self.signal is not None:
                raise _StopWaiting
            yield
        finally:
            self._waiting = False

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        again, self.signal = self.signal is not None, number
        if self._waiting:
            self._waiting = False
            raise _StopWaiting
        if again:  # a second signal: exit at once with what was last saved
            raise KeyboardInterrupt
