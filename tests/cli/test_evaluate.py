"""evaluate on texts, and validate."""

import csv
import io
import json

import pytest

import watchword as ww
from command_line import call, failure, records, write_lines
from watchword.data import write_jsonl

PEOPLE = ww.make_risk_streams(24, seed=3, prevalence=0.25, posts_per_subject=(4, 8))
OTHERS = ww.make_risk_streams(16, seed=4, prevalence=0.25, posts_per_subject=(4, 8))


def posts_of(people):
    return [(post.content, one.label, one.id) for one in people for post in one.posts]


def columns(people):
    return [list(column) for column in zip(*posts_of(people), strict=True)]


def taught(**parameters):
    model = ww.TauSS3(**parameters)
    ww.teach(model, PEOPLE)
    return model


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl("people.jsonl", PEOPLE)
    write_jsonl("others.jsonl", OTHERS)
    lines = [{"text": text, "label": label} for text, label, _ in posts_of(OTHERS)]
    write_lines(tmp_path / "texts.jsonl", lines)
    taught().save("model.ww")
    return tmp_path


# evaluate


@pytest.mark.usefixtures("here")
def test_evaluate_texts_equals_python():
    [told] = records("evaluate", "model.ww", "texts.jsonl")
    texts, labels, _ = columns(OTHERS)
    found = ww.evaluate(taught(), texts, labels)
    assert told["texts"] == len(texts)
    assert {name: told[name] for name in ("accuracy", "macro_f1", "weighted_precision")} == {
        name: found.measure(name) for name in ("accuracy", "macro_f1", "weighted_precision")
    }
    assert told["labels"] == [one.to_dict() for one in found.per_label]


@pytest.mark.usefixtures("here")
def test_posts_are_evaluated_as_texts_with_posts_option():
    [told] = records("evaluate", "model.ww", "others.jsonl", "--posts")
    assert told == records("evaluate", "model.ww", "texts.jsonl")[0]


@pytest.mark.usefixtures("here")
def test_evaluate_texts_as_a_table():
    shown = call("evaluate", "model.ww", "texts.jsonl", "--table").stdout
    texts, labels, _ = columns(OTHERS)
    assert shown == f"{ww.evaluate(taught(), texts, labels)}\n"


def test_evaluate_texts_writes_files(here):
    names = ("--json", "all.json", "--csv", "labels.csv", "--html", "page.html")
    [told] = records("evaluate", "model.ww", "texts.jsonl", *names)
    kept = ww.evaluation.Evaluation.from_dict(json.loads((here / "all.json").read_text()))
    assert kept.accuracy == told["accuracy"]
    assert (here / "labels.csv").read_text() == kept.to_csv()
    assert (here / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.usefixtures("here")
def test_evaluate_texts_writes_to_standard_output():
    shown = call("evaluate", "model.ww", "texts.jsonl", "--csv", "-").stdout
    assert [row["label"] for row in csv.DictReader(io.StringIO(shown))] == ["at risk", "control"]


def test_evaluate_reads_folders_csv_and_standard_input(here):
    for at, (text, label, _) in enumerate(posts_of(OTHERS)):
        (here / "folder" / label).mkdir(parents=True, exist_ok=True)
        (here / "folder" / label / f"{at}.txt").write_text(text)
    with (here / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [("text", "label"), *((text, label) for text, label, _ in posts_of(OTHERS))]
        )
    expected = records("evaluate", "model.ww", "texts.jsonl")
    assert records("evaluate", "model.ww", "folder") == expected
    assert records("evaluate", "model.ww", "texts.csv") == expected
    given = (here / "texts.jsonl").read_text()
    assert records("evaluate", "model.ww", "-", input=given) == expected


def test_evaluate_warns_about_unknown_labels(here):
    write_lines(
        here / "new.jsonl", [{"text": "a", "label": "new"}, {"text": "b", "label": "control"}]
    )
    done = call("evaluate", "model.ww", "new.jsonl")
    assert done.exit_code == 0
    assert done.stderr == "Warning: the model does not know 'new' and will never predict it\n"
    assert json.loads(done.stdout)["labels"][-1]["recall"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.ww", "texts.jsonl"], 1, "no.ww: No such file"),
        (["model.ww", "no.jsonl"], 1, "no.jsonl: No such file"),
        (["model.ww", "others.jsonl"], 2, "the data has subjects (use --positive LABEL"),
        (["model.ww", "texts.jsonl", "--policy", "leaps"], 2, "--policy requires --positive"),
        (["model.ww", "texts.jsonl", "--by", "post"], 2, "--by requires --positive"),
        (["model.ww", "texts.jsonl", "--deadlines", "5"], 2, "--deadlines requires --positive"),
        (["model.ww", "texts.jsonl", "--latency-p", "1"], 2, "--latency-p requires --positive"),
        (["model.ww", "texts.jsonl", "--latency-p", "mean"], 2, "not a valid float"),
        (["model.ww", "others.jsonl", "--posts", "--positive", "x"], 2, "cannot be used together"),
        (["model.ww", "others.jsonl", "--html", "x", "--positive", "x"], 2, "watchword report"),
        (["model.ww", "empty.jsonl"], 1, "there are no texts with labels in it"),
        (["model.ww", "unlabelled.jsonl"], 1, 'unlabelled.jsonl, line 1: "label" is missing'),
        (["model.ww", "texts.jsonl", "--html", "no/x"], 2, "folder 'no' does not exist"),
    ],
)
def test_evaluate_texts_errors(here, arguments, code, message):
    (here / "empty.jsonl").write_text("")
    write_lines(here / "unlabelled.jsonl", [{"text": "a"}])
    assert message in failure("evaluate", *arguments, code=code)


