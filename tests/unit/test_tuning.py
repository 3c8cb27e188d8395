"""Tuning by cross-validation over subjects, compared with the same by hand."""

import csv
import dataclasses
import io
import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from watchword.evaluation import metrics, scores
from watchword.evaluation.folds import folds_of, folds_of_scores
from watchword.evaluation.objectives import MEASURES
from watchword.evaluation.tuning import grid
from watchword.streams.histories import Series
from watchword.streams.notation import spell_policy
from watchword.streams.policies import After
from watchword.streams.policy_base import ranking_score

tune = partial(ww.tune, refine=False)
RISK = ww.Overtakes("at risk")
PEOPLE = ww.make_risk_streams(23, seed=4, prevalence=0.4, posts_per_subject=(3, 9))
MARGINS = grid(ww.Overtakes, "at risk", margin=[0, 0.01, 0.05])


class Calls:
    """The subjects whose posts models learnt and read, by call."""

    def __init__(self, monkeypatch):
        owner = {post.content: person.id for person in PEOPLE for post in person.posts}
        self.learnt, self.read, self.texts = [], [], 0
        learn, score = ww.TauSS3.learn_many, scores.score_streams

        def learn_many(model, texts, labels, **options):
            listed = list(texts)
            self.learnt.append({owner[text] for text in listed})
            self.texts += len(listed)
            return learn(model, listed, labels, **options)

        def score_streams(subjects, *arguments, **options):
            self.read.append({subject.id for subject in subjects})
            return score(subjects, *arguments, **options)

        monkeypatch.setattr(ww.TauSS3, "learn_many", learn_many)
        monkeypatch.setattr("watchword.evaluation.tuning_sources.score_streams", score_streams)


@pytest.fixture
def calls(monkeypatch):
    return Calls(monkeypatch)


def test_no_post_of_the_samples_has_two_authors():
    # Else what was learnt and read could not be told apart.
    contents = [post.content for person in PEOPLE for post in person.posts]
    assert len(set(contents)) == len(contents)


def by_hand(parameters, policy, judge, *, folds, by="post", refine=False):
    """Return the measure on every fold, each read by a new model trained on the others."""
    values, weights = [], []
    for part in folds_of(PEOPLE, "at risk", folds=folds, seed=0):
        held_out = [PEOPLE[place] for place in part]
        model = ww.TauSS3(**parameters)
        ww.teach(model, [person for person in PEOPLE if person not in held_out], refine=refine)
        values.append(judge(ww.replay(held_out, model, policy, by=by).measures))
        weights.append(len(part))
    mean = sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
    return mean, values


# Values


@pytest.mark.parametrize("measure", ["erde5", "erde50", "f1", "f_latency"])
@pytest.mark.parametrize("by", ["post", "chunk"])
def test_values_are_those_of_a_cross_validation_by_hand(measure, by):
    policies = [RISK, ww.Stays("at risk", last=1)]
    tuning = tune(
        PEOPLE,
        policies,
        measure=measure,
        by=by,
        folds=3,
        parameters={"max_ngram": [1, 3], "smoothness": [0.3, 0.6]},
    )
    assert len(tuning.trials) == 8
    for trial in tuning.trials:
        mean, values = by_hand(
            trial.parameters, trial.policy, lambda one: getattr(one, measure), folds=3, by=by
        )
        assert trial.by_fold == pytest.approx(values, abs=1e-12)
        assert trial.value == pytest.approx(mean, abs=1e-12)


def test_erde_costs_each_fold_its_own_share_of_positives():
    always = ww.Overtakes("at risk", margin=-1000)
    tuning = tune(PEOPLE, always, measure="erde50", folds=3)
    for value, part in zip(
        tuning.best.by_fold, folds_of(PEOPLE, "at risk", folds=3, seed=0), strict=True
    ):
        share = sum(PEOPLE[place].label == "at risk" for place in part) / len(part)
        assert value == pytest.approx((1 - share) * share)  # hits at once cost next to nothing


@pytest.mark.parametrize(("measure", "more"), [("erde5", -1), ("erde50", -1), ("f1", 1)])
def test_the_best_comes_first(measure, more):
    values = [trial.value for trial in tune(PEOPLE, MARGINS, measure=measure).trials]
    assert len(set(values)) > 1
    assert values == sorted(values, reverse=more > 0)


def test_ties_go_to_the_first_policy_given():
    never = [ww.Overtakes("at risk", margin=margin) for margin in (1e6, 1e7, 1e5)]
    tuning = tune(PEOPLE, never, measure="f1", parameters={"max_ngram": [2, 1]})
    assert [trial.value for trial in tuning.trials] == [0.0] * 6
    assert tuning.best.policy == never[0]
    assert tuning.best.parameters == {"max_ngram": 2}


