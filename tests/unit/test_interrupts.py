"""Ctrl-C while the command is starting: quiet, and exit code 130."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import ENVIRONMENT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# Interrupts its own process before the n-th import from the package's native module on, or before
# one with a name. What comes before takes a few milliseconds, and belongs to Python.
INTERRUPTER = """
import os, signal, sys

class Interrupter:
    count = 0

    def find_spec(self, name, path=None, target=None):
        if self.count or name == "watchword._native":
            type(self).count += 1
        if os.environ["INTERRUPT_AT"] in (str(self.count), name):
            os.kill(os.getpid(), getattr(signal, os.environ["INTERRUPT_BY"]))
        return None

sys.meta_path.insert(0, Interrupter())
"""
SCRIPT = """
import re
import sys
from watchword.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""
LIBRARY = """
try:
    import watchword
except KeyboardInterrupt:
    print("interrupted")
"""
# The last of these lie far in what the command line imports.
MOMENTS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200, 250, 300, 350]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("start")
    (path / "sitecustomize.py").write_text(INTERRUPTER, encoding="utf-8")
    (path / "script").write_text(SCRIPT, encoding="utf-8")
    return path


def started(folder, *command, at, by="SIGINT", **options):
    own = {"PYTHONPATH": str(folder), "INTERRUPT_AT": str(at), "INTERRUPT_BY": by}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        env=ENVIRONMENT | own,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize("way", ["module", "script"])
def test_ctrl_c_while_starting_ends_quietly(folder, way, at):
    command = ["-m", "watchword"] if way == "module" else [folder / "script"]
    done = started(folder, *command, "--version", at=at)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("at", [1, MOMENTS[-1], "watchword.service.workers"])
@pytest.mark.parametrize("way", ["module", "script"])
def test_a_hangup_does_not_end_a_service_that_is_starting(folder, way, at):
    command = ["-m", "watchword"] if way == "module" else [folder / "script"]
    more = ["service", "run", "--model", folder / "script", "--positive", "at risk"]
    done = started(folder, *command, *more, at=at, by="SIGHUP")
    assert (done.returncode, "is not a watchword model" in done.stderr) == (1, True)


def test_a_hangup_ends_other_commands(folder):
    done = started(folder, "-m", "watchword", "--version", at=1, by="SIGHUP")
    assert done.returncode == -signal.SIGHUP


def test_the_library_leaves_ctrl_c_to_its_caller(folder):
    done = started(folder, "-c", LIBRARY, at=1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_another_module_that_imports_the_library_keeps_its_signals(folder):
    (folder / "other.py").write_text(LIBRARY, encoding="utf-8")
    done = started(folder, "-m", "other", at=1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_an_ignored_ctrl_c_stays_ignored(folder):
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    done = started(folder, "-m", "watchword", "--version", at=20, preexec_fn=ignore)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_installed_script_is_recognised_as_the_command():
    script = Path(sys.executable).with_name("watchword")
    assert "from watchword.__main__ import main" in script.read_text(encoding="utf-8")
