"""Subjects and posts as JSON lines: sources, fields, bad lines, and writing."""

import contextlib
import gzip
import io
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_files import ANN, HELLO, failure, line, saved, texts
from untyped import untyped
from watchword.data import (
    Post,
    Subject,
    iterate_posts,
    iterate_texts,
    lines,
    make_risk_streams,
    read_csv,
    read_folder,
    read_jsonl,
    read_subjects,
    read_texts,
    write_jsonl,
)
from watchword.errors import DataFormatError, DataWarning

# JSON lines: what they may say


def test_a_line_may_be_a_post():
    fields = {"title": "Monday", "time": "2024-05-01T12:30:00+02:00", "id": "p1", "label": 1}
    [subject] = read_jsonl([line(**fields)])
    time = datetime(2024, 5, 1, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    assert subject == Subject("ann", [Post("Hello.", "Monday", time, "p1")], 1)


def test_a_line_may_be_a_subject():
    posts = ["Hello.", {"text": "Good night.", "title": "Monday", "post_id": 7}]
    record = {"id": "ann", "posts": posts, "label": "control"}
    expected = [Post("Hello."), Post("Good night.", title="Monday", id="7")]
    assert read_jsonl([json.dumps(record)]) == [Subject("ann", expected, "control")]


def test_the_subject_of_a_subject_line_may_be_called_subject():
    [subject] = read_jsonl(['{"id": "not this", "subject": "ann", "posts": []}'])
    assert subject == Subject("ann", [])


def test_a_subject_line_may_have_chunks():
    record = {"subject": "ann", "posts": ["a", "b"], "chunks": [1] + [0] * 8 + [1]}
    assert read_jsonl([json.dumps(record)])[0].chunks == (1,) + (0,) * 8 + (1,)


def test_posts_of_subjects_may_be_interleaved():
    given = [("ann", "a"), ("bob", "b"), ("ann", "c"), ("bob", "d")]
    subjects = read_jsonl([line(subject=who, text=what) for who, what in given])
    assert [(one.id, texts(one)) for one in subjects] == [("ann", ["a", "c"]), ("bob", ["b", "d"])]


def test_posts_are_ordered_by_seq_where_all_have_one():
    given = [(10, "c"), (9.5, "b"), (-1, "a"), (10, "d")]
    [subject] = read_jsonl([line(seq=seq, text=text) for seq, text in given])
    assert texts(subject) == ["a", "b", "c", "d"]


def test_posts_stay_in_the_order_of_lines_where_one_lacks_seq():
    given = [(2, "a"), (None, "b"), (1, "c")]
    [subject] = read_jsonl([line(seq=seq, text=text) for seq, text in given])
    assert texts(subject) == ["a", "b", "c"]


def test_posts_inside_a_subject_line_are_ordered_by_seq():
    posts = [{"text": "b", "seq": 2}, {"text": "a", "seq": 1}]
    [subject] = read_jsonl([json.dumps({"subject": "ann", "posts": posts})])
    assert texts(subject) == ["a", "b"]


def test_a_subject_may_have_several_lines_of_either_form():
    [subject] = read_jsonl([HELLO, '{"subject": "ann", "posts": ["b"]}', line(text="c")])
    assert texts(subject) == ["Hello.", "b", "c"]


def test_one_line_with_a_label_is_enough():
    [subject] = read_jsonl([HELLO, line(label="control"), line(label=None)])
    assert subject.label == "control"


def test_null_is_a_missing_value():
    assert read_jsonl([line(title=None, time=None, id=None, label=None, seq=None)]) == [ANN]


def test_unknown_fields_are_ignored():
    assert read_jsonl([line(score=float("nan"), votes=[1, {}], posts=3)]) == [ANN]


def test_whole_numbers_are_ids_too():
    assert read_jsonl([line(subject=12, id=7)]) == [Subject("12", [Post("Hello.", id="7")])]


def test_fields_can_be_renamed():
    record = {"user": "ann", "body": "Hello.", "class": "control", "tweet": "t1", "at": 0}
    names: dict[str, Any] = {"subject": "user", "text": "body", "label": "class"}
    names |= {"post_id": "tweet", "time": "at"}
    time = datetime(1970, 1, 1, tzinfo=timezone.utc)
    expected = Subject("ann", [Post("Hello.", time=time, id="t1")], "control")
    assert read_jsonl([json.dumps(record)], **names) == [expected]


def test_posts_inside_a_subject_line_have_renamed_fields_too():
    record = {"user": "ann", "tweets": [{"body": "a"}, "b"]}
    [subject] = read_jsonl([json.dumps(record)], subject="user", posts="tweets", text="body")
    assert texts(subject) == ["a", "b"]


@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_texts, iterate_posts, iterate_texts])
def test_renaming_a_field_that_does_not_exist_is_refused_at_once(read):
    with pytest.raises(TypeError, match="unknown field 'colour'"):
        read([], colour="shade")


