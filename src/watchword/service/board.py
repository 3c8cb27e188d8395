"""The board: a page to monitor a running service and review its alerts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from watchword.service.alerts import MOST_NOTE
from watchword.show.blocks import scale_of
from watchword.web.files import StaticFile, files_of, static_files
from watchword.web.wire import compact

PAGE = "board.html"

# Files of the live page that the board shares.
_SHARED = (
    "asking.js",
    "charts.js",
    "icon.svg",
    "paint.css",
    "paint.js",
    "palette.css",
    "parts.js",
    "style.css",
)


@cache
def board_files() -> dict[str, StaticFile]:
    """Return all files of the board by name; `PAGE` is the page itself.

    >>> board_files()[PAGE].content[:15]
    b'<!doctype html>'
    >>> "palette.css" in board_files()
    True
    """
    shared = static_files()
    own = files_of("watchword.service")
    page = own[PAGE]
    own[PAGE] = page._replace(content=page.content.replace(b"MOST_NOTE", b"%d" % MOST_NOTE))
    return {name: shared[name] for name in _SHARED} | own


def story_for_page(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plain story with its explanations in the wire format, all with one scale.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot sleep"], ww.Overtakes("at risk"))
    >>> sorted(story_for_page(story.to_dict())["shown"][0]["explanation"])
    ['blocks', 'highest', 'label', 'labels', 'rules', 'summary', 'text', 'value']
    """
    scale = scale_of(one["explanation"] for one in plain["shown"])
    shown = [one | {"explanation": compact(one["explanation"], scale)} for one in plain["shown"]]
    return {**plain, "shown": shown}
