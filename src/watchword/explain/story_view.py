"""Stories of subjects and counterfactual changes as HTML, drawn from plain data alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from watchword._display import excerpt, many
from watchword.explain.blocks import (
    PlainData,
    as_chance,
    as_value,
    by_score,
    scale_of,
    shown_columns,
)
from watchword.explain.markup import (
    details_html,
    document,
    escaped,
    left_out_html,
    name_html,
    table_html,
)
from watchword.explain.painting import Painter
from watchword.explain.story import decision_text
from watchword.explain.text_view import explanation_html, scale_html
from watchword.explain.timeline import timeline_description, timeline_svg

_MOST = 30  # occurrences listed
_OPEN = 8  # occurrences: longer lists are collapsed at first
_MOST_CHANGES = 4


def changes_html(changes: Sequence[PlainData], shown: Sequence[int] = ()) -> str:
    """Return all changes as HTML; `shown` are the numbers of the posts to link to."""
    note = (
        '<p class="quiet">The contributions of these n-grams are set to 0; the texts are not read '
        "again without them.</p>"
    )
    return note + "".join(change_html(change, shown) for change in changes)


def page_with_changes(page: str, changes: Sequence[PlainData]) -> str:
    """Return a page with a section added at its end: what would change the label."""
    before, end, after = page.rpartition("</main>")  # escaped text cannot contain it
    return f"{before}<h2>What would change the label</h2>\n{changes_html(changes)}\n{end}{after}"


def change_html(plain: PlainData, shown: Sequence[int] = ()) -> str:
    """Return a sentence and a table of the occurrences."""
    sentence = f"<p>{escaped(plain['text'])}</p>"
    occurrences = plain["occurrences"]
    if not occurrences:
        return sentence
    with_posts = occurrences[0]["post"] is not None
    columns = _columns(plain)
    heads = ["n-gram", "post" if with_posts else "offset"]
    heads += [name_html(plain["labels"][at]) for at in columns]
    strongest = sorted(occurrences, key=lambda one: -max(one["contribution"]))[:_MOST]
    rows = [
        (
            name_html(one["ngram"]),
            post_link(one["post"], shown) if with_posts else one["start"],
            *(one["contribution"][at] for at in columns),
        )
        for one in strongest
    ]
    more = left_out_html(len(occurrences) - len(strongest), "n-grams")
    opened = " open" if len(strongest) <= _OPEN else ""
    return (
        f"{sentence}<details{opened}><summary>N-grams</summary>"
        f"{table_html('', heads, rows)}{more}</details>"
    )


def _columns(plain: PlainData) -> list[int]:
    """Return the indices of the labels to which the occurrences contribute most."""
    contributions = (one["contribution"] for one in plain["occurrences"])
    totals = [sum(each) for each in zip(*contributions, strict=True)]
    return sorted(by_score(range(len(totals)), totals)[:_MOST_CHANGES])


def post_link(number: int, shown: Sequence[int]) -> str:
    """Return the number of a post, linked if the page shows that post."""
    return f'<a href="#post-{number}">{number:,}</a>' if number in shown else f"{number:,}"


_MOST_ROWS = 2_500  # rows of the table below a timeline
_MOST_COLUMNS = 8

STORY_STYLE = """
.ww-timeline svg { min-width: 36rem; }
.ww-side { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: flex-start; }
.ww-side > div { flex: 1 1 24rem; min-width: 0; }
.ww-story summary { cursor: pointer; padding: .3rem 0; }
.ww-story .number { text-align: end; white-space: nowrap; }
.ww-story th[scope=row]:not(:has(a)) { min-width: 7rem; }
.ww-post { border-top: 1px solid var(--line); padding: .5rem 0; }
.ww-post :is(h3, h4) { margin: .5rem 0; font-size: 1rem; }
.ww-post:target :is(h3, h4)::before { content: "→ "; }
.ww-alert { font-weight: 600; }
@media print { .ww-story details::details-content { content-visibility: visible; } }
"""


def story_html(plain: PlainData) -> str:
    """Return the decision, timeline, what tipped and would have changed it, and the key posts."""
    positive = plain["positive"]
    parts = [*_reasons(plain, "h3", "h4", ()), "<h4>Posts</h4>", _left_out(plain)]
    scale = scale_of(one["explanation"] for one in plain["shown"])
    for one in plain["shown"]:
        painted = explanation_html(one["explanation"], positive, alert=positive, scale=scale)
        parts.append(f"<h5>{_post_title(plain, one)}</h5>{painted}{_cut(one)}")
    inside = "\n".join(parts)
    return f'<div class="ww-story"><style>{_SNIPPET_STYLE}</style>{inside}</div>'


def story_page(plain: PlainData) -> str:
    """Return the same as a page, in which label and level can be chosen.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot sleep"], ww.Overtakes("at risk"))
    >>> story_page(story.to_dict()).startswith("<!doctype html>")
    True
    """
    positive = plain["positive"]
    painter = Painter(plain["labels"], _scores(plain), positive, alert=positive)
    posts = shown_posts(plain, painter)
    parts = [
        *_reasons(plain, "h1", "h2", [one["number"] for one in plain["shown"]]),
        "<h2>Posts</h2>",
        _left_out(plain),
        f'<div class="{painter.name}">{painter.controls()}\n{shared_scale(painter)}\n{posts}</div>',
    ]
    body = "\n".join(['<main class="ww-story">', *parts, "</main>"])
    return document(_title(plain), body, STORY_STYLE + painter.css())


def _title(plain: PlainData) -> str:
    return f"The story of {'a subject' if plain['subject'] is None else excerpt(plain['subject'])}"


def _reasons(plain: PlainData, top: str, heading: str, shown: Sequence[int]) -> Iterator[str]:
    """Yield everything but the posts; `shown` are the numbers of the posts to link to."""
    yield f"<{top}>{escaped(_title(plain))}</{top}>"
    yield decision_html(plain)
    yield timeline_figure(plain)
    yield f"<{heading}>What tipped the decision</{heading}>"
    yield tipped_html(plain, shown)
    if plain["changes"]:
        yield f"<{heading}>What would have changed the decision</{heading}>"
        yield changes_html(plain["changes"], shown)


_SNIPPET_STYLE = """
.ww-story .number { text-align: end; }
.ww-story figure { margin: 1em 0; }
.ww-story :is(caption, th, td) { text-align: start; vertical-align: top; padding: .1em .6em; }
.ww-story .ww-side { display: flex; flex-wrap: wrap; gap: .5em 2em; }
.ww-story svg { max-width: 100%; height: auto; color: inherit; }
"""


def _scores(plain: PlainData) -> list[float]:
    """Return the accumulated confidences at the decision."""
    until = plain["tipped"]["posts"]
    scores: list[float] = plain["sums"][until - 1] if until else [0.0] * len(plain["labels"])
    return scores


def decision_html(plain: PlainData, *, policy: bool = True) -> str:
    """Return the decision and its delay, the true label where known, and the policy."""
    delay, posts = plain["decision"]["delay"], plain["decision"]["posts"]
    text = decision_text(
        plain["positive"], plain["truth"], delay=delay, posts=posts, spell=name_html
    )
    line = f'\n<p class="quiet">Policy: {name_html(plain["policy_text"])}</p>' if policy else ""
    return f'<p class="ww-alert">{text}</p>{line}'


def timeline_figure(plain: PlainData, *, table: bool = True, points: int = 400) -> str:
    """Return the timeline, its description in words, and a table of its numbers."""
    picture = timeline_svg(plain, alone=False, points=points)
    caption = escaped(timeline_description(plain))
    numbers = _numbers(plain) if table and plain["sums"] else ""
    return (
        f'<figure class="ww-timeline" tabindex="0" role="group" aria-label="Timeline">{picture}'
        f"<figcaption>{caption}</figcaption></figure>{numbers}"
    )


def _numbers(plain: PlainData) -> str:
    labels, positive = plain["labels"], plain["labels"].index(plain["positive"])
    columns = shown_columns(_scores(plain), positive, _MOST_COLUMNS)
    with_times = any(plain["times"])
    heads = ["post", *(["time"] if with_times else [])]
    heads += [f"{name_html(labels[at])} {what}" for what in ("added", "total") for at in columns]
    rows = []
    both = zip(plain["added"][:_MOST_ROWS], plain["sums"], strict=False)
    for number, (gains, sums) in enumerate(both, 1):
        mark = " (alert)" if number == plain["decision"]["delay"] else ""
        cells: list[Any] = [escaped(plain["times"][number - 1] or "")] if with_times else []
        cells += [row[at] for row in (gains, sums) for at in columns]
        rows.append((f"{number:,}{mark}", *cells))
    rest = len(plain["sums"]) - len(rows)
    more = f'<p class="quiet">{many(rest, "more post")}</p>' if rest else ""
    caption = "Confidence added by each post, and totals"
    return details_html("As a table", table_html(caption, heads, rows) + more)


# What tipped the decision


def tipped_html(plain: PlainData, shown: Sequence[int] = ()) -> str:
    """Return tables of the strongest evidence for and against the positive label."""
    tipped, positive = plain["tipped"], plain["positive"]
    rival = tipped["rival"]
    moment = "up to the alert" if plain["decision"]["delay"] else "up to the end"
    against = "" if rival is None else f" <em>Against</em>: evidence for {name_html(rival)}."
    intro = (
        f"<p>{many(tipped['posts'], 'post')} {moment}. <em>For</em>: evidence for "
        f"{name_html(positive)}.{against}</p>"
    )
    if plain["refined"]:
        intro += (
            '<p class="quiet">The model is refined: n-grams add to the scores of posts, and posts '
            "add probabilities.</p>"
        )
    columns = [plain["labels"].index(one) for one in (positive, rival) if one is not None]
    names = [name_html(plain["labels"][at]) for at in columns]

    def parts(one: PlainData) -> list[float]:
        return [one["contribution"][at] for at in columns]

    def table(caption: str, heads: list[str], rows: list[list[Any]]) -> str:
        return table_html(caption, heads + names, rows) if rows else ""

    def half(side: str) -> str:
        ngrams = [
            [name_html(one["ngram"]), one["times"], one["posts"], *parts(one)]
            for one in tipped[f"ngrams_{side}"]
        ]
        posts = [[post_link(one["number"], shown), *parts(one)] for one in tipped[f"posts_{side}"]]
        best = table(f"n-grams {side} it", ["n-gram", "times", "posts"], ngrams)
        return f"<div>{best}{table(f'Posts {side} it', ['post'], posts)}</div>"

    sides = f'<div class="ww-side">{half("for")}{half("against")}</div>'
    return intro + "".join(map(_weighed_table, plain["weighed"])) + sides


def _weighed_table(weighed: PlainData) -> str:
    """Return the features that the policy weighed, with their sum and the threshold."""
    heads = ["feature", "value", "weight", "weight · value"]
    rows = (
        (escaped(one["feature"]), *map(_signed, (one["value"], one["weight"], one["contribution"])))
        for one in weighed["features"]
    )
    caption = f"Features weighed at post {weighed['post']:,}"
    compared = f"sum, compared with the threshold {_signed(weighed['threshold'])}"
    return table_html(caption, heads, rows, (compared, "", "", _signed(weighed["total"])))


def _signed(number: float) -> str:
    return f"−{as_value(-number)}" if number < 0 else as_value(number)


# Posts


def shared_scale(painter: Painter) -> str:
    """Return the legend of the scale that all posts painted by one painter share."""
    return f'<p class="quiet">All posts shown have one scale. {scale_html(painter)}</p>'


def _left_out(plain: PlainData) -> str:
    posts, rest = len(plain["sums"]), len(plain["sums"]) - len(plain["shown"])
    note = f"The posts with the largest contributions; {rest:,} of {posts:,} posts are not shown."
    return f'<p class="quiet">{note}</p>' if rest else ""


def shown_posts(
    plain: PlainData, painter: Painter, *, prefix: str = "", heading: str = "h3"
) -> str:
    """Return the posts with texts, painted; `prefix` makes their anchors unique in a page."""
    return "\n".join(
        f'<article class="ww-post" id="{prefix}post-{one["number"]}">'
        f"<{heading}>{_post_title(plain, one)}</{heading}>"
        f"{painter.paint(one['explanation'])}{_cut(one)}</article>"
        for one in plain["shown"]
    )


def _post_title(plain: PlainData, one: PlainData) -> str:
    more = [] if one["time"] is None else [f"<time>{escaped(one['time'])}</time>"]
    gains = plain["added"][one["number"] - 1]
    column = plain["labels"].index(plain["positive"])
    if not any(gains):
        more.append("no evidence")
    elif plain["refined"]:
        more.append(f"probability of {name_html(plain['positive'])} {as_chance(gains[column])}")
    else:
        more.append(f"{name_html(plain['positive'])} + {as_value(gains[column])}")
    alert = " – alert" if one["number"] == plain["decision"]["delay"] else ""
    return f"Post {one['number']:,}{alert} <small>{' · '.join(more)}</small>"


def _cut(one: PlainData) -> str:
    rest = many(one["left_out"], "more character")
    note = f'<p class="quiet">Only the beginning is read and shown; {rest} left out.</p>'
    return note if one["left_out"] else ""
