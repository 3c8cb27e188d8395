"""Growing files and standard input as sources."""

import errno
import io
import json
import os
import shutil
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

import watchword as ww
from command_line import records
from doors import open_door
from rotating import BEFORE_SUFFIX, DATED, NUMBERED, rotate
from services import RISK, opened, saved_model
from waiting import wait_until
from watchword.errors import StoreUnavailableError
from watchword.service.following import FollowedFile, StandardInput
from watchword.service.intake import Intake, rejected_lines
from watchword.service.logs import json_logs
from watchword.service.monitoring import Metrics
from watchword.service.rotation import files_named_after
from watchword.service.sources import SourceError, Sources

LATER = ww.Overtakes(RISK, margin=1e9)


@pytest.fixture
def folder(tmp_path):
    saved_model(tmp_path)
    return tmp_path


def service_in(folder):
    return opened(str(folder / "watch.db"), folder / "model.ww", LATER)


def line(subject, **more):
    return json.dumps({"subject": subject, "text": "a lovely garden", **more}) + "\n"


def append(path, *lines):
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def posts(service):
    return {one.id: one.posts for one in service.subjects(limit=1000)}


def wait_for(service, expected):
    wait_until(lambda: posts(service) == expected, expected)


def following(service, path, *, linger=0.1, **options):
    return Sources(service, [FollowedFile(path, poll=0.02, linger=linger, **options)])


def events(written):
    return [json.loads(one)["event"] for one in written.getvalue().splitlines()]


@pytest.fixture
def refused(monkeypatch):
    """The files that must not be read, by inode, and how often one was tried."""
    refused, real = SimpleNamespace(inodes=set(), times=0), Path.open

    def opened(path, mode="r", *rest, **options):
        if mode == "rb" and path.exists() and path.stat().st_ino in refused.inodes:
            refused.times += 1
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", opened)
    return refused


def put_unreadable(path, refused, *lines):
    """Give the name to a file that was never readable."""
    new = path.with_suffix(".new")
    append(new, *lines)
    refused.inodes.add(new.stat().st_ino)
    new.rename(path)


@pytest.fixture
def successors(monkeypatch):
    """The files that were found under the name of a followed file after it was renamed."""
    found, real = [], FollowedFile.successor_of

    def successor_of(*arguments):
        file = real(*arguments)
        if file is not None:
            found.append(file)
        return file

    monkeypatch.setattr(FollowedFile, "successor_of", successor_of)
    return found


def test_lines_are_read_as_they_are_appended(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        append(path, line("bob"), line("ann"))
        wait_for(service, {"ann": 2, "bob": 1})


def test_a_line_counts_once_its_end_is_written(folder):
    path = folder / "posts.jsonl"
    whole = line("bob")
    append(path, line("ann"), whole[:20])
    with service_in(folder) as service:
        with following(service, path):
            wait_for(service, {"ann": 1})
        append(path, whole[20:])
        with following(service, path):
            wait_for(service, {"ann": 1, "bob": 1})


def test_reading_goes_on_where_it_ended(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"), line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 2})
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 3})


def test_a_file_may_appear_later(folder):
    path = folder / "posts.jsonl"
    with service_in(folder) as service, following(service, path):
        append(path, line("ann"))
        wait_for(service, {"ann": 1})


