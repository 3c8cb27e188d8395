"""Output of the command line: bytes in pipes and files, visible text on terminals, full disks."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import watchword as ww
from command_line import ENVIRONMENT, call, failure, run_on_terminal, write_lines

posix = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal or /dev/full")

RED = "\x1b[31m"
HOSTILE = ["ann", f"ann{RED}", "ann\x9b31m", "\u202enna", "a\u2066nn\u200b", "ann\x07\r\x08", "änn"]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tcmd", "\rcmd", "＝1"]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f]")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Write a model, and data with ids that a terminal or a spreadsheet would interpret."""
    folder = tmp_path_factory.mktemp("output")
    people = ww.make_risk_streams(30, seed=1)
    model = ww.TauSS3()
    ww.teach(model, people)
    model.save(folder / "model.ww")
    posts = [(one.label, [post.text for post in one.posts]) for one in people]
    for name, ids in (("hostile", HOSTILE), ("formulas", FORMULAS)):
        lines = [
            {"subject": own, "label": label, "posts": texts}
            for own, (label, texts) in zip(ids, posts, strict=False)
        ]
        write_lines(folder / f"{name}.jsonl", lines)
    named = {"control": "=control", "at risk": f"at {RED}risk\u202eü"}
    texts = [{"text": text, "label": named[str(label)]} for label, own in posts for text in own]
    write_lines(folder / "labels.jsonl", texts)
    return folder


@pytest.fixture(autouse=True)
def inside(here, monkeypatch):
    monkeypatch.chdir(here)


def piped(*arguments, stdout=subprocess.PIPE):
    """Run a command in a pipe; return its exit code, output and messages."""
    done = subprocess.run(
        [sys.executable, "-m", "watchword", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode()


EVALUATE = ("evaluate", "model.ww", "hostile.jsonl", "--positive", "at risk")
VALIDATE = ("validate", "labels.jsonl", "--folds", "2")
SEARCH = ("search", "labels.jsonl", "--try", "max-ngram=1,2", "--folds", "2")


def subjects_in(data):
    return [row["subject"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]


def test_csv_in_a_pipe_equals_csv_in_a_file(here):
    code, data, said = piped(*EVALUATE, "--csv", "-")
    assert (code, said) == (0, "")
    assert call(*EVALUATE, "--csv", "file.csv").exit_code == 0
    assert data == (here / "file.csv").read_bytes()
    assert subjects_in(data) == HOSTILE


@posix
def test_csv_on_a_terminal_is_made_visible():
    code, seen = run_on_terminal(*EVALUATE, "--csv", "-")
    assert code == 0
    assert "ann␛[31m" in seen
    assert not OBEYED.search(seen.replace("\r\n", "\n"))


@pytest.mark.parametrize("command", [EVALUATE, VALIDATE, SEARCH], ids=lambda one: one[0])
def test_json_is_ascii_in_pipes_and_files(here, command):
    code, data, said = piped(*command, "--json", "-")
    assert (code, said) == (0, "")
    assert data.isascii()
    assert call(*command, "--json", "file.json").exit_code == 0
    assert (here / "file.json").read_bytes().isascii()


def test_json_in_a_pipe_keeps_ids_apart():
    data = json.loads(piped(*EVALUATE, "--json", "-")[1])
    assert [one["subject"] for one in data["subjects"]] == HOSTILE


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        (*EVALUATE, "--json", "-"),
        (*VALIDATE, "--csv", "-"),
        (*VALIDATE, "--table", "--repeats", "2"),
        (*SEARCH, "--json", "-"),
        ("classify", "model.ww", "hostile.jsonl", "--table"),
        ("watch", "model.ww", "hostile.jsonl", "--positive", "at risk", "--final", "--table"),
        ("watch", "model.ww", "hostile.jsonl", "--positive", "at risk", "--final"),
        ("serve", "model.ww", "hostile.jsonl", "--get", "/api/subjects"),
    ],
    ids=lambda arguments: " ".join(arguments[::3]),
)
def test_terminal_output_has_no_control_characters(arguments):
    code, seen = run_on_terminal(*arguments, TERM="dumb", NO_COLOR="1")
    # What a progress bar does to its own line is no data.
    shown = re.sub(r"\x1b\[(\?25[lh]|\d*[AK]|2K|[0-9;]*m)", "", seen).replace("\r", "")
    assert code == 0, seen
    assert RED not in seen
    assert not OBEYED.search(shown)


@posix
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("inspect", f"no{RED}.ww"), 1),
        (("inspect", "model.ww", "--label", f"no{RED}\u202e"), 1),
        (("classify", "model.ww", f"no{RED}.jsonl"), 1),
        (("train", "labels.jsonl", "-o", f"no{RED}/x"), 2),
        (("train", "labels.jsonl", "-o", "m.ww", "--max-ngram", f"{RED}"), 2),
        (("explain", "model.ww", f"no{RED}.csv"), 2),
        ((f"no{RED}",), 2),
        ((f"--no{RED}",), 2),
        (("--debug", "inspect", f"no{RED}.ww"), 1),
    ],
    ids=range(9),
)
def test_messages_on_a_terminal_are_made_visible(arguments, code):
    ended, seen = run_on_terminal(*arguments, NO_COLOR="1")
    assert ended == code
    assert "Error" in seen
    assert not OBEYED.search(seen.replace("\r\n", "\n"))


