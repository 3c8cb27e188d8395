"""The files of the page: those in static/, and the colours that all pictures share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from watchword.show import palette

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str


@cache
def static_files() -> dict[str, StaticFile]:
    """All files by name.

    >>> sorted(static_files())[:2]
    ['app.js', 'charts.js']
    """
    found = {"palette.css": StaticFile(palette_css().encode(), _TYPES[".css"])}
    for entry in files("watchword.web").joinpath("static").iterdir():
        kind = _TYPES.get("." + entry.name.rpartition(".")[2])
        if kind is not None and entry.is_file():
            found[entry.name] = StaticFile(entry.read_bytes(), kind)
    return found


def palette_css() -> str:
    """The colours of grounds, inks and labels as CSS variables and classes, light and dark."""
    light = (palette.PAPER, palette.INK, palette.QUIET, palette.LINE)
    dark = (palette.DARK_PAPER, palette.DARK_INK, palette.DARK_QUIET, palette.DARK_LINE)
    return (
        f":root{{color-scheme:light dark;{_variables(light)}"
        f"--strongest:{palette.STRONGEST};--thickest:{palette.THICKEST}em;"
        f"--line-factor:{palette.LINE_FACTOR}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(dark)}}}}}\n"
        + "".join(
            f".c{at}{{color:{colour};--rgb:{palette.label_rgb(at)}}}\n"
            for at, colour in enumerate(palette.COLOURS)
        )
    )


def _variables(colours: tuple[str, str, str, str]) -> str:
    names = ("paper", "ink", "quiet", "line")
    return "".join(f"--{name}:{colour};" for name, colour in zip(names, colours, strict=True))
