"""Golden truth and tables of subjects: finding the files, reading them, labelling the subjects."""

from __future__ import annotations

import contextlib
import csv
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from watchword._display import listed
from watchword._files import AnyPath
from watchword.data.lines import shown
from watchword.data.subjects import Subject
from watchword.erisk.readers import contents, matching, names_below, only, subfolders, subject_files
from watchword.errors import DataFormatError, DataWarning
from watchword.evaluation.metrics import CHUNKS

POSITIVE, NEGATIVE = "positive", "negative"

_NEGATIVES = (NEGATIVE, "0", "none", "control")  # the last two: MentalRiskES
_LARGEST_TABLE = 1 << 26  # bytes


def read_truth(path: AnyPath) -> dict[str, str]:
    """Read golden truth, `subject 0|1` per line, as subject → `"positive"` or `"negative"`."""
    labels = {"0": NEGATIVE, "1": POSITIVE}
    return {
        subject: labels[value]
        for subject, value in read_table(Path(path), "0 or 1", re.compile("[01]")).items()
    }


def read_labels(path: AnyPath) -> dict[str, str]:
    """Read golden truth of any form: `read_truth`, `read_classes`, or ids of positive subjects."""
    source = Path(path)
    first = next(filled_lines(source), (0, ""))[1]
    if "," in first:
        return read_classes(source)
    return (
        read_truth(source) if len(first.split()) > 1 else dict.fromkeys(read_ids(source), POSITIVE)
    )


def read_ids(path: AnyPath) -> list[str]:
    """Read ids of subjects, one per line, as in the submissions of PAN 2012."""
    source, ids = Path(path), []
    for number, line in filled_lines(source):
        if len(line.split()) != 1:
            raise DataFormatError(
                f"{source}, line {number}: must be an id, got {shown(line.strip())}"
            )
        ids.append(line.strip())
    if not ids:
        raise DataFormatError(f"{source}: contains no subject")
    return list(dict.fromkeys(ids))


def read_classes(path: AnyPath) -> dict[str, str]:
    r"""Read golden truth with named classes: a CSV file with the columns `Subject` and `label`.

    The classes 0, none and control are `"negative"`, 1 is `"positive"`, others keep their names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "gold.txt")
    ...     _ = path.write_text("Subject,label\nann,anxiety\nbob,none\n")
    ...     read_classes(path)
    {'ann': 'anxiety', 'bob': 'negative'}
    """
    source, table = Path(path), {}
    lines = filled_lines(source)
    number, header = next(lines, (0, ""))
    names = [name.strip().lower() for name in next(csv.reader([header]))] if header else []
    if not {"subject", "label"} <= set(names):
        raise DataFormatError(
            f"{source}: must be a CSV file with the columns Subject and label, got {shown(header)}"
        )
    for number, line in lines:
        row = dict(zip(names, next(csv.reader([line])), strict=False))
        subject, label = ((row.get(name) or "").strip() for name in ("subject", "label"))
        if not subject or not label:
            raise DataFormatError(f"{source}, line {number}: must have a subject and a label")
        if subject in table:
            raise DataFormatError(f"{source}, line {number}: duplicate subject {subject}")
        table[subject] = class_named(label)
    if not table:
        raise DataFormatError(f"{source}: contains no subject")
    return table


def class_named(name: str) -> str:
    """Return the class of a name in golden truth or in a log.

    >>> class_named("Control"), class_named("1"), class_named("anxiety")
    ('negative', 'positive', 'anxiety')
    """
    if name.lower() in _NEGATIVES:
        return NEGATIVE
    return POSITIVE if name == "1" else name


def read_counts(path: AnyPath) -> dict[str, int]:
    """Read the number of writings of each subject, one `subject N` per line."""
    counts = read_table(Path(path), "a number of writings", re.compile("[0-9]{1,9}"))
    return {subject: int(value) for subject, value in counts.items()}


