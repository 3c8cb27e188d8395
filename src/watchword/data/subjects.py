"""People and what they write: subjects and their posts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from watchword._checks import Label, Target

_CHUNKS = 10  # number of chunks of the eRisk collections of 2017 and 2018


@dataclass(frozen=True)
class Post:
    r"""A post of a subject.

    >>> Post("Slept badly again.", title="Monday").content
    'Monday\n\nSlept badly again.'

    `context` is what others wrote in the same discussion, oldest first. Models read `content`,
    which does not include it; `with_context` returns a post that does.
    """

    text: str
    title: str = ""
    time: datetime | None = None
    id: str | None = None
    context: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """Title and text as two paragraphs, with either setting of `paragraphs`."""
        return content_of(self.title, self.text)

    def with_context(self) -> Post:
        r"""Return the post with its context as further paragraphs of the text.

        >>> Post("Me too.", context=("Who sleeps badly?",)).with_context().text
        'Me too.\n\nWho sleeps badly?'
        """
        texts = [self.text, *self.context] if self.text else self.context
        return replace(self, text="\n\n".join(texts), context=()) if self.context else self


def content_of(title: str | None, text: str) -> str:
    """Return what a post says: its title, if it has one, and its text."""
    return f"{title}\n\n{text}" if title else text


@dataclass(frozen=True)
class Subject:
    """A person with posts, oldest first, and the true label, if it is known.

    >>> subject = Subject("ann", [Post("Hello."), Post("Good night.")], "control")
    >>> [post.text for post in subject.posts]
    ['Hello.', 'Good night.']

    If a collection is split into ten chunks, `chunks` has their sizes, which may be 0.
    """

    id: str
    posts: Sequence[Post]
    label: Label | None = None
    chunks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "posts", tuple(self.posts))  # a copy of the caller's list
        for kind in set(map(type, self.posts)):
            if not issubclass(kind, Post):
                raise TypeError(f"the posts of a subject must be Post, got {kind.__name__}")
        if self.chunks is not None:
            object.__setattr__(self, "chunks", _chunks(self.chunks, len(self.posts)))

    def with_context(self) -> Subject:
        """Return the subject with the context of each post as part of its text."""
        return replace(self, posts=[post.with_context() for post in self.posts])


def _chunks(given: Sequence[int], posts: int) -> tuple[int, ...]:
    try:
        sizes = tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(f"chunks must be whole numbers, got {given!r}") from None
    if len(sizes) != _CHUNKS or min(sizes) < 0 or sum(sizes) != posts:
        raise ValueError(
            f"chunks must be {_CHUNKS} sizes that add up to the {posts} posts, got {sizes}"
        )
    return sizes


@dataclass(frozen=True)
class Document:
    """A text without a subject, with its label, or a tuple of its labels, if they are known.

    >>> Document("machine learning is being widely used", "tech").label
    'tech'
    """

    text: str
    label: Target | None = None
    id: str | None = None
