"""The fuzz target of kept files (tests/fuzz/kept.py), run with its first inputs."""

import importlib.util
from pathlib import Path

import pytest

from watchword.erisk import journal

TARGET = Path(__file__).parents[1] / "fuzz" / "kept.py"


@pytest.fixture(scope="module")
def target():
    spec = importlib.util.spec_from_file_location("fuzz_kept", TARGET)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_changed_files_are_accepted_or_refused_with_a_named_error(target, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "_HASHINGS", 1)
    target.JOURNAL = target.sound_journal(tmp_path)
    tried = [target.run(number, tmp_path) for number in range(300)]
    assert {accepted for _, accepted in tried} == {True, False}
