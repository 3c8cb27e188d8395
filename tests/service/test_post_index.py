"""The index of posts in the rows of subjects."""

import pytest

from watchword.service.store import open_store
from watchword.service.stored_posts import PostIndex, hashed, post_ids_of

SUBJECT = 7
BLANK = (
    "INSERT INTO subjects (id, name, layout, posts, delay, score, state, recent, older) "
    "VALUES (?, ?, 0, 0, 0, 0.0, ?, ?, ?)"
)


@pytest.fixture
def session(tmp_path):
    with open_store(str(tmp_path / "watch.db")) as store, store.writing() as session:
        yield session


def entered(session, index, ids, first):
    posts = range(first, first + len(ids))
    index.add(session, [SUBJECT], [0] * len(ids), hashed(ids), posts)


def found(session, index, post_id):
    return index.find(session, [SUBJECT], [0], hashed([post_id])).get(0, [])


def test_most_posts_leave_the_length_of_a_row_as_it_is(session):
    index, lengths = PostIndex(1), []
    for number in range(1, 9):
        entered(session, index, [b"%d" % number], number)
        lengths.append(len(index.recent[0]))
    assert lengths == [64] * 4 + [128] * 4


def test_posts_are_found_in_a_row_without_room_and_after_it_got_some(session):
    index = PostIndex(1)
    index.recent[0] = hashed([b"old"])[0] + (5).to_bytes(8, "little")  # as written before
    assert found(session, index, b"old") == [5]
    entered(session, index, [b"new"], 6)
    assert [found(session, index, one) for one in (b"old", b"new")] == [[5], [6]]


def test_room_is_no_post(session):
    index = PostIndex(1)
    entered(session, index, [b"a"], 1)
    assert index.find(session, [SUBJECT], [0], [bytes(8)]) == {}
    session.run(BLANK, SUBJECT, b"ann", b"", index.recent[0], index.older[0])
    assert post_ids_of(session, [SUBJECT]) == [1]


def test_a_post_whose_hash_is_zero_is_found(session):
    index = PostIndex(1)
    index.add(session, [SUBJECT], [0, 0], [bytes(8), bytes(8)], [1 << 40, 3])
    assert index.find(session, [SUBJECT], [0], [bytes(8)]) == {0: [1 << 40, 3]}


@pytest.mark.parametrize("together", [1, 3, 40])
def test_all_posts_stay_known_when_they_move_to_the_table(session, together):
    index, ids = PostIndex(1), [b"%d" % number for number in range(100)]
    for begin in range(0, len(ids), together):
        entered(session, index, ids[begin : begin + together], begin + 1)
    assert index.older[0] > 0
    assert [found(session, index, one) for one in ids] == [[at] for at in range(1, 101)]
    session.run(BLANK, SUBJECT, b"ann", b"", index.recent[0], index.older[0])
    assert post_ids_of(session, [SUBJECT]) == list(range(1, 101))