def test_a_function_is_minimised():
    seen = []

    def false_alarms(y_true, y_pred, delays, *, positive):
        seen.append(len(y_true))
        assert len(y_pred) == len(delays) == len(y_true)
        assert positive is True
        return int((y_pred & ~y_true).sum())

    tuning = tune(PEOPLE, MARGINS, measure=false_alarms, folds=2)
    assert tuning.measure == "false_alarms"
    assert tuning.best.policy == ww.Overtakes("at risk", margin=0.05)
    assert [trial.value for trial in tuning.trials] == sorted(
        trial.value for trial in tuning.trials
    )
    assert sorted(seen) == [11] * 3 + [12] * 3


def test_a_built_in_measure_can_be_given_as_a_function():
    def erde20(*arguments, **options):
        return metrics.erde(*arguments, deadline=20, minimum_delay=0, **options)

    tuning = tune(PEOPLE, MARGINS, measure=erde20)
    assert 0 < tuning.best.value < tuning.trials[-1].value < 1


def test_a_function_that_returns_no_number_is_refused():
    with pytest.raises(ValueError, match="returned NaN on a fold"):
        tune(PEOPLE, RISK, measure=lambda *_, **__: float("nan"))


def test_a_custom_policy_is_tuned_like_a_built_in_one():
    @dataclass(frozen=True)
    class Doubles(ww.Policy):
        positive: str
        margin: float

        def alerts(self, step):
            return step.value > 2 * step.other + self.margin

    own = tune(PEOPLE, grid(Doubles, "at risk", margin=[0, 0.005]))
    ours = tune(PEOPLE, grid(ww.Overtakes, "at risk", ratio=[2], margin=[0, 0.005]))
    assert [trial.by_fold for trial in own.trials] == [trial.by_fold for trial in ours.trials]


def test_policies_that_compare_subjects_are_tuned():
    tuning = tune(PEOPLE, grid(ww.StandsOut, "at risk", gamma=[0, 2]), measure="f1", folds=3)
    for trial in tuning.trials:
        mean, _ = by_hand({}, trial.policy, lambda one: one.f1, folds=3)
        assert trial.value == pytest.approx(mean)
    assert tuning.best.value > 0


# Folds


@st.composite
def crowds(draw):
    """Draw labels of subjects, and the number of folds they allow."""
    folds = draw(st.integers(2, 5))
    sizes = st.integers(folds, folds + 20)
    labels = (
        ["at risk"] * draw(sizes) + ["control"] * draw(sizes) + ["other"] * draw(st.integers(0, 3))
    )
    return draw(st.permutations(labels)), folds


@given(crowds(), st.integers(0, 2**32), st.sampled_from(["random", "time"]))
def test_every_subject_is_in_one_fold_and_positives_are_spread_evenly(crowd, seed, order):
    labels, folds = crowd
    people = [ww.Subject(str(at), [ww.Post("")], label) for at, label in enumerate(labels)]
    parts = folds_of(people, "at risk", folds=folds, seed=seed, order=order)
    assert len(parts) == folds
    assert sorted(place for part in parts for place in part) == list(range(len(people)))
    positives = [sum(labels[place] == "at risk" for place in part) for part in parts]
    others = [len(part) - count for part, count in zip(parts, positives, strict=True)]
    assert max(positives) - min(positives) <= 1
    assert max(others) - min(others) <= 1
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= (1 if order == "random" else 2)


def test_seed_determines_the_folds():
    folds = [folds_of(PEOPLE, "at risk", folds=3, seed=seed) for seed in (1, 1, 2)]
    assert folds[0] == folds[1] != folds[2]


def test_the_same_seed_gives_the_same_tuning():
    one, same, other = (tune(PEOPLE, MARGINS, seed=seed) for seed in (1, 1, 2))
    assert one.to_json() == same.to_json() != other.to_json()


def test_held_out_subjects_are_not_learnt(calls):
    tune(PEOPLE, MARGINS, folds=4)
    everybody = {person.id for person in PEOPLE}
    assert len(calls.learnt) == len(calls.read) == 4
    for learnt, read in zip(calls.learnt, calls.read, strict=True):
        assert not learnt & read
        assert learnt | read == everybody
    assert sorted(name for read in calls.read for name in read) == sorted(everybody)


def test_counts_are_learnt_once_per_fold(calls):
    posts = sum(len(person.posts) for person in PEOPLE)
    tune(
        PEOPLE,
        MARGINS,
        folds=3,
        parameters={"max_ngram": [1, 2, 3], "significance": [0.5, 1.0], "min_count": [1, 2]},
    )
    assert len(calls.learnt) == 3
    assert calls.texts == 2 * posts  # each post in two of three folds
    assert len(calls.read) == 3 * 12


def people_over_time(times):
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return [
        ww.Subject(str(at), [ww.Post("", time=start + timedelta(days=day))], label)
        for at, (day, label) in enumerate(times)
    ]


