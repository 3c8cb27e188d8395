"""PySS3's module util: datasets, evaluations, preprocessing and ranges of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from watchword._files import AnyPath
from watchword.data.folders import is_clutter, natural
from watchword.errors import DataFormatError
from watchword.pyss3.constants import PAGE, VERBOSITY, LeftOutError, set_verbosity
from watchword.pyss3.evaluation import Evaluation
from watchword.pyss3.reading import clean

if TYPE_CHECKING:
    from watchword.pyss3.classifier import SS3

__all__ = [
    "VERBOSITY",
    "Dataset",
    "Evaluation",
    "Preproc",
    "frange",
    "membership_matrix",
    "set_verbosity",
    "span",
]

span = np.linspace
frange = np.arange


class Preproc:
    """PySS3's preprocessing."""

    clean_and_ready = staticmethod(clean)


class Dataset:
    """Readers of documents and labels."""

    @staticmethod
    def load_from_files(
        data_path: AnyPath,
        folder_label: bool = True,
        as_single_doc: bool = False,
        sep_doc: str = "\n",
    ) -> tuple[list[str], list[str]]:
        r"""Read documents from a folder per category, or from a file per category.

        With `folder_label=False`, `sep_doc` separates the documents of a file, unless
        `as_single_doc`. Files are read in the order of their names; hidden files are left out.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "food.txt").write_text("hot soup\ncold soup")
        ...     Dataset.load_from_files(folder, folder_label=False)
        (['hot soup', 'cold soup'], ['food', 'food'])
        """
        texts: list[str] = []
        labels: list[str] = []
        for entry in _entries(Path(data_path)):
            if folder_label and entry.is_dir():
                own = [_text_of(file) for file in _entries(entry) if file.is_file()]
                name = entry.name
            elif not folder_label and entry.is_file():
                whole = _text_of(entry)
                own = [whole] if as_single_doc else whole.split(sep_doc)
                name = entry.stem
            else:
                continue
            texts += own
            labels += [name] * len(own)
        return texts, labels

    @staticmethod
    def load_from_files_multilabel(
        docs_path: AnyPath,
        labels_path: AnyPath,
        sep_label: str | None = None,
        sep_doc: str = "\n",
    ) -> tuple[list[str], list[list[str]]]:
        r"""Read documents with several labels each: from a folder, or from a single file.

        With a folder, each line of the file of labels has the name of a document and one label,
        separated by `sep_label` (by default spaces). With a file, each line has the labels of one
        document, separated by `sep_label` (by default `;`).

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     docs, labels = Path(folder, "docs.txt"), Path(folder, "labels.txt")
        ...     _ = docs.write_text("hot soup\na match"), labels.write_text("food;drink\nsports")
        ...     Dataset.load_from_files_multilabel(docs, labels)
        (['hot soup', 'a match'], [['food', 'drink'], ['sports']])
        """
        lines = _text_of(Path(labels_path)).split("\n")
        if Path(docs_path).is_dir():
            by_name = _labels_by_name(lines, sep_label or r"\s+")
            texts = [_text_of(Path(docs_path) / _file_of(name)) for name in by_name]
            return texts, list(by_name.values())
        labels = [
            [one.strip() for one in re.split(sep_label or ";", line)] if line else []
            for line in lines
        ]
        texts = _text_of(Path(docs_path)).split(sep_doc)
        if len(texts) < len(labels):
            raise DataFormatError(
                f"{labels_path} has {len(labels)} lines, but {docs_path} {len(texts)} documents"
            )
        return texts[: len(labels)], labels

    @staticmethod
    def load_from_url(*_: object, **__: object) -> NoReturn:
        """Raise an error: watchword does not download."""
        raise LeftOutError(
            "watchword does not download datasets: download and unpack the archive, then use "
            f"Dataset.load_from_files ({PAGE})"
        )

    load_from_url_multilabel = load_from_url


def membership_matrix(
    clf: SS3, y_data: Sequence[Sequence[Any]], labels: bool = True, show_pbar: bool = True
) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return a row per document, with 1 in the columns of its categories.

    The array is dense, where PySS3 returns a sparse matrix of SciPy.
    """
    categories = clf.get_categories()
    if not categories:
        raise ValueError("The `clf` classifier has not been trained yet!")
    names = categories if labels else [clf.get_category_index(one) for one in categories]
    matrix = np.zeros((len(y_data), len(names)), np.int8)
    for row, own in enumerate(y_data):
        for label in own:
            if label in names:
                matrix[row, names.index(label)] = 1
    return matrix


def __getattr__(name: str) -> NoReturn:
    if name in ("Print", "Style"):
        raise LeftOutError(
            f"watchword.pyss3.util has no {name}: use print, or a logger of your own ({PAGE})"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _entries(folder: Path) -> list[Path]:
    found = [entry for entry in folder.iterdir() if not is_clutter(entry.name)]
    return sorted(found, key=lambda entry: natural(entry.name))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{path} is not UTF-8: {error}") from None


def _labels_by_name(lines: list[str], separator: str) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for line in lines:
        name, *label = re.split(separator, line.rstrip())
        if name:
            own = by_name.setdefault(name, [])
            own += [" ".join(label)] if label else []
    return by_name


def _file_of(name: str) -> str:
    return name if "." in name else f"{name}.txt"
