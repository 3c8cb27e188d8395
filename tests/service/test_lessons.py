"""Teaching with a way back, other models, forgetting, retention, rounds."""

import contextlib
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from services import OTHER, RISK, opened, post, saved_model, send, small_model, vectors, watched
from strategies import examples
from waiting import wait_until
from watchword.errors import (
    StoreError,
    StoreUnavailableError,
    UnknownAlertError,
    UnknownLabelError,
)
from watchword.service import lessons, subjects, upkeep
from watchword.service.records import IncomingPost
from watchword.service.replays import close_round


@pytest.fixture
def model(tmp_path):
    return saved_model(tmp_path)


def marked(service, *names, text="I cannot sleep, tired", verdict="wrong"):
    """Send a post of each subject that raises an alert, and mark the alert."""
    for name in names:
        [alert] = send(service, post(name, "only", f"{text} {name}")).alerts
        service.mark(alert, verdict)


# Teaching


def test_teaching_learns_marked_texts_and_saves_a_version(store_url, model):
    before = model.read_bytes()
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        version = service.teach()
        expected = small_model()
        expected.learn_one("I cannot sleep, tired ann", OTHER)
        assert (version.model, version.kind, version.lessons) == (expected.fingerprint, "taught", 1)
        assert ww.TauSS3.load(version.path).fingerprint == expected.fingerprint
        assert service.statistics().model == expected.fingerprint
        send(service, post("new", 1, "ann"))
        assert service.subject("new").confidence[OTHER] > 0
    assert model.read_bytes() == before  # the operator's file is never written


