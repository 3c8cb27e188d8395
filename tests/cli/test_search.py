"""search, and train --tune."""

import contextlib
import csv
import io
import json
import os
import signal
import time

import pytest

import databases
import watchword as ww
from command_line import call, failure, records, run_on_terminal, started, write_lines
from watchword import Between
from watchword.cli.commands.search import _best_so_far
from watchword.cli.evaluation_options import _space
from watchword.data import write_jsonl
from watchword.searching.searcher import search_within
from watchword.searching.space import DEFAULT_SPACE

PEOPLE = ww.make_risk_streams(24, seed=3, prevalence=0.25, posts_per_subject=(4, 8))

posix = pytest.mark.skipif(os.name == "nt", reason="needs signals and terminals")


def columns(people):
    posts = [(post.content, one.label, one.id) for one in people for post in one.posts]
    return [list(column) for column in zip(*posts, strict=True)]


TEXTS, LABELS, WRITERS = columns(PEOPLE)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl("people.jsonl", PEOPLE)
    lines = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    write_lines(tmp_path / "texts.jsonl", lines)
    return tmp_path


GRID = ("--try", "smoothness=0.2,0.5", "--try", "max-ngram=1..2")
SPACE = {"smoothness": [0.2, 0.5], "max_ngram": [1, 2]}


def expected(space, **options):
    return ww.search(TEXTS, LABELS, space, **({"groups": WRITERS} | options))


# What it finds


def test_search_equals_python_and_groups_by_subject():
    options = ("--folds", 3, "--repeats", 2, "--seed", 5, "--measure", "macro_f1")
    [told] = records("search", "people.jsonl", *GRID, *options)
    found = expected(SPACE, folds=3, repeats=2, seed=5, measure="macro_f1")
    assert told == {
        "macro_f1": found.best.value,
        "by_fold": list(found.best.by_fold),
        "parameters": found.best.parameters,
        "refined": found.best.refined,
        "tried": 5,  # one of them refined
        "unfinished": 0,
        "texts": len(TEXTS),
        "folds": 6,
        "groups": len(PEOPLE),
    }


def test_texts_without_subject_are_their_own_group():
    [told] = records("search", "texts.jsonl", *GRID)
    assert told["groups"] is None
    assert told["accuracy"] == expected(SPACE, groups=None).best.value


def test_texts_can_be_grouped_by_any_field(here):
    pairs = zip(TEXTS, LABELS, WRITERS, strict=True)
    lines = [{"text": text, "label": label, "author": who} for text, label, who in pairs]
    write_lines(here / "authors.jsonl", lines)
    [told] = records("search", "authors.jsonl", "--group", "author", *GRID)
    assert told == records("search", "people.jsonl", *GRID)[0]


def test_search_uses_the_default_space():
    [told] = records("search", "people.jsonl", "--trials", 5)
    assert list(told["parameters"])[: len(DEFAULT_SPACE)] == list(DEFAULT_SPACE)
    assert told["accuracy"] == expected(None, trials=5).best.value


def test_ranges_are_drawn_from():
    trials = ("--trials", 6, "--no-refine")
    [told] = records("search", "people.jsonl", "--try", "prior=0.1..10", *trials)
    found = expected({"prior": Between(0.1, 10)}, trials=6, refine=False)
    assert told["parameters"] == found.best.parameters
    assert told["tried"] == 6


def test_halving_is_a_method(here):
    chosen = ("--method", "halving", "--trials", 6, "--json", "all.json")
    records("search", "people.jsonl", "--try", "prior=0.1..10", *chosen)
    found = expected({"prior": Between(0.1, 10)}, method="halving", trials=6)
    assert json.loads((here / "all.json").read_text()) == found.to_dict()


def test_fixed_parameters_come_from_options_or_model():
    ww.TauSS3(prior=2.0, significance=0.5, default_label="control").save("other.ww")
    [told] = records("search", "people.jsonl", *GRID, "--like", "other.ww", "--prior", 1)
    model = ww.TauSS3(prior=1, significance=0.5, default_label="control")
    assert told["accuracy"] == expected(SPACE, model=model).best.value
    for begin in (ww.TauSS3.paper, ww.TauSS3.pyss3):
        [told] = records("search", "people.jsonl", *GRID, f"--{begin.__name__}")
        assert told["accuracy"] == expected(SPACE, model=begin()).best.value


