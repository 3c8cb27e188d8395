"""Reading post by post, in batches and in rounds, against a reference that rereads everything."""

import gc
import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import stream_reference as reference
import watchword as ww
from sanitizing import SANITIZED
from stream_samples import (
    EVENTS,
    FEWER,
    PLACES,
    POSTS,
    ROUNDS,
    STREAMS,
    as_subjects,
    as_tuple,
    cut,
    places_by_subject,
    population_policies,
    taught,
    worlds,
    worth,
)
from untyped import untyped

RISK = ww.Overtakes("at risk")


def wanted(policy, model, places):
    """Return the reference's decision after every post."""
    history = reference.by_post([worth(model)[place] for place in places])
    try:
        return reference.decisions(policy.to_dict(), history)
    except reference.TooCloseError:
        reject()


def wanted_in_rounds(policy, model, rounds, named=()):
    """Return the post of each subject's alert by the reference."""
    met = dict.fromkeys(named, 0)
    for number, posts in enumerate(rounds):
        for subject in posts:
            met.setdefault(subject, number)
    timelines = {}
    for subject in met:
        numbers = [number for number, posts in enumerate(rounds) if subject in posts]
        gains = [worth(model)[rounds[number][subject]] for number in numbers]
        timelines[subject] = dict(zip(numbers, reference.by_post(gains), strict=True))
    try:
        return reference.first_alerts(policy.to_dict(), timelines, len(rounds), known_from=met)
    except reference.TooCloseError:
        reject()


# The same decisions, however posts are read


@FEWER
@given(worlds(), st.lists(PLACES, max_size=14))
def test_a_reader_decides_as_specified_after_every_post(world, places):
    model, policy = world
    reader = model.reader(policy)
    found = [as_tuple(reader.read(POSTS[place])) for place in places]
    assert found == wanted(policy, model, places)


@FEWER
@given(worlds(), EVENTS)
def test_a_watcher_read_post_by_post_decides_as_specified(world, events):
    model, policy = world
    watcher = model.watcher(policy)
    found = {}
    for subject, place in events:
        decision = watcher.read(subject, POSTS[place])
        assert decision.subject == subject
        found.setdefault(subject, []).append(as_tuple(decision))
    for subject, places in places_by_subject(events).items():
        assert found[subject] == wanted(policy, model, places)


@FEWER
@given(worlds(), EVENTS.flatmap(cut), st.sampled_from([None, 1, 3]))
def test_batches_give_the_new_alerts_in_the_order_of_posts(world, batches, threads):
    model, policy = world
    watcher = model.watcher(policy)
    alerts = []
    for batch in batches:
        subjects, posts = [subject for subject, _ in batch], [POSTS[place] for _, place in batch]
        alerts += watcher.read_many(subjects, posts, threads=threads)
    events = [event for batch in batches for event in batch]
    decided = {
        subject: iter(wanted(policy, model, places))
        for subject, places in places_by_subject(events).items()
    }
    expected = [(subject, *next(decided[subject])) for subject, _ in events]
    new = [each for each in expected if each[1] is not None and each[2] == each[3]]
    assert [(alert.subject, *as_tuple(alert)) for alert in alerts] == new
    assert all(alert.is_new for alert in alerts)


def test_alerts_of_a_batch_come_in_the_order_of_its_posts():
    # ann's second post stands before bob's first, which is of an earlier turn.
    watcher = taught().watcher(RISK)
    alerts = watcher.read_many(["ann", "ann", "bob"], ["sun", "alone. alone. alone", "alone"])
    assert [(alert.subject, alert.delay) for alert in alerts] == [("ann", 2), ("bob", 1)]


@FEWER
@given(worlds(), EVENTS.flatmap(cut))
def test_batches_leave_the_decisions_of_single_posts(world, batches):
    model, policy = world
    watcher = model.watcher(policy)
    for batch in batches:
        watcher.read_many([name for name, _ in batch], [POSTS[place] for _, place in batch])
    streams = places_by_subject([event for batch in batches for event in batch])
    found = {decision.subject: as_tuple(decision) for decision in watcher.decisions()}
    assert found == {name: wanted(policy, model, streams[name])[-1] for name in streams}
    assert watcher.subjects == tuple(streams)  # in the order of their first posts


