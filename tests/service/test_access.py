"""Who may use which route: every route without a token, with wrong ones and with too weak ones."""

import re
import threading

import pytest
from starlette.routing import Route

from doors import Asker, open_door
from services import post, send
from waiting import wait_until
from watchword.errors import StoreError
from watchword.service.routes import OPERATIONS, RequestLimits, ServiceHandlers
from watchword.service.serving import make_app
from watchword.service.store import open_store
from watchword.service.tokens import (
    SCOPES,
    Keyring,
    TokenError,
    add_token,
    remove_token,
    tokens_in,
)
from watchword.web.guard import HEADERS

OPEN = {"/health", "/ready"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with open_door(tmp_path_factory.mktemp("door")) as door:
        tokens = {
            scope: add_token(door.service.store, f"only-{scope}", [scope]) for scope in SCOPES
        }
        wait_until(lambda: door.get("/statistics", token=tokens["read"]).status == 200)
        door.tokens = tokens
        yield door


def routes_of(app):
    """Return the method and the path of every route that an application has."""
    inner = app._app
    assert all(isinstance(one, Route) for one in inner.routes)
    return [(method, one.path) for one in inner.routes for method in one.methods]


def asked(door, method, path, **options):
    path = re.sub(r"\{(\w+)(:\w+)?\}", lambda found: {"number": "1"}.get(found[1], "x"), path)
    body = {} if method == "POST" else None
    return door.ask(method, path, body, **options)


@pytest.fixture(scope="module")
def routes(door):
    from watchword.service.monitoring import Metrics, Readiness

    metrics = Metrics()
    readiness = Readiness(door.service, None, metrics)
    inner = ServiceHandlers(
        door.service, metrics=metrics, readiness=readiness, limits=RequestLimits()
    )
    return routes_of(make_app(inner, keyring=None))


def test_every_route_is_an_operation(routes):
    known = {(one.method, one.route) for one in OPERATIONS}
    assert {(method, path) for method, path in routes if method != "HEAD"} == known


def scope_for(operation):
    """Return the scope that an operation should need, by what it does."""
    if operation.path in OPEN:
        return None
    if operation.method == "DELETE" or operation.path.startswith("/admin/"):
        return "admin"
    changing = {"/posts": "feed", "/alerts/{number}/mark": "mark"}
    return "read" if operation.method == "GET" else changing[operation.path]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_needs_the_scope_of_what_it_does(operation):
    assert operation.scope == scope_for(operation)
    assert operation.scope in {None, *SCOPES}


@pytest.mark.parametrize(
    "token",
    [None, "wrong", "", "x" * 10_000, "tök€n"],
    ids=["none", "wrong", "empty", "long", "odd"],
)
def test_every_route_refuses_a_missing_or_wrong_token(door, routes, token):
    sent = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
    for method, path in routes:
        answer = asked(door, method, path, token=None, **sent)
        assert answer.status == (200 if path in OPEN else 401), (method, path)


@pytest.mark.parametrize("scope", SCOPES)
def test_every_route_refuses_a_token_that_is_too_weak(door, routes, scope):
    needed = {(one.method, one.route): one.scope for one in OPERATIONS}
    for method, path in routes:
        if path == "/alerts/events" and scope in ("read", "admin"):
            continue  # it would not end
        wanted = needed["GET" if method == "HEAD" else method, path]
        status = asked(door, method, path, token=door.tokens[scope]).status
        if wanted in (None, scope) or scope == "admin":
            assert status not in (401, 403, 500), (method, path)
        else:
            assert status == 403, (method, path)


@pytest.mark.parametrize("former", ["write", "read write"])
def test_tokens_with_the_former_scope_write_may_only_feed(tmp_path, former, caplog):
    with open_store(str(tmp_path / "watch.db")) as store:
        token = add_token(store, "old", ["feed"])
        add_token(store, "new", ["mark"])
        store.change("UPDATE tokens SET scopes = ? WHERE name = 'old'", former)
    with caplog.at_level("WARNING"), open_door(tmp_path) as door:
        [warning] = [log for log in caplog.records if "former scope write" in log.message]
        assert warning.watchword_fields == {"tokens": ["old"]}
        sent = {"subject": "ann", "id": "1", "text": "I cannot sleep"}
        assert door.post("/posts", sent, token=token).status == 200
        assert door.post("/alerts/1/mark", {"verdict": "right"}, token=token).status == 403
        assert door.get("/alerts", token=token).status == (200 if "read" in former else 403)


def test_marking_tells_nothing_about_the_alert(tmp_path):
    with open_door(tmp_path) as door:
        token = add_token(door.service.store, "reviewer", ["mark"])
        send(door.service, post("ann", 1, "cannot sleep, secretly"))
        wait_until(lambda: door.get("/alerts", token=token).status == 403)
        answer = door.post("/alerts/1/mark", {"verdict": "wrong", "note": "no"}, token=token)
        assert sorted(answer.json) == ["alert", "at", "by", "label", "note", "verdict"]
        assert (answer.json["alert"], answer.json["by"]) == (1, "reviewer")


def test_a_token_can_ask_what_it_allows(door):
    assert door.get("/token", token=door.tokens["read"]).json == {
        "name": "only-read",
        "scopes": ["read"],
    }
    assert door.get("/token", token=door.tokens["admin"]).json["scopes"] == list(SCOPES)


def test_a_refusal_says_which_scope_is_needed(door):
    answer = door.get("/admin/models", token=door.tokens["read"])
    assert answer.json == {"error": "the token 'only-read' does not allow this: it needs admin"}
    assert door.get("/alerts", token=None).headers["www-authenticate"] == "Bearer"


def test_a_removed_token_is_refused_soon(door):
    store = door.service.store
    token = add_token(store, "short-lived", ["read"])
    wait_until(lambda: door.get("/statistics", token=token).status == 200)
    remove_token(store, "short-lived")
    wait_until(lambda: door.get("/statistics", token=token).status == 401)


def test_events_end_when_their_token_is_removed(door):
    store = door.service.store
    token = add_token(store, "for-a-while", ["read"])
    wait_until(lambda: door.get("/statistics", token=token).status == 200)
    with Asker(door.url, token).events() as next_event:
        next_event("statistics")
        remove_token(store, "for-a-while")
        with pytest.raises(AssertionError, match="the stream has ended"):
            next_event("alert")


def test_tokens_are_read_again_after_any_failure_of_the_store(door, monkeypatch):
    store = door.service.store
    failed = threading.Event()

    def failing(*_):
        failed.set()
        raise StoreError("damaged")

    with Keyring(store, every=0.01) as keyring:
        with monkeypatch.context() as patch:
            patch.setattr(store, "rows", failing)
            assert failed.wait(60)
        token = add_token(store, "after-a-failure", ["read"])
        wait_until(lambda: keyring.holder_of(token) is not None)


def test_no_secret_is_in_the_store(door, tmp_path):
    copy = tmp_path / "copy.db"
    door.service.store.backup(copy)
    content = copy.read_bytes()
    assert b"only-read" in content
    for token in door.tokens.values():
        assert token.encode() not in content
        assert bytes.fromhex(token) not in content


def test_browsers_exchange_the_token_for_a_cookie(door):
    token = door.tokens["read"]
    answer = door.get(f"/?token={token}", token=None)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert token not in cookie
    value = cookie.partition(";")[0]
    assert door.get("/statistics", token=None, Cookie=value).status == 200
    assert door.get("/admin/models", token=None, Cookie=value).status == 403


@pytest.mark.parametrize(
    ("public_url", "headers", "is_secure"),
    [
        (None, {}, False),
        ("http://watch.example.org", {}, False),
        ("https://watch.example.org", {}, True),
        (None, {"X_Forwarded_Proto": "https"}, True),
    ],
)
def test_the_cookie_is_sent_through_https_only_behind_it(tmp_path, public_url, headers, is_secure):
    with open_door(tmp_path, public_url=public_url) as door:
        cookie = door.get(f"/?token={door.token}", token=None, **headers).headers["set-cookie"]
        assert ("secure" in cookie.lower().split("; ")) == is_secure


@pytest.mark.parametrize(
    ("path", "headers", "reason"),
    [
        ("/alerts", {}, "no token"),
        ("/alerts", {"Authorization": "Bearer wrong"}, "wrong token"),
        ("/?token=wrong", {}, "wrong token"),
        ("/alerts/1", {"X_Forwarded_For": "203.0.113.7"}, "no token"),
    ],
)
def test_failed_logins_are_logged_with_the_address(door, caplog, path, headers, reason):
    assert door.get(path, token=None, **headers).status == 401
    wait_until(lambda: [log for log in caplog.records if log.message == "login failed"])
    [fields] = [log.watchword_fields for log in caplog.records if log.message == "login failed"]
    assert (fields["address"], fields["reason"]) == ("127.0.0.1", reason)
    assert fields.get("forwarded_for") == headers.get("X_Forwarded_For")
    assert "wrong" not in str(fields).replace("wrong token", "")


def test_a_cookie_counts_beside_a_header_without_a_token(door):
    answer = door.get(f"/?token={door.tokens['read']}", token=None)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    both = {"Cookie": cookie, "Authorization": "Bearer"}
    assert door.get("/statistics", token=None, **both).status == 200


def test_a_cookie_is_no_bearer_token_for_another_site(door):
    answer = door.post("/posts", {}, token=door.tokens["feed"], Origin="http://evil.example")
    assert answer.status == 403
    answer = door.get("/alerts", Sec_Fetch_Site="cross-site")
    assert answer.status == 403


def test_another_host_name_is_refused(door):
    assert door.get("/health", Host="evil.example").status == 403


@pytest.mark.parametrize("host", ["watch.example.org", None])
def test_a_reverse_proxy_may_pass_on_its_own_name_or_not(tmp_path, host):
    named = {} if host is None else {"Host": host}
    with open_door(tmp_path, public_url="https://watch.example.org/") as door:
        assert door.get("/health", **named).status == 200
        for origin, status in (("https://watch.example.org", 200), ("https://evil.example", 403)):
            sent = {"subject": "ann", "id": "1", "text": "Hello."}
            assert door.post("/posts", sent, Origin=origin, **named).status == status
        assert door.get("/health", Host="evil.example").status == 403


def test_every_answer_has_the_security_headers(door):
    for path in ("/", "/alerts", "/nothing", "/health"):
        headers = door.get(path).headers
        assert {name: headers[name.lower()] for name in HEADERS} == HEADERS


def test_unknown_paths_and_methods_are_refused(door):
    assert door.get("/nothing").status == 404
    assert door.ask("PUT", "/posts", {}).status == 405
    assert door.get("/alerts/one").status == 404


def test_without_tokens_everyone_on_this_machine_may_do_everything(tmp_path):
    with open_door(tmp_path, open_to_all_users=True) as door:
        assert door.token is None
        assert door.get("/admin/models").status == 200


def test_a_service_open_to_all_listens_on_this_machine_only(tmp_path):
    with (
        pytest.raises(ValueError, match="tokens are required"),
        open_door(tmp_path, open_to_all_users=True, host="0.0.0.0"),
    ):
        pass


def test_tokens_are_listed_without_secrets_and_have_unique_names(door):
    store = door.service.store
    listed = {one.name: one for one in tokens_in(store)}
    assert listed["only-read"].scopes == ("read",)
    with pytest.raises(TokenError, match="already"):
        add_token(store, "only-read", ["admin"])
    with pytest.raises(TokenError, match="unknown token 'nobody'"):
        remove_token(store, "nobody")


@pytest.mark.parametrize(
    ("name", "scopes"), [("", ["read"]), ("a b", ["read"]), ("x", []), ("x", ["root"])]
)
def test_bad_names_and_scopes_are_refused(door, name, scopes):
    with pytest.raises(ValueError, match=r"name|scopes"):
        add_token(door.service.store, name, scopes)


def test_an_asker_without_a_token_is_refused(door):
    assert Asker(door.url).get("/alerts").status == 401


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_the_scheme_of_a_token_has_no_case(door, scheme):
    authorization = f"{scheme} {door.tokens['read']}"
    assert door.get("/statistics", token=None, authorization=authorization).status == 200