def test_a_default_label_may_be_a_number(here):
    lines = [{"text": text, "label": at % 2} for at, text in enumerate(TEXTS)]
    write_lines(here / "numbers.jsonl", lines)
    assert records("search", "numbers.jsonl", *GRID, "--default-label", 1)


def test_budget_without_trials_uses_all_the_time(monkeypatch):
    asked = []

    def within(budget, texts, labels, space, **options):
        asked.append(budget)
        return ww.search(texts, labels, space, trials=3, **options)

    monkeypatch.setattr("watchword.cli.commands.search.search_within", within)
    timed = ("search", "people.jsonl", "--no-refine", "--budget", "2m")
    assert records(*timed)[0]["tried"] == 3
    assert asked == [120]
    assert records(*timed, *GRID)[0]["tried"] == 4
    assert records(*timed, "--trials", 2)[0]["tried"] == 2
    assert asked == [120]


# What it writes


def test_search_as_a_table():
    shown = call("search", "people.jsonl", *GRID, "--table").stdout
    assert shown == f"{expected(SPACE)}\n"


def test_search_writes_files(here):
    names = ("--json", "all.json", "--csv", "all.csv", "--html", "page.html")
    records("search", "people.jsonl", *GRID, *names)
    found = expected(SPACE)
    assert json.loads((here / "all.json").read_text()) == found.to_dict()
    assert (here / "all.csv").read_text() == found.to_csv()
    assert (here / "page.html").read_text().startswith("<!doctype html>")


def test_search_writes_to_standard_output():
    shown = call("search", "people.jsonl", *GRID, "--csv", "-").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [row["accuracy"] for row in rows] == [str(one.value) for one in expected(SPACE).settings]


def test_best_model_is_trained_on_all_texts():
    [told] = records("search", "people.jsonl", *GRID, "--try", "prune=0,1", "-o", "best.ww")
    assert told["model"] == "best.ww"
    found = expected(SPACE | {"prune": [0, 1]})
    assert ww.TauSS3.load("best.ww").fingerprint == found.model(TEXTS, LABELS).fingerprint


def test_kept_results_are_reused(here):
    [first] = records("search", "people.jsonl", *GRID, "--keep", "kept")
    before = kept(here)
    assert records("search", "people.jsonl", *GRID, "--keep", "kept") == [first]
    assert kept(here) == before
    records("search", "people.jsonl", "--try", "smoothness=0.3", "--keep", "kept")
    assert len(kept(here)) > len(before)


def kept(here):
    return databases.rows(here / "kept", "SELECT * FROM results")


# What to try, in words


