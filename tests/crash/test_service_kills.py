"""A service killed at any time: no post is lost or counted twice, no alert lost or doubled.

`make kill KILLS=200` kills it that often with each store; the suite does it a few times. So does
`make kill-sources KILLS=100` for sources alone, whose files are rotated twice while it is behind.
"""

import itertools
import os
import random
import threading

import msgspec
import pytest

import watchword as ww
from killing import KILLS, killable
from rotating import rotate
from service_killable import POLICY
from services import opened, vectors, watched
from watchword.service.records import IncomingPost, as_json_data

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


@pytest.fixture(scope="module")
def feeders(tmp_path_factory):
    with killable("service_killable.py", tmp_path_factory.mktemp("errors")) as program:
        yield program


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write a model and posts."""
    folder = tmp_path_factory.mktemp("data")
    model = ww.TauSS3()
    ww.teach(model, ww.make_risk_streams(40, seed=1))
    model.save(folder / "model.ww")
    posts = [
        IncomingPost(one.id, str(number), post.text, post.time)
        for one in ww.make_risk_streams(40, seed=2)
        for number, post in enumerate(one.posts)
    ]
    posts.sort(key=lambda post: (post.time, post.subject))
    lines = b"".join(msgspec.json.encode(post) + b"\n" for post in posts)
    (folder / "posts.jsonl").write_bytes(lines)
    return folder, model, posts


@pytest.fixture
def new_store(request, tmp_path):
    """A function that returns the address of a new store of a kind."""
    numbers = itertools.count()

    def new(kind):
        if kind == "postgres":
            return request.getfixturevalue("postgres").new_database()
        return str(tmp_path / f"{next(numbers)}.db")

    return new


def found_in(url, model_path):
    """Return the vectors, the alerts and the position, without what differs between runs."""
    with opened(url, model_path, POLICY, store_texts=True) as service:
        alerts = [as_json_data(one) for one in service.alerts(limit=10_000, sort="oldest")]
        for one in alerts:
            del one["raised_at"], one["id"]
        texts = service.store.rows("SELECT count(*) FROM texts")[0][0]
        alerts.sort(key=lambda one: one["subject"])
        return vectors(service), alerts, service.position("feed"), texts


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_service_loses_and_repeats_nothing(kind, feeders, data, tmp_path, new_store):
    folder, model, posts = data
    chance = random.Random(f"kill {kind}")

    def arguments(url):
        return [url, folder / "model.ww", folder / "posts.jsonl", 40]

    first = new_store(kind)
    undisturbed = feeders.run(tmp_path, arguments(first), output=tmp_path / "output")
    expected = found_in(first, folder / "model.ww")
    assert expected[0] == watched(model, POLICY, posts)
    assert expected[2:] == (str(len(posts)), len(posts))
    assert {one["subject"] for one in expected[1]} == {
        n for n, own in expected[0].items() if own[1]
    }
    assert expected[1]
    url, kills = new_store(kind), 0
    while kills < KILLS:
        told = feeders.run_for_a_while(
            chance, undisturbed, tmp_path, arguments(url), output=tmp_path / "output"
        )
        kills += told["code"] != 0
        if not told["code"] or kills == KILLS:
            feeders.run(tmp_path, arguments(url), output=tmp_path / "output")
            assert found_in(url, folder / "model.ww") == expected
            url = new_store(kind)


ROTATED = tuple(f"posts.jsonl.{number}" for number in range(1, 10))


def rotate_twice(path, parts, *, compress, delay):
    """Rotate a file twice after some seconds, with new lines in each new file; in a thread."""
    waiting = threading.Event()

    def work():
        waiting.wait(delay)
        for part in parts:
            rotate(path, ROTATED, compress=compress)
            path.write_bytes(part)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_service_reads_each_line_of_rotated_files_once(
    kind, feeders, data, tmp_path, new_store
):
    folder, model, posts = data
    chance = random.Random(f"rotate {kind}")
    expected = watched(model, POLICY, posts)
    # Without ids, a line that is read twice counts twice.
    lines = [
        msgspec.json.encode({"subject": post.subject, "text": post.text, "time": post.time}) + b"\n"
        for post in posts
    ]
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(b"".join(lines))
    order = [new_store(kind), folder / "model.ww", whole, "follow", len(lines)]
    undisturbed = feeders.run(tmp_path, order, output=tmp_path / "output")
    assert found_in(order[0], folder / "model.ww")[0] == expected
    kills = 0
    while kills < KILLS:
        path = tmp_path / f"followed {chance.random()}" / "posts.jsonl"
        path.parent.mkdir()
        url = new_store(kind)
        ends = [len(lines) * ninth // 9 for ninth in range(1, 10)]
        path.write_bytes(b"".join(lines[: ends[0]]))
        order = [url, folder / "model.ww", path, "follow", ends[0]]
        feeders.run(tmp_path, order, output=tmp_path / "output")  # which makes it known
        for one, two, three in zip(ends[:-2:2], ends[1::2], ends[2::2], strict=True):
            parts = b"".join(lines[one:two]), b"".join(lines[two:three])
            compress, delay = chance.random() < 0.3, chance.uniform(0, undisturbed["seconds"])
            rotating = rotate_twice(path, parts, compress=compress, delay=delay)
            order = [url, folder / "model.ww", path, "follow", three]
            told = feeders.run_for_a_while(
                chance, undisturbed, tmp_path, order, output=tmp_path / "output"
            )
            kills += told["code"] != 0
            rotating.join()
        feeders.run(tmp_path, order, output=tmp_path / "output")
        sums, _, _, texts = found_in(url, folder / "model.ww")
        assert (sums, texts) == (expected, len(posts))
