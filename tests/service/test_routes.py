"""What the routes return: subjects, alerts, events, marks, models, metrics."""

import contextlib
import http.client
import json
import os
import re
import threading
from urllib.parse import quote, urlsplit

import pytest

import watchword as ww
from doors import open_door
from services import OTHER, RISK, post, send, small_model
from waiting import wait_until
from watchword.errors import StoreError
from watchword.service import board
from watchword.service.records import Alert, json_of
from watchword.service.routes import RequestLimits
from watchword.service.tokens import add_token


@pytest.fixture
def door(tmp_path):
    with open_door(tmp_path, options={"store_texts": True}) as door:
        yield door


def two_alerts(door):
    send(door.service, post("ann", 1, "hello"), post("ann", 2), post("bob", 1))
    return door.get("/alerts").json["alerts"]


def test_a_subject_has_its_state_its_history_and_its_alert(door):
    two_alerts(door)
    found = door.get("/subjects/ann").json
    assert (found["id"], found["posts"], found["label"], found["delay"]) == ("ann", 2, RISK, 2)
    assert [one["number"] for one in found["history"]] == [1, 2]
    assert found["history"][1]["sums"] == found["confidence"]
    assert found["history"][1]["text"] == "I cannot sleep"


def test_a_history_is_paged(door):
    send(door.service, *(post("ann", number) for number in range(1, 8)))
    page = door.get("/subjects/ann?limit=3").json
    assert [one["number"] for one in page["history"]] == [5, 6, 7]
    earlier = door.get(f"/subjects/ann?limit=3&before={page['before']}").json
    assert [one["number"] for one in earlier["history"]] == [2, 3, 4]


def test_an_unknown_subject_is_not_found(door):
    answer = door.get("/subjects/nobody")
    assert (answer.status, answer.json) == (
        404,
        {"error": "unknown subject 'nobody'"},
    )


@pytest.mark.parametrize("path", ["/subjects%2Fann", "/stories%2Fann", "/subjects%2Fann/bob"])
def test_a_path_whose_slash_is_encoded_has_no_subject(door, path):
    answer = door.get(path)
    assert (answer.status, answer.json) == (400, {"error": "the subject's id is missing"})


@pytest.mark.parametrize("number", ["0", "7", "9" * 19, "9" * 5000, "-1", "1.0", "one", "%D9%A1"])
def test_an_unknown_number_is_not_found(door, number):
    assert door.get(f"/alerts/{number}").status == 404


def test_subjects_are_searched_and_sorted(door):
    two_alerts(door)
    send(door.service, post("carl", 1, "a lovely day"), post("cara", 1, "sleep, lovely day"))
    assert [one["id"] for one in door.get("/subjects?sort=name").json["subjects"]] == [
        *("ann", "bob", "cara", "carl")
    ]
    assert [one["id"] for one in door.get("/subjects?query=car&sort=name").json["subjects"]] == [
        *("cara", "carl")
    ]
    assert {one["id"] for one in door.get("/subjects").json["subjects"]} == {"cara", "carl"}


def test_alerts_are_newest_first_and_can_be_read_from_an_id_on(door):
    first, second = two_alerts(door)
    assert (first["subject"], second["subject"]) == ("bob", "ann")
    later = door.get(f"/alerts?since={second['id']}").json
    assert [one["id"] for one in later["alerts"]] == [first["id"]]
    assert later["last"] == first["id"]
    assert door.get("/alerts?query=an").json["alerts"] == [second]
    assert door.get(f"/alerts?label={quote(OTHER)}").json["alerts"] == []
    assert len(door.get(f"/alerts?label={quote(RISK)}").json["alerts"]) == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=0", '"limit" must be a whole number from 1 to 1000'),
        ("limit=many", '"limit" must be a whole number from 1 to 1000'),
        ("since=-1", '"since" must be a whole number'),
        ("since=99999999999999999999", '"since" must be a whole number'),
        ("sort=random", '"sort" must be one of newest'),
        ("unmarked=yes", '"unmarked" must be true or false'),
        ("limits=3", "unknown parameter 'limits' (known: since, "),
    ],
)
def test_wrong_parameters_are_refused(door, query, message):
    answer = door.get(f"/alerts?{query}")
    assert answer.status == 400
    assert message in answer.json["error"]


