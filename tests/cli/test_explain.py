"""explain and report."""

import gzip
import json

import pytest

import watchword as ww
from command_line import call, failure, records, run
from watchword.data import write_jsonl
from watchword.explain.text_view import largest_contributions

PEOPLE = ww.make_risk_streams(24, seed=3, prevalence=0.4, posts_per_subject=(8, 16))
OTHERS = ww.make_risk_streams(12, seed=6, prevalence=0.4, posts_per_subject=(8, 16))
TEXT = "I cannot sleep, so I work. What a lovely garden!"


def taught():
    model = ww.TauSS3.paper()
    ww.teach(model, PEOPLE)
    return model


def refined():
    model = taught()
    posts = [(post.content, one.label) for one in PEOPLE for post in one.posts]
    model.refine([text for text, _ in posts], [label for _, label in posts])
    return model


ALERTED = ww.Overtakes("at risk", margin=0.3).after(2)
RISKY = next(
    one for one in OTHERS if one.label == "at risk" and taught().story(one, ALERTED).decision
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl("others.jsonl", OTHERS)
    taught().save("model.ww")
    return tmp_path


def printed(*arguments, **options):
    done = call("explain", "model.ww", *arguments, **options)
    assert done.exit_code == 0, done.output
    return done.stdout


# explain: a text


@pytest.mark.usefixtures("here")
def test_explain_text_shows_strongest_ngrams_and_change():
    output = printed("--text", TEXT)
    assert output.startswith(TEXT)
    model = taught()
    assert f"Largest contributions to {model.predict_one(TEXT)!r}" in output
    assert str(model.what_would_change(TEXT)) in output


@pytest.mark.usefixtures("here")
def test_explain_shows_both_parts_of_refined_contributions():
    model = refined()
    model.save("model.ww")
    output = printed("--text", TEXT)
    explanation = model.explain(TEXT)
    assert min(explanation.value) < 0
    for label, *numbers in zip(
        explanation.labels, explanation.value, explanation.bias, strict=True
    ):
        [row] = [line for line in output.splitlines() if line.startswith(label)]
        found = [float(cell) for cell in row.removeprefix(label).split()[:2]]
        assert found == pytest.approx(numbers, abs=5e-4)
    lines = output.splitlines()
    heading = lines.index(f"Largest contributions to {explanation.label!r}")
    assert lines[heading + 1].split() == [
        "ngram",
        "value",
        "times",
        "total",
        "counted",
        "corrected",
    ]
    for line, one in zip(
        lines[heading + 2 :], largest_contributions(explanation, n=5), strict=False
    ):
        *_, total, counted, corrected = line.split()
        assert line.startswith(one.ngram)
        assert float(total) == pytest.approx(one.total, abs=5e-4)
        assert float(counted) == pytest.approx(one.counted, abs=5e-4)
        assert float(corrected) == pytest.approx(one.corrected, abs=5e-4)
    assert str(model.what_would_change(TEXT)) in output


@pytest.mark.usefixtures("here")
def test_the_json_of_a_refined_explanation_has_all_ngrams_and_the_bias():
    model = refined()
    model.save("model.ww")
    plain = json.loads(printed("--text", TEXT, "--json", "-"))
    explanation = model.explain(TEXT)
    assert plain["bias"] == list(explanation.bias)
    assert plain["ngrams"] == [one.to_dict() for one in explanation.ngrams]
    assert plain["changes"] == [model.what_would_change(TEXT).to_dict()]


@pytest.mark.usefixtures("here")
def test_a_story_of_a_refined_model_is_printed():
    model = refined()
    model.save("model.ww")
    output = printed(
        "others.jsonl", "--subject", RISKY.id, "--positive", "at risk", "--policy", "overtakes"
    )
    story = model.story(RISKY, ww.Overtakes("at risk"))
    assert story.decision
    assert story.tipped.ngrams_for[0].ngram in output
    assert str(story.what_would_cancel()) in output


def test_a_text_may_come_from_a_file_or_a_pipe(here):
    (here / "text.txt").write_text(TEXT, encoding="utf-8-sig")
    assert printed("text.txt") == printed(input=TEXT) == printed("-", input=TEXT)
    assert printed("text.txt") == printed("--text", TEXT)


def test_a_text_may_be_compressed(here):
    packed = gzip.compress(TEXT.encode("utf-8-sig"))
    (here / "text.txt.gz").write_bytes(packed)
    assert printed("text.txt.gz") == printed("-", input=packed) == printed("--text", TEXT)


@pytest.mark.usefixtures("here")
def test_a_text_can_be_painted_for_another_label():
    assert "Largest contributions to 'control'" in printed("--text", TEXT, "--label", "control")


def test_a_text_can_be_painted_for_all_labels(here):
    assert printed("--text", TEXT, "--all-labels", "--html", "all.html") == ""
    page = (here / "all.html").read_text(encoding="utf-8")
    assert page.count(" checked>") == 2
    assert 'id="ww-la" checked>' in page


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("other", [("--label", "control"), ("--subject", "a")])
def test_all_labels_exclude_one_label_and_subjects(other):
    given = ("model.ww", "others.jsonl", "--all-labels", "--positive", "at risk", "--subject", "a")
    message = failure("explain", *given, *other, code=2)
    assert "--all-labels cannot be combined" in message


def test_explain_text_writes_html(here):
    assert printed("--text", TEXT, "--html", "why.html") == ""
    page = (here / "why.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "What would change the label" in page
    assert printed("--text", TEXT, "--html", "-") == page


def test_explain_text_writes_json(here):
    printed("--text", TEXT, "--json", "why.json")
    plain = json.loads((here / "why.json").read_text())
    assert plain["text"] == TEXT
    assert plain["changes"] == [taught().what_would_change(TEXT).to_dict()]


def test_explain_makes_control_characters_visible(here):
    (here / "bad.txt").write_bytes(b"tired \xff\x1b[31m garden")
    assert "\x1b" not in printed("bad.txt")


# explain: a subject


def subject(*arguments, who=RISKY.id):
    return printed("others.jsonl", "--subject", who, "--positive", "at risk", *arguments)


@pytest.mark.usefixtures("here")
def test_explain_subject_shows_the_decision_of_python():
    story = taught().story(RISKY, ALERTED)
    output = subject("--policy", "overtakes(margin=0.3) after 2")
    assert f"Alert for 'at risk' after {story.decision.delay} of {len(RISKY.posts)} posts" in output
    assert "The true label is 'at risk': right." in output
    assert story.tipped.ngrams_for[0].ngram in output
    assert str(story.what_would_delay()) in output
    assert str(story.what_would_cancel()) in output


@pytest.mark.usefixtures("here")
def test_a_subject_without_an_alert():
    output = subject("--policy", "overtakes(margin=1000)")
    assert output.startswith("No alert for 'at risk' in ")
    assert "would be no alert" not in output


def test_explain_subject_writes_html_and_json(here):
    assert subject("--html", "why.html", "--json", "why.json") == ""
    assert f"The story of {RISKY.id}" in (here / "why.html").read_text(encoding="utf-8")
    plain = json.loads((here / "why.json").read_text())
    assert plain == taught().story(RISKY, ww.Overtakes("at risk")).to_dict()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.ww", "--text", "x"], 1, "no.ww: No such file"),
        (["model.ww", "no.txt"], 1, "no.txt: No such file"),
        (["model.ww", "--text", "x", "--label", "y"], 1, "unknown label 'y'; the model has"),
        (["model.ww", "others.jsonl", "--text", "x"], 2, "--text cannot be combined with DATA"),
        (["model.ww", "--text", "x", "--positive", "at risk"], 2, "--positive requires"),
        (["model.ww", "others.jsonl"], 2, "others.jsonl contains many texts (choose a subject"),
        (["model.ww", "others.CSV.gz"], 2, "others.CSV.gz contains many texts"),
        (["model.ww", "--subject", "x", "--positive", "at risk"], 2, "--subject needs DATA"),
        (["model.ww", "others.jsonl", "--subject", "x"], 2, "--subject needs DATA and --positive"),
        (
            ["model.ww", "others.jsonl", "--subject", "x", "--positive", "at risk"],
            1,
            "unknown subject 'x' in others.jsonl (12 subjects)",
        ),
        (
            ["model.ww", "others.jsonl", "--subject", RISKY.id, "--positive", "x"],
            1,
            "unknown label 'x'",
        ),
        (["model.ww", "--text", "x", "--policy", "x"], 2, "unknown policy"),
        (["model.ww", "--text", "x", "--html", "no/x.html"], 2, "folder 'no' does not exist"),
    ],
)
@pytest.mark.usefixtures("here")
def test_explain_errors(arguments, code, message):
    assert message in failure("explain", *arguments, code=code)


