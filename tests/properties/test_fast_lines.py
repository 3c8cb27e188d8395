"""Plain JSON lines read at once give what the rules make of every line by itself."""

import json
from contextlib import ExitStack
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from watchword.data import iterate_posts, iterate_texts, lines
from watchword.data.lines import BadLines
from watchword.data.records import _slowly_parsed
from watchword.data.texts import read_batches
from watchword.service.bodies import JSON, LINES, BadBody, posts_in

FIELDS = ("subject", "text", "title", "time", "post_id", "id", "label", "seq", "posts", "chunks")
TIMES = ("2024-05-01T12:30:00Z", "2024-05-01", 1714566600, "yesterday", "")

surrogates = st.characters(categories=["Cs"])
words = st.text(st.characters(codec="utf-8") | surrogates, max_size=4)
numbers = (
    st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from([0, -0.0, 1e400, 10**4000 // 7, 2**63, 2**63 - 1, -(2**63) - 1])
)
leaves = st.none() | st.booleans() | numbers | words
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def usual_records(draw):
    """Draw a record that is mostly right, so that whole blocks are."""
    record = {"text": draw(st.text(max_size=5))}
    optional = {
        "subject": st.text(min_size=1, max_size=3) | st.integers(0, 9) | st.just(None),
        "label": st.sampled_from(["a", "é", 1, None]),
        "title": st.sampled_from(["", "Monday", None]),
        "time": st.sampled_from(TIMES),
        "seq": st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False),
        "post_id": words | st.integers(),
        "id": words | st.integers(),
        "other": values,
    }
    for name in draw(st.sets(st.sampled_from(sorted(optional)), max_size=4)):
        record[name] = draw(optional[name])
    return record


records = usual_records() | st.dictionaries(st.sampled_from(FIELDS) | words, values, max_size=4)
as_json = st.builds(
    lambda value, ascii_only, blank: (
        blank + json.dumps(value, ensure_ascii=ascii_only) + blank
    ).encode("utf-8", "surrogatepass"),
    records,
    st.booleans(),
    st.sampled_from(["", "", "", " ", "\t", "\r", "\x0b", "\u00a0"]),
)
odd_lines = st.sampled_from(
    [
        b"",
        b" ",
        b"[]",
        b'{"text": "a"}{"text": "b"}',
        b'{"text": "a"} {"text": "b"}',
        b'{"text":',
        b'"a"}',
        b'{"text": "a",}',
        b'{"text": "a", "text": "b"}',
        b'{"text": "a", "x": NaN}',
        b'{"text": "a", "x": 01}',
        b'{"text": "a", "x": "\xff"}',
        b'{"text": "a", "x": "\x01"}',
        b'{"text": "a", "x": "\\ud800"}',
        b'{"text": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"text": "a", "x": ' + b"1" * 5000 + b"}",
        b"\xef\xbb\xbf" + b'{"text": "a"}',
    ]
)


@st.composite
def damaged(draw):
    line = draw(as_json)
    at = draw(st.integers(0, len(line)))
    return line[:at] + draw(st.binary(max_size=2)) + line[at + draw(st.integers(0, 2)) :]


some_lines = st.lists(usual_records().map(json.dumps).map(str.encode), max_size=6) | st.lists(
    as_json | odd_lines | damaged(), max_size=6
)
blocks = st.builds(
    lambda lines, end, last: end.join(lines) + last,
    some_lines,
    st.sampled_from([b"\n", b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n", b"\n\n"]),
)


def outcome(read, data, tmp_path):
    """Return what a reader makes of a file, and the messages about its bad lines."""
    path = tmp_path / "lines.jsonl"
    path.write_bytes(data)
    messages = []
    return read(str(path), lambda error: messages.append(str(error))), messages


def texts(path, on_bad_line, names=()):
    bad = BadLines("skip", on_bad_line)
    return [
        item for batch in read_batches(path, dict(names), bad, is_table=False) for item in batch
    ]


def posts(path, on_bad_line):
    return list(iterate_posts(path, bad_lines="skip", on_bad_line=on_bad_line))


def documents(path, on_bad_line):
    return list(iterate_texts(path, bad_lines="skip", on_bad_line=on_bad_line))


def renamed(path, on_bad_line):
    return texts(path, on_bad_line, {"subject": "id", "text": "title"}.items())


def by_the_rules(read, data, tmp_path):
    """Return the outcome with the parser of the standard library alone, line by line."""
    with ExitStack() as stack:
        for module in ("records", "fast_lines"):
            target = f"watchword.data.{module}.plain_records"
            stack.enter_context(patch(target, lambda _: None))
        stack.enter_context(patch("watchword.data.records._parsed", _slowly_parsed))
        return outcome(read, data, tmp_path)


@given(data=blocks, size=st.sampled_from([5, 40, 1 << 20]))
@example(data=b'{"text": "a"\n}{"text": "b"}\n', size=1 << 20)
@example(data=b'\n{"text": "a"}{"text": "b"}\n', size=1 << 20)
@example(data=b'{"text": "a"}\n{"text": "b"}{"text": "c"}\n\n', size=1 << 20)
@example(data=b'{"text": "a", "posts": null}\n{"text": "b", "subject": "ann"}\n', size=1 << 20)
@example(data=b'{"text": "a", "subject": ""}\n{"text": "b", "subject": "ann"}\n', size=1 << 20)
@example(data=b'{"text": "a", "time": "never"}\n{"text": "b", "time": 0}\n', size=1 << 20)
@example(data=b'{"text": "a", "id": 1, "post_id": 2}\n', size=1 << 20)
@example(data=b'{"text": "a", "subject": "ann", "seq": true}\n', size=1 << 20)
@example(data=b'{"text": "a", "subject": "ann", "time": "never"}\n', size=1 << 20)
@example(data=b'{"text": "a", "title": 1}\n{"text": "a", "label": 9223372036854775808}\n', size=99)
def test_plain_lines_are_read_as_the_rules_read_them(tmp_path_factory, data, size):
    folder = tmp_path_factory.getbasetemp()
    with patch.object(lines, "_BATCH_BYTES", size):
        for read in (texts, posts, documents, renamed):
            assert outcome(read, data, folder) == by_the_rules(read, data, folder)


def posted(body, media_type):
    """Return what the service makes of a body; None if it refuses it."""
    try:
        return posts_in(body, media_type, most=100)
    except BadBody:
        return None


post_records = st.builds(
    lambda record, more: {"subject": "ann", "id": 1, **record, **more}, usual_records(), records
)


@given(objects=st.lists(usual_records() | post_records, min_size=1, max_size=6))
def test_posts_in_an_array_are_read_as_posts_on_lines(objects):
    array = json.dumps(objects).encode()
    lines = "\n".join(map(json.dumps, objects)).encode()
    assert posted(array, JSON) == posted(lines, LINES)
