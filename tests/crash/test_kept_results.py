"""Kept results of searches: computed once, never lost, never mixed up."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import databases
from search_samples import sample
from watchword import TauSS3
from watchword import search as search_and_refine
from watchword.erisk.journal import Journal, JournalIdentity
from watchword.errors import StateError
from watchword.searching import result, run
from watchword.searching.result import KeptResults, is_fold_result

TEXTS, LABELS, GROUPS = sample()
GRID: dict[str, list[Any]] = {"smoothness": [0.2, 0.6], "max_ngram": [1, 3]}

search = partial(search_and_refine, refine=False)


@pytest.fixture
def keep(tmp_path):
    return tmp_path / "kept"


@pytest.fixture
def computed(monkeypatch):
    """Collect the computed pairs of setting and fold."""
    calls = []
    judge = run.Run._judge

    def counted(self, trails, at, fold):
        calls.append((self.key(at), fold))
        return judge(self, trails, at, fold)

    monkeypatch.setattr(run.Run, "_judge", counted)
    return calls


def results(path, digest="d"):
    with KeptResults.open(path, digest) as kept:
        return dict(kept._known)


def fill(path, count, digest="d"):
    with KeptResults.open(path, digest) as kept:
        for fold in range(count):
            kept.add("s", fold, {"confusion": [[0, 0, fold]]})


# The file


def test_added_results_are_read_back(keep):
    fill(keep, 3)
    assert results(keep) == {("s", fold): {"confusion": [[0, 0, fold]]} for fold in range(3)}


def test_added_results_are_durable_at_once(keep, tmp_path):
    with KeptResults.open(keep, "d") as kept:
        kept.add("s", 0, {"right": 1})
        for part in ("kept", "kept-wal"):
            shutil.copy(keep.with_name(part), tmp_path / f"copy of {part}")
    assert results(tmp_path / "copy of kept") == {("s", 0): {"right": 1}}


def test_without_a_file_results_are_in_memory():
    with KeptResults.open(None, "d") as kept:
        kept.add("s", 0, 1)
        assert kept.get("s", 0) == 1
        assert kept.get("s", 1) is None


def test_a_file_is_readable_by_its_owner_only(keep):
    fill(keep, 1)
    assert keep.stat().st_mode & 0o777 == 0o600


def test_one_file_may_hold_results_of_many_data_sets(keep):
    fill(keep, 2, "d")
    fill(keep, 3, "other")
    assert len(results(keep, "d")) == 2
    assert len(results(keep, "other")) == 3
    assert results(keep, "third") == {}


def test_a_damaged_result_is_treated_as_missing(keep, tmp_path):
    fill(keep, 3)
    whole, damaged = keep.read_bytes(), tmp_path / "damaged"
    expected, found, refused = results(keep), [], 0
    start = whole.index(b"confusion") - 100
    for place in range(start, whole.rindex(b"confusion") + 10):
        data = bytearray(whole)
        data[place] ^= 4
        damaged.write_bytes(data)
        try:
            found.append(results(damaged))
        except StateError:
            refused += 1
    assert all(one.items() <= expected.items() for one in found)
    assert any(len(one) == 2 for one in found)
    assert refused > 0


def test_a_truncated_file_is_refused_and_unchanged(keep):
    fill(keep, 30)
    whole = keep.read_bytes()
    for size in range(100, len(whole), 997):
        keep.write_bytes(whole[:size])
        with pytest.raises(
            StateError, match=r"is damaged .*: restore a copy of it, or use another file"
        ):
            results(keep)
        assert keep.read_bytes() == whole[:size]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 2_000 + "]" * 2_000,
        '{"a":' * 20_000 + "0" + "}" * 20_000,
        '{"confusion": [[0, 0, %s]]}' % ("9" * 5_000),
        "1e999",
        "NaN",
        "[]",
        "",
        "\0",
        "{",
    ],
    ids=range(10),
)
def test_an_invalid_result_with_a_valid_checksum_is_ignored(keep, text):
    fill(keep, 1)
    row = ("d", "s", 1, text, result._checksum("d", "s", 1, text))
    databases.change(keep, "INSERT INTO results VALUES (?, ?, ?, ?, ?)", *row)
    with KeptResults.open(keep, "d", is_sound=lambda result: isinstance(result, dict)) as kept:
        assert list(kept._known) == [("s", 0)]
        kept.add("s", 1, {"confusion": []})
    assert results(keep)["s", 1] == {"confusion": []}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("fold", value) for value in ("x", 0.5, b"")),
        ("setting", b"s"),
        ("result", b"{}"),
        ("checksum", "x"),
        ("digest", b"d"),
    ],
)
def test_a_row_with_wrong_types_is_corrupt(keep, column, value):
    fill(keep, 1)
    databases.change(keep, f"UPDATE results SET {column} = ?", value)
    with pytest.raises(StateError, match="is damaged"):
        results(keep)


SOUND: dict[bool, dict[str, Any]] = {
    False: {"confusion": [[0, 1, 3], [1, 1, 2]]},
    True: {"texts": 3, "right": 1, "per_label": [[1, 1, 1], [2, 2, 0]]},
}
UNSOUND: dict[bool, list[Any]] = {
    False: [
        None,
        [],
        {},
        SOUND[True],
        SOUND[False] | {"texts": 1},
        *(
            {"confusion": rows}
            for rows in (None, {}, [[]], [None], [[0, 0]], [[0, 2, 1]], [[-1, 0, 1]], [[0, 0, -1]],
                         [[0, 0, 1.0]], [[0, 0, True]], [[0, 0, 2**63]], [[0, 0, []]])
        ),
    ],
    True: [
        None,
        SOUND[False],
        *(SOUND[True] | {"texts": value} for value in (None, -1, "1", 2**63, 1.5)),
        *(SOUND[True] | {"per_label": rows} for rows in (None, [], [[1, 1, 1]], [[1, 1], [1, 1]])),
    ],
}  # fmt: skip


@pytest.mark.parametrize("several", [False, True])
def test_impossible_results_are_recognised(several):
    assert is_fold_result(SOUND[several], labels=2, several=several)
    for unsound in UNSOUND[several]:
        assert not is_fold_result(unsound, labels=2, several=several), unsound


def test_an_impossible_result_is_computed_again(keep, computed):
    first = search(TEXTS, LABELS, GRID, groups=GROUPS, keep=keep)
    query = "SELECT digest, setting, fold FROM results LIMIT 1"
    [(digest, setting, fold)] = databases.rows(keep, query)
    text = '{"confusion":[[7,7,1]]}'
    update = "UPDATE results SET result = ?, checksum = ? WHERE setting = ? AND fold = ?"
    checksum = result._checksum(digest, setting, fold, text)
    databases.change(keep, update, text, checksum, setting, fold)
    computed.clear()
    again = search(TEXTS, LABELS, GRID, groups=GROUPS, keep=keep)
    assert computed == [(setting, fold)]
    assert [one.value for one in again.settings] == [one.value for one in first.settings]


def test_a_journal_is_refused_as_a_file_of_results(keep):
    with Journal.open(keep, JournalIdentity("http://127.0.0.1:9", "token", ("one",))):
        pass
    before = keep.read_bytes()
    with pytest.raises(StateError, match="is not a file of search results"):
        results(keep)
    assert keep.read_bytes() == before


def test_a_model_is_refused_as_a_file_of_results(keep):
    TauSS3().save(keep)
    before = keep.read_bytes()
    with pytest.raises(StateError, match="is not a file of search results"):
        search(TEXTS, LABELS, GRID, keep=keep)
    assert keep.read_bytes() == before


def test_a_second_process_is_refused(keep):
    program = (
        "import sys; from watchword.searching.result import KeptResults\n"
        "with KeptResults.open(sys.argv[1], 'd'):\n"
        "    print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(keep)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StateError, match="in use by another process: wait"):
            search(TEXTS, LABELS, GRID, keep=keep)
        other.stdin.close()
    assert len(search(TEXTS, LABELS, GRID, keep=keep).settings) == 4


# What is computed again


def test_repeating_a_search_computes_nothing(keep, computed):
    first = search(TEXTS, LABELS, GRID, folds=3, keep=keep)
    assert len(computed) == len(set(computed)) == 4 * 3
    computed.clear()
    again = search(TEXTS, LABELS, GRID, folds=3, keep=keep, measure="macro_f1")
    assert not computed
    assert again.to_dict() == search(TEXTS, LABELS, GRID, folds=3, measure="macro_f1").to_dict()
    assert first.measure == "accuracy"


def test_a_larger_search_computes_only_new_settings(keep, computed):
    search(TEXTS, LABELS, GRID, folds=3, keep=keep)
    computed.clear()
    larger = GRID | {"smoothness": [0.2, 0.4, 0.6]}
    found = search(TEXTS, LABELS, larger, folds=3, keep=keep)
    assert len(computed) == 2 * 3
    assert found.to_dict() == search(TEXTS, LABELS, larger, folds=3).to_dict()


def test_more_trials_compute_only_the_new_ones(keep, computed):
    search(TEXTS, LABELS, trials=4, folds=2, keep=keep)
    computed.clear()
    search(TEXTS, LABELS, trials=7, folds=2, keep=keep)
    assert len(computed) == 3 * 2


def test_kept_results_count_even_after_the_budget_is_used_up(keep):
    known = search(TEXTS, LABELS, trials=5, keep=keep)
    found = search(TEXTS, LABELS, trials=9, keep=keep, budget=1e-9)
    assert len(found.settings) == 5
    assert found.unfinished == 4
    assert [one.value for one in found.settings] == [one.value for one in known.settings]


def test_equal_settings_written_differently_share_results(keep, computed):
    search(TEXTS, LABELS, [{"sanction": 1, "summary": "max"}], folds=2, keep=keep)
    computed.clear()
    levels = dict.fromkeys(("sentence", "paragraph", "document"), "max")
    search(TEXTS, LABELS, [{"sanction": 1.0, "summary": levels, "prune": 0}], folds=2, keep=keep)
    assert not computed


def cut(word):
    return word[:3]


def same_name(word):
    return word[:4]


same_name.__name__ = same_name.__qualname__ = "cut"


def other_text():
    return {"texts": [TEXTS[0] + " more", *TEXTS[1:]]}


@pytest.mark.parametrize(
    "change",
    [
        other_text(),
        {"texts": TEXTS[::-1], "labels": LABELS[::-1]},
        {"labels": [LABELS[1], LABELS[0], *LABELS[2:]]},
        {"labels": [[label] for label in LABELS]},
        {"labels": [sorted(set(LABELS)).index(label) for label in LABELS]},
        {"seed": 1},
        {"folds": 4},
        {"repeats": 2},
        {"groups": GROUPS},
        {"model": TauSS3(word_hook=cut)},
        {"model": TauSS3(prior=1)},
        {"model": TauSS3(default_label="food")},
        {"model": TauSS3(counting="documents", sanction=2)},
        {"model": TauSS3(counting="occurrences", sanction=2)},
    ],
    ids=lambda change: " ".join(change),
)
def test_a_change_that_may_affect_results_computes_again(keep, computed, change):
    usual = {"texts": TEXTS, "labels": LABELS, "folds": 3}

    def searched(keep, texts, labels, **options):
        return search(texts, labels, GRID, keep=keep, **options)

    searched(keep, **usual)
    computed.clear()
    found = searched(keep, **(usual | change))
    assert len(computed) == 4 * found.folds
    assert found.to_dict() == searched(None, **(usual | change)).to_dict()


def test_hooks_of_the_same_name_are_distinguished_by_their_code(keep, computed):
    search(TEXTS, LABELS, GRID, keep=keep, model=TauSS3(word_hook=cut))
    computed.clear()
    other = TauSS3(word_hook=same_name)
    found = search(TEXTS, LABELS, GRID, keep=keep, model=other)
    assert len(computed) == 4 * 4
    assert found.to_dict() == search(TEXTS, LABELS, GRID, model=other).to_dict()


def test_another_version_computes_again(keep, computed, monkeypatch):
    search(TEXTS, LABELS, GRID, keep=keep)
    computed.clear()
    monkeypatch.setattr(result, "_program", lambda: "another")
    search(TEXTS, LABELS, GRID, keep=keep)
    assert len(computed) == 4 * 4


def test_texts_that_are_not_valid_unicode_can_be_kept(keep, computed):
    texts = ["\ud800 odd", *TEXTS[1:]]
    search(texts, LABELS, GRID, keep=keep)
    computed.clear()
    search(texts, LABELS, GRID, keep=keep)
    assert not computed


# Killed and interrupted


class Searches:
    """A process that runs searches, which tests stop at any time."""

    def __init__(self, process):
        self._process = process

    def run(self, method, keep, *, trials=80, number=None, delay=0.0):
        order = {"method": method, "trials": trials, "keep": str(keep)}
        order |= {"signal": number, "delay": delay}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def searches():
    program = Path(__file__).parents[1] / "support" / "search_killable.py"
    path = os.pathsep.join([str(program.parent), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        yield Searches(process)
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("method", ["random", "halving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_a_search_stopped_at_random_and_resumed_finds_the_same(searches, tmp_path, method, number):
    keep = tmp_path / "kept"
    expected = searches.run(method, tmp_path / "whole")["said"]["table"]
    generator = random.Random(f"{method} {number}")
    for _ in range(12):
        told = searches.run(method, keep, number=number, delay=generator.uniform(0, 0.15))
        if number == signal.SIGKILL:
            assert told["code"] in (0, -signal.SIGKILL)
        else:
            assert told["code"] in (0, 130)
        if told["said"] and not told["said"]["interrupted"]:
            break
    assert searches.run(method, keep)["said"] == {"table": expected, "interrupted": False}