def test_folds_by_time_are_stretches_of_time():
    days = [(9, "at risk"), (2, "control"), (4, "at risk"), (1, "at risk"), (7, "control")]
    days += [(3, "control"), (8, "at risk"), (5, "control")]
    people = people_over_time(days)
    # Positives by day: 1 4 | 8 9; others: 2 3 | 5 7.
    found = folds_of(people, "at risk", folds=2, order="time")
    assert [[days[place][0] for place in part] for part in found] == [[2, 4, 1, 3], [9, 7, 8, 5]]
    assert found == folds_of(people, "at risk", folds=2, order="time", seed=7)


@given(crowds(), st.integers(0, 2**32), st.sampled_from(["random", "time"]))
def test_folds_do_not_depend_on_subjects_without_posts(crowd, seed, order):
    labels, folds = crowd
    people = [ww.Subject(str(at), [ww.Post("")], label) for at, label in enumerate(labels)]
    silent = [ww.Subject(f"silent {at}", [], "at risk") for at in range(3)]
    options = {"folds": folds, "seed": seed, "order": order}
    before = folds_of(people, "at risk", **options)
    after = folds_of(people + silent, "at risk", **options)
    assert [[at for at in part if at < len(people)] for part in after] == before
    assert sorted(at for part in after for at in part) == list(range(len(people) + 3))


def test_subjects_without_posts_count_in_tuning_as_never_alerted():
    people = ww.make_risk_streams(40, seed=3)
    silent = [ww.Subject(f"silent {at}", [], "at risk") for at in range(4)]
    policies = [ww.Overtakes("at risk"), ww.StandsOut("at risk")]
    before = tune(people, policies, measure=recall)
    after = tune(people + silent, policies, measure=recall)
    for one in after.trials:
        [other] = [each for each in before.trials if each.policy == one.policy]
        assert [-value for value in one.by_fold] < [-value for value in other.by_fold]
    ww.tune(people + silent, ww.Thresholds("at risk", first_posts=(1,)))


def recall(y_true, y_pred, _delays, *, positive):
    return -metrics.precision_recall_f1(y_true, y_pred, positive=positive).recall


def test_folds_by_time_of_posts_without_times_are_neighbours():
    labels = ["control", "at risk"] * 4
    people = [ww.Subject(str(at), [ww.Post("")], label) for at, label in enumerate(labels)]
    assert folds_of(people, "at risk", folds=2, order="time") == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_tuning_by_time_reads_those_folds(calls):
    tune(PEOPLE, RISK, folds=2, order="time")
    parts = folds_of(PEOPLE, "at risk", folds=2, order="time")
    assert calls.read == [{PEOPLE[place].id for place in part} for part in parts]


# Refinement


def test_policies_are_also_tried_on_refined_models_with_the_best_parameters():
    found = ww.tune(PEOPLE, MARGINS, parameters={"max_ngram": [1, 2]}, folds=3)
    counted = [trial for trial in found.trials if not trial.refined]
    refined = [trial for trial in found.trials if trial.refined]
    assert tune(PEOPLE, MARGINS, parameters={"max_ngram": [1, 2]}, folds=3).trials == tuple(counted)
    assert {trial.policy for trial in refined} == set(MARGINS)
    for trial in refined:
        assert trial.parameters == counted[0].parameters
        _, by_fold = by_hand(
            trial.parameters, trial.policy, lambda one: one.erde50, folds=3, refine=True
        )
        assert list(trial.by_fold) == by_fold


def test_no_held_out_subject_takes_part_in_refinement(monkeypatch):
    owner = {post.content: person.id for person in PEOPLE for post in person.posts}
    fitted, refine = [], ww.TauSS3.refine

    def recorded(model, texts, labels, **options):
        fitted.append({owner[text] for text in texts})
        assert (options["cost"], options["balanced"]) == (0.1, True)
        return refine(model, texts, labels, **options)

    monkeypatch.setattr(ww.TauSS3, "refine", recorded)
    ww.tune(PEOPLE, MARGINS, folds=3)
    parts = folds_of(PEOPLE, "at risk", folds=3, seed=0)
    everybody = {person.id for person in PEOPLE}
    assert fitted == [everybody - {PEOPLE[place].id for place in part} for part in parts]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_model_is_refined_if_that_is_better(sign):
    def extreme(_y_true, _y_pred, _delays, *, positive, scores):
        assert positive
        return sign * float(np.abs(scores - 0.5).max())

    found = ww.tune(PEOPLE, RISK, measure=extreme, folds=2)
    [refined] = [trial for trial in found.trials if trial.refined]
    [counted] = [trial for trial in found.trials if not trial.refined]
    assert refined.value != counted.value
    assert found.best.refined == (refined.value < counted.value)
    assert (found.model(PEOPLE).refinement is not None) == found.best.refined


def in_turn(counted, refined):
    """Return a measure with these values on the folds of one policy, counted and then refined."""
    values = iter([*counted, *refined])
    return lambda *_, **__: next(values)


