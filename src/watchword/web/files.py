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
    ['app.js', 'asking.js']
    """
    found = {"palette.css": StaticFile(palette.palette_css().encode(), _TYPES[".css"])}
    found |= files_of("watchword.web")
    page = found["index.html"]
    whole = page.content.replace(b"<!-- settings -->", controls_html().encode())
    found["index.html"] = page._replace(content=whole)
    return found


def files_of(package: str) -> dict[str, StaticFile]:
    """Return the files in a package's folder "static" that browsers may load, by name."""
    return {
        entry.name: StaticFile(entry.read_bytes(), _TYPES[ending])
        for entry in files(package).joinpath("static").iterdir()
        if entry.is_file() and (ending := "." + entry.name.rpartition(".")[2]) in _TYPES
    }
