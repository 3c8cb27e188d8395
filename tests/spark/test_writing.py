"""Model files written from sorted rows: equal to those that a model saves."""

import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from count_rows import NAMES, added, batches_of, controls, floored, learnt
from strategies import any_texts, corpora
from watchword.spark import writing
from watchword.spark.counting import DOCUMENTS, WORDS, rows_of
from watchword.spark.writing import write_sorted

LABELLED = {(DOCUMENTS, "x"): 1, (WORDS, "x"): 2, (b"\x01a", "x"): 1, (b"\x01b", "x"): 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ww"


def written(path, sums, size=5, **parameters):
    write_sorted(path, batches_of(sums, size), parameters=ww.TauSS3(**parameters))
    return path.read_bytes()


@given(corpora(any_texts()), st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 4, 1000]))
def test_the_bytes_equal_those_of_save(tmp_path_factory, documents, max_ngram, size):
    path = tmp_path_factory.mktemp("models") / "model.ww"
    model = learnt(documents, max_ngram=max_ngram, smoothness=0.3)
    rows = added(rows_of(model))
    assert written(path, rows, size, max_ngram=max_ngram, smoothness=0.3) == model.to_bytes()
    assert list(path.parent.iterdir()) == [path]


@given(corpora(), st.integers(0, 3), st.integers(1, 4))
def test_the_bytes_with_a_floor_equal_those_after_pruning_once(
    tmp_path_factory, documents, floor, shortest
):
    path = tmp_path_factory.mktemp("models") / "model.ww"
    model = learnt(documents)
    kept, dropped = floored(added(rows_of(model)), floor, shortest)
    model.prune(floor, shortest)
    write_sorted(path, batches_of(kept), parameters=ww.TauSS3(), pruned=lambda: dropped)
    assert path.read_bytes() == model.to_bytes()


def test_words_from_a_hook_may_contain_any_byte(path):
    model = learnt([("a b c d a c", "x"), ("b a", "y")], word_hook=controls)
    assert written(path, added(rows_of(model)), word_hook=controls) == model.to_bytes()


def test_many_labels_and_large_counts_use_wider_integers(path):
    model = learnt([(f"w{at} common", at) for at in range(300)])
    rows = added(rows_of(model))
    assert written(path, rows) == model.to_bytes()
    large = {key: count * 2**33 for key, count in rows.items()}
    manifest = ww.TauSS3.from_bytes(written(path, large)).statistics
    assert manifest.words[0] == 2**34


def test_no_rows_give_an_empty_model(path):
    assert written(path, {}) == ww.TauSS3().to_bytes()


def test_sliced_columns_are_read_correctly(path):
    model = learnt([("a b c", "x"), ("b c", "y")])
    whole = (
        pa.Table.from_batches(batches_of(added(rows_of(model)))).combine_chunks().to_batches()[0]
    )
    slices = [whole.slice(at, 3) for at in range(0, whole.num_rows, 3)]
    write_sorted(path, slices, parameters=ww.TauSS3())
    assert path.read_bytes() == model.to_bytes()


def test_memory_does_not_grow_with_the_ngrams(path, monkeypatch):
    monkeypatch.setattr(writing, "_PIECE", 1 << 10)
    letters = [
        (f"{chr(97 + at % 26)} {chr(97 + at // 26 % 26)} w{at}", "x") for at in range(40_000)
    ]
    model = learnt(letters, max_ngram=2)
    rows = pa.Table.from_batches(rows_of(model)).sort_by([("ngram", "ascending")])
    expected = model.to_bytes()
    tracemalloc.start()
    write_sorted(path, rows.to_batches(1000), parameters=ww.TauSS3(max_ngram=2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.read_bytes() == expected
    assert peak < len(expected) / 4


BAD = {
    "large count": ({(b"\x01c", "x"): 2**40}, "a count is out of range"),
    "unknown label": ({(b"\x01c", "z"): 1}, "a label is unknown"),
    "unknown word": ({(b"\x02a\0c", "x"): 1}, "a word that has no count"),
    "no beginning": ({(b"\x03a\0b\0a", "x"): 1}, "a beginning that has no count"),
    "too long": ({(b"\x04a\0b\0a\0b", "x"): 1}, "has 4 words, but max_ngram is 3"),
    "too few words": ({(b"\x02b", "x"): 1}, "not as many words as it says"),
    "too many words": ({(b"\x02a\0b\0a", "x"): 1}, "not as many words as it says"),
    "two words in one": ({(b"\x01c\0d", "x"): 1}, "not of one word"),
    "no word": ({(b"\x01", "x"): 1}, "not of one word"),
    "blank": ({(b"\x01c d", "x"): 1}, "not of one word"),
    "bad bytes": ({(b"\x01c\xff", "x"): 1}, "not of one word"),
    "bad escape": ({(b"\x01c\x01\x07", "x"): 1}, "not written as one"),
    "unknown key": ({(b"\x00z", "x"): 1}, "unknown key"),
    "no documents": ({(DOCUMENTS, "x"): -1}, "has -1 documents"),
    "too many documents": ({(DOCUMENTS, "x"): 2**40}, "has 1099511627776 documents"),
    "words beyond the limit": ({(WORDS, "x"): 2**40}, "has 1099511627776 words"),
    "label without documents": ({(WORDS, "y"): 1}, "documents of a label is missing"),
}


@pytest.mark.parametrize(("more", "message"), BAD.values(), ids=BAD)
def test_inconsistent_rows_are_refused(path, more, message):
    path.write_bytes(b"old")
    with pytest.raises(ww.errors.DataFormatError, match=message):
        written(path, dict(sorted((LABELLED | more).items())))
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"old"


UNSORTED = {
    "words": [(b"\x01b", "x"), (b"\x01a", "x")],
    "twice": [(b"\x01a", "x"), (b"\x01a", "x")],
    "lengths": [(b"\x01a", "x"), (b"\x02a\0a", "x"), (b"\x01b", "x")],
    "totals": [(b"\x01a", "x"), (DOCUMENTS, "x")],
}


@pytest.mark.parametrize("keys", UNSORTED.values(), ids=UNSORTED)
def test_rows_out_of_order_are_refused(path, keys):
    rows = [(DOCUMENTS, "x"), (WORDS, "x"), *keys]
    columns = [["x"] * len(rows), pa.array([key for key, _ in rows]), [1] * len(rows)]
    batch = pa.record_batch(columns, NAMES)
    with pytest.raises(ww.errors.DataFormatError, match="not sorted"):
        write_sorted(path, [batch], parameters=ww.TauSS3())
    assert not path.exists()
