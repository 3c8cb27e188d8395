"""make, train, classify, convert, inspect."""

import gzip
import json
from pathlib import Path

import pytest

import watchword as ww
from command_line import call, failure, next_line, records, say, started, write_lines
from watchword.data import read_jsonl
from watchword.model.parameters import PAPER, PYSS3

TEXTS = [
    {"text": "I cannot sleep, so I work", "label": "at risk", "id": "a"},
    {"text": "drained again, I cannot sleep", "label": "at risk", "id": "b"},
    {"text": "the garden is lovely", "label": "control", "id": "c"},
    {"text": "we sleep well, so I garden", "label": "control", "id": "d"},
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def texts(here):
    return write_lines(here / "texts.jsonl", TEXTS)


@pytest.fixture
def model(here):
    taught = taught_in_python()
    taught.save("model.ww")
    return here / "model.ww"


def taught_in_python(**parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many([one["text"] for one in TEXTS], [one["label"] for one in TEXTS])
    return model


def refined_in_python(**settings):
    model = taught_in_python()
    model.refine([one["text"] for one in TEXTS], [one["label"] for one in TEXTS], **settings)
    return model


# make


def test_make_writes_subjects_that_can_be_read(here):
    [told] = records("make", "people.jsonl", "--subjects", 10, "--posts", 2, 3)
    people = read_jsonl(here / "people.jsonl")
    assert people == ww.make_risk_streams(10, seed=0, posts_per_subject=(2, 3))
    assert told["subjects"] == {"at risk": 2, "control": 8}
    assert told["posts"] == sum(len(one.posts) for one in people)


def test_make_by_time_writes_posts_in_order_of_time(here):
    records("make", "posts.jsonl", "--subjects", 5, "--by-time")
    lines = [json.loads(line) for line in (here / "posts.jsonl").read_text().splitlines()]
    times = [line["time"] for line in lines]
    assert times == sorted(times)
    together = {one.id: one for one in read_jsonl(here / "posts.jsonl")}
    assert together == {one.id: one for one in ww.make_risk_streams(5, seed=0)}


# train


def test_train_equals_python(texts):
    [told] = records("train", texts, "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").fingerprint == refined_in_python().fingerprint
    assert told["model"] == "model.ww"
    assert told["learnt"] == 4
    assert told["documents"] == {"at risk": 2, "control": 2}


def test_train_reads_csv(here):
    rows = [f'"{one["text"]}",{one["label"]}' for one in TEXTS]
    (here / "texts.csv").write_text("\n".join(["text,label", *rows]))
    records("train", "texts.csv", "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").fingerprint == refined_in_python().fingerprint


def test_train_reads_folders_of_documents(here):
    for one in TEXTS:
        file = here / "data" / one["label"] / f"{one['id']}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(one["text"])
    records("train", "data", "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").fingerprint == refined_in_python().fingerprint


def test_train_reads_folders_of_posts(here):
    for one in TEXTS:
        file = here / "data" / one["label"] / f"writer of {one['id']}" / "1.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(one["text"])
    records("train", "data", "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").fingerprint == taught_in_python().fingerprint


def test_train_reads_compressed_files_and_several(here):
    halves = [TEXTS[:2], TEXTS[2:]]
    write_lines(here / "one.jsonl", halves[0])
    text = "".join(json.dumps(one) + "\n" for one in halves[1])
    (here / "two.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    records("train", "one.jsonl", "two.jsonl.gz", "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").fingerprint == refined_in_python().fingerprint


def test_train_reads_standard_input(here):
    lines = "".join(json.dumps(one) + "\n" for one in TEXTS)
    records("train", "-", "-o", here / "model.ww", input=lines)
    assert ww.TauSS3.load(here / "model.ww").fingerprint == refined_in_python().fingerprint


@pytest.mark.usefixtures("here")
def test_train_learns_posts_under_the_label_of_their_subject():
    people = ww.make_risk_streams(6, seed=1)
    records("make", "people.jsonl", "--subjects", 6, "--seed", 1)
    records("train", "people.jsonl", "-o", "model.ww")
    model = ww.TauSS3()
    ww.teach(model, people)
    assert ww.TauSS3.load("model.ww").fingerprint == model.fingerprint


def test_a_label_on_an_earlier_line_of_the_subject_is_enough(here):
    posts = [
        {"subject": "ann", "text": "hello", "label": "control"},
        {"subject": "bob", "text": "drained", "label": "at risk"},
        {"subject": "ann", "text": "good night"},
    ]
    write_lines(here / "posts.jsonl", posts)
    [told] = records("train", "posts.jsonl", "-o", "model.ww")
    assert told["documents"] == {"at risk": 1, "control": 2}


def test_titles_are_learnt_too(here):
    lines = [{"title": "Monday", "text": "again", "label": "blue"}, {"text": "b", "label": "red"}]
    write_lines(here / "texts.jsonl", lines)
    records("train", "texts.jsonl", "-o", "model.ww")
    assert ww.TauSS3.load("model.ww").value("monday")["blue"].count == 1


def test_fields_may_have_other_names(here):
    lines = [{"body": "so it is", "class": "x"}, {"body": "so", "class": "y"}]
    write_lines(here / "texts.jsonl", lines)
    arguments = ("--field", "text=body", "--field", "label=class")
    [told] = records("train", "texts.jsonl", "-o", "model.ww", *arguments)
    assert told["documents"] == {"x": 1, "y": 1}


def test_training_on_one_label_is_warned_about(here):
    write_lines(here / "calm.jsonl", [{"text": "a fine day", "label": "calm"}] * 3)
    done = call("train", "calm.jsonl", "-o", "model.ww")
    assert done.exit_code == 0
    assert (
        "the model has learnt only the label 'calm' and predicts it for every text" in done.stderr
    )
    assert json.loads(done.stdout)["refinement"] is None


def test_evaluating_on_one_label_is_warned_about(here, model):
    write_lines(here / "calm.jsonl", [{"text": "a fine day", "label": "control"}] * 3)
    done = call("evaluate", model, "calm.jsonl")
    assert done.exit_code == 0
    assert "Warning: all 3 texts have the label 'control'" in done.stderr


@pytest.mark.parametrize("verb", ["validate", "search"])
def test_cross_validation_of_one_label_is_refused(here, verb):
    write_lines(here / "calm.jsonl", [{"text": "a fine day", "label": "calm"}] * 6)
    message = failure(verb, "calm.jsonl", "--folds", "2")
    assert "all 6 texts have the label 'calm': at least two labels are needed" in message


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        (["--smoothness", "0.3", "--max-ngram", "2"], {"smoothness": 0.3, "max_ngram": 2}),
        (["--significance-function", "xai"], {"significance_function": "xai"}),
        (["--summary", "max"], {"summary": "max"}),
        (["--summary", "sentence=max,document=mean"],
         {"summary": {"sentence": "max", "document": "mean"}}),
        (["--default-label", "control"], {"default_label": "control"}),
        (["--paper", "--sanction", "2"], PAPER | {"sanction": 2}),
        (["--pyss3", "--max-ngram", "2"], PYSS3 | {"max_ngram": 2}),
        (["--prune-period", "5", "--prune-floor", "0"], {"prune_period": 5, "prune_floor": 0}),
    ],
)  # fmt: skip
def test_train_takes_every_parameter(texts, arguments, parameters):
    records("train", texts, "-o", "model.ww", *arguments)
    expected = taught_in_python(**parameters)
    assert ww.TauSS3.load("model.ww").parameters == expected.parameters


def test_every_plain_parameter_of_the_model_is_an_option():
    known = {name.replace("_", "-") for name in ww.TauSS3().parameters}
    shown = call("train", "--help").output
    for name in known - {"word-hook", "tokenizer"}:
        assert f"--{name}" in shown


def test_training_can_go_on(texts, model):
    records("train", texts, "-o", "more.ww", "--add-to", model)
    twice = taught_in_python()
    twice.merge(taught_in_python())
    assert ww.TauSS3.load("more.ww").fingerprint == twice.fingerprint
    assert ww.TauSS3.load(model).fingerprint == taught_in_python().fingerprint


def test_training_can_go_on_in_place(texts, model):
    records("train", texts, "-o", model, "--add-to", model)
    assert ww.TauSS3.load(model).statistics.documents == {"at risk": 4, "control": 4}


def test_train_can_prune_at_the_end(texts):
    [told] = records("train", texts, "-o", "model.ww", "--prune", 1)
    assert told["pruned"] is True
    assert told["ngrams"] < list(taught_in_python().statistics.ngrams)


def test_train_prints_how_the_model_was_refined(texts):
    [told] = records("train", texts, "-o", "model.ww")
    assert told["refinement"]["texts"] == 4
    assert not told["refinement"]["learnt"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-refine"],
        ["--paper"],
        ["--pyss3"],
        ["--prune", "1"],
        ["--prune-period", "1000"],
        ["--summary", "max"],
        ["--no-refine", "--prune", "1"],
    ],
)
def test_train_only_counts_where_refinement_is_off(texts, arguments):
    [told] = records("train", texts, "-o", "model.ww", *arguments)
    assert told["refinement"] is None