@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_that_must_not_be_read_yet_is_read_later(folder, refused, is_first):
    path = folder / "posts.jsonl"
    before = {} if is_first else {"ann": 1}
    written = io.StringIO()
    with ExitStack() as stack:
        stack.enter_context(json_logs("warning", written))
        service = stack.enter_context(service_in(folder))
        if not is_first:
            append(path, line("ann"))
            stack.enter_context(following(service, path))
            wait_for(service, before)
            path.rename(folder / "posts.jsonl.1")
        put_unreadable(path, refused, line("bob"))
        if is_first:
            stack.enter_context(following(service, path))
        wait_until(lambda: refused.times > 2)
        refused.inodes.clear()
        wait_for(service, {**before, "bob": 1})
    assert events(written).count("file is not readable yet") == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_that_is_replaced_before_it_was_readable_is_an_error(folder, refused, is_first):
    path = folder / "posts.jsonl"
    before = {} if is_first else {"ann": 1}
    written = io.StringIO()
    with ExitStack() as stack:
        stack.enter_context(json_logs("error", written))
        service = stack.enter_context(service_in(folder))
        if not is_first:
            append(path, line("ann"))
            stack.enter_context(following(service, path))
            wait_for(service, before)
            path.rename(folder / "posts.jsonl.1")
        put_unreadable(path, refused, line("lost"))
        if is_first:
            stack.enter_context(following(service, path))
        wait_until(lambda: refused.times > 1)
        path.rename(folder / "posts.jsonl.2")
        append(path, line("bob"))
        wait_for(service, {**before, "bob": 1})
    assert events(written) == ["file was replaced before it was readable: its lines were not read"]


@pytest.mark.parametrize("is_first", [True, False])
def test_the_service_is_not_ready_while_a_file_must_not_be_read(folder, refused, is_first):
    path = folder / "posts.jsonl"
    if is_first:
        put_unreadable(path, refused, line("ann"))
    else:
        append(path, line("ann"))
    source = FollowedFile(path, poll=0.02, linger=0.1)
    with open_door(folder, LATER, sources=[source]) as door:
        if not is_first:
            wait_for(door.service, {"ann": 1})
            path.rename(folder / "posts.jsonl.1")
            put_unreadable(path, refused, line("ann"))
        wait_until(lambda: door.get("/ready").status == 503)
        assert door.get("/ready").json["reasons"] == ["a source is not readable yet"]
        refused.inodes.clear()
        wait_until(lambda: door.get("/ready").status == 200)
        wait_for(door.service, {"ann": 1 if is_first else 2})


def test_bad_lines_are_skipped_and_reported_with_their_numbers(folder):
    path = folder / "posts.jsonl"
    append(path, "nonsense\n", line("ann"), '{"text": "no subject"}\n', "\n", line("ann", id=""))
    path.write_bytes(path.read_bytes() + b'{"subject": "\xff"}\n' + line("bob").encode())
    written, metrics = io.StringIO(), Metrics()
    source = FollowedFile(path, poll=0.02)
    with (
        json_logs("warning", written),
        service_in(folder) as service,
        Sources(service, [source], metrics=metrics),
    ):
        wait_for(service, {"ann": 1, "bob": 1})
    told = [json.loads(one) for one in written.getvalue().splitlines()]
    assert [one["place"] for one in told] == ["line 1", "line 6", "line 3", "line 5"]
    assert told[2]["reason"] == '"subject" is missing'
    assert "watchword_bad_lines_total" in metrics.text()


@pytest.mark.parametrize(
    "bad",
    [
        '"a secret"',
        '["a secret"]',
        '{"subject": "ann", "text": ["a secret"]}',
        '{"subject": "ann", "text": "a", "title": ["a secret"]}',
        '{"subject": "ann", "text": "a", "time": "a secret"}',
        '{"subject": "ann", "text": "a", "label": ["a secret", {}]}',
        '{"subject": {"a secret": 1}, "text": "a"}',
        '{"subject": "ann", "posts": [["a secret"]]}',
        '{"subject": "ann", "posts": {"text": "a secret"}}',
        '{"subject": "ann", "text": "a secret", nonsense}',
    ],
)
def test_what_bad_lines_say_is_not_logged(folder, bad):
    path = folder / "posts.jsonl"
    append(path, bad + "\n")
    written = io.StringIO()
    with json_logs("debug", written), service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        assert posts(service) == {}
    assert "line skipped" in written.getvalue()
    assert "secret" not in written.getvalue()