@FEWER
@given(worlds(), ROUNDS)
def test_rounds_leave_the_decisions_of_single_posts(world, rounds):
    model, policy = world
    watcher = model.watcher(policy)
    alerts = []
    for posts in rounds:
        alerts += watcher.read_round({name: POSTS[place] for name, place in posts.items()})
    streams = places_by_subject([event for posts in rounds for event in posts.items()])
    for name, places in streams.items():
        assert as_tuple(watcher.decision(name)) == wanted(policy, model, places)[-1]
    fallen = [decision.subject for decision in watcher.decisions() if decision]
    assert sorted(alert.subject for alert in alerts) == sorted(fallen)
    assert watcher.rounds == len(rounds)


@FEWER
@given(worlds(), STREAMS)
def test_a_replay_decides_as_specified(world, streams):
    model, policy = world
    found = ww.replay(as_subjects(streams), model, policy)
    for outcome, places in zip(found.outcomes, streams.values(), strict=True):
        last = wanted(policy, model, places)[-1:] or [(None, 0, 0, {})]
        assert (outcome.label, outcome.delay, outcome.posts) == last[0][:3]


@FEWER
@given(worlds(population_policies), ROUNDS, st.booleans())
def test_policies_that_compare_subjects_decide_as_specified(world, rounds, announced):
    model, policy = world
    watcher = model.watcher(policy)
    named = ["silent", "ann"] if announced else []
    for subject in named:
        watcher.add(subject)
    for posts in rounds:
        watcher.read_round({name: POSTS[place] for name, place in posts.items()})
    expected = wanted_in_rounds(policy, model, rounds, named)
    assert {each.subject: each.delay or None for each in watcher.decisions()} == expected


@FEWER
@given(worlds(population_policies), STREAMS)
def test_a_replay_compares_subjects_as_rounds_do(world, streams):
    model, policy = world
    watcher = model.watcher(policy)
    for subject, places in streams.items():
        if places:  # nobody names a subject without posts
            watcher.add(subject)
    for posts in itertools.zip_longest(*streams.values()):
        pairs = zip(streams, posts, strict=True)
        watcher.read_round({name: POSTS[place] for name, place in pairs if place is not None})
    found = ww.replay(as_subjects(streams), model, policy)
    delays = {outcome.subject: outcome.delay for outcome in found.outcomes}
    assert not any(delays.pop(subject) for subject, places in streams.items() if not places)
    assert delays == {decision.subject: decision.delay for decision in watcher.decisions()}


def test_a_series_of_posts_survives_a_round_without_a_post():
    # Two posts in a row speak for the label, with a round between them in which nothing came.
    model = taught()
    watcher = model.watcher(ww.Repeats("at risk", 2) & ww.StandsOut("at risk", gamma=0))
    rounds = [{"ann": "garden", "bob": "sun"}, {}, {"ann": "alone"}, {}, {"ann": "alone"}]
    assert [len(watcher.read_round(posts)) for posts in rounds] == [0, 0, 0, 0, 1]


def test_sums_are_added_post_by_post_and_bit_for_bit():
    model = taught()
    reader, total = model.reader(RISK), 0.0
    for _ in range(1000):
        total += model.confidence_one("sleep")["at risk"]
        decision = reader.read("sleep")
    assert decision.confidence["at risk"] == total
    assert total != pytest.approx(1000 * model.confidence_one("sleep")["at risk"], rel=1e-16, abs=0)


# Decisions


def test_a_decision_is_true_only_with_an_alert():
    assert not ww.Decision(None, 0, 3, {"at risk": 0.1})
    assert ww.Decision("at risk", 2, 3, {"at risk": 0.1})


def test_a_decision_for_a_falsy_label_is_true():
    model = ww.TauSS3.paper()
    model.learn_many(["alone", "garden"], [0, 1])
    decision = model.reader(ww.Overtakes(0)).read("alone")
    assert decision
    assert decision.label == 0


