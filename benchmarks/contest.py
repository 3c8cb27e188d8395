"""Contestants that run as processes of their own: their interpreters, their job, their answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peers import install_peer, peers_python
from process import ONE_THREAD
from report import BenchmarkError


def interpreters(
    packages: Mapping[str, str | None], cache: Path, failures: dict[str, str]
) -> dict[str, Path]:
    """The interpreter of each contestant, by the package it needs (None: this one will do).

    What cannot be had is named in `failures` with a reason.
    """
    pythons = {}
    for name, package in packages.items():
        try:
            pythons[name] = Path(sys.executable) if package is None else peers_python(cache)
            if package is not None:
                install_peer(pythons[name], package)
        except BenchmarkError as error:
            pythons.pop(name, None)
            failures[name] = str(error)
    return pythons


def asked(python: Path, script: Path, name: str, job: str) -> Any:
    """Return a contestant's answer to a job."""
    finished = subprocess.run(
        [str(python), str(script), name],
        env=os.environ | ONE_THREAD,
        input=job,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if finished.returncode:
        raise BenchmarkError(f"its process ended with status {finished.returncode}, see above")
    return json.loads(finished.stdout)


def write_json(path: Path, results: list[dict[str, Any]]) -> None:
    """Everything, for whoever wants to compute something else from it."""
    try:
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise BenchmarkError(f"cannot write {path}: {error.strerror}") from None
