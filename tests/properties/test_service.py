"""The service against a watcher that reads the same posts without a break, to the last bit."""

import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from stream_samples import CONTENTS, LABELS, policies, taught
from watchword.service import intake as intake_module
from watchword.service import stored_posts
from watchword.service.intake import Group, Intake, IntakeSettings, PostBatch
from watchword.service.records import IncomingPost
from watchword.service.rows import Detector
from watchword.service.store import connect, decoded

START = datetime(2024, 5, 1, tzinfo=timezone.utc)
NAMES = ["ann", "bob", "cid", "\ud800", "a\0b"]
TABLES = "subjects, posts, post_index, texts, alerts, deliveries, layouts, positions"


@st.composite
def streams(draw):
    """Draw a model, a policy, and posts in batches, some of them sent again."""
    labels = draw(st.sampled_from(LABELS))
    policy = draw(policies(labels[0]))
    size = draw(st.integers(1, 25))
    chosen = st.lists(st.sampled_from(NAMES), min_size=size, max_size=size)
    contents = st.lists(st.sampled_from(CONTENTS), min_size=size, max_size=size)
    minutes = draw(st.permutations(range(size)))
    posts = [
        IncomingPost(name, str(number), text, START + timedelta(minutes=minute))
        for number, (name, text, minute) in enumerate(
            zip(draw(chosen), draw(contents), minutes, strict=True)
        )
    ]
    sent = list(posts)
    for again in draw(st.lists(st.integers(0, size - 1), max_size=8)):
        first = sent.index(posts[again])
        sent.insert(draw(st.integers(first + 1, len(sent))), posts[again])
    ends = sorted(draw(st.sets(st.integers(1, len(sent)), max_size=6)) | {len(sent)})
    batches = [sent[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return taught(labels), policy, posts, batches


def received(store, model, policy, batches, **options):
    """Take batches in, a new intake for each, as after a restart; return receipts."""
    detector = Detector(model, policy, 1)
    receipts = []
    for batch in batches:
        intake = Intake(store, IntakeSettings(**options))
        groups = [PostBatch(batch[: len(batch) // 2]), PostBatch(batch[len(batch) // 2 :])]
        receipts += intake.accept(Group.score(groups, detector))
    return receipts


def stored(store):
    """Return posts, delay, score and state of each subject."""
    query = "SELECT name, posts, delay, score, state FROM subjects"
    return {
        decoded(name): (posts, delay, score, bytes(state))
        for name, posts, delay, score, state in store.rows(query)
    }


def watched(model, policy, posts):
    """Return the same of a watcher."""
    watcher = model.watcher(policy)
    for post in posts:
        watcher.read(post.subject, post.text)
    state = watcher._ledger.state_of(0, len(watcher))
    blobs = np.concatenate([state.sums, state.memory], axis=1)
    scores = watcher.scores()
    return {
        name: (int(state.posts[row]), int(state.delays[row]), scores[name], blobs[row].tobytes())
        for row, name in enumerate(watcher.subjects)
    }


def check_arrival(store, stream):
    model, policy, posts, batches = stream
    receipts = received(store, model, policy, batches)
    expected = watched(model, policy, posts)
    assert stored(store) == expected
    assert sum(one.accepted for one in receipts) == len(posts)
    assert sum(one.duplicates for one in receipts) == sum(map(len, batches)) - len(posts)
    alerts = dict(
        store.rows("SELECT s.name, a.delay FROM alerts a JOIN subjects s ON s.id = a.subject")
    )
    delays = {decoded(name): delay for name, delay in alerts.items()}
    assert delays == {name: own[1] for name, own in expected.items() if own[1]}
    assert sum(len(one.alerts) for one in receipts) == len(delays)


def check_time(store, stream):
    model, policy, posts, batches = stream
    received(store, model, policy, batches, order="time")
    expected = watched(model, policy, sorted(posts, key=lambda post: post.time))
    found = stored(store)
    for name, (count, delay, score, state) in expected.items():
        assert (found[name][0], *found[name][2:]) == (count, score, state)
        assert found[name][1] > 0 or not delay  # an alert may have come before a late post


@pytest.fixture(params=["few posts", "many posts", "equal hashes"])
def index(request, monkeypatch):
    """Keep the posts of subjects in their rows, or move them to the table; or let all collide."""
    if request.param != "few posts":
        monkeypatch.setattr(stored_posts, "_MOST_RECENT", 2)
    if request.param == "equal hashes":
        monkeypatch.setattr(intake_module, "hashed", lambda ids: [b"12345678"] * len(ids))


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("check", [check_arrival, check_time])
def test_any_batching_with_repetitions_equals_one_uninterrupted_read(check):
    @given(streams())
    @examples(0.5)
    def holds(stream):
        with tempfile.TemporaryDirectory() as folder:
            store = connect(str(Path(folder) / "watch.db"))
            check(store, stream)
            store.close()

    holds()


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("check", [check_arrival, check_time])
def test_postgresql_equals_one_uninterrupted_read_too(check, postgres):
    store = connect(postgres.new_database())

    @given(streams())
    @examples(0.2)
    def holds(stream):
        store.change(f"TRUNCATE {TABLES}")
        check(store, stream)

    holds()
    store.close()
