"""Prefix trees as SVG: nodes in levels below a root, with counts or values and named cursors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from watchword.explain import svg

NodePath = tuple[str, ...]

_BOX, _LEVEL, _GAP, _PAD, _ROOT = 34.0, 66.0, 10.0, 9.0, 5.0
_SIZE, _SMALL, _NAME = 12.0, 10.5, 16.0


@dataclass(frozen=True)
class Node:
    """A node: two lines of text, whether it is filled, and whether it is a final state."""

    text: str
    detail: str = ""
    is_filled: bool = False
    is_final: bool = False


class Tree:
    """The drawing of a tree, whose nodes are named by the words on their path.

    `cursors` are names written beside nodes; the root is the empty path.

    >>> tree = Tree({("mobile",): Node("mobile", "1")}, cursors={"a": ()})
    >>> "".join(tree.draw(0, 0)).count("<text")
    3
    """

    def __init__(
        self, nodes: Mapping[NodePath, Node], *, cursors: Mapping[str, NodePath] | None = None
    ) -> None:
        self._nodes = nodes
        self._cursors = dict(cursors or {})

    @cached_property
    def _children(self) -> dict[NodePath, list[NodePath]]:
        children: dict[NodePath, list[NodePath]] = {(): []}
        for place in sorted(self._nodes):
            children.setdefault(place[:-1], []).append(place)
        return children

    def _box(self, place: NodePath) -> float:
        if not place:
            return 4 * _ROOT
        node = self._nodes[place]
        texts = svg.text_width(node.text, _SIZE), svg.text_width(node.detail, _SMALL)
        bold = 1.1 if node.is_filled else 1.0
        return bold * max(texts) + 2 * _PAD + _NAME * len(self._names_at(place))

    def _names_at(self, place: NodePath) -> list[str]:
        return [name for name, own in self._cursors.items() if own == place]

    def _width(self, place: NodePath) -> float:
        return max(self._box(place), self._below(self._children.get(place, [])))

    def _below(self, children: Sequence[NodePath]) -> float:
        return sum(map(self._width, children)) + _GAP * (len(children) - 1)

    @property
    def width(self) -> float:
        """The width of the drawing."""
        return self._width(())

    @property
    def height(self) -> float:
        """The height of the drawing."""
        return 2 * _ROOT + _LEVEL * max(map(len, self._nodes), default=0)

    def draw(self, x: float, y: float) -> list[svg.Markup]:
        """Return the elements of the tree, with its upper left corner at this place."""
        drawn: list[svg.Markup] = []
        self._draw((), x, y, drawn)
        return drawn

    def _draw(self, place: NodePath, x: float, y: float, drawn: list[svg.Markup]) -> float:
        """Draw a subtree from x on, and return the x of its middle."""
        children = self._children.get(place, [])
        at = x + max(0.0, (self._width(place) - self._below(children)) / 2)
        middles = []
        for child in children:
            middles.append(self._draw(child, at, y, drawn))
            at += self._width(child) + _GAP
        own = (middles[0] + middles[-1]) / 2 if middles else x + self._width(place) / 2
        for child, middle in zip(children, middles, strict=True):
            top = y + 2 * _ROOT + _LEVEL * len(child) - _BOX
            drawn.insert(0, svg.line(own, self._bottom(place, y), middle, top, stroke_opacity=0.5))
        drawn += self._shapes(place, own, y)
        return own

    def _bottom(self, place: NodePath, y: float) -> float:
        return y + 2 * _ROOT + _LEVEL * len(place)

    def _shapes(self, place: NodePath, middle: float, y: float) -> list[svg.Markup]:
        bottom, names = self._bottom(place, y), self._names_at(place)
        if not place:
            root = svg.element("circle", cx=middle, cy=y + _ROOT, r=_ROOT)
            return [root, *_cursor(names, middle + 2 * _ROOT + 2, y + _ROOT + 4)]
        node, width, top = self._nodes[place], self._box(place), bottom - _BOX
        room, left = _NAME * len(names), middle - width / 2
        frame: dict[str, svg.Attribute] = {"stroke": "currentColor", "stroke_opacity": 0.6}
        ground = 0.18 if node.is_filled else 0.0
        shapes = [
            svg.rectangle(
                left, top, width, _BOX, fill="currentColor", fill_opacity=ground, rx=5, **frame
            )
        ]
        if node.is_final:
            inner, height = width - 5, _BOX - 5
            shapes.append(
                svg.rectangle(left + 2.5, top + 2.5, inner, height, fill="none", rx=3, **frame)
            )
        centre, weight = middle - room / 2, "bold" if node.is_filled else None
        for text, size, y_of in (node.text, _SIZE, top + 15), (node.detail, _SMALL, top + 28):
            if text:
                shapes.append(
                    svg.text(centre, y_of, text, size=size, anchor="middle", font_weight=weight)
                )
        return [*shapes, *_cursor(names, middle + width / 2 - room - 5, top + 21)]


def _cursor(names: Sequence[str], x: float, y: float) -> list[svg.Markup]:
    """Return the names of cursors beside a node, each behind a small triangle."""
    return [
        svg.text(x + _NAME * at, y, f"◂{name}", size=_SIZE, font_style="italic")
        for at, name in enumerate(names)
    ]
