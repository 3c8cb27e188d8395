"""erisk run, make, score, client, server."""

import json
import re
import signal

import pytest

import watchword as ww
from command_line import call, failure, next_line, records, started
from watchword.data import write_jsonl
from watchword.erisk import write_submissions
from watchword.erisk.server import running_server
from watchword.model.parameters import PAPER_TASKS

PEOPLE = ww.make_risk_streams(20, seed=3, prevalence=0.3, posts_per_subject=(3, 6))
OTHERS = ww.make_risk_streams(6, seed=4, prevalence=0.5, posts_per_subject=(3, 6))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WATCHWORD_ERISK_TOKEN", raising=False)
    write_jsonl("others.jsonl", OTHERS)
    model = ww.TauSS3()
    ww.teach(model, PEOPLE)
    model.save("model.ww")
    return tmp_path


@pytest.fixture
def collection(here):
    small = ("--task", "2018-anorexia", "--subjects", 16, "--most-writings", 20)
    [told] = records("erisk", "make", "collection", *small)
    assert told == {"folder": "collection", "task": "2018-anorexia"}
    return here / "collection"


# run and make


def test_a_task_runs_from_end_to_end(here, collection):
    [told] = records(
        "erisk", "run", "2018-anorexia", "--data", collection, "-o", "sent", "--record"
    )
    assert told["is_synthetic"] is True
    assert told["score"]["subjects"] > 0
    names = {f"watchword_{chunk}.txt" for chunk in range(1, 11)}
    assert {file.name for file in (here / "sent").iterdir()} == names


def test_run_is_shown_in_the_published_table(here, collection):
    shown = call("erisk", "run", "2018-anorexia", "--data", collection, "--name", "OURS")
    assert shown.exit_code == 0
    assert "FHDO-BCSGD" in shown.stdout
    assert "> OURS" in shown.stdout
    assert len(list((here / "2018-anorexia-OURS").glob("OURS_*.txt"))) == 10


def test_run_help_shows_the_papers_parameters_as_defaults():
    assert "[default: 0.455]" in call("erisk", "run", "--help").output
    assert "[default: 0.13]" in call("train", "--help").output


def test_run_prunes_like_the_paper_by_default(collection, monkeypatch):
    shown = call("erisk", "run", "--help").output
    assert "--prune-period WORDS" in shown
    assert "[default: 1000000]" in shown
    monkeypatch.setitem(PAPER_TASKS, "prune_period", 300)
    arguments = ("erisk", "run", "2018-anorexia", "--data", collection, "--json", "-")
    pruned, not_pruned, plain = (
        json.loads(call(*arguments, *more).stdout)["subjects"]
        for more in ((), ("--prune-floor", 0), ("--prune-period", 10**9))
    )
    assert not_pruned == plain
    assert pruned != plain


def test_subjects_without_writings_warn_and_count_as_never_alerted(collection):
    [truth] = collection.rglob("risk-golden-truth-test.txt")
    with truth.open("a") as file:
        file.write("ghost 1\n")
    test, message = truth.parent, "ghost is listed, but without writings; counted as never alerted"
    done = call("erisk", "run", "2018-anorexia", "--data", collection, "--record")
    assert message in done.stderr
    expected = json.loads(done.stdout)["score"]
    call("train", collection / "2018 anorexia" / "train", "--format", "erisk", "-o", "own.ww")
    done = call("evaluate", "own.ww", test, "--format", "erisk", "--positive", "positive")
    assert message in done.stderr
    found = json.loads(done.stdout)
    assert (found["subjects"], found["positives"]) == (
        expected["subjects"],
        expected["positives"],
    )
    done = call(
        "report", "own.ww", test, "--format", "erisk", "--positive", "positive", "-o", "own.html"
    )
    assert json.loads(done.stdout)["subjects"] == expected["subjects"]


def test_a_task_takes_other_parameters_and_policies(collection):
    arguments = ("--policy", "overtakes(margin=1000)", "--max-ngram", 1, "--json", "-")
    done = call("erisk", "run", "2018-anorexia", "--data", collection, *arguments)
    found = json.loads(done.stdout)
    assert found["policy"]["margin"] == 1000
    assert found["score"]["erde50"] == found["score"]["erde50_bounds"]["never"]


