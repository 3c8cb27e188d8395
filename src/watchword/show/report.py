"""Early-detection reports: one self-contained page without scripts, drawn from `report_data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from watchword.show.blocks import PlainData, as_value
from watchword.show.chart import chart_svg
from watchword.show.markup import document, escaped, left_out_html, name_html, table_html
from watchword.show.painting import Painter
from watchword.show.story import (
    STORY_STYLE,
    decision_html,
    shared_scale,
    shown_posts,
    timeline_figure,
    tipped_html,
)

_POINTS = 120  # per line of a timeline
_NGRAMS = 5  # per subject, for and against
_CHOICES = {
    "all": ("all", ()),
    "wrong": ("wrong", ("found", "left alone")),
    "missed": ("missed", ("false alarm", "found", "left alone")),
    "alarms": ("false alarms", ("missed", "found", "left alone")),
    "right": ("right", ("missed", "false alarm")),
}


def report_html(plain: PlainData, *, title: str = "Early detection report") -> str:
    """Return the page: measures, a table of subjects with a filter, and the subjects' stories.

    >>> import watchword as ww
    >>> from watchword.reasons.report import report_data
    >>> people = ww.make_risk_streams(12, seed=1)
    >>> model = ww.TauSS3()
    >>> ww.teach(model, people[:6])
    >>> found = ww.replay(people[6:], model, ww.Overtakes("at risk"))
    >>> report_html(report_data(found, model, people[6:])).startswith("<!doctype html>")
    True
    """
    labels, positive = plain["model"]["labels"], plain["positive"]
    painter = Painter(labels, [0.0] * len(labels), positive, alert=positive)
    stories = "\n".join(_stories(plain, painter))
    charts = "\n".join(f"<figure>{chart_svg(one, alone=False)}</figure>" for one in plain["charts"])
    body = f"""<main class="ww-story ww-report {painter.name}">
<h1>{escaped(title)}</h1>
<p>{len(plain["subjects"]) + plain["left_out"]["subjects"]:,} subjects, alerts for
<strong>{name_html(plain["positive"])}</strong>, decided after every
{"post" if plain["by"] == "post" else "tenth of the posts"}.</p>
<p class="quiet">Policy: {name_html(plain["policy_text"])}.
Model {name_html(plain["model"]["fingerprint"])}.</p>
{_measures(plain)}
{charts}
<h2 id="subjects">Subjects</h2>
{_filter(plain)}
{_subjects(plain)}
<h2>Stories</h2>
{_left_out(plain)}
{shared_scale(painter) if plain["stories"] else ""}
{stories}
</main>"""
    return document(title, body, STORY_STYLE + _STYLE + _filter_css() + painter.css())


_STYLE = """
.ww-filter { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; border: 1px solid var(--line);
  border-radius: .4rem; margin: 0 0 1rem; }
.ww-filter label { display: flex; align-items: center; gap: .4rem; min-height: 2rem; }
.ww-report section { border-top: 2px solid var(--line); content-visibility: auto;
  contain-intrinsic-size: auto 60rem; }