def test_adding_texts_keeps_corrections_and_marks_them_stale(texts):
    records("train", texts, "-o", "model.ww")
    [told] = records("train", texts, "-o", "more.ww", "--add-to", "model.ww")
    assert (told["refinement"]["texts"], told["refinement"]["learnt"]) == (4, 4)


def test_pruned_counts_are_refined_on_request(texts):
    [told] = records("train", texts, "-o", "model.ww", "--prune", 1, "--refine")
    expected = taught_in_python()
    expected.prune(1)
    expected.refine([one["text"] for one in TEXTS], [one["label"] for one in TEXTS])
    assert told["fingerprint"] == expected.fingerprint


@pytest.mark.parametrize("arguments", [["--prune", 2], ["--smoothness", 0.4]])
def test_lost_corrections_are_fitted_again_to_enough_new_texts(texts, arguments):
    records("train", texts, "-o", "model.ww")
    [told] = records("train", texts, "-o", "more.ww", "--add-to", "model.ww", *arguments)
    assert told["refinement"]["texts"] == 4
    assert not told["refinement"]["learnt"]


@pytest.mark.parametrize("arguments", [["--prune", 1], ["--smoothness", 0.4]])
def test_corrections_that_a_few_new_texts_cannot_replace_are_dropped(texts, here, arguments):
    records("train", texts, "-o", "model.ww")
    write_lines(here / "new.jsonl", [TEXTS[0]] * 4)  # of one label
    done = call("train", "new.jsonl", "-o", "more.ww", "--add-to", "model.ww", *arguments)
    assert json.loads(done.stdout)["refinement"] is None
    assert "more.ww is not refined, although model.ww is" in done.stderr
    [told] = records("inspect", "more.ww")
    assert told["refinement"] is None


