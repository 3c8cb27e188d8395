"""Serving the live page, from Python and from the command line."""

import json
import re
import stat
import sys
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

import pytest

from command_line import call, failure, write_lines
from watchword.errors import MissingExtraError
from watchword.web import Content, running_page, serve
from watchword.web.app import get, make_app
from watchword.web.listening import way_to
from web_pages import AT_RISK, model

TOKEN = "very-secret-token"


def test_running_page_answers_within_its_context():
    with running_page(model(), name="m") as live:
        request = Request(f"{live.address}/api/about")
        request.add_header("Authorization", f"Bearer {live.token}")
        with urlopen(request) as answer:
            assert json.load(answer)["name"] == "m"
    with pytest.raises(URLError):
        urlopen(live.address)


@pytest.fixture
def ended(monkeypatch):
    """Make servers stop at once."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)


@pytest.fixture
def opened(monkeypatch):
    """Record what browsers open: the URL, the content of its file, and the file's mode."""
    seen = []

    def look(address):
        file = Path(url2pathname(urlsplit(address).path))
        there = address.startswith("file:")
        mode = stat.S_IMODE(file.stat().st_mode) if there else None
        seen.append((address, file, file.read_text("utf-8") if there else None, mode))

    monkeypatch.setattr("webbrowser.open", look)
    return seen


@pytest.mark.usefixtures("ended")
def test_browser_gets_the_token_from_a_temporary_file(opened):
    told = []
    serve(model(), port=0, token=TOKEN, open_browser=True, on_ready=told.append)
    [(address, file, content, mode)] = opened
    assert TOKEN not in address
    assert f"url={told[0].url}" in content
    assert mode == 0o600 or sys.platform == "win32"
    assert not file.exists()


@pytest.mark.usefixtures("ended")
def test_a_page_that_is_open_to_all_users_is_opened_at_its_address(opened):
    told = []
    serve(model(), port=0, open_to_all_users=True, open_browser=True, on_ready=told.append)
    assert opened[0][0] == told[0].url == f"{told[0].address}/"


def test_temporary_file_redirects_to_the_page(browser):
    with running_page(model()) as live, way_to(live.url) as address:
        page = browser.open(address, wait=False)
        page.wait_for_url(f"{live.address}/")
        page.wait_for_selector("body[data-ready]")
        page.wait_for_load_state("networkidle")
    browser.elsewhere.clear()  # from a file, the page is elsewhere


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_default_token_is_random(host):
    told = []
    for _ in range(2):
        serve(model(), host=host, port=0, on_ready=told.append)
    assert re.fullmatch("[0-9a-f]{32}", told[0].token)
    assert told[0].token != told[1].token
    assert told[0].url == f"{told[0].address}/?token={told[0].token}"
    assert told[0].token not in repr(told[0])


def test_without_the_token_other_users_of_the_machine_are_refused():
    with running_page(model()) as live, pytest.raises(HTTPError, match="401") as refused:
        urlopen(f"{live.address}/api/about")
    refused.value.close()


def test_a_page_can_be_open_to_all_users():
    with running_page(model(), open_to_all_users=True) as live, urlopen(live.url) as answer:
        assert (answer.status, live.token) == (200, None)


def test_exposed_page_cannot_be_open_to_all_users():
    with pytest.raises(ValueError, match="a token is required"):
        serve(model(), host="0.0.0.0", port=0, open_to_all_users=True)


def test_a_token_and_a_page_that_is_open_exclude_each_other():
    with pytest.raises(ValueError, match="cannot be used together"):
        serve(model(), port=0, token=TOKEN, open_to_all_users=True)


@pytest.mark.usefixtures("ended")
def test_url_is_printed_and_not_logged(capsys, caplog):
    serve(model(), port=0, token=TOKEN)
    printed = capsys.readouterr()
    assert re.search(rf"http://127.0.0.1:\d+/\?token={TOKEN} ", printed.err)
    assert printed.out == ""
    assert TOKEN not in caplog.text


def test_used_port_is_an_error():
    with running_page(model()) as live:
        port = int(live.address.rpartition(":")[2])
        with pytest.raises(OSError, match="is in use"):
            serve(model(), port=port)


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_missing_extra_says_how_to_install_it(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    for name in ("watchword.web.app", "watchword.web.listening"):
        monkeypatch.delitem(sys.modules, name, raising=False)
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


def test_command_prints_the_response_of_a_path(saved):
    found = printed(saved, "--get", "/api/about")
    assert (found["name"], found["documents"]) == ("model.ww", None)


def test_command_fails_for_an_unknown_path(saved):
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "overtakes"], "--policy requires --positive"),
        (["--no-token", "--token", TOKEN], "--no-token cannot be combined with --token"),
        (["-"], "must be a file"),
        (["--policy", "undertakes", "--positive", AT_RISK], "unknown policy"),
    ],
)
def test_wrong_usage_is_an_error(saved, options, message):
    assert message in failure("serve", saved, *options, code=2)


@pytest.mark.usefixtures("ended")
def test_the_command_prints_the_address_with_the_token(saved):
    found = printed(saved, "--port", 0)
    assert found["url"].endswith(f"/?token={found['token']}")


@pytest.mark.usefixtures("ended")
def test_the_command_can_do_without_a_token(saved):
    found = printed(saved, "--port", 0, "--no-token")
    assert (found["token"], "?" in found["url"]) == (None, False)


def test_without_a_token_the_command_serves_this_machine_only(saved):
    options = ("--port", 0, "--no-token", "--host", "0.0.0.0")
    assert "a token is required" in failure("serve", saved, *options)


def test_unknown_positive_label_is_an_error(saved):
    assert "unknown label 'nobody'" in failure("serve", saved, "--positive", "nobody")
