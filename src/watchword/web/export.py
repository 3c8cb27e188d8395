"""One HTML file with a model inside, in which texts are read and painted without any server.

The file holds every n-gram with its ready values, so that the page (static/offline.js) knows no
formula: it finds words, chooses among n-grams and adds up. What a model has seen rarely may be
somebody's own words, so n-grams up to a floor are forgotten first, in a copy of the model.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import json
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword import __version__
from watchword._checks import as_whole
from watchword._files import atomic_file
from watchword.errors import HookError
from watchword.model.functions import name_of
from watchword.show.palette import palette_css
from watchword.show.terminal import visible
from watchword.web.packing import pack_model

if TYPE_CHECKING:
    from watchword.model.tau_ss3 import TauSS3

__all__ = ["DEFAULT_FLOOR", "ExportReport", "export_page"]

DEFAULT_FLOOR = 10  # what `TauSS3.prune` forgets unless told otherwise

_SCRIPTS = ("paint.js", "offline.js", "offline_page.js")
_STYLES = ("paint.css", "offline.css")


@dataclass(frozen=True)
class ExportReport:
    """What was written: where, how many bytes, how many n-grams are in it and how many are not."""

    path: Path
    size: int
    kept: int
    dropped: int
    floor: int

    def __str__(self) -> str:
        rare = f"{self.dropped:,} n-grams seen at most {self.floor:,} times are not in it"
        return (
            f"{self.path}: {self.size:,} bytes with {self.kept:,} n-grams; "
            f"{rare if self.floor else 'nothing was left out, however rare'}"
        )


def export_page(
    model: TauSS3,
    path: str | os.PathLike[str],
    *,
    floor: int = DEFAULT_FLOOR,
    title: str = "What a text is worth",
) -> ExportReport:
    """Write a page that reads and paints texts by itself, with this model inside.

    Forgotten first, in a copy, is what `model.prune(floor)` forgets: under each label, the n-grams
    seen at most `floor` times. `floor=0` hands over every word that was ever learnt. The values on
    the page are those of the pruned model. A model with functions of yours (a word hook, a
    tokenizer, a summary function) is refused: a browser cannot call them.

    >>> import tempfile, watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["so bad"] * 20 + ["so good, Zoë"] * 5, ["down"] * 20 + ["up"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_page(model, f"{folder}/page.html")
    >>> report.kept, report.dropped, report.floor
    (3, 3, 10)
    """
    least = as_whole("floor", floor, 0)
    pruned = copy.copy(model)  # nobody else can change what is written from here on
    _refuse_functions(pruned)
    before = sum(pruned.statistics.ngrams)
    if least > 0:
        pruned.prune(least)
    kept = sum(pruned.statistics.ngrams)
    if kept == 0 and pruned.labels:
        raise ValueError(f"floor {least} leaves nothing: no n-gram was seen more often than that")
    facts = {"floor": least, "kept": kept, "dropped": before - kept, "version": __version__}
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
                f"cannot hand over a model with the {role} {name_of(function)}: "
                "a browser cannot call a Python function"
            )


def _page(title: str, packed: dict[str, Any]) -> str:
    """The page: a policy that lets its own scripts run and nothing be sent, and all it needs."""
    scripts = [_static(name) for name in _SCRIPTS]
    styles = [palette_css(), *(_static(name) for name in _STYLES)]
    policy = [
        "default-src 'none'",
        f"script-src {' '.join(map(_checksum, scripts))}",
        f"style-src {' '.join(map(_checksum, styles))}",
        *("connect-src 'none'", "base-uri 'none'", "form-action 'none'"),
    ]
    parts = {
        "policy": "; ".join(policy),
        "title": html.escape(visible(title)),
        "styles": "\n".join(f"<style>{style}</style>" for style in styles),
        "characters": _json(json.loads(_static("characters.json"))),
        "model": _json(packed),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # One pass: what was filled in is not looked through again.
    return re.sub(r"{{(\w+)}}", lambda place: parts[place[1]], _static("offline.html"))


def _static(name: str) -> str:
    folder = resources.files("watchword.web") / "static"
    return (folder / name).read_text(encoding="utf-8")


def _checksum(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _json(plain: object) -> str:
    """JSON that may stand inside an HTML element: nothing in it begins or ends markup."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
