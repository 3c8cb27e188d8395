"""A service killed at any time, fed through HTTP, a file and Redis: nothing is lost or doubled.

`make kill KILLS=200` kills it that often over each store; the suite does it 20 times.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import watchword as ww
from command_line import ENVIRONMENT
from doors import LINES, Asker, receiving
from killing import killable
from ports import free_port
from rotating import rotate
from services import RISK, WORDS, opened, saved_model, small_model, watched
from waiting import wait_until
from watchword.service.records import IncomingPost
from watchword.service.redis_source import GROUP
from watchword.service.store import open_store
from watchword.service.webhooks import add_webhook

KILLS = int(os.environ.get("WATCHWORD_KILLS", "20"))
POLICY = "overtakes(margin=0.2)"
RULE = ww.Overtakes(RISK, margin=0.2)
SUBJECTS, POSTS = 12, 30  # subjects of each source, and posts of each part and source

pytestmark = pytest.mark.slow


class Killer:
    """Runs a service and kills it, again and again."""

    def __init__(self, program, folder, arguments):
        self._program, self._folder, self._arguments = program, folder, arguments
        self.kills = 0

    def run(self, delay, point=0):
        """Run the service until it is killed: at a point, at the latest after a delay."""
        output = self._folder / "output"
        told = self._program.run(
            self._folder, self._arguments, output=output, delay=delay, point=point
        )
        assert told["code"] == -signal.SIGKILL
        self.kills += 1


def made_posts(chance, source, part):
    """Return posts of a part, in the order in which they are sent."""
    return [
        IncomingPost(
            f"{source} {chance.randrange(SUBJECTS)}",
            f"{part}-{number}",
            " ".join(chance.choices(WORDS, k=5)),
        )
        for number in range(POSTS)
    ]


def line_of(post):
    return json.dumps({"subject": post.subject, "id": post.id, "text": post.text}) + "\n"


def send_twice(asker, posts, chance):
    """Send posts in batches, each until it is answered with success, and then once more."""
    at = 0
    while at < len(posts):
        batch = posts[at : at + chance.randint(1, 12)]
        at += len(batch)
        for _ in range(2):
            body = "".join(map(line_of, batch))
            while not is_stored(asker, body):
                time.sleep(0.02)


def is_stored(asker, body):
    try:
        answer = asker.post("/posts", body, kind=LINES)
    except (OSError, http.client.HTTPException):  # it is not running, or was killed
        return False
    assert answer.status in (200, 429, 503), answer
    return answer.status == 200


def append_and_rotate(path, posts, chance):
    """Append posts to a file that is rotated twice meanwhile."""
    third = len(posts) // 3
    append(path, posts[:third], chance)
    for part in (posts[third : 2 * third], posts[2 * third :]):
        rotate(path, ROTATED, compress=chance.random() < 0.3)
        append(path, part, chance)


def append(path, posts, chance):
    """Append posts to a file in pieces that end anywhere."""
    data = "".join(map(line_of, posts)).encode()
    while data:
        size = chance.randint(1, 400)
        with path.open("ab") as file:
            file.write(data[:size])
        data = data[size:]
        time.sleep(0.005)


ROTATED = tuple(f"posts.jsonl.{number}" for number in range(1, 200))


class Feed:
    """Sends a part of the stream to every source, and knows when it has arrived."""

    def __init__(self, asker, url, path, client, stream):
        self._asker, self._path, self._client, self._stream = asker, path, client, stream
        self._url, self._source = url, f"file:{path}".encode()
        self.posts = []

    def part(self, number, chance):
        parts = {name: made_posts(chance, name, number) for name in ("http", "file", "redis")}
        self.posts += [post for part in parts.values() for post in part]
        own = [random.Random(chance.random()) for _ in range(2)]
        threads = [
            threading.Thread(
                target=send_twice, args=(self._asker, parts["http"], own[0]), daemon=True
            ),
            threading.Thread(
                target=append_and_rotate if self._is_followed() else append,
                args=(self._path, parts["file"], own[1]),
                daemon=True,
            ),
        ]
        for thread in threads:
            thread.start()
        for post in parts["redis"]:
            for _ in range(2):
                self._client.xadd(self._stream, {"json": line_of(post)})
        return threads

    def _is_followed(self):
        """Return whether the service has begun to read the file: before, it is not rotated."""
        with open_store(self._url) as store:
            return store.rows("SELECT count(*) FROM positions WHERE source = ?", self._source) != [
                (0,)
            ]

    def has_arrived(self):
        with open_store(self._url) as store:
            [(count,)] = store.rows("SELECT count(*) FROM posts")
            [(due,)] = store.rows("SELECT count(*) FROM deliveries WHERE state = 'due'")
        return count == len(self.posts) and not due and not self._pending()

    def _pending(self):
        [group] = self._client.xinfo_groups(self._stream)
        return group["pending"] or group["lag"]


def test_a_killed_service_loses_and_doubles_nothing(store_url, redis_server, tmp_path):
    path = saved_model(tmp_path)
    chance = random.Random(f"kills of {store_url.partition(':')[0][:10]}")
    stream, redis_url = redis_server.new_stream()
    posts_file, port = tmp_path / "posts.jsonl", free_port()
    arguments = ["service", "run", "--model", path, "--positive", RISK, "--policy", POLICY]
    arguments += ["--store", store_url, "--no-token", "--port", port, "--log-level", "error"]
    arguments += ["--follow", posts_file, "--redis", redis_url]
    with (
        killable("door_killable.py", tmp_path) as program,
        receiving() as receiver,
        redis_server.client() as client,
    ):
        killer = Killer(program, tmp_path, arguments)
        with open_store(store_url) as store:
            add_webhook(store, receiver.url)
        feed = Feed(Asker(f"http://127.0.0.1:{port}"), store_url, posts_file, client, stream)
        part = 0
        while killer.kills < KILLS:
            threads = feed.part(part, chance)
            part += 1
            killer.run(chance.uniform(0.2, 2.5), chance.choice([0, chance.randint(1, 60)]))
            while any(thread.is_alive() for thread in threads):
                killer.run(chance.uniform(0.5, 4), chance.choice([0, chance.randint(10, 150)]))
        for _ in range(30):
            if feed.has_arrived():
                break
            killer.run(5)
        assert feed.has_arrived()
        assert client.xpending(stream, GROUP)["pending"] == 0
        received = {int(headers["Watchword-Alert"]) for _, headers, _ in receiver.received}
    expected = watched(small_model(), RULE, feed.posts)
    with opened(store_url, path, RULE) as service:
        found = {name: service.subject(name) for name in expected}
        alerts = service.alerts(limit=1000)
        total = service.statistics().subjects
    assert {
        name: (one.posts, one.delay, one.confidence) for name, one in found.items()
    } == expected  # floats, too: to the last bit
    assert total == len(expected)
    raised = {name for name, (_, delay, _) in expected.items() if delay}
    assert raised
    assert sorted(one.subject for one in alerts) == sorted(raised)
    assert received == {one.id for one in alerts}


def running(folder, url, *more):
    """Start a service as a process of its own; return it and what asks it."""
    arguments = ["service", "run", "--model", folder / "model.ww", "--positive", RISK]
    arguments += ["--policy", POLICY, "--store", url, "--no-token", "--port", "0", *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "watchword", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )
    return process, Asker(json.loads(process.stdout.readline())["url"])


def stopped(process):
    process.terminate()
    code = process.wait(60)
    process.stdout.close()
    return code


def body_of(posts):
    return "".join(map(line_of, posts))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs prlimit")
def test_a_full_disk_is_answered_with_503_and_costs_nothing(tmp_path):
    import resource

    path, url = saved_model(tmp_path), str(tmp_path / "watch.db")
    chance = random.Random(5)
    first, second, third = (made_posts(chance, "full", part) for part in range(3))
    process, asker = running(tmp_path, url)
    try:
        assert asker.post("/posts", body_of(first), kind=LINES).status == 200
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, hard))
        for _ in range(3):
            answer = asker.post("/posts", body_of(second), kind=LINES)
            assert answer.status == 503, answer
            assert int(answer.headers["retry-after"]) >= 1
            assert asker.get("/ready").status == 503
        assert asker.get("/health").status == 200
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert asker.post("/posts", body_of(second), kind=LINES).json["accepted"] == len(second)
        assert asker.post("/posts", body_of(third), kind=LINES).json["accepted"] == len(third)
    finally:
        assert stopped(process) == 0
    expected = watched(small_model(), RULE, first + second + third)
    with opened(url, path, RULE) as service:
        for name, (posts, delay, confidence) in expected.items():
            one = service.subject(name)
            assert (one.posts, one.delay, one.confidence) == (posts, delay, confidence)


def test_a_server_of_the_store_that_goes_away_and_returns_costs_nothing(tmp_path):
    from postgres import Server

    path = saved_model(tmp_path)
    chance = random.Random(6)
    first, second = (made_posts(chance, "away", part) for part in range(2))
    server = Server()
    try:
        server.start()
        url = server.new_database()
        process, asker = running(tmp_path, url)
        try:
            assert asker.post("/posts", body_of(first), kind=LINES).status == 200
            server.stop()
            assert asker.post("/posts", body_of(second), kind=LINES).status == 503
            assert asker.get("/ready").status == 503
            assert asker.get("/health").status == 200
            server.start()
            wait_until(lambda: is_stored(asker, body_of(second)))
        finally:
            assert stopped(process) == 0
        with opened(url, path, RULE) as service:
            for name, expected in watched(small_model(), RULE, first + second).items():
                one = service.subject(name)
                assert (one.posts, one.delay, one.confidence) == expected
    finally:
        server.remove()