def test_a_misspelt_field_is_reported_once_per_file(folder):
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    append(first, line("ann", tiem=1), "no JSON\n", *[line("ann", tiem=2)] * 3)
    append(second, line("bob", times=1))
    written = io.StringIO()
    with (
        json_logs("warning", written),
        service_in(folder) as service,
        following(service, first),
        following(service, second),
    ):
        wait_for(service, {"ann": 4, "bob": 1})
    logs = [json.loads(log) for log in written.getvalue().splitlines() if "may be missp" in log]
    assert sorted((log["source"], log["field"], log["missing"]) for log in logs) == [
        (f"file:{first}", "tiem", "time"),
        (f"file:{second}", "times", "time"),
    ]


def test_posts_without_an_id_are_told_apart_by_their_lines(folder):
    path = folder / "posts.jsonl"
    several = {"subject": "ann", "posts": ["a", "b"]}
    append(path, line("ann"), line("ann", id="own"), json.dumps(several) + "\n")
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 4})
        ids = [one.post_id for one in service.subject("ann").history]
    assert ids == [f"{path}#0:1", "own", f"{path}#0:3", f"{path}#0:3.1"]


def test_a_rotated_file_is_read_to_its_end_and_then_its_successor(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        path.rename(folder / "posts.jsonl.1")
        append(folder / "posts.jsonl.1", line("late"))
        append(path, line("ann"), line("new"))
        wait_for(service, {"ann": 2, "late": 1, "new": 1})


def test_a_rotated_file_is_read_on_until_its_writer_has_noticed(folder, successors, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: 0.0)
    monkeypatch.setattr("watchword.service.following.time", clock)
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path, linger=5):
        wait_for(service, {"ann": 1})
        path.rename(folder / "posts.jsonl.1")
        append(path, line("new"))
        wait_until(lambda: successors)
        for number in (1, 2):
            append(folder / "posts.jsonl.1", line("late"))
            wait_for(service, {"ann": 1, "late": number})
        now[0] = 5.0
        wait_for(service, {"ann": 1, "late": 2, "new": 1})


def test_a_file_that_is_rotated_again_at_once_is_read_too(folder, successors):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path, linger=3600):
        wait_for(service, {"ann": 1})
        path.rename(folder / "posts.jsonl.1")
        append(path, line("ann"))
        wait_until(lambda: successors)
        path.rename(folder / "posts.jsonl.2")
        path.touch()
        wait_for(service, {"ann": 2})


def test_a_file_rotated_while_the_service_was_down_is_read_to_its_end(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
    append(path, line("late"))
    path.rename(folder / "posts.jsonl.1")
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 2, "late": 1})


def test_a_file_rotated_while_the_service_was_down_is_read_on_for_its_writer(folder, successors):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
    path.rename(folder / "posts.jsonl.1")
    append(path, line("new"))
    with service_in(folder) as service, following(service, path, linger=3600):
        wait_until(lambda: successors)
        append(folder / "posts.jsonl.1", line("late"))
        wait_for(service, {"ann": 1, "late": 1})
        path.rename(folder / "posts.jsonl.2")
        path.touch()
        wait_for(service, {"ann": 1, "late": 1, "new": 1})