def test_an_alert_is_new_at_its_own_post_only():
    reader = taught().reader(RISK)
    found = [reader.read(post).is_new for post in ["garden", "alone alone", "alone", "garden"]]
    assert found == [False, True, False, False]


def test_no_decision_is_not_new():
    assert not taught().reader(RISK).decision.is_new


def test_an_alert_is_final():
    reader = taught().reader(RISK)
    reader.read("alone")
    for _ in range(5):
        decision = reader.read("garden garden garden")
    assert decision.confidence["control"] > decision.confidence["at risk"]
    assert (decision.label, decision.delay, decision.posts) == ("at risk", 1, 6)


def test_a_decision_is_frozen():
    with pytest.raises(AttributeError):
        untyped(ww.Decision(None, 0, 0, {})).label = "x"


def test_no_decision_before_the_first_post():
    decision = taught().reader(RISK).decision
    assert as_tuple(decision) == (None, 0, 0, {"at risk": 0.0, "control": 0.0})


def test_decision_does_not_change_with_further_reading():
    reader = taught().reader(RISK)
    first = reader.read("alone")
    before = dict(first.confidence)
    reader.read("alone")
    assert first.confidence == before
    assert first.posts == 1


# Readers


@pytest.mark.parametrize("paragraphs", ["lines", "blank_lines"])
def test_title_and_text_of_a_post_are_two_paragraphs(paragraphs):
    # The words are as common under both labels; only in a row they are not.
    model = ww.TauSS3.paper(paragraphs=paragraphs)
    texts = ["cannot sleep"] * 6 + ["cannot go", "cannot go", "garden sleep", "sleep"]
    model.learn_many(texts, ["risk"] * 6 + ["control"] * 4)
    reader = model.reader(ww.Overtakes("risk", margin=0.5))
    assert not reader.read(ww.Post("sleep", title="cannot"))
    assert reader.read("cannot sleep")


def test_reading_does_not_change_the_model():
    model = taught()
    before = model.fingerprint
    model.reader(RISK).read("alone new words")
    model.watcher(RISK).read_many(["a"], ["alone new words"])
    assert model.fingerprint == before


@pytest.mark.parametrize("make", [ww.TauSS3.reader, ww.TauSS3.watcher])
def test_an_unknown_label_is_refused(make):
    with pytest.raises(
        ww.errors.UnknownLabelError, match="unknown label 'depressed'; the model knows"
    ):
        make(taught(), ww.Overtakes("depressed"))


@pytest.mark.parametrize("make", [ww.TauSS3.reader, ww.TauSS3.watcher])
def test_the_label_1_is_not_the_label_named_1(make):
    with pytest.raises(ww.errors.UnknownLabelError, match="unknown label '1'"):
        make(taught((1, 2, 30)), ww.Overtakes("1"))


@pytest.mark.parametrize("make", [ww.TauSS3.reader, ww.TauSS3.watcher])
def test_an_empty_model_is_refused(make):
    with pytest.raises(ww.errors.EmptyModelError):
        make(ww.TauSS3(), RISK)


@pytest.mark.parametrize("make", [ww.TauSS3.reader, ww.TauSS3.watcher])
@pytest.mark.parametrize("policy", ["Overtakes", None, ww.Overtakes, lambda step: step.value > 1])
def test_non_policy_is_rejected(make, policy):
    with pytest.raises(TypeError, match="policy must be a Policy, such as Overtakes"):
        make(taught(), policy)


@pytest.mark.parametrize("post", [None, 3, b"alone", ["alone"]])
def test_non_post_is_rejected(post):
    with pytest.raises(TypeError, match="must be str"):
        taught().reader(RISK).read(post)


def test_a_refused_post_changes_nothing():
    reader = taught().reader(RISK)
    with pytest.raises(TypeError):
        reader.read(None)
    assert reader.decision.posts == 0


def test_a_reader_refuses_policies_that_compare_subjects():
    with pytest.raises(ValueError, match="use a Watcher and its read_round"):
        taught().reader(RISK & ww.StandsOut("at risk"))


