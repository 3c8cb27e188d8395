"""evaluate and tune."""

import csv
import io
import json
from pathlib import Path

import pytest

import watchword as ww
from command_line import call, failure, records, write_lines
from watchword.cli.policy_notation import parse_policy
from watchword.data import write_jsonl
from watchword.evaluation import nested_tune
from watchword.streams.policies import policy_from_dict

PEOPLE = ww.make_risk_streams(24, seed=3, prevalence=0.25, posts_per_subject=(8, 16))
RISK_POLICY = ("--positive", "at risk", "--policy", "policy.json")
OTHERS = ww.make_risk_streams(16, seed=4, prevalence=0.25, posts_per_subject=(8, 16))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl("people.jsonl", PEOPLE)
    write_jsonl("others.jsonl", OTHERS)
    taught().save("model.ww")
    return tmp_path


def taught(**parameters):
    model = ww.TauSS3(**parameters)
    ww.teach(model, PEOPLE)
    return model


def evaluate(*arguments):
    return records("evaluate", "model.ww", "others.jsonl", "--positive", "at risk", *arguments)


def tune(*arguments):
    """Return the records that tune prints; it may warn about the best setting."""
    done = call("tune", "people.jsonl", "--positive", "at risk", *arguments)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stderr.splitlines() == [f"Warning: {one}" for one in found[0]["warnings"]]
    return found


# evaluate


@pytest.mark.parametrize("by", ["post", "chunk"])
@pytest.mark.usefixtures("here")
def test_evaluate_equals_python(by):
    [told] = evaluate("--policy", "overtakes(margin=0.01) after 2", "--by", by)
    policy = ww.Overtakes("at risk", margin=0.01).after(2)
    measures = ww.replay(OTHERS, taught(), policy, by=by).measures
    assert told["policy"] == "overtakes(margin=0.01) after 2"
    assert (told["positive"], told["by"]) == ("at risk", by)
    for name in ("subjects", "alerts", "erde5", "erde50", "f1", "f_latency"):
        assert told[name] == getattr(measures, name)
    assert told["erde50_bounds"]["never"] == 0.25
    assert 0 < measures.alerts < measures.subjects


@pytest.mark.usefixtures("here")
def test_evaluate_can_compare_subjects_with_each_other():
    [told] = evaluate("--policy", "stands_out(gamma=3)")
    assert told["policy"] == "stands_out(gamma=3)"


@pytest.mark.usefixtures("here")
def test_nan_is_printed_as_null():
    [told] = evaluate("--policy", "overtakes(margin=1000)")
    assert told["alerts"] == 0
    assert told["median_delay"] is None


@pytest.mark.usefixtures("here")
def test_evaluate_as_a_table():
    arguments = ("evaluate", "model.ww", "others.jsonl", "--positive", "at risk", "--table")
    shown = call(*arguments).stdout
    policy = ww.Overtakes("at risk")
    assert shown == f"{ww.replay(OTHERS, taught(), policy)}\n"


def test_evaluate_writes_a_line_for_every_subject(here):
    evaluate("--csv", "subjects.csv")
    rows = list(csv.DictReader((here / "subjects.csv").read_text().splitlines()))
    assert [row["subject"] for row in rows] == [one.id for one in OTHERS]


def test_evaluate_writes_full_json(here):
    evaluate("--json", "all.json")
    found = json.loads((here / "all.json").read_text())
    assert found["subjects"][0]["subject"] == OTHERS[0].id
    assert len(found["subjects"][0]["value"]) == len(OTHERS[0].posts)


@pytest.mark.usefixtures("here")
def test_evaluate_writes_to_standard_output():
    arguments = ("evaluate", "model.ww", "others.jsonl", "--positive", "at risk", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(call(*arguments).stdout)))
    assert len(rows) == len(OTHERS)


def test_unlabelled_subjects_give_alerts_only(here):
    posts = [{"subject": "ann", "text": OTHERS[0].posts[0].text}]
    write_lines(here / "unknown.jsonl", posts)
    [told] = records("evaluate", "model.ww", "unknown.jsonl", "--positive", "at risk")
    assert told["subjects"] == 1
    assert "erde50" not in told


