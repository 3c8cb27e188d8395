"""Files written whole or not at all: locks, leftovers of killed processes, full disks."""

import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys

import pytest

import watchword as ww
from model_files import taught
from watchword import _files
from watchword._files import atomic_file, atomic_folder, locked, scratch_folder
from watchword.erisk.journal import Journal, JournalIdentity
from watchword.searching.result import KeptResults

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions, links and locks of POSIX")

WRITES_AND_WAITS = """
import sys, time
from watchword import _files
with getattr(_files, sys.argv[1])(sys.argv[2]) as made:
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ww"


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def writer(kind, path):
    """Start a process that has begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_AND_WAITS, kind, str(path)], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    return process


def killed(process):
    with process:
        process.kill()


# Locks


def test_a_file_is_locked_once_and_the_error_names_it(path):
    with (
        locked(path),
        pytest.raises(
            ww.errors.StateError, match=f"{re.escape(str(path))} is in use by another process"
        ),
        locked(path),
    ):
        pytest.fail("it was locked twice")


def test_a_link_to_a_locked_file_is_locked(path, tmp_path):
    path.touch()
    link = tmp_path / "link"
    link.symlink_to(path)
    with locked(path), pytest.raises(ww.errors.StateError, match="in use"), locked(link):
        pytest.fail("it was locked twice")


def test_a_lock_ends_with_an_error(path):
    with pytest.raises(KeyError), locked(path):
        raise KeyError
    with locked(path):
        pass


def test_a_lock_can_be_read_by_its_owner_only(path):
    with locked(path):
        [lock] = path.parent.iterdir()
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_a_file_system_without_locks_gives_a_warning(path, monkeypatch, caplog):
    def fail(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(_files._fcntl, "flock", fail)
    with locked(path):
        assert "cannot be locked" in caplog.text
    taught().save(path)  # needs no lock
    assert ww.TauSS3.load(path).labels == taught().labels


# Leftovers


@pytest.mark.parametrize("kind", ["atomic_file", "atomic_folder", "scratch_folder"])
def test_the_next_save_removes_what_a_killed_process_left(path, kind):
    killed(writer(kind, path))
    assert len(names(path.parent)) == 1  # else this test shows nothing
    taught().save(path)
    assert names(path.parent) == ["model.ww"]


def test_locking_a_file_removes_what_a_killed_process_left(path):
    killed(writer("atomic_file", path))
    with locked(path):
        assert names(path.parent) == ["model.ww.lock"]


@pytest.mark.parametrize("kind", ["atomic_file", "atomic_folder", "scratch_folder"])
def test_locked_temporary_file_is_kept(path, kind):
    with writer(kind, path) as process:
        before = names(path.parent)
        taught().save(path)
        assert names(path.parent) == sorted([*before, "model.ww"])
        process.kill()


def test_nested_saves_of_the_same_file_succeed(path):
    with atomic_file(path) as outer:
        with atomic_file(path) as inner:
            inner.write(b"inner")
        assert path.read_bytes() == b"inner"
        outer.write(b"outer")
    assert path.read_bytes() == b"outer"
    assert names(path.parent) == ["model.ww"]


def test_only_our_own_leftovers_are_removed(path):
    kept = [
        f".{path.name}.not-ours.tmp",
        f".{path.name}.{'a' * 16}.txt",
        f".other.ww.{'a' * 16}.tmp",
    ]
    for name in kept:
        path.with_name(name).write_text("somebody's", encoding="utf-8")
    path.with_name(f".{path.name}.{'a' * 16}.tmp").write_text("left", encoding="utf-8")
    taught().save(path)
    assert names(path.parent) == sorted([*kept, "model.ww"])


def test_a_temporary_taken_for_a_leftover_is_made_again(path, monkeypatch):
    """Another process may remove a file between its creation and its lock."""
    flock, taken = _files._fcntl.flock, []

    def late(handle, operation):
        if not taken:
            [temporary] = path.parent.iterdir()
            temporary.unlink()
            taken.append(temporary.name)
        flock(handle, operation)

    monkeypatch.setattr(_files._fcntl, "flock", late)
    taught().save(path)
    assert taken
    assert names(path.parent) == ["model.ww"]


@pytest.mark.parametrize("kind", [atomic_file, atomic_folder, scratch_folder])
def test_an_error_leaves_no_file(path, kind):
    with pytest.raises(KeyError), kind(path):
        raise KeyError
    assert names(path.parent) == []


def test_many_processes_may_write_the_same_file(path):
    program = """
import sys
from watchword._files import atomic_file
for number in range(100):
    with atomic_file(sys.argv[1]) as file:
        file.write(sys.argv[2].encode() * 1000)
"""
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), letter]) for letter in "abcd"
    ]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert path.read_bytes() in [letter * 1000 for letter in (b"a", b"b", b"c", b"d")]
    assert names(path.parent) == ["model.ww"]


# Full disks


@pytest.fixture
def small_files():
    """Limit files to 1,000 bytes; longer ones fail as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


ADVICE = "raise the limit on the size of files .*, or write to another disk"


def written_to_full_disk(error, path):
    assert error.value.filename == str(path)
    assert error.value.errno == errno.EFBIG
    assert re.search(ADVICE, error.value.strerror)


def save_model(path):
    taught().save(path)


def save_state(path):
    model = taught()
    watcher = model.watcher(ww.Overtakes(model.labels[0]))
    watcher.read_many([f"subject {number}" for number in range(1000)], ["text"] * 1000)
    watcher.save(path)


def write_data(path):
    ww.write_jsonl(path, ww.make_risk_streams(10, seed=0))


def write_collection(path):
    from watchword.erisk import make_collection

    make_collection(path, "2018-anorexia", subjects=20)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("write", [save_model, save_state, write_data, write_collection])
def test_a_full_disk_names_the_file_and_leaves_no_temporary_file(path, write):
    with pytest.raises(OSError, match="File too large") as error:
        write(path)
    written_to_full_disk(error, path)
    assert names(path.parent) == []


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_keeps_the_file_that_was_there(path):
    path.write_bytes(b"a model")
    with pytest.raises(OSError, match="File too large"):
        taught().save(path)
    assert path.read_bytes() == b"a model"


def keep_a_journal(path):
    identity = JournalIdentity("http://127.0.0.1", "token", ("run",))
    with Journal.open(path, identity) as journal:
        for _ in range(1000):
            journal.reported(0)


def keep_results(path):
    with KeptResults.open(path, "x") as results:
        for number in range(1000):
            results.add("setting", number, [1, 2, 3])


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("keep", [keep_a_journal, keep_results])
def test_a_full_disk_names_the_file_that_grows(path, keep):
    with pytest.raises(OSError, match=r"check the disk and the limit on .* \(ulimit -f\)") as error:
        keep(path)
    assert error.value.filename == str(path)


def test_a_full_device_is_named():
    with pytest.raises(OSError, match="No space left on device: free some space") as error:
        taught().save("/dev/full")
    assert error.value.filename == "/dev/full"
