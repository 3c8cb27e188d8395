"""Changes of labels and alerts, compared with trying every set of occurrences."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
import watchword as ww
from hooks import last_row
from untyped import untyped
from watchword.explain.alerts import History, change_of_alert
from watchword.explain.change import Goal, change_of_label, cover, fewest_in_order, smallest
from watchword.model.engine import engine_of

MOST = 7  # occurrences, so that all sets of them can be tried
SUM = st.just("sum")
ADDING = ["sum", "mean", {"sentence": "mean", "document": "sum"}]


# An oracle that adds up by itself, in the order that explanations promise


def summary(parts, operator, columns):
    if operator == "max":
        return [max([0.0, *(part[at] for part in parts)]) for at in range(columns)]
    totals = [0.0] * columns
    for part in parts:
        totals = [total + value for total, value in zip(totals, part, strict=True)]
    return [total / len(parts) for total in totals] if operator == "mean" and parts else totals


def value_without(explanation, zeroed):
    """Return the vector of a text with the n-grams at these (start, end) set to 0."""
    columns, how = len(explanation.labels), explanation.summary

    def ngram(block):
        return [0.0] * columns if (block.start, block.end) in zeroed else list(block.value)

    paragraphs = [
        summary(
            [
                summary([ngram(one) for one in sentence.blocks], how["sentence"], columns)
                for sentence in paragraph.blocks
            ],
            how["paragraph"],
            columns,
        )
        for paragraph in explanation.blocks
    ]
    return summary(paragraphs, how["document"], columns)


def places(explanation):
    return [
        (one.start, one.end)
        for paragraph in explanation.blocks
        for sentence in paragraph.blocks
        for one in sentence.blocks
    ]


def label_of(model, values):
    if max(values) <= 0:
        return model.default_label
    return model.labels[values.index(max(values))]


def smallest_size(everything, works):
    """Return the size of the smallest set that works, by trying all; None if none does."""
    for size in range(len(everything) + 1):
        if any(works(set(chosen)) for chosen in combinations(everything, size)):
            return size
    return None


# Texts


@st.composite
def models_and_texts(draw, summaries):
    corpus = draw(strategies.corpora(min_labels=2, max_labels=4))
    parameters = draw(strategies.parameters(own_operators=False)) | {"summary": draw(summaries)}
    labels = sorted({label for _, label in corpus})
    default = draw(st.sampled_from([None, *labels]))
    model = ww.TauSS3(**parameters, default_label=default)
    model.learn_many(*zip(*corpus, strict=True))
    text = draw(strategies.texts(max_words=8))
    assume(len(places(model.explain(text))) <= MOST)
    return model, text


def check_label_change(model, text, change):
    """Check that the occurrences exist and that the label changes without them."""
    explanation = model.explain(text)
    zeroed = {(one.start, one.end) for one in change.occurrences}
    assert zeroed <= set(places(explanation))
    assert change.before == explanation.label == model.predict_one(text)
    assert change.after == label_of(model, value_without(explanation, zeroed))
    assert change.possible == (change.after != change.before) == bool(change)
    assert change.total <= len(places(explanation))
    assert change.labels == model.labels


@given(models_and_texts(st.sampled_from(ADDING)))
def test_no_smaller_set_gives_another_label(drawn):
    model, text = drawn
    change = model.what_would_change(text)
    check_label_change(model, text, change)
    explanation = model.explain(text)
    size = smallest_size(
        places(explanation),
        lambda zeroed: label_of(model, value_without(explanation, zeroed)) != change.before,
    )
    if change.exact:
        assert size == (len(change.occurrences) if change else None)


@given(models_and_texts(strategies.summaries(own_operators=False)))
def test_the_change_works_with_any_operator(drawn):
    model, text = drawn
    change = model.what_would_change(text)
    check_label_change(model, text, change)
    if "max" in model.explain(text).summary.values():
        # Only of what cannot be changed at all can one be certain there.
        assert not change.exact or len(change.occurrences) <= 1 or not change


@given(models_and_texts(SUM))
def test_the_change_is_nearly_always_certain_with_sums(drawn):
    model, text = drawn
    change = model.what_would_change(text)
    values = np.array([one.contribution for one in change.occurrences])
    if not change.exact:  # only where sums tie to the last digits
        totals = np.array(model.explain(text).value) - (values.sum(axis=0) if change else 0)
        others = np.delete(totals, model.labels.index(change.before))
        assert np.abs(others - totals[model.labels.index(change.before)]).min() < 1


@cache
def two_labels(**parameters):
    model = ww.TauSS3.paper(max_ngram=1, **parameters)
    model.learn_many(["x x y", "a a b"], ["high", "low"])
    return model


def test_the_largest_occurrences_are_taken_and_the_earlier_of_equals():
    change = two_labels().what_would_change("y. x x a")
    assert change.before == "high"
    assert [(one.ngram, one.start) for one in change.occurrences] == [("x", 3), ("x", 5)]
    assert change.exact


def test_a_tie_is_enough_for_the_label_that_comes_first():
    change = two_labels().what_would_change("a a x")
    assert (change.before, change.after) == ("low", "high")
    assert len(change.occurrences) == 1


def test_a_tie_is_not_enough_for_the_label_that_comes_later():
    change = two_labels().what_would_change("x x a")
    assert (change.before, change.after) == ("high", "low")
    assert len(change.occurrences) == 2


def test_removing_all_evidence_predicts_the_default_label():
    change = two_labels(default_label="low").what_would_change("x y")
    assert (change.before, change.after) == ("high", "low")
    assert len(change.occurrences) == 2
    assert change.exact


def test_no_change_if_removing_everything_keeps_the_label():
    change = two_labels(default_label="high").what_would_change("x y")
    assert not change
    assert change.exact
    assert change.after == "high"
    assert change.occurrences == ()


def test_no_change_for_a_text_of_unknown_words():
    change = two_labels().what_would_change("nobody knows")
    assert not change
    assert change.exact


def test_no_change_for_a_model_of_one_label():
    model = ww.TauSS3()
    model.learn_one("a b", "only")
    assert not model.what_would_change("a b")


def test_what_would_change_refuses_a_summary_function():
    model = two_labels().replace(summary=last_row)
    with pytest.raises(ww.errors.HookError, match="cannot be split into shares"):
        model.what_would_change("x a")


def test_a_change_is_plain_data():
    plain = two_labels().what_would_change("x x a").to_dict()
    assert plain["aim"] == "label"
    assert plain["occurrences"][0] == {
        "ngram": "x",
        "start": 0,
        "end": 1,
        "post": None,
        "contribution": [1.0, 0.0],
    }


def test_the_change_of_a_long_text_is_found():
    model = two_labels()
    change = change_of_label(engine_of(model), "x " * 30_000 + "a " * 29_000)
    assert len(change.occurrences) == 1001
    assert not change.exact  # without 1000 it is a tie, and nobody tries all sets of 1000


# Subjects

POSTS = ["", "x", "y", "a", "b", "x a", "x. y", "a b\nx", "z", "x x", "z y a", "?"]


@cache
def taught(labels, summary="sum"):
    model = ww.TauSS3.paper(max_ngram=1, summary=summary)
    texts = ["x x x y y z z z", "a a b z y", "z b b b c", "y b a"]
    model.learn_many(texts[: len(labels)], labels)
    return model


def policies(margins):
    return st.builds(
        lambda ratio, margin, after: ww.Overtakes("at risk", ratio, margin).after(after),
        st.sampled_from([1.0, 0.0, 0.5, 2.0, 1.1]),
        margins,
        st.sampled_from([1, 1, 2, 3]),
    )


AHEAD = st.sampled_from([0.0, 0.0, 0.3, 1.0])
LAGGING = st.sampled_from([-0.1, -0.3])


def gains_without(explanations, zeroed):
    return [
        value_without(explanation, {place for at, place in zeroed if at == number})
        for number, explanation in enumerate(explanations, 1)
    ]


def alert_after(model, gains, policy):
    """Return the delay of the alert by the paper's rule, computed post by post."""
    rule, first = policy.of, policy.posts
    column = model.labels.index(rule.positive)
    sums = [0.0] * len(model.labels)
    for number, gain in enumerate(gains, 1):
        sums = [total + value for total, value in zip(sums, gain, strict=True)]
        other = max([value for at, value in enumerate(sums) if at != column], default=0.0)
        enough = 0 < sums[column] > rule.ratio * other + rule.margin
        if number >= first and enough:
            return number
    return 0


