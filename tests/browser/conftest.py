"""Fixtures of the tests of the live page."""

import pytest

from live_pages import visitor, whole_page


@pytest.fixture(scope="module")
def live():
    """Serve a page with a model, documents and subjects."""
    with whole_page() as served:
        yield served


@pytest.fixture
def visit(browser, live):
    """Return a function that opens a view of the page."""
    return visitor(browser, live)
