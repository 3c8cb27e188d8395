"""Charts of replays and tunings: their numbers, as SVG, with matplotlib and in notebooks."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import watchword as ww
from watchword.evaluation import Scores, nested_tune
from watchword.evaluation.charts import Chart, Curve, first_post, threshold_of
from watchword.evaluation.replay_charts import ReplayChart

PEOPLE = ww.make_risk_streams(80, seed=3)
KNOWN, NEW = PEOPLE[:40], PEOPLE[40:]
POLICY = ww.Overtakes("at risk", margin=0.05)
HOSTILE = "<script>alert(1)</script>$\u202e&\x00"


@pytest.fixture(scope="module")
def model():
    taught = ww.TauSS3()
    ww.teach(taught, KNOWN)
    return taught


@pytest.fixture(scope="module")
def found(model):
    return ww.replay(NEW, model, POLICY, deadlines=(5, 30))


@pytest.fixture(scope="module")
def tuning():
    policies: list[ww.Policy | ww.Thresholds] = [
        ww.Thresholds("at risk", (1, 3)),
        ww.Stays("at risk"),
        ww.Repeats("at risk"),
    ]
    return ww.tune(KNOWN, policies, refine=False)


def hostile_scores():
    shares = [np.array([0.2, 0.9]), np.array([0.3, 0.1, 0.2]), np.array([0.6])]
    names = [HOSTILE, "b" * 300, "c"]
    return Scores.from_shares(names, [HOSTILE, "well", "well"], shares, positive=HOSTILE)


def curve(chart, name):
    [one] = [each for each in chart.curves if each.name == name]
    return one


# Numbers


def test_a_curve_of_thresholds_has_the_measures_of_replays(found):
    chart = found.chart("thresholds")
    assert [one.name for one in chart.curves] == ["ERDE₅", "ERDE₃₀", "F₁"]
    assert chart.rules[0].at == 0.05
    for at in (0, 20, 60):
        margin = chart.curves[0].x[at]
        policy = ww.Overtakes("at risk", margin=margin)
        measures = ww.replay_scores(found.scores, policy, deadlines=(5, 30)).measures
        assert curve(chart, "ERDE₅").y[at] == pytest.approx(measures.erde5, abs=1e-12)
        assert curve(chart, "ERDE₃₀").y[at] == pytest.approx(measures.erde[30], abs=1e-12)
        assert curve(chart, "F₁").y[at] == pytest.approx(measures.f1, abs=1e-12)


def test_no_setting_is_better_than_the_frontier(found):
    chart = found.chart("frontier", least_recall=0.3)
    settings, best = chart.curves
    edge = list(zip(best.x, best.y, strict=True))
    for delay, precision in zip(settings.x, settings.y, strict=True):
        reached = max(value for other, value in edge if other <= delay)
        assert precision <= reached
    assert list(best.x) == sorted(best.x)
    assert list(best.y) == sorted(best.y)
    [chosen] = chart.marks
    assert (chosen.x, chosen.y) == (found.measures.median_delay, found.measures.precision)


def test_a_frontier_of_costs_falls(found):
    best = found.chart("frontier", measure="erde5", least_recall=0).curves[1]
    assert list(best.y) == sorted(best.y, reverse=True)


def test_bars_of_delays_count_alerts(model):
    eager = ww.replay(NEW, model, ww.Overtakes("at risk"))
    correct, false = eager.chart("delays").curves
    hits = [one for one in eager.outcomes if one.label and one.truth == "at risk"]
    heights = np.array(correct.y) - correct.base
    assert heights.sum() == len(hits)
    assert (np.array(false.y) - false.base).sum() == eager.measures.alerts - len(hits) > 0
    third = [one for one in hits if one.delay == 3]
    assert heights[correct.x.index(2.5)] == len(third)


def test_long_delays_share_bars():
    shares = [np.r_[np.zeros(at), 1.0] for at in range(300)]
    names = [str(at) for at in range(300)]
    scores = Scores.from_shares(names, ["a"] * 300, shares, positive="a")
    chart = ww.replay_scores(scores, ww.Reaches("a")).chart("delays")
    assert len(chart.curves[0].x) <= 24
    assert sum(chart.curves[0].y) == 300
    assert [rule.at for rule in chart.rules] == [5, 50]


def test_subjects_are_drawn_with_their_scores_and_alerts(found):
    alerted = next(one for one in found.outcomes if one.label)
    other = next(one for one in found.outcomes if not one.label)
    chart = found.chart("subjects", subjects=[alerted.subject, other.subject])
    first, second = chart.curves
    assert (first.dashed, second.dashed) == (False, True)
    assert (first.y[-1], second.y[-1]) == pytest.approx((alerted.score, other.score))
    assert [mark.x for mark in chart.marks] == [alerted.delay]


def test_typical_subjects_have_every_kind_of_decision(model):
    policy = ww.Reaches("at risk", threshold=0.5).after(6)
    found = ww.replay(NEW, model, policy)
    chart = found.chart("subjects")
    kinds = {(one.truth, one.label) for one in found.outcomes}
    drawn = {curve.name.split(" (")[0] for curve in chart.curves}
    assert kinds == {(one.truth, one.label) for one in found.outcomes if one.subject in drawn}
    assert [(rule.at, rule.horizontal) for rule in chart.rules] == [(0.5, True)]


def test_policies_are_compared_on_the_same_scores(found):
    others = [ww.Overtakes("at risk"), ww.Leaps("at risk") | ww.Repeats("at risk")]
    chart = found.chart("policies", policies=others)
    assert chart.rows == ("overtakes(margin=0.05)", "overtakes", "leaps or repeats")
    costs = curve(chart, "ERDE₃₀")
    for at, policy in enumerate([POLICY, *others]):
        measures = ww.replay_scores(found.scores, policy, deadlines=(5, 30)).measures
        assert costs.x[at] == pytest.approx(measures.erde[30])
        low, high = costs.ends[at]
        assert low <= costs.x[at] <= high


def test_a_tuning_compares_the_best_of_each_kind_of_policy(tuning):
    chart = tuning.chart()
    kinds = [row.split("(")[0].split(" ")[0] for row in chart.rows[:-2]]
    assert sorted(kinds) == ["overtakes", "reaches", "repeats", "stays"]
    assert chart.rows[-2:] == ("(never alert)", "(alert everyone at the first post)")
    values = chart.curves[0].x
    assert values[0] == tuning.best.value
    assert values[-2] == tuning.bounds["never alert"]["erde50"]
    assert list(values[:-2]) == sorted(values[:-2])


def test_thresholds_of_a_tuning_are_its_trials(tuning):
    chart = tuning.chart("thresholds")
    own = threshold_of(tuning.best.policy)
    at = chart.curves[0].x.index(own.value)
    assert curve(chart, "F₁").y[at] == tuning.best.measures["f1"]
    assert len(chart.curves[0].x) > 20


def test_delays_of_a_tuning_are_of_the_chosen_setting(tuning):
    correct, false = tuning.chart("delays").curves
    alerts = round(tuning.best.measures["alert_rate"] * len(KNOWN))
    assert max(false.y) <= alerts == sum(np.array(correct.y)) + sum(np.array(false.y) - false.base)


def test_the_frontier_of_a_tuning_marks_the_chosen_setting(tuning):
    [mark] = tuning.chart("frontier", measure="f1", least_recall=0).marks
    assert (mark.x, mark.y) == (tuning.best.measures["median_delay"], tuning.best.measures["f1"])


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (ww.Overtakes("a", margin=2).after(3).ranked_by("difference"), "margin"),
        (ww.Repeats("a") | ww.Reaches("a", threshold=0.7), "threshold"),
        (ww.StandsOut("a") & ww.Leaps("a"), "gamma"),
    ],
)
def test_the_threshold_of_combined_policies_is_changed_alone(policy, name):
    found = threshold_of(policy)
    assert found.name == name
    assert found.with_value(found.value) == policy
    assert threshold_of(found.with_value(0.5)).value == 0.5


def test_the_threshold_of_a_part_that_occurs_twice_is_changed_once():
    part = ww.Overtakes("a", margin=2)
    found = threshold_of(part.after(3) | (part & ww.Repeats("a")))
    changed = ww.Overtakes("a", margin=1)
    assert found.with_value(1) == changed.after(3) | (part & ww.Repeats("a"))


def test_thresholds_of_a_weighted_sum_cover_the_sums_that_occur(model):
    policy = ww.Weighs("at risk", share=20, threshold=3)
    found = ww.replay(NEW, model, policy)
    sums = policy.contributions(found.scores.histories).sum(axis=1)
    tried = found.chart("thresholds").curves[0].x
    assert tried[0] == pytest.approx(np.quantile(sums, 0.01), rel=1e-3)
    assert tried[-1] == pytest.approx(np.quantile(sums, 0.99), rel=1e-3)


def test_policies_wait_for_their_first_post():
    assert first_post(ww.Overtakes("a").after(3).ranked_by("share")) == 3
    assert first_post(ww.Repeats("a")) == 1


# Errors


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("curves", {}, "thresholds, frontier, delays, subjects, policies, got 'curves'"),
        ("frontier", {"measure": "speed"}, "measure must be one of 'erde5'"),
        ("frontier", {"least_recall": 2}, "least_recall must be in"),
        ("subjects", {"subjects": ["nobody"]}, "no subject 'nobody'"),
        ("subjects", {"subjects": ["x"] * 11}, "at most 10"),
        ("policies", {"policies": []}, "from 1 to 11"),
    ],
)
def test_mistakes_in_charts_are_explained(found, kind, options, message):
    with pytest.raises(ValueError, match=message):
        found.chart(kind, **options)


def test_charts_of_unknown_kinds_or_without_thresholds_are_explained(model, tuning):
    with pytest.raises(ValueError, match="policies, frontier, thresholds, delays, got 'subjects'"):
        tuning.chart("subjects")
    with pytest.raises(ValueError, match="repeats has no threshold"):
        ww.replay(NEW, model, ww.Repeats("at risk")).chart("thresholds")
    one = ww.tune(KNOWN, ww.Repeats("at risk"), refine=False)
    with pytest.raises(ValueError, match="repeats has no threshold"):
        one.chart("thresholds")


def test_measures_need_true_labels(model):
    unknown = [ww.Subject(one.id, one.posts) for one in NEW[:5]]
    found = ww.replay(unknown, model, POLICY)
    with pytest.raises(ValueError, match="true label"):
        found.chart("thresholds")
    assert [one.name for one in found.chart("delays").curves] == ["alerts"]


# Pictures


KINDS: tuple[ReplayChart, ...] = ("thresholds", "frontier", "delays", "subjects")


@pytest.mark.filterwarnings("ignore:Glyph")  # for characters that a font does not have
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_stay_text(tmp_path, kind):
    found = ww.replay_scores(hostile_scores(), ww.Reaches(HOSTILE, threshold=0.5))
    picture = found.chart(kind).svg()
    assert picture.encode()
    assert {element.tag.split("}")[1] for element in ET.fromstring(picture).iter()} <= {
        *("svg", "title", "desc", "style", "g", "path", "line", "rect", "circle", "text")
    }
    assert "<script" not in picture
    assert "\u202e" not in picture
    pytest.importorskip("matplotlib")
    found.chart(kind).save(tmp_path / "hostile.png")  # matplotlib reads $ as a formula


@pytest.mark.parametrize("by", ["post", "chunk"])
@pytest.mark.parametrize("subjects", [NEW[:1], NEW[:3], [*NEW, ww.Subject("none", (), "control")]])
def test_any_subjects_can_be_drawn(model, by, subjects):
    found = ww.replay(subjects, model, ww.Reaches("at risk", 0.6), by=by)
    for kind in KINDS:
        ET.fromstring(found.chart(kind).svg())


def test_a_picture_has_a_title_and_a_description(found):
    picture = ET.fromstring(found.chart("delays").svg())
    title, description = (picture.find(f"{{*}}{name}").text for name in ("title", "desc"))
    assert title == f"Delays of {found.measures.alerts} alerts"
    assert "the median delay is" in description


def test_every_curve_is_in_the_legend_and_every_bar_is_drawn(found):
    picture = found.chart("delays").svg()
    correct, false = found.chart("delays").curves
    texts = [one.text for one in ET.fromstring(picture).iter() if one.tag.endswith("text")]
    assert {correct.name, false.name} <= set(texts)
    bars = sum(
        top > base for one in (correct, false) for top, base in zip(one.y, one.base, strict=True)
    )
    assert picture.count("<rect ") == bars + 2


def test_matplotlib_draws_the_same_numbers(found):
    pytest.importorskip("matplotlib")
    axes = found.plot("thresholds")
    drawn = {line.get_label(): line for line in axes.lines}
    chart = found.chart("thresholds")
    for one in chart.curves:
        assert drawn[one.name].get_ydata().tolist() == list(one.y)
    assert axes.get_xlabel() == "margin"


def test_matplotlib_draws_into_axes_that_are_given(found, tuning):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert found.plot("delays", axes) is axes
    assert found.plot("frontier", axes) is axes
    assert found.plot("subjects", axes) is axes
    assert found.plot("policies", axes, policies=[ww.Overtakes("at risk")]) is axes
    assert tuning.plot(ax=axes) is axes


def test_without_matplotlib_the_message_says_what_to_install(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ww.errors.MissingExtraError, match=r"watchword\[plot\]"):
        found.plot("delays")
    with pytest.raises(ww.errors.MissingExtraError, match=r"watchword\[plot\]"):
        found.chart("delays").save(tmp_path / "delays.png")
    assert not list(tmp_path.iterdir())
    found.chart("delays").save(tmp_path / "delays.svg")


@pytest.mark.parametrize(
    ("suffix", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_charts_are_saved_with_the_same_bytes_every_time(tmp_path, suffix, begin):
    pytest.importorskip("matplotlib")
    chart = Chart("Squares", "x", "x²", (Curve("x²", (0, 1, 2), (0, 1, 4)),))
    path = tmp_path / f"squares.{suffix}"
    chart.save(path)
    first = path.read_bytes()
    chart.save(path)
    assert first.startswith(begin)
    assert path.read_bytes() == first


def test_other_kinds_of_files_are_refused(found, tmp_path):
    with pytest.raises(ValueError, match=r"must end with \.svg, \.png or \.pdf"):
        found.chart("delays").save(tmp_path / "delays.gif")


# Notebooks


def assert_small_snippet(html, *, pictures=1):
    assert len(html.encode()) < 30_000
    assert html.count("<table>") == 1
    assert html.count("<svg ") == pictures
    assert "<script" not in html


def test_a_notebook_shows_a_replay_as_a_table_and_a_picture(found):
    html = found._repr_html_()
    assert_small_snippet(html)
    assert f"{100 * found.measures.erde[30]:.2f} %" in html
    assert "Measures against the margin" in html


def test_a_notebook_shows_replays_of_policies_without_thresholds(model):
    assert "Delays of" in ww.replay(NEW, model, ww.Repeats("at risk"))._repr_html_()


@pytest.mark.parametrize("subjects", [[], [ww.Subject("ann", NEW[0].posts)]])
def test_a_notebook_shows_replays_without_labels(model, subjects):
    html = ww.replay(subjects, model, POLICY)._repr_html_()
    assert "true labels unknown" in html
    assert html.count("<svg ") == 1


def test_a_notebook_shows_a_tuning_with_its_warnings(tuning):
    html = tuning._repr_html_()
    assert_small_snippet(html)
    assert "never alert" in html
    late = ww.tune(KNOWN, ww.Overtakes("at risk", margin=0.05).after(25), refine=False)
    assert late._repr_html_().count("<strong>Warning:</strong>") == len(late.warnings) > 0


def test_a_notebook_shows_nested_cross_validation():
    nested = nested_tune(KNOWN, POLICY, outer_folds=2, folds=2, refine=False)
    html = nested._repr_html_()
    assert_small_snippet(html, pictures=0)
    assert "took no part in tuning" in html


def test_a_notebook_shows_a_model_as_a_table_and_bars(model):
    html = model._repr_html_()
    assert_small_snippet(html, pictures=2)
    assert "at risk" in html


def test_a_notebook_shows_an_empty_model_as_text():
    assert ww.TauSS3()._repr_html_() is None


def test_hostile_labels_stay_text_in_a_notebook():
    model = ww.TauSS3()
    model.learn_many([HOSTILE, "well"], [HOSTILE, "well"])
    found = ww.replay_scores(hostile_scores(), ww.Reaches(HOSTILE, threshold=0.5))
    scores = hostile_scores()
    twice = Scores.from_shares(
        [f"{name}{at}" for at in range(2) for name in scores.subjects],
        [*scores.truth] * 2,
        [one.value for one in scores.series] * 2,
        positive=HOSTILE,
    )
    tuned = ww.tune(twice, ww.Reaches(HOSTILE), folds=2)
    for html in (model._repr_html_(), found._repr_html_(), tuned._repr_html_()):
        assert "<script" not in html
        assert "\u202e" not in html
        assert "\0" not in html


def test_a_notebook_shows_a_model_of_many_labels_in_few_bytes():
    model = ww.TauSS3()
    names = [f"{'label' * 20}{at}" for at in range(200)]
    model.learn_many([f"{'word' * 30}{at} again" for at in range(200)], names)
    html = model._repr_html_()
    assert len(html.encode()) < 30_000
    assert "and 190 more labels" in html


def test_large_models_are_not_searched_for_a_notebook(model, monkeypatch):
    monkeypatch.setattr("watchword.model.overview._MOST_DRAWN", 10)
    assert_small_snippet(model._repr_html_(), pictures=0)
