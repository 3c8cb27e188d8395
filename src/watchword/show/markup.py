"""HTML building blocks: escaping, and the document around a body.

Texts, labels and titles are untrusted. `escaped` is for labels, titles and attributes; `kept` is
for the text itself and preserves every character that HTML allows.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from watchword._display import VISIBLE, excerpt, visible
from watchword.show.blocks import as_value
from watchword.show.style import STYLE

_REPLACEMENT = "\ufffd"

# Not allowed in HTML: control characters except white space, and lone surrogates.
_STAND_INS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\f\r"}
_STAND_INS[0x7F] = "\u2421"
_STAND_INS |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], _REPLACEMENT)

# HTML parsers turn a raw carriage return into a line feed. Embeddings and overrides would reorder
# the text after them; alone in an isolate they are kept without effect. Isolates and marks reorder
# no letters and end with the line, so they need no treatment.
_MARKUP = {ord(character): html.escape(character) for character in "&<>\"'"}
_MARKUP[0x0D] = "&#13;"
for _code in (0x202A, 0x202B, 0x202D, 0x202E):
    _MARKUP[_code] = f'<bdi title="U+{_code:04X}">{chr(_code)}</bdi>'
_KEPT = _STAND_INS | _MARKUP
_ESCAPED = VISIBLE | {ord(character): html.escape(character) for character in "&<>\"'"}


def stand_ins(text: str) -> str:
    r"""Replace each character that HTML does not allow by one visible character.

    >>> stand_ins("a\x00b\ud800\r\n")
    'a␀b�\r\n'
    """
    return text.translate(_STAND_INS)


def kept(text: str) -> str:
    r"""Return markup whose text content is exactly this text.

    >>> kept("<b>\r\n")
    '&lt;b&gt;&#13;\n'
    """
    # Most pieces of a painted text are one word or one space, and need no translation.
    return text if text.isalnum() or text == " " else text.translate(_KEPT)


def escaped(content: object) -> str:
    """Escape a label, a title or an attribute value, with control characters made visible.

    >>> escaped('"><script>')
    '&quot;&gt;&lt;script&gt;'
    """
    text = str(content)
    return text if text.isalnum() else text.translate(_ESCAPED)


def name_html(name: object) -> str:
    """Return a label, n-gram or id as markup, shortened and isolated from its surroundings.

    >>> name_html("R&D")
    '<bdi>R&amp;D</bdi>'
    """
    return f"<bdi>{escaped(excerpt(name))}</bdi>"


def table_html(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    foot: Sequence[Any] | None = None,
) -> str:
    """Return a table; cells are markup or numbers, and all but the first of a row are numbers.

    >>> table_html("", ["n-gram", "value", "count"], [(name_html("a"), 0.5, 1000)]).count("1,000")
    1
    """
    columns = "".join(
        f'<th scope="col"{_NUMBER if at else ""}>{head}</th>' for at, head in enumerate(heads)
    )
    named = f"<caption>{caption}</caption>" if caption else ""
    ended = f"<tfoot>{_row(foot)}</tfoot>" if foot is not None else ""
    return (
        f'<div class="wide"><table>{named}<thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(map(_row, rows))}</tbody>{ended}</table></div>"
    )


_NUMBER = ' class="number"'


def details_html(summary: str, inside: str) -> str:
    """Return markup that is hidden until its summary is chosen."""
    return f"<details><summary>{summary}</summary>{inside}</details>"


def left_out_html(many: int, what: str) -> str:
    """Return a note that so many more things are not shown; empty for none."""
    return f'<p class="quiet">{many:,} more {what} are not shown.</p>' if many > 0 else ""


def _row(cells: Sequence[Any]) -> str:
    first, *rest = map(_cell, cells)
    numbers = "".join(f"<td{_NUMBER}>{cell}</td>" for cell in rest)
    return f'<tr><th scope="row">{first}</th>{numbers}</tr>\n'


def _cell(content: str | float) -> str:
    if isinstance(content, str):
        return content
    return f"{content:,}" if isinstance(content, int) else as_value(content)


def css_string(content: object) -> str:
    r"""Return a CSS string literal, safe inside a style sheet and a style element.

    >>> print(css_string('a"}</style>'))
    "a\22 \7d \3c /style\3e "
    """
    safe = re.sub(r"[^\w .,:;()/-]", lambda found: f"\\{ord(found[0]):x} ", visible(str(content)))
    return f'"{safe}"'


def as_json(plain: object) -> str:
    r"""Return JSON that is safe inside an HTML element: it contains no markup characters.

    >>> print(as_json("</script>"))
    "\u003c/script\u003e"
    """
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def document(title: object, body: str, css: str = "", *, script: str = "") -> str:
    """Return a self-contained page around a body of markup.

    The Content-Security-Policy allows no other file, and only this style sheet and this script, by
    their hashes: `style` and `on…` attributes in the body have no effect. The common style sheet
    covers light and dark mode, narrow and wide windows and print; `css` is appended to it.

    >>> page = document("Tom & Jerry", "<p>Hello</p>")
    >>> page.startswith("<!doctype html>"), "<title>Tom &amp; Jerry</title>" in page
    (True, True)
    """
    style = _clean("style", STYLE + css)
    script = _clean("script", script)
    policy = content_policy([style], [script] if script else [])
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="watchword">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
{f"<script>{script}</script>" if script else ""}</body>
</html>
"""
    return page.encode("utf-8", "replace").decode("utf-8")


def _clean(element: str, content: str) -> str:
    """Return the content of a style or script element as a parser will see it."""
    # A comment opened in a script would hide its end tag.
    if re.search(rf"</{element}|<!--", content, re.IGNORECASE):
        raise ValueError(f"{element} must not contain </{element} or <!--")
    return re.sub("\r\n?", "\n", content).translate({0: _REPLACEMENT})


def content_policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy that allows these styles and scripts, and nothing else."""
    allowed = {"style-src": styles, "script-src": scripts}
    sources = [f"{kind} {' '.join(map(_hash, own))}" for kind, own in allowed.items() if own]
    return "; ".join(["default-src 'none'", *sources, "base-uri 'none'", "form-action 'none'"])


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8", "replace")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
