"""POST /posts: what is taken, what is refused, and how precisely."""

import json
import sqlite3
import threading
from urllib.parse import quote

import pytest

import watchword as ww
from doors import LINES, open_door
from services import OTHER, RISK
from waiting import wait_until
from watchword.service import sqlite_store
from watchword.service.bodies import FieldCheck
from watchword.service.serving import RequestLimits
from watchword.service.tokens import add_token

LATER = ww.Overtakes(RISK, margin=1e9)


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    limits = RequestLimits(body=50_000, posts=100)
    with open_door(tmp_path_factory.mktemp("door"), LATER, limits=limits) as door:
        yield door


def lines(*posts):
    return "".join(json.dumps(one) + "\n" for one in posts)


def post(subject, number, **more):
    return {"subject": subject, "id": str(number), "text": "a lovely garden", **more}


def posts_of(door, subject):
    view = door.service.subject(subject)
    return 0 if view is None else view.posts


def test_one_object_is_one_post(door):
    answer = door.post("/posts", post("one", 1))
    assert (answer.status, answer.json) == (200, {"accepted": 1, "duplicates": 0, "alerts": []})
    assert posts_of(door, "one") == 1


def test_an_array_is_a_batch(door):
    answer = door.post("/posts", [post("array", 1), post("array", 2)])
    assert answer.json["accepted"] == 2
    assert posts_of(door, "array") == 2


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_lines_are_a_batch(door, end):
    subject = f"lines {end!r}"
    body = lines(post(subject, 1), post(subject, 2)).rstrip("\n") + end
    assert door.post("/posts", body, kind=LINES).json["accepted"] == 2
    assert posts_of(door, subject) == 2


def test_a_line_may_hold_several_posts_of_a_subject(door):
    several = {"subject": "several", "posts": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]}
    assert door.post("/posts", lines(several), kind=LINES).json["accepted"] == 2


def test_a_post_sent_again_changes_nothing(door):
    door.post("/posts", post("again", 1))
    answer = door.post("/posts", [post("again", 1), post("again", 2), post("again", 2)])
    assert answer.json == {"accepted": 1, "duplicates": 2, "alerts": []}
    assert posts_of(door, "again") == 2


def test_alerts_of_a_request_are_in_its_answer(tmp_path):
    with open_door(tmp_path) as door:
        answer = door.post("/posts", [post("ann", 1), post("bob", 1, text="I cannot sleep")])
        [number] = answer.json["alerts"]
        alert = door.get(f"/alerts/{number}").json
    assert (alert["subject"], alert["label"], alert["post_id"]) == ("bob", RISK, "1")
    assert alert["reasons"]["rival"] == OTHER


def test_the_time_of_a_post_is_stored_in_utc(door):
    door.post("/posts", post("timed", 1, time="2024-05-01T14:30:00+02:00"))
    assert door.get("/subjects/timed").json["history"][0]["time"] == "2024-05-01T12:30:00Z"


