"""Files that commands read and write: their types, and the check that no output destroys data.

A parameter is declared with a type that says how the command uses its file. Before a command
starts, `check_files` compares all of them by identity, whatever their names, and looks into the
files that would be replaced.
"""

from __future__ import annotations

import glob
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from watchword._files import FileIdentity, file_identity
from watchword.model.file.container import FORMAT, MANIFEST
from watchword.streams.policies import policy_from_dict

FORCE = "watchword.force"  # whether --force is given, in the meta data of a context
_HEAD = 1 << 16  # bytes
_GZIP_FORMAT = 31  # zlib's number for gzip with the largest window


@dataclass(frozen=True)
class FileKind:
    """A kind of file or folder that commands write, and how to recognise it."""

    name: str  #: with an article, as in "a model"
    fits: Callable[[Path], bool]

    def recognises(self, path: Path) -> bool:
        """Return whether a file is of this kind, and not damaged where this is visible."""
        try:
            return self.fits(path)
        except (
            OSError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
            zlib.error,
        ):
            return False


def is_policy_file(text: str) -> bool:
    """Return whether a policy is the name of a file with the policy."""
    return text.strip().lower().endswith(".json")


# Types of parameters


class InputPath(click.Path):
    """Files and folders that a command reads; - is standard input."""

    is_bare = True  # whether the value is nothing but a path

    def __init__(self, *, folder: bool | None = None, of: type = str, exists: bool = False) -> None:
        # Unreadable files are reported by what reads them.
        super().__init__(
            exists=exists,
            file_okay=folder is not True,
            dir_okay=folder is not False,
            readable=False,
            path_type=of,
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path; fail for a folder instead of a file, and the other way round."""
        return super().convert(value, param, ctx) if self.is_bare else value

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the paths of the parameter's value."""
        for path in value if isinstance(value, tuple | list) else (value,):
            if path is not None and str(path) != "-":
                yield os.fspath(path)


class PolicyPath(InputPath):
    """A policy, which may be the name of a file."""

    is_bare = False

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the names of files."""
        return filter(is_policy_file, super().paths(value))


class UpdatedPath(InputPath):
    """A file that a command reads and writes: a state, a journal, stored results."""

    def __init__(self) -> None:
        super().__init__(folder=False, of=Path)


class OutputPath(InputPath):
    """A file that a command writes; if paths are `str`, - is standard output.

    `updates` is the name of the parameter of a file that may be the same.
    """

    def __init__(self, kind: FileKind, *, of: type = str, updates: str | None = None) -> None:
        super().__init__(folder=False, of=of)
        self.kind = kind
        self.updates = updates

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail if it is standard output and must be a file."""
        if self.type is Path and str(value) == "-":
            self.fail("standard output is not supported: use the name of a file", param, ctx)
        return super().convert(value, param, ctx)

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the paths of the parameter's value, and - for standard output."""
        several = value if isinstance(value, tuple | list) else (value,)
        return (os.fspath(path) for path in several if path is not None)


class FilledFolder(InputPath):
    """A folder that a command adds files to, which are checked where their names are known."""

    def __init__(self) -> None:
        super().__init__(folder=True, of=Path)

    def paths(self, value: Any) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing."""
        return iter(())


class ClusterPath(InputPath):
    """Files and folders that Spark reads: paths and patterns of paths, or URLs."""

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the paths that exist on this machine."""
        for path in super().paths(value):
            if "://" not in path:
                yield from [path] if Path(path).exists() else glob.iglob(path)  # noqa: PTH207


class ClusterOutput(ClusterPath):
    """A folder that Spark fills, or a URL: a new one or, if it has a kind, one of that kind."""

    def __init__(self, kind: FileKind | None) -> None:
        super().__init__(folder=True)
        self.kind = kind

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the path, unless it is a URL."""
        return (path for path in InputPath.paths(self, value) if "://" not in path)


DATA = InputPath()


# Kinds of files


def _head(path: Path) -> bytes:
    """Return the beginning of a file, decompressed."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(_GZIP_FORMAT).decompress(head, _HEAD)
    return head


def _begins(pattern: bytes) -> Callable[[Path], bool]:
    """Return a function that matches the beginning of a file with a pattern."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda path: compiled.match(_head(path)) is not None


_RESULT_KEYS = (  # of evaluate and validate; of alerts; of search, tune, explain and erisk run
    {"labels", "texts", "measures", "per_label"},
    {"policy", "subjects", "measures"},
    {"measure", "settings", "base", "varied"},
    {"measure", "bounds", "trials"},
    {"text", "labels", "value", "blocks"},
    {"subject", "policy", "decision", "tipped"},
    {"task", "score", "published", "files"},
)


def _is_result(path: Path) -> bool:
    if b"\n{" in _head(path):  # JSON lines, which may be large
        return False
    result = json.loads(path.read_bytes())
    return isinstance(result, dict) and any(keys <= result.keys() for keys in _RESULT_KEYS)


def _is_policy(path: Path) -> bool:
    policy_from_dict(json.loads(_head(path)))
    return True


def _is_picture(path: Path) -> bool:
    head = _head(path)
    if head.startswith(b"<svg "):
        return b'class="ww-svg"' in head
    if head.startswith(b"%PDF"):  # it names its maker at the end
        return b"Matplotlib" in path.read_bytes()
    return head.startswith(b"\x89PNG") and b"Matplotlib" in head


def _has_entry(*wanted: str) -> Callable[[Path], bool]:
    """Return a function for folders with one of these entries, or with hidden ones only."""

    def fits(path: Path) -> bool:
        names = [entry.name for entry in path.iterdir()]
        return any(name in wanted for name in names) or all(name[0] in "._" for name in names)

    return fits


MODEL = FileKind(
    "a model of watchword",
    _begins(rb'PK\x03\x04.{26}%b.*"format": "%b"' % (MANIFEST.encode(), FORMAT.encode())),
)
PAGE = FileKind(
    "a page of watchword",
    _begins(rb'<!doctype html>.*<meta name="generator" content="watchword">'),
)
JSON_RESULT = FileKind("a JSON result of watchword", _is_result)
CSV_RESULT = FileKind(
    "a CSV result of watchword",
    _begins(
        rb"label,precision,recall,|subject,truth,label,delay,|name,subjects,positives,"
        rb"|(\w+,)+folds\r?\n"
    ),
)
POLICY = FileKind("a policy in JSON", _is_policy)
PICTURE = FileKind("a picture of watchword", _is_picture)
TABLES = FileKind("tables of watchword in LaTeX", _begins(rb".*\\toprule\nrun & "))
SYNTHETIC = FileKind(
    "synthetic data of watchword", _begins(rb'\{"subject": "(subject\d+)".*?"post_id": "\1-1"')
)
STORE = FileKind("a store of watchword", _begins(rb"SQLite format 3\0.{52}wwst"))
ANSWERS = FileKind(
    "a log of answers", _begins(rb'\{"nick": [^\n]*"decision": [^\n]*"run": \d+\}\n')
)
SUBMISSION = FileKind("a file of a submission", _begins(rb"[^\t\n]+\t\t[012]\n"))
SPARK_DECISIONS = FileKind("an output of spark watch", _has_entry("_spark_metadata"))
CHECKPOINT = FileKind("a checkpoint of Spark", _has_entry("metadata", "offsets", "commits"))


# The check


@dataclass(frozen=True)
class _UsedFile:
    """A file that a command uses, and what to call it in messages."""

    path: str  #: - is standard output, chosen as an output
    name: str  #: what it is on the command line
    use: InputPath | None  #: None for the standard streams
    parameter: str | None
    is_written: bool
    status: os.stat_result | None

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_device(self) -> bool:
        """Whether it is a device or a pipe, which may have several uses at once."""
        return self.status is not None and not (self.is_folder or stat.S_ISREG(self.status.st_mode))

    @property
    def identity(self) -> FileIdentity | str:
        """What all names of the file have in common."""
        if self.status is not None:
            return file_identity(self.status)
        return self.path if self.path == "-" else os.path.realpath(self.path)

    @property
    def updates(self) -> str | None:
        """The parameter of an input that may be the same file."""
        return self.use.updates if isinstance(self.use, OutputPath) else None

    def is_in(self, folder: _UsedFile) -> bool:
        return Path(os.path.realpath(self.path)).is_relative_to(os.path.realpath(folder.path))

    def __str__(self) -> str:
        return f"{self.path!r} ({self.name})" if self.path else self.name


def check_files(ctx: click.Context, *, more: Sequence[Path] = (), kind: FileKind = MODEL) -> None:
    """Raise a usage error if a command's outputs would destroy its inputs, or other files.

    No output may be a file that the command reads, nor another of its outputs. A file with content
    is only replaced by one of its kind, or with `--force`. `more` are outputs of a kind that are
    not on the command line.
    """
    files = [*_standard_streams(), *_declared(ctx)]
    derived = OutputPath(kind)
    files += [_UsedFile(str(path), "output", derived, None, True, _status(path)) for path in more]
    inputs = [file for file in files if not (file.is_written or file.is_device)]
    outputs = [file for file in files if file.is_written and not file.is_device]
    written: dict[FileIdentity | str, _UsedFile] = {}
    for output in outputs:
        _check_parent(output)
        for read in inputs:
            is_update = output.updates is not None and output.updates == read.parameter
            if not is_update and _is_overwritten(read, output):
                raise click.UsageError(
                    f"cannot write to {output}: the command reads it as {read.name} (use another "
                    "file)"
                )
        other = written.setdefault(output.identity, output)
        if other is not output:
            raise click.UsageError(
                f"cannot write to {output}: it is also {other.name} (use another file)"
            )
    folders = [file for file in inputs if file.is_folder]
    for output in outputs:
        _check_replaced(output, folders, force=ctx.meta.get(FORCE, False))


def _standard_streams() -> Iterator[_UsedFile]:
    """Yield standard input and output if they are files."""
    for stream, name in ((sys.stdin, "standard input"), (sys.stdout, "standard output")):
        with suppress(OSError, ValueError, AttributeError):  # none, or not of this process
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode):
                yield _UsedFile("", name, None, None, stream is sys.stdout, status)


def _declared(ctx: click.Context) -> Iterator[_UsedFile]:
    """Yield the files of a command line."""
    for parameter in ctx.command.params:
        use = parameter.type
        if not isinstance(use, InputPath):
            continue
        is_option = isinstance(parameter, click.Option)
        name = parameter.opts[-1] if is_option else parameter.human_readable_name
        is_written = isinstance(use, OutputPath | UpdatedPath | ClusterOutput)
        for path in use.paths(ctx.params.get(parameter.name or "")):
            yield _UsedFile(path, name, use, parameter.name, is_written, _status(path))


def _status(path: str | Path) -> os.stat_result | None:
    with suppress(OSError, ValueError):
        return Path(path).stat() if str(path) != "-" else None
    return None


def _check_parent(output: _UsedFile) -> None:
    """Raise if the folder of a file does not exist."""
    path = Path(output.path)
    is_file = output.parameter is not None and not isinstance(output.use, ClusterOutput)
    if is_file and output.path != "-" and not path.parent.is_dir():
        raise click.UsageError(
            f"cannot write {path.name!r}: folder {str(path.parent)!r} does not exist"
        )


def _is_overwritten(read: _UsedFile, output: _UsedFile) -> bool:
    """Return whether writing an output changes what is read."""
    if read.identity == output.identity:
        return True
    return isinstance(output.use, ClusterOutput) and read.is_folder and output.is_in(read)


def _check_replaced(output: _UsedFile, folders: Sequence[_UsedFile], *, force: bool) -> None:
    """Raise if an output would replace a file that is not of its kind."""
    use, path = output.use, Path(output.path)
    if not isinstance(use, OutputPath | ClusterOutput) or output.status is None:
        return
    if use.kind is None:
        raise click.UsageError(f"{output} already exists (choose another folder)")
    if use.kind.recognises(path) or (output.status.st_size == 0 and not output.is_folder):
        return
    if isinstance(use, OutputPath):
        for folder in folders:
            if _holds(folder, output):
                raise click.UsageError(
                    f"cannot write to {output}: it is in {folder.path!r}, which the command reads "
                    f"as {folder.name} (use another file)"
                )
    if not force:
        raise click.UsageError(
            f"{output} already exists and is not {use.kind.name} (use another name, or --force)"
        )


def _holds(folder: _UsedFile, file: _UsedFile) -> bool:
    """Return whether a file is in a folder, also by another name or a link."""
    if file.is_in(folder):
        return True
    names = (Path(at, name) for at, _, inside in os.walk(folder.path) for name in inside)
    statuses = (_status(name) for name in names)
    return any(status is not None and file_identity(status) == file.identity for status in statuses)