@pytest.mark.parametrize(("gain", "is_refined"), [(1.05, False), (1.25, True), (-3, False)])
def test_a_refined_model_must_be_ahead_by_twice_the_standard_error(gain, is_refined):
    # The standard error of these gains is 1 / √3, twice that is 1.15.
    gains = [gain + 1, gain - 1, gain + 1, gain - 1]
    measure = in_turn([5, 6, 7, 8], np.subtract([5, 6, 7, 8], gains))
    found = ww.tune(PEOPLE, RISK, measure=measure, folds=4)
    assert found.best.refined == is_refined
    assert (found.model(PEOPLE).refinement is not None) == is_refined


def test_a_refined_model_must_be_clearly_better_where_higher_is_better():
    tunings = [
        ww.tune(
            ww.make_risk_streams(30, seed=seed, prevalence=0.4, posts_per_subject=(3, 8)),
            ww.Reaches("at risk", 0.5),
            measure="f1",
            folds=3,
        )
        for seed in (0, 1)
    ]
    clear, unclear = ({trial.refined: trial for trial in one.trials} for one in tunings)
    for each in (clear, unclear):
        assert each[True].value > each[False].value
    gains = np.subtract(unclear[True].by_fold, unclear[False].by_fold)
    assert gains.mean() < 2 * gains.std(ddof=1) / 3**0.5
    assert [one.best.refined for one in tunings] == [True, False]


def test_refined_settings_that_are_not_clearly_better_stay_in_their_places():
    measure = in_turn([5, 5, 6, 6, 7, 7, 8, 8], [5, 5, 1, 6, 7, 9, 8, 8])
    found = ww.tune(PEOPLE, MARGINS[:2], measure=measure, folds=4)
    best, *others = found.trials
    assert not best.refined
    assert [trial.refined for trial in others] == [True, False, True]
    assert others[0].value < best.value == others[1].value < others[2].value


def test_the_earliest_setting_is_not_refined_unless_that_is_clearly_better():
    late, early = RISK.after(9), RISK
    measure = in_turn([5, 7, 5, 7, 5, 7, 5, 7], [4, 5, 6, 5, 4, 5, 6, 5])
    found = ww.tune(PEOPLE, [late, early], measure=measure, folds=4, one_standard_error=True)
    assert not found.best.refined


def test_a_refined_model_is_chosen_if_only_it_keeps_the_limits():
    people = ww.make_risk_streams(30, seed=1, prevalence=0.4, posts_per_subject=(3, 8))
    policy = ww.Reaches("at risk", 0.5)
    found = ww.tune(people, policy, measure="f1", folds=3, at_least={"f1": 0.6})
    assert [(trial.refined, trial.meets_limits) for trial in found.trials] == [
        (True, True),
        (False, False),
    ]


def test_of_equals_the_counted_model_is_the_best():
    never = ww.Reaches("at risk", 1.0, score="share").after(1000)
    found = ww.tune(PEOPLE, never, measure="f1")
    assert [trial.refined for trial in found.trials] == [False, True]


def test_models_that_cannot_be_refined_are_only_counted():
    for model in (ww.TauSS3(summary="max"), ww.TauSS3(prune_period=1000)):
        found = ww.tune(PEOPLE, RISK, model=model, folds=2)
        assert [trial.refined for trial in found.trials] == [False]


def test_sums_named_level_by_level_can_be_refined():
    sums = dict.fromkeys(("sentence", "paragraph", "document"), "sum")
    found = ww.tune(PEOPLE, RISK, parameters={"summary": [sums]}, folds=2)
    assert [trial.refined for trial in found.trials].count(True) == 1


def test_output_tells_refined_trials_apart():
    found = ww.tune(PEOPLE, RISK, folds=2)
    assert ["refined;" in line.split() for line in str(found).splitlines()[1:3]] == [
        trial.refined for trial in found.trials
    ]
    assert [one["refined"] for one in found.to_dict()["trials"]].count(True) == 1


# Models


def test_the_other_parameters_are_those_of_a_given_model():
    base = ww.TauSS3(max_ngram=1, smoothness=0.8)
    tuning = tune(PEOPLE, RISK, parameters={"significance": [0.5]}, model=base, folds=3)
    settings = {"max_ngram": 1, "smoothness": 0.8, "significance": 0.5}
    assert tuning.best.value == by_hand(settings, RISK, lambda one: one.erde50, folds=3)[0]
    model = tuning.model(PEOPLE)
    found = {name: model.parameters[name] for name in settings}
    assert found == settings
    assert base.labels == ()  # it was not taught itself


def test_the_model_of_a_tuning_has_the_best_parameters_and_learnt_all():
    tuning = tune(PEOPLE, RISK, parameters={"max_ngram": [1, 2]})
    expected = ww.TauSS3(**tuning.best.parameters)
    ww.teach(expected, PEOPLE)
    assert tuning.model(PEOPLE).fingerprint == expected.fingerprint


def test_teaching_is_learning_every_post_under_the_label_of_its_author():
    model, expected = ww.TauSS3(), ww.TauSS3()
    people = [
        ww.Subject("ann", [ww.Post("a b", title="c"), ww.Post("d")], "x"),
        ww.Subject("bob", [ww.Post("e")], "y"),
    ]
    ww.teach(model, people)
    expected.learn_many(["c\n\na b", "d", "e"], ["x", "x", "y"])
    assert model.fingerprint == expected.fingerprint


