"""What `/ready` and `/metrics` say about the store, the sources and the deliveries."""

import json
import os
import re
from types import SimpleNamespace

import pytest

import watchword as ww
from doors import open_door, receiving
from services import RISK, post, send
from waiting import wait_until
from watchword.errors import StoreUnavailableError
from watchword.service import monitoring
from watchword.service.following import FollowedFile
from watchword.service.redis_source import RedisStream
from watchword.service.webhooks import add_webhook

LATER = ww.Overtakes(RISK, margin=1e9)
POST = {"subject": "ann", "id": "1", "text": "a lovely garden"}


@pytest.fixture
def door(tmp_path):
    with open_door(tmp_path) as door:
        yield door


def reasons(door):
    """Return why the service is not ready; none if it is."""
    answer = door.get("/ready", token=None)
    assert (answer.status == 200) == (answer.json["reasons"] == [])
    return answer.json["reasons"]


def metric(door, name):
    """Return the value of a metric, with its labels if it has any; None if it is missing."""
    text = door.get("/metrics").body.decode()
    match = re.search(rf"^watchword_{re.escape(name)} (.*)$", text, re.MULTILINE)
    return None if match is None else float(match[1])


def test_health_and_readiness(door):
    assert door.get("/health", token=None).json == {"status": "ok", "reasons": []}
    ready = {"status": "ready", "reasons": [], "warnings": []}
    assert door.get("/ready", token=None).json == ready


def test_a_store_that_does_not_answer_makes_the_service_not_ready(door):
    def away(*_):
        raise StoreUnavailableError("away")

    door.service.store.rows = away
    wait_until(lambda: reasons(door) == ["the store does not answer"])


def test_a_full_disk_makes_the_service_not_ready_until_there_is_space(door, monkeypatch):
    free = os.statvfs(".")
    with monkeypatch.context() as full:
        is_full = SimpleNamespace(f_frsize=free.f_frsize, f_bavail=0, f_bfree=0)
        full.setattr(os, "statvfs", lambda _: is_full)
        wait_until(lambda: reasons(door) == ["posts cannot be stored"])
    wait_until(lambda: reasons(door) == [])


def test_a_store_that_cannot_be_written_is_noticed_although_no_posts_arrive(door, monkeypatch):
    monkeypatch.setattr(monitoring, "_IDLE", 0.0)

    def refuse(*_):
        raise StoreUnavailableError("the server only reads")

    monkeypatch.setattr(door.service.store, "writing", refuse)
    wait_until(lambda: reasons(door) == ["posts cannot be stored"])


def test_a_failed_commit_makes_the_service_not_ready_at_once(door, monkeypatch):
    def refuse(*_):
        raise StoreUnavailableError("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(door.service.store, "writing", refuse)
        assert door.post("/posts", POST).status == 503
        assert reasons(door) == ["posts cannot be stored"]
    wait_until(lambda: reasons(door) == [])


def test_readiness_does_not_wait_for_locks(door):
    with door.service.store.writing():
        assert reasons(door) == []


def test_a_service_without_redis_is_not_ready(tmp_path, tmp_path_factory):
    from redis_server import RedisServer

    server = RedisServer(tmp_path_factory.mktemp("own"))
    name, url = server.new_stream()
    with open_door(tmp_path, LATER, sources=[RedisStream(url)]) as door:
        wait_until(lambda: reasons(door) == ["a source cannot be reached"])
        server.start()
        try:
            wait_until(lambda: reasons(door) == [])
            with server.client() as client:
                client.xadd(name, {"subject": "ann", "id": "1", "text": "a lovely garden"})
            wait_until(lambda: metric(door, "posts") == 1)
            source = f'source="redis:127.0.0.1:{server.port}/0/{name}"'
            wait_until(lambda: metric(door, f"source_lag_entries{{{source}}}") == 0)
            assert metric(door, f'source_state{{{source},state="reading"}}') == 1
            assert metric(door, f'source_state{{{source},state="unreachable"}}') == 0
        finally:
            server.stop()
        wait_until(lambda: reasons(door) == ["a source cannot be reached"])


def test_metrics_have_the_state_of_a_file_and_how_much_is_not_read(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_text(json.dumps(POST) + '\n{"begun', encoding="utf-8")
    with open_door(tmp_path, LATER, sources=[FollowedFile(path)]) as door:
        source = f'source="file:{path}"'
        wait_until(lambda: metric(door, "posts") == 1)
        assert metric(door, f'source_state{{{source},state="reading"}}') == 1
        wait_until(lambda: metric(door, f"source_lag_bytes{{{source}}}") == len('{"begun'))


def test_metrics_count_deliveries_that_are_due_and_dead(door):
    with receiving() as receiver:
        receiver.statuses = [500]
        add_webhook(door.service.store, receiver.url)
        send(door.service, post("ann", 1))
        wait_until(lambda: metric(door, 'deliveries_total{outcome="failed"}') == 1)
        assert (metric(door, "deliveries_due"), metric(door, "deliveries_dead")) == (1, 0)
        door.service.store.change("UPDATE deliveries SET state = 'dead'")
        assert (metric(door, "deliveries_due"), metric(door, "deliveries_dead")) == (0, 1)


def test_metrics_have_the_memory_of_the_process(door):
    assert metric(door, "memory_bytes") > 1e6
