"""Exported pages: one HTML file with a model inside that explains texts without a server.

The file holds every n-gram with its computed values, so that the page (static/offline.js) needs no
formula: it finds words, chooses n-grams and adds up values. Rare n-grams may identify a person, so
a copy of the model is pruned first.
"""

from __future__ import annotations

import copy
import json
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword import __version__
from watchword._checks import Label, as_whole
from watchword._files import atomic_file
from watchword.errors import HookError, UnknownLabelError
from watchword.model.functions import function_name
from watchword.show.markup import as_json, content_policy, escaped
from watchword.show.palette import palette_css
from watchword.web.packing import pack_model

if TYPE_CHECKING:
    from watchword.model.tau_ss3 import TauSS3

__all__ = ["DEFAULT_FLOOR", "ExportReport", "export_page"]

DEFAULT_FLOOR = 10  # the default of `TauSS3.prune`

_SCRIPTS = ("paint.js", "offline.js", "offline_page.js")
_STYLES = ("paint.css", "offline.css")


@dataclass(frozen=True)
class ExportReport:
    """The path and size of an exported page, and the numbers of n-grams kept and dropped."""

    path: Path
    size: int
    kept: int
    dropped: int
    floor: int

    def __str__(self) -> str:
        rare = f"{self.dropped:,} n-grams with count ≤ {self.floor:,} were dropped"
        return (
            f"{self.path}: {self.size:,} bytes with {self.kept:,} n-grams; "
            f"{rare if self.floor else 'none were dropped'}"
        )


def export_page(
    model: TauSS3,
    path: str | os.PathLike[str],
    *,
    floor: int = DEFAULT_FLOOR,
    title: str = "Explain a text",
    alert: Label | None = None,
) -> ExportReport:
    """Write a page that explains and paints texts by itself, with this model inside.

    A copy of the model is first pruned by `prune(floor)`: n-grams with count ≤ `floor` under a
    label are dropped there. With `floor=0` the file contains every word ever learnt. The values on
    the page are those of the pruned model. `alert` is the label that alerts are raised for: it has
    the warm colour. Raises `HookError` for a model with Python functions (a
    word hook, a tokenizer, a summary function), which a browser cannot call, and `ValueError` for
    a model that reads text as PySS3 does.

    >>> import tempfile, watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["so bad"] * 20 + ["so good, Zoë"] * 5, ["down"] * 20 + ["up"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_page(model, f"{folder}/page.html")
    >>> report.kept, report.dropped, report.floor
    (3, 3, 10)
    """
    least = as_whole("floor", floor, 0)
    pruned = copy.copy(model)  # a snapshot: other threads cannot change it
    _refuse_functions(pruned)
    if pruned.parameters["tokenization"] != "unicode":
        raise ValueError(
            'cannot export a model with tokenization="pyss3": the page reads text by Unicode\'s '
            "rules only; use the live page (watchword serve)"
        )
    before = sum(pruned.statistics.ngrams)
    if least > 0:
        pruned.prune(least)
    kept = sum(pruned.statistics.ngrams)
    if kept == 0 and pruned.labels:
        raise ValueError(f"floor {least} leaves no n-grams: choose a lower floor")
    if alert is not None and alert not in pruned.labels:
        raise UnknownLabelError(f"unknown label {alert!r}; the model knows {pruned.labels}")
    warm = None if alert is None else list(pruned.labels).index(alert)
    facts = {
        "alert": warm,
        "floor": least,
        "kept": kept,
        "dropped": before - kept,
        "version": __version__,
    }
    page = _page(title, pack_model(pruned) | {"facts": facts}).encode()
    with atomic_file(path) as file:
        file.write(page)
    return ExportReport(Path(path), len(page), kept, before - kept, least)


def _refuse_functions(model: TauSS3) -> None:
    own = model.parameters
    operators = own["summary"].values() if isinstance(own["summary"], dict) else [own["summary"]]
    functions = {
        "word_hook": own["word_hook"],
        "tokenizer": own["tokenizer"],
        "summary": next(filter(callable, operators), None),
    }
    for role, function in functions.items():
        if function is not None:
            raise HookError(
                f"cannot export a model with the {role} {function_name(function)}: "
                "a browser cannot call a Python function"
            )


def _page(title: str, packed: dict[str, Any]) -> str:
    """Return the page, with a policy that allows only its own scripts and no connections."""
    scripts = [_static(name) for name in _SCRIPTS]
    styles = [palette_css(), *(_static(name) for name in _STYLES)]
    parts = {
        "policy": content_policy(styles, scripts),
        "title": escaped(title),
        "styles": "\n".join(f"<style>{style}</style>" for style in styles),
        "characters": as_json(json.loads(_static("characters.json"))),
        "model": as_json(packed),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # One pass, so that placeholders in the inserted parts are not replaced.
    return re.sub(r"{{(\w+)}}", lambda place: parts[place[1]], _static("offline.html"))


def _static(name: str) -> str:
    folder = resources.files("watchword.web") / "static"
    return (folder / name).read_text(encoding="utf-8")
