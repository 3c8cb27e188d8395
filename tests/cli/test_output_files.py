"""Files that commands write: inputs stay whole, and only files of the same kind are replaced."""

import os
import threading
from pathlib import Path

import click
import pytest

from command_line import call, failure, records, run
from watchword.cli import cli
from watchword.cli.files import ClusterOutput, OutputPath

RISK = ("--positive", "at risk")
CHUNKS = "collection/2018 anorexia/test"
PRACTICE = ("erisk", "run", "2018-anorexia", "--data", "collection", "--name", "ours", "-o", "runs")

# A command for each option that names an output, without its value.
OUTPUTS = {
    ("make", "file"): ("make", "--subjects", 5),
    ("train", "output"): ("train", "people.jsonl", "--no-refine", "-o"),
    ("convert", "new"): ("convert", "old.ss3m"),
    ("inspect", "page"): ("inspect", "model.ww", "--html"),
    ("evaluate", "json"): ("evaluate", "model.ww", "people.jsonl", *RISK, "--json"),
    ("evaluate", "csv"): ("evaluate", "model.ww", "people.jsonl", *RISK, "--csv"),
    ("evaluate", "html"): ("evaluate", "model.ww", "people.jsonl", "--posts", "--html"),
    ("evaluate", "pictures"): ("evaluate", "model.ww", "people.jsonl", *RISK, "--picture"),
    ("validate", "json"): ("validate", "people.jsonl", "--folds", 2, "--json"),
    ("validate", "csv"): ("validate", "people.jsonl", "--folds", 2, "--csv"),
    ("validate", "html"): ("validate", "people.jsonl", "--folds", 2, "--html"),
    ("search", "output"): ("search", "people.jsonl", "--trials", 1, "--no-refine", "-o"),
    ("search", "json"): ("search", "people.jsonl", "--trials", 1, "--no-refine", "--json"),
    ("search", "csv"): ("search", "people.jsonl", "--trials", 1, "--no-refine", "--csv"),
    ("search", "html"): ("search", "people.jsonl", "--trials", 1, "--no-refine", "--html"),
    ("explain", "html_file"): ("explain", "model.ww", "--text", "sleep", "--html"),
    ("explain", "json_file"): ("explain", "model.ww", "--text", "sleep", "--json"),
    ("report", "output"): ("report", "model.ww", "people.jsonl", *RISK, "--stories", 0, "-o"),
    ("tune", "output"): ("tune", "people.jsonl", *RISK, "--policy", "overtakes", "-o"),
    ("tune", "json_file"): ("tune", "people.jsonl", *RISK, "--policy", "overtakes", "--json"),
    ("tune", "save_policy"): ("tune", "people.jsonl", *RISK, "--policy", "leaps", "--save-policy"),
    ("tune", "pictures"): ("tune", "people.jsonl", *RISK, "--policy", "reaches", "--picture"),
    ("erisk run", "json_file"): (*PRACTICE, "--json"),
    ("erisk score", "csv"): ("erisk", "score", CHUNKS, "runs", "--csv"),
    ("erisk score", "latex"): ("erisk", "score", CHUNKS, "runs", "--latex"),
    ("service backup", "file"): ("service", "backup"),
}
# Tested below, and where there is a server or a session of Spark.
ELSEWHERE = {
    ("erisk client", "log"),
    ("spark train", "output"),
    ("spark classify", "output"),
    ("spark watch", "output"),
    ("spark watch", "checkpoint"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one of everything that commands read."""
    folder = tmp_path_factory.mktemp("files")
    before = Path.cwd()
    os.chdir(folder)
    try:
        records("make", "people.jsonl", "--subjects", 30)
        records("train", "people.jsonl", "-o", "model.ww")
        Path("old.ss3m").write_bytes((Path(__file__).parents[1] / "data" / "old.ss3m").read_bytes())
        collection = ("erisk", "make", "collection", "--task", "2018-anorexia")
        records(*collection, "--subjects", 40, "--most-writings", 20)
        records(*PRACTICE, "--record")
        records("service", "token", "add", "feed", "--scope", "feed")
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def outputs(group=cli, path=""):
    """Yield the command and the name of each parameter that names an output."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from outputs(command, f"{path}{name} ")
        else:
            for parameter in command.params:
                if isinstance(parameter.type, OutputPath | ClusterOutput):
                    yield f"{path}{name}", parameter.name


def test_all_outputs_are_tested():
    assert set(outputs()) == OUTPUTS.keys() | ELSEWHERE


@pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)
def test_only_a_file_of_the_same_kind_is_replaced(here, output):
    name = "output.svg" if output[1] == "pictures" else "output"
    value = f"delays={name}" if output[1] == "pictures" else name
    command, file = (*OUTPUTS[output], value), here / name
    file.write_text("my notes")
    message = failure(*command, code=2)
    assert "already exists and is not" in message
    assert file.read_text() == "my notes"
    assert call(*command, "--force").exit_code == 0
    written = file.read_bytes()
    assert written != b"my notes"
    assert call(*command).exit_code == 0
    file.write_bytes(b"")
    assert call(*command).exit_code == 0
    assert file.read_bytes() != b""
    file.unlink()


@pytest.mark.usefixtures("here")
def test_a_file_of_another_format_is_no_log_of_answers(tmp_path):
    log = tmp_path / "notes.txt"
    log.write_text("my notes without an end of line")
    practice = ("erisk", "client", "http://127.0.0.1:9", "token", "--model", "model.ww", *RISK)
    assert "is not a log of answers" in failure(*practice, "--log", log, code=2)
    assert log.read_text() == "my notes without an end of line"


SPARK_WATCH = ("spark", "watch", "model.ww", "arriving", *RISK)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("spark", "train", "arriving", "-o", "arriving/1.json"), "which the command reads"),
        (("spark", "train", "arriving/*.json", "-o", "arriving/1.json"), "the command reads it"),
        (("spark", "classify", "model.ww", "arriving", "-o", "arriving"), "the command reads it"),
        (("spark", "classify", "model.ww", "arriving", "-o", "notes"), "already exists"),
        ((*SPARK_WATCH, "--checkpoint", "c", "-o", "arriving/alerts"), "the command reads it"),
        ((*SPARK_WATCH, "--checkpoint", "c", "-o", "c"), "it is also --checkpoint"),
        ((*SPARK_WATCH, "--checkpoint", "c", "-o", "notes"), "is not an output of spark watch"),
        ((*SPARK_WATCH, "--checkpoint", "notes", "-o", "a"), "is not a checkpoint of Spark"),
    ],
)
def test_spark_writes_only_into_folders_of_its_own(here, command, message):
    for name in ("arriving", "notes"):
        (here / name).mkdir(exist_ok=True)
        (here / name / ".hidden").write_text("")
        (here / name / "1.json").write_text('{"text": "my notes"}')
    assert message in failure(*command, code=2)
    assert (here / "notes" / "1.json").read_text() == '{"text": "my notes"}'


