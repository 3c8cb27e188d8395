"""What verbs share: the group with its errors and exit codes, output for machines and for eyes.

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
from rich.progress import Progress, track
from rich.table import Table
from rich.text import Text

import watchword
from watchword import TauSS3, WatchwordError
from watchword._checks import Label
from watchword._display import finite
from watchword._files import atomic_file, writing_to
from watchword._interrupts import INTERRUPTED, interruptible
from watchword.data.records import SUBJECT_FIELDS
from watchword.errors import DataFormatError, UnknownLabelError
from watchword.model import RankedNgram
from watchword.show.terminal import visible

_Item = TypeVar("_Item")


class _Verbs(click.Group):
    """A group of verbs whose errors are messages; tracebacks are for `--debug`."""

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
    """A verb whose errors about data name its own options."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DataFormatError as error:
            if ctx.find_root().params["debug"]:
                raise
            raise click.ClickException(message_of(error)) from error


@contextlib.contextmanager
def _visible_errors() -> Iterator[None]:
    """Show what is wrong with a command line as it is, also on a terminal."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = visible(error.message)  # for type checkers it is final
        raise


def _show_warning(message: Warning | str, *_: object) -> None:
    warn(f"Warning: {message}")


def message_of(error: Exception) -> str:
    """The one line that a user reads of an error."""
    if isinstance(error, DataFormatError):
        return visible(error.message + _advice(error.arguments))
    if isinstance(error, OSError) and error.strerror:
        named = "" if error.filename is None else f"{error.filename}: "
        return visible(f"{named}{error.strerror}")
    if isinstance(error, WatchwordError | ValueError | OSError):
        return visible(str(error))
    kind = type(error).__name__
    return visible(f"unexpected {kind}: {error} (please report it, with what --debug says)")


def _advice(arguments: Iterable[str]) -> str:
    """Say which options of the running verb stand for arguments of the library, if there are any.

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
    """The end of a help page: commands to try, one per line."""
    lines = [line.strip() for line in commands.strip().splitlines()]
    return "\n  ".join(["\b\nExample:", *lines])