def test_a_label_learnt_while_reading_joins_the_comparison():
    model = ww.TauSS3.paper()
    model.learn_many(["alone", "garden"], ["risk", "control"])
    reader = model.reader(ww.Overtakes("risk", margin=10))
    first = reader.read("alone match").confidence
    model.learn_one("match match match", "sports")
    second = reader.read("alone match").confidence
    gains = model.confidence_one("alone match")
    assert gains["sports"] > 0
    assert second == {
        "control": gains["control"],
        "risk": first["risk"] + gains["risk"],
        "sports": gains["sports"],
    }


def test_a_label_forgotten_while_reading_keeps_its_sum():
    model = ww.TauSS3.paper()
    model.learn_many(["alone", "garden", "match"], ["risk", "control", "sports"])
    reader = model.reader(ww.Overtakes("risk", margin=10))
    before = reader.read("match").confidence["sports"]
    model.unlearn_one("match", "sports")
    assert before > 0
    assert reader.read("alone").confidence["sports"] == before


def test_labels_that_vanish_and_come_back_add_to_the_same_sums():
    posts = {"risk": "alone", "control": "garden", "sports": "match", "tech": "code"}
    model = ww.TauSS3.paper()
    model.learn_many(list(posts.values()), list(posts))
    reader = model.reader(ww.Overtakes("risk", margin=10))
    expected: dict[str | int, float] = dict.fromkeys(sorted(posts), 0.0)
    for label in ("control", "sports", "tech", "control"):
        model.unlearn_one(posts[label], label)
        for text in ("alone match", "code garden"):
            for known, value in model.confidence_one(text).items():
                expected[known] += value
            assert reader.read(text).confidence == expected
        model.learn_one(posts[label], label)
        assert reader.read("alone").confidence.keys() == expected.keys()
        for known, value in model.confidence_one("alone").items():
            expected[known] += value


# Watchers


def test_a_watcher_lists_its_subjects():
    watcher = taught().watcher(RISK)
    watcher.read_many(["bob", "ann", "bob"], ["alone"] * 3)
    watcher.add("cid")
    watcher.add("bob")
    assert watcher.subjects == ("bob", "ann", "cid")
    assert len(watcher) == 3
    assert "ann" in watcher
    assert "dan" not in watcher
    assert [watcher.decision(name).posts for name in watcher.subjects] == [2, 1, 0]


def test_scores_compare_with_the_best_other_label():
    model = taught(("at risk", "control", "sports"))
    watcher = model.watcher(RISK)
    watcher.read_many(["ann", "ann", "bob"], ["alone match", "garden match goal", "sun"])
    watcher.add("cid")
    sums = watcher.decision("ann").confidence
    assert sums["sports"] > sums["control"] > 0
    share = sums["at risk"] / (sums["at risk"] + sums["sports"])
    assert watcher.scores() == {"ann": share, "bob": 0.0, "cid": 0.0}


@given(worlds(), EVENTS)
def test_scores_are_those_of_a_replay(world, events):
    model, policy = world
    watcher = model.watcher(policy)
    watcher.read_many([subject for subject, _ in events], [POSTS[place] for _, place in events])
    streams = places_by_subject(events)
    found = ww.replay(as_subjects(streams), model, policy)
    assert watcher.scores() == {outcome.subject: outcome.score for outcome in found.outcomes}


def test_an_unknown_subject_is_named():
    watcher = taught().watcher(RISK)
    with pytest.raises(ww.errors.UnknownSubjectError, match="unknown subject 'bob'") as caught:
        watcher.decision("bob")
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("subject", [7, None, b"ann", ("ann",)])
def test_subject_id_that_is_not_str_is_rejected_without_reading(subject):
    watcher = taught().watcher(RISK)
    kind = type(subject).__name__
    for read in (
        lambda: watcher.read(subject, "alone"),
        lambda: watcher.read_many(["ann", subject], ["alone", "alone"]),
        lambda: watcher.read_round({"ann": "alone", subject: "alone"}),
        lambda: watcher.add(subject),
    ):
        with pytest.raises(TypeError, match=f"a subject id must be str, got {kind}"):
            read()
    assert len(watcher) == 0


def test_a_bad_post_in_a_batch_leaves_all_posts_unread():
    watcher = taught().watcher(RISK)
    with pytest.raises(TypeError, match="text 1 must be str"):
        watcher.read_many(["ann", "bob"], ["alone", None])
    assert len(watcher) == 0