def test_contradictory_collection_is_an_error(collection):
    [counts] = collection.rglob("writings*.txt")
    subject = counts.read_text().split()[0]
    text = re.sub(rf"^{subject}(\s+)\d+", rf"{subject}\g<1>99", counts.read_text(), flags=re.M)
    counts.write_text(text)
    done = call("erisk", "run", "2018-anorexia", "--data", collection)
    assert done.exit_code == 0
    assert done.stderr.startswith("Warning: ")
    assert done.stderr.count("\n") == 1


def test_made_collections_depend_on_the_seed(here):
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        small = ("--task", "2017-depression", "--subjects", 10, "--most-writings", 12)
        records("erisk", "make", name, *small, "--seed", seed)
    one, two, three = (
        {file.relative_to(here / name): file.read_bytes()
         for file in (here / name).rglob("*") if file.is_file()}
        for name in ("one", "two", "three")
    )  # fmt: skip
    assert one == two != three


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "2019-gambling", "--data", "x"], 2, "is not one of '2017-depression'"),
        (["run", "2017-depression", "--data", "nowhere"], 1, "nowhere"),
        (["run", "2017-depression", "--data", "collection"], 1, "collection"),
        (["run", "2017-depression"], 2, "Missing option '--data'"),
        (["run", "2018-anorexia", "--data", "x", "--model", "m.ww", "--alpha", "1"], 2, "--model"),
        (["run", "2018-anorexia", "--data", "collection", "--model", "no.ww"], 1, "no.ww: No such"),
        (["make", "collection", "--task", "2018-anorexia"], 1, "already exists"),
        (["make", "new", "--most-writings", "9"], 2, "9 is not in the range"),
        (["run", "2018-anorexia", "--data", "x", "--name", "a b"], 1, "name must be letters"),
        (
            ["run", "2018-anorexia", "--data", "x", "--json", "no/x"],
            2,
            "folder 'no' does not exist",
        ),
    ],
)
@pytest.mark.usefixtures("collection")
def test_wrong_sets_and_tasks_are_named(arguments, code, message):
    assert message in failure("erisk", *arguments, code=code)


# score


def test_runs_by_chunk_are_scored_and_compared(here, collection):
    for name, margin in ("ours", 0), ("theirs", 1000):
        policy = f"overtakes(margin={margin})"
        call(
            "erisk",
            "run",
            "2018-anorexia",
            "--data",
            collection,
            "-o",
            "runs",
            "--name",
            name,
            "--policy",
            policy,
        )
    test = here / collection / "2018 anorexia" / "test"
    ours, theirs = records(
        "erisk", "score", test, "runs", "--intervals", "--csv", "s.csv", "--latex", "s.tex"
    )
    assert (ours["name"], theirs["name"], theirs["alerts"]) == ("ours", "theirs", 0)
    assert theirs["latency"] is None
    assert theirs["differences"]["baseline"] == "ours"
    interval = theirs["differences"]["erde50"]
    assert interval["value"] == pytest.approx(theirs["erde50"] - ours["erde50"])
    assert ours["intervals"]["f1"]["low"] <= ours["f1"] <= ours["intervals"]["f1"]["high"]
    assert (here / "s.csv").read_text().startswith("name,subjects,positives,alerts,precision,")
    assert ",erde50_low,erde50_high," in (here / "s.csv").read_text()
    assert "minus ours & theirs" in (here / "s.tex").read_text()
    assert (here / "s.tex").read_text().count(r"\begin{tabular}") == 3  # with two of intervals
    table = call("erisk", "score", test, "runs", "--intervals", "--baseline", "theirs", "--table")
    assert "Differences to theirs, paired (* excludes 0):" in table.output