def test_empty_texts_are_texts():
    assert texts(read_jsonl([line(text="")])[0]) == [""]


def test_lone_surrogates_are_accepted_in_texts():
    assert texts(read_jsonl(['{"subject": "ann", "text": "\\ud800"}'])[0]) == ["\ud800"]


# Where lines come from


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n \n", ""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_files_may_have_any_line_ends_and_a_byte_order_mark(tmp_path, end, mark):
    path = saved(tmp_path, mark + f"{HELLO}{end}".encode())
    assert read_jsonl(path) == read_jsonl(str(path)) == [ANN]


@pytest.mark.parametrize("name", ["posts.jsonl.gz", "posts.jsonl"])
def test_compressed_files_are_known_by_their_content(tmp_path, name):
    content = gzip.compress(b"\xef\xbb\xbf" + HELLO.encode())
    assert read_jsonl(saved(tmp_path, content, name)) == [ANN]


def test_a_compressed_file_may_have_several_members(tmp_path):
    content = gzip.compress(f"{HELLO}\n".encode()) * 2
    assert texts(read_jsonl(saved(tmp_path, content))[0]) == ["Hello.", "Hello."]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_dash_is_standard_input(monkeypatch, compress):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(HELLO.encode()))))
    assert read_jsonl("-") == [ANN]


def test_without_standard_input_a_dash_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "no standard input" in failure(read_jsonl, "-")


def test_files_may_be_open_already(tmp_path):
    path = saved(tmp_path, f"\ufeff{HELLO}")
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        assert read_jsonl(binary) == read_jsonl(text) == [ANN]
        assert not binary.closed


def test_compressed_files_may_be_open_already(tmp_path):
    path = saved(tmp_path, gzip.compress(HELLO.encode()))
    with path.open("rb", buffering=0) as raw, path.open("rb") as buffered:
        assert read_jsonl(raw) == read_jsonl(buffered) == [ANN]


def test_lines_may_be_bytes():
    assert read_jsonl([HELLO.encode()]) == [ANN]


def test_line_separators_of_unicode_do_not_end_a_line(tmp_path):
    text = "a\u2028b\u0085c\x1cd"
    content = json.dumps({"subject": "ann", "text": text}, ensure_ascii=False)
    assert texts(read_jsonl(saved(tmp_path, content))[0]) == [text]


@pytest.mark.parametrize("source", [None, 3, b"posts.jsonl", [3], [{"subject": "ann"}]])
def test_other_sources_are_refused(source):
    with pytest.raises(TypeError, match=r"expected a path|lines must be str or bytes"):
        read_jsonl(source)


