"""Functions that score texts, used as models: live reading, states, replays, errors."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from untyped import untyped
from watchword.errors import HookError, StateError, UnknownLabelError
from watchword.evaluation import Scores
from watchword.streams import FunctionModel

COMBINES = ["sum", "mean", "last", "ema", "max"]
POSTS = st.lists(st.floats(0, 1), min_size=1, max_size=12)
POLICY = ww.Reaches("at risk", threshold=0.6)


def numbers(texts):
    """Score a text by the number that it is."""
    return [float(text) for text in texts]


def model_of(**options):
    return FunctionModel(numbers, "at risk", **options)


@given(
    st.dictionaries(st.sampled_from("abcd"), POSTS),
    st.sampled_from(COMBINES),
    st.sampled_from(
        [
            POLICY,
            ww.Overtakes("at risk", margin=0.3),
            ww.Stays("at risk", 0.55, last=2),
            ww.Repeats("at risk", times=2).after(3),
            ww.Reaches("at risk", 0.7, "log_ratio"),
            ww.Weighs("at risk", share=2, gain=1, share_posts=1, log_ratio=0.5, threshold=1),
        ]
    ),
)
def test_live_reading_equals_combined_scores(streams, combine, policy):
    watcher = model_of(combine=combine).watcher(policy)
    names = [name for name, posts in streams.items() for _ in posts]
    watcher.read_many(names, [repr(one) for posts in streams.values() for one in posts])
    scores = Scores.from_posts(
        streams, [None] * len(streams), streams.values(), positive="at risk", combine=combine
    )
    outcomes = ww.replay_scores(scores, policy).outcomes
    assert [one.delay for one in watcher.decisions()] == [one.delay for one in outcomes]
    assert list(watcher.scores().values()) == [one.score for one in outcomes]
    for decision, series in zip(watcher.decisions(), scores.series, strict=True):
        assert decision.confidence == {"at risk": series.value[-1], "other": series.other[-1]}


@pytest.mark.parametrize("combine", COMBINES)
def test_posts_give_the_same_decisions_one_by_one_in_batches_and_in_rounds(combine):
    posts = ["0.1", "0.9", "0.2", "0.8", "0.9"]
    model = model_of(combine=combine)
    reader, one_by_one, rounds = (
        model.reader(POLICY),
        model.watcher(POLICY),
        model.watcher(POLICY),
    )
    batch = model.watcher(POLICY).read_each(["ann"] * 5, posts)
    assert [reader.read(post)[:4] for post in posts] == [one[:4] for one in batch]
    assert [one_by_one.read("ann", post) for post in posts] == batch
    for number, post in enumerate(posts):
        rounds.read_round({"ann": post} if number != 2 else {"ann": post, "bob": "0.4"})
    assert rounds.decision("ann") == batch[-1]
    assert rounds.decision("bob").posts == 1


def test_subjects_without_a_post_in_a_round_keep_their_values():
    watcher = model_of(combine="last").watcher(ww.StandsOut("at risk"))
    watcher.read_round({"ann": "0.9", "bob": "0.3"})
    watcher.read_round({"bob": "0.2"})
    assert watcher.scores() == {"ann": 0.9, "bob": 0.2}
    assert watcher.decision("ann").confidence["at risk"] == 0.9


def test_subjects_are_replayed_with_a_function():
    people = [
        ww.Subject("ann", [ww.Post("0.5"), ww.Post("0.9")], "at risk"),
        ww.Subject("bob", [ww.Post("0.2")], "control"),
    ]
    found = ww.replay(people, model_of(combine="last"), POLICY)
    assert [one.delay for one in found.outcomes] == [2, 0]
    assert found.measures is not None
    assert found.measures.f1 == 1
    by_chunk = ww.replay(people, model_of(combine="max"), POLICY, by="chunk")
    assert by_chunk.scores.series[0].value[-1] == 0.9


@pytest.mark.parametrize("combine", ["mean", "last", "ema", "max"])
def test_policies_that_need_sums_are_refused_live_as_in_replays(combine):
    policy = ww.Reaches("at risk", 0.5, "softmax").after(2)
    with pytest.raises(ValueError, match=r"needs sums .* but these scores have only gains, shares"):
        model_of(combine=combine).watcher(policy)
    assert model_of(combine="sum").watcher(policy).policy is policy


def test_labels_are_the_positive_and_another():
    assert model_of().labels == ("at risk", "other")
    assert model_of(other="control").labels == ("at risk", "control")
    assert FunctionModel(numbers, 1).labels == (1, 0)
    assert FunctionModel(numbers, 0).labels == (0, 1)
    with pytest.raises(ValueError, match="must be different labels, got 'other' for both"):
        FunctionModel(numbers, "other")
    with pytest.raises(UnknownLabelError, match="numbers scores 'at risk', not 'control'"):
        model_of(other="control").watcher(ww.Overtakes("control"))


# States


def test_a_watcher_resumes_from_its_state():
    model = model_of(combine="ema")
    watcher = model.watcher(POLICY)
    watcher.read_many(["ann", "bob", "ann"], ["0.5", "0.9", "0.7"])
    again = model_of(combine="ema").watcher(POLICY, state=watcher.to_bytes())
    assert again.decisions() == watcher.decisions()
    assert again.read("ann", "0.8") == watcher.read("ann", "0.8")


def test_a_reader_resumes_from_its_state():
    reader = model_of().reader(POLICY)
    reader.read("0.5")
    states = reader.to_bytes(), reader.to_json()
    expected = reader.read("0.9")
    for state in states:
        assert model_of().reader(POLICY, state=state).read("0.9") == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"version": "2"},
        {"name": "another"},
        {"combine": "max"},
        {"combine": "ema", "ema_weight": 0.5},
    ],
)
def test_a_state_belongs_to_name_version_and_combination(changed):
    watcher = model_of(combine="ema", version="1").watcher(POLICY)
    watcher.read("ann", "0.5")
    state = watcher.to_bytes()
    other = model_of(**({"combine": "ema", "version": "1"} | changed))
    with pytest.raises(StateError, match="saved with another model"):
        other.watcher(POLICY, state=state)
    assert other.watcher(POLICY, state=state, allow_changed_model=True).decision("ann").posts == 1


def test_the_version_may_be_an_attribute_of_the_function():
    def scored(texts):
        return numbers(texts)

    before = FunctionModel(scored, 1).fingerprint
    untyped(scored).version = "2026-05"
    assert FunctionModel(scored, 1).fingerprint != before
    assert FunctionModel(scored, 1, version="").fingerprint == before


# Errors


def returning(value):
    return FunctionModel(lambda _: value, "at risk", name="mine").watcher(POLICY)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5], "mine returned 1 score for 2 texts"),
        ([0.5, np.nan], "mine returned nan for text 2 of 2: scores must be from 0 to 1"),
        ([-3.0, 0.5], "mine returned -3 for text 1 of 2: .* logistic function"),
        ([[0.1, 0.9], [0.2, 0.8]], r"mine must return one number per text, .* shape \(2, 2\)"),
        ([[0.1, 0.9], [0.2, 0.8]], "of predict_proba, return the positive label's column"),
        (0.5, r"mine must return one number per text, got 0\.5$"),
        (["high", "low"], "mine must return numbers, one per text, got list"),
        (None, "mine must return one number per text, got None$"),
    ],
)
def test_wrong_scores_are_refused_and_change_nothing(value, message):
    watcher = returning(value)
    with pytest.raises(HookError, match=message):
        watcher.read_many(["ann", "bob"], ["one", "two"])
    assert len(watcher) == 0


def test_an_exception_of_the_function_is_named_and_kept():
    watcher = FunctionModel(numbers, "at risk", name="mine").watcher(POLICY)
    with pytest.raises(HookError, match="mine raised ValueError: could not convert") as raised:
        watcher.read("ann", "hello")
    assert isinstance(raised.value.__cause__, ValueError)
    assert "ann" not in watcher


def test_the_function_is_not_called_without_texts():
    watcher = FunctionModel(lambda _: pytest.fail("called"), "at risk").watcher(POLICY)
    assert watcher.read_many([], []) == []
    assert watcher.read_round({}) == []


def test_a_model_needs_a_function():
    with pytest.raises(TypeError, match="function must be a function from texts to scores"):
        FunctionModel(untyped(0.5), "at risk")


# Loading by name


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes an importable module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


def test_a_function_is_loaded_by_name(module):
    module("own_scores", "def half(texts):\n    return [0.5] * len(texts)\n")
    model = FunctionModel.load("own_scores:half", "at risk", combine="last")
    assert repr(model) == "<FunctionModel own_scores:half for 'at risk', combined by last>"
    assert model.watcher(POLICY).read("ann", "hello").confidence["at risk"] == 0.5


def test_a_method_of_an_object_is_loaded_by_name(module):
    module(
        "own_object", "class Own:\n    def score(self, texts):\n        return [1.0]\nown = Own()\n"
    )
    model = FunctionModel.load("own_object:own.score", "at risk")
    assert model.watcher(POLICY).read("ann", "hello").is_new


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:score", "there is no module 'no_such_module' .is no_such_module.py in"),
        ("no_such.inner:score", "there is no module 'no_such'"),
        (
            "broken_import:score",
            "'broken_import' cannot be imported: ModuleNotFoundError: .*torchh",
        ),
        ("broken_code:score", "'broken_code' cannot be imported: ZeroDivisionError"),
        ("without_it:score", "'without_it' has no function 'score' .its functions: scores."),
        ("not_callable:score", "not_callable:score is not a function, but float"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_explained(module, name, message):
    module("broken_import", "import torchh\n")
    module("broken_code", "1 / 0\n")
    module("without_it", "def scores(texts): ...\n")
    module("not_callable", "score = 0.5\n")
    with pytest.raises(HookError, match=message):
        FunctionModel.load(name, "at risk")


@pytest.mark.parametrize("name", ["module", "module:", ":function", ""])
def test_a_name_must_have_two_parts(name):
    with pytest.raises(ValueError, match="is not like module:function"):
        FunctionModel.load(name, "at risk")
