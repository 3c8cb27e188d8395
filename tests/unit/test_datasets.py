"""Posts, subjects and documents."""

import dataclasses

import pytest

import watchword as ww
from untyped import untyped
from watchword import data as datasets
from watchword.data import CONTROL, Document, Post, Subject


def test_a_post_needs_only_a_text():
    assert Post("Hello.") == Post("Hello.", title="", time=None, id=None)


@pytest.mark.parametrize("paragraphs", ["lines", "blank_lines"])
def test_title_and_text_are_two_paragraphs(paragraphs):
    content = Post("Slept badly", title="Monday").content
    assert len(ww.model.read_terms(content, paragraphs=paragraphs)) == 2


def test_without_title_the_content_is_the_text():
    assert Post("Slept badly").content == "Slept badly"


@pytest.mark.parametrize("thing", [Post("Hello."), Subject("ann", (), CONTROL), Document("Hello.")])
def test_posts_subjects_and_documents_are_frozen(thing):
    with pytest.raises(dataclasses.FrozenInstanceError):
        thing.id = "bob"


def test_a_subject_does_not_share_the_callers_list():
    posts = [Post("Hello.")]
    subject = Subject("ann", posts, CONTROL)
    posts.clear()
    assert subject.posts == (Post("Hello."),)


def test_a_subject_can_be_a_key():
    assert {Subject("ann", [Post("Hello.")], CONTROL): 1}


def test_a_subject_has_no_chunks_by_default():
    assert Subject("ann", [Post("Hello.")]).chunks is None


def test_chunks_may_be_empty():
    posts = [Post(str(place)) for place in range(9)]
    assert Subject("ann", posts, chunks=untyped([0] * 9 + [9])).chunks == (0,) * 9 + (9,)


@pytest.mark.parametrize(
    "chunks",
    [(), (2,), (1,) * 9, (1,) * 10, (1,) * 11, (0,) * 10, (-1, 3) + (0,) * 8, (0,) * 9 + (3,)],
)
def test_chunks_are_ten_sizes_that_add_up_to_the_posts(chunks):
    with pytest.raises(ValueError, match="10 sizes that add up to the 2 posts"):
        Subject("ann", [Post("Hello."), Post("Good night.")], chunks=chunks)


@pytest.mark.parametrize("chunks", ["0000000002", (0.5,) * 4 + (0,) * 6, 2])
def test_chunks_are_whole_numbers(chunks):
    with pytest.raises(TypeError, match="chunks must be whole numbers"):
        Subject("ann", [Post("Hello."), Post("Good night.")], chunks=chunks)


def test_names_of_the_data_package_exist_and_are_sorted():
    assert sorted(datasets.__all__, key=lambda name: (not name.isupper(), name)) == datasets.__all__
    assert all(hasattr(datasets, name) for name in datasets.__all__)


@pytest.mark.parametrize("posts", ["hello", ["one", "two"], [Post("Hello."), None]])
def test_posts_of_a_subject_are_posts(posts):
    with pytest.raises(TypeError, match=r"must be Post, got (str|NoneType)"):
        Subject("ann", posts)