# Refusals


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ("", "the body is not JSON (Expecting value, line 1, column 1)", {}),
        ("{", "the body is not JSON", {}),
        ('{"subject": "x", "id": 1, "text": "a"} {}', "the body is not JSON", {}),
        ("3", "post 1: expected an object, got 3", {"post": 1}),
        ("[[]]", "post 1: expected an object", {"post": 1}),
        ('"text"', "post 1: expected an object", {"post": 1}),
        pytest.param("[" * 40_000, "the body is nested too deeply", {}, id="deep"),
        pytest.param("9" * 5000, "a number in the body has too many digits", {}, id="digits"),
        ('{"id": 1, "text": "a"}', 'post 1: "subject" is missing', {"post": 1}),
        ('{"subject": "x", "text": "a"}', 'post 1: "id" is missing', {"post": 1}),
        ('{"subject": "x", "id": 1}', 'post 1: "text" is missing', {"post": 1}),
        (
            '{"subject": "", "id": 1, "text": "a"}',
            'post 1: "subject" must not be empty',
            {"post": 1},
        ),
        ('{"subject": "x", "id": "", "text": "a"}', 'post 1: "id" must not be empty', {"post": 1}),
        ('{"subject": [], "id": 1, "text": "a"}', 'post 1: "subject" must be text', {"post": 1}),
        ('{"subject": "x", "id": 1.5, "text": "a"}', 'post 1: "id" must be text', {"post": 1}),
        ('{"subject": "x", "id": 1, "text": null}', 'post 1: "text" must be text', {"post": 1}),
        ('{"subject": "x", "id": 1, "text": 7}', 'post 1: "text" must be text, got 7', {"post": 1}),
        (
            '[{"subject": "x", "id": 1, "text": "a"}, {"subject": "x", "id": 2, "text": "a", '
            '"time": "soon"}]',
            "post 2: 'soon' is not a time",
            {"post": 2},
        ),
        (
            '{"subject": "\\ud800", "id": 1, "text": "a"}',
            'post 1: "subject" must be valid',
            {"post": 1},
        ),
        (
            f'{{"subject": "{"s" * 1001}", "id": 1, "text": "a"}}',
            "more than 1000 bytes",
            {"post": 1},
        ),
        (
            f'{{"subject": "x", "id": "{"é" * 501}", "text": "a"}}',
            "more than 1000 bytes",
            {"post": 1},
        ),
    ],
)
def test_an_invalid_post_is_refused_with_its_place_and_field(door, body, message, place):
    before = door.service.statistics().accepted
    answer = door.post("/posts", body.encode())
    assert answer.status == 400
    assert message in answer.json["error"]
    assert {name: answer.json[name] for name in ("post", "line") if name in answer.json} == place
    assert door.service.statistics().accepted == before


def test_an_invalid_line_is_named_and_nothing_is_stored(door):
    body = lines(post("half", 1), post("half", 2)) + '{"subject": "half"\n' + lines(post("half", 3))
    answer = door.post("/posts", body, kind=LINES)
    assert (answer.status, answer.json["line"]) == (400, 3)
    assert answer.json["error"].startswith("line 3: not JSON")
    assert posts_of(door, "half") == 0


@pytest.mark.parametrize("kind", [LINES, "application/json"])
def test_invalid_utf8_is_refused(door, kind):
    answer = door.post("/posts", b'{"subject": "bytes", "id": 1, "text": "\xff"}', kind=kind)
    assert answer.status == 400
    assert "not UTF-8" in answer.json["error"]
    assert posts_of(door, "bytes") == 0


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data"])
def test_other_media_types_are_refused(door, kind):
    assert door.post("/posts", b"{}", kind=kind).status == 415


def test_compressed_bodies_are_refused(door):
    answer = door.ask("POST", "/posts", b"\x1f\x8b", kind=LINES, Content_Encoding="gzip")
    assert answer.status == 415


def test_a_body_above_the_limit_is_refused(door):
    answer = door.post("/posts", b" " * 50_001)
    assert (answer.status, answer.json) == (413, {"error": "the body has more than 50000 bytes"})


def test_a_body_of_100_megabytes_is_refused_before_it_is_read(door):
    sent = {"Content_Type": LINES, "Content_Length": str(100 << 20)}
    assert door.ask("POST", "/posts", **sent).status == 413


def test_more_posts_than_allowed_are_refused(door):
    answer = door.post("/posts", lines(*(post("many", at) for at in range(101))), kind=LINES)
    assert answer.status == 413
    assert posts_of(door, "many") == 0


def test_a_body_is_read_or_refused_however_deep_it_is_nested(door):
    for depth in (*range(900, 1000), 20_000):
        nested = "[" * depth + "]" * depth
        body = f'{{"subject": "deep", "id": "1", "text": "a", "more": {nested}}}'
        assert door.post("/posts", body).status in (200, 400), depth


def test_more_posts_than_allowed_on_one_line_are_refused(door):
    several = [{"text": "a", "id": str(at)} for at in range(101)]
    answer = door.post("/posts", {"subject": "one too many", "posts": several})
    assert (answer.status, answer.json) == (
        413,
        {"error": "the body has more than 100 posts: send fewer at once"},
    )
    assert posts_of(door, "one too many") == 0


