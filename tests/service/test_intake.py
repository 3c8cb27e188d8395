"""Posts are taken in exactly once, in both stores."""

import threading
from datetime import timedelta
from unittest.mock import Mock

import pytest

import watchword as ww
from services import (
    OTHER,
    RISK,
    START,
    opened,
    post,
    saved_model,
    send,
    small_model,
    vectors,
    watched,
)
from untyped import untyped
from waiting import wait_until
from watchword.errors import BusyError
from watchword.service.intake import Group
from watchword.service.records import IncomingPost, Position, Receipt
from watchword.service.replays import replayed


@pytest.fixture
def model(tmp_path):
    return saved_model(tmp_path)


def test_a_post_changes_its_subject_as_a_watcher_would(store_url, model):
    posts = [post("ann", 1, "lovely day"), post("bob", 1), post("ann", 2, "tired, cannot sleep")]
    with opened(store_url, model) as service:
        assert send(service, *posts) == Receipt(3, 0, (1, 2))
        assert vectors(service) == watched(small_model(), ww.Overtakes(RISK), posts)


def test_a_post_that_was_sent_before_changes_nothing(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1), post("ann", 2))
        before = vectors(service)
        assert send(service, post("ann", 2), post("ann", 1, "another text")) == Receipt(0, 2)
        assert vectors(service) == before
        assert len(service.subject("ann").history) == 2


def test_a_post_twice_in_a_batch_counts_once(store_url, model):
    with opened(store_url, model) as service:
        assert send(service, post("ann", 1), post("ann", 1), post("bob", 1)).duplicates == 1
        assert service.subject("ann").posts == 1


def test_new_posts_beside_repeated_ones_are_read(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1))
        assert send(service, post("ann", 1), post("ann", 2), post("bob", 1)).accepted == 2
        expected = watched(
            small_model(), ww.Overtakes(RISK), [post("ann", 1), post("ann", 2), post("bob", 1)]
        )
        assert vectors(service) == expected


def test_the_same_id_of_two_subjects_is_two_posts(store_url, model):
    with opened(store_url, model) as service:
        assert send(service, post("ann", 1), post("bob", 1)).accepted == 2


def test_a_state_outlives_the_service(store_url, model):
    posts = [post("ann", 1, "lovely garden"), post("ann", 2, "cannot"), post("ann", 3)]
    for one in posts:
        with opened(store_url, model, ww.Stays(RISK, last=2)) as service:
            send(service, one)
    with opened(store_url, model, ww.Stays(RISK, last=2)) as service:
        assert vectors(service) == watched(small_model(), ww.Stays(RISK, last=2), posts)


def test_the_position_of_a_source_is_committed_with_its_posts(store_url, model):
    with opened(store_url, model) as service:
        assert service.position("file:/x") is None
        send(service, post("ann", 1), position=Position("file:/x", "120"))
        send(service, position=Position("file:/x", "130"))
        assert service.position("file:/x") == "130"


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800", "𝄞 ☂", "'; DROP TABLE posts", "x" * 250])
def test_ids_may_have_any_characters(store_url, model, name):
    with opened(store_url, model) as service:
        sent = IncomingPost(name, name, f"I cannot {name} sleep")
        assert send(service, sent).accepted == 1
        assert send(service, sent).duplicates == 1
        view = service.subject(name)
        assert (view.id, view.history[0].post_id) == (name, name)
        assert service.alerts()[0].subject == name
        assert [one.id for one in service.subjects(query=name)] == [name]


@pytest.mark.parametrize(
    ("bad", "kind", "message"),
    [
        (IncomingPost("", "1", ""), ValueError, "post 2: the subject is empty"),
        (IncomingPost("a", "", ""), ValueError, "post 2: the id is empty"),
        (IncomingPost("a", "é" * 501, ""), ValueError, "longer than 1,000 bytes"),
        (IncomingPost("a", untyped(1), ""), TypeError, "post 2: the id must be a str"),
        (IncomingPost("a", "1", untyped(None)), TypeError, "post 2: the text must be a str"),
        (untyped({"subject": "a"}), TypeError, "post 2: expected an IncomingPost, got dict"),
    ],
)
def test_posts_that_cannot_be_kept_are_refused(tmp_path, model, bad, kind, message):
    with opened(str(tmp_path / "watch.db"), model) as service:
        with pytest.raises(kind, match=message):
            service.submit([post("ann", 1), bad])
        assert service.subjects() == []


