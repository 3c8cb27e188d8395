"""Fixtures of the tests of eRisk."""

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Return a folder with nothing beside it.

    Readers of collections also look beside the folder, where other tests have files of their own.
    """
    alone = tmp_path / "alone"
    alone.mkdir()
    return alone
