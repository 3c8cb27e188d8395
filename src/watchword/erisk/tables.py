"""Tables of subjects: golden truth, numbers of writings, lists of ids."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from watchword._files import AnyPath
from watchword.data.flaws import shown
from watchword.erisk.listing import contents
from watchword.errors import DataFormatError

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