def test_adding_texts_to_a_refined_model_cannot_refine_it_on_request(texts):
    records("train", texts, "-o", "model.ww")
    arguments = ["train", texts, "-o", "more.ww", "--add-to", "model.ww", "--refine"]
    assert "--refine and --add-to cannot be used together" in failure(*arguments, code=2)


def test_a_preset_can_be_refined_on_request(texts):
    [told] = records("train", texts, "-o", "model.ww", "--paper", "--refine")
    assert told["refinement"]["texts"] == 4


def test_posts_are_refined_only_on_request(here):
    posts = [one | {"subject": one["id"]} for one in TEXTS]
    write_lines(here / "posts.jsonl", posts)
    [told] = records("train", "posts.jsonl", "-o", "model.ww")
    assert told["refinement"] is None
    records("train", "posts.jsonl", "-o", "model.ww", "--refine")
    expected = refined_in_python(cost=0.1, balanced=True)
    assert ww.TauSS3.load("model.ww").fingerprint == expected.fingerprint


def test_texts_beside_posts_are_not_refined_either(here):
    posts = [one | {"subject": one["id"]} for one in TEXTS]
    write_lines(here / "both.jsonl", [*TEXTS, *posts])
    [told] = records("train", "both.jsonl", "-o", "model.ww")
    assert (told["learnt"], told["refinement"]) == (8, None)


