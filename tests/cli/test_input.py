"""Input of the command line: pipes and files, byte order marks, line ends, long lines, formats."""

import gzip
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import click
import pytest

from command_line import ENVIRONMENT
from untyped import untyped
from watchword.cli.loading import Loader
from watchword.data import lines
from watchword.data.lines import Wait, line_batches
from watchword.data.tables import _Table
from watchword.errors import DataFormatError

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")


class Pieces:
    """Bytes that are read in pieces of at most `size` bytes."""

    def __init__(self, data, size):
        self._data = io.BytesIO(data)
        self._size = size

    def read1(self, most):
        return self._data.read(min(self._size, most))


@pytest.fixture
def given(monkeypatch):
    def give(data, size=1 << 20):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pieces(data, size)))

    return give


def all_lines(source="-"):
    return [entry for batch in line_batches(source) for entry in batch]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "data", [b"", b"a", b"a\n", b"a\nbb\n", b"a\n\nbb", b"\n", b"\n\n\n", b"long " * 20 + b"\nx"]
)
def test_lines_do_not_depend_on_the_size_of_the_pieces_read(given, data, size):
    given(data, size)
    pieces = data.split(b"\n")
    expected = pieces if pieces[-1] else pieces[:-1]
    assert all_lines() == list(enumerate(expected, 1))


def test_complete_lines_are_yielded_before_the_rest_arrives(given):
    given(b"one\ntwo\nthr" + b"ee\n", 11)
    assert [len(list(batch)) for batch in line_batches("-")] == [2, 1]


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_only_a_leading_byte_order_mark_is_removed(given, tmp_path, compress, size):
    data = compress(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo")
    given(data, size)
    (tmp_path / "file").write_bytes(data)
    for source in ("-", str(tmp_path / "file")):
        assert all_lines(source) == [(1, b"one"), (2, b"\xef\xbb\xbftwo")]


def test_a_line_longer_than_the_limit_is_an_error(given, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    given(b"short\n" + b"x" * 1000, 64)
    batches = line_batches("-")
    assert list(next(batches)) == [(1, b"short")]
    with pytest.raises(DataFormatError, match="standard input, line 2: longer than 100 bytes"):
        next(batches)


@posix
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_empty_batch_is_yielded_while_no_data_arrives(monkeypatch, compress):
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reading, os.fdopen(theirs, "wb", buffering=0) as writing:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=reading))
        writing.write(compress(b"one\n"))
        batches = line_batches("-", Wait(idle=0.01))
        assert list(next(batches)) == [(1, b"one")]
        assert list(next(batches)) == []
        writing.write(compress(b"two\n"))
        assert list(next(filter(None, batches))) == [(2, b"two")]


def test_lines_before_damaged_compressed_data_are_yielded_first(tmp_path):
    data = b"".join(b"line %d\n" % at for at in range(3000))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(data)[:-1000])
    batches = line_batches(str(tmp_path / "cut.gz"))
    first = list(next(batches))
    assert first[0] == (1, b"line 0")
    assert len(first) > 100
    with pytest.raises(DataFormatError, match=f"after line {len(first)}"):
        next(batches)


def test_a_large_file_is_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_BATCH_BYTES", 6)
    (tmp_path / "file").write_bytes(b"x\n" * 8)
    sizes = [len(list(batch)) for batch in line_batches(str(tmp_path / "file"))]
    assert sizes == [3, 3, 2]


def test_missing_standard_input_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataFormatError, match="there is no standard input"):
        all_lines()


def test_standard_input_may_be_compressed(tmp_path):
    lines = b'{"text": "so", "label": "x"}\r\n{"text": "what", "label": "y"}\r\n'
    done = subprocess.run(
        [sys.executable, "-m", "watchword", "train", "-", "-o", str(tmp_path / "model.ww")],
        input=gzip.compress(lines),
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b'"learnt": 2' in done.stdout


# Formats


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("-", "jsonl"),
        ("posts.jsonl", "jsonl"),
        ("posts.jsonl.gz", "jsonl"),
        ("posts.CSV", "csv"),
        ("posts.tsv.gz", "csv"),
        (".", "folder"),
    ],
)
def test_the_format_follows_from_the_file_name(name, kind):
    assert Loader().format_of(name) == kind


