"""The examples of the paper's figures 1 to 4, computed by models that learn and read them.

The paper prints the document of figures 1 and 2 only in part, and not the texts its models learnt.
The texts here are made up so that the same happens: words support sports, sequences of them for
technology. Values are therefore not the paper's. All counts, values and n-grams come from a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from watchword.model.explanation import Explanation, NgramBlock
from watchword.model.tau_ss3 import TauSS3

TECHNOLOGY, SPORTS = "technology", "sports"

#: Of figures 1 and 2. A hyphen would end a sequence of words, hence "self driving".
DOCUMENT = (
    "Machine learning is being widely used. It plays a video game, it steers self driving cars."
)
#: Of figure 4: the first sentence of the document.
SENTENCE = "Machine learning is being widely used"
#: Of figure 3.
FIRST_DOCUMENT = "Mobile APIs, for mobile developers"

# Texts, and how often they are learnt.
_COMMON = {
    "It is one of the things that are being used, and widely so.": 60,
    "It is one of the things that a machine is used for, and it is one of the best.": 12,
    "They are learning, it is shown in a video, and it is about the self.": 12,
}
_TEXTS = {
    TECHNOLOGY: {
        "Machine learning finds patterns.": 6,
        "Patterns are found by machine learning.": 4,
        "New video game, next video game.": 4,
        "Self driving cars read road signs.": 8,
    },
    SPORTS: {
        "What fans saw: game after game.": 24,
        "Last game, driving ball forward.": 20,
        "Cars were driving faster, older cars retired.": 30,
        "Coach is learning, video referee counts by machine.": 8,
    },
}


@cache
def _taught() -> TauSS3:
    model = TauSS3.paper()
    for label, own in _TEXTS.items():
        for text, times in (_COMMON | own).items():
            model.learn_many([text] * times, [label] * times, threads=1)
    return model


def example_model(max_ngram: int = 3) -> TauSS3:
    """Return the model of figures 1 (words only), 2 and 4.

    >>> [example_model(length).predict_one(DOCUMENT) for length in (1, 3)]
    ['sports', 'technology']
    """
    return _taught().replace(max_ngram=max_ngram)


# Learning, figure 3


@dataclass(frozen=True)
class LearningStep:
    """The tree of a category after reading some words of its first document.

    N-grams are tuples of words; the root is the empty one. `updated` are the nodes whose count
    grew with the latest word. `cursors` are the nodes where the next word will be attached, by
    their letters in the paper: a is the oldest since words began to follow each other.
    """

    read: str  #: the text read so far
    rest: str
    counts: Mapping[tuple[str, ...], int]
    updated: frozenset[tuple[str, ...]]
    cursors: Mapping[str, tuple[str, ...]]


def learning_steps(text: str, max_ngram: int = 3) -> list[LearningStep]:
    """Return the trees after each word of a document, as a model learns it (Algorithm 1).

    A model learns ever longer beginnings of the text. The difference between two trees is what the
    word in between has updated; the cursors before it are the parents of these nodes.

    >>> last = learning_steps("Mobile APIs, for mobile developers")[-1]
    >>> sorted(" ".join(ngram) for ngram in last.updated)
    ['developers', 'for mobile developers', 'mobile developers']
    """
    words = TauSS3(max_ngram=1)
    words.learn_one(text, "any")
    ends = [word.end for word in ngrams_of(words.explain(text))]
    counts = [_counts_after(text[:end], max_ngram) for end in ends]
    updates = [
        frozenset(ngram for ngram, count in after.items() if count > before.get(ngram, 0))
        for before, after in zip([{}, *counts], counts, strict=False)
    ]
    steps, run = [], 0
    for at, (tree, updated) in enumerate(zip(counts, updates, strict=True)):
        last = at + 1 == len(ends)
        parents = (
            {ngram for ngram in updated if len(ngram) < max_ngram}
            if last
            else {ngram[:-1] for ngram in updates[at + 1]}
        )
        rest = text[ends[at] :].lstrip(",;:.!?")  # what follows the word and its punctuation
        end = len(text) if last else len(text) - len(rest)
        run = 0 if parents == {()} else run + 1  # words since the last that is not a word
        cursors = {
            chr(ord("a") + run - len(ngram)): ngram
            for ngram in sorted(parents, key=len, reverse=True)
        }
        steps.append(LearningStep(text[:end], text[end:], tree, updated, cursors))
    return steps


def _counts_after(text: str, max_ngram: int) -> dict[tuple[str, ...], int]:
    model = TauSS3.paper(max_ngram=max_ngram)
    model.learn_one(text, "any")
    return {tuple(ngram.split()): own["any"] for ngram, own in model.counts().items()}


# Reading, figures 1, 2 and 4


def ngrams_of(explanation: Explanation) -> list[NgramBlock]:
    """Return the n-grams that a model recognised in a text, in order."""
    return [
        ngram
        for paragraph in explanation.blocks
        for sentence in paragraph.blocks
        for ngram in sentence.blocks
        if isinstance(ngram, NgramBlock)
    ]


@dataclass(frozen=True)
class ReadingStep:
    """A walk of a category's automaton from a word of a sentence on (Algorithm 2).

    `states` are the sequences met and their values in this category; `fed` is the number of words
    the automaton was fed, including the one it had no transition for. `chosen` is the n-gram that
    the model recognised there, in all categories.
    """

    begin: int  #: index of the first word
    states: tuple[tuple[tuple[str, ...], float], ...]
    fed: int
    chosen: tuple[str, ...]


def reading_steps(model: TauSS3, sentence: str, label: str) -> list[ReadingStep]:
    """Return how a model recognises the n-grams of a sentence without punctuation.

    >>> steps = reading_steps(example_model(), SENTENCE, TECHNOLOGY)
    >>> steps[0].chosen, steps[0].fed, steps[1].begin
    (('machine', 'learning'), 3, 2)
    """
    recognised = [tuple(ngram.ngram.split()) for ngram in ngrams_of(model.explain(sentence))]
    words = [word for ngram in recognised for word in ngram]
    steps, begin, longest = [], 0, model.parameters["max_ngram"]
    for chosen in recognised:
        states: list[tuple[tuple[str, ...], float]] = []
        path: tuple[str, ...] = ()
        for word in words[begin:]:
            path = (*path, word)
            if len(path) > longest or not model.value(path)[label].count:
                break
            states.append((path, model.value(path)[label].cv))
        fed = min(len(states) + 1, len(words) - begin)
        steps.append(ReadingStep(begin, tuple(states), fed, chosen))
        begin += len(chosen)
    return steps


def automaton(model: TauSS3, label: str, sentence: str) -> dict[tuple[str, ...], tuple[int, float]]:
    """Return the part of a category's tree below the words of a sentence: counts and values."""
    words = {word for ngram in ngrams_of(model.explain(sentence)) for word in ngram.ngram.split()}
    first = ngrams_of(model.explain(sentence))[0].ngram.split()[0]
    nodes = {}
    for spelt, own in model.counts().items():
        ngram = tuple(spelt.split())
        below_first = ngram[0] == first and (len(ngram) < 3 or ngram[1] in words)
        if own.get(label) and (below_first or (len(ngram) == 1 and ngram[0] in words)):
            nodes[ngram] = own[label], model.value(ngram)[label].cv
    return nodes
