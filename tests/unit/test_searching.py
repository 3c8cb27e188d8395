"""Searching: values equal cross-validation by hand; order, budgets and bad arguments."""

import csv
import io
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import databases
import watchword as ww
from search_samples import by_hand, plain, sample
from strategies import corpora, examples
from untyped import untyped
from watchword import Between, TauSS3, search
from watchword.errors import EmptyModelError, UnknownLabelError
from watchword.searching.searcher import search_within, seconds_of
from watchword.searching.space import DEFAULT_SPACE, Space, all_of

TEXTS, LABELS, GROUPS = sample()
MANY = sample(several=True)

GRID: Space = {"smoothness": [0.2, 0.6], "max_ngram": [1, 3]}
LONG: Space = {
    "smoothness": Between(0.05, 1),
    "significance": Between(0.1, 4),
    "max_ngram": [1, 2, 3],
}


counted = partial(search, refine=False)


def usual(names):
    """Return the default values of these parameters."""
    return {name: TauSS3().parameters[name] for name in names}


def shorten(word):
    return None if word == "data" else word[:4]


def by_blanks(text):
    at = 0
    for part in text.split(" "):
        if part.strip():
            yield at, at + len(part), part.strip().lower().split()[0]
        at += len(part) + 1


def equal_to_hand(found, texts, labels, *, base=None, **dealing):
    """Compare every setting with cross-validation by hand."""
    assert found.settings
    for one in found.settings:
        expected = by_hand(texts, labels, one.parameters, base=base, refine=one.refined, **dealing)
        assert one.evaluation == expected
        assert one.value == expected.measure(found.measure)
        assert one.by_fold == tuple(fold.measure(found.measure) for fold in expected.folds)


# The same as by hand


@pytest.mark.parametrize("measure", ww.evaluation.MEASURES)
def test_values_are_those_of_cross_validation(measure):
    found = search(TEXTS, LABELS, GRID, measure=measure, folds=3, seed=7)
    equal_to_hand(found, TEXTS, LABELS, folds=3, seed=7)


@pytest.mark.parametrize("measure", ww.evaluation.MEASURES)
def test_values_of_several_labels_are_those_of_cross_validation(measure):
    texts, labels, _ = MANY
    found = search(texts, labels, GRID, measure=measure, folds=3)
    assert found.several
    equal_to_hand(found, texts, labels, folds=3)


@pytest.mark.parametrize(
    "space",
    [
        {"significance": [0.5, 2], "sanction": [0, 1], "alpha": [0, 0.2]},
        {"min_count": [1, 2], "prior": [0, 2.5]},
        {"ngram_scale": ["length", "words", "label"]},
        {"significance_function": ["vanilla", "xai", "ratio"]},
        {"confidence_function": ["gv", "norm_gv", "norm_gv_xai"], "max_ngram": [1, 2]},
        {"reading": ["paper", "words_sum"], "summary": ["sum", "max", {"document": "mean"}]},
        {"counting": ["occurrences", "documents"], "max_ngram": [1, 3]},
        {"paragraphs": ["lines", "blank_lines"], "summary": ["max"]},
        {"tokenization": ["unicode", "pyss3"], "prune_period": [None, 20], "prune_floor": [1]},
        {"prune": [0, 1, 2], "max_ngram": [1, 2]},
        {"prune": [1], "prune_shortest": [1, 2]},
        {"prune_period": [None, 20, 50], "prune_floor": [1], "max_ngram": [1, 2]},
    ],
    ids=lambda space: " ".join(space),
)
@pytest.mark.parametrize("several", [False, True], ids=["one label", "several labels"])
def test_all_parameters_equal_cross_validation_by_hand(space, several):
    texts, labels, groups = MANY if several else (TEXTS, LABELS, GROUPS)
    found = search(texts, labels, space, folds=3, groups=groups, repeats=2)
    assert found.folds == 6
    equal_to_hand(found, texts, labels, folds=3, groups=groups, repeats=2)