@click.group(
    cls=_Verbs,
    epilog=example_text("watchword demo"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(watchword.__version__, prog_name="watchword", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Early risk detection over text streams, with reasons."""


def verb(
    *, example: str, group: click.Group = cli, name: str | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a verb; its help ends with an example, which the tests run."""
    return group.command(name, cls=_Verb, epilog=example_text(example))


# Output


def emit(records: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON lines, and hand them over at once.

    In ASCII: valid whatever the encoding of the output, and nothing that a terminal would obey.
    """
    with writing_output():
        for record in records:
            sys.stdout.write(_json(record) + "\n")
        sys.stdout.flush()


def _json(record: Mapping[str, Any]) -> str:
    try:
        return json.dumps(record, allow_nan=False)
    except ValueError:
        return json.dumps(finite(record))


def write_output(data: bytes) -> None:
    """Write data in UTF-8 to standard output: byte for byte, or made visible on a terminal."""
    if sys.stdout.isatty():
        write_text_output(visible(data.decode()))
        return
    with writing_output():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_text_output(text: str) -> None:
    """Write text for eyes to standard output, and hand it over at once."""
    with writing_output():
        sys.stdout.write(text)
        sys.stdout.flush()


def end_torn_line() -> None:
    """End a line that a killed command left unfinished in the file that output is appended to.

    The next record would become a part of it, and be lost.
    """
    with contextlib.suppress(OSError, ValueError):  # a pipe, a terminal, nothing at all
        output = sys.stdout.fileno()
        size = os.fstat(output).st_size if stat.S_ISREG(os.fstat(output).st_mode) else 0
        if size:
            with Path(f"/dev/fd/{output}").open("rb") as written:
                written.seek(size - 1)
                torn = written.read(1) != b"\n"
            if torn:
                write_text_output("\n")


def writing_output() -> contextlib.AbstractContextManager[None]:
    """Name the standard output in errors of writing to it."""
    return writing_to("standard output")


def warn(message: str) -> None:
    """Tell the person, not the program that reads the output."""
    click.echo(visible(message), err=True)


class Teller(logging.Handler):
    """Passes on what the library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the person."""
        warn(record.getMessage())


class _Output(Console):
    """The standard output, which errors name."""

    def print(self, *objects: Any, **options: Any) -> None:
        with writing_output():
            super().print(*objects, **options)


def console() -> Console:
    """Open the standard output: colours only on a terminal, no guessing at what text means."""
    return _Output(highlight=False, markup=False, emoji=False)


def show(output: Console, text: Text | str) -> None:
    """Print a text, control characters made visible; lines are wrapped only for a terminal."""
    shown = visible(text) if isinstance(text, str) else text
    output.print(shown, soft_wrap=not output.is_terminal)


def show_table(rows: Sequence[Mapping[str, object]], *, title: str | None = None) -> None:
    """Print rows with the same names as a table for eyes."""
    # Only a terminal has a width that cells must be squeezed into.
    output = console()
    output.width = output.width if output.is_terminal else 100_000
    heading = None if title is None else _cell(title)
    table = Table(box=None, pad_edge=False, title=heading, title_justify="left")
    if rows:
        for name, value in rows[0].items():
            numeric = isinstance(value, int | float)
            table.add_column(_cell(name), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    output.print(table)


def show_records(records: Sequence[Mapping[str, Any]], *, table: bool) -> None:
    """Print records for programs, or as a table for eyes."""
    if not table:
        emit(records)
    elif records:
        show_table([_flat(record) for record in records])


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with those inside of it beside the others."""
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


def ngram_table(title: str, ngrams: Iterable[RankedNgram]) -> Table:
    """N-grams with values and counts, for eyes."""
    name = Text(visible(title))  # on one line, also above short n-grams
    table = Table("n-gram", title=name, box=None, title_justify="left", min_width=name.cell_len)
    table.add_column("value", justify="right")
    table.add_column("count", justify="right")
    for ngram, value, count in ngrams:
        table.add_row(Text(visible(ngram)), f"{value:.3f}", str(count))
    return table


def progress(items: Iterable[_Item], description: str, *, total: int | None) -> Iterator[_Item]:
    """Pass the items on, with a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():  # rich's own opinion may be forced by the environment
        yield from items
        return
    errors = Console(stderr=True)
    yield from track(items, description, total=total, console=errors, transient=True)


def telling_progress(
    tell: Callable[[Any], str], *, timed: bool = False
) -> Callable[[Iterable[Any], int], Iterable[Any]]:
    """`progress` for library functions, with words that may change with every item.

    If it is time that ends it (`timed`), how many items there would be says nothing.
    """

    def passed_on(items: Iterable[Any], total: int) -> Iterator[Any]:
        if not sys.stderr.isatty():
            yield from items
            return
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None if timed else total)
            for item in items:
                bar.update(task, advance=1, description=tell(item))
                yield item

    return passed_on


def progress_of(description: str) -> Callable[[Iterable[Any], int], Iterable[Any]]:
    """`progress` as library functions take it."""
    return lambda items, total: progress(items, description, total=total)


# Files and labels

FILE = click.Path(dir_okay=False, path_type=Path)


class Number(click.FloatRange):
    """A number in a range, which NaN and infinity never are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, if it is one."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


def check_folder(path: Path | None) -> None:
    """Refuse a file in a folder that is not there: better now than after an hour of work."""
    if path is not None and not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")


def write_text(path: str, text: str) -> None:
    """Write a file, whole or not at all; - is standard output."""
    ended = text if text.endswith("\n") else text + "\n"
    if path == "-":
        write_output(ended.encode())
        return
    with atomic_file(path) as file:
        file.write(ended.encode())


def find_label(text: str, labels: Iterable[Label], *, where: str) -> Label:
    """The label that was meant; on a command line numbers are text, too."""
    known = list(labels)
    if text in known:
        return text
    for label in known:
        if str(label) == text:
            return label
    listed = ", ".join(map(repr, known[:20])) + (", …" if len(known) > 20 else "")
    raise UnknownLabelError(f"unknown label {text!r}; {where} has {listed or 'none'}")


def model_of(like: Path | None, preset: str | None, parameters: dict[str, Any]) -> TauSS3:
    """An empty model: with parameters of another one, or of a preset, and those given."""
    if like is not None and preset is not None:
        raise click.UsageError(f"--like and --{preset} cannot go together")
    if preset is not None:
        return {"paper": TauSS3.paper, "pyss3": TauSS3.pyss3}[preset](**parameters)
    return TauSS3(**((TauSS3.load(like).parameters if like is not None else {}) | parameters))


def with_known_default(model: TauSS3, labels: Iterable[Label]) -> TauSS3:
    """The default label as data spells it; on a command line numbers are text, too."""
    given = model.parameters["default_label"]
    if given is None:
        return model
    return model.replace(default_label=find_label(str(given), set(labels), where="the data"))
