"""Serving the live page, from Python and from the command line."""

import json
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from command_line import call, failure, write_lines
from watchword.errors import MissingExtraError
from watchword.web import Content, running_page, serve
from watchword.web.app import get, make_app
from web_pages import AT_RISK, model

TOKEN = "very-secret-token"


def test_a_running_page_answers_until_its_end():
    with running_page(model(), name="m") as live, urlopen(f"{live.address}/api/about") as answer:
        assert json.load(answer)["name"] == "m"
    with pytest.raises(URLError):
        urlopen(live.address)


def test_serve_opens_the_browser_with_the_token(monkeypatch):
    opened, told = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    serve(model(), port=0, token=TOKEN, open_browser=True, on_ready=told.append)
    assert opened == [told[0].url]
    assert told[0].url.endswith(f"/?token={TOKEN}")
    assert TOKEN not in repr(told[0])


def test_elsewhere_a_token_is_made_up(monkeypatch):
    told = []
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    serve(model(), host="0.0.0.0", port=0, on_ready=told.append)
    assert len(told[0].token) >= 32


def test_on_this_machine_no_token_is_needed_and_the_address_is_told(monkeypatch, caplog):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    serve(model(), port=0)
    assert "http://127.0.0.1:" in caplog.text


def test_a_port_that_is_in_use_is_said():
    with running_page(model()) as live:
        port = int(live.address.rpartition(":")[2])
        with pytest.raises(OSError, match="is in use"):
            serve(model(), port=port)


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_without_the_extra_the_message_says_what_to_install(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    for name in ("app", "listen"):
        monkeypatch.delitem(sys.modules, f"watchword.web.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'watchword\[web\]'"):
        serve(model())


def test_get_asks_without_a_socket():
    status, body = get(make_app(Content(model())), "/")
    assert status == 200
    assert body.startswith(b"<!doctype html>")


# The command


@pytest.fixture
def saved(tmp_path):
    model().save(tmp_path / "model.ww")
    return tmp_path / "model.ww"


def printed(*arguments):
    done = call("serve", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_command_prints_what_a_path_answers(saved):
    found = printed(saved, "--get", "/api/about")
    assert (found["name"], found["documents"]) == ("model.ww", None)


def test_the_command_fails_where_the_path_does(saved):
    done = call("serve", saved, "--get", "/nothing")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"error": "Not Found"}


def test_the_command_reads_texts(saved, tmp_path):
    lines = [{"text": "so tired", "label": AT_RISK, "id": "one"}, {"text": "hello"}]
    data = write_lines(tmp_path / "texts.jsonl", lines)
    found = printed(saved, data, "--get", "/api/documents")
    assert [(row["id"], row["truth"]) for row in found["rows"]] == [("one", AT_RISK), (None, None)]


def test_the_command_reads_subjects(saved, tmp_path):
    lines = [
        {"subject": "ann", "text": "so tired", "label": AT_RISK},
        {"subject": "ann", "text": "x"},
    ]
    data = write_lines(tmp_path / "posts.jsonl", lines)
    options = ("--positive", AT_RISK, "--policy", "overtakes(margin=9)")
    found = printed(saved, data, *options, "--get", "/api/subjects")
    assert [(row["id"], row["posts"], row["alert"]) for row in found["rows"]] == [("ann", 2, False)]


def test_the_command_hands_over_a_file(saved, tmp_path):
    found = printed(saved, "--export", tmp_path / "page.html", "--floor", 2)
    assert found["bytes"] == (tmp_path / "page.html").stat().st_size
    assert found["floor"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "overtakes"], "--policy goes with --positive"),
        (["--floor", "3"], "--floor goes with --export"),
        (["-"], "must be a file"),
        (["--policy", "undertakes", "--positive", AT_RISK], "unknown policy"),
        (["--export", "/no/such/folder/page.html"], "there is no folder"),
    ],
)
def test_wrong_usage_is_told(saved, options, message):
    assert message in failure("serve", saved, *options, code=2)


def test_an_unknown_positive_label_is_told(saved):
    assert "unknown label 'nobody'" in failure("serve", saved, "--positive", "nobody")