def test_runs_are_measured_as_by_mentalriskes_and_pan(here):
    (here / "gold.csv").write_text("Subject,label\nann,anxiety\nbob,none\n")
    (here / "log.csv").write_text("nick,decision,score,round\nann,anxiety,1,0\nbob,none,0,0\n")
    own = ("--measures", "mentalriskes", "--latency-p", 0.0314)
    [found] = records("erisk", "score", "gold.csv", "log.csv", *own)
    assert found["accuracy"] == found["macro_f1"] == 1
    assert "erde30" in found
    (here / "predators.txt").write_text("ann\nbob\n")
    (here / "run.txt").write_text("ann\n")
    [found] = records("erisk", "score", "predators.txt", "run.txt", "--measures", "pan")
    assert found["f05"] == pytest.approx(1.25 * 0.5 / 0.75)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["truth.txt"], 2, "Missing argument 'RUN...'"),
        (["truth.txt", "no.jsonl"], 2, "'no.jsonl' does not exist"),
        (["truth.txt", "log.csv", "--rankings", "1,x"], 2, "'1,x' is not like 5,50"),
        (["truth.txt", "log.csv", "--deadlines", "0"], 2, "'0' is not like 5,50"),
        (["truth.txt", "log.csv", "--baseline", "log"], 2, "--baseline requires --intervals"),
        (["truth.txt", "log.csv", "--measures", "mentalriskes"], 2, "requires --latency-p: 0.0411"),
        (["truth.txt", "log.csv", "--intervals", "--baseline", "x"], 1, "must be one of log"),
        (["truth.txt", "runs"], 1, "(use --counts FILE)"),
        ([".", "log.csv"], 1, "contains no golden truth"),
    ],
)
def test_errors_of_score(here, arguments, code, message):
    (here / "truth.txt").write_text("ann 1\nbob 0\n")
    (here / "log.csv").write_text("nick,decision,score,round\nann,1,1,0\nbob,0,0,0\n")
    write_submissions(here / "runs", {"ann": None, "bob": None})
    assert message in failure("erisk", "score", *arguments, code=code)


# client and server


def take_part(server, *arguments):
    """Run the client against a server; return what it prints."""
    fast = ("--retries", "0", "--model", "model.ww", "--positive", "at risk")
    return records("erisk", "client", server.url, server.token, *fast, *arguments)


@pytest.mark.usefixtures("here")
def test_the_client_takes_part_until_the_end():
    with running_server(OTHERS, positive="at risk") as server:
        *alerts, end = take_part(server)
        [result] = server.task.results().runs
    assert end == {
        "event": "end",
        "rounds": max(len(one.posts) for one in OTHERS),
        "ended": "empty",
        "alerts": [len(alerts)],
    }
    assert {one["subject"]: one["delay"] for one in alerts} == result.alerts
    assert all(one["round"] == one["delay"] - 1 for one in alerts)


@pytest.mark.usefixtures("here")
def test_several_policies_are_several_runs():
    with running_server(OTHERS, runs=3) as server:
        policies = ("--policy", "overtakes(margin=0|1000)", "--policy", "stands_out")
        *alerts, end = take_part(server, *policies)
        assert server.task.finished
    assert len(end["alerts"]) == 3
    assert end["alerts"][1] == 0
    assert {one["run"] for one in alerts} <= {0, 2}


def test_the_log_of_a_client_scores_like_the_server(here):
    lines = (f"{one.id} {int(one.label == 'at risk')}\n" for one in OTHERS)
    (here / "truth.txt").write_text("".join(lines))
    with running_server(OTHERS, positive="at risk", runs=2) as server:
        take_part(server, "--policy", "overtakes(margin=0|1)", "--log", "log.jsonl")
        results = server.task.results().runs
    scores = records("erisk", "score", "truth.txt", "log.jsonl", "--rankings", "1,3")
    assert [one["name"] for one in scores] == ["log-0", "log-1"]
    for score, result in zip(scores, results, strict=True):
        assert score["erde5"] == pytest.approx(result.measures.erde5)
        assert score["f_latency"] == pytest.approx(result.measures.f_latency)
        assert score["rankings"][0]["ndcg_at_10"] == result.measures.rankings[0].ndcg_at_10
        assert [one["rounds"] for one in score["rankings"]] == [1, 3]


def test_a_torn_line_of_a_log_is_replaced(here):
    whole = '{"nick": "x", "decision": 0, "score": 1.0, "round": 0, "run": 9}\n'
    (here / "log.jsonl").write_text(whole + '{"nick": "ha')
    with running_server(OTHERS) as server:
        take_part(server, "--log", "log.jsonl")
    lines = (here / "log.jsonl").read_text().splitlines()
    assert lines[0] + "\n" == whole
    assert len(lines) == 1 + len(OTHERS) * max(len(one.posts) for one in OTHERS)
    assert all(json.loads(line)["run"] == 0 for line in lines[1:])


