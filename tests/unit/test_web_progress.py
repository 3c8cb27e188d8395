"""Progress of slow requests to the live page, and requests that are cancelled meanwhile."""

import numpy as np
import pytest

from watchword.web.documents import DocumentShelf, Selection
from watchword.web.models import GivenUpError, Models, SharedProgress
from web_pages import app, ask, documents, model


def test_without_slow_work_there_is_no_progress():
    assert ask(app(), "/api/progress")[2] is None


def test_the_state_is_known_while_documents_are_read():
    progress, states = SharedProgress(), []
    texts, labels = documents()
    shelf = DocumentShelf(Models(model()), texts, labels, progress=watched(progress, states))
    shelf.listing((), Selection())
    blocks = -(-len(texts) // 100)
    assert blocks > 1
    assert states == [{"done": at, "total": blocks} for at in range(blocks)]
    assert progress.state() is None


def watched(progress, states):
    """Return a progress callback that also notes its states."""

    def wrap(items, total):
        for item in progress(items, total):
            states.append(progress.state())
            yield item

    return wrap


def test_documents_read_in_blocks_have_the_same_values():
    texts, _ = documents()
    shelf = DocumentShelf(Models(model()), texts, progress=SharedProgress())
    found = shelf._judged(()).values
    assert np.array_equal(found, model().confidence_table(texts).values)


def test_work_that_is_no_longer_wanted_is_given_up():
    progress = SharedProgress()
    begun = progress(range(10), 10)
    assert next(begun) == 0
    progress.give_up()
    with pytest.raises(GivenUpError):
        next(begun)
    assert progress.state() is None


def test_work_can_begin_after_other_work_was_given_up():
    progress = SharedProgress()
    progress.give_up()
    progress.begin()
    assert list(progress("ab", 2)) == ["a", "b"]


def test_a_result_that_was_given_up_is_computed_again():
    texts, labels = documents()
    progress = SharedProgress()
    shelf = DocumentShelf(Models(model()), texts, labels, progress=progress)
    progress.give_up()
    with pytest.raises(GivenUpError):
        shelf.listing((), Selection())
    progress.begin()
    assert shelf.listing((), Selection())["total"] == len(texts)