def test_the_format_can_be_given():
    assert Loader(format="csv").format_of("-") == "csv"


def test_label_files_have_a_text_per_line(tmp_path):
    (tmp_path / "x.txt").write_text("hello\nso long\n")
    loader = Loader(format="label_files")
    [texts] = loader.batches([str(tmp_path)])
    assert [(one.text, one.label) for one in texts] == [("hello", "x"), ("so long", "x")]
    with pytest.raises(click.UsageError, match="texts without subjects"):
        loader.subjects(str(tmp_path))
    with pytest.raises(click.UsageError, match="texts without subjects"):
        list(loader.batches([str(tmp_path)], streams=True))


def test_csv_may_have_a_subject_column(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,id\nhello,x,7\n")
    (tmp_path / "b.csv").write_text("subject,title,text\nann,Monday,hello\nbob,,so\n")
    [texts] = Loader().batches([str(tmp_path / "a.csv")])
    assert [(one.text, one.label, one.id, one.subject) for one in texts] == [
        ("hello", "x", "7", None)
    ]
    [posts] = Loader().batches([str(tmp_path / "b.csv")])
    assert [(one.text, one.subject, one.line) for one in posts] == [
        ("Monday\n\nhello", "ann", 2),
        ("so", "bob", 3),
    ]


def test_rows_before_a_bad_row_are_yielded(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nhello,x\nso\n")
    batches = Loader().batches([str(tmp_path / "a.csv")])
    assert [one.text for one in next(batches)] == ["hello"]
    with pytest.raises(DataFormatError, match=r"a\.csv, line 3"):
        next(batches)


# Tables and compressed data that arrive bit by bit


def in_pieces(monkeypatch, data, size):
    """Replace standard input by data that is read `size` bytes at a time."""
    stream = untyped(io.BytesIO(data))
    stream.read1 = lambda _: stream.read(size)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))


TABLE = 'text,label,id\n"a ""b""\nc",x,1\r\n\n5" tape,y,2\n"d\n\ne",x,3\nf,y,4'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_csv_rows_do_not_depend_on_the_size_of_the_pieces_read(monkeypatch, tmp_path, size, packed):
    (tmp_path / "whole.csv").write_bytes(TABLE.encode())
    whole = [item for batch in Loader().batches([str(tmp_path / "whole.csv")]) for item in batch]
    data = gzip.compress(TABLE.encode()) + gzip.compress(b"") if packed else TABLE.encode()
    in_pieces(monkeypatch, data, size)
    found = [item for batch in Loader(format="csv").batches(["-"]) for item in batch]
    assert [item._replace(source="") for item in found] == [
        item._replace(source="") for item in whole
    ]
    assert [item.line for item in found] == [2, 5, 6, 9]


def test_a_huge_csv_cell_is_not_parsed_again_for_every_piece(monkeypatch):
    cell = "so so\n" * 500_000
    in_pieces(monkeypatch, f'text,id\n"{cell}",1\nlast,2\n'.encode(), 1 << 12)
    held = []
    monkeypatch.setattr(
        _Table, "_hold", lambda self, row, real=_Table._hold: held.append(real(self, row))
    )
    found = [item for batch in Loader(format="csv").batches(["-"]) for item in batch]
    assert [item.text for item in found] == [cell, "last"]
    assert len(held) < 50


@pytest.mark.parametrize("cut", [1, 20])
def test_truncated_compressed_input_is_an_error_after_its_complete_lines(monkeypatch, cut):
    lines = b"".join(b'{"text": "%d"}\n' % number for number in range(20_000))
    in_pieces(monkeypatch, gzip.compress(lines)[:-cut], 1000)
    found = []
    with pytest.raises(DataFormatError, match=r"the compressed data is damaged after line \d+"):
        found.extend(len(batch) for batch in Loader().batches(["-"]))
    assert sum(found) > 10_000


def test_csv_with_only_a_header_has_no_rows(monkeypatch):
    in_pieces(monkeypatch, b'text,"la\nbel"\n', 3)
    assert [batch for batch in Loader(format="csv").batches(["-"]) if batch] == []
    in_pieces(monkeypatch, b" \n\n", 1)
    with pytest.raises(DataFormatError, match="standard input is empty: it needs a row"):
        list(Loader(format="csv").batches(["-"]))
