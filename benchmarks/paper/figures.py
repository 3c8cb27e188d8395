"""The paper's figures 1 to 4, drawn from examples that models learn and read.

The paper prints the document of figures 1 and 2 only in part, and not the texts its models learnt.
The texts here are made up so that the same happens: words support sports, sequences of them for
technology. Values are therefore not the paper's. All counts, values and n-grams come from a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from paper.hierarchy import hierarchy_svg
from paper.trees import Node, Tree
from watchword.explain import svg
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


# Figure 3: learning


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


# Drawings

_EDGE, _GAP = 20.0, 28.0
_SIZE = 13.0


def draw_figures() -> dict[str, str]:
    """Return the figures as SVG by the names of their files.

    >>> sorted(draw_figures())
    ['figure-1.svg', 'figure-2.svg', 'figure-3.svg', 'figure-4.svg']
    """
    return {name: draw() for name, draw in FIGURES.items()}


# Figure 3


def learning() -> svg.Markup:
    """Draw figure 3: the tree of a category while it learns its first document."""
    steps = learning_steps(FIRST_DOCUMENT)[1:]
    trees = [_learnt(step) for step in steps]
    column = max(max(tree.width for tree in trees), svg.text_width(FIRST_DOCUMENT, _SIZE) + 60)
    heights = [max(tree.height for tree in trees[at : at + 2]) for at in range(0, len(trees), 2)]
    drawn, top = [svg.text(_EDGE, 26, _TITLE, size=14, font_weight="bold")], 44.0
    for at, (step, tree) in enumerate(zip(steps, trees, strict=True)):
        x = _EDGE + at % 2 * (column + _GAP)
        drawn += _read(step, at, x, top + 16)
        drawn += tree.draw(x + (column - tree.width) / 2, top + 34)
        top += at % 2 * (heights[at // 2] + 34 + _GAP)
    return svg.drawing(
        2 * (column + _EDGE) + _GAP,
        top - 8,
        *drawn,
        title=_TITLE,
        description=" ".join(map(_told, steps)),
        css=svg.STYLE,
    )


_TITLE = "Learning the first document of a category"


def _learnt(step: LearningStep) -> Tree:
    nodes = {
        ngram: Node(ngram[-1], str(count), is_filled=ngram in step.updated)
        for ngram, count in step.counts.items()
    }
    return Tree(nodes, cursors=step.cursors)


def _read(step: LearningStep, at: int, x: float, y: float) -> list[svg.Markup]:
    """Return the text, with what has been read in bold."""
    panel = f"({chr(ord('a') + at)})"
    rest = x + 30 + 1.12 * svg.text_width(step.read, _SIZE)
    return [
        svg.text(x, y, panel, size=_SIZE),
        svg.text(x + 30, y, step.read, size=_SIZE, font_weight="bold"),
        svg.text(rest + 2, y, step.rest.strip(), size=_SIZE, fill_opacity=0.6),
    ]


def _told(step: LearningStep) -> str:
    updated = ", ".join(sorted(" ".join(ngram) for ngram in step.updated))
    where = ", ".join(
        f"{name} at {' '.join(node) or 'the root'}" for name, node in step.cursors.items()
    )
    return f"After {step.read!r}: updated {updated}; cursors {where}."


# Figure 4


def recognising() -> svg.Markup:
    """Draw figure 4: the automaton of technology recognises the first n-gram of a sentence."""
    model = example_model()
    steps = reading_steps(model, SENTENCE, TECHNOLOGY)
    nodes = automaton(model, TECHNOLOGY, SENTENCE)
    first, second = steps[0], steps[1]
    walked = {ngram for ngram, _ in first.states}
    panels: list[tuple[str, list[svg.Markup], Tree]] = [
        (
            "(a) no transition for the word at △: the state of highest value is taken",
            _input(first.begin, first.begin + first.fed - 1, ()),
            _states(nodes, walked, first.chosen),
        ),
        (
            f"(b) {'→'.join(first.chosen)} is recognised, and reading goes on after it",
            _input(second.begin, second.begin, first.chosen),
            _states(nodes, set(), None),
        ),
    ]
    width = max(max(tree.width, svg.text_width(title, 12)) for title, _, tree in panels)
    height = max(tree.height for _, _, tree in panels) + 136
    drawn = [svg.text(_EDGE, 26, _READING, size=14, font_weight="bold")]
    for at, (title, words, tree) in enumerate(panels):
        x = _EDGE + at * (width + _GAP)
        drawn.append(svg.text(x, 60, title, size=12))
        drawn.append(svg.group(*words, transform=f"translate({svg.number(x)} 74)"))
        drawn += tree.draw(x, 136)
    drawn.append(svg.text(_EDGE, height + 24, _KEY, size=11))
    return svg.drawing(
        2 * (width + _EDGE) + _GAP,
        height + 36,
        *drawn,
        title=_READING,
        description=_met(first),
        css=svg.STYLE,
    )


_READING = f"Recognising n-grams: the automaton of {TECHNOLOGY}"
_KEY = (
    "▲ input cursor, △ lookahead cursor. Numbers are values (gv). Grey: states met; framed: taken."
)


def _states(
    nodes: dict[tuple[str, ...], tuple[int, float]],
    walked: set[tuple[str, ...]],
    taken: tuple[str, ...] | None,
) -> Tree:
    return Tree(
        {
            ngram: Node(
                ngram[-1], f"{value:.3f}", is_filled=ngram in walked, is_final=ngram == taken
            )
            for ngram, (_, value) in nodes.items()
        }
    )


def _input(at: int, ahead: int, recognised: Sequence[str]) -> list[svg.Markup]:
    """Return the words of the sentence, with both cursors below them."""
    drawn, x = [], 0.0
    for place, word in enumerate(SENTENCE.split()):
        width = svg.text_width(word, _SIZE) + 12
        fill = 0.18 if place < len(recognised) else 0.0
        box: dict[str, svg.Attribute] = {"fill": "currentColor", "fill_opacity": fill, "rx": 4}
        drawn.append(
            svg.rectangle(x, 0, width, 26, **box, stroke="currentColor", stroke_opacity=0.4)
        )
        drawn.append(svg.text(x + width / 2, 18, word, size=_SIZE, anchor="middle"))
        signs = "▲" * (place == at) + "△" * (place == ahead)
        if signs:
            drawn.append(svg.text(x + width / 2, 43, signs, size=_SIZE, anchor="middle"))
        x += width + 8
    return drawn


def _met(step: ReadingStep) -> str:
    states = ", ".join(f"{' '.join(ngram)} {value:.3f}" for ngram, value in step.states)
    return f"States met: {states}. Recognised: {' '.join(step.chosen)}."


FIGURES: dict[str, Callable[[], svg.Markup]] = {
    # SS3 reads words, and takes the document for one about sports.
    "figure-1.svg": lambda: hierarchy_svg(
        example_model(1).explain(DOCUMENT), title="SS3: words only"
    ),
    # τ-SS3 recognises sequences of words, and finds technology.
    "figure-2.svg": lambda: hierarchy_svg(
        example_model().explain(DOCUMENT), title="τ-SS3: sequences of words"
    ),
    "figure-3.svg": learning,
    "figure-4.svg": recognising,
}
