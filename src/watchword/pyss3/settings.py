"""The settings of an SS3: hyperparameters, modes, delimiters, summary operators, name."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from watchword._checks import as_choice, as_number
from watchword.pyss3 import constants
from watchword.pyss3.counts import LEAST_SMOOTHNESS, CategoryCounts, View
from watchword.pyss3.model_file import SavedSettings
from watchword.pyss3.reading import Delimiters, Operators, VectorOperator

_LEFT_OUT = {
    "get_word": "use the words themselves, for example in cv()",
    "get_word_index": "use the words themselves, for example in cv()",
}


def plain_label(label: Hashable) -> Hashable:
    """Return the Python object of a NumPy scalar, and other labels as they are."""
    return label.item() if isinstance(label, np.generic) else label


class Configured:
    """The settings of an SS3, and its categories."""

    __prun_floor__ = 10
    __prun_trigger__ = 1_000_000

    def __init__(
        self,
        s: float | None = None,
        l: float | None = None,
        p: float | None = None,
        a: float | None = None,
        name: str = "",
        cv_m: str = constants.STR_NORM_GV_XAI,
        sg_m: str = constants.STR_XAI,
    ) -> None:
        self._settings = SavedSettings({"s": 0.45, "l": 0.5, "p": 1.0, "a": 0.0}, cv_m, sg_m)
        self.set_hyperparameters(s, l, p, a)
        as_choice("cv_m", cv_m, constants.CV_MODES)
        as_choice("sg_m", sg_m, constants.SG_MODES)
        self._name = (name or "model").lower()
        self._folder = Path(constants.STR_MODEL_FOLDER)
        self._delimiters = Delimiters()
        self._operators: dict[str, VectorOperator] = {}
        self._counts = CategoryCounts()

    def __getattr__(self, name: str) -> Any:
        if name in _LEFT_OUT:
            raise constants.LeftOutError(
                f"SS3.{name} is not part of watchword.pyss3: {_LEFT_OUT[name]} ({constants.PAGE})"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:g}" for name, value in self._settings.values.items())
        return f"<SS3 {self._name!r} of {len(self._counts.names)} categories: {values}>"

    # Hyperparameters

    def set_hyperparameters(
        self,
        s: float | None = None,
        l: float | None = None,
        p: float | None = None,
        a: float | None = None,
    ) -> None:
        """Set the hyperparameters that are given; counts are kept, and nothing is recomputed.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.set_hyperparameters(s=0.32, p=1.1)
        >>> clf.get_hyperparameters()
        (0.32, 0.5, 1.1, 0.0)
        """
        for name, value in (("s", s), ("l", l), ("p", p), ("a", a)):
            if value is not None:
                self._set(name, value)

    def get_hyperparameters(self) -> tuple[float, float, float, float]:
        """Return the hyperparameters (s, l, p, a)."""
        return self.get_s(), self.get_l(), self.get_p(), self.get_a()

    def _set(self, name: str, value: float) -> None:
        try:
            number = as_number(name, value)
        except TypeError:
            raise ValueError(
                f"hyperparameter values must be numbers, got {name}={value!r}"
            ) from None
        highest = 1 if name == "s" else np.inf
        if not 0 <= number <= highest:
            wanted = "in [0, 1]" if name == "s" else "at least 0"
            raise ValueError(f"{name} must be {wanted}, got {number:g}")
        self._settings.values[name] = number

    def set_s(self, value: float) -> None:
        """Set the smoothness σ."""
        self._set("s", value)

    def set_l(self, value: float) -> None:
        """Set the significance λ."""
        self._set("l", value)

    def set_p(self, value: float) -> None:
        """Set the sanction ρ."""
        self._set("p", value)

    def set_a(self, value: float) -> None:
        """Set α: confidence values up to it are ignored in classification."""
        self._set("a", value)

    def get_s(self) -> float:
        """Return the smoothness σ."""
        return self._settings.values["s"]

    def get_l(self) -> float:
        """Return the significance λ."""
        return self._settings.values["l"]

    def get_p(self) -> float:
        """Return the sanction ρ."""
        return self._settings.values["p"]

    def get_a(self) -> float:
        """Return α."""
        return self._settings.values["a"]

    set_smoothness, get_smoothness = set_s, get_s
    set_significance, get_significance = set_l, get_l
    set_sanction, get_sanction = set_p, get_p
    set_alpha, get_alpha = set_a, get_a

    # How text is read

    def set_block_delimiters(
        self, parag: str | None = None, sent: str | None = None, word: str | None = None
    ) -> None:
        r"""Set the regular expressions that separate paragraphs, sentences and words.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.set_block_delimiters(parag="\n\n", sent=r"[.!?]")
        """
        given = {"paragraph": parag, "sentence": sent, "word": word}
        chosen = {name: value for name, value in given.items() if value}
        try:
            for pattern in chosen.values():
                re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(f"the delimiter {pattern!r} is not a pattern: {error}") from None
        self._delimiters = Delimiters(**{**vars(self._delimiters), **chosen})

    def set_delimiter_paragraph(self, regex: str) -> None:
        """Set the regular expression that separates paragraphs."""
        self.set_block_delimiters(parag=regex)

    def set_delimiter_sentence(self, regex: str) -> None:
        """Set the regular expression that separates sentences."""
        self.set_block_delimiters(sent=regex)

    def set_delimiter_word(self, regex: str) -> None:
        """Set the regular expression that separates words."""
        self.set_block_delimiters(word=regex)

    # Summary operators

    @property
    def _summary(self) -> Operators:
        return Operators(**self._operators)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("summary_op_") and callable(value):
            self._operators[name.removeprefix("summary_op_")] = value
        else:
            super().__setattr__(name, value)

    def summary_op_ngrams(self, cvs: Sequence[Sequence[float]]) -> Sequence[float]:
        """Add the vectors of a sentence's n-grams; assign another function to replace it."""
        return self._summary.ngrams(cvs)

    def summary_op_sentences(self, cvs: Sequence[Sequence[float]]) -> Sequence[float]:
        """Add the vectors of a paragraph's sentences; assign another function to replace it."""
        return self._summary.sentences(cvs)

    def summary_op_paragraphs(self, cvs: Sequence[Sequence[float]]) -> Sequence[float]:
        """Add the vectors of a document's paragraphs; assign another function to replace it."""
        return self._summary.paragraphs(cvs)

    # Categories

    def get_name(self) -> str:
        """Return the name of the model."""
        return self._name

    def set_name(self, name: str) -> None:
        """Set the name of the model, which is also that of its file."""
        self._name = name

    def get_categories(self, all: bool = False) -> list[Any]:
        """Return the categories; with `all`, also the one of documents without a label."""
        return [name for name in self._counts.names if all or name != constants.STR_OTHERS_CATEGORY]

    def get_category_index(self, name: Hashable) -> int:
        """Return the index of a category, or -1 (`IDX_UNKNOWN_CATEGORY`)."""
        return self._counts.index.get(plain_label(name), constants.IDX_UNKNOWN_CATEGORY)

    def get_category_name(self, index: int | list[int]) -> Any:
        """Return the category with an index, or "[unknown]" (`STR_UNKNOWN_CATEGORY`)."""
        at = index[0] if isinstance(index, list) else index
        names = self._counts.names
        return names[at] if 0 <= at < len(names) else constants.STR_UNKNOWN_CATEGORY

    def _refuse_if_empty(self) -> None:
        if not self._counts.names:
            raise constants.EmptyModelError

    def _known(self, cat: Hashable) -> int:
        index = self.get_category_index(cat)
        if index == constants.IDX_UNKNOWN_CATEGORY:
            raise constants.InvalidCategoryError(f"The given category is not valid: {cat!r}")
        return index

    @property
    def _view(self) -> View:
        values = self._settings.values
        return self._counts.view(
            smoothness=max(values["s"], LEAST_SMOOTHNESS),
            significance=values["l"],
            sanction=values["p"],
            alpha=values["a"],
            significance_function=self._settings.sg_mode,
            confidence_function=self._settings.cv_mode,
            prune_period=self.__prun_trigger__,
            prune_floor=self.__prun_floor__,
        )