def test_subjects_and_posts_must_be_equally_many():
    with pytest.raises(ValueError, match="1 subjects but 2 posts"):
        taught().watcher(RISK).read_many(["ann"], ["alone", "garden"])


@pytest.mark.parametrize("arguments", [("ab", ["x", "y"]), (["a", "b"], "xy")])
def test_a_single_string_is_not_taken_for_many(arguments):
    with pytest.raises(TypeError, match="got a single string: put it into a list"):
        taught().watcher(RISK).read_many(*arguments)


def test_subjects_and_posts_may_come_from_generators_and_arrays():
    watcher = taught().watcher(RISK)
    names = np.array(["ann", "bob"])
    assert len(watcher.read_many(names, (post for post in ["alone", "garden"]))) == 1


def test_an_empty_batch_changes_nothing():
    watcher = taught().watcher(RISK)
    assert watcher.read_many([], []) == []
    assert len(watcher) == 0


def test_an_empty_round_counts_as_a_round():
    watcher = taught().watcher(ww.StandsOut("at risk"))
    assert watcher.read_round({}) == []
    assert watcher.rounds == 1


@pytest.mark.parametrize("call", ["read", "read_many"])
def test_policies_that_compare_subjects_need_rounds(call):
    watcher = taught().watcher(ww.StandsOut("at risk"))
    arguments = ("ann", "alone") if call == "read" else (["ann"], ["alone"])
    with pytest.raises(ValueError, match="compares all subjects of a round: call read_round"):
        getattr(watcher, call)(*arguments)
    assert len(watcher) == 0


def test_a_subject_that_stands_out_is_alerted_from_the_fourth_round_on():
    model = taught()
    watcher = model.watcher(ww.StandsOut("at risk", gamma=2))
    posts = {"ann": "alone", "bob": "garden", "cid": "sun", "dan": "lovely", "eve": "garden"}
    alerts = [watcher.read_round(posts) for _ in range(5)]
    assert [[alert.subject for alert in each] for each in alerts] == [[], [], [], ["ann"], []]
    assert watcher.decision("ann").delay == 4


def test_a_subject_without_a_post_counts_in_the_comparison_but_is_not_alerted():
    model = taught()
    watcher = model.watcher(ww.StandsOut("at risk", gamma=2))
    posts = {"ann": "alone", "bob": "garden", "cid": "sun", "dan": "lovely", "eve": "garden"}
    watcher.read_round(posts)
    for _ in range(4):
        assert watcher.read_round({"bob": "garden"}) == []
    assert [alert.subject for alert in watcher.read_round({"ann": ""})] == ["ann"]