def test_numbers_are_labels_too(here):
    write_lines(here / "t.jsonl", [{"text": "yes", "label": 1}, {"text": "no", "label": 0}])
    records("train", "t.jsonl", "-o", "model.ww", "--default-label", "0")
    assert ww.TauSS3.load("model.ww").labels == (0, 1)
    [said] = records("classify", "model.ww", "--text", "unknown")
    assert said["label"] == 0
    assert records("inspect", "model.ww", "--top", 1, "--label", "1")[0]["ngram"] == "yes"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "texts.jsonl, line 2: not JSON"),
        ('{"text": "hello"}', 'texts.jsonl, line 2: "label" is missing'),
        (
            '{"text": "hello", "subject": "ann"}',
            'line 2: "label" is missing here and in earlier lines',
        ),
        ('{"label": "x"}', 'texts.jsonl, line 2: "text" is missing'),
        ('{"text": "hello", "label": 1.5}', "texts.jsonl, line 2: a label must be text"),
    ],
)
def test_bad_lines_are_named_and_nothing_is_written(here, line, message):
    (here / "texts.jsonl").write_text(json.dumps(TEXTS[0]) + "\n" + line + "\n")
    assert message in failure("train", "texts.jsonl", "-o", "model.ww")
    assert not (here / "model.ww").exists()


def test_bad_lines_can_be_skipped(here):
    good, bad = map(json.dumps, TEXTS), ["{"] * 3
    (here / "texts.jsonl").write_text("\n".join([*bad, *good]))
    done = call("train", "texts.jsonl", "-o", "model.ww", "--bad-lines", "skip")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["learnt"] == len(TEXTS)
    assert [f"line {number}:" in done.stderr for number in (1, 2, 3)] == [True] * 3
    assert done.stderr.endswith("skipped: 3 lines in total\n")


def test_a_model_file_is_refused_as_data(model):
    message = failure("train", model, "-o", "other.ww")
    assert f"{model} is a zip file or a model of watchword, not data" in message


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.jsonl", "-o", "model.ww"], 1, "nothing.jsonl: No such file"),
        (["empty.jsonl", "-o", "model.ww"], 1, "empty.jsonl is empty"),
        (["texts.jsonl"], 2, "Missing option '-o'"),
        (["-o", "model.ww"], 2, "Missing argument 'DATA...'"),
        (["texts.jsonl", "-o", "no/model.ww"], 2, "folder 'no' does not exist"),
        (
            ["texts.jsonl", "-o", "m.ww", "--smoothness", "3"],
            2,
            "'--smoothness': must be in",
        ),
        (["texts.jsonl", "-o", "m.ww", "--smoothness", "x"], 2, "'x' is not a number"),
        (["texts.jsonl", "-o", "m.ww", "--max-ngram", "2.5"], 2, "'2.5' is not a whole number"),
        (
            ["texts.jsonl", "-o", "m.ww", "--summary", "median"],
            2,
            "'median' is not one of sum, max, mean\n",
        ),
        (["texts.jsonl", "-o", "m.ww", "--summary", "sentence=x"], 2, "'x' is not one of sum, max"),
        (["texts.jsonl", "-o", "m.ww", "--summary", "word=max"], 2, "'--summary': has levels"),
        (["texts.jsonl", "-o", "m.ww", "--summary", "sentence=max,x"], 2, "is not like sentence="),
        (["texts.jsonl", "-o", "m.ww", "--default-label", "x"], 1, "unknown label 'x'"),
        (["texts.jsonl", "-o", "m.ww", "--field", "body"], 2, "'body' is not like text=body"),
        (["texts.jsonl", "-o", "m.ww", "--field", "body=x"], 2, "unknown field 'body'"),
        (["texts.jsonl", "-o", "m.ww", "--add-to", "no.ww"], 1, "no.ww: No such file"),
        (["texts.jsonl", "-o", "m.ww", "--add-to", "x", "--paper"], 2, "cannot be used together"),
        (
            ["texts.jsonl", "-o", "m.ww", "--refine", "--prune-period", "1000"],
            2,
            "--refine and --prune-period cannot be used together",
        ),
        (
            ["texts.jsonl", "-o", "m.ww", "--refine", "--summary", "max"],
            1,
            "only models with the summary 'sum' can be refined",
        ),
        (
            ["texts.jsonl", "-o", "m.ww", "--paper", "--pyss3"],
            2,
            "--paper and --pyss3 cannot be used",
        ),
    ],
)
def test_train_errors(texts, arguments, code, message):
    (texts.parent / "empty.jsonl").touch()
    assert message in failure("train", *arguments, code=code)
    assert not (texts.parent / "m.ww").exists()


