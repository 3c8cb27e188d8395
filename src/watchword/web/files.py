"""The static files of the live page: those in static/, completed from the tables in Python."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from watchword.show import palette
from watchword.web.controls import controls_html

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """The content and media type of a file."""

    content: bytes
    media_type: str


@cache
def static_files() -> dict[str, StaticFile]:
    """Return all files by name.

    >>> sorted(static_files())[:2]
    ['app.js', 'charts.js']
    """
    found = {"palette.css": StaticFile(palette.palette_css().encode(), _TYPES[".css"])}
    for entry in files("watchword.web").joinpath("static").iterdir():
        kind = _TYPES.get("." + entry.name.rpartition(".")[2])
        if kind is not None and entry.is_file():
            found[entry.name] = StaticFile(entry.read_bytes(), kind)
    page = found["index.html"]
    whole = page.content.replace(b"<!-- settings -->", controls_html().encode())
    found["index.html"] = page._replace(content=whole)
    return found
