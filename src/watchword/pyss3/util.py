"""PySS3's module util: datasets, evaluations, preprocessing, printing and a few functions."""

from __future__ import annotations

import atexit
import io
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.request import urlopen

import numpy as np

from watchword._files import AnyPath
from watchword.data.folders import is_clutter, natural
from watchword.errors import DataFormatError
from watchword.model.engine import decide_several
from watchword.pyss3.constants import VERBOSITY, Print, Style, refusing, set_verbosity
from watchword.pyss3.evaluation import Evaluation
from watchword.pyss3.reading import clean

if TYPE_CHECKING:
    from watchword.pyss3.classifier import SS3

__all__ = [
    "VERBOSITY",
    "Dataset",
    "Evaluation",
    "Preproc",
    "Print",
    "RecursiveDefaultDict",
    "Style",
    "frange",
    "membership_matrix",
    "set_verbosity",
    "span",
]

_DOWNLOAD_LIMIT = 1 << 30  # bytes
_UNPACKED_LIMIT = 1 << 32

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
    def load_from_url(
        zip_url: str,
        inner_path: str | None = None,
        folder_label: bool = True,
        as_single_doc: bool = False,
        sep_doc: str = "\n",
    ) -> tuple[list[str], list[str]]:
        """Download a zip file, or open a local one, and read it as `load_from_files` does.

        `inner_path` is a path in the zip file. What was downloaded is kept until the program ends,
        and read again for the same URL.
        """
        folder = _downloaded(zip_url, inner_path)
        return Dataset.load_from_files(folder, folder_label, as_single_doc, sep_doc)

    @staticmethod
    def load_from_url_multilabel(
        zip_url: str,
        labels_path: AnyPath,
        inner_path: str | None = None,
        sep_label: str | None = None,
        sep_doc: str = "\n",
    ) -> tuple[list[str], list[list[str]]]:
        """Download a zip file and read it as `load_from_files_multilabel` does."""
        documents = _downloaded(zip_url, inner_path)
        return Dataset.load_from_files_multilabel(documents, labels_path, sep_label, sep_doc)

    _downloads: ClassVar[dict[str, Path]] = {}


class RecursiveDefaultDict(dict[Any, Any]):
    """A dictionary whose missing values are such dictionaries.

    >>> numbers = RecursiveDefaultDict()
    >>> numbers["a"]["b"] = 1
    >>> numbers
    {'a': {'b': 1}}
    """

    def __missing__(self, key: object) -> RecursiveDefaultDict:
        self[key] = RecursiveDefaultDict()
        return self[key]  # type: ignore[no-any-return]


def membership_matrix(
    clf: SS3, y_data: Sequence[Sequence[Any]], labels: bool = True, show_pbar: bool = True
) -> Any:
    """Return a row per document, with 1 in the columns of its categories.

    A sparse matrix of SciPy, as in PySS3, or an array where SciPy is not installed.
    """
    categories = clf.get_categories()
    if not categories:
        raise ValueError("The `clf` classifier has not been trained yet!")
    names = categories if labels else [clf.get_category_index(name) for name in categories]
    matrix = np.zeros((len(y_data), len(names)), np.int8)
    for row, document_labels in enumerate(y_data):
        for label in document_labels:
            if label in names:
                matrix[row, names.index(label)] = 1
    try:
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
    except ImportError:
        return matrix
    return csr_matrix(matrix)


def sigmoid(v: float, l: float) -> float:
    """Return PySS3's sigmoid function of significance.

    >>> sigmoid(0.5, 0.5)
    0.5
    """
    return 0.5 * math.tanh(3 / l * v - 3) + 0.5 if l else 0


def mad(values: Sequence[float], n: int) -> tuple[float, float]:
    """Return the median of `n` values, zeros included, and the mean distance from it.

    >>> mad([1, 10, 1], 3)
    (1, 3.0)
    """
    padded = sorted([*values, *[0] * (n - len(values))])
    if n == 2:
        return padded[0], padded[0]
    median = padded[n // 2 if n % 2 else n // 2 - 1]
    return median, sum(abs(median - value) for value in padded) / n


def kmean_multilabel_size(res: Sequence[tuple[Any, float]]) -> int:
    """Return how many of the categories of `SS3.classify` are in the upper of two clusters.

    >>> kmean_multilabel_size([(0, 8.1), (1, 5.6), (2, 0.4)])
    2
    """
    values = np.array([[value for _, value in res]], np.float64)
    if values[0, 0] == values[0, -1]:
        return 0
    return len(decide_several(range(len(res)), values)[0])


__getattr__ = refusing(
    __name__,
    {"is_a_collection": "use isinstance", "list_by_force": "use list", "round_fix": "use round"},
)


def _downloaded(url: str, inner_path: str | None) -> Path:
    """Return the folder of an unpacked zip file, downloaded unless it was before."""
    folder = Dataset._downloads.get(url)
    if folder is None:
        Print.info("downloading zip file...")
        with Path(url).open("rb") if Path(url).exists() else urlopen(url) as source:  # noqa: S310
            archive = source.read(_DOWNLOAD_LIMIT + 1)
        if len(archive) > _DOWNLOAD_LIMIT:
            raise DataFormatError(f"{url} has more than {_DOWNLOAD_LIMIT >> 20} MB")
        folder = Path(tempfile.mkdtemp(prefix="watchword-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _unpack(archive, folder, url)
        Dataset._downloads[url] = folder
    entries = list(folder.iterdir())
    return (entries[0] if len(entries) == 1 else folder) / (inner_path or "")


def _unpack(archive: bytes, folder: Path, url: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            if sum(member.file_size for member in packed.infolist()) > _UNPACKED_LIMIT:
                raise DataFormatError(f"{url} unpacks to more than {_UNPACKED_LIMIT >> 20} MB")
            packed.extractall(folder)
    except zipfile.BadZipFile:
        raise DataFormatError(f"{url} is not a zip file") from None


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
