"""Limits per token, threads of their own for posts and monitoring, parts of long histories."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from doors import Asker, open_door
from services import RISK, opened, post, saved_model, send
from waiting import wait_until
from watchword.service import alerts, subjects
from watchword.service.routes import RequestLimits
from watchword.service.subjects import BriefCache
from watchword.service.tokens import add_token
from watchword.web.connections import ConnectionLimits

BEFORE = 7  # posts of a long history without evidence


def with_token(door, name):
    """Return what asks a service with another token."""
    token = add_token(door.service.store, name, ["read", "feed"])
    asker = Asker(door.url, token)
    wait_until(lambda: asker.get("/statistics").status == 200)
    return asker


@contextlib.contextmanager
def blocked_searches(door, monkeypatch):
    """Let searches wait; yield the number of those that run."""
    released, running = threading.Event(), threading.Semaphore(0)

    def wait(**_):
        running.release()
        released.wait(60)
        return []

    monkeypatch.setattr(door.service, "subjects", wait)
    try:
        yield running
    finally:
        released.set()


# Streams of events


def test_a_token_may_open_so_many_streams_of_events(tmp_path):
    with open_door(tmp_path, limits=RequestLimits(streams=2)) as door:
        other = with_token(door, "other")
        with door.events(), contextlib.ExitStack() as second:
            second.enter_context(door.events())
            refused = door.get("/alerts/events")
            with other.events():
                assert refused.status == 429
                assert "too many streams" in refused.json["error"]
                assert int(refused.headers["retry-after"]) > 0
            second.close()
            wait_until(lambda: can_open_stream(door))


def can_open_stream(door):
    try:
        with door.events():
            return True
    except AssertionError:
        return False


def test_streams_of_events_leave_connections_for_posts(tmp_path):
    connections = ConnectionLimits(connections=8, header_timeout=60.0)
    limits = RequestLimits(streams=3)
    with open_door(tmp_path, limits=limits, connections=connections) as door:
        other = with_token(door, "other")
        with contextlib.ExitStack() as streams:
            for asker in (door, door, door, other):
                streams.enter_context(asker.events())
            assert other.get("/alerts/events").status == 429
            body = {"subject": "ann", "id": 1, "text": "hello"}
            assert door.post("/posts", body).status == 200


# Searches


def test_searches_hold_up_neither_posts_nor_monitoring_nor_other_tokens(tmp_path, monkeypatch):
    large = [{"subject": "ann", "id": at, "text": "hello " * 100} for at in range(100)]
    with open_door(tmp_path, limits=RequestLimits(at_once=2)) as door:
        other = with_token(door, "other")
        with ThreadPoolExecutor(20) as pool, blocked_searches(door, monkeypatch) as running:
            searches = [pool.submit(door.get, "/subjects?query=x") for _ in range(20)]
            assert all(running.acquire(timeout=60) for _ in range(2))
            assert door.get("/ready", token=None).status == 200
            assert door.get("/metrics").status == 200
            assert door.post("/posts", large).json["accepted"] == 100
            assert other.get("/alerts").status == 200
            assert not running.acquire(blocking=False)
        assert {search.result().status for search in searches} == {200}


def test_searches_of_all_tokens_hold_up_neither_posts_nor_monitoring(tmp_path, monkeypatch):
    large = [{"subject": "ann", "id": at, "text": "hello " * 100} for at in range(100)]
    with open_door(tmp_path, limits=RequestLimits(at_once=50)) as door:
        with ThreadPoolExecutor(20) as pool, blocked_searches(door, monkeypatch) as running:
            searches = [pool.submit(door.get, "/subjects?query=x") for _ in range(20)]
            assert running.acquire(timeout=60)
            assert door.get("/ready", token=None).status == 200
            assert door.get("/metrics").status == 200
            assert door.post("/posts", large).json["accepted"] == 100
        assert {search.result().status for search in searches} == {200}


def test_a_token_with_too_many_unanswered_requests_is_refused(tmp_path, monkeypatch):
    with open_door(tmp_path, limits=RequestLimits(at_once=1, waiting=1)) as door:
        with ThreadPoolExecutor(5) as pool, blocked_searches(door, monkeypatch) as running:
            searches = [pool.submit(door.get, "/subjects?query=x") for _ in range(5)]
            assert running.acquire(timeout=60)
            wait_until(lambda: sum(search.done() for search in searches) == 3)
        assert sorted(search.result().status for search in searches) == [200, 200, 429, 429, 429]
        assert door.get("/subjects").status == 200


def test_threads_that_ask_the_same_wait_for_one_result(monkeypatch):
    monkeypatch.setattr(subjects, "_SHORTEST", 0.0)
    cache, computing, released = BriefCache(), threading.Semaphore(0), threading.Event()

    def compute():
        computing.release()
        released.wait(60)
        return object()

    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(cache.get, "the same", compute) for _ in range(3)]
        assert computing.acquire(timeout=60)
        released.set()
        assert len({result.result() for result in results}) == 1
    assert not computing.acquire(blocking=False)


# Long histories


@pytest.fixture
def long_history(tmp_path):
    """Yield a service with a subject that has an alert after some posts, and further posts."""
    path = saved_model(tmp_path)
    with opened(str(tmp_path / "watch.db"), path, store_texts=True) as service:
        for at in range(BEFORE):
            send(service, post("ann", at, f"the day {at}"))
        for at in range(BEFORE, BEFORE + 4):
            send(service, post("ann", at, "I cannot sleep"))
        yield service


def test_pages_of_a_history_have_the_sums_of_the_whole(long_history, monkeypatch):
    monkeypatch.setattr(subjects, "_AT_ONCE", 2)
    whole = long_history.subject("ann").history
    pages, before = [], None
    while before != 1:
        view = long_history.subject("ann", before=before, limit=3)
        pages = [*view.history, *pages]
        before = view.before or 1
    assert tuple(pages) == whole


def test_the_story_of_a_long_history_is_that_of_its_part_around_the_alert(
    long_history, monkeypatch
):
    whole = long_history.story("ann")
    delay = whole["decision"]["delay"]
    monkeypatch.setattr(subjects, "_MOST_TOLD", 3)
    part = long_history.story("ann")
    assert (whole["first"], part["first"]) == (1, delay - 2)
    assert part["decision"]["delay"] == delay
    assert part["decision"]["posts"] == whole["decision"]["posts"] == BEFORE + 4
    assert part["times"] == whole["times"][delay - 3 : delay]
    assert part["sums"] == [pytest.approx(row) for row in whole["sums"][delay - 3 : delay]]
    shown = {post["number"]: post["id"] for post in part["shown"]}
    assert shown == {number: str(number - 1) for number in range(delay - 2, delay + 1)}


def test_an_alert_about_a_long_history_names_the_latest_posts(tmp_path, monkeypatch):
    monkeypatch.setattr(alerts, "MOST_POSTS", 3)
    with opened(str(tmp_path / "watch.db"), saved_model(tmp_path)) as service:
        for at in range(BEFORE):
            send(service, post("ann", at, "a lovely day"))
        texts = ["cannot sleep again, so tired, cannot sleep"] * 10
        send(service, *(post("ann", BEFORE + at, text) for at, text in enumerate(texts)))
        [alert] = service.alerts()
    reasons = alert.reasons
    named = {one.number for one in (*reasons.posts_for, *reasons.posts_against)}
    assert (alert.label, named) == (RISK, set(range(alert.delay - 2, alert.delay + 1)))
