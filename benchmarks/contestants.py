"""One contestant in one fresh process: `python contestants.py NAME CORPUS` prints what it took.

Each contestant gets the raw texts in memory. `convert_*` is the work that a user must do to bring
text into the form that the program reads (nothing for most); it is timed apart from `learn` and
`classify`, which hold the program's own tokenizing. Libraries are imported before the clock runs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from importlib import metadata
from pathlib import Path
from typing import Any

from corpus import Corpus, read_corpus
from process import MemoryGrowth, Stopwatch
from report import BenchmarkError


class Contestant(ABC):
    """Learns the training texts, then names a label for every test text."""

    package: str
    measured: str
    threads = 1

    def convert_train(self, texts: list[str], labels: list[str]) -> Any:
        return texts, labels

    def convert_test(self, texts: list[str]) -> Any:
        return texts

    @abstractmethod
    def learn(self, converted: Any) -> None: ...

    @abstractmethod
    def classify(self, converted: Any) -> list[str]: ...


class Watchword(Contestant):
    package = "watchword"
    measured = "TauSS3.paper(): 3-grams, gv, the paper's reading"

    def __init__(self) -> None:
        import watchword

        self.model = watchword.TauSS3.paper()

    def learn(self, converted: Any) -> None:
        self.model.learn_many(*converted, threads=self.threads)

    def classify(self, converted: Any) -> list[str]:
        return list(self.model.predict_many(converted, threads=self.threads))


class WatchwordTwoThreads(Watchword):
    threads = 2
    measured = "the same with threads=2"


class WatchwordWords(Contestant):
    """No contestant, but what bounds the others: how fast characters become words."""

    package = "watchword"
    measured = "characters to words only: nothing is learnt and nothing classified"

    def __init__(self) -> None:
        from watchword.model.text import TextSource

        self._source = TextSource("lines")

    def learn(self, converted: Any) -> None:
        texts, _ = converted
        self._read_all(texts)

    def classify(self, converted: Any) -> list[str]:
        self._read_all(converted)
        return []

    def _read_all(self, texts: list[str]) -> None:
        for begin in range(0, len(texts), 256):  # about as much at once as the model does
            self._source.read(texts[begin : begin + 256])


class PySS3(Contestant):
    package = "pyss3"
    measured = "SS3() with its defaults, fit(n_grams=3), predict"

    def __init__(self) -> None:
        import pyss3

        pyss3.set_verbosity(0)
        self.model = pyss3.SS3()

    def learn(self, converted: Any) -> None:
        texts, labels = converted
        self.model.fit(texts, labels, n_grams=3, leave_pbar=False)

    def classify(self, converted: Any) -> list[str]:
        return list(self.model.predict(converted, leave_pbar=False))


class ScikitLearn(Contestant):
    package = "scikit-learn"
    measured = "CountVectorizer(ngram_range=(1, 3)) + MultinomialNB()"

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline

        self.model = make_pipeline(CountVectorizer(ngram_range=(1, 3)), MultinomialNB())

    def learn(self, converted: Any) -> None:
        self.model.fit(*converted)

    def classify(self, converted: Any) -> list[str]:
        return [str(label) for label in self.model.predict(converted)]


class FastText(Contestant):
    package = "fasttext-numpy2-wheel"
    measured = (
        "train_supervised(wordNgrams=3, lr=1, thread=1), else its defaults (5 epochs); predict"
    )

    def __init__(self) -> None:
        import fasttext

        self._train_supervised = fasttext.train_supervised
        self._labels: list[str] = []
        self._folder = tempfile.TemporaryDirectory()

    def convert_train(self, texts: list[str], labels: list[str]) -> Path:
        """fastText trains from a file only: a document per line, its label as a marked word."""
        self._labels = sorted(set(labels))
        numbers = {label: number for number, label in enumerate(self._labels)}
        path = Path(self._folder.name, "train.txt")
        with path.open("w", encoding="utf-8") as lines:
            for text, label in zip(texts, labels, strict=True):
                lines.write(f"__label__{numbers[label]} {text.replace(chr(10), ' ')}\n")
        return path

    def convert_test(self, texts: list[str]) -> list[str]:
        return [text.replace("\n", " ") for text in texts]

    def learn(self, converted: Any) -> None:
        # The default learning rate of 0.1 hardly moves in five epochs over some thousand texts.
        # The rate does not change the speed, and a peer that learns nothing is no comparison.
        self.model = self._train_supervised(
            str(converted), wordNgrams=3, lr=1.0, thread=1, verbose=0
        )

    def classify(self, converted: Any) -> list[str]:
        marked, _ = self.model.predict(converted)
        # No word of the text known: fastText then names no label at all.
        return [
            self._labels[int(first[0].removeprefix("__label__"))] if len(first) else ""
            for first in marked
        ]


class VowpalWabbit(Contestant):
    package = "vowpalwabbit"
    measured = "--oaa K --ngram 3, one pass, its default of 18 bits"
    options = ""

    def __init__(self) -> None:
        import vowpalwabbit

        self._workspace = vowpalwabbit.Workspace
        self._labels: list[str] = []

    def convert_train(self, texts: list[str], labels: list[str]) -> list[str]:
        self._labels = sorted(set(labels))
        numbers = {label: number for number, label in enumerate(self._labels, start=1)}
        pairs = zip(texts, labels, strict=True)
        return [f"{numbers[label]} | {_one_line(text)}" for text, label in pairs]

    def convert_test(self, texts: list[str]) -> list[str]:
        return [f"| {_one_line(text)}" for text in texts]

    def learn(self, converted: Any) -> None:
        arguments = f"--oaa {len(self._labels)} --ngram 3 --quiet {self.options}"
        self.model = self._workspace(arguments)
        for line in converted:
            self.model.learn(line)

    def classify(self, converted: Any) -> list[str]:
        return [self._labels[self.model.predict(line) - 1] for line in converted]


class VowpalWabbit24Bits(VowpalWabbit):
    measured = "the same with -b 24, so that n-grams share fewer weights"
    options = "-b 24"


class WatchwordCounted(Watchword):
    measured = "TauSS3() and learn_many"

    def __init__(self) -> None:
        import watchword

        self.model = watchword.TauSS3()


class WatchwordRefined(WatchwordCounted):
    measured = "TauSS3(), learn_many and refine with its 5 passes and the temperature"

    def learn(self, converted: Any) -> None:
        super().learn(converted)
        self.model.refine(*converted, threads=self.threads)


class LinearSVM(ScikitLearn):
    measured = "TfidfVectorizer(ngram_range=(1, 3)) + LinearSVC()"

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        self.model = make_pipeline(TfidfVectorizer(ngram_range=(1, 3)), LinearSVC())


CONTESTANTS: dict[str, type[Contestant]] = {
    "watchword": Watchword,
    "watchword-2-threads": WatchwordTwoThreads,
    "watchword-words-only": WatchwordWords,
    "pyss3": PySS3,
    "scikit-learn": ScikitLearn,
    "fasttext": FastText,
    "vowpal-wabbit": VowpalWabbit,
    "vowpal-wabbit-24-bits": VowpalWabbit24Bits,
}
# Those of `refining.py`.
REFINING: dict[str, type[Contestant]] = {
    "watchword-counted": WatchwordCounted,
    "watchword-refined": WatchwordRefined,
    "linear-svm": LinearSVM,
}


def measure(name: str, corpus: Corpus) -> dict[str, Any]:
    contestant = (CONTESTANTS | REFINING)[name]()
    watch = Stopwatch()
    growth = MemoryGrowth()
    with watch.step("convert_train"):
        converted = contestant.convert_train(corpus.train.texts, corpus.train.labels)
    with watch.step("learn"):
        contestant.learn(converted)
    # A form made for training is not needed any more; keeping it would count as memory.
    del converted
    with watch.step("convert_test"):
        converted = contestant.convert_test(corpus.test.texts)
    with watch.step("classify"):
        predicted = contestant.classify(converted)
    return {
        "contestant": name,
        "version": metadata.version(contestant.package),
        "measured": contestant.measured,
        "threads": contestant.threads,
        "wall_seconds": watch.wall,
        "processor_seconds": watch.processor,
        "peak_growth_bytes": growth.peak(),
        "growth_bytes": growth.now(),
        "accuracy": _accuracy(predicted, corpus.test.labels) if predicted else None,
        "train_words": corpus.train.words,
        "test_words": corpus.test.words,
    }


def _accuracy(predicted: list[str], labels: list[str]) -> float:
    pairs = zip(predicted, labels, strict=True)
    return sum(guess == truth for guess, truth in pairs) / len(predicted)


def _one_line(text: str) -> str:
    # These three have a meaning of their own in Vowpal Wabbit's input.
    return text.replace(":", " ").replace("|", " ").replace("\n", " ")


def main() -> None:
    # Some peers print; the result must be the only thing on standard output.
    result_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, folder = sys.argv[1:]
    try:
        result = measure(name, read_corpus(Path(folder)))
    except BenchmarkError as error:
        sys.exit(str(error))
    json.dump(result, result_channel)
    result_channel.close()


if __name__ == "__main__":
    main()
