"""Alerts with their reasons, marks, training data and numbers about the service."""

import json

import pytest

import watchword as ww
from services import OTHER, RISK, START, opened, post, saved_model, send, small_model
from waiting import wait_until
from watchword.errors import UnknownAlertError, UnknownLabelError
from watchword.service.records import as_json_data


@pytest.fixture
def model(tmp_path):
    return saved_model(tmp_path)


def test_an_alert_says_when_by_what_and_why(store_url, model):
    with opened(store_url, model, ww.Overtakes(RISK).after(3)) as service:
        send(service, post("ann", "a", "lovely", minutes=0), post("ann", "b", minutes=1))
        send(service, post("ann", "c", "I cannot sleep, so tired", minutes=2))
        [alert] = service.alerts()
        assert (alert.subject, alert.label, alert.delay, alert.post_id) == ("ann", RISK, 3, "c")
        assert (alert.post_time - START).seconds == 120
        assert (alert.model, alert.policy) == (small_model().fingerprint, "overtakes after 3")
        assert alert.confidence == service.subject("ann").confidence
        assert alert.score == service.subject("ann").score
        reasons = alert.reasons
        assert (reasons.rival, reasons.ngrams_of, reasons.covers) == (OTHER, "alerting post", 1)
        assert {one.ngram for one in reasons.ngrams_for} <= {"cannot", "sleep", "so", "tired"}
        assert [one.post_id for one in reasons.posts_for] == ["c", "b"]
        assert [(one.number, one.post_id) for one in reasons.posts_against] == [(1, "a")]


def test_reasons_have_the_counted_and_the_corrected_part_apart(tmp_path):
    model = small_model()
    texts = ["cannot sleep", "tired again", "lovely garden", "the day"] * 5
    model.refine(texts, [RISK, RISK, OTHER, OTHER] * 5)
    with opened(str(tmp_path / "w.db"), saved_model(tmp_path, model)) as service:
        send(service, post("ann", 1, "I cannot sleep, so tired"))
        [alert] = service.alerts()
        assert any(one.corrected for one in alert.reasons.ngrams_for)
        for one in alert.reasons.ngrams_for:
            assert one.difference == one.counted + one.corrected


def test_with_stored_texts_the_reasons_cover_all_posts_up_to_the_alert(store_url, model):
    policy = ww.Overtakes(RISK).after(2)
    with opened(store_url, model, policy, store_texts=True) as service:
        send(service, post("ann", 1, "tired"), post("ann", 2, "sleep"), post("ann", 3, "cannot"))
        [alert] = service.alerts()
        assert (alert.reasons.ngrams_of, alert.reasons.covers) == ("all posts", 2)
        assert {one.ngram for one in alert.reasons.ngrams_for} == {"tired", "sleep"}


def test_an_alert_is_the_same_in_any_batching(tmp_path, model):
    posts = [
        post(name, at, text)
        for at, text in enumerate(["tired", "cannot", "sleep"])
        for name in "ab"
    ]
    found = []
    for size in (1, 6):
        with opened(str(tmp_path / f"{size}.db"), model, ww.Repeats(RISK, times=2)) as service:
            for at in range(0, 6, size):
                send(service, *posts[at : at + size])
            found.append(
                [as_json_data(one) | {"raised_at": 0} for one in service.alerts(sort="oldest")]
            )
    assert found[0] == found[1] != []


def test_alerts_are_sorted_filtered_and_searched(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("bob%_", 1, "cannot"), post("ann", 1), post("cid", 1, "lovely"))
        send(service, post("dan", 1, "sleep, lovely, cannot"))
        assert [one.subject for one in service.alerts()] == ["dan", "ann", "bob%_"]
        assert [one.subject for one in service.alerts(since=1, sort="oldest")] == ["ann", "dan"]
        assert [one.subject for one in service.alerts(sort="subject")] == ["ann", "bob%_", "dan"]
        assert [one.subject for one in service.alerts(query="%")] == ["bob%_"]
        assert [one.subject for one in service.alerts(before=3, limit=1)] == ["ann"]
        assert service.alerts(sort="score")[-1].subject == "dan"
        assert service.alerts(label=OTHER) == []
        service.mark(2, "right")
        assert [one.id for one in service.alerts(unmarked=True)] == [3, 1]