@pytest.mark.parametrize(
    "base",
    [
        {"word_hook": shorten},
        {"tokenizer": by_blanks},
        {"word_hook": shorten, "tokenizer": by_blanks, "paragraphs": "blank_lines"},
        {"default_label": "sports", "min_count": 4},
        {"counting": "occurrences", "reading": "words_sum", "summary": "max"},
        {"counting": "documents", "significance_function": "vanilla"},
        {"tokenization": "pyss3", "reading": "words_sum"},
    ],
    ids=lambda base: " ".join(base),
)
def test_other_parameters_and_hooks_come_from_the_model(base):
    space: Space = {"max_ngram": [1, 2], "paragraphs": ["lines", "blank_lines"]}
    found = search(TEXTS, LABELS, space, model=TauSS3(**base), folds=2)
    equal_to_hand(found, TEXTS, LABELS, base=base, folds=2)


@examples(0.25)
@given(corpora(min_labels=2, max_documents=12), st.integers(0, 1000))
def test_any_texts_equal_cross_validation_by_hand(corpus, seed):
    texts, labels = [text for text, _ in corpus], [label for _, label in corpus]
    assume(len(set(labels)) > 1)
    found = search(texts, labels, LONG, trials=3, folds=2, seed=seed)
    equal_to_hand(found, texts, labels, folds=2, seed=seed)


def test_texts_of_one_label_are_refused():
    with pytest.raises(ValueError, match="all 4 texts have the label 'calm': at least two labels"):
        search(["a b", "c", "d", "e f"], ["calm"] * 4, GRID, folds=2)


def test_numbers_may_be_labels():
    labels = [sorted(set(LABELS)).index(one) for one in LABELS]
    found = counted(TEXTS, untyped(np.array(labels)), GRID, folds=2)
    assert found.labels == (0, 1, 2)
    equal_to_hand(found, TEXTS, labels, folds=2)


def test_a_taught_model_gives_parameters_only():
    model = TauSS3(prior=2.0)
    model.learn_many(["deep training"] * 50, ["food"] * 50)
    before = model.fingerprint
    found = counted(TEXTS, LABELS, GRID, model=model)
    assert model.fingerprint == before
    assert plain(found) == plain(counted(TEXTS, LABELS, GRID, model=TauSS3(prior=2.0)))


# What is tried


def test_a_grid_tries_all_combinations():
    found = counted(TEXTS, LABELS, GRID)
    tried = sorted(tuple(one.parameters.values()) for one in found.settings)
    assert tried == [(0.2, 1), (0.2, 3), (0.6, 1), (0.6, 3)]
    assert found.varied == ("smoothness", "max_ngram")
    assert found.unfinished == 0


def test_a_larger_random_search_extends_a_smaller_one():
    few, many = (counted(TEXTS, LABELS, LONG, trials=count) for count in (4, 9))
    assert usual(LONG) in [one.parameters for one in few.settings]
    assert len(few.settings) == 4
    assert len(many.settings) == 9
    known = {str(one.parameters): one.value for one in many.settings}
    assert {str(one.parameters): one.value for one in few.settings}.items() <= known.items()


def test_a_random_search_of_lists_stops_after_all_combinations():
    found = counted(TEXTS, LABELS, {"max_ngram": [4, 5]}, trials=50)
    assert sorted(one.parameters["max_ngram"] for one in found.settings) == [3, 4, 5]


def test_another_seed_draws_other_settings():
    first, second = (counted(TEXTS, LABELS, LONG, trials=4, seed=seed) for seed in (0, 1))
    assert {str(one.parameters) for one in first.settings} != {
        str(one.parameters) for one in second.settings
    }


def test_default_space_is_searched():
    found = counted(TEXTS, LABELS, trials=5, folds=2)
    assert found.varied[: len(DEFAULT_SPACE)] == tuple(DEFAULT_SPACE)
    assert len(found.settings) == 5


def test_words_and_the_paper_are_tried_early():
    tried: list[dict[str, Any]] = []

    def progress(items, _):
        for one in items:
            tried.append(one.parameters)
            yield one

    found = counted(TEXTS, LABELS, trials=4, folds=2, threads=1, progress=progress)
    assert len(found.settings) == 4
    own = usual(tried[0])
    assert tried[:2] == [own, own | {"max_ngram": 1}]
    paper = TauSS3.paper().parameters
    assert TauSS3(**tried[2]).parameters == paper
    assert tried[3] not in tried[:3]