# Times


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1)),
        ("2024-05-01 12:30", datetime(2024, 5, 1, 12, 30)),
        ("2024-05-01T12:30:15", datetime(2024, 5, 1, 12, 30, 15)),
        (" 2024-05-01T12:30:15.5 ", datetime(2024, 5, 1, 12, 30, 15, 500000)),
        ("2024-05-01T12:30:15,1234567", datetime(2024, 5, 1, 12, 30, 15, 123456)),
        ("2024-05-01T12:30:15Z", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        ("2024-05-01 12:30:15 +0000", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        ("2024-05-01T14:30:15+02", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        ("2024-05-01t12:30:15z", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        ("2024-05-01 12:30 UTC", datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc)),
        ("2024-05-01 12:30:15 GMT", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        (1714566615, datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        (1714566615.25, datetime(2024, 5, 1, 12, 30, 15, 250000, tzinfo=timezone.utc)),
        ("1714566615", datetime(2024, 5, 1, 12, 30, 15, tzinfo=timezone.utc)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=timezone.utc)),
    ],
)
def test_times_are_iso_8601_or_seconds(given, expected):
    time = read_jsonl([line(time=given)])[0].posts[0].time
    assert time == expected
    assert (time.tzinfo is None) == (expected.tzinfo is None)


@pytest.mark.parametrize(
    "bad",
    [
        *("", "yesterday", "2024-13-01", "2024-05-01T25:00", "2024", "20240501", "2024-W18-3"),
        *("2024-05-01T1230", "1714566615000", "-1", "nan", "٢٠٢٤-05-01", "2024-05-01T12:30+99"),
        *(1714566615000, 10**400, 1e300, float("nan"), float("inf"), True, [], {}),
    ],
)
def test_an_invalid_time_is_a_bad_line(bad):
    assert "line 1: " in failure(read_jsonl, [line(time=bad)])
    assert "is not a time" in failure(read_jsonl, [line(time=bad)])


def timed_lines(*dates, subject="ann"):
    return [json.dumps({"subject": subject, "text": date, "time": date}) for date in dates]


def test_posts_whose_times_contradict_their_order_are_a_warning():
    newest_first = timed_lines("2024-05-03", "2024-05-02T10:00Z", "2024-05-01")
    oldest_first = timed_lines("2024-05-01", "2024-05-02", subject="bob")
    message = "in 1 of 1 subjects, most posts are older than the post before them .*seq"
    with pytest.warns(DataWarning, match=message):
        [ann] = read_jsonl(newest_first)
    assert [post.text for post in ann.posts] == ["2024-05-03", "2024-05-02T10:00Z", "2024-05-01"]
    assert len(read_jsonl(newest_first + oldest_first)) == 2  # not most of the subjects


# Bad lines

DEEP = "[" * 100_000

PIECES = [
    b"\n",
    b'"',
    b"{",
    b"}",
    b",",
    b'"subject":',
    b'"text":',
    b'"a"',
    b"subject,text\n",
    b"\x1f\x8b",
]

BAD_LINES = {
    "broken": ('{"subject": "ann", "te', "not JSON"),
    "two objects": (HELLO + HELLO, "not JSON"),
    "words": ("Hello.", "not JSON"),
    "array": ('["ann", "Hello."]', "expected an object, got"),
    "number": ("12", "expected an object, got 12"),
    "null": ("null", "expected an object, got null"),
    "nothing in it": ("{}", '"subject" is missing'),
    "no subject": ('{"text": "Hello."}', '"subject" is missing'),
    "null as subject": (line(subject=None), '"subject" is missing'),
    "empty subject": (line(subject=""), '"subject" must not be empty'),
    "half a character as subject": (line(subject="\ud800"), '"subject" must be valid Unicode'),
    "array as subject": (line(subject=[]), '"subject" must be text or a whole number'),
    "true as subject": (line(subject=True), '"subject" must be text or a whole number, got true'),
    "no text": ('{"subject": "ann"}', '"text" is missing'),
    "null as text": (line(text=None), '"text" must be text, got null'),
    "number as text": (line(text=3), '"text" must be text, got 3'),
    "NaN as text": (line(text=float("nan")), '"text" must be text, got nan'),
    "number as title": (line(title=3), '"title" must be text, got 3'),
    "array as id": (line(id=[1]), '"id" must be text'),
    "half a character as id": (line(id="\udfff"), '"id" must be valid Unicode'),
    "true as label": (line(label=True), "a label must be text or a whole number"),
    "NaN as label": (line(label=float("nan")), "a label must be text or a whole number"),
    "huge label": (line(label=2**63), "64 bits"),
    "half a character as label": (line(label="\ud800"), "a label must be"),
    "text as seq": (line(seq="first"), '"seq" must be a number'),
    "NaN as seq": (line(seq=float("nan")), '"seq" must be a number'),
    "infinite seq": (line(seq=float("inf")), '"seq" must be a number'),
    "posts that are text": ('{"subject": "ann", "posts": "Hello."}', "posts must be an array"),
    "null as posts": ('{"subject": "ann", "posts": null}', "posts must be an array, got null"),
    "null as post": ('{"subject": "ann", "posts": ["a", null]}', "post 2 must be text"),
    "post without text": ('{"subject": "ann", "posts": [{}]}', '"text" is missing'),
    "nobody's posts": ('{"posts": []}', '"subject" is missing'),
    "wrong chunks": ('{"id": "ann", "posts": [], "chunks": [1]}', "chunks must be 10 sizes"),
    "half chunks": ('{"id": "a", "posts": [], "chunks": [0.5, -0.5]}', "chunks must be 10 sizes"),
    "deep": (DEEP, "nested too deeply"),
    "deep inside": ('{"text": ' + DEEP, "nested too deeply"),
    "many digits": (f'{{"subject": {"1" * 5000}, "text": "a"}}', "too many digits"),
    "not UTF-8": (b'{"subject": "ann", "text": "caf\xe9"}', "not UTF-8 (byte 32 is 0xe9)"),
    "surrogates in UTF-8": (b'{"subject": "ann", "text": "\xed\xa0\x80"}', "not UTF-8"),
    "NUL": ("\0", "not JSON"),
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_is_an_error_that_names_file_line_and_fault(tmp_path, bad):
    content, fault = BAD_LINES[bad]
    content = content if isinstance(content, bytes) else content.encode()
    path = saved(tmp_path, b"\n".join([HELLO.encode(), b"", content, HELLO.encode()]))
    message = failure(read_jsonl, path)
    assert message.startswith(f"{path}, line 3: ")
    assert fault in message
    assert len(message) < len(str(path)) + 250
    assert message == failure(lambda: list(iterate_posts(path)))


@pytest.mark.parametrize("bad", BAD_LINES)
def test_bad_lines_can_be_skipped_with_a_callback(tmp_path, bad):
    content, fault = BAD_LINES[bad]
    content = content if isinstance(content, bytes) else content.encode()
    told = []
    path = saved(tmp_path, b"\n".join([HELLO.encode(), content, HELLO.encode()]))
    options: dict[str, Any] = {"bad_lines": "skip", "on_bad_line": told.append}
    assert texts(read_jsonl(path, **options)[0]) == ["Hello.", "Hello."]
    assert len(list(iterate_posts(path, **options))) == 2
    assert [type(error) for error in told] == [DataFormatError] * 2
    assert all(f"{path}, line 2: " in str(error) and fault in str(error) for error in told)


def test_bad_lines_can_be_skipped_without_a_callback():
    assert read_jsonl(["{", HELLO], bad_lines="skip") == [ANN]


def test_an_error_in_the_callback_ends_the_reading():
    def give_up(error):
        raise error

    with pytest.raises(DataFormatError, match="line 1"):
        read_jsonl(["{", HELLO], bad_lines="skip", on_bad_line=give_up)


@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_folder, read_texts, iterate_posts])
def test_bad_lines_must_be_error_or_skip(read):
    with pytest.raises(ValueError, match="bad_lines must be one of 'error', 'skip', got 'ignore'"):
        read("nowhere", bad_lines="ignore")


def test_labels_that_contradict_are_a_bad_line():
    lines = [line(label="control"), HELLO, line(label="at risk", text="b"), line(text="c")]
    message = failure(read_jsonl, lines)
    assert message.startswith("input, line 3: subject 'ann' has the label 'at risk' here and")
    assert "'control' on line 1" in message
    [subject] = read_jsonl(lines, bad_lines="skip")
    assert (subject.label, texts(subject)) == ("control", ["Hello.", "Hello.", "c"])


def test_a_number_and_a_text_are_different_labels():
    assert "line 2" in failure(read_jsonl, [line(label=1), line(label="1")])


@pytest.mark.parametrize("order", [1, -1])
def test_chunks_and_more_lines_of_the_same_subject_are_a_bad_line(order):
    chunked = json.dumps({"subject": "ann", "posts": ["a"], "chunks": [1] + [0] * 9})
    assert "line 2: subject 'ann' has chunks" in failure(read_jsonl, [chunked, HELLO][::order])


def test_a_file_that_is_one_json_array_gets_a_hint():
    assert "jq" in failure(read_jsonl, [f"[{HELLO}]"])


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=12).map(b"".join))
def test_any_bytes_are_read_or_a_data_format_error(content):
    for read in (read_jsonl, read_csv, read_texts):
        for bad_lines in ("error", "skip"):
            with contextlib.suppress(DataFormatError):
                assert read(io.BytesIO(content), bad_lines=bad_lines)