# Events


def test_alerts_are_sent_as_they_are_raised(door):
    with door.events() as next_event:
        send(door.service, post("ann", 1))
        event = next_event("alert")
        assert json.loads(event["data"])["subject"] == "ann"
        send(door.service, post("bob", 1))
        assert json.loads(next_event("alert")["data"])["subject"] == "bob"


def test_a_stream_is_resumed_after_the_last_event(door):
    newest, oldest = two_alerts(door)
    with door.events(Last_Event_ID=str(oldest["id"])) as next_event:
        event = next_event("alert")
        assert (event["id"], json.loads(event["data"])) == (str(newest["id"]), newest)
    with door.events("/alerts/events?since=0") as next_event:
        assert next_event("alert")["id"] == str(oldest["id"])


def test_an_alert_is_written_once_for_all_streams_of_events(door, monkeypatch):
    written = []

    def counted(record):
        written.append(record)
        return json_of(record)

    monkeypatch.setattr(board, "json_of", counted)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(door.events()) for _ in range(5)]
        for next_event in streams:
            next_event("statistics")  # it is open
        send(door.service, post("ann", 1))
        received = [next_event("alert") for next_event in streams]
    assert [event["id"] for event in received] == ["1"] * 5
    assert [record.id for record in written if isinstance(record, Alert)] == [1]


def test_a_stream_that_is_behind_gets_every_alert_once(door, monkeypatch):
    monkeypatch.setattr(board, "_PAGE", 2)
    numbers = [send(door.service, post(f"missed {at}", 1)).alerts[0] for at in range(5)]
    with door.events() as next_event:
        received = [int(next_event("alert")["id"]) for _ in numbers]
        numbers += send(door.service, post("not missed", 1)).alerts
        received.append(int(next_event("alert")["id"]))
    assert received == numbers


def test_events_go_on_after_any_failure_of_the_store(door, monkeypatch):
    failed = threading.Event()

    def failing(**_):
        failed.set()
        raise StoreError("damaged")

    with door.events() as next_event:
        next_event("statistics")
        with monkeypatch.context() as patch:
            patch.setattr(door.service, "alerts", failing)
            assert failed.wait(60)
        send(door.service, post("ann", 1))
        assert next_event("alert")["id"] == "1"


def test_statistics_are_sent_when_they_change(door):
    with door.events() as next_event:
        assert json.loads(next_event("statistics")["data"])["alerts"] == 0
        send(door.service, post("ann", 1))
        while json.loads(next_event("statistics")["data"])["alerts"] == 0:
            pass


def test_the_header_of_events_leaves_the_connection_free(door):
    connection = http.client.HTTPConnection(urlsplit(door.url).netloc, timeout=10)
    with contextlib.closing(connection):
        for method, path in (("HEAD", "/alerts/events"), ("GET", "/health")):
            connection.request(method, path, headers={"Authorization": f"Bearer {door.token}"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200


def test_a_wrong_last_event_id_is_refused(door):
    assert door.get("/alerts/events", Last_Event_ID="soon").status == 400


# Marks, models, people


def test_an_alert_is_marked_and_counted(door):
    newest, oldest = two_alerts(door)
    marked = door.post(f"/alerts/{newest['id']}/mark", {"verdict": "right", "note": "seen"}).json
    assert (marked["verdict"], marked["note"]) == ("right", "seen")
    assert marked["by"].startswith("running-")
    assert door.get(f"/alerts/{newest['id']}").json["mark"] == marked
    door.post(f"/alerts/{oldest['id']}/mark", {"verdict": "wrong"})
    assert door.get("/statistics").json["marks"] == {
        "right": 1,
        "wrong": 1,
        "unsure": 0,
        "value": 0.5,
    }
    exported = [json.loads(line) for line in door.get("/marks").body.splitlines()]
    assert {(one["subject"], one["label"]) for one in exported} == {("bob", RISK), ("ann", OTHER)}
    assert door.get("/alerts?unmarked=true").json["alerts"] == []


def test_all_marks_of_an_alert_are_listed_with_their_authors(door):
    newest, _ = two_alerts(door)
    reviewer = add_token(door.service.store, "eve", ["mark"])
    path = f"/alerts/{newest['id']}/mark"
    first = door.post(path, {"verdict": "right", "note": "sure"}).json
    wait_until(lambda: door.post(path, {"verdict": "unsure"}, token=reviewer).status == 200)
    marks = door.get(f"{path}s").json["marks"]
    assert marks[0] == first
    assert [(mark["verdict"], mark["by"]) for mark in marks[1:]] == [("unsure", "eve")]
    assert door.get("/alerts/7/marks").status == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, '"verdict" must be one of right, wrong, unsure'),
        ({"verdict": "maybe"}, '"verdict" must be one of'),
        ({"verdict": "right", "note": 3}, '"note" must be text'),
        ([], "the body must be a JSON object"),
    ],
)
def test_wrong_marks_are_refused(door, body, message):
    newest, _ = two_alerts(door)
    answer = door.post(f"/alerts/{newest['id']}/mark", body)
    assert answer.status == 400
    assert message in answer.json["error"]


