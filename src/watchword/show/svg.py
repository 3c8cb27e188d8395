"""Pictures as SVG text, built from elements that escape what they are given.

A string is always text and is escaped; only what `element` and the functions here return is markup.
There are no styles inside attributes and no handlers: a strict Content-Security-Policy lets all of
it pass. Ink is `currentColor`, so that a picture in a dark page is light.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import SupportsFloat

from watchword.show import palette
from watchword.show.terminal import visible

__all__ = [
    "STYLE",
    "Markup",
    "clean",
    "clip",
    "drawing",
    "element",
    "group",
    "is_measured",
    "line",
    "number",
    "path_of",
    "rectangle",
    "text",
    "text_width",
    "ticks",
    "tooltip",
]

Attribute = str | SupportsFloat | None

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif"

STYLE = (
    f".ww-svg {{ color: {palette.INK}; background: {palette.PAPER}; }}\n"
    "@media screen and (prefers-color-scheme: dark) {"
    f" .ww-svg {{ color: {palette.DARK_INK}; background: {palette.DARK_PAPER}; }} }}"
)
"""What a picture that stands alone needs; inside a page the page's own colours are better."""

_ELEMENT_NAME = re.compile(r"[a-zA-Z]+")
_ATTRIBUTE_NAME = re.compile(r"(?!on)[a-zA-Z][a-zA-Z0-9:-]*")
_FORBIDDEN = ("script", "foreignobject", "iframe", "style")  # `style` only through `drawing`
_NOT_XML = dict.fromkeys([0xFFFE, 0xFFFF], "\ufffd")


class Markup(str):
    """Text that is markup already; whatever is cut out of it is a mere string again."""

    __slots__ = ()


def clean(content: object) -> str:
    r"""Text that may stand in a file: what would be obeyed or cannot be encoded is replaced.

    >>> clean("a\x00b\u202ec")
    'a␀b\ufffdc'
    """
    return visible(str(content)).translate(_NOT_XML)


