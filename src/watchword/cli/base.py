"""Helpers shared by all commands: the group with its errors and exit codes, output and progress.

Exit codes: 0, 1 for an error, 2 for wrong usage, 130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import Progress as ProgressBar
from rich.table import Table
from rich.text import Text

import watchword
from watchword import TauSS3, WatchwordError
from watchword._checks import Label, Progress, Target, reprs
from watchword._display import finite, visible
from watchword._files import atomic_file, writing_to
from watchword._interrupts import INTERRUPTED, interruptible
from watchword.cli.files import FORCE, InputPath, check_files
from watchword.data.records import SUBJECT_FIELDS
from watchword.errors import DataFormatError, UnknownLabelError

_Item = TypeVar("_Item")


class _Verbs(click.Group):
    """A command group that prints errors as messages, and tracebacks only with `--debug`."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _visible_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings(), _visible_errors(), interruptible():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise click.ClickException(message_of(error)) from error


class _Verb(click.Command):
    """A command that checks its files first, and whose data errors name its own options."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if any(getattr(one.type, "kind", None) is not None for one in self.params):
            self.params.append(_force_option())

    def invoke(self, ctx: click.Context) -> Any:
        check_files(ctx)
        try:
            return super().invoke(ctx)
        except DataFormatError as error:
            if ctx.find_root().params["debug"]:
                raise
            raise click.ClickException(message_of(error)) from error


def _force_option() -> click.Option:
    return click.Option(
        ["--force"],
        is_flag=True,
        expose_value=False,
        callback=lambda ctx, _, is_forced: ctx.meta.update({FORCE: is_forced}),
        help="Replace existing files of any kind.",
    )


@contextlib.contextmanager
def _visible_errors() -> Iterator[None]:
    """Make control characters in usage errors visible."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = visible(error.message)  # for type checkers it is final
        raise


def _show_warning(message: Warning | str, *_: object) -> None:
    warn(f"Warning: {message}")


def message_of(error: Exception) -> str:
    """Return an error as the one line shown to the user."""
    if isinstance(error, DataFormatError):
        return visible(error.message + _advice(error.arguments))
    if isinstance(error, OSError) and error.strerror:
        named = "" if error.filename is None else f"{error.filename}: "
        return visible(f"{named}{error.strerror}")
    if isinstance(error, WatchwordError | ValueError | OSError):
        return visible(str(error))
    kind = type(error).__name__
    return visible(f"unexpected {kind}: {error} (please report it with the output of --debug)")


def _advice(arguments: Iterable[str]) -> str:
    """Return a hint naming the running command's options for these library arguments, if any.

    >>> _advice(["text"])
    ''
    """
    ctx = click.get_current_context(silent=True)
    options = [] if ctx is None else [one for one in ctx.command.params if one.opts]
    named = {one.name: one for one in options if isinstance(one, click.Option)}
    has_fields = any("--field" in one.opts for one in options)
    found = []
    for name in arguments:
        if has_fields and name in SUBJECT_FIELDS:
            found.append(f"--field {name}=NAME")
        elif not has_fields and name in named:
            found.append(f"{named[name].opts[-1]} {named[name].metavar or 'NAME'}")
    return f" (use {' or '.join(found)})" if found else ""


def example_text(commands: str) -> str:
    """Return the end of a help page: example commands, one per line."""
    lines = [line.strip() for line in commands.strip().splitlines()]
    return "\n  ".join(["\b\nExample:", *lines])


