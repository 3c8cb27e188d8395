"""What every page of ours is made with: escaping, and the shell around a body.

Text, labels and titles come from anybody. `escaped` is for what stands beside the text (labels,
titles, attributes), `kept` for the text itself, which loses no character that HTML can hold.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re

from watchword.show.style import STYLE
from watchword.show.terminal import visible

__all__ = ["STYLE", "css_string", "document", "escaped", "kept", "stand_ins"]

_REPLACEMENT = "\ufffd"

# What HTML must not hold: controls that are no white space, and halves of surrogate pairs.
_STAND_INS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\f\r"}
_STAND_INS[0x7F] = "\u2421"
_STAND_INS |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], _REPLACEMENT)

# A parser takes a raw carriage return for a line feed. Embeddings and overrides would reorder what
# follows them; alone in an isolate they stay, without effect. Isolates and marks need nothing:
# they reorder no letters, and end with the line.
_MARKUP = {ord(character): html.escape(character) for character in "&<>\"'"}
_MARKUP[0x0D] = "&#13;"
_MARKUP |= {
    code: f'<bdi title="U+{code:04X}">{chr(code)}</bdi>'
    for code in (0x202A, 0x202B, 0x202D, 0x202E)
}
_KEPT = _STAND_INS | _MARKUP


def stand_ins(text: str) -> str:
    r"""Replace, one for one, the characters that HTML cannot hold; all others stay.

    >>> stand_ins("a\x00b\ud800\r\n")
    'a␀b�\r\n'
    """
    return text.translate(_STAND_INS)


def kept(text: str) -> str:
    r"""Text as markup whose text content is that text, character for character.

    >>> kept("<b>\r\n")
    '&lt;b&gt;&#13;\n'
    """
    return text.translate(_KEPT)


def escaped(content: object) -> str:
    """Escape what stands beside a text: a label, a title, the value of an attribute.

    >>> escaped('"><script>')
    '&quot;&gt;&lt;script&gt;'
    """
    return html.escape(visible(str(content)), quote=True)


def css_string(content: object) -> str:
    r"""A string in a style sheet, out of which nothing can break.

    >>> print(css_string('a"}</style>'))
    "a\22 \7d \3c /style\3e "
    """
    safe = re.sub(r"[^\w .,:;()/-]", lambda found: f"\\{ord(found[0]):x} ", visible(str(content)))
    return f'"{safe}"'


def document(title: object, body: str, css: str = "", *, script: str = "") -> str:
    """A whole page around a body of markup, in need of no other file.

    The browser is told to load nothing, and to apply only this style sheet and this script, known
    by their hashes: `style` and `on…` attributes in the body have no effect. Light and dark, narrow
    and wide windows and paper are provided for; `css` comes after the common style sheet.

    >>> page = document("Tom & Jerry", "<p>Hello</p>")
    >>> page.startswith("<!doctype html>"), "<title>Tom &amp; Jerry</title>" in page
    (True, True)
    """
    style = _clean("style", STYLE + css)
    script = _clean("script", script)
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        *([f"script-src {_hash(script)}"] if script else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
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
    """The content of a style or script element, as a parser will see it."""
    # A comment that opens in a script hides its end.
    if re.search(rf"</{element}|<!--", content, re.IGNORECASE):
        raise ValueError(f"a {element} element cannot hold the end of one, nor a comment's begin")
    return re.sub("\r\n?", "\n", content).translate({0: _REPLACEMENT})


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8", "replace")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