@st.composite
def alerted_subjects(draw, labels, summaries=SUM, margins=AHEAD):
    model = taught(draw(labels), draw(summaries))
    policy = draw(policies(margins))
    posts = draw(st.lists(st.sampled_from(POSTS), min_size=1, max_size=6))
    history = History.read(engine_of(model), policy, posts)
    assume(history.alert)
    explanations = [model.explain(post) for post in posts]
    everything = [(at, one) for at, each in enumerate(explanations, 1) for one in places(each)]
    assume(len(everything) <= MOST)
    return model, policy, history, explanations, everything


def check_alert_change(drawn, aim):
    """Check one of the two aims against all sets; return the change and the best size."""
    model, policy, history, explanations, everything = drawn
    change = change_of_alert(history, aim)
    zeroed = {(one.post, (one.start, one.end)) for one in change.occurrences}
    after = alert_after(model, gains_without(explanations, zeroed), policy)
    assert (
        change.before
        == history.alert
        == alert_after(model, gains_without(explanations, set()), policy)
    )
    assert change.after == after

    def works(chosen):
        then = alert_after(model, gains_without(explanations, chosen), policy)
        return not then or (aim == "delay" and then > history.alert)

    assert change.possible == works(zeroed)
    return change, smallest_size(everything, works)


two = st.sampled_from([("at risk", "control"), ("at risk",), ("zzz", "at risk")])
more = st.sampled_from([("at risk", "b", "c"), ("a", "at risk", "c"), ("at risk", "b", "c", "d")])