def test_evaluate_reads_csv_and_folders(here):
    rows = ["user,text,label"] + [f'{one.id},"{one.posts[0].text}",{one.label}' for one in OTHERS]
    (here / "others.csv").write_text("\n".join(rows))
    for one in OTHERS:
        (here / "folder" / one.label).mkdir(parents=True, exist_ok=True)
        (here / "folder" / one.label / f"{one.id}.txt").write_text(one.posts[0].text)
    arguments = ("--positive", "at risk")
    table = records("evaluate", "model.ww", "others.csv", "--field", "subject=user", *arguments)
    assert table == records("evaluate", "model.ww", "folder", *arguments)
    assert table[0]["subjects"] == len(OTHERS)


@pytest.mark.usefixtures("here")
def test_evaluate_reads_collections_of_erisk():
    small = ("--subjects", 12, "--most-writings", 12)
    records("erisk", "make", "collection", "--task", "2018-anorexia", *small)
    train, test = "collection/2018 anorexia/train", "collection/2018 anorexia/test"
    records("train", train, "--format", "erisk", "-o", "erisk.ww")
    arguments = ("--format", "erisk", "--positive", "positive", "--by", "chunk")
    [told] = records("evaluate", "erisk.ww", test, *arguments)
    assert told["positives"] >= 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.ww", "others.jsonl", "--positive", "x"], 1, "no.ww: No such file"),
        (["model.ww", "no.jsonl", "--positive", "at risk"], 1, "no.jsonl: No such file"),
        (["model.ww", "others.jsonl", "--positive", "x"], 1, "unknown label 'x'; the model has"),
        (["model.ww", "others.jsonl"], 2, "Missing option '--positive'"),
        (["model.ww", "--positive", "x"], 2, "Missing argument 'DATA'"),
        (["model.ww", "bad.jsonl", "--positive", "at risk"], 1, "bad.jsonl, line 1: not JSON"),
        (
            ["model.ww", "others.jsonl", "--positive", "at risk", "--csv", "no/x"],
            2,
            "folder 'no' does not exist",
        ),
    ],
)
def test_evaluate_errors(here, arguments, code, message):
    (here / "bad.jsonl").write_text("nonsense\n")
    assert message in failure("evaluate", *arguments, code=code)


# tune


@pytest.mark.usefixtures("here")
def test_tune_equals_python():
    found = tune("--max-ngram", "1,3", "--policy", "overtakes(margin=0|0.01)", "--folds", 3)
    tuning = ww.tune(
        PEOPLE,
        ww.grid(ww.Overtakes, "at risk", margin=[0, 0.01]),
        parameters={"max_ngram": [1, 3]},
        folds=3,
    )
    assert [one["erde50"] for one in found] == [trial.value for trial in tuning.trials]
    assert [one["parameters"] for one in found] == [trial.parameters for trial in tuning.trials]
    assert {one["policy"] for one in found} == {"overtakes", "overtakes(margin=0.01)"}
    assert len(found[0]["by_fold"]) == 3


def test_evaluate_rejects_data_without_positives(here):
    text = (here / "others.jsonl").read_text().replace('"at risk"', '"at-risk"')
    (here / "typed.jsonl").write_text(text)
    said = failure("evaluate", "model.ww", "typed.jsonl", "--positive", "at risk")
    assert "no subject has the label 'at risk'; the data has 'control', 'at-risk'" in said


@pytest.mark.usefixtures("here")
def test_evaluate_intervals():
    [told] = evaluate("--intervals")
    found = ww.replay(OTHERS, taught(), ww.Overtakes("at risk"))
    expected = {name: [one.low, one.high] for name, one in found.intervals().items()}
    assert told["intervals"] == expected
    assert "intervals" not in evaluate()[0]
    shown = call(
        "evaluate", "model.ww", "others.jsonl", "--positive", "at risk", "--intervals", "--table"
    )
    low, high = expected["erde50"]
    assert f"ERDE50 from {100 * low:.2f} % to {100 * high:.2f} %\n" in shown.stdout
    assert "\nF_latency from " in shown.stdout
    assert "--intervals requires --positive" in failure(
        "evaluate", "model.ww", "others.jsonl", "--intervals", code=2
    )


