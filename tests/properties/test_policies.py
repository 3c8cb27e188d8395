"""The core's policies against formulas over arrays, and one post at a time against many."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy_reference as reference
import watchword as ww
from stream_samples import (
    EVENTS,
    FEWER,
    POSTS,
    SCORES,
    cut,
    policies,
    population_policies,
    worlds,
    worth,
)
from watchword.streams.histories import Histories, Series
from watchword.streams.policies import FEATURES
from watchword.streams.policy_base import compiled, ranking_score
from watchword.streams.steps import Step, advance, log_ratio_of

# Eighths make ties and exact thresholds likely.
VALUES = st.one_of(st.integers(0, 24).map(lambda whole: whole / 8), st.floats(0, 1e6))
EVERY_POLICY = st.one_of(policies("at risk"), population_policies("at risk"))


@st.composite
def steps(draw, policy):
    """Draw a step for the policy, with some memory."""
    rows = draw(st.integers(0, 6))

    def numbers(of):
        return np.array(draw(st.lists(of, min_size=rows, max_size=rows)))

    value, other, gain, other_gain = (numbers(VALUES).astype(np.float64) for _ in range(4))
    counts = st.integers(0, 4).map(float)
    columns = [numbers(counts) for _ in range(policy.remembers)]
    memory = np.array(columns, np.float64).reshape(policy.remembers, rows).T.copy()
    posts = numbers(st.integers(0, 12)).astype(np.int64)
    ratios = numbers(st.floats(-50, 50)).astype(np.float64)
    return Step(posts, value, other, gain, other_gain, draw(st.integers(0, 5)), memory, ratios)


@st.composite
def asked(draw, kind=EVERY_POLICY):
    policy = draw(kind)
    return policy, draw(steps(policy))


def copied(step):
    return replace(step, memory=step.memory.copy())


def row_of(step, row):
    """Return the step of one row by itself."""
    names = ("posts", "value", "other", "gain", "other_gain", "memory", "log_ratios")
    return replace(step, **{name: getattr(step, name)[row : row + 1].copy() for name in names})


@given(asked())
def test_a_policy_alerts_as_its_formula_says(question):
    policy, step = question
    ours, theirs = copied(step), copied(step)
    found = policy.alerts(ours)
    assert found.dtype == np.bool_
    assert found.tolist() == reference.alerts(policy.to_dict(), theirs).tolist()
    assert np.array_equal(ours.memory, theirs.memory)


@given(asked(), st.data())
def test_the_driver_applies_a_policy_by_its_rules(question, data):
    policy, step = question
    rows = len(step.posts)
    flags = st.lists(st.booleans(), min_size=rows, max_size=rows)
    read, decided = (np.array(data.draw(flags), np.bool_) for _ in range(2))
    ours = copied(step)
    found = advance(compiled(policy), ours, read=read, decided=decided)
    wanted, kept = reference.advance(policy.to_dict(), step, read=read, decided=decided)
    assert found.tolist() == wanted.tolist()
    assert np.array_equal(ours.memory, kept)


@given(asked(policies("at risk")))
def test_a_row_by_itself_is_decided_as_among_others(question):
    policy, step = question
    together = copied(step)
    found = policy.alerts(together)
    for row in range(len(step.posts)):
        alone = row_of(step, row)
        assert policy.alerts(alone).tolist() == [found[row]]
        assert np.array_equal(alone.memory[0], together.memory[row])


@given(asked(), SCORES)
def test_a_score_is_that_of_its_formula(question, name):
    _, step = question
    assert step.score(name).tolist() == reference.score(name, step).tolist()


@given(st.lists(st.tuples(VALUES, VALUES), max_size=5))
def test_log_ratios_are_those_of_their_formula(gains):
    gain, other_gain = np.array(gains, np.float64).reshape(-1, 2).T
    found = log_ratio_of(gain, other_gain)
    assert found.tolist() == reference.log_ratio(gain, other_gain).tolist()


@FEWER
@given(worlds(), EVENTS)
def test_a_watcher_ranks_subjects_by_the_score_of_a_replay(world, events):
    model, policy = world
    watcher = model.watcher(policy)
    for name, place in events:
        watcher.read(name, POSTS[place])
    gains = {name: [] for name, _ in events}
    for name, place in events:
        gains[name].append(list(worth(model)[place].values()))
    column = model.labels.index(policy.positive)
    series = [Series.from_gains(np.array(one), column) for one in gains.values()]
    found = Histories(series).scores(ranking_score(policy))
    assert watcher.scores() == dict(zip(gains, found.tolist(), strict=True))


@given(
    st.builds(
        ww.ReachesFalling,
        st.just("x"),
        st.floats(0, 1),
        st.floats(0, 1),
        st.integers(0, 20),
        st.floats(0.1, 50),
    ),
    st.lists(st.integers(0, 2**32 - 1), max_size=5),
)
def test_a_falling_threshold_is_that_of_its_formula(policy, posts):
    counts = np.array(posts, np.int64)
    wanted = reference.falling(policy.to_dict(), counts)
    assert policy.threshold_after(counts).tolist() == wanted.tolist()


def test_memory_that_is_not_contiguous_is_updated():
    policy = ww.Repeats("x", 2)
    memory = np.ones((2, 3))[:, 1:2]
    values = np.array([1.0, 2.0])
    step = Step(np.array([3, 3]), values, values, values, np.array([0.5, 9.0]), 0, memory)
    assert policy.alerts(step).tolist() == [True, False]
    assert memory.tolist() == [[2.0], [0.0]]


# One post at a time, and many


@FEWER
@given(worlds(), EVENTS.flatmap(cut), st.data())
def test_posts_read_in_any_way_give_the_same_decisions_and_state(world, batches, data):
    model, policy = world
    single, mixed = model.watcher(policy), model.watcher(policy)
    for batch in batches:
        names = [name for name, _ in batch]
        posts = [POSTS[place] for _, place in batch]
        one_by_one = [single.read(name, post) for name, post in zip(names, posts, strict=True)]
        threads = data.draw(st.sampled_from([None, 1, 2]))
        if data.draw(st.booleans()):
            assert mixed.read_each(names, posts, threads=threads) == one_by_one
        else:
            new = [decision for decision in one_by_one if decision.is_new]
            assert mixed.read_many(names, posts, threads=threads) == new
    assert mixed.to_bytes() == single.to_bytes()
    assert mixed.decisions() == single.decisions()


@FEWER
@given(worlds(), EVENTS)
def test_a_state_in_the_middle_changes_nothing(world, events):
    model, policy = world
    whole, resumed = model.watcher(policy), model.watcher(policy)
    for name, place in events:
        resumed = model.watcher(policy, state=resumed.to_bytes())
        assert resumed.read(name, POSTS[place]) == whole.read(name, POSTS[place])
    assert resumed.to_bytes() == whole.to_bytes()


@FEWER
@given(worlds(), EVENTS)
def test_readers_keep_the_states_of_a_watcher(world, events):
    model, policy = world
    watcher, readers = model.watcher(policy), {}
    for name, place in events:
        reader = readers.setdefault(name, model.reader(policy))
        ours, theirs = reader.read(POSTS[place]), watcher.read(name, POSTS[place])
        assert ours == theirs._replace(subject=None)
    for name, reader in readers.items():
        assert reader.decision == watcher.decision(name)._replace(subject=None)


LEARNT = {
    "a lovely day": "calm",
    "a lovely garden": "calm",
    "a bad day": "upset",
    "a bad night": "upset",
    "sun in the garden": "warm",
}
SHORT_POSTS = [*LEARNT, "", "nobody knows these", "bad bad garden day", "A lovely\n\nnight. Bad!"]


def counted_model():
    model = ww.TauSS3()
    model.learn_many(list(LEARNT), list(LEARNT.values()))
    return model


@cache
def refined_model():
    model = counted_model()
    model.refine(list(LEARNT), list(LEARNT.values()))
    return model


@pytest.mark.parametrize("make", [counted_model, refined_model])
def test_single_texts_are_read_as_many_are(make):
    model, asked = make(), SHORT_POSTS
    assert [model.predict_one(text) for text in asked] == model.predict_many(asked)
    for one, many in (
        (model.confidence_one, model.confidence_many),
        (model.probability_one, model.probability_many),
    ):
        rows = many(asked).tolist()
        assert [list(one(text).values()) for text in asked] == rows
        assert list(one("bad")) == list(model.labels)


@FEWER
@given(policies("upset"), st.lists(st.sampled_from(range(9)), max_size=8))
def test_posts_are_read_from_a_refined_model_in_the_same_way(policy, places):
    model = refined_model()
    posts = [SHORT_POSTS[place] for place in places]
    reader, watcher = model.reader(policy), model.watcher(policy)
    one_by_one = [reader.read(post) for post in posts]
    each = watcher.read_each(["ann"] * len(posts), posts)
    assert [decision._replace(subject=None) for decision in each] == one_by_one
    report = ww.replay([ww.Subject("ann", [ww.Post(post) for post in posts])], model, policy)
    assert report.outcomes[0].delay == reader.decision.delay


@given(st.lists(st.lists(st.tuples(VALUES, VALUES), max_size=6), max_size=4))
def test_features_of_histories_are_those_of_their_formulas(gains):
    subjects = [np.array(one, np.float64).reshape(-1, 2) for one in gains]
    histories = Histories([Series.from_gains(one, 0) for one in subjects])
    for row in range(histories.posts.size):
        step = row_of(histories.steps, row)
        wanted = {name: float(feature(step)[0]) for name, feature in reference.FEATURES.items()}
        assert dict(zip(FEATURES, histories.features[row].tolist(), strict=True)) == wanted
