"""Access control and security headers of the live page."""

import json
import re

import pytest

from watchword.web.app import make_app
from watchword.web.guard import HEADERS
from web_pages import HOST, app, ask, content, send

TOKEN = "very-secret-token"


@pytest.fixture(scope="module")
def page():
    return app()


def test_every_answer_has_the_headers(page):
    for path in ("/", "/static/app.js", "/api/about", "/nothing", "/api/nothing"):
        _, headers, _ = ask(page, path)
        assert {name: headers[name.lower()] for name in HEADERS} == HEADERS


def test_every_file_in_the_page_exists(page):
    _, _, index = ask(page, "/")
    named = re.findall(r'(?:src|href)="(/[^"]+)"', index)
    assert len(named) > 10
    assert {ask(page, path)[0] for path in named} == {200}


def test_refusals_have_the_headers_too(page):
    status, headers, _ = ask(page, "/", headers={"host": "evil.example"})
    assert status == 403
    assert headers["content-security-policy"].startswith("default-src 'self'")


def test_nothing_inline_is_in_the_page(page):
    _, _, index = ask(page, "/")
    assert "<style" not in index
    assert "style=" not in index
    assert " on" not in index.replace(" on this", "").replace(" one", "").replace(" only", "")
    assert "http://" not in index
    assert "https://" not in index


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "[::1]:8000", "LOCALHOST"]
)
def test_host_names_of_this_machine_are_answered(page, host):
    assert ask(page, "/api/about", headers={"host": host})[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "",
        "[",
        "localhost.evil",
        "0.0.0.0",
    ],
)
def test_other_host_names_are_refused(page, host):
    status, _, found = ask(page, "/api/about", headers={"host": host})
    assert status == 403
    assert "unknown host name" in found["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_cross_site_posts_are_refused(page, headers):
    status, found = send(page, "/api/explain", {"text": "so"}, **headers)
    assert status == 403
    assert "another site" in found["error"]


def test_cross_site_gets_are_refused(page):
    headers = HOST | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert ask(page, "/api/about", headers=headers)[0] == 403


def test_links_from_other_sites_are_followed(page):
    headers = HOST | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert ask(page, "/", headers=headers)[0] == 200


def test_the_page_itself_may_post(page):
    headers = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert send(page, "/api/explain", {"text": "so"}, **headers)[0] == 200


def test_forms_cannot_post(page):
    headers = HOST | {"content-type": "text/plain"}
    assert ask(page, "/api/explain", method="POST", headers=headers, body=b'{"text":"a"}')[0] == 415


@pytest.fixture(scope="module")
def guarded():
    return app(host="0.0.0.0", token=TOKEN)


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/about", "/nothing", "/?token=wrong", "/?token="]
)
def test_without_the_token_nothing_is_answered(guarded, path):
    status, _, found = ask(guarded, path, headers={"host": "server.example"})
    assert status == 401
    assert "token" in found["error"]


def test_token_in_the_url_sets_a_cookie(guarded):
    status, headers, _ = ask(guarded, f"/?token={TOKEN}&a=b", headers={"host": "server.example"})
    assert (status, headers["location"]) == (303, "/?a=b")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=lax" in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    assert TOKEN not in cookie
    status, _, _ = ask(guarded, "/api/about", headers={"host": "server.example", "cookie": cookie})
    assert status == 200


def test_cookie_is_not_the_token(guarded):
    _, headers, _ = ask(guarded, f"/?token={TOKEN}")
    value = headers["set-cookie"].partition(";")[0].partition("=")[2]
    assert ask(guarded, f"/?token={value}")[0] == 401
    assert ask(guarded, "/", headers=HOST | {"authorization": f"Bearer {value}"})[0] == 401


def test_programs_send_the_token_in_a_header(guarded):
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert send(guarded, "/api/explain", {"text": "so"}, **headers)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": TOKEN},
        {"cookie": "watchword-token-8000=wrong"},
        {"cookie": f"other={TOKEN}"},
        {"cookie": f"watchword-token-8000={TOKEN}"},
        {"cookie": f"watchword-token-80={TOKEN}"},
        {"cookie": '"; \x01'},
    ],
)
def test_wrong_tokens_are_refused(guarded, headers):
    assert ask(guarded, "/api/about", headers=HOST | headers)[0] == 401


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "///evil.example"])
def test_token_redirect_stays_on_this_host(guarded, path):
    _, headers, _ = ask(guarded, f"{path}?token={TOKEN}")
    assert headers["location"] == "/evil.example"


def test_token_can_be_required_on_this_machine():
    own = app(token=TOKEN)
    assert ask(own, "/api/about")[0] == 401
    assert ask(own, "/api/about", headers={"host": "evil.example"})[0] == 403


def test_exposed_hosts_need_a_token():
    with pytest.raises(ValueError, match="a token is required"):
        make_app(content(), host="0.0.0.0")


@pytest.mark.parametrize("token", ["", "short", "with space", "ümlaut-token", "a" * 201])
def test_bad_tokens_are_refused(token):
    with pytest.raises(ValueError, match="token must be"):
        app(token=token)


def test_unexpected_error_sends_no_traceback(caplog):
    broken = content()
    broken.about = lambda: 1 / 0
    status, _, found = ask(make_app(broken), "/api/about")
    assert status == 500
    assert "Traceback" not in json.dumps(found)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_other_methods_are_refused_with_those_allowed(page, method):
    status, headers, _ = ask(page, "/api/about", method=method)
    assert status == 405
    assert set(headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize(
    "name", ["../__init__.py", "..%2f__init__.py", "nothing.js", "index.html/"]
)
def test_only_static_files_are_served(page, name):
    assert ask(page, f"/static/{name}")[0] == 404
