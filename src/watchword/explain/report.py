"""Reports about alerts: their data, and one self-contained page without scripts.

`report_data` gathers plain data; `watchword.explain.report` renders it as a self-contained page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from watchword._checks import Label, as_list, as_whole
from watchword.data import Subject
from watchword.evaluation.replay_charts import usual_charts
from watchword.evaluation.replaying import Outcome, Replay
from watchword.evaluation.scores import first_alerts
from watchword.explain.alerts import paper_rule
from watchword.explain.blocks import PlainData, as_value
from watchword.explain.chart import chart_svg
from watchword.explain.markup import document, escaped, left_out_html, name_html, table_html
from watchword.explain.painting import Painter
from watchword.explain.story import plain_story, tell
from watchword.explain.story_view import (
    STORY_STYLE,
    decision_html,
    shared_scale,
    shown_posts,
    timeline_figure,
    tipped_html,
)
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.notation import spell_policy

__all__ = ["OUTCOMES", "report_data"]

OUTCOMES = ("missed", "false alarm", "found", "left alone", "alert", "no alert")
"""Outcomes in words, errors first; the last two are for subjects without a true label."""

_MOST_ROWS = 10_000


def report_data(
    found: Replay,
    model: TauSS3,
    subjects: Iterable[Subject],
    *,
    stories: int = 100,
    texts: int = 2,
    characters: int = 1_000,
    progress: Callable[[Iterable[Any], int], Iterable[Any]] | None = None,
) -> dict[str, Any]:
    """Return a replay as plain data, including the stories of some subjects.

    `found` must be the result of `watchword.replay` for exactly these subjects and this model.
    Stories are included for the first `stories` subjects, errors first, each with at most `texts`
    texts of at most `characters` characters, to limit the size of the page.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(12, seed=1)
    >>> model = ww.TauSS3()
    >>> ww.teach(model, people[:6])
    >>> found = ww.replay(people[6:], model, ww.Overtakes("at risk"))
    >>> plain = report_data(found, model, people[6:], stories=2)
    >>> len(plain["subjects"]), len(plain["stories"])
    (6, 2)
    """
    listed: list[Subject] = as_list(subjects, "subjects")
    if tuple(subject.id for subject in listed) != found.scores.subjects:
        raise ValueError("the subjects must be those of the replay, in the same order")
    most = as_whole("stories", stories, 0)
    order = _order(found.outcomes, found.scores.positive)
    alerts = _alerts(found)
    chosen = order[:most]
    wanted = progress(chosen, len(chosen)) if progress is not None else chosen
    size = {"texts": as_whole("texts", texts, 0)}
    size["characters"] = as_whole("characters", characters, 0)
    # Without an exact solution, the search for changes takes too long for many subjects.
    exact = paper_rule(found.policy) is not None
    plain_stories = [
        plain_story(
            tell(engine_of(model), listed[index], found.policy, alert=alerts[index]),
            **size,
            changes=exact,
        )
        for index in wanted
    ]
    return {
        "positive": found.scores.positive,
        "by": found.scores.by,
        "policy_text": spell_policy(found.policy),
        "model": {"labels": list(model.labels), "fingerprint": model.fingerprint},
        "measures": None if found.measures is None else list(map(list, found.measures.cells())),
        "ranking": [asdict(row) for row in found.ranking()] if found.measures else [],
        "charts": [chart.to_dict() for chart in usual_charts(found)],
        "outcomes": _counts(found),
        "subjects": [
            asdict(found.outcomes[index])
            | {"outcome": outcome_name(found.outcomes[index], found.scores.positive)}
            for index in order[:_MOST_ROWS]
        ],
        "stories": plain_stories,
        "left_out": {
            "subjects": max(len(order) - _MOST_ROWS, 0),
            "stories": len(order) - len(plain_stories),
        },
    }


def outcome_name(outcome: Outcome, positive: Label) -> str:
    """Return an outcome in words, one of `OUTCOMES`."""
    alerted = outcome.label is not None
    if outcome.truth is None:
        return "alert" if alerted else "no alert"
    if outcome.truth == positive:
        return "found" if alerted else "missed"
    return "false alarm" if alerted else "left alone"


def _order(outcomes: Sequence[Outcome], positive: Label) -> list[int]:
    """Return the indices of outcomes: errors first, then by delay, then by falling score."""

    def key(index: int) -> tuple[int, float, float, int]:
        one = outcomes[index]
        alerted = one.label is not None
        delay = one.delay if alerted else np.inf
        return OUTCOMES.index(outcome_name(one, positive)), delay, -one.score, index

    return sorted(range(len(outcomes)), key=key)


def _alerts(found: Replay) -> list[int | None]:
    """Return each alert's number of posts read, or None if the subject's posts determine it."""
    scores = found.scores
    if scores.by == "post" and not found.policy.is_population:
        return [None] * len(scores.subjects)
    steps = first_alerts(scores, found.policy).tolist()
    return [
        int(series.posts[step]) if step >= 0 else 0
        for series, step in zip(scores.series, steps, strict=True)
    ]


def _counts(found: Replay) -> dict[str, int]:
    counts = Counter(outcome_name(one, found.scores.positive) for one in found.outcomes)
    return {name: counts[name] for name in OUTCOMES if counts[name]}


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
    >>> from watchword.explain.report import report_data
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