def test_progress_is_called_for_every_reading():
    totals, steps = [], []

    def progress(work, total):
        totals.append(total)
        for number, item in enumerate(work):
            steps.append(number)
            yield item

    with_it = tune(PEOPLE, MARGINS, folds=3, parameters={"max_ngram": [1, 2]}, progress=progress)
    assert totals == [6]
    assert steps == list(range(6))
    assert with_it == tune(PEOPLE, MARGINS, folds=3, parameters={"max_ngram": [1, 2]})


# Grids


def test_a_grid_is_all_combinations_in_order():
    found = grid(ww.Overtakes, "x", ratio=[1, 2], margin=[0, 3])
    assert found == [
        ww.Overtakes("x", 1, 0),
        ww.Overtakes("x", 1, 3),
        ww.Overtakes("x", 2, 0),
        ww.Overtakes("x", 2, 3),
    ]


def test_a_grid_without_values_is_one_policy():
    assert grid(ww.Repeats, "x") == [ww.Repeats("x")]


# Reports


def some_tuning():
    return tune(PEOPLE, [*MARGINS, RISK.after(2)], parameters={"max_ngram": [1, 2, 3]}, folds=2)


def test_the_table_shows_the_best_ten():
    tuning = some_tuning()
    lines = str(tuning).splitlines()
    heads = ["ERDE50", "ERDE5", "F1", "F_latency", "precision", "recall", "delay", "alerted", "AP"]
    assert lines[0].split() == [*heads, "setting"]
    best = tuning.best
    numbers, _, setting = lines[1].partition("max_ngram=")
    assert setting == f"{best.parameters['max_ngram']}; {spell_policy(best.policy)}"
    found = best.measures
    assert numbers.split() == [
        f"{found['erde50']:.4f}",
        f"{found['erde5']:.4f}",
        *(f"{found[name]:.3f}" for name in ("f1", "f_latency", "precision", "recall")),
        f"{found['median_delay']:.1f}",
        *(f"{found[name]:.3f}" for name in ("alert_rate", "average_precision")),
    ]
    assert lines[11] == "and 2 more"
    assert lines[12].endswith("  (never alert)")
    assert lines[13].endswith("  (alert everyone at the first post)")
    assert lines[15] == (
        "95 % intervals of the first setting, ignoring the choice among 12 settings "
        "(see nested_tune, --outer-folds):"
    )
    assert [line.split()[0] for line in lines[17:26]] == ["ERDE5", "ERDE50", *heads[2:]]


def test_plain_data_holds_every_trial():
    tuning = some_tuning()
    data = json.loads(tuning.to_json())
    assert data == tuning.to_dict()
    assert data["measure"] == "erde50"
    assert len(data["trials"]) == 12
    assert data["trials"][0] == {
        "parameters": tuning.best.parameters,
        "policy": tuning.best.policy.to_dict(),
        "value": tuning.best.value,
        "by_fold": list(tuning.best.by_fold),
        "refined": False,
        "measures": tuning.best.measures,
        "meets_limits": True,
    }
    assert data["bounds"]["never alert"]["median_delay"] is None  # JSON has no infinity
    assert data["warnings"] == list(tuning.warnings)
    assert data["intervals"]["f1"] == [tuning.intervals()["f1"].low, tuning.intervals()["f1"].high]


def test_csv_has_a_line_per_trial():
    tuning = some_tuning()
    rows = list(csv.DictReader(io.StringIO(tuning.to_csv(), newline="")))
    before, after = ["max_ngram", "refined", "policy", "erde50", "erde5"], ["meets_limits"]
    assert list(rows[0]) == [*before, *MEASURES, *after]
    assert float(rows[0]["median_delay"]) == tuning.best.measures["median_delay"]
    assert [float(row["erde50"]) for row in rows] == [trial.value for trial in tuning.trials]
    assert rows[0]["policy"] == spell_policy(tuning.best.policy)