def test_a_service_that_is_behind_takes_no_more_posts(tmp_path, model):
    with opened(str(tmp_path / "watch.db"), model, queue_posts=3) as service:
        with service.store.writing():  # nothing is committed meanwhile
            first = service.submit([post("ann", number) for number in range(3)])
            with pytest.raises(BusyError, match="3 posts are waiting") as error:
                service.submit([post("bob", 1)])
            assert error.value.retry_after >= 1
        assert first.result(60).accepted == 3
        assert send(service, post("bob", 1)).accepted == 1


def test_a_batch_larger_than_the_queue_is_taken_if_nothing_waits(tmp_path, model):
    with opened(str(tmp_path / "watch.db"), model, queue_posts=2) as service:
        assert send(service, *(post("ann", number) for number in range(5))).accepted == 5


def test_a_batch_that_fails_again_on_its_own_ends_nothing(tmp_path, model, monkeypatch):
    score = Group.score

    def score_several(batches, *rest, **options):
        if len(batches) == 1:
            raise MemoryError
        return score(batches, *rest, **options)

    with opened(str(tmp_path / "watch.db"), model) as service:
        writer = service.writer
        with monkeypatch.context() as patch:
            with service.store.writing():  # meanwhile, batches wait and are joined
                service.submit([post("ann", 0)])
                wait_until(lambda: not writer._queue)
                sent = [service.submit([post("bob", number)]) for number in range(3)]
                patch.setattr(Group, "score", score_several)
                patch.setattr(service._intake, "accept", Mock(side_effect=MemoryError))
            for one in sent:
                with pytest.raises(MemoryError):
                    one.result(10)
        assert send(service, post("ann", 1)).accepted == 1


def test_small_and_large_batches_are_read_in_the_order_in_which_they_were_sent(store_url, model):
    sizes = [1, 50, 1, 1, 50, 1]
    with opened(store_url, model) as service:
        sent = []
        for batch, size in enumerate(sizes):
            sent.append(service.submit([post("ann", f"{batch}.{at}") for at in range(size)]))
        assert [one.result(60).accepted for one in sent] == sizes
        history = service.subject("ann", limit=1000).history
    expected = [f"{batch}.{at}" for batch, size in enumerate(sizes) for at in range(size)]
    assert [one.post_id for one in history] == expected


def test_what_is_queued_is_committed_before_the_end(store_url, model):
    with opened(store_url, model) as service:
        sent = [service.submit([post("ann", number)]) for number in range(50)]
    assert all(one.result(0).accepted == 1 for one in sent)
    with opened(store_url, model) as service:
        assert service.subject("ann").posts == 50


