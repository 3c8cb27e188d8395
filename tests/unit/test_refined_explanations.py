"""Explanations of refined models: what is painted, listed, described and counterfactual."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from painted import Painted, shares_at, with_shares
from strategies import corpora, parameters, texts
from watchword.explain.blocks import (
    Rules,
    as_chance,
    as_value,
    blocks_of,
    scale_of,
    score_bars,
    telling,
)
from watchword.explain.text_view import largest_contributions, to_terminal
from watchword.model.refining import Refinement, softmax

AT_RISK = "at risk"


def refined(people, **options):
    model = ww.TauSS3()
    ww.teach(model, people)
    posts = [(post.content, one.label) for one in people for post in one.posts]
    model.refine([text for text, _ in posts], [label for _, label in posts], **options)
    return model


@pytest.fixture(scope="module")
def people():
    return ww.make_risk_streams(40, seed=11, prevalence=0.4, posts_per_subject=(8, 12))


@pytest.fixture(scope="module")
def model(people):
    return refined(people)


@pytest.fixture(scope="module")
def text(people):
    return "\n".join(post.content for post in people[0].posts[:3])


@pytest.fixture(scope="module")
def explanation(model, text):
    return model.explain(text)


def totals_of(explanation):
    """Return what each n-gram adds to every label."""
    return {one.ngram: np.add(one.counted, one.corrected) for one in explanation.ngrams}


# Painting


def test_negative_contributions_are_not_painted(explanation):
    rules = Rules()
    rules.add(explanation)
    for rule in rules.all:
        for part, share in zip(rule.parts, rules.shares(rule), strict=True):
            assert (share > 0) == (part / rules.highest[rule.kind] >= 0.00005)
    assert any(part < 0 for rule in rules.all for part in rule.parts)
    for kind, highest in rules.highest.items():
        assert highest == max(max(rule.parts) for rule in rules.all if rule.kind == kind)


@pytest.mark.parametrize("level", ["ngram", "sentence", "paragraph"])
def test_snippets_and_terminals_paint_positive_contributions_in_proportion(explanation, level):
    shares = shares_at(with_shares(explanation), level)
    for column, label in enumerate(explanation.labels):
        positive = [own[column] for own in shares if own[column] > 0]
        snippet = Painted(explanation.to_html(label, level=level))
        painted = [attributes for attributes, _ in snippet.marks if "rgba" in attributes["style"]]
        assert len(painted) == len(positive)
        assert len(to_terminal(explanation, label, level=level).spans) == sum(
            share >= 0.05 for share in positive
        )


def test_a_description_shows_counted_and_corrected_parts_with_their_signs(explanation):
    ngrams = [one for one in blocks_of(explanation) if one["kind"] == "ngram"]
    lowest = min(ngrams, key=lambda one: one["value"][0])
    assert lowest["value"][0] < 0
    [line] = [
        line
        for line in telling(lowest, explanation.labels, [0, 1]).splitlines()
        if line.startswith(AT_RISK)
    ]
    value, counted, corrected, count = re.fullmatch(
        r"at risk (\S+) \(counted (\S+), corrected (\S+); count (\S+); lv .*\)", line
    ).groups()
    assert value == as_value(lowest["value"][0])
    assert value.startswith("-")
    assert counted == as_value(lowest["counted"][0])
    assert corrected == as_value(lowest["corrected"][0])
    assert count == f"{lowest['count'][0]:,}"


def test_a_label_is_described_where_only_overlapping_ngrams_were_learnt(explanation):
    ngrams = [one for one in blocks_of(explanation) if one["kind"] == "ngram"]
    silent = [one for one in ngrams if one["count"][0] == 0 and one["value"][0] != 0]
    for block in silent:
        assert f"{AT_RISK} {as_value(block['value'][0])}" in telling(block, explanation.labels, [0])
    assert silent


def test_bars_of_scores_start_at_zero():
    assert score_bars([2.0, 1.0, 0.0]) == [(0.0, 1.0), (0.0, 0.5), (0.0, 0.0)]
    assert score_bars([-1.0, -4.0]) == [(0.75, 0.25), (0.0, 1.0)]
    assert score_bars([]) == []
    assert score_bars([0.0]) == [(0.0, 0.0)]


def test_the_bars_of_a_page_show_the_sign_of_scores(explanation):
    page = Painted(explanation.to_page())
    order = sorted(explanation.value, reverse=True)
    assert order[0] > 0 > order[1]
    bars = [one for one in page.find("rect") if one.get("class") != "ww-ground"]
    span = order[0] - order[1]
    assert float(bars[0]["x"]) == pytest.approx(-100 * order[1] / span, abs=0.06)
    assert float(bars[0]["width"]) == pytest.approx(100 * order[0] / span, abs=0.06)
    assert bars[1]["class"] == "ww-below"
    assert float(bars[1]["width"]) == pytest.approx(-100 * order[1] / span, abs=0.06)
    written = [float(one["value"]) for one in page.find("data")]
    assert written == order


# Largest contributions


def test_the_largest_contributions_are_those_of_the_overlapping_ngrams(explanation):
    for column, label in enumerate(explanation.labels):
        found = largest_contributions(explanation, label, 1000)
        expected = {one: total[column] for one, total in totals_of(explanation).items()}
        positive = {one: total for one, total in expected.items() if total > 0}
        assert {one.ngram: one.total for one in found} == positive
        assert [one.total for one in found] == sorted(positive.values(), reverse=True)
        parts = {one.ngram: one for one in explanation.ngrams}
        for one in found:
            assert one.counted == parts[one.ngram].counted[column]
            assert one.corrected == parts[one.ngram].corrected[column]
            assert one.times == parts[one.ngram].times
            assert one.value == one.total / one.times
        assert largest_contributions(explanation.to_dict(), label, 3) == found[:3]


def test_the_table_for_all_labels_lists_counted_and_corrected_parts_too(explanation):
    page = explanation.to_page(all_labels=True)
    [table] = re.findall(r"<table><caption>n-grams for all labels.*?</table>", page, re.DOTALL)
    rows = re.findall(r'<tr><th scope="row"><bdi>(.*?)</bdi></th>(.*?)</tr>', table)
    found = [(name, *re.findall(r"<td[^>]*>(.*?)</td>", cells)) for name, cells in rows]
    best = {}
    for label in explanation.labels:
        for one in largest_contributions(explanation, label, 10):
            if one.ngram not in best or best[one.ngram][1].total < one.total:
                best[one.ngram] = label, one
    ranked = sorted(best.values(), key=lambda pair: (-pair[1].total, pair[1].ngram))[:10]
    assert len(ranked) > 1
    assert found == [
        (
            one.ngram,
            f"<bdi>{label}</bdi>",
            f"{one.times:,}",
            as_value(one.total),
            as_value(one.counted),
            as_value(one.corrected),
        )
        for label, one in ranked
    ]


def test_the_table_of_a_page_lists_counted_and_corrected_parts(explanation):
    page = explanation.to_page()
    tables = re.findall(r"<table><caption>n-grams for <bdi>.*?</table>", page, re.DOTALL)
    for column, (label, table) in enumerate(zip(explanation.labels, tables, strict=True)):
        assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table) == [
            "n-gram",
            "times",
            "total",
            "counted",
            "corrected",
        ]
        rows = re.findall(r'<tr><th scope="row"><bdi>(.*?)</bdi></th>(.*?)</tr>', table)
        found = [(name, *re.findall(r"<td[^>]*>(.*?)</td>", cells)) for name, cells in rows]
        assert found == [
            (
                one.ngram,
                f"{one.times:,}",
                as_value(one.total),
                as_value(one.counted),
                as_value(one.corrected),
            )
            for one in largest_contributions(explanation, label, 10)
        ]
        assert f"Bias: {as_value(explanation.bias[column])}" in page


def test_a_snippet_tells_the_bias_of_its_label(explanation):
    for column, label in enumerate(explanation.labels):
        bias = as_value(explanation.bias[column])
        assert f"The bias is {bias}." in explanation.to_html(label)


def test_painted_texts_add_up_the_ngrams_of_all_texts(model, people):
    rules = Rules()
    explanations = [model.explain(post.content) for post in people[1].posts]
    for one in explanations:
        rules.add(one)
    expected = {}
    for one in explanations:
        for ngram, total in totals_of(one).items():
            expected[ngram] = expected.get(ngram, 0) + total[0]
    for one in rules.largest("ngram", 0, 20):
        assert one.total == pytest.approx(expected[one.words], abs=1e-12)


# What would change the label


def fewest(explanation, slack):
    """Return the size of the smallest set of blocks without which another label leads by slack."""
    ngrams = [one for one in blocks_of(explanation) if one["kind"] == "ngram"]
    parts = np.array([one["contribution"] for one in ngrams])
    winner = explanation.labels.index(explanation.label)
    for size in range(1, len(parts) + 1):
        for removed in itertools.combinations(range(len(parts)), size):
            rest = np.array(explanation.value) - parts[list(removed)].sum(axis=0)
            if (np.delete(rest, winner) - rest[winner] > slack).any():
                return size
    return np.inf


@given(
    corpus=corpora(min_labels=2, max_labels=4),
    arguments=parameters(own_operators=False).map(lambda found: found | {"summary": "sum"}),
    read=texts(),
)
def test_the_fewest_blocks_that_change_a_label_are_found(corpus, arguments, read):
    model = ww.TauSS3(**arguments)
    learnt, labels = [text for text, _ in corpus], [label for _, label in corpus]
    model.learn_many(learnt, labels)
    model.refine(learnt, labels)
    explanation = model.explain(read)
    ngrams = [one for one in blocks_of(explanation) if one["kind"] == "ngram"]
    if len(ngrams) > 9 or not explanation.ngrams:
        return
    change = model.what_would_change(read)
    assert change.before == explanation.label == model.predict_one(read)
    size = len(change.occurrences) if change else np.inf
    surely, perhaps = fewest(explanation, 1e-9), fewest(explanation, -1e-9)
    if change.exact:
        assert perhaps <= size <= surely
    if change:
        assert size >= perhaps
        removed = np.sum([one.contribution for one in change.occurrences], axis=0)
        rest = np.array(explanation.value) - removed
        after = explanation.labels.index(change.after)
        assert rest[after] >= rest.max() - 1e-9
        assert change.after != change.before


def test_the_bias_stays_when_blocks_are_removed():
    model = ww.TauSS3()
    texts = ["bad day", "bad night", *["good day"] * 30]
    labels = ["low", "low", *["well"] * 30]
    model.learn_many(texts, labels)
    model.refine(texts, labels)
    explanation = model.explain("bad")
    assert explanation.label == "low"
    assert explanation.bias[0] > explanation.bias[1]
    change = model.what_would_change("bad")
    assert (change.possible, change.exact, change.after) == (False, True, "low")
    change = model.what_would_change("good")
    assert (change.before, change.after, change.exact) == ("well", "low", True)
    assert [one.ngram for one in change.occurrences] == ["good"]


# Stories


@pytest.fixture(scope="module")
def story(model):
    others = ww.make_risk_streams(30, seed=5, prevalence=0.5, posts_per_subject=(6, 9))
    policy = ww.Overtakes(AT_RISK, margin=0.5)
    return next(found for one in others if (found := model.story(one, policy)).decision)


def test_a_story_adds_up_probabilities(model, story):
    texts = [one.post.content for one in story.posts]
    sums = np.cumsum(model.probability_many(texts), axis=0)
    assert np.allclose([list(one.sums.values()) for one in story.posts], sums, atol=1e-12)
    reader = model.reader(story.policy)
    decisions = [reader.read(text) for text in texts]
    assert [bool(one) for one in decisions].index(True) + 1 == story.decision.delay


def test_the_ngrams_of_a_story_add_to_the_scores(story):
    expected, times = {}, {}
    for one in story.posts[: story.tipped.posts]:
        for ngram in one.explanation.ngrams:
            total = np.add(ngram.counted, ngram.corrected)
            expected[ngram.ngram] = expected.get(ngram.ngram, 0) + total
            times[ngram.ngram] = times.get(ngram.ngram, 0) + ngram.times
    column, rival = story.labels.index(AT_RISK), story.labels.index(story.tipped.rival)
    found = {one.ngram: one for one in story.tipping(10_000).ngrams_for}
    assert found.keys() == {
        name for name, total in expected.items() if total[column] > total[rival]
    }
    for name, one in found.items():
        assert one.contribution == pytest.approx(expected[name], abs=1e-12)
        assert one.times == times[name]
    differences = [one.difference for one in story.tipped.ngrams_for]
    assert differences == sorted(differences, reverse=True)


@pytest.mark.parametrize("aim", ["delay", "cancel"])
def test_removed_blocks_change_the_probabilities_of_posts(model, story, aim):
    change = story.what_would_delay() if aim == "delay" else story.what_would_cancel()
    assert change
    assert change.exact == (len(change.occurrences) == 1)
    scores = [np.array(one.explanation.value) for one in story.posts]
    for one in change.occurrences:
        scores[one.post - 1] = scores[one.post - 1] - one.contribution
    evidence = softmax(np.array(scores), model.refinement.temperature)
    sums = np.cumsum(evidence, axis=0)
    column = story.labels.index(AT_RISK)
    alerts = sums[:, column] - sums[:, 1 - column] > 0.5
    after = int(alerts.argmax()) + 1 if alerts.any() else 0
    assert after == change.after
    assert after == 0 if aim == "cancel" else after == 0 or after > story.decision.delay


def test_a_story_is_drawn(story):
    page = story.to_page()
    strongest = story.tipped.ngrams_for[0]
    assert strongest.ngram in page
    assert as_value(strongest.contribution[0]) in page
    assert "posts add probabilities" in page
    assert json.loads(json.dumps(story.to_dict()))["shown"][0]["explanation"]["bias"]


# Overview


def test_an_overview_says_on_how_many_texts_the_model_is_refined(people):
    model = refined(people[:10])
    texts = model.refinement.texts
    model.learn_one("another text", AT_RISK)
    model.unlearn_one("another text", AT_RISK)
    overview = model.overview(3)
    said = f"refined on {texts} texts; 1 document learnt and 1 document unlearnt since then"
    assert overview.refinement == model.refinement
    assert said in str(overview)
    assert said in overview.to_page()
    assert overview.to_dict()["refinement"]["text"] == said
    model.drop_refinement()
    assert model.overview(3).to_dict()["refinement"] is None
    assert "refined" not in model.overview(3).to_page()


@given(st.integers(0, 3), st.integers(0, 3))
def test_staleness_is_spelt_out(learnt, unlearnt):
    found = Refinement(5, 5, learnt, unlearnt, 1.0, 1.0)
    assert found.is_stale == ("since then" in str(found))
    assert (f"{learnt} document" in str(found)) == (learnt > 0)
    assert (f"{unlearnt} document" in str(found)) == (unlearnt > 0)


def test_an_explanation_has_the_calibrated_probability(model, text, explanation):
    assert dict(zip(model.labels, explanation.probability, strict=True)) == pytest.approx(
        model.probability_one(text)
    )
    assert explanation.to_dict()["probability"] == list(explanation.probability)
    assert "probability" not in model.replace(smoothness=0.3).explain(text).to_dict()


def test_the_page_and_the_snippet_show_the_probability(explanation):
    chance = as_chance(max(explanation.probability)).replace(">", "&gt;").replace("<", "&lt;")
    assert f"(probability {chance})" in explanation.to_page()
    assert f"</data>, {chance}</span>" in explanation.to_html()


@pytest.mark.parametrize("summary", ["refined", "counted"])
def test_a_text_without_evidence_says_so_instead_of_a_label(model, summary):
    silent = (model if summary == "refined" else model.replace(smoothness=0.3)).explain("zzz qqq")
    assert not silent.has_evidence
    told = f"No evidence for any label; the default is <bdi>{silent.label}</bdi>."
    page, snippet = silent.to_page(), silent.to_html()
    assert told in page
    assert "Predicted:" not in page
    assert told in snippet
    assert "bold" not in snippet
    assert "stands for" not in snippet


def test_texts_with_one_scale_are_painted_in_proportion(model, people):
    explanations = [model.explain(post.content) for post in people[0].posts]
    scale = scale_of(explanations)
    shares = []
    for explanation in explanations:
        rules = Rules(scale)
        rules.add(explanation)
        assert rules.highest == scale
        shares.append(max(rules.share(one, 0) for one in rules.all if one.kind == "ngram"))
    assert min(shares) < max(shares) <= 1