def test_a_taught_version_outlives_the_service(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach().model
    with opened(store_url, model) as service:
        assert service.statistics().model == taught


def test_another_given_model_replaces_what_was_taught(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        service.teach()
    other = small_model()
    other.learn_one("football", OTHER)
    other.save(model)
    with opened(store_url, model) as service:
        assert service.statistics().model == other.fingerprint
        assert [one.kind for one in service.versions()] == ["given", "taught", "given"]


def test_reload_of_the_unchanged_file_keeps_what_was_taught(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach()
        assert service.reload().result(60).number == taught.number
        assert service.statistics().model == taught.model
        named = service.reload(model).result(60)  # named by the operator: used as it is
        assert (named.kind, service.statistics().model) == ("given", small_model().fingerprint)


def test_a_file_taught_before_a_crash_is_removed(store_url, model, monkeypatch):
    def crash(*_):
        raise SystemExit

    folder = model.with_name(f"{model.name}.versions")
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        with monkeypatch.context() as patch:
            patch.setattr(lessons, "_refuse_changed", crash)
            with pytest.raises(SystemExit):
                service.teach()
        assert len(list(folder.iterdir())) == 2
    with opened(store_url, model) as service:
        assert list(folder.iterdir()) == []
        assert service.statistics().model == small_model().fingerprint
        taught = service.teach()
        assert Path(taught.path).exists()


def test_a_file_removed_as_unsettled_is_not_used(postgres, model, monkeypatch):
    url = postgres.new_database()
    with opened(url, model, store_texts=True) as service:
        marked(service, "ann")
        save = service._versions.save

        def saved(own):
            path = save(own)
            with opened(url, model):  # another process starts and tidies up
                pass
            return path

        monkeypatch.setattr(service._versions, "save", saved)
        with pytest.raises(StoreError, match="changed in the meantime"):
            service.teach()
        assert service.statistics().model == small_model().fingerprint


def test_a_refined_model_takes_a_step_of_correction(tmp_path):
    model = small_model()
    model.refine(["cannot sleep", "tired", "lovely", "the day"] * 5, [RISK, RISK, OTHER, OTHER] * 5)
    path = saved_model(tmp_path, model)
    with opened(str(tmp_path / "w.db"), path, store_texts=True) as service:
        marked(service, "ann")
        model.learn_one("I cannot sleep, tired ann", OTHER, correct=True)
        assert service.teach().model == model.fingerprint


def test_the_same_mark_is_taught_once(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        service.teach()
        with pytest.raises(StoreError, match="nothing to teach"):
            service.teach()


@pytest.mark.parametrize("is_refined", [False, True], ids=["counts", "refined"])
def test_a_corrected_mark_replaces_its_lesson_to_the_last_bit(store_url, tmp_path, is_refined):
    model = small_model()
    if is_refined:
        texts = ["cannot sleep", "tired", "lovely", "the day"] * 5
        model.refine(texts, [RISK, RISK, OTHER, OTHER] * 5)
    path = saved_model(tmp_path, model)
    with opened(store_url, path, store_texts=True) as service:
        marked(service, "ann", verdict="wrong")
        marked(service, "bob", verdict="right")
        service.teach()
        marked(service, "cid", verdict="right")
        service.teach()
        service.mark(1, "right")
        corrected = service.teach()
    for name in ("ann", "bob", "cid"):
        model.learn_one(f"I cannot sleep, tired {name}", RISK, correct=is_refined)
    assert (corrected.model, corrected.lessons) == (model.fingerprint, 3)
    with opened(store_url, path) as service:
        assert service.statistics().model == model.fingerprint


def test_a_mark_that_says_nothing_any_more_takes_its_lesson_back(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann", "bob")
        service.teach()
        service.mark(1, "unsure")
        expected = small_model()
        expected.learn_one("I cannot sleep, tired bob", OTHER)
        assert service.teach().model == expected.fingerprint
        service.mark(2, "unsure")
        given = service.teach()
        assert (given.number, given.kind, given.model) == (1, "given", small_model().fingerprint)
        with pytest.raises(StoreError, match="nothing to teach"):
            service.teach()


def test_a_lesson_is_replaced_though_its_texts_are_no_longer_stored(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        service.teach()
        service.store.change("DELETE FROM texts")
        service.mark(1, "right")
        expected = small_model()
        expected.learn_one("I cannot sleep, tired ann", RISK)
        assert service.teach().model == expected.fingerprint


def test_only_the_named_alerts_are_taught_and_corrected(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann", "bob", "cid")
        service.teach([1, 2])
        service.mark(1, "right")
        service.mark(2, "right")
        expected = small_model()
        expected.learn_one("I cannot sleep, tired ann", OTHER)
        expected.learn_one("I cannot sleep, tired bob", RISK)
        assert service.teach([2]).model == expected.fingerprint


def test_versions_before_a_correction_stay_until_their_subject_is_forgotten(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann", "bob")
        wrong = service.teach()
        service.mark(1, "right")
        right = service.teach()
        assert service.activate(wrong.number).model == wrong.model
        service.activate(right.number)
        assert service.forget("ann").versions == (wrong.number, right.number)
        expected = small_model()
        expected.learn_one("I cannot sleep, tired bob", OTHER)
        assert service.statistics().model == expected.fingerprint


def teach_what_is_new(service):
    """Teach the model what marks say, if it has not learnt that yet."""
    with contextlib.suppress(StoreError):
        service.teach()


VERDICTS = st.sampled_from(["right", "wrong", "unsure"])
STEPS = st.lists(st.none() | st.tuples(st.integers(1, 3), VERDICTS), max_size=12)


@examples(0.3)
@given(steps=STEPS)
def test_after_any_marks_and_lessons_the_model_has_learnt_only_the_latest_marks(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = saved_model(Path(folder))
        with opened(f"{folder}/watch.db", path, store_texts=True) as service:
            marked(service, "ann", "bob", "cid", verdict="unsure")
            for step in [*steps, None]:
                if step is None:
                    teach_what_is_new(service)
                else:
                    service.mark(*step)
            taught = service.statistics().model
    expected = small_model()
    for alert, verdict in dict(step for step in steps if step is not None).items():
        if verdict != "unsure":
            name = ("ann", "bob", "cid")[alert - 1]
            expected.learn_one(
                f"I cannot sleep, tired {name}", RISK if verdict == "right" else OTHER
            )
    assert taught == expected.fingerprint


def test_without_stored_texts_there_is_nothing_to_teach(store_url, model):
    with opened(store_url, model) as service:
        marked(service, "ann")
        with pytest.raises(StoreError, match="nothing to teach"):
            service.teach()
        assert len(service.versions()) == 1


def test_the_model_goes_back_to_an_earlier_version_and_forward(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach()
        given = service.activate(taught.root)
        assert (given.model, given.is_active) == (small_model().fingerprint, True)
        assert service.statistics().model == small_model().fingerprint
        assert service.activate(taught.number).model == taught.model
        with pytest.raises(StoreError, match="version 99 of the model not found"):
            service.activate(99)


def test_a_missing_file_of_a_version_is_named(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach()
    Path(taught.path).unlink()
    with pytest.raises(StoreError, match=r"the model .* is missing"), opened(store_url, model):
        pass


# Another model


def test_reload_refuses_a_model_without_the_label_and_goes_on(store_url, model, tmp_path):
    other = ww.TauSS3()
    other.learn_one("football", "sports")
    other.save(tmp_path / "other.ww")
    with opened(store_url, model) as service:
        with pytest.raises(UnknownLabelError, match="unknown label 'at risk'"):
            service.reload(tmp_path / "other.ww").result(60)
        assert send(service, post("ann", 1)).accepted == 1


def test_reload_with_replay_reads_stored_texts_again(store_url, model, tmp_path):
    posts = [post("ann", 1, "football"), post("bob", 1, "lovely"), post("ann", 2, "cannot")]
    other = small_model()
    other.learn_many(["football"] * 3, [RISK] * 3)
    other.save(tmp_path / "other.ww")
    policy = ww.Repeats(RISK, times=2)
    with opened(store_url, model, policy, store_texts=True) as service:
        send(service, *posts)
        assert service.alerts() == []
        service.reload(tmp_path / "other.ww", mode="replay").result(60)
        assert vectors(service) == watched(other, policy, posts)
        [alert] = service.alerts()
        assert (alert.subject, alert.post_id, alert.model) == ("ann", "2", other.fingerprint)
        send(service, post("bob", 2, "football"))
        assert vectors(service) == watched(other, policy, [*posts, post("bob", 2, "football")])


def test_replay_needs_stored_texts(store_url, model):
    with opened(store_url, model) as service, pytest.raises(ValueError, match="stored texts"):
        service.reload(mode="replay")


def test_a_version_that_one_process_activates_is_followed_by_another(postgres, model):
    url = postgres.new_database()
    with opened(url, model, store_texts=True) as one, opened(url, model) as two:
        marked(one, "ann")
        taught = one.teach()
        two._reloader.follow()
        assert two.statistics().model == taught.model


# Forgetting


def remains(folder, *secrets):
    """Return which secrets are found in any file of a folder."""
    whole = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [secret for secret in secrets if secret.encode() in whole]


def test_a_forgotten_subject_is_gone_everywhere(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        service.store.change(
            "INSERT INTO webhooks (url, secret, created) VALUES ('http://x', '', 0)"
        )
        marked(service, "ann", "bob")
        send(service, post("ann", 2, "good night"))
        found = service.forget("ann")
        assert found.rows == {
            "texts": 2,
            "posts": 2,
            "deliveries": 1,
            "marks": 1,
            "alerts": 1,
            "lessons": 0,
            "subjects": 1,
        }
        assert service.subject("ann") is None
        assert [one.subject for one in service.alerts()] == ["bob"]
        assert not service.forget("ann")
        assert send(service, post("ann", 2)).accepted == 1  # as if never seen


def test_forgetting_unlearns_what_was_taught_to_the_last_bit(store_url, tmp_path):
    model = small_model()
    model.refine(["cannot sleep", "tired", "lovely", "the day"] * 5, [RISK, RISK, OTHER, OTHER] * 5)
    path = saved_model(tmp_path, model)
    with opened(store_url, path, store_texts=True) as service:
        marked(service, "ann", verdict="right")
        first = service.teach()
        marked(service, "bob", verdict="right")
        second = service.teach()
        marked(service, "cid", verdict="right")
        third = service.teach()
        found = service.forget("bob")
        assert (found.unlearnt, found.versions) == (1, (second.number, third.number))
        for name in ("ann", "cid"):
            model.learn_one(f"I cannot sleep, tired {name}", RISK, correct=True)
        assert service.statistics().model == model.fingerprint
        active = service.versions()[-1]
        assert (active.model, active.lessons) == (model.fingerprint, 2)
        files = {str(one) for one in (tmp_path / "model.ww.versions").iterdir()}
        assert files == {one.path for one in service.versions()}
        assert first.path in files
        assert not {second.path, third.path} & files
    with opened(store_url, path) as service:
        assert service.statistics().model == model.fingerprint


def test_a_subject_forgotten_while_it_is_taught_is_in_no_version(postgres, model, monkeypatch):
    url = postgres.new_database()
    with opened(url, model, store_texts=True) as one, opened(url, model) as two:
        marked(one, "ann")
        during(monkeypatch, "learn", lambda: two.forget("ann"))
        with pytest.raises(StoreError, match="a subject was forgotten in the meantime: try again"):
            one.teach()
        assert [version.kind for version in one.versions()] == ["given"]
        assert one.statistics().model == small_model().fingerprint
    assert list(model.with_name("model.ww.versions").iterdir()) == []


def test_a_subject_taught_while_it_is_forgotten_is_refused(postgres, model, monkeypatch):
    url = postgres.new_database()
    with opened(url, model, store_texts=True) as one, opened(url, model) as two:
        marked(one, "ann")
        during(monkeypatch, "plan_unlearning", one.teach)
        with pytest.raises(StoreError, match="the model was changed in the meantime: try again"):
            two.forget("ann")
        assert two.forget("ann").versions == (2,)
        assert two.statistics().model == small_model().fingerprint


def test_a_version_removed_while_it_is_activated_is_not_used(postgres, model, monkeypatch):
    url = postgres.new_database()
    with opened(url, model, store_texts=True) as one, opened(url, model) as two:
        marked(one, "ann")
        taught = one.teach()
        one.activate(taught.root)
        load = two._versions.load

        def forgotten_after_loading(*version):
            found = load(*version)
            one.forget("ann")
            return found

        monkeypatch.setattr(two._versions, "load", forgotten_after_loading)
        with pytest.raises(StoreError, match="version 2 of the model not found"):
            two.activate(taught.number)
        assert [(one.number, one.is_active) for one in two.versions()] == [(taught.root, True)]


def during(monkeypatch, name, action):
    """Do something after the first call of a function of `lessons`."""
    original = getattr(lessons, name)

    def followed(*arguments):
        found = original(*arguments)
        monkeypatch.setattr(lessons, name, original)
        action()
        return found

    monkeypatch.setattr(lessons, name, followed)


def test_a_model_is_changed_by_one_thread_at_a_time(tmp_path, model, monkeypatch):
    with opened(str(tmp_path / "w.db"), model, store_texts=True) as service:
        marked(service, "ann")
        activating = threading.Thread(target=service.activate, args=(1,))
        switch = service.switch

        def activated_before(reading):
            monkeypatch.setattr(service, "switch", switch)
            activating.start()
            activating.join(0.2)
            switch(reading)

        monkeypatch.setattr(service, "switch", activated_before)
        service.teach()
        activating.join()
        [active] = [one for one in service.versions() if one.is_active]
        assert active.model == service.statistics().model


def test_a_mark_does_not_outlive_a_subject_that_is_being_forgotten(postgres, model):
    url = postgres.new_database()
    with opened(url, model) as one, opened(url, model) as two:
        send(one, post("ann", 1))
        refused = []

        def mark():
            try:
                two.mark(1, "right", "a note about ann")
            except UnknownAlertError as error:
                refused.append(error)

        marking = threading.Thread(target=mark)
        with one.store.writing() as session:
            session.run("SELECT id FROM subjects FOR UPDATE")
            for table in ("marks", "alerts", "posts", "subjects"):
                session.run(f"DELETE FROM {table}")
            marking.start()
            marking.join(0.5)
        marking.join()
        assert len(refused) == 1
        assert one.store.rows("SELECT * FROM marks") == []


def test_a_forgotten_subject_leaves_lists_that_are_kept_for_a_while(tmp_path, model, monkeypatch):
    monkeypatch.setattr(subjects, "_SHARE", 1e9)  # every list took long
    with opened(str(tmp_path / "w.db"), model) as service:
        send(service, post("ann", 1), post("bob", 1))
        assert [one.id for one in service.subjects(sort="name")] == ["ann", "bob"]
        service.forget("ann")
        assert [one.id for one in service.subjects(sort="name")] == ["bob"]


def test_forgetting_removes_versions_that_are_not_in_use_too(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach()
        service.activate(taught.root)
        assert service.forget("ann").versions == (taught.number,)
        assert not Path(taught.path).exists()
        assert [one.number for one in service.versions()] == [taught.root]


def test_files_of_a_forgotten_subject_are_removed_after_a_crash(store_url, model, monkeypatch):
    def crash(*_):
        raise SystemExit

    with opened(store_url, model, store_texts=True) as service:
        marked(service, "ann")
        taught = service.teach()
        with monkeypatch.context() as patch:
            patch.setattr(upkeep, "remove_unsettled", crash)
            with pytest.raises(SystemExit):
                service.forget("ann")
        assert Path(taught.path).exists()
    with opened(store_url, model):
        assert not Path(taught.path).exists()


def test_nothing_of_a_forgotten_subject_stays_in_the_file(tmp_path, model):
    folder = tmp_path / "store"
    folder.mkdir()
    names = [f"subject-{number:05}-x" for number in range(3_000)]
    with opened(str(folder / "w.db"), model, store_texts=True) as service:
        for begin in range(0, 3_000, 250):  # in an order that splits pages again and again
            send(
                service,
                *(
                    IncomingPost(name, f"id-of-{name}", f"I cannot sleep, says {name}")
                    for name in names[begin // 250 :: 12]
                ),
            )
        for name in names[::100]:
            service.mark(service.subject(name).alert, "wrong", f"note about {name}")
        secrets = names[:200:4]
        assert remains(folder, *secrets) == secrets
        for name in secrets:
            service.forget(name)
        assert remains(folder, *secrets) == []
    assert remains(folder, *secrets) == []
    assert remains(folder, names[1]) == [names[1]]


# Retention


def test_old_texts_are_removed_and_everything_else_stays(store_url, model):
    with opened(store_url, model, store_texts=True) as service:
        send(service, post("ann", 1, "cannot sleep"))
        before = vectors(service)
        assert service.expire(1) == 0
        assert service.expire(0) == 1
        assert service.subject("ann").history[0].text is None
        assert vectors(service) == before


def test_old_texts_are_removed_when_the_service_starts(tmp_path, model):
    path = tmp_path / "w.db"
    with opened(str(path), model, store_texts=True) as service:
        send(service, post("ann", 1, "a secret text"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE texts SET arrived = arrived - 3 * 86400000000")
    connection.commit()
    connection.close()
    with opened(str(path), model, store_texts=True, keep_texts_days=2) as service:
        assert service.subject("ann").history[0].text is None
    assert b"a secret text" not in path.read_bytes()


# Rounds

NEVER = 1e12  # seconds: the clock closes no round while a test runs


def rounds_of(model, policy, *rounds):
    watcher = model.watcher(policy)
    for one in rounds:
        watcher.read_round(one)
    return {one.subject: (one.posts, one.delay, one.confidence) for one in watcher.decisions()}


def test_a_population_policy_needs_rounds(tmp_path, model):
    with (
        pytest.raises(ValueError, match="set round_seconds"),
        opened(str(tmp_path / "w.db"), model, ww.StandsOut(RISK)),
    ):
        pass


def test_rounds_by_time_are_refused(tmp_path, model):
    with (
        pytest.raises(ValueError, match="cannot be used together"),
        opened(str(tmp_path / "w.db"), model, order="time", round_seconds=60),
    ):
        pass


def test_rounds_are_read_as_a_watcher_reads_them(store_url, model):
    policy = ww.StandsOut(RISK, gamma=1)
    with opened(store_url, model, policy, round_seconds=NEVER) as service:
        names = [f"s{number}" for number in range(6)]
        first = dict.fromkeys(names, "lovely day")
        for number in range(3):  # this policy alerts from the fourth round on
            sent = send(service, *(post(name, -number, text) for name, text in first.items()))
            assert (sent.alerts, service.statistics().waiting) == ((), 6)
            assert service.close_round() == []
        send(service, post("s1", 2, "cannot sleep, tired"), post("s2", 2, "the garden"))
        send(service, post("s1", 3, "again tired"), post("s1", 3, "twice"), post("s9", 1))
        alerts = service.close_round()
        second = {"s1": "cannot sleep, tired", "s2": "the garden", "s9": "I cannot sleep"}
        expected = rounds_of(small_model(), policy, *[first] * 3, second, {"s1": "again tired"})
        assert vectors(service) == expected
        found = [service.alert(number) for number in alerts]
        assert {one.subject for one in found} == {n for n, own in expected.items() if own[1]}
        assert found[0].reasons.ngrams_for
        assert service.close_round() == []
        assert service.statistics().rounds == 5
        assert service.store.rows("SELECT count(*) FROM texts") == [(0,)]


def test_waiting_posts_outlive_the_service(store_url, model):
    policy = ww.StandsOut(RISK, gamma=1)
    with opened(store_url, model, policy, round_seconds=NEVER) as service:
        send(service, post("ann", 1), post("bob", 1, "lovely"))
    with opened(store_url, model, policy, round_seconds=NEVER) as service:
        service.close_round()
        expected = rounds_of(small_model(), policy, {"ann": "I cannot sleep", "bob": "lovely"})
        assert vectors(service) == expected


def test_waiting_posts_are_read_by_a_service_without_rounds(store_url, model):
    with opened(store_url, model, round_seconds=NEVER) as service:
        send(service, post("ann", 1), post("bob", 1, "lovely"))
    with opened(store_url, model) as service:
        posts = [post("ann", 1), post("bob", 1, "lovely")]
        assert vectors(service) == watched(small_model(), ww.Overtakes(RISK), posts)
        assert [one.subject for one in service.alerts()] == ["ann"]
        assert service.store.rows("SELECT count(*) FROM texts") == [(0,)]


def test_another_policy_begins_a_round_with_the_memory_of_the_stored_posts(store_url, model):
    posts = [post("ann", 1, "cannot"), post("ann", 2, "sleep"), post("ann", 3, "tired")]
    with opened(store_url, model, ww.Overtakes(RISK, margin=100), round_seconds=NEVER) as service:
        send(service, *posts[:2])
        service.close_round()
    policy = ww.Repeats(RISK, times=3)
    with opened(store_url, model, policy, round_seconds=NEVER) as service:
        send(service, posts[2])
        assert len(service.close_round()) == 1
        assert vectors(service) == watched(small_model(), policy, posts)


def test_a_round_that_cannot_be_committed_is_closed_later(tmp_path, model, monkeypatch):
    with opened(str(tmp_path / "w.db"), model, round_seconds=NEVER) as service:
        send(service, post("ann", 1))
        larger = small_model()
        larger.learn_one("football", "sports")  # its layout is new in the next round
        larger.save(model)
        service.reload().result(60)
        with monkeypatch.context() as patch:
            patch.setattr("watchword.service.runner.close_round", failing(close_round))
            with pytest.raises(StoreUnavailableError):
                service.close_round()
        [number] = service.close_round()
        assert service.alert(number).subject == "ann"
        send(service, post("bob", 1))
        service.close_round()
        assert service.subject("bob").confidence[RISK] > 0


def failing(close_round):
    """Return a function that closes a round in a transaction that is rolled back."""

    def close(store, *arguments, **options):
        writing = store.writing

        @contextlib.contextmanager
        def rolled_back():
            with writing() as session:
                yield session
                raise StoreUnavailableError("away")

        store.writing = rolled_back
        try:
            return close_round(store, *arguments, **options)
        finally:
            del store.writing

    return close


def test_a_population_policy_cannot_be_replayed(tmp_path, model):
    policy, options = ww.StandsOut(RISK), {"round_seconds": NEVER, "store_texts": True}
    with (
        opened(str(tmp_path / "w.db"), model, policy, **options) as service,
        pytest.raises(ValueError, match="cannot be read again"),
    ):
        service.reload(mode="replay")


def test_a_round_is_closed_once_by_several_processes(postgres, model):
    url, policy = postgres.new_database(), ww.StandsOut(RISK, gamma=1)
    with (
        opened(url, model, policy, round_seconds=NEVER) as one,
        opened(url, model, policy, round_seconds=NEVER) as two,
    ):
        send(one, post("ann", 1))
        one.close_round(1_000)
        send(two, post("ann", 2))
        two.close_round(1_000)
        assert one.subject("ann").posts == 1
        two.close_round(2_000)
        assert one.subject("ann").posts == 2


def test_a_late_turn_closes_no_round_that_another_process_has_closed(tmp_path, model, monkeypatch):
    clock = SimpleNamespace(time=lambda: 1_000.0)
    monkeypatch.setattr("watchword.service.upkeep.time", clock)
    with opened(str(tmp_path / "w.db"), model, round_seconds=600) as service:
        [closing] = service._upkeep._duties
        assert closing.next_at == 1_200
        clock.time = lambda: 5_000.0
        service.close_round(4_800_000_000)  # as another process would
        send(service, post("ann", 1))
        closing.action()
        assert service.statistics().waiting == 1
        clock.time = lambda: 5_400.0
        closing.action()
        assert service.statistics().waiting == 0


def test_the_clock_closes_rounds(tmp_path, model):
    with opened(str(tmp_path / "w.db"), model, round_seconds=0.05) as service:
        assert send(service, post("ann", 1)).alerts == ()
        wait_until(service.last_alert)
        assert service.alerts()[0].subject == "ann"


def test_the_clock_closes_rounds_after_it_was_set_back(tmp_path, model, monkeypatch):
    with opened(str(tmp_path / "w.db"), model, round_seconds=0.05) as service:
        send(service, post("ann", 1))
        wait_until(service.last_alert)
        earlier = SimpleNamespace(time=lambda: time.time() - 86_400)
        monkeypatch.setattr("watchword.service.upkeep.time", earlier)
        send(service, post("bob", 1))
        wait_until(lambda: service.last_alert() == 2)