def test_a_label_must_be_one_of_the_model(door):
    newest, _ = two_alerts(door)
    body = {"verdict": "wrong", "label": "unheard of"}
    answer = door.post(f"/alerts/{newest['id']}/mark", body)
    assert (answer.status, answer.json["error"]) == (409, '"label" must be a label of the model')


def test_an_unknown_alert_cannot_be_marked(door):
    assert door.post("/alerts/7/mark", {"verdict": "right"}).status == 404


def test_the_model_is_taught_activated_and_reloaded(door):
    newest, _ = two_alerts(door)
    assert door.post("/admin/teach", {}).status == 409  # nothing is marked
    door.post(f"/alerts/{newest['id']}/mark", {"verdict": "right"})
    taught = door.post("/admin/teach", {}).json
    assert (taught["kind"], taught["is_active"]) == ("taught", True)
    activated = door.post("/admin/models/1/activate", {}).json
    assert activated["number"] == 1
    assert door.post("/admin/reload", {}).json["is_active"]
    assert len(door.get("/admin/models").json["models"]) == 2
    assert door.post("/admin/reload", {"mode": "soon"}).status == 400
    assert door.post("/admin/reload", {"path": "/nothing/there.ww"}).status == 409


def test_a_model_without_the_label_is_refused_and_named(door, tmp_path):
    other = ww.TauSS3()
    other.learn_one("football", "sports")
    other.save(tmp_path / "other.ww")
    answer = door.post("/admin/reload", {"path": str(tmp_path / "other.ww")})
    assert (answer.status, answer.json["error"][:23]) == (409, "unknown label 'at risk'")


def refused_paths(folder):
    """Return paths that must not be loaded, some of existing files, outside and inside a folder."""
    os.mkfifo(folder / "models" / "fifo.ww")
    small_model().save(folder / "elsewhere.ww")
    (folder / "models" / "link.ww").symlink_to(folder / "elsewhere.ww")
    (folder / "models" / "loop.ww").symlink_to("loop.ww")
    inside = [str(folder / "models" / name) for name in ("fifo.ww", "link.ww", "loop.ww", "no.ww")]
    outside = ["/dev/zero", "/etc/passwd", "/etc/no-such-file", "../elsewhere.ww", "/\0", "/"]
    return [*inside, *outside, str(folder / "elsewhere.ww")]


def test_only_regular_files_in_the_folder_of_models_are_loaded(tmp_path):
    (tmp_path / "models").mkdir()
    with open_door(tmp_path / "models") as door:
        for path in refused_paths(tmp_path):
            answer = door.post("/admin/reload", {"path": path})
            assert answer.status == 409
            assert "is not a model file in the folder" in answer.json["error"], path
        small_model().save(tmp_path / "models" / "next.ww")
        assert door.post("/admin/reload", {"path": "next.ww"}).status == 200
        assert door.post("/admin/reload", {"path": door.service.versions()[0].path}).status == 200