@pytest.mark.quick
def test_several_services_on_one_store_count_every_post_once(postgres, model):
    url = postgres.new_database()
    posts = [
        post(f"subject {number % 7}", number, "cannot" if number % 3 else "lovely")
        for number in range(300)
    ]
    policy = ww.Stays(RISK, last=3)
    with opened(url, model, policy) as one, opened(url, model, policy) as two:

        def feed(service, begin):
            order = posts[begin:] + posts[:begin]
            for at in range(0, len(order), 11):
                send(service, *order[at : at + 11])

        threads = [
            threading.Thread(target=feed, args=(service, begin))
            for service, begin in ((one, 0), (two, 0), (two, 150))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = {name: found[0] for name, found in vectors(one).items()}
        assert counts == {f"subject {at}": len(posts[at::7]) for at in range(7)}
        alerts = one.alerts(limit=1000)
        assert len({alert.subject for alert in alerts}) == len(alerts)
        for alert in alerts:
            assert one.subject(alert.subject).delay == alert.delay


# Late posts


def test_late_posts_are_read_as_they_arrive(store_url, model):
    posts = [post("ann", 1, "cannot", minutes=5), post("ann", 2, "lovely", minutes=1)]
    with opened(store_url, model, ww.Stays(RISK, last=2)) as service:
        for one in posts:
            send(service, one)
        assert vectors(service) == watched(small_model(), ww.Stays(RISK, last=2), posts)


def test_a_late_post_is_read_in_its_place_if_the_order_is_by_time(store_url, model):
    first, second = post("ann", 1, "cannot sleep", minutes=1), post("ann", 2, "tired", minutes=2)
    late = post("ann", 3, "lovely garden", minutes=0)
    policy = ww.Repeats(RISK, times=3)
    with opened(store_url, model, policy, order="time") as service:
        send(service, first, post("bob", 1, minutes=9))
        send(service, second)
        send(service, late, post("bob", 2, minutes=10))
        expected = [late, first, second, post("bob", 1), post("bob", 2)]
        assert vectors(service) == watched(small_model(), policy, expected)
        assert service.subject("ann").first_time == START


def test_a_post_of_the_future_makes_no_later_post_late(store_url, model, monkeypatch):
    replays = Mock(wraps=replayed)
    monkeypatch.setattr("watchword.service.intake.replayed", replays)
    future = IncomingPost("ann", "1", "lovely garden", START.replace(year=2099))
    second, third = post("ann", 2, "tired"), post("ann", 3, "cannot sleep")
    policy = ww.Overtakes(RISK, margin=100)
    with opened(store_url, model, policy, order="time") as service:
        send(service, future)
        send(service, second)
        send(service, third)
        assert not replays.called
        late = post("ann", 4, "again", minutes=0)
        send(service, late)
        assert replays.called
        expected = watched(small_model(), policy, [late, future, second, third])
        assert vectors(service) == expected


def test_a_late_post_may_reveal_an_alert_at_an_earlier_post(store_url, model):
    policy = ww.Repeats(RISK, times=2)
    with opened(store_url, model, policy, order="time") as service:
        send(service, post("ann", 2, "cannot", minutes=2), post("ann", 3, "lovely", minutes=3))
        assert service.alerts() == []
        receipt = send(service, post("bob", 1, "lovely"), post("ann", 1, "sleep", minutes=1))
        [alert] = service.alerts()
        assert receipt.alerts == (alert.id,)
        assert (alert.post_id, alert.delay) == ("2", 2)
        assert alert.post_time == START + timedelta(minutes=2)


def test_an_alert_once_raised_stays_whatever_comes_late(store_url, model):
    with opened(store_url, model, order="time") as service:
        send(service, post("ann", 2, "cannot", minutes=2))
        send(service, post("ann", 1, "lovely garden, lovely day", minutes=1))
        [alert] = service.alerts()
        assert (alert.post_id, alert.delay) == ("2", 1)
        view = service.subject("ann")
        assert (view.posts, view.delay, view.label) == (2, 1, RISK)


def test_posts_without_a_time_have_that_of_their_arrival(store_url, model):
    with opened(store_url, model, order="time") as service:
        send(service, post("ann", 1, "lovely"))
        send(service, post("ann", 2, "cannot", minutes=0))  # long before the other arrived
        posts = [post("ann", 2, "cannot"), post("ann", 1, "lovely")]
        assert vectors(service) == watched(small_model(), ww.Overtakes(RISK), posts)


# Another policy or model


def test_another_policy_begins_with_the_memory_of_the_stored_posts(store_url, model):
    posts = [post("ann", 1, "cannot"), post("ann", 2, "sleep"), post("ann", 3, "tired")]
    with opened(store_url, model, ww.Overtakes(RISK, margin=100)) as service:
        send(service, *posts[:2])
    with opened(store_url, model, ww.Repeats(RISK, times=3)) as service:
        send(service, posts[2])
        assert vectors(service) == watched(small_model(), ww.Repeats(RISK, times=3), posts)


def test_the_memory_of_another_policy_follows_the_order_of_reading(store_url, model):
    late = [post("ann", 2, "tired", minutes=2), post("ann", 1, "lovely garden", minutes=1)]
    last, policy = post("ann", 3, "cannot", minutes=3), ww.Repeats(RISK, times=2)
    with opened(store_url, model, ww.Overtakes(RISK, margin=100), order="time") as service:
        for one in late:
            send(service, one)
    with opened(store_url, model, policy, order="time") as service:
        assert send(service, last).alerts == (1,)
        assert vectors(service) == watched(small_model(), policy, [*reversed(late), last])


def test_another_model_keeps_the_sums_and_its_new_label_appears(store_url, model):
    with opened(store_url, model, ww.Overtakes(RISK, margin=100)) as service:
        send(service, post("ann", 1))
        before = service.subject("ann").confidence
        larger = small_model()
        larger.learn_one("football match", "sports")
        larger.save(model)
        version = service.reload().result(60)
        assert (version.model, version.is_active) == (larger.fingerprint, True)
        send(service, post("ann", 2, "a football match"))
        after = service.subject("ann").confidence
        assert (after[RISK], after["sports"] > 0) == (before[RISK], True)
        assert list(service.subject("ann").history[0].added) == [RISK, OTHER]
