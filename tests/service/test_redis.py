"""Redis Streams as a source, with a real server."""

import io
import json

import pytest

import watchword as ww
from services import RISK, opened, saved_model
from waiting import wait_until
from watchword.service.intake import rejected_lines
from watchword.service.logs import json_logs
from watchword.service.redis_source import GROUP, RedisStream, StreamAddress
from watchword.service.sources import Sink, Sources, Stopped

LATER = ww.Overtakes(RISK, margin=1e9)


@pytest.fixture
def service(tmp_path):
    path = saved_model(tmp_path)
    with opened(str(tmp_path / "watch.db"), path, LATER) as service:
        yield service


@pytest.fixture
def stream(redis_server):
    """The name of a new stream, its address and a client."""
    name, url = redis_server.new_stream()
    with redis_server.client() as client:
        yield name, url, client


def entry(subject, **more):
    return {"subject": subject, "text": "a lovely garden", **more}


def posts(service):
    return {one.id: one.posts for one in service.subjects(limit=1000)}


def pending(client, name):
    return client.xpending(name, GROUP)["pending"]


def test_entries_are_read_and_acknowledged(service, stream):
    name, url, client = stream
    client.xadd(name, entry("ann", id="1", time="2024-05-01T12:30:00Z"))
    client.xadd(name, {"json": json.dumps(entry("bob", id=1))})
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 1, "bob": 1})
        client.xadd(name, entry("ann", id="2"))
        wait_until(lambda: posts(service) == {"ann": 2, "bob": 1})
        wait_until(lambda: pending(client, name) == 0)
    assert service.subject("ann").history[0].time.isoformat() == "2024-05-01T12:30:00+00:00"


def test_an_entry_without_an_id_is_identified_by_its_own(service, stream):
    name, url, client = stream
    key = client.xadd(name, entry("ann")).decode()
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 1})
    assert service.subject("ann").history[0].post_id.endswith(f"{name}#{key}")


def test_bad_entries_are_reported_skipped_and_acknowledged(service, stream):
    name, url, client = stream
    client.xadd(name, {"text": "no subject"})
    client.xadd(name, {"subject": b"\xff", "text": "a"})
    client.xadd(name, {"json": b"nonsense"})
    client.xadd(name, {"json": b'{"subject": "ann",\n "text": "two lines"}'})
    written = io.StringIO()
    with json_logs("warning", written), Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 1})
        wait_until(lambda: pending(client, name) == 0)
    assert written.getvalue().count("line skipped") == 3
    assert len(rejected_lines(service.store)) == 3


def test_a_misspelt_field_of_entries_is_reported_once(service, stream, caplog):
    name, url, client = stream
    client.xadd(name, entry("ann", tiem="2026-05-01", id="1"))
    client.xadd(name, entry("ann", tiem="2026-05-02", id="2"))
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 2})
    logs = [log.watchword_fields for log in caplog.records if "misspelt" in log.message]
    assert [(log["field"], log["missing"]) for log in logs] == [("tiem", "time")]


class Stopping(Sink):
    """A sink that stops after its first commit: before the entries are acknowledged."""

    def put(self, posts, position):
        super().put(posts, position)
        raise Stopped


def test_entries_committed_but_not_acknowledged_change_nothing(service, stream):
    name, url, client = stream
    for number in range(5):
        client.xadd(name, entry("ann", id=str(number)))
    with pytest.raises(Stopped):
        RedisStream(url).read(Stopping(service, "stopping"))
    assert posts(service) == {"ann": 5}
    assert pending(client, name) == 5
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: pending(client, name) == 0)
        client.xadd(name, entry("ann", id="new"))
        wait_until(lambda: posts(service) == {"ann": 6})


def test_many_pending_entries_are_read_before_new_ones(service, stream, monkeypatch):
    monkeypatch.setattr("watchword.service.redis_source._COUNT", 3)
    name, url, client = stream
    for number in range(8):
        client.xadd(name, entry("ann", id=str(number)))
    client.xgroup_create(name, GROUP, id="0")
    client.xreadgroup(GROUP, GROUP, {name: ">"})  # delivered to a consumer that died
    client.xadd(name, entry("ann", id="new"))
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 9})
        wait_until(lambda: pending(client, name) == 0)
    ids = [one.post_id for one in service.subject("ann").history]
    assert ids == [*map(str, range(8)), "new"]


def test_a_pending_entry_that_was_deleted_is_acknowledged(service, stream):
    name, url, client = stream
    key = client.xadd(name, entry("gone", id="1"))
    client.xgroup_create(name, GROUP, id="0")
    client.xreadgroup(GROUP, GROUP, {name: ">"})
    client.xdel(name, key)
    client.xadd(name, entry("ann", id="1"))
    with Sources(service, [RedisStream(url)]):
        wait_until(lambda: posts(service) == {"ann": 1})
        wait_until(lambda: pending(client, name) == 0)


def test_a_server_that_goes_away_and_returns_is_read_on(service, tmp_path_factory):
    from redis_server import RedisServer

    server = RedisServer(tmp_path_factory.mktemp("own"))
    name, url = server.new_stream()
    server.start()
    try:
        with server.client() as client:
            client.xadd(name, entry("ann", id="1"))
        with Sources(service, [RedisStream(url)]):
            wait_until(lambda: posts(service) == {"ann": 1})
            server.stop()
            server.start()
            with server.client() as client:
                client.xadd(name, entry("ann", id="2"))
            wait_until(lambda: posts(service) == {"ann": 2})
    finally:
        server.stop()


@pytest.mark.parametrize(
    "url", ["redis://host", "redis://host/0", "http://host/posts", "redis:///posts", "posts"]
)
def test_other_addresses_are_refused(url):
    with pytest.raises(ValueError, match="is not like redis://"):
        StreamAddress.parse(url)


def test_a_password_is_not_shown():
    address = StreamAddress.parse("redis://user:secret@host:7000/1/posts")
    assert address.server == "redis://user:secret@host:7000/1"
    assert address.shown == "host:7000/1/posts"


@pytest.mark.parametrize(
    "url",
    [
        "redis://host:7000/1/posts?password=sec%40ret",
        "redis://host:7000/1/posts?username=ann&%70assword=secret",
        "redis://ann:sec%2Fret@host:7000/1/posts?db=1",
    ],
)
def test_the_name_of_a_stream_has_no_options_and_no_password(url):
    assert RedisStream(url).name == "redis:host:7000/1/posts"


@pytest.mark.parametrize("password", ["sec/ret", "sec@ret", "sec?ret", "sec#ret"])
def test_a_password_that_is_not_encoded_is_not_shown(password):
    with pytest.raises(ValueError, match="%40, %2F, %3F and %23") as error:
        StreamAddress.parse(f"redis://ann:{password}@host/0/posts")
    assert "sec" not in str(error.value)
    assert "ret" not in str(error.value)