@pytest.mark.usefixtures("here")
def test_token_with_leading_dash_follows_double_dash():
    with running_server(OTHERS, token="-e-B0lz-") as server:
        fast = ("--retries", "0", "--model", "model.ww", "--positive", "at risk")
        *_, end = records("erisk", "client", *fast, server.url, "--", server.token)
    assert end["event"] == "end"


@pytest.mark.usefixtures("here")
def test_several_models_are_several_runs():
    with running_server(OTHERS, runs=2) as server:
        assert len(take_part(server, "--model", "model.ww")[-1]["alerts"]) == 2


def test_the_token_may_be_in_the_environment(here, monkeypatch):
    monkeypatch.setenv("WATCHWORD_ERISK_TOKEN", "practice-token")
    with running_server(OTHERS, token="practice-token") as server:
        arguments = ("--model", "model.ww", "--positive", "at risk", "--journal", "journal")
        assert records("erisk", "client", server.url, *arguments)[-1]["event"] == "end"
    assert (here / "journal").exists()


@pytest.mark.usefixtures("here")
def test_server_prints_url_first_and_measures_last():
    arguments = ("others.jsonl", "--positive", "at risk", "--port", "0", "--runs", "1")
    with started("erisk", "server", *arguments) as process:
        ready = next_line(process)
        assert ready["subjects"] == len(OTHERS)
        assert ready["url"].startswith("http://127.0.0.1:")
        records(
            "erisk", "client", ready["url"], ready["token"],
            "--model", "model.ww", "--positive", "at risk",
        )  # fmt: skip
        process.send_signal(signal.SIGINT)
        results = next_line(process)
        assert process.wait(60) == 0
    assert results["finished"] is True
    assert results["runs"][0]["measures"]["f1"] >= 0


@pytest.mark.usefixtures("here")
def test_a_round_of_the_server_is_answered_in_several_tasks():
    tasks = ("--task", "task1a", "--task", "task1b", "--dialect", "messages", "--refuse-early")
    with started("erisk", "server", "others.jsonl", "--port", "0", *tasks) as process:
        ready = next_line(process)
        urls = [f"{ready['url']}/{task}" for task in ("task1a", "task1b")]
        records(
            "erisk", "client", ready["url"], ready["token"], "--dialect", "messages",
            "--model", "model.ww", "--positive", "at risk",
            "--submit-url", urls[0], "--submit-url", urls[1],
        )  # fmt: skip
        process.send_signal(signal.SIGINT)
        results = next_line(process)
    assert results["finished"] is True
    assert [run["task"] for run in results["runs"]] == ["task1a", "task1b"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["client", "http://x", "t", "--positive", "x"], 2, "Missing option '--model'"),
        (["client", "http://x", "--positive", "x", "--model", "m.ww"], 2, "Missing argument"),
        (["client", "http://x", "t", "--positive", "x", "--model", "no.ww"], 1, "no.ww: No such"),
        (["client", "http://x", "t", "--positive", "x", "--model", "model.ww"], 1, "unknown label"),
        (["client", "ftp://x", "t", "--positive", "at risk", "--model", "model.ww"], 1, "ftp"),
        (["server", "no.jsonl"], 1, "no.jsonl: No such file"),
        (["server", "others.jsonl", "--positive", "x"], 1, "unknown label 'x'; the data has"),
        (["server", "others.jsonl", "--host", "0.0.0.0"], 1, "set a token"),
    ],
)
@pytest.mark.usefixtures("here")
def test_client_and_server_errors(arguments, code, message):
    assert message in failure("erisk", *arguments, code=code)


@pytest.mark.usefixtures("here")
def test_number_of_models_and_policies_must_match():
    policies = ["--policy", "overtakes"] * 3
    models = ["--model", "model.ww"] * 2
    said = failure(
        "erisk", "client", "http://x", "t", "--positive", "at risk", *policies, *models, code=2
    )
    assert "2 models but 3 policies" in said