def test_a_file_that_is_renamed_and_not_yet_replaced_is_read_on_after_a_restart(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
    path.rename(folder / "posts.jsonl.1")
    append(folder / "posts.jsonl.1", line("late"))
    with service_in(folder) as service, following(service, path):
        for number in (1, 2):
            wait_for(service, {"ann": 1, "late": number})
            append(folder / "posts.jsonl.1", line("late"))
        append(path, line("new"))
        wait_for(service, {"ann": 1, "late": 3, "new": 1})


def test_once_nothing_waits_for_the_writer_of_a_rotated_file(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        append(path, line("late"))
        path.rename(folder / "posts.jsonl.1")
        append(path, line("new"))
        with following(service, path, once=True, linger=3600):
            wait_for(service, {"ann": 1, "late": 1, "new": 1})


@pytest.fixture
def held_up(monkeypatch):
    """An event without which a service commits no posts, as if its store did not answer."""
    may_commit, real = threading.Event(), Intake.accept

    def accept(intake, group):
        assert not group.posts or may_commit.wait(60)
        return real(intake, group)

    monkeypatch.setattr(Intake, "accept", accept)
    yield may_commit
    may_commit.set()


@pytest.mark.parametrize("names", [NUMBERED, DATED, BEFORE_SUFFIX])
@pytest.mark.parametrize("compress", [False, True])
def test_files_rotated_while_the_service_is_behind_are_all_read(folder, held_up, names, compress):
    path = folder / "posts.jsonl"
    append(path, line("before"))
    path.rename(folder / names[-1])  # of a time before the service
    os.utime(folder / names[-1], (1, 1))
    append(path, line("first"))
    with service_in(folder) as service, following(service, path, linger=0) as sources:
        wait_until(lambda: service.writer.queued)  # and not committed
        for subject in ("second", "third"):
            rotate(path, names, compress=compress)
            append(path, line(subject))
        held_up.set()
        wait_for(service, {"first": 1, "second": 1, "third": 1})
        assert sources.missing_files == 0


@pytest.mark.parametrize("keeps_files", [False, True])
def test_files_that_left_the_folder_while_the_service_was_behind_are_reported(
    folder, held_up, keeps_files, monkeypatch
):
    monkeypatch.setattr("watchword.service.following._UNSEEN", -1.0)  # any time is long
    path = folder / "posts.jsonl"
    (folder / "old").mkdir()
    append(path, line("first"))
    with service_in(folder) as service, following(service, path, linger=0) as sources:
        wait_until(lambda: service.writer.queued)  # and not committed
        for subject in ("second", "third"):
            path.rename(folder / "old" / subject)
            if not keeps_files:
                (folder / "old" / subject).unlink()
            append(path, line(subject))
        held_up.set()
        wait_for(service, {"first": 1, "third": 1})
        assert sources.missing_files == 1


@pytest.mark.parametrize("names", [NUMBERED, DATED, BEFORE_SUFFIX])
@pytest.mark.parametrize("compress", [False, True])
def test_files_rotated_while_the_service_was_down_are_all_read(folder, names, compress):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"first": 1})
    append(path, line("rest"))
    for subject in ("second", "third"):
        rotate(path, names, compress=compress)
        append(path, line(subject))
    with service_in(folder) as service:
        for _ in range(2):  # nothing is read twice
            with following(service, path, once=True) as sources:
                sources.wait()
            expected = {"first": 1, "rest": 1, "second": 1, "third": 1}
            assert (posts(service), sources.failed) == (expected, {})
            assert sources.missing_files == 0