def test_mixed_label_types_are_reported_with_their_line(texts):
    lines = [{"text": "a", "label": 1}, {"text": "b", "label": "x"}]
    two = write_lines(texts.parent / "two.jsonl", lines)
    assert "two.jsonl, line 2: the label 'x' is text, unlike those before it" in failure(
        "train", two, "-o", "m.ww"
    )
    done = call("train", two, "-o", "m.ww", "--bad-lines", "skip")
    assert json.loads(done.stdout)["learnt"] == 1


def test_in_tables_labels_of_a_model_of_numbers_are_text(texts):
    folder = texts.parent
    rows = [{"text": "good day", "label": 1}, {"text": "bad night", "label": 2}]
    records("train", write_lines(folder / "numbers.jsonl", rows), "-o", "numbers.ww")
    (folder / "numbers.csv").write_text("text,label\ngood day,1\nbad night,2\nso so,3\n")
    [told] = records("classify", "numbers.ww", "numbers.csv", "--accuracy")
    assert (told["right"], told["recall"]) == (2, {"1": 1, "2": 1, "3": 0})
    records("train", "numbers.csv", "-o", "more.ww", "--add-to", "numbers.ww")
    assert ww.TauSS3.load("more.ww").labels == (1, 2, 3)
    (folder / "words.csv").write_text("text,label\ngood day,good\n")
    assert "the label 'good' is text, unlike those of the model" in failure(
        "train", "words.csv", "-o", "more.ww", "--add-to", "numbers.ww"
    )


# classify


def test_classify_equals_python(texts, model):
    found = records("classify", model, texts)
    taught = taught_in_python()
    for said, one in zip(found, TEXTS, strict=True):
        assert said["id"] == one["id"]
        assert said["label"] == taught.predict_one(one["text"])
        assert said["confidence"] == taught.confidence_one(one["text"])


def test_classify_reads_standard_input(model):
    lines = '{"text": "drained"}\n\n{"text": "lovely"}'
    found = records("classify", model, input=lines)
    assert [said["label"] for said in found] == ["at risk", "control"]


def test_classify_answers_as_soon_as_a_text_arrives(model):
    with started("classify", model) as process:
        for text, label in (("drained", "at risk"), ("lovely", "control")):
            say(process, {"text": text})
            assert next_line(process)["label"] == label


def test_classify_takes_texts_as_arguments(model):
    found = records("classify", model, "--text", "drained", "--text", "lovely")
    assert [said["label"] for said in found] == ["at risk", "control"]


def test_classify_can_give_several_labels(model):
    text = "drained, lovely"
    [said] = records("classify", model, "--text", text, "--several")
    assert said["labels"] == list(taught_in_python().predict_labels_one(text))


def test_classify_can_print_probabilities(texts):
    records("train", texts, "-o", "model.ww")
    [said] = records("classify", "model.ww", "--text", "a lovely garden", "--probabilities")
    refined = refined_in_python()
    expected = refined.probability_one("a lovely garden")
    assert said == {"label": refined.predict_one("a lovely garden"), "probability": expected}


def test_probabilities_of_a_counted_model_are_shares(model):
    [said] = records("classify", model, "--text", "lovely", "--probabilities")
    assert said == {"label": "control", "probability": {"at risk": 0.0, "control": 1.0}}