@click.group(
    cls=_Verbs,
    epilog=example_text("watchword demo"),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(watchword.__version__, prog_name="watchword", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Early risk detection over text streams, with reasons."""


def verb(
    *, example: str, group: click.Group = cli, name: str | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Turn a function into a command whose help ends with an example; the tests run it."""
    return group.command(name, cls=_Verb, epilog=example_text(example))


# Output


def emit(records: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON lines and flush.

    The lines are ASCII: valid in any output encoding, and without control characters.
    """
    with writing_output():
        for record in records:
            sys.stdout.write(json_line(record))
        sys.stdout.flush()


def json_line(record: Mapping[str, Any]) -> str:
    """Return a record as a line of JSON, with null for NaN and infinity."""
    try:
        return f"{_encode(record)}\n"
    except ValueError:
        return f"{json.dumps(finite(record))}\n"


_encode = json.JSONEncoder(allow_nan=False).encode  # made once, not for every record


def write_output(data: bytes) -> None:
    """Write UTF-8 data to standard output; on a terminal, make control characters visible."""
    if sys.stdout.isatty():
        write_text_output(visible(data.decode()))
        return
    with writing_output():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_text_output(text: str) -> None:
    """Write text to standard output and flush."""
    with writing_output():
        sys.stdout.write(text)
        sys.stdout.flush()


def end_torn_line() -> None:
    """End the unfinished last line of the output file, if a killed command left one.

    Otherwise the next record would be appended to that line, and lost.
    """
    with contextlib.suppress(OSError, ValueError):  # a pipe, a terminal, or no output
        output = sys.stdout.fileno()
        size = os.fstat(output).st_size if stat.S_ISREG(os.fstat(output).st_mode) else 0
        if size:
            with Path(f"/dev/fd/{output}").open("rb") as written:
                written.seek(size - 1)
                torn = written.read(1) != b"\n"
            if torn:
                write_text_output("\n")


def writing_output() -> contextlib.AbstractContextManager[None]:
    """Name standard output in errors raised while writing to it."""
    return writing_to("standard output")


def warn(message: str) -> None:
    """Print a message to standard error."""
    click.echo(visible(message), err=True)


class LogPrinter(logging.Handler):
    """A log handler that prints the library's log messages to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a record."""
        warn(record.getMessage())


def console() -> Console:
    """Return a console for standard output: coloured only on a terminal, no markup or emoji."""
    return Console(highlight=False, markup=False, emoji=False)


def show(text: Text | str = "") -> None:
    """Print a text with visible control characters; wrap lines only on a terminal."""
    output, shown = console(), visible(text) if isinstance(text, str) else text
    with writing_output():
        output.print(shown, soft_wrap=not output.is_terminal)


def show_table(rows: Sequence[Mapping[str, object]], *, title: str | None = None) -> None:
    """Print rows with the same keys as a table, below a title."""
    # Cells are squeezed only into the width of a terminal.
    output = console()
    output.width = output.width if output.is_terminal else 100_000
    if title is not None:
        show(title)
    table = Table(box=None, pad_edge=False)
    if rows:
        for name, value in rows[0].items():
            numeric = isinstance(value, int | float)
            table.add_column(_cell(name), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    with writing_output():
        output.print(table)


def show_records(records: Sequence[Mapping[str, Any]], *, table: bool) -> None:
    """Print records as JSON lines, or as a table."""
    if not table:
        emit(records)
    elif records:
        show_table([_flat(record) for record in records])


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a record: nested keys become `outer inner`."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{name} {inner}": each for inner, each in value.items()}
        else:
            several = isinstance(value, tuple)
            flat[name] = ", ".join(_cell(each).plain for each in value) if several else value
    return flat


def _cell(value: object) -> Text:
    if value is None:
        return Text("–")
    if isinstance(value, float):
        return Text(f"{value:.3f}")
    return Text(visible(str(value)))


def progress(
    items: Iterable[_Item], description: str | Callable[[_Item], str], *, total: int | None
) -> Iterator[_Item]:
    """Yield the items, with a progress bar on standard error if that is a terminal.

    A function as description is called with every item.
    """
    if not sys.stderr.isatty():  # the environment may force rich to assume a terminal
        yield from items
        return
    with ProgressBar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description if isinstance(description, str) else "", total=total)
        for item in items:
            if not isinstance(description, str):
                bar.update(task, description=description(item))
            yield item
            bar.advance(task)


def progress_of(description: str | Callable[[Any], str], *, timed: bool = False) -> Progress:
    """Return a `progress` callback for library functions.

    With `timed`, a time limit ends the work, so the bar shows no total.
    """
    return lambda items, total: progress(items, description, total=None if timed else total)


# Files and labels

FILE = InputPath(folder=False, of=Path)
FOLDER = InputPath(folder=True, of=Path)
COUNT = click.IntRange(min=1)


class FiniteFloat(click.FloatRange):
    """A finite number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail if it is not finite."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


ABOVE_ZERO = FiniteFloat(min=0, min_open=True)


def refuse_together(option: tuple[str, object], *others: tuple[str, object]) -> None:
    """Raise a usage error if an option and one of the others are given; all have name and value."""
    given = [
        name
        for name, value in (option, *others)
        if not (value is None or value is False or value == ())  # 0 may be given
    ]
    if len(given) > 1 and given[0] == option[0]:
        raise click.UsageError(f"{given[0]} and {given[1]} cannot be used together")


def is_given(name: str) -> bool:
    """Return whether an option of the running command is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def write_text(path: str, text: str) -> None:
    """Write a file atomically; - is standard output."""
    ended = text if text.endswith("\n") else text + "\n"
    if path == "-":
        write_output(ended.encode())
        return
    with atomic_file(path) as file:
        file.write(ended.encode())


def find_label(text: str, labels: Iterable[Label], *, where: str) -> Label:
    """Return the label spelt like `text`, which may be a number in the data."""
    known = list(labels)
    if text in known:
        return text
    for label in known:
        if str(label) == text:
            return label
    listed = reprs(known, most=20) or "none"
    raise UnknownLabelError(f"unknown label {text!r}; {where} has {listed}")


def model_of(like: Path | None, preset: str | None, parameters: dict[str, Any]) -> TauSS3:
    """Return an empty model with the parameters of a model or preset, overridden by those given."""
    refuse_together(("--like", like), (f"--{preset}", preset))
    if preset is not None:
        return {"paper": TauSS3.paper, "pyss3": TauSS3.pyss3}[preset](**parameters)
    return TauSS3(**((TauSS3.load(like).parameters if like is not None else {}) | parameters))


def with_known_default(model: TauSS3, labels: Iterable[Target]) -> TauSS3:
    """Return the model with its default label as the data spells it, which may be a number."""
    given = model.parameters["default_label"]
    if given is None:
        return model
    known = {label for one in labels for label in (one if isinstance(one, tuple) else (one,))}
    return model.replace(default_label=find_label(str(given), known, where="the data"))