# Bad files


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_texts])
def test_an_empty_file_is_an_error(tmp_path, read, content):
    path = saved(tmp_path, content)
    assert failure(read, path).startswith(f"{path} is empty")


@pytest.mark.parametrize("read", [read_jsonl, read_texts])
def test_a_file_of_bad_lines_only_is_an_error_even_if_they_are_skipped(tmp_path, read):
    path = saved(tmp_path, "{\n[\n")
    message = failure(read, path, bad_lines="skip")
    assert "none of its lines could be read" in message
    assert "line 1" in message


@pytest.mark.parametrize("read", [read_jsonl, read_csv])
def test_a_folder_is_not_a_file(tmp_path, read):
    assert "is a folder" in failure(read, tmp_path)


@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_folder, read_texts])
def test_a_missing_file_is_an_error(tmp_path, read):
    with pytest.raises(FileNotFoundError) as caught:
        read(tmp_path / "nowhere")
    assert Path(caught.value.filename) == tmp_path / "nowhere"


@pytest.mark.parametrize("bad_lines", ["error", "skip"])
@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_texts])
def test_a_truncated_compressed_file_is_an_error(tmp_path, read, bad_lines):
    whole = gzip.compress(os.urandom(10_000).hex().encode())
    path = saved(tmp_path, whole[: len(whole) // 2])
    assert "compressed data is damaged" in failure(read, path, bad_lines=bad_lines)


@pytest.mark.parametrize("damage", [lambda data: data[:-8] + b"\0" * 8, lambda data: data + b"x"])
def test_a_damaged_compressed_file_is_an_error(tmp_path, damage):
    path = saved(tmp_path, damage(gzip.compress(f"{HELLO}\n".encode())))
    assert "compressed data is damaged" in failure(read_jsonl, path)


def test_a_file_named_gz_must_be_compressed(tmp_path):
    assert "compressed data is damaged" in failure(
        read_jsonl, saved(tmp_path, HELLO, "posts.jsonl.gz")
    )


@pytest.mark.parametrize("bad_lines", ["error", "skip"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("read", "name", "begin"),
    [
        (read_jsonl, "a.jsonl", HELLO),
        (read_csv, "a.csv", "subject,text"),
        (read_texts, "a.jsonl", '{"text": "Hello.", "label": "x"}'),
    ],
)
def test_an_endless_line_is_an_error(tmp_path, monkeypatch, read, name, begin, compress, bad_lines):
    monkeypatch.setattr(lines, "LONGEST_LINE", 50)
    path = saved(tmp_path, compress(f"{begin}\n{'x' * 100_000}".encode()), name)
    expected = f"{path}, line 2: longer than 50 bytes"
    assert failure(read, path, bad_lines=bad_lines).startswith(expected)


def test_an_endless_line_in_a_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 50)
    path = saved(tmp_path, "Hello.\n" + "x" * 51, "control/ann.txt")
    assert failure(read_folder, tmp_path).startswith(f"{path}, line 2: longer than 50 bytes")


def test_an_endless_line_of_an_open_text_file_is_an_error(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 50)
    said = failure(read_jsonl, io.StringIO(f"{HELLO}\n{'x' * 51}"))
    assert said.startswith("input, line 2: longer than 50 characters")


def test_no_more_of_an_endless_line_is_read_than_needed(monkeypatch):
    class Endless(io.RawIOBase):
        asked = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.asked += len(buffer)
            assert self.asked < 100_000
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    monkeypatch.setattr(lines, "LONGEST_LINE", 10_000)
    assert "line 1: longer than 10000 bytes" in failure(
        read_jsonl, io.BufferedReader(Endless(), 1000)
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_may_be_as_long_as_the_limit(tmp_path, monkeypatch, end):
    path = saved(tmp_path, HELLO + end)
    monkeypatch.setattr(lines, "LONGEST_LINE", len(HELLO + end))
    assert read_jsonl(path) == [ANN]


class InPieces(io.BytesIO):
    """A file whose bytes arrive in pieces of one size."""

    def __init__(self, data, size):
        super().__init__(data)
        self.size = size

    def read1(self, size=-1):
        return super().read1(min(size, self.size))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_zip_files_are_refused(size):
    data = b"PK\x03\x04" + bytes(100)
    assert "is a zip file" in failure(read_jsonl, InPieces(data, size))


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01\0\xd0\0\0",
        b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n",
        gzip.compress(b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
    ],
    ids=["PNG", "program", "PDF", "JPEG in gzip"],
)
@pytest.mark.parametrize("read", [read_jsonl, read_csv, read_texts])
def test_binary_files_are_refused(data, read):
    assert "is a binary file, not data" in failure(read, io.BytesIO(data))


def test_text_in_another_encoding_is_not_called_binary():
    data = io.BytesIO('{"text": "Hello."}'.encode("utf-16"))
    assert "not UTF-8 (byte 1 is 0xff): save the data as UTF-8" in failure(read_texts, data)


def test_text_with_zero_bytes_is_not_called_binary():
    data = "subject,text\nann,caf\u00e9 \0 noir\n".encode()
    assert [ann.posts[0].text for ann in read_csv(io.BytesIO(data))] == ["caf\u00e9 \0 noir"]


@pytest.mark.parametrize("field", ["text", "subject"])
def test_skipping_ends_where_the_first_lines_all_lack_a_field(field):
    skipped = []
    record = {"subject": "ann", "text": "Hello."}
    del record[field]
    lines = [json.dumps(record)] * 1000
    with pytest.raises(DataFormatError, match=f'"{field}" is missing in each of the first 20'):
        read_jsonl(lines, bad_lines="skip", on_bad_line=skipped.append)
    assert len(skipped) == 20


def test_skipping_goes_on_after_a_good_line():
    good = json.dumps({"subject": "ann", "text": "Hello."})
    lines = [*['{"text": ""}'] * 10, good, *['{"text": ""}'] * 1000]
    [ann] = read_jsonl(lines, bad_lines="skip")
    assert ann.id == "ann"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_data_may_begin_with_the_first_letters_of_zip_files(size):
    data = b"PK,subject,text\n1,ann,Hello.\n"
    assert [one.id for one in read_csv(InPieces(data, size))] == ["ann"]


def test_a_file_opened_with_another_encoding_is_an_error(tmp_path):
    path = saved(tmp_path, b'{"subject": "ann", "text": "caf\xe9"}')
    with path.open(encoding="utf-8") as file:
        assert "not UTF-8" in failure(read_jsonl, file)


# Posts as they arrive


def test_posts_come_one_by_one_with_subject_and_label():
    lines = [line(label="control"), '{"id": "bob", "posts": ["a", "b"], "label": 1}', HELLO]
    assert list(iterate_posts(lines)) == [
        ("ann", Post("Hello."), "control"),
        ("bob", Post("a"), 1),
        ("bob", Post("b"), 1),
        ("ann", Post("Hello."), None),
    ]


def test_posts_come_before_the_next_line_is_asked_for():
    def arriving():
        yield HELLO
        raise AssertionError("too early")

    assert next(iterate_posts(arriving()))[0] == "ann"
    assert next(iterate_texts(arriving())).text == "Hello."


def test_posts_come_from_a_pipe_as_they_are_written():
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:  # noqa: PTH123
        pipe.write(f"{HELLO}\n".encode())
        posts = iterate_posts(file)
        assert next(posts)[1].text == "Hello."
        pipe.write(f"{line(text='Good night.')}\n".encode())
        assert next(posts)[1].text == "Good night."
        pipe.close()
        assert list(posts) == []


def test_an_empty_stream_has_no_posts():
    assert list(iterate_posts([])) == []
    assert list(iterate_texts([])) == []


def test_a_file_is_closed_when_the_iterator_is_closed(tmp_path):
    posts = iterate_posts(saved(tmp_path, f"{HELLO}\n" * 3))
    next(posts)
    untyped(posts).close()  # a file left open would be a warning, which fails the test


# Subjects of any kind


def test_the_kind_of_a_source_is_detected(tmp_path):
    saved(tmp_path, "Hello.", "folder/ann.txt")
    assert read_subjects(tmp_path / "folder") == [ANN]
    assert read_subjects(saved(tmp_path, "subject\ttext\nann\tHello.", "a.TSV")) == [ANN]
    content = gzip.compress(b"subject,text\nann,Hello.")
    assert read_subjects(saved(tmp_path, content, "a.csv.gz")) == [ANN]
    assert read_subjects(saved(tmp_path, HELLO, "a.txt")) == [ANN]


def test_the_kind_of_a_source_can_be_given_with_options(tmp_path):
    path = saved(tmp_path, "user|text\nann|Hello.", "posts")
    assert read_subjects(path, kind="csv", subject="user", delimiter="|") == [ANN]


def test_other_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match="kind must be one of"):
        read_subjects(saved(tmp_path, HELLO), kind=untyped("xml"))


# Writing

# Halves of one character next to each other are the character in JSON: only single halves here.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\ud800", "a\udfffb", "\u2028\x85\x1c", '"\\', "\r\n", "\0", "\ufeff"]
)
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
# In seconds: Python itself reads an offset of some microseconds back as none.
OFFSETS = st.integers(-23 * 3600, 23 * 3600).map(lambda one: timezone(timedelta(seconds=one)))
TIMES = st.none() | st.datetimes() | st.datetimes(timezones=st.just(timezone.utc) | OFFSETS)
POSTS = st.builds(Post, ANY_TEXT, ANY_TEXT, TIMES, st.none() | IDS | st.just(""))
LABELS = st.none() | st.integers(-(2**63), 2**63 - 1) | IDS | st.just("")