.ww-wrong { font-weight: 700; }
@media print { .ww-report section { content-visibility: visible; } .ww-filter { display: none; } }
"""


# Measures


def _measures(plain: PlainData) -> str:
    measures = plain["measures"]
    outcomes = [(escaped(outcome), count) for outcome, count in plain["outcomes"].items()]
    counted = table_html("Decisions", ["decision", "subjects"], outcomes)
    if measures is None:
        unknown = "<p>No measures: the label of some subjects is unknown.</p>"
        return f"<h2>Decisions</h2>{unknown}{counted}"
    (_, _, *trivial), *rows = measures
    table = table_html("Measures", ["measure", "value", *trivial], rows)
    ranking = ""
    if plain["ranking"]:
        heads = ["posts read", "P@10", "NDCG@10", "NDCG@100"]
        names = ("precision_at_10", "ndcg_at_10", "ndcg_at_100")
        ranks = [(row["rounds"], *(row[name] for name in names)) for row in plain["ranking"]]
        ranking = table_html("Ranking by score", heads, ranks)
    return (
        f'<h2>Measures</h2>{table}<div class="ww-side"><div>{counted}</div>'
        f"<div>{ranking}</div></div>"
    )


# Subjects


def _class(outcome: str) -> str:
    return f"v-{outcome.replace(' ', '-')}"


def _filter(plain: PlainData) -> str:
    if plain["measures"] is None:
        return ""
    choices = "".join(
        f'<label><input type="radio" name="show" id="show-{key}"{" checked" * (key == "all")}> '
        f"{text}</label>"
        for key, (text, _) in _CHOICES.items()
    )
    return f'<fieldset class="ww-filter"><legend>Show</legend>{choices}</fieldset>'


def _filter_css() -> str:
    return "".join(
        f".ww-report:has(#show-{key}:checked) .{_class(outcome)}{{display:none}}\n"
        for key, (_, hidden) in _CHOICES.items()
        for outcome in hidden
    )


def _subjects(plain: PlainData) -> str:
    heads = ["subject", "decision", "truth", "delay", "posts", "score"]
    header = "".join(
        f'<th scope="col"{" class=number" * (at > 2)}>{head}</th>' for at, head in enumerate(heads)
    )
    stories = len(plain["stories"])  # only the first subjects have one
    body = "".join(
        _subject_row(row, at if at < stories else None) for at, row in enumerate(plain["subjects"])
    )
    return (
        f'<div class="wide"><table><caption>Subjects, wrong decisions first</caption>'
        f"<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{left_out_html(plain['left_out']['subjects'], 'subjects')}"
    )


def _subject_row(row: PlainData, story: int | None) -> str:
    name = name_html(row["subject"])
    linked = name if story is None else f'<a href="#story-{story}">{name}</a>'
    wrong = " class=ww-wrong" * (row["outcome"] in ("missed", "false alarm"))
    truth = "" if row["truth"] is None else name_html(row["truth"])
    delay = f"{row['delay']:,}" if row["label"] is not None else "–"
    numbers = (delay, f"{row['posts']:,}", as_value(row["score"]))
    cells = "".join(f"<td class=number>{number}</td>" for number in numbers)
    return (
        f'<tr class="{_class(row["outcome"])}"><th scope="row">{linked}</th>'
        f"<td{wrong}>{row['outcome']}</td><td>{truth}</td>{cells}</tr>\n"
    )


# Stories


def _left_out(plain: PlainData) -> str:
    rest, told = plain["left_out"]["stories"], len(plain["stories"])
    note = f"{told:,} subjects, wrong decisions first; {rest:,} more are not shown."
    return f'<p class="quiet">{note}</p>' if rest else ""


def _stories(plain: PlainData, painter: Painter) -> Iterator[str]:
    for at, (story, row) in enumerate(zip(plain["stories"], plain["subjects"], strict=False)):
        changes = "".join(f"<p>{escaped(one['text'])}</p>" for one in story["changes"])
        posts = shown_posts(story, painter, prefix=f"story-{at}-", heading="h4")
        more = left_out_html(len(story["sums"]) - len(story["shown"]), "posts")
        figure = timeline_figure(story, table=False, points=_POINTS)
        yield (
            f'<section class="{_class(row["outcome"])}" id="story-{at}">'
            f"<h3>{name_html(story['subject'])} <small>{row['outcome']}</small></h3>"
            f"{decision_html(story, policy=False)}{figure}"
            f"{tipped_html(_shortened(story))}{changes}{posts}{more}"
            f'<p><a href="#subjects">all subjects</a></p></section>'
        )


def _shortened(story: PlainData) -> dict[str, Any]:
    lists = ("posts_for", "posts_against", "ngrams_for", "ngrams_against")
    tipped = dict(story["tipped"])
    tipped |= {name: tipped[name][: _NGRAMS if "ngrams" in name else 0] for name in lists}
    return {**story, "tipped": tipped}
