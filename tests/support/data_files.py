"""Small files of posts, and the errors of reading them."""

import json

import pytest

from watchword.data import Post, Subject
from watchword.errors import DataFormatError

HELLO = '{"subject": "ann", "text": "Hello."}'
ANN = Subject("ann", [Post("Hello.")])


def saved(folder, content, name="posts.jsonl"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(subject):
    return [post.text for post in subject.posts]


def line(**fields):
    return json.dumps({"subject": "ann", "text": "Hello."} | fields)


def failure(read, *arguments, **options):
    with pytest.raises(DataFormatError) as caught:
        read(*arguments, **options)
    return str(caught.value)