@pytest.mark.skipif(SANITIZED, reason="the sanitizers allocate more")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory as Linux tells it")
def test_a_watcher_of_two_labels_needs_at_most_200_bytes_a_subject():
    program = (
        "import resource, watchword as ww\n"
        "def kept(): return int(open('/proc/self/statm').read().split()[1])\n"
        "model = ww.TauSS3()\n"
        "model.learn_many(['alone', 'garden'], ['at risk', 'control'])\n"
        "names = [f'subject {number}' for number in range(200_000)]\n"
        "watcher = model.watcher(ww.Overtakes('at risk'))\n"
        "read = lambda at: watcher.read_many(names[at:at + 1000], ['sun'] * 1000, threads=1)\n"
        "read(0)\n"
        "before = kept()\n"
        "for at in range(0, len(names), 1000): read(at)\n"
        "print((kept() - before) * resource.getpagesize() / len(watcher))\n"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert 50 <= float(found) <= 200


# A policy of one's own


@dataclass(frozen=True)
class Doubles(ww.Policy):
    positive: str

    def alerts(self, step):
        return step.value > 2 * step.other


@dataclass(frozen=True)
class Returns(ww.Policy):
    """A policy that returns the result of a function."""

    positive: str
    what: Callable[[Any], Any]

    def alerts(self, step):
        return self.what(step)


def test_a_custom_policy_decides_like_the_equal_built_in_one():
    model, ours = taught(), ww.Overtakes("at risk", ratio=2)
    events = [(name, POSTS[place]) for name, place in zip("abacab" * 4, range(14), strict=False)]
    own = model.watcher(Doubles("at risk"))
    other = model.watcher(ours)
    assert own.read_many(*zip(*events, strict=True)) == other.read_many(*zip(*events, strict=True))
    assert any(own.decisions())
    streams = {"a": [2, 6, 11], "b": [6, 7]}
    readers = model.reader(Doubles("at risk")), model.reader(ours)
    for place in streams["a"]:
        mine, theirs = (reader.read(POSTS[place]) for reader in readers)
        assert mine == theirs
    replays = [ww.replay(as_subjects(streams), model, one) for one in (Doubles("at risk"), ours)]
    assert replays[0].outcomes == replays[1].outcomes


WRONG = {
    "a float array": (lambda step: step.value, TypeError, "an array of bool, got float64"),
    "a list": (lambda step: [True] * len(step.posts), TypeError, "an array of bool, got list"),
    "a bool": (lambda _: True, TypeError, "an array of bool, got bool"),
    "a column": (
        lambda step: (step.value > 0)[:, None],
        ValueError,
        r"one bool per subject \(1,\), got \(1, 1\)",
    ),
    "too many": (
        lambda _: np.ones(7, bool),
        ValueError,
        r"one bool per subject \(1,\), got \(7,\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: p.after(1), lambda p: RISK | p])
def test_invalid_alerts_of_a_policy_are_rejected(name, wrap):
    answer, error, message = WRONG[name]
    policy = wrap(Returns("at risk", answer))
    with pytest.raises(error, match=f"Returns.alerts must return {message}"):
        taught().reader(policy).read("alone")


@pytest.mark.parametrize("name", WRONG)
def test_replay_rejects_invalid_alerts_of_a_policy(name):
    answer, error, message = WRONG[name]
    with pytest.raises(error, match=f"Returns.alerts must return {message}"):
        ww.replay(as_subjects({"ann": [2]}), taught(), Returns("at risk", answer))


@dataclass(frozen=True)
class Rises(ww.Policy):
    """A policy that alerts when the positive value grew more than ever before."""

    positive: str

    @property
    def remembers(self):
        return 1

    def alerts(self, step):
        largest = step.memory[:, 0].copy()
        step.memory[:, 0] = np.maximum(largest, step.gain)
        return (largest > 0) & (step.gain > largest)


def test_a_custom_policy_can_take_notes():
    model = taught()
    # sleep < alone; after them nothing is larger than "alone" but two words of it.
    posts = ["sleep", "garden", "alone", "alone", "alone. alone"]
    reader = model.reader(Rises("at risk"))
    assert [reader.read(post).delay for post in posts] == [0, 0, 3, 3, 3]
    found = ww.replay(
        [ww.Subject("ann", [ww.Post(post) for post in posts])], model, Rises("at risk")
    )
    assert found.outcomes[0].delay == 3


def test_notes_of_combined_policies_do_not_mix():
    # Rises notes values, Repeats a count: each in its own column.
    model = taught()
    policy = (Rises("at risk") & ww.Repeats("at risk", 2)) | ww.Repeats("at risk", 9)
    reader = model.reader(policy)
    posts = ["sleep", "garden", "alone", "alone. alone"]
    assert [reader.read(post).delay for post in posts] == [0, 0, 0, 4]


def test_reading_continues_after_the_model_lost_a_label():
    posts = {"a": "one two", "b": "three four", "c": "five six"}
    larger, smaller = ww.TauSS3(prior=0), ww.TauSS3(prior=0)
    larger.learn_many(list(posts.values()), list(posts))
    smaller.learn_many(["one two", "three four"], ["a", "b"])
    watcher = larger.watcher(ww.Overtakes("a"))
    watcher.read("ann", "one three five")
    other = smaller.watcher(ww.Overtakes("a"), state=watcher.to_bytes(), allow_changed_model=True)
    other.read("ann", "one one")
    decision = other.read("ann", "three")
    expected = dict(larger.confidence_one("one three five"))
    for text in ("one one", "three"):
        for label, value in smaller.confidence_one(text).items():
            expected[label] += value
    assert decision.confidence == pytest.approx(expected, abs=1e-12)


class BrokenError(Exception):
    """Raised by a policy."""


def raises_at(posts):
    def answer(step):
        if (step.posts >= posts).any():
            raise BrokenError
        return step.value > 100

    return answer


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: ww.Repeats("at risk", 5) | p])
def test_a_policy_that_raises_changes_nothing(wrap):
    model, policy = taught(), wrap(Returns("at risk", raises_at(2)))
    reader, watcher = model.reader(policy), model.watcher(policy)
    reader.read("alone")
    watcher.read_many(["ann"], ["alone"])
    kept = reader.to_bytes(), watcher.to_bytes()
    for read in (
        lambda: reader.read("alone"),
        lambda: watcher.read("ann", "alone"),
        lambda: watcher.read_many(["ann"], ["alone"]),
        lambda: watcher.read_each(["ann"], ["alone"]),
        lambda: watcher.read_round({"ann": "alone"}),
    ):
        with pytest.raises(BrokenError):
            read()
        assert (reader.to_bytes(), watcher.to_bytes()) == kept


def test_arrays_that_a_policy_keeps_stay_valid():
    kept = []

    def answer(step):
        kept.append(step)
        return step.value > 100

    reader = taught().reader(Returns("at risk", answer))
    sums = [reader.read(post).confidence["at risk"] for post in ["alone", "sleep", "garden"] * 20]
    gc.collect()
    assert [step.value.tolist() for step in kept] == [[one] for one in sums]
    assert [step.posts.tolist() for step in kept] == [[number] for number in range(1, 61)]


def test_a_policy_cannot_use_the_reader_that_calls_it():
    found: list[Any] = []

    def answer(step):
        with pytest.raises(RuntimeError, match="in use by its own policy"):
            found[0].read("alone")
        return step.value > 100

    found.append(taught().reader(Returns("at risk", answer)))
    assert found[0].read("alone").posts == 1


@dataclass(frozen=True)
class OvertakesTwice(ww.Overtakes):
    """A built-in policy with another rule on top."""

    def alerts(self, step):
        return super().alerts(step) & (step.posts > 1)


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: p & RISK])
def test_a_subclass_of_a_built_in_policy_is_asked_itself(wrap):
    reader = taught().reader(wrap(OvertakesTwice("at risk")))
    assert [reader.read("alone").delay for _ in range(3)] == [0, 2, 2]