@pytest.mark.usefixtures("here")
def test_explain_rejects_policy_that_compares_subjects():
    arguments = ("others.jsonl", "--subject", RISKY.id, "--positive", "at risk")
    told = failure("explain", "model.ww", *arguments, "--policy", "stands_out")
    assert "a single subject has no story" in told


@pytest.mark.usefixtures("here")
def test_explain_works_with_another_output_encoding():
    done = run("explain", "model.ww", "--text", "tired of 漢字", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "tired of \\u6f22\\u5b57" in done.stdout


# report


def report(*arguments):
    [told] = records(
        "report", "model.ww", "others.jsonl", "--positive", "at risk", "-o", "r.html", *arguments
    )
    return told


def test_a_report_is_one_page(here):
    told = report()
    page = (here / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert told["bytes"] == (here / "r.html").stat().st_size
    assert told["subjects"] == told["stories"] == sum(told["decisions"].values()) == len(OTHERS)
    assert all(one.id in page for one in OTHERS)


@pytest.mark.parametrize("arguments", [["--by", "chunk"], ["--policy", "stands_out"]])
@pytest.mark.usefixtures("here")
def test_a_report_decides_as_evaluate_does(arguments):
    told = report(*arguments)
    measured = records("evaluate", "model.ww", "others.jsonl", "--positive", "at risk", *arguments)
    alerts = told["decisions"].get("found", 0) + told["decisions"].get("false alarm", 0)
    assert alerts == measured[0]["alerts"]


def test_a_report_can_be_made_smaller(here):
    large = report()["bytes"]
    small = report("--stories", 2, "--texts", 0, "--title", "Our <last> try")
    assert small["stories"] == 2
    assert small["bytes"] < large
    assert "<h1>Our &lt;last&gt; try</h1>" in (here / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.ww", "others.jsonl", "--positive", "x", "-o", "r"], 1, "no.ww: No such file"),
        (["model.ww", "no.jsonl", "--positive", "at risk", "-o", "r"], 1, "no.jsonl: No such"),
        (["model.ww", "others.jsonl", "--positive", "x", "-o", "r"], 1, "unknown label 'x'"),
        (["model.ww", "others.jsonl", "--positive", "at risk"], 2, "Missing option '-o'"),
        (
            ["model.ww", "others.jsonl", "--positive", "at risk", "-o", "no/r"],
            2,
            "folder 'no' does not exist",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_report_errors(arguments, code, message):
    assert message in failure("report", *arguments, code=code)