def test_alerts_of_posts_without_a_time_are_the_last_by_time(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1, minutes=1), post("bob", 1), post("cid", 1, minutes=2))
        assert [one.subject for one in service.alerts(sort="time")] == ["cid", "ann", "bob"]


def test_subjects_are_sorted_and_searched(store_url, model):
    with opened(store_url, model, ww.Overtakes(RISK, margin=100)) as service:
        send(service, post("bob", 1, "cannot"), post("ann", 1, "lovely"), post("ann", 2, "day"))
        assert [one.id for one in service.subjects(undecided=True)] == ["bob", "ann"]
        assert [one.id for one in service.subjects(sort="name")] == ["ann", "bob"]
        assert [one.posts for one in service.subjects(sort="posts")] == [2, 1]
        assert [one.id for one in service.subjects(query="n")] == ["ann"]


def test_the_history_of_a_subject_comes_in_pages(store_url, model):
    with opened(store_url, model) as service:
        send(service, *(post("ann", number, "cannot", minutes=number) for number in range(1, 6)))
        page = service.subject("ann", limit=2)
        assert [one.number for one in page.history] == [4, 5]
        assert page.history[-1].sums == page.confidence
        earlier = service.subject("ann", before=page.before, limit=2)
        assert [one.post_id for one in earlier.history] == ["2", "3"]
        first = service.subject("ann", before=earlier.before, limit=2)
        assert ([one.number for one in first.history], first.before) == ([1], None)
        assert service.subject("nobody") is None


def test_records_are_plain_json(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        send(service, post("ann", 1, minutes=0))
        service.mark(1, "wrong", "no", by="eve")
        whole = [service.alerts(), service.subject("ann"), service.statistics()]
        data = json.loads(json.dumps(as_json_data([*whole, service.versions()])))
        assert data[0][0]["post_time"] == "2024-01-01T00:00:00Z"
        assert data[1]["history"][0]["text"] == "I cannot sleep"


# Listening


def test_a_listener_hears_of_alerts_after_the_commit(store_url, model):
    heard = []
    with opened(store_url, model) as service:
        end = service.listen(lambda ids: heard.append([service.alert(one).subject for one in ids]))
        send(service, post("ann", 1))
        wait_until(lambda: heard)
        end()
        send(service, post("bob", 1))
    assert heard == [["ann"]]


def test_a_listener_that_fails_ends_nothing(tmp_path, model, caplog):
    heard = []
    with opened(str(tmp_path / "watch.db"), model) as service:
        service.listen(lambda ids: [][len(ids)])
        service.listen(heard.extend)
        for number, name in enumerate(("ann", "bob", "cat", "dan"), 1):
            assert send(service, post(name, 1)).alerts == (number,)
            wait_until(lambda last=number: last in heard)
    assert caplog.messages.count("a listener failed") == 4


# Marks


def test_the_latest_mark_of_an_alert_counts_and_all_are_kept(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1), post("bob", 1))
        service.mark(1, "unsure", "who \0 knows", by="eve")
        service.mark(1, "wrong", "a quotation ☂", by="tim")
        marks = [(mark.verdict, mark.note, mark.by, mark.label) for mark in service.marks(1)]
        assert marks == [
            ("unsure", "who \0 knows", "eve", None),
            ("wrong", "a quotation ☂", "tim", OTHER),
        ]
        assert service.alert(1).mark == service.marks(1)[-1]
        assert service.statistics().marks.wrong == 1
        assert service.statistics().marks.unsure == 0
        assert [training.label for training in service.training()] == [OTHER]
        assert service.marks(2) == []
        with pytest.raises(UnknownAlertError, match="alert 7 not found"):
            service.marks(7)


def test_all_marks_of_a_forgotten_subject_are_removed(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1))
        service.mark(1, "unsure", by="eve")
        service.mark(1, "wrong", by="tim")
        assert service.forget("ann").rows["marks"] == 2
        assert service.store.rows("SELECT count(*) FROM marks") == [(0,)]