@st.composite
def subjects(draw):
    sizes = draw(st.none() | st.lists(st.integers(0, 1), min_size=10, max_size=10))
    count = draw(st.integers(0, 4)) if sizes is None else sum(sizes)
    posts = draw(st.lists(POSTS, min_size=count, max_size=count))
    return Subject(draw(IDS), posts, draw(LABELS), sizes)


@pytest.mark.filterwarnings("ignore:.*dates contradict the order")
@given(
    made=st.lists(subjects(), min_size=1, max_size=4, unique_by=lambda one: one.id),
    name=st.sampled_from(["a.jsonl", "a.jsonl.gz"]),
)
def test_written_subjects_are_read_back(made, name, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / name
    write_jsonl(path, made)
    found = read_jsonl(path)
    assert found == made
    for one, other in zip(found, made, strict=True):
        assert type(one.label) is type(other.label)
        for mine, theirs in zip(one.posts, other.posts, strict=True):
            assert (mine.time and mine.time.utcoffset()) == (
                theirs.time and theirs.time.utcoffset()
            )


def test_made_up_streams_are_read_back(tmp_path):
    made = make_risk_streams(20, seed=0)
    write_jsonl(tmp_path / "made.jsonl", made)
    assert read_subjects(tmp_path / "made.jsonl") == made


def test_subjects_are_written_in_plain_characters_one_per_line(tmp_path):
    path = tmp_path / "a.jsonl"
    write_jsonl(path, [Subject("ann", [Post("café")], "control"), Subject("bob", [])])
    assert path.read_text(encoding="utf-8") == (
        '{"subject": "ann", "label": "control", "posts": [{"text": "café"}]}\n'
        '{"subject": "bob", "posts": []}\n'
    )


def test_a_compressed_file_is_the_same_for_the_same_subjects(tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_jsonl(tmp_path / name, [ANN])
    content = (tmp_path / "a.jsonl.gz").read_bytes()
    assert content == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress(content).startswith(b'{"subject": "ann"')


def test_a_dash_is_standard_output(capfdbinary):
    write_jsonl("-", [ANN])
    assert read_jsonl(capfdbinary.readouterr().out.splitlines()) == [ANN]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (Subject("", []), "must not be empty"),
        (Subject("\ud800", []), "valid Unicode"),
        (Subject("ann", [Post("a", id="\ud800")]), "valid Unicode"),
        (Subject("ann", [], "\ud800"), "valid Unicode"),
        (Subject("ann", [], 2**63), "64 bits"),
        (Subject("bob", []), "duplicate subject id 'bob'"),
    ],
)
def test_subjects_that_could_not_be_read_back_are_not_written(tmp_path, bad, fault):
    path = saved(tmp_path, "as before")
    with pytest.raises(ValueError, match=fault):
        write_jsonl(path, [Subject("bob", []), bad])
    assert path.read_text() == "as before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "bad",
    [
        Subject(untyped(3), []),
        Subject("ann", [Post(untyped(3))]),
        Subject("ann", [], True),
        ANN.posts[0],
    ],
)
def test_subjects_with_wrong_types_are_not_written(tmp_path, bad):
    with pytest.raises(TypeError):
        write_jsonl(tmp_path / "a.jsonl", [bad])
    assert list(tmp_path.iterdir()) == []