def test_classify_names_the_subject_of_a_post(here, model):
    write_lines(here / "posts.jsonl", [{"subject": "ann", "posts": ["drained", "lovely"]}])
    found = records("classify", model, "posts.jsonl")
    assert [(said["subject"], said["label"]) for said in found] == [
        ("ann", "at risk"),
        ("ann", "control"),
    ]


def test_accuracy_counts_the_labels_found(texts, model):
    [told] = records("classify", model, texts, "--accuracy")
    assert told["texts"] == told["right"] == 4
    assert told["accuracy"] == 1
    assert told["recall"] == {"at risk": 1, "control": 1}


def test_accuracy_needs_labels(model):
    message = failure("classify", model, "--accuracy", input='{"text": "so"}')
    assert 'standard input, line 1: "label" is missing: --accuracy needs labelled data' in message
    assert "no text has a label" in failure("classify", model, "--accuracy", input="")
    message = failure("classify", model, "--text", "so", "--accuracy", code=2)
    assert "--accuracy needs labelled data (use DATA instead of --text)" in message


def test_texts_before_a_bad_line_are_classified(model):
    done = call("classify", model, input='{"text": "drained"}\nso what\n{"text": "lovely"}\n')
    assert done.exit_code == 1
    assert [json.loads(line)["label"] for line in done.stdout.splitlines()] == ["at risk"]
    assert "standard input, line 2: not JSON" in done.stderr


def test_classify_as_a_table(model):
    shown = call("classify", model, "--text", "drained", "--table").stdout
    assert shown.splitlines()[0].split() == [
        "label", "confidence", "at", "risk", "confidence", "control"
    ]  # fmt: skip
    assert "at risk" in shown.splitlines()[1]


def test_large_inputs_are_read_in_batches(here, model):
    lines = [{"text": "drained", "id": number} for number in range(20_000)]
    write_lines(here / "many.jsonl", lines)
    found = records("classify", model, "many.jsonl")
    assert [said["id"] for said in found] == [str(one["id"]) for one in lines]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.ww"], 1, "nothing.ww: No such file"),
        (["damaged.ww"], 1, "damaged.ww is not a watchword model"),
        (["model.ww", "nothing.jsonl"], 1, "nothing.jsonl: No such file"),
        (["model.ww", "texts.jsonl", "--text", "x"], 2, "cannot be used together"),
        (["model.ww", "--several", "--accuracy"], 2, "cannot be used together"),
        (["model.ww", "--probabilities", "--accuracy"], 2, "cannot be used together"),
        (["empty.ww", "--text", "x"], 1, "has not learnt"),
    ],
)
@pytest.mark.usefixtures("model", "texts")
def test_classify_errors(here, arguments, code, message):
    (here / "damaged.ww").write_bytes(b"so what")
    ww.TauSS3().save(here / "empty.ww")
    assert message in failure("classify", *arguments, code=code)


# inspect


def test_inspect_prints_a_summary(model):
    [told] = records("inspect", model)
    taught = taught_in_python()
    assert told["labels"] == list(taught.labels)
    assert told["fingerprint"] == taught.fingerprint
    assert told["words"] == taught.statistics.words
    assert told["ngrams"] == list(taught.statistics.ngrams)
    assert told["parameters"]["smoothness"] == taught.parameters["smoothness"]


def test_inspect_says_how_a_model_is_refined(model):
    [told] = records("inspect", model)
    assert told["refinement"] is None
    taught = ww.TauSS3.load(model)
    taught.refine([one["text"] for one in TEXTS], [one["label"] for one in TEXTS])
    taught.learn_one("another text", "control")
    taught.save(model)
    [told] = records("inspect", model)
    said = "refined on 4 texts; 1 document learnt since then"
    assert told["refinement"] == {
        "text": said,
        "texts": 4,
        "documents": 4,
        "learnt": 1,
        "unlearnt": 0,
        "cost": 1.0,
        "temperature": 1.0,
    }
    assert said in call("inspect", model, "--table").stdout
    assert said in call("inspect", model, "--html", "-").stdout