@pytest.mark.usefixtures("here")
def test_tune_accepts_any_erde_deadline_and_rejects_other_measures():
    [best] = tune("--measure", "erde7", "--policy", "overtakes", "--top", 1)
    assert 0 <= best["erde7"] <= 1
    said = failure("tune", "people.jsonl", "--positive", "at risk", "--measure", "accuracy", code=2)
    assert "unknown measure 'accuracy'; known are 'erde5', 'erde50'" in said


@pytest.mark.usefixtures("here")
def test_tune_checks_output_paths_first():
    said = failure(
        "tune", "people.jsonl", "--positive", "at risk", "--json", "no/report.json", code=2
    )
    assert "folder 'no' does not exist" in said


@pytest.mark.usefixtures("here")
def test_tune_tries_several_kinds_of_policies_for_another_measure():
    policies = ("--policy", "overtakes", "--policy", "reaches(threshold=0.6|0.8) after 2|4")
    found = tune("--measure", "f1", *policies, "--top", 3, "--no-refine")
    assert len(found) == 3
    assert [one["f1"] for one in found] == sorted((one["f1"] for one in found), reverse=True)


@pytest.mark.usefixtures("here")
def test_tune_tries_thresholds_by_default():
    found = tune("--folds", 3, "--top", 2)
    tuning = ww.tune(PEOPLE, ww.Thresholds("at risk"), folds=3)
    assert [trial["erde50"] for trial in found] == [one.value for one in tuning.trials[:2]]
    assert parse_policy(found[0]["policy"], "at risk") == tuning.best.policy
    both = tune("--folds", 3, "--top", 10_000, "--policy", "thresholds", "--policy", "leaps")
    assert len(both) == len(tuning.trials) + 2  # counted and refined
    later = tune("--folds", 3, "--top", 10_000, "--policy", "Thresholds after 5|10")
    assert {one["policy"].rpartition(" after ")[2] for one in later} == {"5", "10"}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("thresholds and leaps", "expected 'after' or the end instead of 'and'"),
        ("thresholds after", "expected a value instead of the end"),
        ("thresholds after 0", "first_posts must be"),
        ("leaps and thresholds", "unknown policy 'thresholds'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_invalid_thresholds_are_rejected(policy, words):
    said = failure("tune", "people.jsonl", "--positive", "at risk", "--policy", policy, code=2)
    assert words in said


def test_tune_writes_the_best_model_and_all_settings(here):
    settings = ("--smoothness", "0.3,0.6", "--policy", "overtakes")
    best, *_ = tune(*settings, "-o", "best.ww", "--json", "report.json")
    report = json.loads((here / "report.json").read_text())
    assert [one["refined"] for one in report["trials"]].count(True) == 1
    assert len(report["trials"]) == 3
    assert report["trials"][0]["parameters"] == best["parameters"]
    expected = ww.TauSS3(**best["parameters"])
    ww.teach(expected, PEOPLE, refine=best["refined"])
    assert ww.TauSS3.load("best.ww").fingerprint == expected.fingerprint


@pytest.mark.usefixtures("here")
def test_the_best_policy_can_be_used_as_it_is_printed():
    best, *_ = tune("--policy", "(overtakes(margin=0|2) or leaps(factor=4|8)) after 2")
    assert evaluate("--policy", best["policy"])[0]["policy"] == best["policy"]


@pytest.mark.usefixtures("here")
def test_a_learnt_policy_is_saved_and_used_by_other_commands():
    [best, *_] = tune("--policy", "learnt after 1|2", "--save-policy", "policy.json", "--no-refine")
    assert parse_policy("policy.json", "at risk") == parse_policy(best["policy"], "at risk")
    [found] = evaluate("--policy", "policy.json")
    assert found["policy"] == best["policy"]
    shown = call("explain", "model.ww", "others.jsonl", "--subject", OTHERS[0].id, *RISK_POLICY)
    assert shown.exit_code == 0, shown.output
    assert "Features weighed at post" in shown.output


@pytest.mark.usefixtures("here")
def test_tune_writes_the_policy_to_standard_output():
    done = call("tune", "people.jsonl", "--positive", "at risk", "--save-policy", "-")
    [line] = done.stdout.splitlines()
    assert policy_from_dict(json.loads(line)).positive == "at risk"


def test_a_policy_file_for_another_label_is_refused(here):
    (here / "policy.json").write_text(json.dumps(ww.Overtakes("control").to_dict()))
    told = failure("evaluate", "model.ww", "others.jsonl", *RISK_POLICY)
    assert "policy.json: the policy is for the label 'control', not 'at risk'" in told
    told = failure("evaluate", "model.ww", "others.jsonl", "--policy", "no.json", code=2)
    assert "cannot read the policy no.json" in told


@pytest.mark.usefixtures("here")
def test_tune_prints_all_measures_with_intervals():
    policies = ("--policy", "overtakes(margin=0|0.05)", "--no-refine")
    best, other = tune(*policies, "--deadlines", "5,30", "--latency-p", "median")
    margins = [ww.Overtakes("at risk", margin=margin) for margin in (0, 0.05)]
    expected = ww.tune(PEOPLE, margins, deadlines=(5, 30), latency_p="median", refine=False)
    for record, trial in zip((best, other), expected.trials, strict=True):
        assert record["measures"] == trial.measures
        assert list(record["measures"])[:3] == ["erde5", "erde30", "erde50"]
        between = expected.intervals(trial)
        assert record["intervals"]["f1"] == [between["f1"].low, between["f1"].high]


@pytest.mark.usefixtures("here")
def test_tune_minimises_a_weighted_sum_within_limits():
    policies = ("--policy", "overtakes(margin=0|0.05|0.5)", "--no-refine")
    limits = ("--at-most", "median_delay=5", "--at-least", "recall=.5,f1=0.1")
    best, *_ = tune("--measure", "erde5=.5, f1=1", *policies, *limits)
    found = best["measures"]
    assert best["erde5=0.5,f1=1"] == pytest.approx(0.5 * found["erde5"] + (1 - found["f1"]))
    assert found["median_delay"] <= 5
    assert found["recall"] >= 0.5


@pytest.mark.usefixtures("here")
def test_tune_chooses_the_earliest_within_one_standard_error():
    policies = ("--policy", "overtakes(margin=0|0.05|0.5)", "--no-refine", "--measure", "f1")
    best, *_ = tune(*policies, "--one-standard-error")
    margins = [ww.Overtakes("at risk", margin=margin) for margin in (0, 0.05, 0.5)]
    expected = ww.tune(PEOPLE, margins, measure="f1", one_standard_error=True, refine=False)
    assert parse_policy(best["policy"], "at risk") == expected.best.policy


@pytest.mark.usefixtures("here")
def test_tune_prints_the_figure_of_nested_cross_validation():
    policies = ("--policy", "overtakes(margin=0|0.05)", "--no-refine", "--folds", 2)
    *_, last = tune(*policies, "--outer-folds", 3)
    margins = [ww.Overtakes("at risk", margin=margin) for margin in (0, 0.05)]
    expected = nested_tune(PEOPLE, margins, outer_folds=3, folds=2, refine=False)
    assert last["nested"]["value"] == expected.value
    assert last["nested"]["promised"] == expected.promised
    chosen = [parse_policy(one["policy"], "at risk") for one in last["nested"]["folds"]]
    assert chosen == [tuning.best.policy for tuning in expected.tunings]
    done = call(
        *("tune", "people.jsonl", "--positive", "at risk", *policies),
        *("--outer-folds", 3, "--table", "--json", "report.json"),
    )
    assert f"ERDE50 {expected.value:.4f} on subjects that took no part in tuning" in done.stdout
    report = json.loads(Path("report.json").read_text())
    assert report["nested"]["by_fold"] == list(expected.by_fold)


@pytest.mark.usefixtures("here")
def test_tune_warns_about_a_policy_that_waits_for_the_end():
    policy = f"overtakes(margin=-100) after {max(len(one.posts) for one in PEOPLE)}"
    [best] = tune("--policy", policy, "--no-refine")
    assert any("waits for the end of the streams" in one for one in best["warnings"])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--measure", "erde5=x", "'erde5=x' is not like erde5=.5,erde50=.5"),
        ("--measure", "erde5=-1", "measure['erde5'] must be above 0, got -1"),
        ("--measure", "erde5=1,speed=1", "unknown measure 'speed'; known are 'erde5'"),
        ("--measure", "erde5=1,erde5=2", "duplicate 'erde5' in 'erde5=1,erde5=2'"),
        ("--at-least", "f1=nan", "'f1=nan' is not like median_delay=10"),
        ("--at-least", "f1=.5,f1=.7", "duplicate 'f1'"),
        ("--seed", "-1", "Invalid value for '--seed'"),
        ("--at-most", "median_delay", "'median_delay' is not like median_delay=10"),
        ("--at-least", "speed=1", "unknown measure 'speed'; known are 'erde5'"),
        ("--outer-folds", "1", "Invalid value for '--outer-folds'"),
        ("--deadlines", "x", "'x' is not like 5,50"),
    ],
)
@pytest.mark.usefixtures("here")
def test_tune_rejects_bad_measures_and_limits(option, value, message):
    said = failure("tune", "people.jsonl", "--positive", "at risk", option, value, code=2)
    assert message in said