@pytest.mark.parametrize(
    ("written", "space"),
    [
        (["smoothness=0.1,0.2"], {"smoothness": [0.1, 0.2]}),
        (["max-ngram=1", "reading= paper , words_sum"],
         {"max_ngram": [1], "reading": ["paper", "words_sum"]}),
        (["max_ngram=1..3"], {"max_ngram": [1, 2, 3]}),
        (["prune=0..2"], {"prune": [0, 1, 2]}),
        (["prior=0.1..10"], {"prior": Between(0.1, 10)}),
        (["prior=0..10"], {"prior": Between(0, 10, log=False)}),
        (["significance=1e-3 .. .5"], {"significance": Between(0.001, 0.5)}),
        (["summary=sum,max"], {"summary": ["sum", "max"]}),
        (["summary=sentence=max"], {"summary": [{"sentence": "max"}]}),
        ([], None),
    ],
)  # fmt: skip
def test_try_accepts_lists_and_ranges(written, space):
    assert _space(written) == space


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("smoothness", "'smoothness' is not like smoothness=0.1,0.2"),
        ("=1", "'=1' is not like"),
        ("smoothness=", "'smoothness=' is not like"),
        ("sigma=1", "unknown parameter 'sigma' (known: smoothness, "),
        ("default_label=x", "unknown parameter 'default_label'"),
        ("smoothness=high", "'high' is not a number"),
        ("smoothness=0.1,,0.2", "'' is not a number"),
        ("max_ngram=1.5", "'1.5' is not a whole number"),
        ("smoothness=0.5,3", "smoothness must be in (0, 1], got 3"),
        ("smoothness=0.5..3", "smoothness must be in (0, 1], got 3"),
        ("smoothness=0.5..0.1", "smoothness=0.5..0.1: low must be less than high"),
        ("max_ngram=3..1", "max_ngram=3..1 must be an increasing range"),
        ("min_count=1..100000", "must be an increasing range of at most 1000"),
        ("reading=backwards", "'backwards' is not one of paper, words_sum"),
        ("reading=paper..words_sum", "is not one of paper, words_sum"),
    ],
)
def test_try_errors(written, message):
    said = failure("search", "people.jsonl", "--try", written, code=2)
    assert "Invalid value for '--try'" in said
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Missing argument 'DATA...'"),
        (["no.jsonl"], 1, "no.jsonl: No such file"),
        (["empty.jsonl"], 1, "there are no texts with labels in it"),
        (["few.jsonl"], 1, "4 folds need at least 4 texts, got 1"),
        (
            ["people.jsonl", "--group", "label"],
            1,
            "4 folds need at least 4 values of the field 'label', got 2",
        ),
        (["few.jsonl", "--group", "author"], 2, "no text has the field 'author' of --group"),
        (["people.jsonl", "--folds", "1"], 2, "Invalid value for '--folds'"),
        (["people.jsonl", "--folds", "99"], 1, "99 folds need at least 99 subjects, got 24"),
        (["people.jsonl", "--trials", "0"], 2, "Invalid value for '--trials'"),
        (
            ["people.jsonl", "--budget", "soon"],
            2,
            "'--budget': must look like '30s', '5m'",
        ),
        (["people.jsonl", "--measure", "luck"], 2, "Invalid value for '--measure'"),
        (["people.jsonl", "--method", "luck"], 2, "Invalid value for '--method'"),
        (["people.jsonl", "--method", "grid"], 1, "is a range: a grid needs a list"),
        (
            ["people.jsonl", "--try", "alpha=0", "--try", "alpha=1"],
            2,
            "duplicate parameter 'alpha'",
        ),
        (
            ["people.jsonl", *GRID, "--method", "grid", "--trials", "3"],
            1,
            "trials need a random search",
        ),
        (["people.jsonl", "--like", "no.ww"], 1, "no.ww: No such file"),
        (["people.jsonl", "--like", "no.ww", "--paper"], 2, "cannot be used together"),
        (["people.jsonl", "--default-label", "x"], 1, "unknown label 'x'; the data has"),
        (["people.jsonl", "--keep", "people.jsonl"], 2, "the command reads it as DATA"),
        (["people.jsonl", "--keep", "few.jsonl"], 1, "is not a file of search results"),
        (["people.jsonl", "--keep", "no/kept"], 2, "folder 'no' does not exist"),
        (["people.jsonl", "--html", "no/x"], 2, "folder 'no' does not exist"),
        (["people.jsonl", "-o", "no/x"], 2, "folder 'no' does not exist"),
    ],
)
def test_search_errors(here, arguments, code, message):
    (here / "empty.jsonl").write_text("")
    write_lines(here / "few.jsonl", [{"text": "a", "label": "b"}])
    before = (here / "people.jsonl").read_bytes()
    assert message in failure("search", *arguments, code=code)
    assert (here / "people.jsonl").read_bytes() == before


# Interrupted, and on a terminal


def interrupted(path, *arguments):
    """Return the output of a command interrupted once the file has its first results."""
    with started(*arguments, "--keep", path) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError):
                if path.with_name(f"{path.name}-wal").stat().st_size > 10 * 4096:
                    break  # pages of 4096 bytes, and one or more for each result
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    return process.returncode, output.decode(), errors.decode()


@posix
def test_interrupted_search_prints_and_writes_its_results(here):
    files = ("--json", "all.json", "-o", "best.ww", "--trials", "9000")
    code, output, errors = interrupted(here / "kept", "search", "people.jsonl", *files)
    assert code == 130
    told = json.loads(output)
    assert 0 < told["tried"] < 9000
    assert told["unfinished"] == 9000 - told["tried"]
    assert errors == (
        f"interrupted after {told['tried']} of 9000 settings; "
        f"run the same command to resume from '{here / 'kept'}'\n"
    )
    assert len(json.loads((here / "all.json").read_text())["settings"]) == told["tried"]
    chosen = ww.TauSS3.load("best.ww").parameters
    assert {name: chosen[name] for name in told["parameters"]} == told["parameters"]


@posix
def test_interrupted_tuning_trains_the_best_so_far(here):
    tune = ("train", "people.jsonl", "-o", "best.ww", "--tune", "--budget", "5m")
    code, output, errors = interrupted(here / "kept", *tune)
    assert code == 130
    told = json.loads(output)
    assert f"interrupted after {told['tried']} settings; run the same command to resume" in errors
    assert ww.TauSS3.load("best.ww").parameters["prior"] == told["parameters"]["prior"]