def read_table(path: Path, expected: str, form: re.Pattern[str]) -> dict[str, str]:
    """Read a file of subjects and values separated by spaces or tabs; skip blank lines."""
    table: dict[str, str] = {}
    for number, line in filled_lines(path):
        columns = line.split()
        if len(columns) != 2:
            got = shown(line.strip())
            raise DataFormatError(
                f"{path}, line {number}: must be a subject and {expected}, got {got}"
            )
        subject, value = columns
        if not form.fullmatch(value):
            raise DataFormatError(f"{path}, line {number}: must be {expected}, got {shown(value)}")
        if subject in table:
            also = "" if table[subject] == value else " with another value"
            raise DataFormatError(f"{path}, line {number}: duplicate subject {subject}{also}")
        table[subject] = value
    if not table:
        raise DataFormatError(f"{path}: contains no subject")
    return table


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a table that are not blank, with their numbers."""
    data = contents(path, _LARGEST_TABLE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = data.count(b"\n", 0, error.start) + 1
        raise DataFormatError(f"{path}, line {place}: not UTF-8") from None
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        if line and not line.isspace():
            yield number, line


_TRUTH = re.compile(r".*(golden|ground).*truth.*\.txt", re.IGNORECASE)
_GOLD = re.compile(r"gold(?!en).*\.(txt|csv)", re.IGNORECASE)  # MentalRiskES
_GOLD_FOLDER = re.compile("gold(?!en).*", re.IGNORECASE)
_ALIKE = re.compile(r".*(truth|golden).*\.(txt|tsv|csv|qrels?)", re.IGNORECASE)
_DECIMAL = re.compile(r"[0-9]*\.[0-9]+")
_CHUNK = re.compile(r"_[0-9]{1,2}$")
_DEPTH = 3  # levels below a folder with golden truth to search for files of subjects


class CollectionWarning(DataWarning):
    """A collection is inconsistent, but readable."""


def warn_about_data(message: str) -> None:
    """Issue a `CollectionWarning` for a function that `read_collection` or `score_run` calls."""
    # At the caller of `read_erisk` or `score_runs`.
    warnings.warn(message, CollectionWarning, stacklevel=5)


def truth_in(folder: Path) -> Path | None:
    """Return the file with the golden truth in a folder, if there is one."""
    return only(folder, _TRUTH, "truth")


def truth_of(folder: Path, subjects: Sequence[Subject]) -> Path | None:
    """Return the file with the golden truth about the subjects in a folder, if there is one.

    Since 2019 it is one level above the files, where it is used only if it names a subject. That of
    MentalRiskES is a CSV file, also in a folder `gold` beside the files; of several, for several
    tasks, the one with the classes 0 and 1 is used, otherwise the only one with classes. Without
    golden truth, warn with a `CollectionWarning` about a file nearby that looks like it.
    """
    if own := truth_in(folder):
        return own
    if all(subject.label is not None for subject in subjects):
        return None
    names = {subject.id for subject in subjects}
    above = folder.absolute().parent
    found = [path for path in _found(matching, above, _TRUTH) if names & (_named_in(path) or set())]
    if len(found) > 1:
        files = ", ".join(path.name for path in found)
        raise DataFormatError(f"{above}: several truth files about {folder} (keep one): {files}")
    if not found and (gold := _gold_about(folder, above, names)):
        return gold
    if not found:
        for path in _unused(folder, above, names):
            warn_about_data(
                f"{path}: looks like golden truth, but is not used for {folder}, whose subjects "
                "have no labels (if it is theirs, move it next to their files)"
            )
    return found[0] if found else None


def with_truth(path: Path, folder: Path, subjects: list[Subject], part: str) -> list[Subject]:
    """Return the subjects of a folder with the labels of golden truth; raise if folders contradict.

    Subjects named in the truth without writings are added without posts: the official measures
    count them as never alerted. `part` is the prefix of the names of the subjects that were read.
    """
    truth = read_classes(path) if _GOLD.fullmatch(path.name) else read_truth(path)
    seen = {subject.id for subject in subjects}
    if unknown := [subject.id for subject in subjects if subject.id not in truth]:
        raise DataFormatError(f"{path}: {listed(unknown)} missing, but with files")
    for subject in subjects:
        if subject.label not in (None, truth[subject.id]):
            raise DataFormatError(
                f"{path}: {subject.id} is {truth[subject.id]}, but among the {subject.label} files"
            )
    found = [replace(subject, label=truth[subject.id]) for subject in subjects]
    silent = [name for name in truth if name not in seen and name.startswith(part)]
    if silent and path.parent != folder:
        elsewhere = set(names_below(path.parent, _DEPTH, folder.absolute()))
        elsewhere |= {_CHUNK.sub("", name) for name in elsewhere}
        silent = [name for name in silent if name not in elsewhere]
    if silent:
        warn_about_data(
            f"{path}: {listed(silent)} listed, but without writings; counted as never alerted, as "
            "in the official measures"
        )
    chunks = (0,) * CHUNKS if any(subject.chunks is not None for subject in subjects) else None
    return found + [Subject(name, (), truth[name], chunks) for name in silent]


def _gold_about(folder: Path, above: Path, names: set[str]) -> Path | None:
    """Return the file with the classes of these subjects, as MentalRiskES names it."""
    folders = [folder, above]
    folders += [path for path in _found(subfolders, above) if _GOLD_FOLDER.fullmatch(path.name)]
    classes: dict[Path, set[str]] = {}
    for path in (path for each in folders for path in _found(matching, each, _GOLD)):
        with contextlib.suppress(DataFormatError):  # a task with other columns
            table = read_classes(path)
            is_regression = any(_DECIMAL.fullmatch(label) for label in table.values())
            if names & table.keys() and not is_regression:
                classes[path] = set(table.values())
    binary = [path for path in classes if classes[path] <= {POSITIVE, NEGATIVE}]
    chosen = binary or list(classes)
    if len(chosen) > 1:
        files = ", ".join(path.name for path in chosen)
        raise DataFormatError(f"{above}: several truth files about {folder} (keep one): {files}")
    return chosen[0] if chosen else None


def _unused(folder: Path, above: Path, names: set[str]) -> list[Path]:
    """Return files that look like golden truth in a folder, its parent and its siblings."""
    found = _found(matching, folder, _ALIKE) + _found(matching, above, _ALIKE)
    for beside in _found(subfolders, above):
        if beside != folder.absolute():
            alike = _found(matching, beside, _ALIKE)
            # A collection's truth is about its own subjects, unless it names others.
            if alike and (_found(subfolders, beside) or any(subject_files(beside))):
                alike = [path for path in alike if names & (_named_in(path) or set())]
            found += alike
    return found


def _named_in(path: Path) -> set[str] | None:
    """Return the subjects named in golden truth, or None if it is unreadable."""
    try:
        return set(read_truth(path))
    except DataFormatError:
        return None


def _found(find: Callable[..., list[Path]], folder: Path, *given: Any) -> list[Path]:
    """Return what is found in a folder; nothing if it cannot be listed."""
    try:
        return find(folder, *given)
    except DataFormatError:
        return []
