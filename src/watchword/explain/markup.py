"""HTML building blocks: escaping, the document around a body, and the style sheet of all pages.

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
from watchword.explain import palette
from watchword.explain.blocks import as_value

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


STYLE = f"""
{palette.palette_css()}* {{ box-sizing: border-box; }}
html {{ background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }}
html {{ scroll-padding-bottom: 8rem; }} /* keeps the focused block clear of its details */
body {{
  margin: 0 auto; padding: 1rem 1rem 6rem; max-width: 60rem;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif;
}}
h1 {{ font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 1rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.15rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }}
h3 {{ font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }}
a {{ color: inherit; }}
figure {{ margin: 1rem 0; overflow-x: auto; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: start; font-weight: 600; padding: .3rem 0; }}
th, td {{
  padding: .2rem .6rem; border-bottom: 1px solid var(--line);
  text-align: start; vertical-align: top; overflow-wrap: anywhere;
}}
th[scope=row] {{ min-width: 7rem; }}
.number {{ text-align: end; white-space: nowrap; }}
.wide {{ overflow-x: auto; }}
.quiet {{ color: var(--quiet); }}
.only-read {{
  position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap;
}}
:focus-visible {{ outline: 2px solid var(--ink); outline-offset: 2px; }}
.ww-text {{
  white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9;
  unicode-bidi: plaintext; text-align: start;
}}
.ww-part {{
  content-visibility: auto; contain-intrinsic-height: auto 90rem; unicode-bidi: plaintext;
}}
/* Details are fixed to the window; inside a contained part they would not be. */
.ww-part:is(:hover, :focus-within) {{ content-visibility: visible; }}
.ww-text mark {{ color: inherit; --part: calc(var(--share, 0) * var(--ngram, 0)); }}
.ww-text .s {{ --part: calc(var(--share, 0) * var(--sentence, 0)); }}
.ww-text .p {{ --part: calc(var(--share, 0) * var(--paragraph, 0)); }}
.ww-text :is(mark, .s, .p)::after {{
  content: var(--t); display: none; position: fixed; inset: auto 0 0 0; z-index: 1;
  max-height: 50vh; overflow: auto; padding: .6rem 1rem; border-top: 1px solid var(--line);
  background: var(--paper); color: var(--ink); font: .85rem/1.5 ui-monospace, monospace;
  white-space: pre-wrap; unicode-bidi: plaintext; box-shadow: 0 -.3rem 1rem rgb(0 0 0 / .2);
}}
.ww-text mark:is(:hover, :focus)::after {{ display: var(--on-ngram, none); }}
.ww-text .s:is(:hover, :focus-within)::after {{ display: var(--on-sentence, none); }}
.ww-text .p:is(:hover, :focus-within)::after {{ display: var(--on-paragraph, none); }}
.ww-text :hover::after {{ z-index: 2; }}
.ww-controls {{ display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0; }}
.ww-controls fieldset {{
  display: flex; flex-flow: row wrap; gap: .1rem 1.2rem; align-content: start; margin: 0;
  padding: .2rem .8rem .5rem; border: 1px solid var(--line); border-radius: .4rem; min-width: 0;
}}
.ww-controls .ww-labels {{ max-height: 16rem; overflow: auto; }}
.ww-controls label {{
  display: flex; align-items: center; gap: .45rem; min-height: 2rem; min-width: 0;
}}
.ww-controls bdi {{ overflow-wrap: anywhere; min-width: 0; }}
.ww-controls input {{ accent-color: var(--ink); }}
.ww-controls svg {{ flex: none; width: 4rem; height: .7rem; fill: currentColor; }}
.ww-controls .ww-ground {{ opacity: .2; }}
.ww-controls .ww-below {{ opacity: .5; }}
.ww-controls data {{ font-weight: 600; font-variant-numeric: tabular-nums; }}
.on-ngram {{ display: var(--on-ngram, block); }}
.on-sentence {{ display: var(--on-sentence, block); }}
.on-paragraph {{ display: var(--on-paragraph, block); }}

@media (forced-colors: active) {{
  .ww-text :is(mark, .s, .p) {{
    forced-color-adjust: none; color: CanvasText; background-color: transparent;
  }}
  .ww-controls svg {{ forced-color-adjust: none; }}
}}
@media print {{
  .only-screen {{ display: none; }}
  body {{ max-width: none; padding: 0; font-size: 11pt; }}
  h1, h2, h3 {{ break-after: avoid; }}
  tr, figure {{ break-inside: avoid; }}
  .ww-text :is(mark, .s, .p)::after {{ display: none !important; }}
  .ww-part {{ content-visibility: visible; }}
  .ww-controls .ww-labels {{ max-height: none; }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
