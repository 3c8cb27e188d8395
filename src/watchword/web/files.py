"""The static files of the live page: those in static/, completed from the tables in Python."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple

from watchword.explain import palette
from watchword.model.parameters import Choice, Number, Parameter, Whole
from watchword.web.models import SETTINGS

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
    whole = page.content.replace(b"<!-- settings -->", _controls().encode())
    found["index.html"] = page._replace(content=whole)
    return found


def files_of(package: str) -> dict[str, StaticFile]:
    """Return the files in a package's folder "static" that browsers may load, by name."""
    return {
        entry.name: StaticFile(entry.read_bytes(), _TYPES[ending])
        for entry in files(package).joinpath("static").iterdir()
        if entry.is_file() and (ending := "." + entry.name.rpartition(".")[2]) in _TYPES
    }


# Controls of the parameters of the model


def _controls() -> str:
    """Return the controls: those with a slider first, the others folded."""
    sliders = [one for one in SETTINGS.values() if one.slider is not None]
    others = [one for one in SETTINGS.values() if one.slider is None]
    return "\n".join(
        [
            *map(_control, sliders),
            '<details class="more"><summary>More</summary>',
            *map(_control, others),
            "</details>",
        ]
    )


def _control(one: Parameter) -> str:
    title = escape(one.title or one.name)
    label = f'<label for="{one.name}">{title}</label>'
    if isinstance(one, Choice):
        options = "".join(
            f'<option value="{choice}">{escape(one.titles.get(choice, choice))}</option>'
            for choice in one.choices
        )
        box = f'<select id="{one.name}" data-setting>{options}</select>'
        return f'<div class="setting">{label}{box}</div>'
    box = f'<input id="{one.name}" type="number" {_limits(one)} data-setting>'
    if one.slider is None:
        return f'<div class="setting">{label}{box}</div>'
    low, high, step = one.slider
    slider = (
        f'<input type="range" min="{low:g}" max="{high:g}" step="{step:g}" '
        f'data-for="{one.name}" aria-label="{title}">'
    )
    return f'<div class="setting slider">{label}{box}{slider}</div>'


def _limits(one: Parameter) -> str:
    if isinstance(one, Whole):
        return f'min="{one.least}" step="1"'
    lowest, highest = (0.0, None) if one.slider is None else one.slider[:2]
    bounded = isinstance(one, Number) and one.most is not None
    most = f' max="{highest:g}"' if bounded else ""
    return f'min="{lowest:g}"{most} step="any"'