def stop_at_once(items, total):
    del total
    yield next(iter(items))
    raise KeyboardInterrupt


def test_interrupted_search_suggests_keep(monkeypatch):
    monkeypatch.setattr("watchword.cli.commands.search.progress_of", lambda *_, **__: stop_at_once)
    done = call("search", "people.jsonl", "--trials", 500)
    assert done.exit_code == 130
    assert done.stderr.endswith("use --keep FILE to be able to resume\n")
    assert json.loads(done.stdout)["tried"] < 500


@posix
def test_a_terminal_shows_the_best_so_far():
    code, seen = run_on_terminal("search", "people.jsonl", "--trials", 30)
    assert code == 0
    assert "best accuracy so far: 0." in seen


@pytest.mark.parametrize("measure", ["accuracy", "hamming"])
def test_the_best_so_far_never_gets_worse(measure):
    found = expected({"smoothness": [0.1, 0.5, 0.9], "max_ngram": [1, 2, 3]}, measure=measure)
    tell = _best_so_far(measure)
    values = [tell(one).split()[-1] for one in [*found.settings[::-1], *found.settings]]
    assert values[-1] == f"{found.best.value:.4f}"
    assert values == sorted(values, reverse=measure == "hamming")


# train --tune


def test_train_tune_equals_python(monkeypatch):
    spent = []

    def within(budget, texts, labels, space, **options):
        spent.append((budget, space))
        return ww.search(texts, labels, space, trials=4, **options)

    monkeypatch.setattr("watchword.searching.searcher.search_within", within)
    tune = ("--tune", "--measure", "macro_f1", "--prior", 1)
    [told] = records("train", "people.jsonl", "-o", "tuned.ww", *tune)
    assert spent == [(30, None)]
    found = expected(None, trials=4, measure="macro_f1", model=ww.TauSS3(prior=1))
    assert (told["learnt"], told["tried"]) == (len(TEXTS), len(found.settings))
    assert told["macro_f1"] == found.best.value
    taught = ww.TauSS3.load("tuned.ww")
    assert taught.fingerprint == found.model(TEXTS, LABELS).fingerprint
    assert told["fingerprint"] == taught.fingerprint


def test_train_tune_with_trials_equals_python():
    [told] = records("train", "texts.jsonl", "-o", "tuned.ww", "--tune", "--trials", 4)
    model = ww.TauSS3.tuned(TEXTS, LABELS, trials=4)
    assert told["fingerprint"] == model.fingerprint


def test_train_tune_tries_no_refinement_on_request():
    tune = ("--tune", "--trials", 4, "--no-refine")
    [told] = records("train", "texts.jsonl", "-o", "tuned.ww", *tune)
    assert (told["tried"], told["refinement"]) == (4, None)


def test_train_tune_resumes_from_kept_results(here):
    records("search", "people.jsonl", "--trials", 3, "--keep", "kept")
    before = kept(here)
    tune = ("--tune", "--budget", "1s", "--keep", "kept")
    [told] = records("train", "people.jsonl", "-o", "tuned.ww", *tune)
    assert told["tried"] >= 3  # what is known takes no time
    assert set(before) <= set(kept(here))


def test_search_within_a_budget_leaves_nothing_unfinished():
    found = search_within(0.05, TEXTS, LABELS, None, folds=2)
    assert found.unfinished == 0
    lists = search_within(60, TEXTS, LABELS, {"max_ngram": [1, 2]}, folds=2, refine=False)
    assert (len(lists.settings), lists.unfinished) == (3, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--tune", "--add-to", "x.ww"], 2, "--tune and --add-to cannot be used together"),
        (["--tune", "--prune", "1"], 2, "--tune and --prune cannot be used together"),
        (["--budget", "3s"], 2, "--budget requires --tune"),
        (["--keep", "kept"], 2, "--keep requires --tune"),
        (["--trials", "3"], 2, "--trials requires --tune"),
        (["--measure", "accuracy"], 2, "--measure requires --tune"),
        (["--tune", "--budget", "0"], 2, "'--budget': must be above 0"),
        (["--tune", "--keep", "no/kept"], 2, "folder 'no' does not exist"),
        (["--tune", "--keep", "people.jsonl"], 2, "the command reads it as DATA"),
        (["--tune", "--default-label", "x"], 1, "unknown label 'x'; the data has"),
    ],
)
def test_tune_errors(here, arguments, code, message):
    assert message in failure("train", "people.jsonl", "-o", "out.ww", *arguments, code=code)
    assert not (here / "out.ww").exists()