@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_a_picture_by_matplotlib_is_replaced(here, suffix):
    command = (*OUTPUTS["evaluate", "pictures"], f"delays=picture{suffix}")
    (here / f"picture{suffix}").write_bytes(b"\x89PNG\r\n\x1a\n a photograph, or %PDF")
    assert "not a picture of watchword" in failure(*command, code=2)
    assert call(*command, "--force").exit_code == 0
    assert call(*command).exit_code == 0


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["name", "symlink", "hard link"])
@pytest.mark.parametrize(
    "command",
    [
        ("train", "people.jsonl", "-o"),
        ("search", "people.jsonl", "--keep"),
        ("evaluate", "model.ww", "people.jsonl", "--posts", "--csv"),
        ("report", "model.ww", "people.jsonl", *RISK, "-o"),
        ("tune", "people.jsonl", *RISK, "--save-policy"),
        ("watch", "model.ww", "people.jsonl", *RISK, "--state"),
    ],
    ids=lambda command: command[0],
)
def test_no_output_is_an_input_whatever_its_name(here, tmp_path, command, link):
    output = here / ".." / here.name / "people.jsonl"
    if link is not None:
        output = tmp_path / "other.jsonl"
        link(here / "people.jsonl", output)
    before = (here / "people.jsonl").read_bytes()
    message = failure(*command, output, code=2)
    assert "the command reads it as DATA" in message
    assert (here / "people.jsonl").read_bytes() == before


