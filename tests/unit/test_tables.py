"""Subjects from tables: all dialects of CSV."""

import csv
import gzip
import io
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_files import ANN, failure, saved, texts
from untyped import untyped
from watchword.data import Post, Subject, read_csv


def test_a_row_is_a_post():
    lines = [
        "subject,text,title,time,post_id,label,seq",
        "ann,Hello.,Monday,2024-05-01,p1,control,2",
        "ann,First.,,,,,1.5",
    ]
    posts = [Post("First."), Post("Hello.", "Monday", datetime(2024, 5, 1), "p1")]
    assert read_csv(lines) == [Subject("ann", posts, "control")]


def test_empty_cells_are_missing_values_except_for_the_text():
    assert read_csv(["id,label,text,subject", ",,,ann"]) == [Subject("ann", [Post("")])]


def test_labels_of_a_table_are_text():
    assert read_csv(["subject,text,label", "ann,Hello.,01"])[0].label == "01"


def test_numbers_of_a_table_order_posts_as_numbers():
    assert texts(read_csv(["subject,text,seq", "ann,b,10", "ann,a,9"])[0]) == ["a", "b"]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_the_delimiter_is_found_in_the_header(delimiter):
    header = delimiter.join(['"text"', " subject", "a;b,c,d,e" if delimiter == "\t" else "x"])
    row = delimiter.join(['"Hello, you; there\there."', "ann", "1"])
    assert texts(read_csv([header, row])[0]) == ["Hello, you; there\there."]


def test_the_delimiter_can_be_given():
    assert texts(read_csv(["subject|text", "ann|a,b"], delimiter="|")[0]) == ["a,b"]


@pytest.mark.parametrize("delimiter", ["", "ab", "\n", '"', 3])
def test_a_delimiter_is_one_character(delimiter):
    with pytest.raises(ValueError, match="delimiter must be one character"):
        read_csv(["subject,text"], delimiter=delimiter)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_cells_may_hold_delimiters_quotes_and_line_ends(tmp_path, end):
    path = saved(tmp_path, f'subject,text{end}ann,"One,{end}{end}""two""."{end}bob,Hi.{end}')
    assert [texts(one) for one in read_csv(path)] == [[f'One,{end}{end}"two".'], ["Hi."]]


def test_lines_without_ends_keep_the_line_ends_of_cells():
    assert texts(read_csv(["subject,text", 'ann,"One', 'two"'])[0]) == ["One\ntwo"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_tables_may_be_compressed_and_begin_with_a_mark(tmp_path, compress):
    content = compress(b"\xef\xbb\xbfsubject;text\r\nann;caf\xc3\xa9\r\n")
    assert texts(read_csv(saved(tmp_path, content))[0]) == ["café"]


def test_columns_can_be_renamed():
    rows = ["user;body;text", "ann;Hello.;ignored"]
    assert read_csv(rows, subject="user", text="body") == [ANN]


@pytest.mark.parametrize("field", ["subject", "text"])
def test_a_column_with_an_empty_name_may_be_missing_too(field):
    message = failure(read_csv, ["subject,text", "ann,Hello."], **{field: ""})
    assert message.startswith("input, line 1: column \"\" not found among 'subject, text'")


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("user,text", "column \"subject\" not found among 'user, text'"),
        ("subject,body", 'column "text" not found among'),
        ("subject|text", 'column "subject" not found among'),
        ("subject,text,text", "duplicate column 'text'"),
        ('subject,"text', "unexpected end of data"),
        (b"subject,text,caf\xe9", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("bad_lines", ["error", "skip"])
def test_a_bad_header_is_an_error(header, fault, bad_lines):
    message = failure(read_csv, ["", header], bad_lines=bad_lines)
    assert message.startswith("input, line 2: ")
    assert fault in message


BAD_ROWS: dict[str, tuple[list[str | bytes], str]] = {
    "too few cells": (["ann"], "1 cells, but the header has 4"),
    "too many cells": (["ann,a,b,,c"], "5 cells, but the header has 4"),
    "no subject": ([",a,,"], '"subject" is missing'),
    "no number": (["ann,a,,x"], '"seq" must be a number'),
    "not a number": (["ann,a,,nan"], '"seq" must be a number'),
    "no time": (["ann,a,today,"], "is not a time"),
    "text after quotes": (['ann,"a"b,,'], "invalid row"),
    "not UTF-8": ([b"ann,caf\xe9,,"], "not UTF-8"),
    "not UTF-8 inside of quotes": (['ann,"a', b"caf\xe9", 'b",,'], "not UTF-8"),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_a_bad_row_is_an_error_that_names_its_first_line(bad):
    rows, fault = BAD_ROWS[bad]
    lines = ["subject,text,time,seq", 'ann,"two', 'lines",,', "", *rows, "ann,last,,"]
    message = failure(read_csv, lines)
    assert message.startswith("input, line 5: ")
    assert fault in message


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_bad_rows_can_be_skipped_with_a_callback(bad):
    rows, fault = BAD_ROWS[bad]
    lines = ["subject,text,time,seq", 'ann,"two', 'lines",,', "", *rows, "ann,last,,"]
    told = []
    [subject] = read_csv(untyped(lines), bad_lines="skip", on_bad_line=told.append)
    assert texts(subject) == ["two\nlines", "last"]
    [error] = told
    assert fault in str(error)


def test_an_unclosed_quote_is_reported_at_its_first_line():
    lines = ["subject,text", "ann,a", 'ann,"b', "ann,c"]
    assert failure(read_csv, lines).startswith("input, line 3: invalid row")


@pytest.mark.slow
def test_an_endless_cell_is_reported_at_its_first_line():
    lines = ["subject,text", 'ann,"b', *["x" * 1000] * (csv.field_size_limit() // 1000 + 1)]
    message = failure(read_csv, lines)
    assert message.startswith("input, line 2: a cell has more than")


def test_contradictory_labels_of_a_table_are_a_bad_line():
    message = failure(read_csv, ["subject,text,label", "ann,a,x", "ann,b,y"])
    assert message.startswith("input, line 3: subject 'ann' has the label 'y' here and 'x' on")


# Before Python 3.11, the csv module reads no NUL.
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(CELLS, min_size=1), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]))
def test_what_the_csv_module_writes_is_read_back(made, delimiter, end):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("subject", "text"), *(("ann", text) for text in made)])
    assert texts(read_csv(io.BytesIO(file.getvalue().encode()))[0]) == made