def test_marks_that_cannot_be_are_refused(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1))
        with pytest.raises(UnknownAlertError, match="alert 7 not found"):
            service.mark(7, "right")
        with pytest.raises(ValueError, match="verdict must be one of"):
            service.mark(1, "perhaps")
        with pytest.raises(UnknownLabelError, match="unknown label 'x'"):
            service.mark(1, "wrong", label="x")
        with pytest.raises(ValueError, match="cannot have the label"):
            service.mark(1, "right", label=OTHER)
        with pytest.raises(ValueError, match="cannot have this label"):
            service.mark(1, "wrong", label=RISK)
        with pytest.raises(ValueError, match="longer than 10,000 characters"):
            service.mark(1, "right", "x" * 10_001)
        assert service.statistics().marks.value is None


def test_precision_counts_right_and_wrong_marks(store_url, model):
    with opened(store_url, model) as service:
        send(service, *(post(name, 1) for name in "abcd"))
        for number, verdict in enumerate(["right", "right", "wrong", "unsure"], 1):
            service.mark(number, verdict)
        marks = service.statistics().marks
        assert (marks.right, marks.wrong, marks.unsure, marks.value) == (2, 1, 1, 2 / 3)


def test_marked_subjects_are_training_data_up_to_their_alerts(store_url, model):
    policy = ww.Overtakes(RISK).after(2)
    with opened(store_url, model, policy, store_texts=True) as service:
        send(service, *(post("ann", at, text) for at, text in enumerate(["tired", "sleep", "no"])))
        send(service, post("bob", 1, "cannot"), post("bob", 2, "again"), post("cid", 1))
        service.mark(1, "right")
        service.mark(2, "wrong")
        found = [(one.subject, one.label, one.text) for one in service.training()]
        assert found == [
            *(("ann", RISK, "tired"), ("ann", RISK, "sleep")),
            *(("bob", OTHER, "cannot"), ("bob", OTHER, "again")),
        ]


def test_posts_that_came_after_the_alert_are_no_training_data(store_url, model):
    options = {"order": "time", "store_texts": True}
    with opened(store_url, model, ww.Repeats(RISK, times=2), **options) as service:
        send(service, post("ann", 2, "cannot", minutes=2), post("ann", 3, "lovely", minutes=3))
        send(service, post("ann", 1, "sleep", minutes=1))
        send(service, post("ann", 0, "the garden", minutes=0))
        [alert] = service.alerts()
        assert (alert.post_id, alert.delay) == ("2", 2)
        service.mark(alert.id, "right")
        assert [one.text for one in service.training()] == ["sleep", "cannot"]


def test_without_texts_training_data_are_subjects_and_labels(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1), post("bob", 1))
        service.mark(1, "right")
        service.mark(2, "unsure")
        assert [(one.subject, one.label, one.text) for one in service.training()] == [
            ("ann", RISK, None)
        ]


def test_a_wrong_alert_among_several_labels_needs_the_true_one(tmp_path):
    model = small_model()
    model.learn_one("football match", "sports")
    with opened(str(tmp_path / "w.db"), saved_model(tmp_path, model)) as service:
        send(service, post("ann", 1))
        assert service.mark(1, "wrong").label is None
        assert list(service.training()) == []
        assert service.mark(1, "wrong", label="sports").label == "sports"


# Stories and numbers


def test_a_story_is_told_from_stored_texts(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        send(service, post("ann", 1, "lovely day"), post("ann", 2, "tired, cannot sleep"))
        story = service.story("ann")
        assert (story["decision"]["delay"], story["decision"]["posts"]) == (2, 2)
        assert story["shown"]
        assert service.story("nobody") is None


def test_without_stored_texts_there_is_no_story(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1))
        assert service.story("ann") is None
        assert service.subject("ann").history[0].text is None


def test_statistics_count_what_is_in_the_store(store_url, model):
    with opened(store_url, model) as service:
        send(service, post("ann", 1), post("ann", 2, "lovely"), post("bob", 1, "lovely"))
        send(service, post("bob", 1))
        found = service.statistics()
        assert (found.subjects, found.posts, found.alerts) == (2, 3, 1)
        assert (found.accepted, found.duplicates, found.queued) == (3, 1, 0)
        assert (sum(found.per_second), len(found.per_second)) == (3, 60)
        assert (found.policy, found.labels, found.positive) == ("overtakes", (RISK, OTHER), RISK)
