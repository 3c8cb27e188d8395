"""SVG pictures, built from elements that escape their content.

A plain string is text and is escaped; only `Markup`, as `element` and the functions here return it,
is markup. There are no `style` attributes and no event handlers, so a strict
Content-Security-Policy allows everything. Lines and text are `currentColor`, so that a picture in a
dark page is light.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import SupportsFloat

from watchword._display import visible
from watchword.explain import palette

Attribute = str | SupportsFloat | None

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif"

STYLE = (
    f".ww-svg {{ color: {palette.INK}; background: {palette.PAPER}; }}\n"
    "@media screen and (prefers-color-scheme: dark) {"
    f" .ww-svg {{ color: {palette.DARK_INK}; background: {palette.DARK_PAPER}; }} }}"
)
"""Colours for a picture in a file of its own; inside a page, use the page's colours instead."""

_ELEMENT_NAME = re.compile(r"[a-zA-Z]+")
_ATTRIBUTE_NAME = re.compile(r"(?!on)[a-zA-Z][a-zA-Z0-9:-]*")
_FORBIDDEN = ("script", "foreignobject", "iframe", "style")  # `style` only through `drawing`
_NOT_XML = dict.fromkeys([0xFFFE, 0xFFFF], "\ufffd")


class Markup(str):
    """A string of markup; slices of it are plain strings."""

    __slots__ = ()


def clean(content: object) -> str:
    r"""Replace characters that are not allowed in XML, and control characters, by visible ones.

    >>> clean("a\x00b\u202ec")
    'a␀b\ufffdc'
    """
    return visible(str(content)).translate(_NOT_XML)


def number(value: SupportsFloat, digits: int = 2) -> str:
    """Return a number with at most `digits` decimals and no trailing zeros.

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
    """Return an element; string children are escaped, attributes that are None are left out.

    Underscores in attribute names become hyphens; a trailing one avoids Python keywords.

    >>> element("text", "<b>", x=1.50, class_="label", text_anchor="end")
    '<text x="1.5" class="label" text-anchor="end">&lt;b&gt;</text>'
    """
    if not _ELEMENT_NAME.fullmatch(name) or name.lower() in _FORBIDDEN:
        raise ValueError(f"element {name!r} is not allowed in pictures")
    opening = name + "".join(map(_attribute, attributes, attributes.values()))
    inner = "".join(
        child if isinstance(child, Markup) else html.escape(clean(child)) for child in children
    )
    return Markup(f"<{opening}>{inner}</{name}>" if inner else f"<{opening}/>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE_NAME.fullmatch(written) or written in ("href", "style", "xlink:href"):
        raise ValueError(f"attribute {written!r} is not allowed in pictures")
    plain = html.escape(clean(value)) if isinstance(value, str) else number(value)
    return f' {written}="{plain}"'


def group(*children: str, **attributes: Attribute) -> Markup:
    """Return a group of elements."""
    return element("g", *children, **attributes)


def tooltip(content: str) -> Markup:
    """Return a tooltip, to be the first child of an element."""
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
    """Return a line of text with its baseline at y and its start (middle, end) at x.

    >>> text(1, 2, "a & b", size=10)
    '<text x="1" y="2" font-size="10">a &amp; b</text>'
    """
    where = None if anchor == "start" else anchor
    return element(
        "text", *children, content, x=x, y=y, font_size=size, text_anchor=where, **attributes
    )


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> Markup:
    """Return a straight line, by default in the colour of the text."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **({"stroke": "currentColor"} | attributes))


def rectangle(
    x: float, y: float, width: float, height: float, *children: str, **attributes: Attribute
) -> Markup:
    """Return a filled rectangle; children may be a `tooltip`."""
    return element("rect", *children, x=x, y=y, width=width, height=height, **attributes)


def path_of(points: Iterable[tuple[float, float]]) -> str:
    """Return the `d` attribute of a path through points.

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
    """Return a whole picture, with a title and description for screen readers.

    `css` is not escaped: give constants only, and `STYLE` for a picture in a file of its own. With
    the role `img`, screen readers do not enter the picture; where parts of it take the focus or
    have names of their own, use `graphics-document`.

    >>> drawing(10, 10, rectangle(0, 0, 5, 5), title="Half").startswith("<svg xmlns=")
    True
    """
    if "<" in css or "&" in css:  # XML needs these escaped, HTML does not allow it
        raise ValueError("css in a picture must not contain < or &")
    named = [element("title", title)] + ([element("desc", description)] if description else [])
    styled = [Markup(f"<style>{css}</style>")] if css else []
    own: dict[str, Attribute] = {"class_": "ww-svg", **attributes}
    return element(
        "svg",
        *named,
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


# Text widths without fonts

# Measured from DejaVu Sans, which is wide: too much room is better than clipped words.
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
    """Estimate the width of a line of text in a common sans-serif font.

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
    """Return whether the width of every character is known, not guessed."""
    return all(character in _WIDTH_OF for character in content)


def clip(content: str, size: float, width: float) -> str:
    """Return as much of the text as fits, with … if it is cut.

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
    return content  # pragma: no cover  # not reached: the whole is too wide


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers from low to high for an axis.

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
