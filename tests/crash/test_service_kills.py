"""A service killed at any time: no post is lost or counted twice, no alert lost or doubled.

`make kill KILLS=200` kills it that often with each store; the suite does it a few times.
"""

import os
import random

import msgspec
import pytest

import watchword as ww
from killing import KILLS, killable
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
def test_a_killed_service_loses_and_repeats_nothing(kind, feeders, data, tmp_path, request):
    folder, model, posts = data
    chance = random.Random(f"kill {kind}")

    def new_store():
        if kind == "postgres":
            return request.getfixturevalue("postgres").new_database()
        return str(tmp_path / f"{chance.random()}.db")

    def arguments(url):
        return [url, folder / "model.ww", folder / "posts.jsonl", 40]

    first = new_store()
    undisturbed = feeders.run(tmp_path, arguments(first), output=tmp_path / "output")
    expected = found_in(first, folder / "model.ww")
    assert expected[0] == watched(model, POLICY, posts)
    assert expected[2:] == (str(len(posts)), len(posts))
    assert {one["subject"] for one in expected[1]} == {
        n for n, own in expected[0].items() if own[1]
    }
    assert expected[1]
    url, kills = new_store(), 0
    while kills < KILLS:
        told = feeders.run_for_a_while(
            chance, undisturbed, tmp_path, arguments(url), output=tmp_path / "output"
        )
        kills += told["code"] != 0
        if not told["code"] or kills == KILLS:
            feeders.run(tmp_path, arguments(url), output=tmp_path / "output")
            assert found_in(url, folder / "model.ww") == expected
            url = new_store()