def test_models_are_loaded_from_folders_that_the_operator_names(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "releases").mkdir()
    limits = RequestLimits(model_folders=(tmp_path / "releases",))
    small_model().save(tmp_path / "releases" / "next.ww")
    with open_door(tmp_path / "models", limits=limits) as door:
        path = str(tmp_path / "releases" / "next.ww")
        assert door.post("/admin/reload", {"path": path}).status == 200
        assert door.post("/admin/reload", {"path": "/etc/passwd"}).status == 409


def test_a_model_file_that_is_too_large_is_not_loaded(tmp_path):
    with open_door(tmp_path, limits=RequestLimits(model=5_000)) as door:
        with (tmp_path / "large.ww").open("wb") as file:
            file.truncate(5_001)
        answer = door.post("/admin/reload", {"path": "large.ww"})
        assert answer.status == 409
        assert "larger than 5000 bytes: increase --model-limit" in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/admin/reload", {"paht": "x.ww"}, "unknown field 'paht' (known: path, mode)"),
        ("/admin/reload", {"mode": "soon"}, '"mode" must be one of keep, replay'),
        ("/admin/reload", {"path": 3}, '"path" must be text'),
        ("/admin/teach", {"alerts": [1]}, "unknown field 'alerts' (known: none)"),
        ("/admin/models/1/activate", {"now": True}, "unknown field 'now' (known: none)"),
        ("/alerts/1/mark", {"verdict": "right", "nots": "x"}, "unknown field 'nots' (known: verd"),
        ("/alerts/1/mark", {"verdict": "right", "label": 1.5}, '"label" must be a label of the'),
    ],
)
def test_unknown_and_wrong_fields_of_requests_are_refused(door, path, body, message):
    two_alerts(door)
    answer = door.post(path, body)
    assert answer.status == 400
    assert message in answer.json["error"]
    assert door.get("/alerts/1/marks").json["marks"] == []


def test_a_forgotten_subject_is_gone(door):
    two_alerts(door)
    gone = door.ask("DELETE", "/subjects/ann").json
    assert gone["rows"]["posts"] == 2
    assert door.get("/subjects/ann").status == 404
    assert [one["subject"] for one in door.get("/alerts").json["alerts"]] == ["bob"]
    assert door.ask("DELETE", "/subjects/ann").status == 404


def test_a_story_needs_texts(tmp_path):
    with open_door(tmp_path) as door:
        two_alerts(door)
        assert door.get("/stories/ann").status == 409
        assert door.get("/stories/nobody").status == 404


def test_a_story_has_all_posts(door):
    two_alerts(door)
    story = door.get("/stories/ann").json
    assert (story["subject"], len(story["sums"])) == ("ann", 2)


# Operation


def test_metrics_are_in_the_format_of_prometheus(door):
    two_alerts(door)
    door.post("/posts", {})
    answer = door.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.e]+(Inf)?')
    for line in text.splitlines():
        assert line.startswith(("# HELP watchword_", "# TYPE watchword_")) or sample.fullmatch(line)
    assert "watchword_posts 3.0" in text
    assert "watchword_alerts 2.0" in text
    assert "watchword_posts_accepted_total 3.0" in text
    assert 'watchword_http_requests_total{method="POST",route="/posts",status="400"} 1.0' in text
    assert 'watchword_http_request_seconds_count{method="POST",route="/posts"} 1.0' in text


def test_the_board_and_its_files_are_served(door):
    page = door.get("/").body.decode()
    named = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert named
    assert {door.get(path).status for path in named} == {200}
    assert door.get("/static/nothing.js").status == 404


def test_logs_are_json_without_texts(door):
    import io

    from watchword.service.logs import json_logs

    written = io.StringIO()
    with json_logs("debug", written):
        door.post("/posts", {"subject": "ann", "id": 1, "text": "I cannot sleep, secretly"})
        door.post("/posts", {"subject": "ann", "id": 2, "text": ["secretly"]})
        door.get("/subjects/ann")
    found = [json.loads(line) for line in written.getvalue().splitlines()]
    requests = [one for one in found if one["event"] == "request"]
    assert [(one["route"], one["status"]) for one in requests] == [
        *(("/posts", 200), ("/posts", 400), ("/subjects/{id}", 200))
    ]
    assert "secretly" not in written.getvalue()