@pytest.mark.parametrize("aim", ["delay", "cancel"])
@given(drawn=alerted_subjects(two, st.sampled_from(["sum", "mean"])))
def test_no_smaller_set_delays_or_cancels_an_alert(aim, drawn):
    change, size = check_alert_change(drawn, aim)
    if change.exact:
        assert size == (len(change.occurrences) if change else None)


@pytest.mark.parametrize("aim", ["delay", "cancel"])
@given(drawn=alerted_subjects(more))
def test_with_more_labels_exact_is_exact_and_the_rest_works(aim, drawn):
    change, size = check_alert_change(drawn, aim)
    if change.exact:
        assert size == (len(change.occurrences) if change else None)
    elif change:
        assert size <= len(change.occurrences)


@given(alerted_subjects(st.just(("at risk", "control")), st.just("max")))
def test_changes_of_an_alert_with_maxima_are_exact_only_for_one_occurrence(drawn):
    change, _ = check_alert_change(drawn, "delay")
    assert change.exact == (len(change.occurrences) == 1)  # fewer than one is none


@pytest.mark.parametrize(
    "policy",
    [
        ww.Reaches("at risk", 0.6),
        ww.Leaps("at risk"),
        ww.Repeats("at risk", 2),
        ww.Overtakes("at risk") | ww.Leaps("at risk"),
    ],
)
@pytest.mark.parametrize("aim", ["delay", "cancel"])
def test_changes_of_other_policies_are_not_exact(policy, aim):
    model = taught(("at risk", "control"))
    history = History.read(engine_of(model), policy, ["a", "x y", "x x a", "z x", "x"])
    change = change_of_alert(history, aim)
    assert change
    assert change.exact == (len(change.occurrences) == 1)
    assert change.after == 0 or (aim == "delay" and untyped(change.after) > history.alert)