def test_a_search_from_the_paper_tries_it_once():
    found = counted(TEXTS, LABELS, model=TauSS3.paper(), trials=4, folds=2)
    assert len({str(one.parameters) for one in found.settings}) == 4


# Refinement


def rival_words(size=160, *, seed=0):
    """Return texts whose rare label shares most words with a frequent one."""
    generator = np.random.default_rng(seed)
    common = [f"w{at}" for at in range(30)]
    texts, labels = [], []
    for _ in range(size):
        rare = generator.random() < 0.2
        words = generator.choice(common, 8).tolist()
        if rare:
            words[0] = f"w{generator.integers(3)}"
            words[1] = "key" if generator.random() < 0.7 else words[1]
        elif generator.random() < 0.1:
            words[0] = "lock"
        texts.append(" ".join(words))
        labels.append("rare" if rare else "common")
    return texts, labels


def test_the_best_and_the_own_setting_are_also_refined():
    found = search(TEXTS, LABELS, LONG, trials=5)
    plain_ones = [one for one in found.settings if not one.refined]
    refined = [one.parameters for one in found.settings if one.refined]
    wanted = [plain_ones[0].parameters, usual(LONG)]
    assert len(plain_ones) == 5
    assert sorted(map(str, refined)) == sorted({str(one) for one in wanted})


def test_a_grid_without_the_own_setting_refines_the_best_only():
    found = search(TEXTS, LABELS, GRID)
    assert [one.refined for one in found.settings].count(True) == 1


@pytest.mark.parametrize(
    "space", [{"prune": [1, 2]}, {"summary": ["max"]}, {"prune_period": [5, 9]}]
)
def test_settings_that_cannot_be_refined_are_only_counted(space):
    assert not any(one.refined for one in search(TEXTS, LABELS, space, folds=2).settings)


def test_the_model_is_refined_if_that_is_better():
    texts, labels = rival_words()
    found = search(texts, labels, [{"max_ngram": 1}], measure="macro_f1")
    assert found.best.refined
    model = found.model(texts, labels)
    assert model.refinement is not None
    assert model.refinement.texts == len(texts)
    assert (
        found.best.value == by_hand(texts, labels, {"max_ngram": 1}, refine=True, folds=4).macro_f1
    )


def test_of_equals_the_counted_model_is_the_best():
    texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
    found = search(texts, ["tech", "tech", "sports", "sports"] * 5, [{"max_ngram": 1}], folds=2)
    assert [one.value for one in found.settings] == [1.0, 1.0]
    assert not found.best.refined
    assert found.model(texts, ["tech", "tech", "sports", "sports"] * 5).refinement is None


def test_refined_results_are_kept(tmp_path):
    keep = tmp_path / "kept"
    whole = search(TEXTS, LABELS, GRID, keep=keep)

    def refuse(*_: object) -> None:
        raise AssertionError("computed again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("watchword.searching.run.refined_texts", refuse)
        assert plain(search(TEXTS, LABELS, GRID, keep=keep)) == plain(whole)


def test_refinement_is_compared_whatever_the_budget():
    found = search(TEXTS, LABELS, LONG, trials=9, budget=1e-9)
    assert [one.refined for one in found.settings].count(True) == 1


def test_output_tells_refined_settings_apart():
    found = search(TEXTS, LABELS, GRID)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["refined"] for row in rows] == [str(one.refined) for one in found.settings]
    assert str(found).count("; refined") == 1
    data = found.to_dict()
    assert data["varied"] == [*GRID, "refined"]
    assert [one["parameters"]["refined"] for one in data["settings"]].count(True) == 1
    assert "refined" not in counted(TEXTS, LABELS, GRID).to_csv()


def test_a_list_of_settings_is_tried_as_it_is():
    given: list[dict[str, Any]] = [{"smoothness": 0.2}, {"max_ngram": 1, "prune": 1}, {}]
    found = counted(TEXTS, LABELS, given, folds=2)
    full = usual(["smoothness", "max_ngram"]) | {"prune": 0}
    expected = sorted(str(full | one) for one in given)
    assert sorted(str(full | one.parameters) for one in found.settings) == expected
    equal_to_hand(found, TEXTS, LABELS, folds=2)