# Decisions after each post of a batch


def test_read_each_returns_a_decision_after_every_post():
    watcher = taught().watcher(RISK)
    found = watcher.read_each(["ann", "bob", "ann"], ["garden", "alone", "alone. alone"])
    assert [(one.subject, one.posts, one.delay) for one in found] == [
        ("ann", 1, 0),
        ("bob", 1, 1),
        ("ann", 2, 2),
    ]
    assert [one.is_new for one in found] == [False, True, True]
    assert watcher.read_each([], []) == []


def test_read_each_refuses_what_read_many_refuses():
    watcher = taught().watcher(RISK)
    with pytest.raises(ValueError, match="1 subjects but 2 posts"):
        watcher.read_each(["ann"], ["alone", "garden"])
    with pytest.raises(ValueError, match="call read_round"):
        taught().watcher(ww.StandsOut("at risk")).read_each(["ann"], ["alone"])
    assert len(watcher) == 0


def test_a_model_that_forgot_everything_is_an_error_without_changes():
    model = ww.TauSS3()
    model.learn_one("alone", "at risk")
    reader, watcher = model.reader(RISK), model.watcher(RISK)
    reader.read("alone")
    model.unlearn_one("alone", "at risk")
    with pytest.raises(ww.errors.EmptyModelError):
        reader.read("alone")
    with pytest.raises(ww.errors.EmptyModelError):
        watcher.read("ann", "alone")
    assert reader.decision.posts == 1
    assert len(watcher) == 0
    for read in (model.predict_one, model.confidence_one, model.probability_one):
        with pytest.raises(ww.errors.EmptyModelError):
            read("alone")
