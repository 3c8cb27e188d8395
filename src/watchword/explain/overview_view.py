"""The overview of a model and the values of an n-gram as HTML: a snippet or a whole page.

Drawn from `Overview.to_dict()` and `NgramWorth.to_dict()` alone. Tables list every number in the
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from watchword._checks import Label
from watchword._display import excerpt, many
from watchword.explain import svg
from watchword.explain.blocks import PlainData, as_value, column_of
from watchword.explain.markup import details_html, document, escaped, name_html, table_html
from watchword.explain.palette import label_colour
from watchword.explain.pictures import bars_svg, cloud_svg, distribution_svg

MOST_LABELS = 50  # drawn in a page by default
MOST_IN_SNIPPET = 10
_STEPS = ("count", "lv", "sg", "sn", "gv", "cv")
_MEANINGS = {
    "count": "number of documents or occurrences, as the parameter counting says",
    "lv": "local value: frequency under the label",
    "sg": "significance: how much more frequent it is than under other labels",
    "sn": "sanction: lower the more labels it is significant for",
    "gv": "global value: lv · sg · sn",
    "cv": "confidence value: what it adds when a text is read",
}

_STYLE = """
.ww-side { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: flex-start; }
.ww-side figure { margin: .5rem 0; min-width: 0; max-width: 100%; }
.ww-halves figure { flex: 1 1 22rem; }
.ww-overview svg { max-width: 100%; height: auto; }
.ww-overview td svg { width: 3.5rem; height: .6rem; margin-inline-start: .4rem; }
.ww-overview th[scope=row] { min-width: 6rem; }
.ww-overview th, .ww-overview td { text-align: start; vertical-align: top; }
.ww-overview .number { text-align: end; white-space: nowrap; }
.ww-overview summary { cursor: pointer; padding: .3rem 0; }
.ww-overview bdi { overflow-wrap: anywhere; }
.ww-overview figcaption { font-size: .9rem; font-weight: 600; padding-bottom: .3rem; }
.ww-overview nav ul { columns: 14rem; padding-inline-start: 1.2rem; }
@media print { .ww-overview details::details-content { content-visibility: visible; } }
"""


def overview_html(
    plain: PlainData, *, title: str, labels: Sequence[Label] | None, page: bool
) -> str:
    """Return a model's totals and, for each label, its best n-grams and the distribution of values.

    `labels` are the labels to draw [default: the first 10, or 50 in a page].

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> plain = model.overview().to_dict()
    >>> overview_html(plain, title="Model", labels=None, page=True).startswith("<!doctype html>")
    True
    """
    known = [one["label"] for one in plain["labels"]]
    drawn = known[: MOST_LABELS if page else MOST_IN_SNIPPET] if labels is None else list(labels)
    parts = [_totals(plain)]
    if page and len(drawn) > 1:
        places = [(column_of(known, label), name_html(label)) for label in drawn]
        links = "".join(f'<li><a href="#label-{at}">{name}</a></li>' for at, name in places)
        parts.append(f'<nav aria-label="Labels"><ul>{links}</ul></nav>')
    parts += [_label_section(plain, label, page=page) for label in drawn]
    if labels is None and len(drawn) < len(known):
        rest = len(known) - len(drawn)
        parts.append(f'<p class="quiet">{rest:,} more labels are not drawn.</p>')
    return _shell(title, "\n".join(parts), page=page)


def _shell(title: str, inside: str, *, page: bool) -> str:
    body = f"{_heading(1, escaped(title), page=page)}\n{inside}"
    if page:
        return document(title, f'<main class="ww-overview">\n{body}\n</main>', _STYLE)
    return f'<div class="ww-overview"><style>{_STYLE}</style>{body}</div>'


def _totals(plain: PlainData) -> str:
    rows = []
    for one in plain["labels"]:
        ngrams = (length["ngrams"] for length in one["lengths"])
        rows.append((name_html(one["label"]), one["documents"], one["words"], *ngrams))
    lengths = range(1, len(plain["ngrams"]) + 1)
    heads = ["label", "documents", "words learnt", *(many(at, "word") for at in lengths)]
    distinct = ["distinct, all labels", "", "", *plain["ngrams"]]
    settings = ", ".join(f"{name} {value}" for name, value in plain["parameters"].items())
    pruned = " Rare n-grams were pruned." if plain["pruned"] else ""
    table = table_html("Documents, words and n-grams of each length learnt", heads, rows, distinct)
    about = f'\n<p class="quiet">{escaped(settings)}.{pruned}</p>'
    if (refinement := plain.get("refinement")) is not None:
        about += (
            f"\n<p>The model is {escaped(refinement['text'])}. "
            "The values on this page are the counted ones, without corrections.</p>"
        )
    return table + about


def _label_section(plain: PlainData, label: Label, *, page: bool) -> str:
    bars, cloud = bars_svg(plain, label), cloud_svg(plain, label)
    at = column_of([one["label"] for one in plain["labels"]], label)
    own = plain["labels"][at]
    anchor = f' id="label-{at}"' if page else ""
    if not own["top"]:
        inside = "<p>No n-gram has a value for this label.</p>"
    else:
        pictures = _figure(bars, "n-grams of highest value") + _figure(cloud, "word cloud")
        inside = f'<div class="ww-side ww-halves">{pictures}</div>{_by_length(plain, label, own)}'
    distributions = "".join(_distributions(plain, label, own))
    return (
        f"<section{anchor}>{_heading(2, name_html(label), page=page)}{inside}"
        f"{_heading(3, 'Distribution of values', page=page)}"
        f"<p>Number of n-grams by value, on a logarithmic scale.</p>"
        f'<div class="ww-side">{distributions}</div>{_distribution_table(plain, own)}</section>'
    )


def _by_length(plain: PlainData, label: Label, own: PlainData) -> str:
    figures, tables = "", _ngram_table("n-grams of highest value", own["top"])
    for each in own["lengths"]:
        name = f"of {many(each['length'], 'word')}"
        tables += _ngram_table(name, each["top"])
        if each["top"]:
            figures += _figure(bars_svg(plain, label, length=each["length"]), name)
    sides = {"By length": figures, "As tables": tables}
    return "".join(
        details_html(name, f'<div class="ww-side">{side}</div>') for name, side in sides.items()
    )


def _ngram_table(caption: str, ngrams: Sequence[PlainData]) -> str:
    rows = ((name_html(one["ngram"]), one["value"], one["count"]) for one in ngrams)
    return table_html(caption, ["n-gram", "value", "count"], rows)


def _distributions(plain: PlainData, label: Label, own: PlainData) -> Iterator[str]:
    for each in own["lengths"]:
        caption = f"{many(each['length'], 'word')}: {each['ngrams']:,} n-grams"
        if each["worthless"]:
            caption += f", {each['worthless']:,} of them with value 0"
        yield _figure(distribution_svg(plain, label, each["length"]), caption)


def _distribution_table(plain: PlainData, own: PlainData) -> str:
    width = plain["bin_width"]
    rows = [("0", *(each["worthless"] for each in own["lengths"]))]
    bins = zip_longest(*(each["distribution"] for each in own["lengths"]), fillvalue=0)
    for at, counted in enumerate(bins, 1):
        if any(counted):
            rows.append((f"up to {as_value(at * width)}", *counted))
    heads = ["value", *(many(each["length"], "word") for each in own["lengths"])]
    return details_html("As a table", table_html("n-grams by value and length", heads, rows))


# The values of an n-gram


def ngram_html(
    plain: PlainData, labels: Sequence[Label] | None = None, *, page: bool = False
) -> str:
    """Return an n-gram's values for every label, the values of its words, and the words after it.

    `labels` are the labels to show [default: all].

    >>> from watchword import TauSS3
    >>> from watchword.model.overview import ngram_worth
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> ngram_html(ngram_worth(model, "a match").to_dict()).count("<table>")
    2
    """
    known = [one["label"] for one in plain["values"]]
    columns = [column_of(known, label) for label in (known if labels is None else labels)]
    unknown = "<p>The model has not learnt this n-gram.</p>"
    parts = [] if plain["known"] else [unknown]
    parts.append(_worth_table(plain["values"], columns))
    meanings = "".join(f"<dt>{name}</dt><dd>{meaning}</dd>" for name, meaning in _MEANINGS.items())
    parts.append(details_html("What the columns mean", f"<dl>{meanings}</dl>"))
    if plain["words"]:
        parts.append(_words_table(plain["words"], columns))
    if plain["following"]:
        parts.append(_following_table(plain["following"]))
    return _shell(f"“{excerpt(plain['ngram'])}”", "\n".join(parts), page=page)


def _worth_table(values: Sequence[PlainData], columns: Sequence[int]) -> str:
    highest = max((one["count"] for one in values), default=0) or 1
    rows = []
    for at in columns:
        one = values[at]
        cells = [f"{one['count']:,}{_meter(one['count'] / highest, at)}"]
        cells += [f"{as_value(one[step])}{_meter(one[step], at)}" for step in _STEPS[1:]]
        rows.append((name_html(one["label"]), *cells))
    return table_html("Value for each label", ["label", *_STEPS], rows)


def _words_table(words: Sequence[PlainData], columns: Sequence[int]) -> str:
    labels = [name_html(words[0]["values"][at]["label"]) for at in columns]
    rows = []
    for one in words:
        values = [(at, one["values"][at]["cv"]) for at in columns]
        cells = (f"{as_value(value)}{_meter(value, at)}" for at, value in values)
        rows.append((name_html(one["word"]), *cells))
    return table_html("Its words alone (cv)", ["word", *labels], rows)


def _following_table(following: Sequence[PlainData]) -> str:
    rows = []
    for one in following:
        share = f"{100 * one['probability']:.1f} %{_meter(one['probability'], None)}"
        rows.append((name_html(one["word"]), one["count"], share))
    return table_html("Next words", ["word", "count", "share"], rows)


# Parts of a page


def _heading(level: int, inside: str, *, page: bool) -> str:
    """Return a heading; in a snippet, two levels lower than in a page."""
    name = f"h{level if page else level + 2}"
    return f"<{name}>{inside}</{name}>"


def _meter(share: float, position: int | None) -> str:
    """Return a small bar for a number; hidden from screen readers, which read the number."""
    colour = "currentColor" if position is None else label_colour(position)
    full = svg.rectangle(0, 0, 100, 10, fill="currentColor", fill_opacity=0.12)
    bar = svg.rectangle(0, 0, 100 * min(max(share, 0.0), 1.0), 10, fill=colour)
    frame = {"viewBox": "0 0 100 10", "preserveAspectRatio": "none"}
    return svg.element("svg", full, bar, width=80, height=9, aria_hidden="true", **frame)


def _figure(picture: str, caption: str) -> str:
    return f"<figure><figcaption>{escaped(caption)}</figcaption>{picture}</figure>"