def test_inspect_lists_the_best_ngrams(model):
    found = records("inspect", model, "--top", 2, "--label", "at risk", "--length", 2)
    expected = taught_in_python().top_ngrams("at risk", 2, 2)
    assert found == [{"label": "at risk"} | one._asdict() for one in expected]
    assert len(records("inspect", model, "--top", 2)) == 4


def test_inspect_prints_the_value_of_an_ngram(model):
    found = records("inspect", model, "--value", "cannot sleep")
    assert {one["label"]: one["count"] for one in found} == {"at risk": 2, "control": 0}
    assert found[0]["cv"] == taught_in_python().value("cannot sleep")["at risk"].cv


def test_inspect_lists_the_words_that_follow(model):
    [found] = records("inspect", model, "--next", "cannot")
    assert found == {"ngram": "cannot", "word": "sleep", "count": 2, "probability": 1}


@pytest.mark.usefixtures("here")
def test_inspect_table_makes_control_characters_visible():
    model = ww.TauSS3()
    model.learn_one("hello", "a\x1b[31m label")
    model.save("model.ww")
    shown = call("inspect", "model.ww", "--table").stdout
    assert "a␛[31m label" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--top", "0"], 2, "Invalid value for '--top'"),
        (["--top", "3", "--label", "x"], 1, "unknown label 'x'; the model has 'at risk', 'con"),
        (["--top", "3", "--value", "x"], 2, "cannot be used together"),
        (["--length", "3"], 2, "--length requires --top"),
        (["--top", "3", "--length", "9"], 1, "length must be from 1 to 3"),
        (["--value", "..."], 1, ""),
        (["--value", "zzzz"], 1, "the model has no n-gram 'zzzz'"),
        (["--value", "zzzz", "--html", "-"], 1, "the model has no n-gram 'zzzz'"),
        (["--next", "zzzz"], 1, "the model has no n-gram 'zzzz'"),
    ],
)
def test_inspect_errors(model, arguments, code, message):
    said = failure("inspect", model, *arguments, code=code)
    assert message in said
    assert "unexpected" not in said


def test_inspect_prints_the_zeros_of_a_label_that_lacks_an_ngram(model):
    [told] = records("inspect", model, "--value", "garden", "--label", "at risk")
    assert told["count"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "m.ww is not a watchword model: it is empty"),
        (b"my notes", "m.ww is not a watchword model\n"),
        (
            b"PK\x03\x04" + bytes(100),
            "m.ww is not a watchword model, or is incomplete or corrupt\n",
        ),
    ],
    ids=["empty", "text", "cut off"],
)
def test_a_file_that_is_no_model_is_named_plainly(here, content, message):
    (here / "m.ww").write_bytes(content)
    assert message in failure("inspect", "m.ww")


# convert

OLD = Path(__file__).parents[1] / "data" / "old.ss3m"  # saved by PySS3


def test_converted_model_has_the_values_of_pyss3(here):
    [told] = records("convert", OLD, "new.ww")
    assert told["labels"] == ["7", "7 (int)", "bikes", "garden", "nothing"]
    write_lines(here / "texts.jsonl", [{"text": "tomato plants, my road bike"}])
    [found] = records("classify", "new.ww", "texts.jsonl")
    expected = {"bikes": 2.228023271943189, "garden": 2.0, "7 (int)": 0.3749999999976405}
    assert {name: found["confidence"][name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{}", "is not a PySS3 model"), (OLD.read_bytes()[:-9], "is not a PySS3 model")],
)
def test_convert_refuses_a_damaged_file_in_one_line(here, content, message):
    (here / "old.ss3m").write_bytes(content)
    told = failure("convert", "old.ss3m", "new.ww")
    assert message in told
    assert told.count("\n") == 1
    assert not (here / "new.ww").exists()


def test_convert_needs_a_folder_that_exists(here):
    assert "missing" in failure("convert", OLD, "missing/new.ww", code=2)
    assert not list(here.iterdir())