def test_numbers_of_arrays_can_be_searched_and_written():
    found = counted(TEXTS, LABELS, {"max_ngram": list(np.arange(1, 3))}, folds=2)
    assert json.loads(found.to_json()) == plain(found)


def halved(given, *, folds, measure, sign):
    """Return on how many folds each setting is tried: each fold drops the worse half."""
    every = counted(TEXTS, LABELS, given, folds=folds, measure=measure)
    found = {str(one.parameters): one.evaluation.folds for one in every.settings}
    left = [str(one) for one in given]
    tried = dict.fromkeys(left, 0)
    for rung in range(folds):
        if rung:
            values = {
                name: sign * ww.evaluation.Evaluation.pooled(found[name][:rung]).measure(measure)
                for name in left
            }
            best = sorted(left, key=lambda name: -values[name])[: -(-len(left) // 2)]
            left = [name for name in left if name in best]
        for name in left:
            tried[name] += 1
    return tried


@pytest.mark.parametrize(("measure", "sign"), [("macro_f1", 1), ("hamming", -1)])
def test_halving_drops_the_worse_half_after_each_fold(measure, sign):
    given = all_of({"smoothness": [0.1, 0.3, 0.9], "max_ngram": [1, 2, 3]})
    found = counted(TEXTS, LABELS, given, method="halving", folds=4, measure=measure)
    expected = halved(given, folds=4, measure=measure, sign=sign)
    assert {str(one.parameters): len(one.by_fold) for one in found.settings} == expected
    assert sorted(expected.values()) == [1] * 4 + [2] * 2 + [3] + [4] * 2
    assert len(found.best.by_fold) == 4


def test_halving_of_a_space_draws_like_a_random_search():
    found = counted(TEXTS, LABELS, LONG, method="halving", trials=8, folds=3)
    drawn = counted(TEXTS, LABELS, LONG, method="random", trials=8, folds=3)
    assert {str(one.parameters) for one in found.settings} == {
        str(one.parameters) for one in drawn.settings
    }


def test_kept_results_of_other_folds_do_not_change_halving(tmp_path):
    given = all_of({"smoothness": [0.1, 0.3, 0.9], "max_ngram": [1, 2, 3]})
    counted(TEXTS, LABELS, given, keep=tmp_path / "kept")
    found = counted(TEXTS, LABELS, given, method="halving", keep=tmp_path / "kept")
    assert plain(found) == plain(counted(TEXTS, LABELS, given, method="halving"))


# The order of what was found


@pytest.mark.parametrize("measure", ["accuracy", "macro_f1", "hamming"])
def test_settings_are_sorted_by_value_and_then_by_request_order(measure):
    space: Space = {"smoothness": [0.1, 0.2, 0.4, 0.8], "max_ngram": [1, 2, 3], "alpha": [0, 1e-9]}
    found = counted(TEXTS, LABELS, space, measure=measure)
    sign = 1 if measure == "hamming" else -1
    asked = [str(one) for one in all_of(space)]
    keys = [(sign * one.value, asked.index(str(one.parameters))) for one in found.settings]
    assert keys == sorted(keys)
    assert len({value for value, _ in keys}) < len(keys)  # there are equals
    assert found.best is found.settings[0]
    assert found.better == ("less" if measure == "hamming" else "more")


def tech_recall(found):
    return {one.label: one.recall for one in found.per_label}.get("tech", 0)


def test_a_function_may_be_the_measure():
    found = counted(TEXTS, LABELS, GRID, measure=tech_recall)
    assert found.measure == "tech_recall"
    values = [one.value for one in found.settings]
    assert values == [tech_recall(one.evaluation) for one in found.settings]
    assert values == sorted(values, reverse=True)


def test_nan_is_sorted_last():
    def odd(found):
        return float("nan") if found.accuracy == best else found.accuracy

    best = counted(TEXTS, LABELS, GRID).best.value
    found = counted(TEXTS, LABELS, GRID, measure=odd)
    assert np.isnan(found.settings[-1].value)
    assert not np.isnan(found.best.value)
    assert json.loads(found.to_json())["settings"][-1]["value"] is None


@pytest.mark.parametrize("method", ["random", "halving"])
def test_the_number_of_threads_does_not_change_the_result(method):
    first, *others = (
        counted(TEXTS, LABELS, LONG, method=method, trials=12, threads=threads)
        for threads in (1, 2, 7)
    )
    for other in others:
        assert plain(other) == plain(first)


# Ends


def stop_after(steps, what=KeyboardInterrupt):
    """Return a progress callback that raises an error at step `steps`, by default Ctrl-C's."""

    def progress(items, total):
        del total
        for number, item in enumerate(items):
            if number == steps:
                raise what
            yield item

    return progress


def test_progress_gets_every_setting_and_their_number():
    seen = []

    def progress(items, total):
        seen.append(total)
        for item in items:
            seen.append(item.value)
            yield item

    found = counted(TEXTS, LABELS, GRID, progress=progress)
    assert seen[0] == 4
    assert sorted(seen[1:]) == sorted(one.value for one in found.settings)


def test_progress_of_halving_counts_remaining_settings():
    steps = []

    def progress(items, total):
        steps.append(total)
        for item in items:
            steps.append(item)
            yield item

    counted(TEXTS, LABELS, LONG, method="halving", trials=9, folds=4, progress=progress)
    assert steps[0] == len(steps) - 1 == 9 + 5 + 3 + 2


@pytest.mark.parametrize("method", ["random", "halving"])
def test_interrupted_search_returns_results_so_far(method):
    options = {"method": method, "trials": 8, "folds": 3, "threads": 1}  # not all done by then
    found = counted(TEXTS, LABELS, LONG, progress=stop_after(3), **options)
    whole = counted(TEXTS, LABELS, LONG, **options)
    assert found.interrupted
    assert not whole.interrupted
    assert 3 <= len(found.settings) < 8
    assert found.unfinished == 8 - len(found.settings)
    known = {str(one.parameters): one.by_fold for one in whole.settings}
    for one in found.settings:
        assert known[str(one.parameters)][: len(one.by_fold)] == one.by_fold


def test_an_interrupt_before_the_first_result_is_raised():
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted(TEXTS, LABELS, GRID, progress=interrupted)


def test_errors_of_a_progress_callback_are_raised():
    with pytest.raises(OSError, match="disk"):
        counted(TEXTS, LABELS, GRID, progress=stop_after(1, OSError("disk")))


def test_an_interrupted_search_resumes_from_kept_results(tmp_path):
    keep = tmp_path / "kept"
    for steps in (1, 2, 4):
        counted(TEXTS, LABELS, LONG, trials=8, keep=keep, progress=stop_after(steps))
    found = counted(TEXTS, LABELS, LONG, trials=8, keep=keep)
    assert plain(found) == plain(counted(TEXTS, LABELS, LONG, trials=8))


def test_settings_are_compared_on_the_same_folds(tmp_path):
    keep = tmp_path / "kept"
    options = {"trials": 8, "folds": 3, "threads": 1, "keep": keep}
    whole = counted(TEXTS, LABELS, LONG, **options)
    databases.change(keep, "DELETE FROM results WHERE fold = 0")
    found = counted(TEXTS, LABELS, LONG, progress=stop_after(0), **options)
    known = {str(one.parameters): one.by_fold for one in whole.settings}
    assert 1 <= len(found.settings) < 8
    assert all(one.by_fold == known[str(one.parameters)] for one in found.settings)
    assert plain(counted(TEXTS, LABELS, LONG, **options)) == plain(whole)


@pytest.mark.parametrize("method", ["random", "halving"])
@pytest.mark.parametrize("late_after", [1, 3, 9, 11])
def test_the_budget_ends_the_search(method, late_after, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    for module in ("searcher", "run"):
        monkeypatch.setattr(f"watchword.searching.{module}.time", clock)

    def progress(items, total):
        del total
        for number, item in enumerate(items, 1):
            now[0] = 100.0 if number >= late_after else 0.0
            yield item

    options = {"method": method, "trials": 10, "folds": 3, "threads": 1}
    found = counted(TEXTS, LABELS, LONG, budget="5s", progress=progress, **options)
    assert found.settings
    assert not found.interrupted
    whole = counted(TEXTS, LABELS, LONG, **options)
    if late_after < 5:
        assert found.unfinished > 0
    known = {str(one.parameters): one.by_fold for one in whole.settings}
    for one in found.settings:
        shared = min(len(one.by_fold), len(known[str(one.parameters)]))
        assert known[str(one.parameters)][:shared] == one.by_fold[:shared]


@pytest.mark.parametrize("method", ["random", "halving"])
def test_the_settings_of_the_model_are_tried_whatever_the_budget(method):
    found = counted(TEXTS, LABELS, LONG, method=method, trials=9, budget=1e-9)
    assert [one.parameters for one in found.settings] == [usual(LONG)]
    assert found.unfinished == 8


def test_a_sufficient_budget_does_not_change_the_result():
    for method in ("random", "halving"):
        found = counted(TEXTS, LABELS, LONG, method=method, trials=6, budget="1h")
        assert plain(found) == plain(counted(TEXTS, LABELS, LONG, method=method, trials=6))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(30, 30), (0.5, 0.5), ("30", 30), ("30s", 30), (" 2 m ", 120), ("2min", 120), ("1.5h", 5400)],
)
def test_budgets_are_parsed(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("time", "error"),
    [(0, ValueError), (-1, ValueError), ("", ValueError), ("s", ValueError), ("1d", ValueError),
     ("0s", ValueError), (float("inf"), ValueError), (float("nan"), ValueError),
     (True, TypeError), (None, TypeError), ([1], TypeError)],
)  # fmt: skip
def test_invalid_budgets_are_refused(time, error):
    with pytest.raises(error, match="budget must"):
        seconds_of(time)


# Models


@pytest.mark.parametrize(
    "space", [GRID, {"prune": [1], "max_ngram": [2]}, {"counting": ["documents"]}]
)
def test_the_model_of_a_search_is_the_one_taught_by_hand(space):
    found = counted(TEXTS, LABELS, space, model=TauSS3(word_hook=shorten), folds=2)
    chosen = dict(found.best.parameters)
    floor = chosen.pop("prune", 0)
    model = TauSS3(word_hook=shorten, **chosen)
    model.learn_many(TEXTS, LABELS)
    if floor:
        model.prune(floor)
    assert found.model(TEXTS, LABELS).fingerprint == model.fingerprint
    assert found.model(TEXTS, LABELS).parameters == model.parameters


def test_the_model_of_several_labels_learns_each_text_under_all_of_them():
    texts, labels, _ = MANY
    found = counted(texts, labels, GRID, folds=2)
    model = TauSS3(**found.best.parameters)
    for text, own in zip(texts, labels, strict=True):
        for label in sorted(own):
            model.learn_one(text, label)
    assert found.model(texts, labels).fingerprint == model.fingerprint


def test_tuned_gives_the_model_of_the_best_setting():
    space: Space = {"max_ngram": [1, 2], "smoothness": [0.2, 0.5]}
    options: dict[str, Any] = {"folds": 3, "measure": "macro_f1", "groups": GROUPS, "seed": 2}
    model = TauSS3.tuned(TEXTS, LABELS, space=space, budget="1h", prior=1.5, **options)
    found = search_within("1h", TEXTS, LABELS, space, model=TauSS3(prior=1.5), **options)
    assert len([one for one in found.settings if not one.refined]) == 5  # with the model's own
    assert model.fingerprint == found.model(TEXTS, LABELS).fingerprint
    assert model.parameters["prior"] == 1.5
    own = by_hand(TEXTS, LABELS, {"prior": 1.5}, folds=3, groups=GROUPS, seed=2)
    assert found.best.value >= own.macro_f1


def test_tuned_with_trials_does_not_depend_on_the_time():
    options: dict[str, Any] = {"folds": 2, "trials": 6, "seed": 3}
    models = [TauSS3.tuned(TEXTS, LABELS, budget=budget, **options) for budget in (None, "1h")]
    found = search(TEXTS, LABELS, **options)
    expected = found.model(TEXTS, LABELS).fingerprint
    assert [model.fingerprint for model in models] == [expected] * 2


def test_a_search_that_found_nothing_has_no_best():
    found = counted(TEXTS, LABELS, GRID)
    with pytest.raises(ValueError, match="no setting was tried: increase the budget"):
        assert replace(found, settings=()).best


# As text and files


def test_text_and_csv_have_a_line_per_setting():
    found = counted(TEXTS, LABELS, GRID, measure="macro_f1")
    lines = str(found).splitlines()
    assert lines[0].split() == ["macro_f1", "setting"]
    best = found.best
    own = ", ".join(f"{name}={value!r}" for name, value in best.parameters.items())
    assert lines[1] == f"{best.value:10.4f}  {own}"
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["macro_f1"] for row in rows] == [str(one.value) for one in found.settings]
    assert list(rows[0]) == ["smoothness", "max_ngram", "macro_f1", "folds"]