def test_a_new_name_for_an_input_that_is_a_link_is_the_input(here, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(here / "people.jsonl")
    arguments = ("train", tmp_path / "link.jsonl", "-o", "people.jsonl", "--force")
    assert "the command reads it as DATA" in failure(*arguments, code=2)


def test_a_file_matched_by_a_pattern_is_not_overwritten(here, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes((here / "people.jsonl").read_bytes())
    message = failure("train", "-o", tmp_path / "a.jsonl", tmp_path / "b.jsonl", code=2)
    assert "already exists and is not a model" in message


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["name", "symlink", "hard link"])
def test_no_output_is_a_file_in_a_folder_of_data(tmp_path, monkeypatch, link):
    monkeypatch.chdir(tmp_path)
    for label in ("good", "bad"):
        (tmp_path / "data" / label).mkdir(parents=True)
        (tmp_path / "data" / label / "1.txt").write_text(f"a {label} day")
    output = tmp_path / "data" / "bad" / "1.txt"
    if link is os.symlink:  # the data is the link
        output = output.rename(tmp_path / "elsewhere.txt")
        (tmp_path / "data" / "bad" / "1.txt").symlink_to(output)
    elif link is os.link:
        output = tmp_path / "elsewhere.txt"
        os.link(tmp_path / "data" / "bad" / "1.txt", output)
    assert "which the command reads" in failure("train", "data", "-o", output, "--force", code=2)
    assert output.read_text() == "a bad day"


def test_a_model_in_a_folder_of_data_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for label in ("good", "bad"):
        (tmp_path / "data" / label).mkdir(parents=True)
        (tmp_path / "data" / label / "1.txt").write_text(f"a {label} day")
    records("train", "data", "-o", "data/model.ww")
    records("train", "data", "-o", "data/model.ww")


def test_two_outputs_are_two_files(here):
    command = ("evaluate", "model.ww", "people.jsonl", "--posts")
    assert "it is also --json" in failure(*command, "--json", "r", "--csv", "./r", code=2)
    assert "it is also --json" in failure(*command, "--json", "-", "--csv", "-", code=2)
    assert not (here / "r").exists()


@pytest.mark.usefixtures("here")
def test_output_and_stored_results_are_two_files():
    message = failure("search", "people.jsonl", "--keep", "m.ww", "-o", "m.ww", code=2)
    assert "'m.ww' (--output): it is also --keep" in message


def test_a_policy_that_is_read_is_not_overwritten(here):
    records(*OUTPUTS["tune", "save_policy"], "policy.json")
    before = (here / "policy.json").read_bytes()
    tune = ("tune", "people.jsonl", *RISK, "--policy", "policy.json", "--save-policy")
    assert "the command reads it as --policy" in failure(*tune, "policy.json", code=2)
    assert (here / "policy.json").read_bytes() == before


@pytest.mark.usefixtures("here")
def test_the_model_of_like_is_not_overwritten():
    message = failure("search", "people.jsonl", "--like", "model.ww", "-o", "model.ww", code=2)
    assert "the command reads it as --like" in message


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["watchword.db", "watchword.db-wal"])
def test_a_backup_does_not_overwrite_the_store(name):
    assert "it is also" in failure("service", "backup", name, "--force", code=2)


@pytest.mark.parametrize("chunk", [1, 10])
def test_a_submission_replaces_no_other_files(here, chunk):
    notes = here / "runs" / f"theirs_{chunk}.txt"
    notes.write_text("my notes")
    command = (*PRACTICE[:-4], "--name", "theirs", "-o", "runs", "--record")
    assert "is not a file of a submission" in failure(*command, code=2)
    assert notes.read_text() == "my notes"
    records(*command, "--force")
    records(*command)
    for path in (here / "runs").glob("theirs_*"):
        path.unlink()


def test_standard_output_is_not_an_input(here, tmp_path):
    """The shell opens the file, which would otherwise grow while it is read."""
    data = tmp_path / "posts.jsonl"
    data.write_bytes((here / "people.jsonl").read_bytes())
    before = data.read_bytes()
    with data.open("ab") as output:
        done = run("classify", "model.ww", data, stdout=output)
    assert done.returncode == 2
    assert "standard output: the command reads it as DATA" in done.stderr
    assert data.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [("train", "-", "-o"), ("evaluate", "model.ww", "-", "--posts", "--json")],
    ids=["train", "evaluate"],
)
def test_standard_input_is_not_an_output(here, tmp_path, command):
    data = tmp_path / "posts.jsonl"
    data.write_bytes((here / "people.jsonl").read_bytes())
    with data.open("rb") as source:
        done = run(*command, data, "--force", stdin=source)
    assert done.returncode == 2
    assert "the command reads it as standard input" in done.stderr


@pytest.mark.parametrize(
    "command",
    [("train", "people.jsonl", "--no-refine", "-o"), ("make",), ("service", "backup")],
    ids=["train", "make", "backup"],
)
@pytest.mark.usefixtures("here")
def test_a_pipe_is_written_to_and_stays(tmp_path, command):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert call(*command, pipe).exit_code == 0
    reader.join(30)
    assert len(read[0]) > 1000
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "command", [("train", "people.jsonl", "-o"), ("make",), ("service", "backup")]
)
def test_a_hyphen_is_no_name_of_a_file(here, command):
    assert "standard output is not supported" in failure(*command, "-", code=2)
    assert not (here / "-").exists()