# validate


@pytest.mark.usefixtures("here")
def test_validate_equals_python_and_groups_by_subject():
    options = ("--folds", 3, "--repeats", 2, "--seed", 5, "--max-ngram", 2)
    [told] = records("validate", "people.jsonl", *options)
    texts, labels, writers = columns(PEOPLE)
    found = ww.cross_validate(
        texts,
        labels,
        model=ww.TauSS3(max_ngram=2),
        groups=writers,
        folds=3,
        repeats=2,
        seed=5,
    )
    assert (told["folds"], told["repeats"], told["groups"]) == (3, 2, len(PEOPLE))
    assert told["macro_f1"] == found.macro_f1
    assert told["spread"]["accuracy"] == found.spread("accuracy")._asdict()


@pytest.mark.usefixtures("here")
def test_texts_without_subject_are_their_own_group():
    [told] = records("validate", "texts.jsonl", "--folds", 3)
    texts, labels, _ = columns(OTHERS)
    assert told["groups"] is None
    assert told["macro_f1"] == ww.cross_validate(texts, labels, folds=3, refine=True).macro_f1


@pytest.mark.usefixtures("here")
def test_validate_refines_texts_and_not_posts_unless_asked():
    texts, labels, writers = columns(PEOPLE)
    settings = {"cost": 0.1, "balanced": True}
    for arguments, refined, expected in (
        (["texts.jsonl"], True, None),
        (["texts.jsonl", "--no-refine"], False, None),
        (["texts.jsonl", "--paper"], False, None),
        (["people.jsonl"], False, ww.cross_validate(texts, labels, groups=writers)),
        (
            ["people.jsonl", "--refine"],
            True,
            ww.cross_validate(texts, labels, groups=writers, refine=settings),
        ),
    ):
        [told] = records("validate", *arguments)
        assert told["refined"] is refined
        if expected is not None:
            assert told["macro_f1"] == expected.macro_f1


def test_texts_can_be_grouped_by_any_field(here):
    lines = [
        {"text": text, "label": label, "author": writer} for text, label, writer in posts_of(PEOPLE)
    ]
    del lines[0]["author"]  # alone
    write_lines(here / "authors.jsonl", lines)
    [told] = records("validate", "authors.jsonl", "--group", "author")
    assert told["groups"] == len(PEOPLE) + 1


@pytest.mark.usefixtures("here")
def test_validate_takes_the_parameters_of_a_model():
    taught(max_ngram=1, smoothness=0.2).save("other.ww")
    like = records("validate", "people.jsonl", "--like", "other.ww", "--smoothness", 0.3)
    assert like == records("validate", "people.jsonl", "--max-ngram", 1, "--smoothness", 0.3)
    assert like != records("validate", "people.jsonl")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("preset", ["paper", "pyss3"])
def test_validate_accepts_presets(preset):
    getattr(ww.TauSS3, preset)().save("theirs.ww")
    found = records("validate", "people.jsonl", f"--{preset}")
    assert found == records("validate", "people.jsonl", "--like", "theirs.ww")
    assert found != records("validate", "people.jsonl")


def test_a_default_label_may_be_a_number(here):
    lines = [{"text": text, "label": at % 2} for at, (text, _, _) in enumerate(posts_of(OTHERS))]
    write_lines(here / "numbers.jsonl", lines)
    [told] = records("validate", "numbers.jsonl", "--default-label", 1)
    assert [one["label"] for one in told["labels"]] == [0, 1]


def test_validate_writes_files_and_tables(here):
    names = ("--json", "all.json", "--csv", "labels.csv", "--html", "page.html")
    shown = call("validate", "people.jsonl", "--table", *names).stdout
    kept = ww.evaluation.Evaluation.from_dict(json.loads((here / "all.json").read_text()))
    assert shown == f"{kept}\n"
    assert len(kept.folds) == 5
    assert (here / "labels.csv").read_text() == kept.to_csv()
    assert "Over folds" in (here / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.jsonl"], 1, "no.jsonl: No such file"),
        ([], 2, "Missing argument 'DATA...'"),
        (["people.jsonl", "--folds", "1"], 2, "Invalid value for '--folds'"),
        (["people.jsonl", "--folds", "99"], 1, "99 folds need at least 99 subjects, got 24"),
        (["few.jsonl"], 1, "5 folds need at least 5 texts, got 1"),
        (["few.jsonl", "--group", "author"], 2, "no text has the field 'author' of --group"),
        (["people.jsonl", "--seed", "-1"], 2, "Invalid value for '--seed'"),
        (["people.jsonl", "--like", "no.ww"], 1, "no.ww: No such file"),
        (["people.jsonl", "--like", "model.ww", "--paper"], 2, "--like and --paper cannot be used"),
        (["people.jsonl", "--paper", "--pyss3"], 2, "--paper and --pyss3 cannot be used together"),
        (["people.jsonl", "--default-label", "x"], 1, "unknown label 'x'; the data has"),
        (["people.jsonl", "--html", "no/x"], 2, "folder 'no' does not exist"),
        (["empty.jsonl"], 1, "there are no texts with labels in it"),
    ],
)
def test_validate_errors(here, arguments, code, message):
    (here / "empty.jsonl").write_text("")
    write_lines(here / "few.jsonl", [{"text": "a", "label": "b"}])
    assert message in failure("validate", *arguments, code=code)
