"""Spaces of a search: lists, ranges, combinations, samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchword import Between, TauSS3
from watchword.searching.space import (
    DEFAULT_SPACE,
    Space,
    all_of,
    check_setting,
    check_space,
    combinations,
    draw,
)

RANGES: Space = {
    "smoothness": Between(0.05, 1),
    "max_ngram": [1, 2, 3],
    "prior": Between(0, 9, log=False),
}


def test_all_combinations_in_the_order_of_the_lists():
    assert all_of({"max_ngram": [1, 2], "alpha": [0, 0.1]}) == [
        {"max_ngram": 1, "alpha": 0},
        {"max_ngram": 1, "alpha": 0.1},
        {"max_ngram": 2, "alpha": 0},
        {"max_ngram": 2, "alpha": 0.1},
    ]


def test_a_range_has_no_list_of_all_combinations():
    with pytest.raises(ValueError, match=r"space\['prior'\] is a range: a grid needs a list"):
        all_of({"prior": Between(1, 2)})


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 20))
def test_the_first_draws_do_not_depend_on_how_many_are_drawn(seed, few, many):
    few, many = sorted((few, many))
    assert draw(RANGES, many, seed)[:few] == draw(RANGES, few, seed)


@given(st.floats(1e-6, 1e6), st.floats(1.001, 1e6), st.booleans(), st.integers(0, 2**32))
def test_drawn_numbers_are_in_range_with_three_digits(low, factor, log, seed):
    chosen = Between(low, low * factor, log=log)
    drawn = chosen.draw(np.random.default_rng(seed))
    assert chosen.low <= drawn <= chosen.high
    assert drawn in (chosen.low, chosen.high, float(f"{drawn:.3g}"))


def test_settings_are_drawn_once_until_all_are_drawn():
    lists: Space = {"max_ngram": [1, 2, 3], "alpha": [0.0, 0.1], "sanction": [1, 1]}
    drawn = draw(lists, 1000, seed=0)
    assert sorted(map(str, drawn)) == sorted({str(one) for one in all_of(lists)})
    assert combinations(lists) == len(drawn) == 6


def test_another_seed_draws_other_settings():
    assert draw(RANGES, 5, seed=0) != draw(RANGES, 5, seed=1)


def test_small_numbers_are_as_likely_as_large_ones():
    generator = np.random.default_rng(0)
    drawn = [Between(0.01, 100).draw(generator) for _ in range(1000)]
    assert 400 < sum(one < 1 for one in drawn) < 600
    drawn = [Between(0.01, 100, log=False).draw(generator) for _ in range(1000)]
    assert sum(one < 1 for one in drawn) < 50


def test_numpy_numbers_become_plain():
    space = {"max_ngram": list(np.arange(1, 3)), "smoothness": list(np.array([0.5], np.float32))}
    for setting in [*all_of(space), *draw(space, 2, seed=0)]:
        assert [type(value) for value in setting.values()] == [int, float]


def test_the_default_space_is_valid():
    check_space(DEFAULT_SPACE)
    for setting in draw(DEFAULT_SPACE, 50, seed=1):
        check_setting(setting)
        TauSS3(**setting)


@pytest.mark.parametrize(
    ("space", "error", "message"),
    [
        ({}, ValueError, "the space to search must not be empty"),
        ([1], TypeError, "must map names to values"),
        ({"sigma": [1]}, ValueError, "'sigma' cannot be searched; use one of smoothness, "),
        ({"default_label": ["x"]}, ValueError, "'default_label' cannot be searched"),
        ({"smoothness": []}, ValueError, r"space\['smoothness'\] must not be empty"),
        ({"smoothness": 0.5}, TypeError, r"space\['smoothness'\] must be a list of values or Bet"),
        (
            {"reading": "paper"},
            TypeError,
            r"space\['reading'\] must be a list",
        ),
        ({"smoothness": [0.5, 3]}, ValueError, r"smoothness must be in \(0, 1\], got 3"),
        ({"smoothness": Between(0.5, 3)}, ValueError, r"smoothness must be in \(0, 1\], got 3"),
        ({"max_ngram": Between(1, 3)}, TypeError, "max_ngram must be a whole number, got 1.0"),
        ({"prune": [-1]}, ValueError, "prune must be at least 0, got -1"),
        ({"summary": [max]}, ValueError, "does not support user-defined summary functions"),
    ],
)
def test_invalid_spaces_are_refused(space, error, message):
    with pytest.raises(error, match=message):
        check_space(space)


@pytest.mark.parametrize(
    ("low", "high", "log", "error", "message"),
    [
        (2, 1, True, ValueError, "low must be less than high, got 2 and 1"),
        (0, 1, True, ValueError, "low must be above 0, got 0"),
        (float("nan"), 1, False, ValueError, "low must be finite"),
        ("a", 1, True, TypeError, "low must be a number, got 'a'"),
    ],
)
def test_invalid_ranges_are_refused(low, high, log, error, message):
    with pytest.raises(error, match=message):
        Between(low, high, log=log)
