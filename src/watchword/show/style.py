"""The style sheet common to all pages."""

from __future__ import annotations

from watchword.show import palette

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
