"""The paper's figures 1 to 4, drawn from its examples as models learn and read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watchword.erisk.paper.examples import (
    DOCUMENT,
    FIRST_DOCUMENT,
    SENTENCE,
    TECHNOLOGY,
    LearningStep,
    ReadingStep,
    automaton,
    example_model,
    learning_steps,
    reading_steps,
)
from watchword.show import svg
from watchword.show.hierarchy import hierarchy_svg
from watchword.show.trees import Node, Tree

__all__ = ["FIGURES", "draw_figures"]

_EDGE, _GAP = 20.0, 28.0
_SIZE = 13.0


def draw_figures() -> dict[str, str]:
    """Return the figures as SVG by the names of their files.

    >>> sorted(draw_figures())
    ['figure-1.svg', 'figure-2.svg', 'figure-3.svg', 'figure-4.svg']
    """
    return {name: draw() for name, draw in FIGURES.items()}


def classified_by_words() -> svg.Markup:
    """Draw figure 1: SS3 reads words, and takes the document for one about sports."""
    return hierarchy_svg(example_model(1).explain(DOCUMENT), title="SS3: words only")


def classified_by_ngrams() -> svg.Markup:
    """Draw figure 2: τ-SS3 recognises sequences of words, and finds technology."""
    return hierarchy_svg(example_model().explain(DOCUMENT), title="τ-SS3: sequences of words")


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
    "figure-1.svg": classified_by_words,
    "figure-2.svg": classified_by_ngrams,
    "figure-3.svg": learning,
    "figure-4.svg": recognising,
}