def test_once_all_rotated_files_are_read_after_their_compression_began(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        rotate(path, NUMBERED)
        append(path, line("second"))
        rotate(path, NUMBERED)
        (folder / "posts.jsonl.1.gz").write_bytes(b"\x1f\x8b\x08")  # not complete yet
        with following(service, path, once=True) as sources:
            sources.wait()
        assert posts(service) == {"first": 1, "second": 1}


def test_a_file_that_is_compressed_while_the_folder_is_listed_is_found(folder, monkeypatch):
    path, plain = folder / "posts.jsonl", folder / "posts.jsonl.1"
    packed = folder / "posts.jsonl.1.gz"
    for file in (path, plain, packed):
        file.touch()
    real = Path.stat

    def stat(file, **options):
        if file == plain:  # it was listed, but its compression ends before it is looked at
            plain.unlink(missing_ok=True)
        return real(file, **options)

    monkeypatch.setattr(Path, "stat", stat)
    assert [file.path for file in files_named_after(path)] == [packed, path]


def test_a_new_file_with_the_identity_of_a_deleted_one_is_not_taken_for_it(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        for subject in ("second", "third"):
            shutil.copy(path, folder / "posts.jsonl.1")  # so that the name keeps its identity
            path.write_text(line(subject), encoding="utf-8")
        with following(service, path, once=True) as sources:
            sources.wait()
            assert sources.missing_files == 1
        assert posts(service) == {"first": 1, "second": 1, "third": 1}


def test_a_damaged_compressed_file_is_reported_and_the_next_one_is_read(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        rotate(path, NUMBERED)
        append(path, *(line("second", id=str(at)) for at in range(5)))
        rotate(path, NUMBERED, compress=True)
        packed = folder / "posts.jsonl.1.gz"
        packed.write_bytes(packed.read_bytes()[:-10])
        append(path, line("third"))
        with following(service, path, once=True) as sources:
            sources.wait()
            assert sources.missing_files == 1
        assert posts(service)["third"] == 1


def test_a_rotated_file_that_is_gone_is_reported(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        for subject in ("lost", "third"):
            rotate(path, NUMBERED)
            append(path, line(subject))
        (folder / "posts.jsonl.1").unlink()
        metrics = Metrics()
        source = FollowedFile(path, once=True)
        with Sources(service, [source], metrics=metrics) as sources:
            sources.wait()
        assert sources.missing_files == 1
        assert posts(service) == {"first": 1, "third": 1}
    assert f'watchword_files_missing_total{{source="file:{path}"}} 1.0' in metrics.text()


def test_the_file_that_was_being_read_is_reported_if_it_is_gone(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"first": 1})
    for subject in ("second", "third"):
        rotate(path, NUMBERED)
        append(path, line(subject))
    (folder / "posts.jsonl.2").unlink()
    source = FollowedFile(path, poll=0.02, linger=0)
    with open_door(folder, LATER, sources=[source]) as door:
        wait_for(door.service, {"first": 1, "second": 1, "third": 1})
        answer = door.get("/ready")
        assert (answer.status, answer.json["warnings"]) == (
            *(200, ["a rotated file was not found: its lines were not read"]),
        )


def test_a_file_that_is_copied_and_truncated_while_the_service_is_behind_is_read(folder):
    path = folder / "posts.jsonl"
    append(path, line("first"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"first": 1})
    append(path, line("rest"))
    shutil.copy(path, folder / "posts.jsonl.1")
    path.write_text(line("new"), encoding="utf-8")
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"first": 1, "rest": 1, "new": 1})


EDITS = {
    "of the same length": lambda lines: (
        [one.replace("garden", "GARDEN") for one in lines[:5]] + lines[5:]
    ),
    "longer": lambda lines: (
        [one.replace("garden", "garden of roses") for one in lines[:5]] + lines[5:]
    ),
    "of the last line": lambda lines: [*lines[:-1], lines[-1].replace("garden", "meadow")],
    "without a line": lambda lines: [*lines[:6], "\n", *lines[7:]],
    "with a line more": lambda lines: [*lines[:6], line("more"), *lines[6:]],
}


@pytest.mark.parametrize("is_new_file", [False, True])
@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_is_not_read_twice(folder, edit, is_down, is_new_file):
    path = folder / "posts.jsonl"
    append(path, *(line(f"subject {number}") for number in range(9)))
    expected = {f"subject {number}": 1 for number in range(9)}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    edited = EDITS[edit](lines)
    with service_in(folder) as service, ExitStack() as running:
        running.enter_context(following(service, path))
        wait_for(service, expected)
        if is_down:
            running.close()
        other = folder / "edited" if is_new_file else path
        other.write_text("".join(edited), encoding="utf-8")
        other.rename(path)
        if is_down:
            running.enter_context(following(service, path))
        append(path, line("new"))
        wait_for(service, {**expected, "new": 1})


def test_a_line_that_is_too_long_is_rejected_and_the_next_ones_are_read(folder, monkeypatch):
    monkeypatch.setattr("watchword.data.lines.LONGEST_LINE", 200)
    monkeypatch.setattr("watchword.service.following._PIECE", 100)
    path = folder / "posts.jsonl"
    append(path, line("ann"), "x" * 1000 + "\n", line("bob"), line("carl") * 3)
    with service_in(folder) as service:
        for _ in range(2):
            with following(service, path, once=True) as sources:
                sources.wait()
                assert sources.failed == {}
            assert posts(service) == {"ann": 1, "bob": 1, "carl": 3}
            [rejected] = rejected_lines(service.store)
            assert (rejected.source, rejected.line) == (f"file:{path}", f"{path}#0:2")
            assert rejected.reason.startswith("1000 bytes, more than 200")


@pytest.mark.parametrize("is_down", [False, True])
def test_a_truncated_file_is_read_from_its_beginning(folder, is_down):
    path = folder / "posts.jsonl"
    append(path, line("ann"), line("ann"))
    written = io.StringIO()
    with json_logs("warning", written), service_in(folder) as service:
        with following(service, path):
            wait_for(service, {"ann": 2})
            if not is_down:
                path.write_text(line("bob"), encoding="utf-8")
                wait_for(service, {"ann": 2, "bob": 1})
        if is_down:
            path.write_text(line("bob"), encoding="utf-8")
            with following(service, path):
                wait_for(service, {"ann": 2, "bob": 1})
    assert "file was truncated" in written.getvalue()


def test_a_replaced_file_that_is_longer_is_noticed_by_its_first_bytes(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service:
        with following(service, path):
            wait_for(service, {"ann": 1})
        content = line("carl") + line("carl") + line("carl")
        with path.open("r+", encoding="utf-8") as file:  # the same inode
            file.write(content)
        with following(service, path):
            wait_for(service, {"ann": 1, "carl": 3})


def test_a_file_that_is_written_anew_is_noticed_though_it_is_longer(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        path.write_text(line("carl") * 3, encoding="utf-8")
        wait_for(service, {"ann": 1, "carl": 3})


@pytest.fixture
def change_after_reading(monkeypatch):
    """Change a file once some words were read from it and it was then looked at a few times."""

    def arrange(path, words, change, *, looks):
        left = {}  # looks until the change, by descriptor

        def passed(descriptor):
            if left.get(descriptor) == 0:
                change()
            if descriptor in left:
                left[descriptor] -= 1

        class Changing(io.FileIO):
            def read(self, size=-1):
                piece = super().read(size)
                if words in piece and not left:
                    left[self.fileno()] = looks
                    passed(self.fileno())
                return piece

        def opened(one, mode="r", *rest, **options):
            is_read = (one, mode) == (path, "rb")
            return Changing(one, "rb") if is_read else real_open(one, mode, *rest, **options)

        def looking(real):
            def look(descriptor, *rest):
                found = real(descriptor, *rest)
                passed(descriptor)
                return found

            return look

        real_open = Path.open
        monkeypatch.setattr(Path, "open", opened)
        monkeypatch.setattr(os, "fstat", looking(os.fstat))
        monkeypatch.setattr(os, "pread", looking(os.pread))

    return arrange


@pytest.mark.parametrize("lines", [1, 10])  # the first bytes, which identify a file, and more
def test_a_file_that_is_written_anew_before_its_lines_are_handed_over_is_noticed(
    folder, change_after_reading, lines
):
    path = folder / "posts.jsonl"
    append(path, line("ann") * lines)
    anew = line("carl") * 20
    change_after_reading(path, b"bob", lambda: path.write_text(anew, encoding="utf-8"), looks=2)
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": lines})
        append(path, line("bob"))
        wait_for(service, {"ann": lines, "bob": 1, "carl": 20})


@pytest.mark.parametrize("looks", [0, 1, 2])
def test_lines_that_were_read_before_a_truncation_count(folder, change_after_reading, looks):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    anew = line("carl")
    change_after_reading(path, b"bob", lambda: path.write_text(anew, encoding="utf-8"), looks=looks)
    written = io.StringIO()
    with json_logs("warning", written), service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        append(path, line("bob"), line("bob"), line("begun").rstrip("\n"))
        wait_for(service, {"ann": 1, "bob": 2, "carl": 1})
    assert events(written) == ["file was truncated"]


def test_a_line_that_was_begun_before_a_truncation_is_no_line(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"), line("bob").rstrip("\n"))
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        path.write_text(line("carl"), encoding="utf-8")
        wait_for(service, {"ann": 1, "carl": 1})


def test_a_byte_order_mark_is_no_part_of_the_first_line(folder):
    path = folder / "posts.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line("ann").encode())
    with service_in(folder) as service, following(service, path):
        wait_for(service, {"ann": 1})
        append(path, line("ann"))
        wait_for(service, {"ann": 2})


def test_a_compressed_file_is_refused(folder):
    path = folder / "posts.jsonl"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    with service_in(folder) as service, following(service, path) as sources:
        sources.wait()
        assert "is compressed" in sources.failed[f"file:{path}"]


@pytest.mark.parametrize(("kind", "make"), [("folder", Path.mkdir), ("pipe", os.mkfifo)])
def test_what_is_not_a_file_is_refused(folder, kind, make):
    make(folder / "posts")
    with service_in(folder) as service, following(service, folder / "posts") as sources:
        sources.wait()
        assert f"is a {kind}" in sources.failed[f"file:{folder / 'posts'}"]


def test_once_a_missing_file_is_a_failure(folder):
    path = folder / "posts.jsonl"
    with service_in(folder) as service, following(service, path, once=True) as sources:
        sources.wait()
        with pytest.raises(SourceError, match=r"posts.jsonl was not read to its end: .*No such"):
            sources.raise_failure()


def test_once_a_file_is_read_to_its_present_end(folder):
    path = folder / "posts.jsonl"
    append(path, line("ann"), line("bob").rstrip("\n"))
    with service_in(folder) as service, following(service, path, once=True) as sources:
        sources.wait()
        assert posts(service) == {"ann": 1, "bob": 1}


def test_a_source_tries_again_until_the_store_is_back(folder, monkeypatch):
    path = folder / "posts.jsonl"
    append(path, line("ann"))
    with service_in(folder) as service:
        real, failures = service._intake.accept, []

        def accept(group):
            if len(failures) < 3:
                failures.append(group)
                raise StoreUnavailableError("away")
            return real(group)

        monkeypatch.setattr(service._intake, "accept", accept)
        with following(service, path):
            wait_for(service, {"ann": 1})
        assert len(failures) == 3


def test_standard_input_is_read_to_its_end(folder, monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write(line("ann", id="1") + line("bob"))
    with os.fdopen(reading, "rb") as given, service_in(folder) as service:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
        with Sources(service, [StandardInput()]) as sources:
            sources.wait()
            assert posts(service) == {"ann": 1, "bob": 1}


def test_a_line_of_standard_input_that_is_too_long_is_rejected(folder, monkeypatch):
    monkeypatch.setattr("watchword.data.lines.LONGEST_LINE", 200)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write(line("ann", id="1") + "x" * 1000 + "\n" + line("bob"))
    with os.fdopen(reading, "rb") as given, service_in(folder) as service:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
        with Sources(service, [StandardInput()]) as sources:
            sources.wait()
            assert posts(service) == {"ann": 1, "bob": 1}
        [rejected] = rejected_lines(service.store)
    assert rejected.line.endswith(":2")


def test_rejected_lines_are_listed_without_their_content(folder, monkeypatch):
    path = folder / "posts.jsonl"
    append(path, "a secret\n", line("ann"))
    with service_in(folder) as service, following(service, path, once=True) as sources:
        sources.wait()
    monkeypatch.chdir(folder)
    [listed] = records("service", "rejected", "--store", "watch.db")
    assert (listed["source"], listed["line"]) == (f"file:{path}", f"{path}#0:1")
    assert "secret" not in json.dumps(listed)


def test_only_the_newest_rejected_lines_are_kept(folder, monkeypatch):
    monkeypatch.setattr("watchword.service.intake._MOST_REJECTED", 3)
    path = folder / "posts.jsonl"
    append(path, "bad\n" * 5)
    with service_in(folder) as service:
        with following(service, path, once=True) as sources:
            sources.wait()
        lines = [rejected.line for rejected in rejected_lines(service.store)]
    assert lines == [f"{path}#0:{number}" for number in (3, 4, 5)]