def test_the_text_names_unfinished_settings():
    found = counted(TEXTS, LABELS, LONG, trials=14, progress=stop_after(11), threads=1)
    assert f"and {len(found.settings) - 10} more" in str(found)
    for unfinished, text in ((1, "1 setting was"), (2, "2 settings were")):
        shown = str(replace(found, unfinished=unfinished)).splitlines()
        assert shown[-1] == f"{text} not reached"


# Bad arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"space": {}}, ValueError, "the space to search must not be empty"),
        ({"space": []}, ValueError, "there are no settings to try"),
        ({"space": "max_ngram"}, TypeError, "space must map names to values, or be a list"),
        ({"space": 3}, TypeError, "space must map names to values, or be a list"),
        ({"space": [3]}, TypeError, "a setting must map names to values, got 3"),
        ({"space": [{"sigma": 1}]}, ValueError, "'sigma' cannot be searched; use one of"),
        ({"space": [{"default_label": "x"}]}, ValueError, "'default_label' cannot be searched"),
        ({"space": [{"max_ngram": 1}], "trials": 3}, ValueError, "omit trials"),
        ({"space": [{"max_ngram": 1}], "method": "random"}, ValueError, "omit trials"),
        ({"space": LONG, "method": "grid"}, ValueError, "is a range: a grid needs a list"),
        ({"space": GRID, "method": "grid", "trials": 3}, ValueError, "trials need a random search"),
        ({"method": "best"}, ValueError, "method must be one of 'grid', 'random', 'halving'"),
        ({"space": [{}], "method": "best"}, ValueError, "method must be one of|omit trials"),
        ({"trials": 0}, ValueError, "trials must be at least 1, got 0"),
        ({"measure": "luck"}, ValueError, "measure must be a function or one of 'accuracy'"),
        ({"measure": lambda _: None}, TypeError, "must return a number, got None"),
        ({"folds": 1}, ValueError, "folds must be at least 2, got 1"),
        ({"repeats": 0}, ValueError, "repeats must be at least 1, got 0"),
        ({"groups": ["a"]}, ValueError, "48 labels but 1 groups"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"budget": "soon"}, ValueError, "budget must look like '30s'"),
        ({"threads": 0}, ValueError, "threads must be at least 1, got 0"),
        ({"model": 3}, TypeError, "model must be a TauSS3, got int"),
        ({"model": TauSS3(summary=np.sum)}, ValueError, "does not support user-defined"),
        ({"model": TauSS3(default_label="x")}, UnknownLabelError, "unknown label 'x'.*no text has"),
        (
            {"labels": [[]] * 47 + [["x"]]},
            EmptyModelError,
            "a fold leaves no text with a label to learn",
        ),
        ({"labels": LABELS[1:]}, ValueError, "48 texts but 47 labels"),
        ({"texts": "text"}, TypeError, "expected many texts, got a single string"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, error, message):
    given = {"texts": TEXTS, "labels": LABELS, "space": {"max_ngram": [1]}} | arguments
    if arguments.keys() & {"method", "trials"} and "space" not in arguments:
        given["space"] = LONG
    with pytest.raises(error, match=message) as raised:
        counted(given.pop("texts"), given.pop("labels"), given.pop("space"), **given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("space", [{"smoothness": 0.3}, [{"smoothness": 0.3}], {}])
def test_tuned_rejects_an_invalid_space(space):
    with pytest.raises((ValueError, TypeError), match="space"):
        TauSS3.tuned(TEXTS, LABELS, space=space, budget=1)