def test_combined_policies_are_tried_too():
    tried = {trial.policy for trial in some_tuning().trials}
    assert After(RISK, 2) in tried


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": []}, "there must be at least one policy"),
        ({"policies": [RISK, ww.Overtakes("control")]}, "all policies must be for the same label"),
        (
            {"subjects": [PEOPLE[1], *(one for one in PEOPLE if one.label == "control")]},
            "4 folds need at least 4 .* got 1 and",
        ),
        ({"parameters": {"max_ngram": []}}, r"parameters\['max_ngram'\] must not be empty"),
        ({"measure": "accuracy"}, "measure must be a function or one of 'erde5', 'erde50'"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        (
            {"folds": 10},
            "10 folds need at least 10 subjects with the label 'at risk' and 10 others",
        ),
        ({"by": "week"}, "by must be one of 'post', 'chunk'"),
        ({"order": "size"}, "order must be one of 'random', 'time'"),
        ({"parameters": {"paragraphs": ["lines", "blank_lines"]}}, "paragraphs cannot be replaced"),
        ({"subjects": [*PEOPLE, ww.Subject("zoë", [])]}, "subject 'zoë' has no label"),
        ({"subjects": []}, "4 folds need at least 4 .* got 0 and 0"),
    ],
)
def test_tune_rejects_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        tune(**({"subjects": PEOPLE, "policies": RISK} | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": [RISK, "overtakes"]}, "policies must be Policy objects, got 'overtakes'"),
        ({"parameters": {"max_ngram": 3}}, r"parameters\['max_ngram'\] must be a list of values"),
        ({"parameters": {"reading": "paper"}}, r"parameters\['reading'\] must be a list"),
        ({"parameters": {"windows": [1]}}, "windows"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        tune(**({"subjects": PEOPLE, "policies": RISK} | arguments))


# Scores


def people_writing(at_risk, control):
    """Return twelve subjects of each label, with posts from functions of a random generator."""
    kinds = [("at risk", at_risk), ("control", control)]
    return [
        ww.Subject(
            f"{label} {at}", [ww.Post(text) for text in write(Random(f"{label} {at}"))], label
        )
        for label, write in kinds
        for at in range(12)
    ]


def words(random, risky, calm):
    chosen = random.choices(["alone", "tired", "empty", "sleepless"], k=risky)
    return " ".join(chosen + random.choices(["garden", "sun", "match", "lunch"], k=calm))


def steady(random):
    return [words(random, 3, 1) for _ in range(random.randint(15, 20))]


def brief_or_calm(random):
    if random.random() < 0.5:
        return [words(random, 6, 0)]
    return [words(random, 1, 3) for _ in range(20)]


def short_and_one_long(random):
    return ["alone"] * random.randint(6, 9) + ["garden " * random.randint(100, 300)]


def calm_and_one_long(random):
    return ["garden"] * random.randint(6, 9) + [
        "garden " * 200 + "alone " * random.randint(150, 500)
    ]


@pytest.mark.parametrize(
    ("people", "score"),
    [
        (people_writing(steady, brief_or_calm), "difference"),
        (people_writing(short_and_one_long, calm_and_one_long), "log_ratio"),
    ],
    ids=["difference", "log_ratio"],
)
@pytest.mark.parametrize("measure", ["average_precision", "erde50", "f1"])
def test_subjects_are_ranked_by_the_best_score(people, score, measure):
    tuning = tune(
        people,
        ww.Thresholds("at risk", (1, 5)),
        measure=measure,
        model=ww.TauSS3(max_ngram=1),
    )
    assert tuning.best.policy.ranks_by == score
    model = tuning.model(people)
    ranked = ww.replay(people, model, tuning.best.policy).measures
    by_share = ww.replay(people, model, tuning.best.policy.ranked_by("share")).measures
    assert ranked.average_precision == 1
    assert by_share.average_precision < 0.7


def test_alerts_compare_log_ratios_if_those_are_best():
    people = people_writing(short_and_one_long, calm_and_one_long)
    model = ww.TauSS3(max_ngram=1)
    tuning = tune(people, ww.Thresholds("at risk", (1, 5)), measure="f1", model=model)
    best: Any = tuning.best.policy
    assert best.of.score == "log_ratio"
    others = [trial.value for trial in tuning.trials if isinstance(trial.policy, ww.RankedBy)]
    assert tuning.best.value == 1 > max(others)  # the others compare shares or leads


def scores_of(people):
    """Return scores from the gains of posts by name; those of "at risk" begin with an A."""
    series = tuple(Series.from_gains(np.array(gains, np.float64), 0) for gains in people.values())
    truth = tuple("at risk" if name < "B" else "control" for name in people)
    totals = np.array([len(gains) for gains in people.values()])
    return ww.Scores(tuple(people), truth, "at risk", "post", series, totals)


def test_a_score_that_is_better_in_one_fold_only_is_not_chosen():
    many, few = [[0.3, 0.1]] * 9, [[0.4, 0.1]]
    # By difference the subject with many posts leads, by share the one with few posts.
    by_difference, by_share = scores_of({"A": many, "B": few}), scores_of({"A": few, "B": many})
    level = scores_of({"A": few, "B": [[0.1, 0.4]]})
    thresholds = ww.Thresholds("at risk", (1,))
    for folds, score in (
        ([by_difference, by_difference, by_difference], "difference"),
        ([by_difference, level, level], "share"),
        ([by_difference, by_difference, by_share], "share"),
    ):
        ranked = {ranking_score(policy) for policy in thresholds.policies(folds)}
        assert ranked == {score}


def test_average_precision_is_that_of_the_scores_of_policies():
    policies = [RISK, RISK.ranked_by("difference"), ww.Reaches("at risk", score="log_ratio")]
    tuning = tune(PEOPLE, policies, measure="average_precision", folds=3)
    for trial in tuning.trials:
        mean, _ = by_hand({}, trial.policy, lambda one: one.average_precision, folds=3)
        assert trial.value == pytest.approx(mean)


# Thresholds


def shares_of(*people):
    names = [f"person {at}" for at in range(len(people))]
    truth = ["at risk"] * len(people)
    return ww.Scores.from_shares(names, truth, map(np.array, people), positive="at risk")


def test_thresholds_are_scores_that_were_met():
    met = np.linspace(0.1, 0.9, 401).round(4)
    thresholds = ww.Thresholds("at risk", (3,))
    policies: list[Any] = thresholds.policies([shares_of(met[::2]), shares_of(met[1::2])])
    assert {policy.posts for policy in policies} == {3}
    reached = [one.of.threshold for one in policies if isinstance(one.of, ww.Reaches)]
    margins = [one.of.margin for one in policies if isinstance(one.of, ww.Overtakes)]
    assert len(reached) + len(margins) == len(policies)
    assert reached == sorted(reached, reverse=True)  # the cautious ones first
    assert set(reached) <= set(met.tolist())
    assert reached[-1] == 0.1
    assert 0.89 < reached[0] <= 0.9
    # A share p of two values that add up to 1 per post is a lead of 2p - 1.
    assert sorted(margins) == pytest.approx([2 * one - 1 for one in sorted(reached)], abs=1e-9)
    # Four fifths of all scores lie below .8: there, and above, thresholds are close to each other.
    assert min(abs(np.quantile(met, 0.8) - one) for one in reached) < 0.005
    assert sum(one >= 0.74 for one in reached) > len(reached) / 2


def test_subjects_have_equal_weight_regardless_of_posts():
    thresholds = ww.Thresholds("at risk", (1,))
    policies: list[Any] = thresholds.policies([shares_of([0.9] * 1000, [0.2])])
    assert {one.of.threshold for one in policies if isinstance(one.of, ww.Reaches)} == {0.2, 0.9}
    rare: list[Any] = thresholds.policies([shares_of(*[[0.2]] * 9, [0.9] * 1000)])
    reached = [one.of.threshold for one in rare if isinstance(one.of, ww.Reaches)]
    assert set(reached) == {0.2, 0.9}


def test_thresholds_without_posts_give_a_policy():
    assert ww.Thresholds("at risk", (2,)).policies([]) == [RISK.after(2)]


@pytest.mark.parametrize("by", ["post", "chunk"])
def test_thresholds_are_tried_like_any_policies(by):
    asked: list[ww.Policy | ww.Thresholds] = [ww.Thresholds("at risk", (1, 4)), RISK]
    tuning = tune(
        PEOPLE, asked, folds=3, by=by, measure="f1", parameters={"smoothness": [0.3, 0.6]}
    )
    by_setting = [
        {trial.policy for trial in tuning.trials if trial.parameters == {"smoothness": value}}
        for value in (0.3, 0.6)
    ]
    assert sum(map(len, by_setting)) == len(tuning.trials)
    assert all(RISK in own and len(own) > 10 for own in by_setting)
    assert by_setting[0] != by_setting[1]  # each setting has thresholds of its own
    for trial in tuning.trials[:: len(tuning.trials) // 5]:
        mean, values = by_hand(trial.parameters, trial.policy, lambda one: one.f1, folds=3, by=by)
        assert trial.by_fold == pytest.approx(values, abs=1e-12)
        assert trial.value == pytest.approx(mean, abs=1e-12)


def test_a_tuning_of_thresholds_shows_both_its_halves():
    steps = []

    def progress(work, total):
        for at, one in enumerate(work):
            steps.append((at, total))
            yield one

    tune(PEOPLE, ww.Thresholds("at risk", (1,)), folds=3, progress=progress)
    assert steps == [(0, 3), (1, 3), (2, 3)] * 2


def test_a_measure_may_ask_for_posts_scores_and_ids():
    def own(y_true, y_pred, delays, *, positive, posts, scores, subjects):
        assert len(y_true) == len(y_pred) == len(delays) == len(posts) == len(scores)
        asked.update(zip(subjects, posts.tolist(), strict=True))
        return -metrics.ndcg_at(scores, y_true, 10, positive=positive, subjects=subjects)

    asked = {}
    tuning = tune(PEOPLE, RISK, measure=own, folds=3)
    assert asked == {one.id: len(one.posts) for one in PEOPLE}
    assert -1 <= tuning.best.value <= 0


def test_erde_of_any_deadline_is_a_measure():
    named = tune(PEOPLE, RISK, measure="erde7", folds=3)
    erde7 = partial(metrics.erde, deadline=7, minimum_delay=0)
    assert named.best.value == tune(PEOPLE, RISK, measure=erde7, folds=3).best.value
    assert named.measure == "erde7"


def test_thresholds_of_another_label_are_refused():
    with pytest.raises(ValueError, match="all policies must be for the same label"):
        tune(PEOPLE, [RISK, ww.Thresholds("control")])


@pytest.mark.parametrize(
    ("posts", "error", "message"),
    [
        ((), ValueError, "first_posts must not be empty"),
        ("5", TypeError, "first_posts must be numbers of posts, got '5'"),
        (5, TypeError, "first_posts must be numbers of posts, got 5"),
        ((0,), ValueError, "first_posts"),
    ],
)
def test_invalid_numbers_of_posts_are_refused(posts, error, message):
    with pytest.raises(error, match=message):
        ww.Thresholds("at risk", posts)


def test_subjects_without_a_label_teach_nothing():
    model = ww.TauSS3()
    with pytest.raises(ValueError, match="subject 'ann' has no label"):
        ww.teach(model, [ww.Subject("bob", [ww.Post("x")], "y"), ww.Subject("ann", [])])
    assert model.labels == ()


# Scores instead of subjects


def some_shares():
    """Return the shares of twelve subjects; at risk are the first six, which reach .8 or more."""
    random = np.random.default_rng(5)
    shares = [random.uniform(0, 0.6, size=6) for _ in range(12)]
    for at, own in enumerate(shares[:6]):
        own[at % 4 :] += 0.35
    names, truth = [f"s{at}" for at in range(12)], ["at risk"] * 6 + ["control"] * 6
    return ww.Scores.from_shares(names, truth, shares, positive="at risk")


@pytest.mark.parametrize("measure", ["erde5", "f1", "f_latency", "average_precision"])
@pytest.mark.parametrize("order", ["random", "time"])
def test_scores_are_tuned_fold_by_fold(measure, order):
    given, policies = some_shares(), grid(ww.Reaches, "at risk", threshold=[0.4, 0.6, 0.9])
    tuning = ww.tune(given, policies, measure=measure, folds=3, order=order, seed=2)
    parts = folds_of_scores(given, folds=3, order=order, seed=2)
    assert sorted(at for part in parts for at in part) == list(range(12))
    assert len(tuning.trials) == 3
    for trial in tuning.trials:
        assert not trial.refined
        for part, value in zip(parts, trial.by_fold, strict=True):
            found = ww.replay_scores(given.chosen(part), trial.policy).measures
            assert found is not None
            assert value == pytest.approx(getattr(found, measure), abs=1e-12)


def test_folds_of_scores_are_those_of_their_subjects():
    model = ww.TauSS3()
    ww.teach(model, PEOPLE)
    given = ww.score_streams(PEOPLE, model, "at risk")
    assert folds_of_scores(given, folds=4, seed=3) == folds_of(PEOPLE, "at risk", folds=4, seed=3)


def test_thresholds_are_fitted_to_scores():
    tuning = ww.tune(some_shares(), ww.Thresholds("at risk", (1, 3)), measure="f1", folds=2)
    assert tuning.best.value == max(trial.value for trial in tuning.trials) > 0.8


def test_scores_by_chunk_are_tuned_by_chunk():
    model = ww.TauSS3()
    ww.teach(model, PEOPLE)
    given = ww.score_streams(PEOPLE, model, "at risk", by="chunk")
    [trial] = ww.tune(given, RISK, folds=2).trials
    part = folds_of_scores(given, folds=2)[0]
    found = ww.replay_scores(given.chosen(part), RISK).measures
    assert found is not None
    assert trial.by_fold[0] == found.erde50


def test_a_tuning_of_scores_has_no_model():
    tuning = ww.tune(some_shares(), ww.Reaches("at risk"), folds=2)
    with pytest.raises(ValueError, match="there is no model: the policies were tuned on scores"):
        tuning.model(PEOPLE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": {"max_ngram": [1]}}, "parameters cannot be used with scores"),
        ({"model": ww.TauSS3()}, "model cannot be used with scores, which have no model"),
        ({"by": "chunk"}, "by='chunk' cannot be used with scores after each post"),
        (
            {"policies": ww.Reaches("control")},
            "the scores are for the label 'at risk', but the policies for 'control'",
        ),
        ({"policies": ww.Leaps("at risk")}, "needs gains"),
        ({"folds": 7}, "7 folds need at least 7 subjects"),
    ],
)
def test_tuning_of_scores_rejects_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ww.tune(some_shares(), **({"policies": ww.Reaches("at risk"), "folds": 2} | arguments))


@pytest.mark.parametrize("tried", [ww.Overtakes, ww.Thresholds, ww.Learnt])
def test_an_unknown_label_is_named_with_the_known_ones(tried):
    message = "no subject has the label 'ill'; the subjects have 'control', 'at risk'"
    with pytest.raises(ww.errors.UnknownLabelError, match=message):
        tune(PEOPLE, [tried("ill")])


def test_a_tiny_value_is_printed_as_zero():
    found = tune(PEOPLE, [RISK])
    tiny = dataclasses.replace(found, trials=(dataclasses.replace(found.best, value=3.5e-19),))
    assert repr(tiny) == "<Tuning of 1 trial by erde50, best 0.0000>"