@pytest.mark.parametrize(
    "name",
    [
        *("a/b", "a?b=c#d", "%2F", "with space", "..", ".", "ü€𝄞", "nul\0inside", "\u202edesrever"),
        *('<script>alert("x")</script>', "a\nb\tc", "null", "'; DROP TABLE posts; --", " ", "\\"),
    ],
)
def test_ids_may_have_any_characters(door, name):
    body = {"subject": name, "id": name, "text": "a"}
    assert door.post("/posts", body).json["accepted"] == 1
    assert door.post("/posts", body).json["duplicates"] == 1
    path = f"/subjects/?id={quote(name, safe='')}"
    assert door.get(path).json["history"][0]["post_id"] == name
    if name not in (".", ".."):
        assert door.get(f"/subjects/{quote(name, safe='')}").json["id"] == name


def test_texts_may_have_lone_surrogates(door):
    body = b'{"subject": "surrogate", "id": "1", "text": "a \\ud800 b"}'
    assert door.post("/posts", body).json["accepted"] == 1


# A service that cannot keep up


# Misspelt fields


@pytest.fixture
def warnings(caplog):
    """Return a function for the fields that were reported as misspelt, with their sources."""
    caplog.set_level("WARNING")

    def reported():
        logs = [log for log in caplog.records if "misspelt" in log.message]
        return [tuple(log.watchword_fields.values()) for log in logs]

    return reported


@pytest.mark.parametrize("kind", ["application/json", LINES])
def test_a_misspelt_field_is_reported_once_per_token(door, warnings, kind):
    name = kind.replace("/", "-")
    token = add_token(door.service.store, name, ["feed"])
    body = {"subject": "ann", "id": "1", "text": "x", "tiem": "2026-05-01", "lang": "en"}
    sent = json.dumps(body if kind == LINES else [body, body])
    for _ in range(3):
        wait_until(lambda: door.post("/posts", sent, kind=kind, token=token).status == 200)
    assert warnings() == [(f"token {name}", "tiem", "time")]


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ({"Time": "2026-05-01"}, "time"),
        ({"titel": "x"}, "title"),
        ({"time": "2026-05-01", "tiem": 1}, None),  # the known one is there
        ({"lang": "en", "author": "x", "timestamp": 3, "post_id": "7"}, None),
        ({"posts": [{"text": "x", "id": "1"}]}, None),
    ],
)
def test_only_names_much_like_that_of_a_missing_field_are_misspelt(more, missing):
    post = {"subject": "ann", "id": "1", "text": "x", **more}
    assert list(FieldCheck("feed").misspelt(post)) == ([missing] if missing else [])


def test_fields_that_change_with_every_post_are_not_looked_at_for_ever():
    check = FieldCheck("feed")
    check.look_at({"subject": "ann", f"field{number}": 1} for number in range(5_000))
    assert len(check._seen) <= 1_000


def test_a_full_queue_is_answered_with_429_and_when_to_come_again(tmp_path):
    with open_door(tmp_path, LATER, options={"queue_posts": 10}) as door:
        with door.service.store.writing():  # nothing can be committed meanwhile
            waiting = threading.Thread(
                target=door.post, args=("/posts", [post("ann", at) for at in range(10)])
            )
            waiting.start()
            wait_until(lambda: door.service.statistics().queued == 10)
            answer = door.post("/posts", post("bob", 1))
        waiting.join()
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert posts_of(door, "bob") == 0
        assert door.post("/posts", post("bob", 1)).json["accepted"] == 1


@pytest.mark.slow
def test_a_locked_store_is_answered_with_503_and_nothing_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_store, "_TIMEOUT", 0.05)
    with open_door(tmp_path, LATER) as door:
        with sqlite3.connect(tmp_path / "watch.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            answer = door.post("/posts", post("ann", 1))
            other.execute("ROLLBACK")
        other.close()
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert door.post("/posts", post("ann", 1)).json == {
            "accepted": 1,
            "duplicates": 0,
            "alerts": [],
        }


def test_requests_beyond_the_rate_are_refused(tmp_path):
    with open_door(tmp_path, LATER, limits=RequestLimits(rate=0.01)) as door:
        assert door.post("/posts", post("ann", 1)).status == 200
        answer = door.post("/posts", post("ann", 2))
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) > 1
        assert posts_of(door, "ann") == 1