def number(value: SupportsFloat, digits: int = 2) -> str:
    """A number, short: no more than so many digits after the point, and no needless ones.

    >>> number(2.0), number(-0.001), number(1 / 3)
    ('2', '0', '0.33')
    """
    plain = float(value)
    if not math.isfinite(plain):
        raise ValueError(f"a picture needs finite numbers, got {plain}")
    short = f"{plain:.{digits}f}"
    if "." in short:
        short = short.rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def element(name: str, *children: str, **attributes: Attribute) -> Markup:
    """An element; strings inside it are escaped, attributes that are None are left out.

    Underscores in names of attributes mean hyphens, and one at the end only keeps Python content.

    >>> element("text", "<b>", x=1.50, class_="label", text_anchor="end")
    '<text x="1.5" class="label" text-anchor="end">&lt;b&gt;</text>'
    """
    if not _ELEMENT_NAME.fullmatch(name) or name.lower() in _FORBIDDEN:
        raise ValueError(f"not an element for pictures: {name!r}")
    opening = name + "".join(map(_attribute, attributes, attributes.values()))
    inner = "".join(map(_markup, children))
    return Markup(f"<{opening}>{inner}</{name}>" if inner else f"<{opening}/>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE_NAME.fullmatch(written) or written in ("href", "style", "xlink:href"):
        raise ValueError(f"not an attribute for pictures: {written!r}")
    plain = html.escape(clean(value)) if isinstance(value, str) else number(value)
    return f' {written}="{plain}"'


def _markup(child: str) -> str:
    return child if isinstance(child, Markup) else html.escape(clean(child))


def group(*children: str, **attributes: Attribute) -> Markup:
    """Several elements as one."""
    return element("g", *children, **attributes)


def tooltip(content: str) -> Markup:
    """What an element says when one points at it; its first child."""
    return element("title", content)


def text(
    x: float,
    y: float,
    content: str,
    *children: str,
    size: float = 12,
    anchor: str = "start",
    **attributes: Attribute,
) -> Markup:
    """A line of text whose letters stand on y and which begins (middles, ends) at x.

    >>> text(1, 2, "a & b", size=10)
    '<text x="1" y="2" font-size="10">a &amp; b</text>'
    """
    where = None if anchor == "start" else anchor
    return element(
        "text", *children, content, x=x, y=y, font_size=size, text_anchor=where, **attributes
    )


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> Markup:
    """A straight line in the colour of the text, unless told otherwise."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **({"stroke": "currentColor"} | attributes))


def rectangle(
    x: float, y: float, width: float, height: float, *children: str, **attributes: Attribute
) -> Markup:
    """A filled box; the only child it is likely to have is a `tooltip`."""
    return element("rect", *children, x=x, y=y, width=width, height=height, **attributes)


def path_of(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a path through points.

    >>> path_of([(0, 1), (2, 3.5)])
    'M0 1L2 3.5'
    """
    places = [f"{number(x)} {number(y)}" for x, y in points]
    return f"M{'L'.join(places)}" if places else ""


def drawing(
    width: float,
    height: float,
    *children: str,
    title: str,
    description: str = "",
    css: str = "",
    role: str = "img",
    **attributes: Attribute,
) -> Markup:
    """A whole picture, with what a screen reader says of it.

    `css` is taken as it is: give it constants only, and `STYLE` for a picture that is a file of its
    own. With the role `img` nobody can step into the picture; where parts of it have a focus or
    names of their own, `graphics-document` fits.

    >>> drawing(10, 10, rectangle(0, 0, 5, 5), title="Half").startswith("<svg xmlns=")
    True
    """
    if "<" in css or "&" in css:  # would have to be escaped in XML and must not be in HTML
        raise ValueError("a style sheet inside a picture may contain neither < nor &")
    told = [element("title", title)] + ([element("desc", description)] if description else [])
    styled = [Markup(f"<style>{css}</style>")] if css else []
    own: dict[str, Attribute] = {"class_": "ww-svg", **attributes}
    return element(
        "svg",
        *told,
        *styled,
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role=role,
        aria_label=title,
        fill="currentColor",
        font_family=FONT,
        **own,
    )


# Text without fonts

# After DejaVu Sans, which is wide: better some room too much than a word that is cut.
_WIDTHS = {
    0.32: "ijlIJ.,;:'|!`‘’ ",
    0.4: "()[]{}ftr-/\\",
    0.5: 'sz"?_*',
    0.6: "ackevxyLFPTY$«»",
    0.64: "bdghnopqu0123456789EKS",
    0.7: "ABCRVXZ",
    0.8: "wDGHNOQU&+<>=~#^“”",
    1.0: "mMW@%…—",
}
_WIDTH_OF = {character: width for width, those in _WIDTHS.items() for character in those}


def text_width(content: str, size: float) -> float:
    """About how wide a line of text is in a usual sans-serif font.

    >>> round(text_width("width", 10), 1), text_width("幅", 10)
    (28.0, 10.0)
    """
    return size * sum(map(_character_width, clean(content)))


def _character_width(character: str) -> float:
    known = _WIDTH_OF.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.65


def is_measured(content: str) -> bool:
    """Whether the width of every character is known, not guessed."""
    return all(character in _WIDTH_OF for character in content)


def clip(content: str, size: float, width: float) -> str:
    """As much of the text as fits, with … if that is not all.

    >>> clip("a very long label", 10, 60)
    'a very lo…'
    """
    if text_width(content, size) <= width:
        return content
    room = width - text_width("…", size)
    for end, character in enumerate(clean(content)):
        room -= size * _character_width(character)
        if room < 0:
            return content[:end].rstrip() + "…"
    return content  # pragma: no cover  # too wide as a whole, so some beginning is, too


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high for an axis.

    >>> ticks(0, 0.9)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    rough = (high - low) / max(about, 1)
    if not math.isfinite(rough) or rough < 1e-300:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(at * step, digits) for at in range(first, last + 1)]
