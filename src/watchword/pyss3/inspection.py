"""Inspection of an SS3: values, word lists, pictures, files."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from watchword._display import csv_of
from watchword._files import AnyPath, atomic_file
from watchword.explain.chart import plot_name
from watchword.model.tau_ss3 import TauSS3
from watchword.pyss3 import reading, vocabulary
from watchword.pyss3.constants import (
    IDX_UNKNOWN_CATEGORY,
    STR_MODEL_EXT,
    STR_MODEL_FOLDER,
    STR_MOST_PROBABLE,
    STR_UNKNOWN,
    Style,
)
from watchword.pyss3.counts import CategoryCounts
from watchword.pyss3.reading import Cleaner, clean
from watchword.pyss3.settings import Configured

_Same = TypeVar("_Same", bound="Inspected")


class Inspected(Configured):
    """Methods of an SS3 that inspect the model, not documents."""

    # Values

    def cv(self, ngram: str, cat: Hashable) -> float:
        """Return the confidence value of an n-gram for a category.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.cv("soup", "food"), clf.cv("soup", "sports")
        (1.0, 0.0)
        """
        return self._value("cv", ngram, cat)

    def gv(self, ngram: str, cat: Hashable) -> float:
        """Return the global value of an n-gram for a category."""
        return self._value("gv", ngram, cat)

    def lv(self, ngram: str, cat: Hashable) -> float:
        """Return the local value of an n-gram for a category."""
        return self._value("lv", ngram, cat)

    def sg(self, ngram: str, cat: Hashable) -> float:
        """Return the significance factor of an n-gram for a category."""
        return self._value("sg", ngram, cat)

    def sn(self, ngram: str, cat: Hashable) -> float:
        """Return the sanction factor of an n-gram for a category."""
        return self._value("sn", ngram, cat)

    def _value(self, name: str, ngram: str, cat: Hashable) -> float:
        words = reading.split(self._delimiters.word, ngram)
        if not words:
            return 0
        category = self._known(cat)
        if not all(self._view.knows(word) for word in words):
            return 0
        return self._view.value(name, words, category)

    # Word lists

    def get_most_probable_category(self) -> Any:
        """Return the category with the most words; of equals, the last."""
        self._refuse_if_empty()
        return self._counts.names[self._counts.most_probable()]

    def __get_most_probable_category__(self) -> int:
        return self._counts.most_probable()

    def get_ngrams_length(self) -> int:
        """Return the length of the longest n-gram ever learnt; 0 for an empty model."""
        return self._counts.longest()

    def get_next_words(
        self, sent: str, cat: Hashable, n: int | None = None
    ) -> list[tuple[str, int, float]]:
        """Return the words seen after the end of a sentence: (word, count, share), most first.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.learn("hot soup, hot soup, hot tea", "food", n_grams=2)
        >>> clf.get_next_words("so hot", "food", n=1)
        [('soup', 2, 0.6666666666666666)]
        """
        category = self._known(cat)
        words = clean(sent).strip(".").split(".")[-1].split()
        return self._view.next_words(words, category)[:n]

    def get_stopwords(self, sg_threshold: float = 0.01) -> list[str]:
        """Return the words with a significance below the threshold in every category.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.fit(["the soup, the soup", "the match, the match"], ["food", "sports"])
        >>> clf.get_stopwords()
        ['the']
        """
        return self._view.stopwords(float(sg_threshold or 0.01)) if self._counts.names else []

    def save_vocab(self, path: AnyPath = "./", n_grams: int = -1) -> None:
        """Write a CSV per category and length of n-grams: term, fr, gv, cv, best first."""
        for cat in self._counts.names:
            self.save_cat_vocab(cat, path, n_grams)

    def save_cat_vocab(self, cat: Hashable, path: AnyPath = "./", n_grams: int = -1) -> None:
        """Write a CSV per length of the n-grams of one category."""
        view, category, name = self._view, self._known(cat), vocabulary.file_name(str(cat))
        for length in range(1, (view.longest if n_grams == -1 else n_grams) + 1):
            rows = [
                {
                    "term": one.words.replace(" ", "_"),
                    "fr": one.fr,
                    "gv": f"{one.gv:f}",
                    "cv": f"{one.cv:f}",
                }
                for one in view.ranked(category, length)
            ]
            if rows:
                place = Path(path) / f"ss3_vocab_{name}({vocabulary.length_kind(length)}).csv"
                with atomic_file(place) as file:
                    file.write(csv_of(rows).encode())

    def save_wordcloud(
        self,
        cat: Hashable,
        top_n: int = 100,
        n_grams: int = 1,
        path: AnyPath | None = None,
        size: int = 1024,
        shape: str = "circle",
        palette: str | None = None,
        color: str | Sequence[str] | None = None,
        background_color: str = "white",
        plot: bool = False,
    ) -> Path | None:
        """Write a word cloud of the n-grams of highest value, and return its path.

        An SVG by default; a path that ends in `.png` needs matplotlib (`watchword[plot]`). `shape`
        and `palette` are accepted and change nothing. Without n-grams of this length, nothing is
        written.
        """
        if min(top_n, n_grams, size) < 1:
            raise ValueError("top_n, n_grams and size must be at least 1")
        ranked = islice(self._view.ranked(self._known(cat), n_grams), top_n)
        return vocabulary.write_cloud(
            ranked,
            vocabulary.cloud_path(path, str(cat), top_n, n_grams),
            size=size,
            color=color,
            background=background_color,
            show=plot,
        )

    def plot_value_distribution(self, cat: Hashable) -> None:
        """Plot the local and the global values of a category's words, best first.

        Needs matplotlib (`watchword[plot]`).
        """
        view, category = self._view, self._known(cat)
        words = [one for one in view.ranked(category, 1) if one.gv > view.alpha]
        ax = vocabulary.shown_axes(20, 10)
        ranks = range(1, len(words) + 1)
        ax.plot(ranks, [one.lv for one in words], label="local value ($lv$)", color="#7f7d7e")
        ax.plot(ranks, [one.gv for one in words], label="global value ($gv$)", color="#2ca02c")
        ax.set_title(f"Word Value Distribution ({plot_name(str(cat))})")
        ax.set_xlabel("Word Rank")
        ax.set_ylabel("Value")
        ax.legend()
        vocabulary.show_plots()

    # Printing

    def print_model_info(self) -> None:
        """Print the name of the model."""
        print(f"\n {_heading('NAME')}: {Style.warning(self.get_name())}\n")

    def print_hyperparameters_info(self) -> None:
        """Print the hyperparameters."""
        print(f"\n {_heading('HYPERPARAMETERS')}:\n")
        names = ("Smoothness(s)", "Significance(l)", "Sanction(p)", "Alpha(a)")
        for name, value in zip(names, self.get_hyperparameters(), strict=True):
            print(f"\t{name}: {Style.warning(value)}")

    def print_categories_info(self) -> None:
        """Print the categories: index, number of words learnt, number of different words."""
        categories = self.get_categories(all=True)
        if not categories:
            print(f"\n {_heading('CATEGORIES')}: None\n")
            return
        print(f"\n {_heading('CATEGORIES')}:\n")
        width = max(8, *(len(str(category)) for category in categories))
        print(f"\t{'Category':^{width}} | {'Index':^5} | {'Length':^10} | {'Vocab. Size':^11}")
        for index, category in enumerate(categories):
            learnt, different = self._counts.words_of(index)
            name = Style.warning(f"{category!s:^{width}}")
            print(f"\t{name} | {index:^5} | {learnt:^10} | {different:^11}")
        most_probable = Style.warning(self.get_most_probable_category())
        print(f"\n\t{Style.ubold('Most Probable Category')}: {most_probable}\n")

    def print_ngram_info(self, ngram: str) -> None:
        """Print the count and the values of an n-gram for each category that has it."""
        categories = self.get_categories(all=True)
        words = reading.split(self._delimiters.word, ngram)
        kind = f"{len(words)}-GRAM" if len(words) > 1 else "WORD"
        is_known = bool(categories) and all(map(self._view.knows, words))
        print(f"\n {_heading(kind)}: {Style.warning(ngram)}{'' if is_known else ' (is unknown)'}\n")
        if not is_known:
            return
        width = max(8, *(len(str(category)) for category in categories))
        names = ("lv", "sg", "sn", "gv", "cv")
        print(f" {'Category':<{width}} |    fr    | " + " | ".join(f"{name:<5}" for name in names))
        for index, category in enumerate(categories):
            if fr := int(self._view.value("count", words, index)):
                values = (f"{self._view.value(name, words, index):.3f}" for name in names)
                label = Style.warning(f"{category!s:<{width}}")
                print(f" {label} | {fr:^8} | " + " | ".join(values))
        print()

    # Saving

    def set_model_path(self, path: AnyPath) -> None:
        """Set the folder in which the folder `ss3_models` is."""
        self._folder = Path(path) / STR_MODEL_FOLDER

    def save_model(self, path: AnyPath | None = None) -> None:
        """Write the model to `ss3_models/NAME.ww`, which `watchword.TauSS3.load` reads as well."""
        self._refuse_if_empty()
        if path:
            self.set_model_path(path)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._counts.save(self._view, self._folder / f"{self._name}.ww", self._settings.multilabel)

    save = save_model

    def load_model(self, path: AnyPath | None = None) -> None:
        """Read the model from `ss3_models/NAME.ww` or, without that, from PySS3's `NAME.ss3m`."""
        if path:
            self.set_model_path(path)
        own = self._folder / f"{self._name}.ww"
        theirs = self._folder / f"{self._name}.{STR_MODEL_EXT}"
        found = CategoryCounts.load(own) if own.exists() else CategoryCounts.of_pyss3(theirs)
        self._counts, self._settings = found

    load = load_model

    @classmethod
    def from_file(cls: type[_Same], path: AnyPath) -> _Same:
        """Return the classifier in a file of PySS3, wherever it is."""
        clf = cls(name=Path(path).stem)
        clf._counts, clf._settings = CategoryCounts.of_pyss3(path)
        return clf

    def to_watchword(
        self,
        *,
        prep: bool = True,
        prep_func: Cleaner | None = None,
        def_cat: Hashable = STR_MOST_PROBABLE,
    ) -> TauSS3:
        """Return this model as a `watchword.TauSS3`, with the same counts and values.

        With `prep_func`, or with other delimiters, it has a tokenizer. It adds values up, whatever
        the summary operators.

        >>> from watchword.pyss3 import SS3
        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.to_watchword().predict_one("the soup")
        'food'
        """
        self._refuse_if_empty()
        tokenizer = None
        if prep_func or not prep or not self._delimiters.are_default:
            cleaner = prep_func or (reading.clean_piece if prep else None)
            tokenizer = reading.PieceTokenizer(self._delimiters, cleaner)
        return self._counts.to_watchword(self._view, tokenizer, self._default(def_cat))

    def untaught(self: _Same) -> _Same:
        """Return a classifier with the same settings that has learnt nothing."""
        modes = self._settings.cv_mode, self._settings.sg_mode
        twin = type(self)(*self.get_hyperparameters(), self._name, *modes)
        twin._delimiters = self._delimiters
        twin._operators = dict(self._operators)
        return twin

    def _default(self, def_cat: Hashable) -> int:
        """Return the index of the default category; -1 for none."""
        if (not def_cat and def_cat != 0) or def_cat == STR_UNKNOWN:
            return IDX_UNKNOWN_CATEGORY
        if def_cat == STR_MOST_PROBABLE:
            return self._counts.most_probable()
        return self._known(def_cat)


def _heading(text: str) -> str:
    return Style.green(Style.ubold(text))