@pytest.mark.usefixtures("here")
def test_tune_names_the_nearest_setting_if_none_keeps_the_limits():
    options = ("--policy", "overtakes(margin=0)", "--at-most", "median_delay=.5", "--no-refine")
    said = failure("tune", "people.jsonl", "--positive", "at risk", *options)
    assert "no setting has median_delay at most 0.5; the nearest has median_delay" in said


@pytest.mark.usefixtures("here")
def test_tune_as_a_table():
    settings = ("--max-ngram", "1,2", "--policy", "overtakes", "--table")
    first, *rows = call(
        "tune", "people.jsonl", "--positive", "at risk", *settings
    ).stdout.splitlines()
    assert first.split()[:3] == ["ERDE50", "ERDE5", "F1"]
    assert first.split()[-1] == "setting"
    assert {row.split("  ")[-1] for row in rows[:3]} == {
        "max_ngram=1; overtakes", "max_ngram=1; refined; overtakes", "max_ngram=2; overtakes",
    }  # fmt: skip
    assert rows[3].strip().endswith("(never alert)")
    assert rows[4].strip().endswith("(alert everyone at the first post)")
    assert any(row.startswith("95 % intervals of the first setting, ignoring") for row in rows)


@pytest.mark.usefixtures("here")
def test_tune_tries_no_refinement_on_request():
    found = tune("--policy", "overtakes(margin=0|0.05)", "--no-refine")
    assert [one["refined"] for one in found] == [False, False]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.jsonl", "--positive", "at risk"], 1, "no.jsonl: No such file"),
        (["people.jsonl", "--positive", "x"], 1, "unknown label 'x'; the data has"),
        (["people.jsonl", "--positive", "at risk", "--folds", "7"], 1, "7 folds need at least 7"),
        (["people.jsonl", "--positive", "at risk", "--folds", "1"], 2, "Invalid value for '--f"),
        (["people.jsonl", "--positive", "at risk", "--max-ngram", "1,x"], 2, "'x' is not a whole"),
        (["people.jsonl", "--positive", "at risk", "--max-ngram", ""], 2, "'' is not a whole"),
        (
            ["people.jsonl", "--positive", "at risk", "--smoothness", "3"],
            2,
            "hness': must be in",
        ),
        (["people.jsonl", "--positive", "at risk", "--reading", "x"], 2, "'x' is not one of"),
        (["people.jsonl", "--positive", "at risk", "--policy", "x"], 2, "unknown policy"),
        (["people.jsonl", "--positive", "at risk", "-o", "no/x"], 2, "folder 'no' does not exist"),
    ],
)
@pytest.mark.usefixtures("here")
def test_tune_errors(arguments, code, message):
    assert message in failure("tune", *arguments, code=code)
