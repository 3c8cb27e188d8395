"""The environment of the peers: made and filled by the benchmark, apart from the user's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from process import ONE_THREAD
from report import BenchmarkError, say

# PySS3 is the version that watchword is held against; of the others any current one will do, and
# the table says which one ran. fastText's own package has to be compiled and does not work with
# NumPy 2; this one is the same source with that corrected, as a wheel.
REQUIREMENTS = {
    "pyss3": "pyss3==0.6.5",
    "scikit-learn": "scikit-learn",
    "fasttext": "fasttext-numpy2-wheel",
    "vowpalwabbit": "vowpalwabbit>=9.10",
}


def peers_python(cache: Path) -> Path:
    """The interpreter of the peers' environment, made when it is not there yet."""
    python = cache / "peers" / "bin" / "python"
    if not python.exists():
        say("making an environment for the peers")
        _run([sys.executable, "-m", "venv", "--clear", str(cache / "peers")], "make a venv")
    return python


def install_peer(python: Path, package: str) -> None:
    """Installs one peer unless it is there, so that one that fails does not take all with it."""
    module = {"scikit-learn": "sklearn"}.get(package, package)
    command = [str(python), "-c", f"import {module}"]
    found = subprocess.run(command, capture_output=True, check=False)
    if found.returncode == 0:
        return
    requirement = REQUIREMENTS[package]
    say(f"installing {requirement}")
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*command, "--prefer-binary", requirement], f"install {requirement}")


def _run(command: list[str], purpose: str) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        output = (finished.stderr or finished.stdout).strip().splitlines() or ["no reason given"]
        raise BenchmarkError(f"could not {purpose}: {output[-1]}")


def ask_peer(command: Sequence[str | Path], job: Mapping[str, Any], name: str) -> Any:
    """Give a job as JSON to a process with one thread, and return what it answers."""
    finished = subprocess.run(
        list(map(str, command)),
        env=os.environ | ONE_THREAD,
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if finished.returncode:
        raise BenchmarkError(f"{name} ended with status {finished.returncode}, see above")
    return json.loads(finished.stdout)