# Spreadsheets


def test_formulas_are_left_alone_by_default():
    arguments = ("evaluate", "model.ww", "formulas.jsonl", "--positive", "at risk", "--csv", "-")
    assert subjects_in(piped(*arguments)[1]) == FORMULAS


def test_spreadsheet_safe_escapes_formulas():
    arguments = ("evaluate", "model.ww", "formulas.jsonl", "--positive", "at risk", "--csv", "-")
    data = piped(*arguments, "--spreadsheet-safe")[1]
    assert subjects_in(data) == [f"'{one}" for one in FORMULAS]


@pytest.mark.parametrize("command", [VALIDATE, SEARCH], ids=lambda one: one[0])
def test_spreadsheet_safe_keeps_numbers(command):
    plain, safe = (
        list(csv.reader(io.StringIO(piped(*command, "--csv", "-", *more)[1].decode(), newline="")))
        for more in ((), ("--spreadsheet-safe",))
    )
    changed = {
        (a, b) for one, two in zip(plain, safe, strict=True) for a, b in zip(one, two, strict=True)
    }
    assert {(a, b) for a, b in changed if a != b} <= {("=control", "'=control")}


def test_spreadsheet_safe_keeps_negative_numbers():
    from watchword._display import csv_of

    rows = [{"a": -0.5, "b": -3, "c": "-3"}]
    assert csv_of(rows, spreadsheet_safe=True) == "a,b,c\n-0.5,-3,'-3\n"


def test_spreadsheet_safe_needs_csv():
    assert "--spreadsheet-safe requires --csv" in failure(*EVALUATE, "--spreadsheet-safe", code=2)


# Full disks


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "model.ww"),
        ("inspect", "model.ww", "--table"),
        (*EVALUATE, "--csv", "-"),
        ("watch", "model.ww", "hostile.jsonl", "--positive", "at risk", "--table"),
    ],
    ids=range(4),
)
def test_full_disk_is_reported_once(arguments):
    with Path("/dev/full").open("wb") as full:
        code, _, said = piped(*arguments, stdout=full)
    assert code == 1
    assert said == (
        "Error: standard output: No space left on device: free some space, or write to another "
        "disk\n"
    )


@posix
def test_state_has_no_alert_lost_to_a_full_disk(here):
    arguments = ("watch", "model.ww", "hostile.jsonl", "--positive", "at risk", "--state", "state")
    with Path("/dev/full").open("wb") as full:
        assert piped(*arguments, stdout=full)[0] == 1
    assert not (here / "state").exists()


@posix
def test_no_alert_is_lost_after_an_incomplete_line(here):
    arguments = ("watch", "model.ww", "hostile.jsonl", "--positive", "at risk", "--final")
    expected = piped(*arguments)[1]
    (here / "alerts").write_bytes(b'{"event": "ale')
    with (here / "alerts").open("ab") as output:
        assert piped(*arguments, stdout=output)[0] == 0
        assert piped(*arguments, stdout=output)[0] == 0  # nothing is torn now
    assert (here / "alerts").read_bytes() == b'{"event": "ale\n' + expected * 2


@posix
def test_a_full_disk_names_the_file_on_the_command_line():
    said = failure("train", "labels.jsonl", "-o", "/dev/full")
    assert said.startswith("Error: /dev/full: No space left on device: free some space")


# Words


@pytest.mark.parametrize(
    ("lines", "verb", "advice"),
    [
        ('{"body": "a"}', ("train", "-o", "m.ww"), "--field text=NAME"),
        ('{"text": "a"}', ("train", "-o", "m.ww"), "--field label=NAME"),
        ('{"text": "a"}', ("watch", "--positive", "at risk"), "--field subject=NAME"),
        ('{"text": "a"}', ("evaluate", "--positive", "at risk"), "--field subject=NAME"),
        ('{"subject": "a"}', ("report", "--positive", "at risk", "-o", "x"), "--field text=NAME"),
    ],
)
def test_messages_name_options_and_no_arguments(here, lines, verb, advice):
    (here / "bad.jsonl").write_text(lines, encoding="utf-8")
    (here / "bad.csv").write_text("one,two\n1,2\n", encoding="utf-8")
    name, *options = verb
    model = [] if name == "train" else ["model.ww"]
    said = call(name, *model, "bad.jsonl", *options).stderr
    assert f"(use {advice})" in said
    assert "=…" not in said
    said = call(name, *model, "bad.csv", *options).stderr
    assert re.search(r"\(use --field (text|subject)=NAME\)", said)
    assert "=…" not in said
    assert "delimiter" not in said


def test_the_library_names_arguments(here):
    (here / "bad.csv").write_text("one,two\n1,2\n", encoding="utf-8")
    with pytest.raises(ww.errors.DataFormatError, match=r"\(pass subject=… or delimiter=…\)$"):
        ww.read_subjects(here / "bad.csv", kind="csv")
