"""Folds of texts: complete, even, reproducible, groups never split."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untyped import untyped
from watchword.evaluation.folds import deal

LABELS = st.lists(st.sampled_from(["a", "a", "a", "b", "b", "c"]), min_size=4, max_size=60)
SETS = st.lists(st.frozensets(st.sampled_from("abc")), min_size=4, max_size=40)
FOLDS = st.integers(2, 4)
SEEDS = st.integers(0, 2**63 - 1)


def held_out(folds):
    return [fold.held_out.tolist() for fold in folds]


def spread_of(labels, folds):
    """Return for each label its number of texts in each fold."""
    counts = [Counter(x for at in fold.held_out for x in labels[at]) for fold in folds]
    return {x: [count[x] for count in counts] for x in {x for one in labels for x in one}}


@given(LABELS | SETS, FOLDS, SEEDS, st.integers(1, 3))
def test_every_text_is_held_out_once_per_repeat(labels, folds, seed, repeats):
    dealt = deal(labels, folds=folds, seed=seed, repeats=repeats)
    assert [(one.repeat, one.number) for one in dealt] == [
        (repeat, number) for repeat in range(repeats) for number in range(folds)
    ]
    for repeat in range(repeats):
        parts = [one.held_out for one in dealt if one.repeat == repeat]
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
        assert all(part.size and part.dtype == np.int64 for part in parts)
        assert all((np.diff(part) > 0).all() for part in parts)


@given(LABELS, FOLDS, SEEDS)
def test_labels_and_sizes_are_as_even_as_can_be(labels, folds, seed):
    dealt = deal(labels, folds=folds, seed=seed)
    sizes = [one.held_out.size for one in dealt]
    for counts in [sizes, *spread_of(labels, dealt).values()]:
        assert max(counts) - min(counts) <= 1


@given(LABELS, FOLDS, SEEDS)
def test_every_label_of_two_texts_is_learnt_for_every_fold(labels, folds, seed):
    common = {label for label, count in Counter(labels).items() if count > 1}
    for fold in deal(labels, folds=folds, seed=seed):
        assert common <= {labels[at] for at in fold.others(len(labels))}


@given(LABELS | SETS, FOLDS, SEEDS)
def test_the_training_texts_are_those_not_held_out(labels, folds, seed):
    for fold in deal(labels, folds=folds, seed=seed):
        together = [*fold.held_out.tolist(), *fold.others(len(labels)).tolist()]
        assert sorted(together) == list(range(len(labels)))


@given(LABELS | SETS, FOLDS, SEEDS)
def test_the_same_arguments_give_the_same_folds(labels, folds, seed):
    once, again = (held_out(deal(labels, folds=folds, seed=seed)) for _ in range(2))
    assert once == again
    assert held_out(deal(labels, folds=folds, seed=seed, repeats=2))[:folds] == once


def test_folds_do_not_depend_on_the_order_of_a_texts_labels():
    # The hashes of these numbers collide, so sets keep the order in which they were added.
    labels = [[0, 8, 16, 24], [8], [8, 16, 32], [0, 16, 32], [0, 8, 16, 32], [8, 24, 32]]
    labels += [[0, 16, 32], [0, 8, 16], [0, 8, 24]]
    turned = [own[::-1] for own in labels]
    assert held_out(deal(turned, folds=3)) == held_out(deal(labels, folds=3))


def test_folds_differ_by_seed_and_repeat():
    labels = ["a", "b"] * 20
    first, second = held_out(deal(labels)), held_out(deal(labels, seed=1))
    assert first != second
    repeated = held_out(deal(labels, repeats=2))
    assert repeated[:5] != repeated[5:]


@given(st.data(), LABELS | SETS, FOLDS, SEEDS)
def test_groups_are_never_split(data, labels, folds, seed):
    # The first ones are all different, so that there are enough.
    more = st.lists(st.integers(0, 9), min_size=len(labels) - folds, max_size=len(labels) - folds)
    groups = [*range(folds), *data.draw(more)]
    home = {}
    for fold in deal(labels, folds=folds, groups=groups, seed=seed):
        assert fold.held_out.size
        for at in fold.held_out.tolist():
            assert home.setdefault(groups[at], fold.number) == fold.number


def test_groups_of_equal_size_are_spread_evenly():
    labels = ["a"] * 40 + ["b"] * 20
    groups = [at // 4 for at in range(60)]
    dealt = deal(labels, folds=5, groups=groups)
    assert spread_of(labels, dealt) == {"a": [8] * 5, "b": [4] * 5}


def test_small_groups_fill_what_large_ones_leave():
    labels = ["a"] * 10 + ["b"] * 10
    groups = ["large"] * 10 + list(range(10))
    dealt = deal(untyped(labels), folds=2, groups=untyped(groups))
    assert spread_of(labels, dealt) == {"a": [10, 0], "b": [5, 5]}


def test_a_label_of_two_groups_is_in_two_folds():
    labels = ["a", "rare", "a", "a", "rare", "a", "a", "a"]
    groups = ["x", "x", "x", "y", "y", "y", "z", "w"]
    for seed in range(20):
        for fold in deal(labels, folds=2, groups=groups, seed=seed):
            assert "rare" in {labels[at] for at in fold.others(len(labels))}


def test_several_labels_are_spread_evenly():
    labels = [{"a", "b"}, {"a"}, {"b", "c"}, {"c"}, set()] * 10
    dealt = deal(labels, folds=5)
    for counts in spread_of(labels, dealt).values():
        assert max(counts) - min(counts) <= 1
    assert {fold.held_out.size for fold in dealt} == {10}


def test_groups_may_be_anything_hashable_in_any_container():
    labels = np.array([1, 2, 1, 2])
    groups = np.array(["x", "x", "y", "y"])
    expected = held_out(deal([1, 2, 1, 2], folds=2, groups=[("x",), ("x",), 3, 3]))
    assert held_out(deal(untyped(labels), folds=2, groups=untyped(groups))) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"labels": ["a"] * 4}, ValueError, "5 folds need at least 5 texts, got 4"),
        ({"groups": [1, 2, 1, 2, 1, 2]}, ValueError, "5 folds need at least 5 groups, got 2"),
        ({"groups": [1]}, ValueError, "6 labels but 1 groups"),
        ({"groups": [1, 2, None, 3, 4, 5]}, ValueError, r"groups\[2\] is missing"),
        ({"groups": [1, 2, 3.0, 4, 5, float("nan")]}, ValueError, r"groups\[5\] is missing"),
        ({"folds": 1}, ValueError, "folds must be at least 2"),
        ({"folds": 2.5}, TypeError, "folds must be a whole number"),
        ({"repeats": 0}, ValueError, "repeats must be at least 1"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"labels": ["a", 1, "a", "a", "a"]}, ValueError, "all str or all int"),
        ({"labels": ["a", ["b"], "a", "a", "a"]}, TypeError, "not both"),
        ({"labels": "aaaaaa"}, TypeError, "single string"),
    ],
)
def test_deal_rejects_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        deal(**({"labels": ["a", "b"] * 3} | arguments))