def test_a_delayed_alert_may_come_later_and_a_cancelled_one_never_does():
    model = taught(("at risk", "control"))
    history = History.read(engine_of(model), ww.Overtakes("at risk"), ["a", "x x", "x", "x"])
    delay, cancel = change_of_alert(history, "delay"), change_of_alert(history, "cancel")
    assert (delay.before, delay.after, len(delay.occurrences)) == (2, 3, 1)
    assert (cancel.before, cancel.after, len(cancel.occurrences)) == (2, 0, 3)
    assert delay.exact
    assert cancel.exact


@pytest.mark.parametrize("aim", ["delay", "cancel"])
@given(drawn=alerted_subjects(more, margins=LAGGING))
def test_changes_hold_with_a_negative_margin(aim, drawn):
    change, size = check_alert_change(drawn, aim)
    if change and change.exact:
        assert len(change.occurrences) == size


def test_negative_margin_without_evidence_gives_no_alert():
    model = taught(("at risk", "control"))
    history = History.read(engine_of(model), ww.Overtakes("at risk", margin=-1), ["?", "x"])
    change = change_of_alert(history, "cancel")
    assert (change.before, change.after, len(change.occurrences)) == (2, 0, 1)


def test_without_an_alert_there_is_nothing_to_change():
    history = History.read(
        engine_of(taught(("at risk", "control"))), ww.Overtakes("at risk"), ["a"]
    )
    with pytest.raises(ValueError, match="no alert"):
        change_of_alert(history, "delay")


def test_changes_are_refused_if_the_alert_cannot_be_recomputed():
    engine = engine_of(taught(("at risk", "control")))
    history = History.read(engine, ww.StandsOut("at risk"), ["x", "x"], alert=2)
    with pytest.raises(ValueError, match="cannot be recomputed from this subject"):
        change_of_alert(history, "delay")


# The search itself


def test_the_greedy_cover_over_posts_is_minimal():
    seeds = range(300)
    for seed in seeds:
        generator = np.random.default_rng(seed)
        size, posts = 7, 4
        gains = generator.integers(1, 9, size).astype(float)
        at = np.sort(generator.integers(0, posts, size))
        needs = generator.integers(0, 20, posts)

        def reached(chosen, gains=gains, at=at, needs=needs):
            return all(
                sum(gains[one] for one in chosen if at[one] <= post) >= need
                for post, need in enumerate(needs)
            )

        def misses(post, removed, needs=needs):
            return removed[0] < needs[post]

        found = cover(gains, gains[:, None], at, last=posts - 1, misses=misses)
        best = smallest_size(list(range(size)), reached)
        assert best == (None if found is None else len(found))
        assert found is None or reached(set(found.tolist()))


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, -0.2, 0.0]), min_size=1, max_size=7),
    st.sampled_from([0.1, 0.3, 0.6, 0.8, 1.1]),
)
def test_near_ties_are_decided_by_trying_subsets(gains, need):
    """Sums are so close that rounding, and thus the order of addition, decides."""
    values = np.array(gains)

    def works(chosen):
        total = 0.0
        for one in sorted(int(one) for one in chosen):
            total += gains[one]
        return total >= need

    goal = Goal(np.arange(len(gains)), values, need, 1e-12)
    found = smallest([goal], works)
    best = smallest_size(list(range(len(gains))), works)
    if found.certain:
        assert best == (None if found.places is None else len(found.places))
    assert found.places is None or works(found.places)


def test_too_many_ties_are_not_called_certain():
    gains = np.full(40, 0.1)
    found = smallest([Goal(np.arange(40), gains, 2.0, 1e-9)], lambda places: len(places) == 21)
    assert len(found.places) == 21
    assert not found.certain


def test_doubling_and_halving_finds_the_smallest_prefix_that_works():
    for size, needed in product(range(1, 12), range(1, 14)):

        def works(places, needed=needed):
            return len(places) >= needed

        found = fewest_in_order(np.arange(size), works)
        assert not found.certain
        assert found.size == (needed if needed <= size else np.inf)
