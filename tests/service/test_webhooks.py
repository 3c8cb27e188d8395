"""Webhooks: signed deliveries, retries, dead letters."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import watchword as ww
from doors import open_door, receiving
from services import RISK, opened, post, saved_model, send
from waiting import wait_until
from watchword.service import webhooks
from watchword.service.monitoring import Metrics
from watchword.service.records import as_json_data, now
from watchword.service.webhooks import (
    RETRIES,
    TOLERANCE,
    Dispatcher,
    WebhookError,
    add_webhook,
    dead_letters,
    is_signed,
    new_client,
    post_signed,
    remove_webhook,
    retry_dead_letters,
    signature,
    webhooks_in,
)
from watchword.web.models import to_json


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def service(tmp_path):
    with opened(str(tmp_path / "watch.db"), saved_model(tmp_path)) as service:
        yield service


def dispatcher(service, **options):
    body = lambda alert: to_json(as_json_data(service.alert(alert)))  # noqa: E731
    return Dispatcher(service.store, body, **{"every": 0.02, **options})


def posted(url, body=b"{}"):
    """Send a body to a URL; return the error, or None."""

    async def post():
        async with new_client() as client:
            return await post_signed(client, url, "secret", body, 1)

    with ThreadPoolExecutor(1) as other_thread:  # a browser's loop may run in this one
        return other_thread.submit(asyncio.run, post()).result()


def counts(service):
    [one] = webhooks_in(service.store)
    return one.due, one.done, one.dead


def test_an_alert_is_delivered_with_a_signature(tmp_path, receiver):
    with open_door(tmp_path) as door:
        _, secret = add_webhook(door.service.store, receiver.url)
        send(door.service, post("ann", 1))
        [(path, headers, body)] = receiver.wait_for(1)
        wait_until(lambda: counts(door.service) == (0, 1, 0))
        assert path == "/alerts"
        assert json.loads(body) == door.get("/alerts").json["alerts"][0]
        assert headers["Watchword-Alert"] == "1"
        assert is_signed(headers["Watchword-Signature"], secret, body, now=time.time())


def test_alerts_before_the_webhook_are_not_delivered(service, receiver):
    send(service, post("ann", 1))
    add_webhook(service.store, receiver.url)
    send(service, post("bob", 1))
    with dispatcher(service):
        [(_, headers, _)] = receiver.wait_for(1)
        wait_until(lambda: counts(service) == (0, 1, 0))
    assert headers["Watchword-Alert"] == "2"


def test_a_failed_delivery_is_tried_again(service, receiver):
    receiver.statuses = [500, 404]
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    metrics = Metrics()
    with dispatcher(service, retries=(0, 0), metrics=metrics):
        receiver.wait_for(3)
        wait_until(lambda: counts(service) == (0, 1, 0))
    assert 'watchword_deliveries_total{outcome="failed"} 2.0' in metrics.text()


def test_a_delivery_that_always_fails_becomes_a_dead_letter_and_can_be_retried(service, receiver):
    receiver.statuses = [500, 500]
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    with dispatcher(service, retries=(0,)):
        wait_until(lambda: counts(service) == (0, 0, 1))
        [letter] = dead_letters(service.store)
        assert (letter.alert, letter.attempts) == (1, 2)
        assert letter.error == "the receiver answered with status 500"
        assert retry_dead_letters(service.store) == 1
        wait_until(lambda: counts(service) == (0, 1, 0))
    assert len(receiver.received) == 3


def test_retries_wait_longer_and_longer_for_about_a_day():
    assert list(RETRIES) == sorted(RETRIES)
    assert 12 * 3600 <= sum(RETRIES) <= 36 * 3600


def test_a_failed_delivery_is_not_tried_before_its_time(service, receiver):
    receiver.statuses = [500]
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    with dispatcher(service, retries=(3600,)):
        receiver.wait_for(1)
        wait_until(lambda: service.store.rows("SELECT attempts FROM deliveries") == [(1,)])
        time.sleep(0.2)
    assert len(receiver.received) == 1


def set_back(monkeypatch, hours):
    """Let the clock of those who deliver be earlier by some hours."""
    monkeypatch.setattr(webhooks, "now", lambda: now() - hours * 3_600_000_000)


def test_a_clock_that_is_behind_delays_no_alert(service, receiver, monkeypatch):
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    set_back(monkeypatch, hours=2)
    with dispatcher(service):
        wait_until(lambda: counts(service) == (0, 1, 0))


def test_a_clock_that_is_behind_delays_no_dead_letter(service, receiver, monkeypatch):
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    service.store.change("UPDATE deliveries SET state = 'dead'")
    retry_dead_letters(service.store)
    set_back(monkeypatch, hours=2)
    with dispatcher(service):
        wait_until(lambda: counts(service) == (0, 1, 0))


def test_a_retry_does_not_wait_for_a_clock_that_was_set_back(service, receiver, monkeypatch):
    receiver.statuses = [500]
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    with dispatcher(service, retries=(3600,)):
        wait_until(lambda: service.store.rows("SELECT attempts FROM deliveries") == [(1,)])
        set_back(monkeypatch, hours=2)
        wait_until(lambda: counts(service) == (0, 1, 0))


def test_redirects_are_not_followed(receiver):
    receiver.statuses = [302]
    reason = posted(receiver.url)
    assert reason == "the receiver answered with status 302"
    assert [path for path, _, _ in receiver.received] == ["/alerts"]


def test_a_receiver_that_cannot_be_reached_is_a_failure():
    assert "refused" in posted("http://127.0.0.1:1/").lower()


def test_a_proxy_of_the_environment_is_not_used(receiver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert posted(receiver.url) is None


def test_a_receiver_whose_answer_is_long_is_read_only_in_part():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sent = []

        def answer():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                while sum(sent) < 1_000_000_000:
                    sent.append(connection.send(b"x" * 65_536))

        answering = threading.Thread(target=answer)
        answering.start()
        assert posted(f"http://127.0.0.1:{listener.getsockname()[1]}/") is None
        answering.join(60)
    assert sum(sent) < 100_000_000


def test_a_receiver_whose_answer_does_not_end_is_a_failure(monkeypatch):
    monkeypatch.setattr(webhooks, "_LONGEST", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                for _ in range(100):
                    connection.sendall(b"x")
                    time.sleep(0.1)

        answering = threading.Thread(target=answer)
        answering.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        reason = posted(url)
        answering.join()
    assert reason == "TimeoutError: the receiver took more than 0.3 seconds"


def test_one_receiver_that_fails_holds_up_no_other(service, receiver):
    add_webhook(service.store, "http://127.0.0.1:1/down")
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1), post("bob", 1), post("carl", 1))
    with dispatcher(service):
        receiver.wait_for(3)
    assert {headers["Watchword-Alert"] for _, headers, _ in receiver.received} == {"1", "2", "3"}


def test_a_slow_receiver_holds_up_no_other_and_gets_nothing_twice(service, receiver, monkeypatch):
    monkeypatch.setattr(webhooks, "_AT_ONCE", 1)
    monkeypatch.setattr(webhooks, "_TIMEOUT", 120.0)
    monkeypatch.setattr(webhooks, "_LONGEST", 120.0)
    with receiving() as slow:
        slow.wait = threading.Event()
        for one in (slow, receiver):
            add_webhook(service.store, one.url)
        send(service, post("ann", 1), post("bob", 1), post("carl", 1))
        with dispatcher(service):
            receiver.wait_for(3)
            wait_until(lambda: sum(one.done for one in webhooks_in(service.store)) == 3)
            assert len(slow.wait_for(1)) == 1
            slow.wait.set()
            wait_until(lambda: sum(one.done for one in webhooks_in(service.store)) == 6)
        assert len(slow.received) == 3


def test_a_failed_delivery_holds_up_no_other_alert(service, receiver):
    receiver.statuses = [200, 500, 200]
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1), post("bob", 1), post("carl", 1))
    with dispatcher(service, every=3600, retries=(3600,)):
        wait_until(lambda: counts(service) == (1, 2, 0))


def test_a_receiver_that_only_fails_gets_a_rest(service, receiver, monkeypatch):
    monkeypatch.setattr(webhooks, "_FAILURES", 2)
    receiver.statuses = [500] * 3
    add_webhook(service.store, receiver.url)
    send(service, post("ann", 1), post("bob", 1), post("carl", 1))
    with dispatcher(service, every=3600, retries=(3600,)):
        failed = "SELECT count(*) FROM deliveries WHERE attempts > 0"
        wait_until(lambda: service.store.rows(failed) == [(2,)])
    assert len(receiver.received) == 2


def test_receivers_that_hang_hold_up_no_other(service, receiver, monkeypatch):
    monkeypatch.setattr(webhooks, "_TIMEOUT", 600.0)
    monkeypatch.setattr(webhooks, "_LONGEST", 600.0)
    monkeypatch.setattr(webhooks, "_GRACE", 0.1)
    with contextlib.ExitStack() as stack:
        for _ in range(8):  # they accept connections, but never answer
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            add_webhook(service.store, f"http://127.0.0.1:{listener.getsockname()[1]}/")
        add_webhook(service.store, receiver.url)
        send(service, post("ann", 1))
        with dispatcher(service):
            [(_, headers, _)] = receiver.wait_for(1)
    assert headers["Watchword-Alert"] == "1"


def test_a_forgotten_alert_is_not_delivered(tmp_path, receiver):
    path = saved_model(tmp_path)
    with opened(str(tmp_path / "watch.db"), path, ww.Overtakes(RISK)) as service:
        add_webhook(service.store, receiver.url)
        send(service, post("ann", 1), post("bob", 1))
        service.forget("ann")
        with dispatcher(service):
            wait_until(lambda: counts(service) == (0, 1, 0))
    assert [headers["Watchword-Alert"] for _, headers, _ in receiver.received] == ["2"]


def test_a_removed_webhook_gets_nothing(service, receiver):
    number, _ = add_webhook(service.store, receiver.url)
    send(service, post("ann", 1))
    remove_webhook(service.store, number)
    assert webhooks_in(service.store) == []
    assert service.store.rows("SELECT * FROM deliveries") == []
    with pytest.raises(WebhookError, match="webhook 1 not found"):
        remove_webhook(service.store, number)


@pytest.mark.parametrize(
    "url",
    [
        *("example.org", "ftp://example.org", "http://", "http://[::1", "http://a:b@c/d"),
        *("http://example.org/#x", "http://exämple.org", "http://example.org:99999", "http://a b"),
    ],
)
def test_other_urls_are_refused(service, url):
    with pytest.raises(WebhookError):
        add_webhook(service.store, url)


def test_a_url_is_added_once(service, receiver):
    add_webhook(service.store, receiver.url)
    with pytest.raises(WebhookError, match="already"):
        add_webhook(service.store, receiver.url)


def test_an_old_or_changed_signature_is_refused():
    header = signature("secret", b"body", 1000)
    assert is_signed(header, "secret", b"body", now=1000 + TOLERANCE)
    assert not is_signed(header, "secret", b"body", now=1001 + TOLERANCE)
    assert not is_signed(header, "secret", b"bodY", now=1000)
    assert not is_signed(header.replace("t=1000", "t=1001"), "secret", b"body", now=1000)
    for other in ("", "t=,v1=", "t=x,v1=y", f"t={'9' * 99},v1=y"):
        assert not is_signed(other, "secret", b"body", now=1000)
