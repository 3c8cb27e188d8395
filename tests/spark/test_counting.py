"""Counting in parts: the rows add up to the counts of one model."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from count_rows import added, batches_of, controls, documents_of, floored, frame, learnt
from strategies import corpora, valid_texts
from watchword.spark import counting
from watchword.spark.counting import CountingSettings, count_batches, count_level, rows_of
from watchword.spark.writing import write_sorted

HOW = CountingSettings(text="post", label="own")


documents = corpora(valid_texts(), max_documents=12)


countings = st.sampled_from(["occurrences", "documents"])


@given(
    documents,
    st.integers(1, 4),
    countings,
    st.sampled_from(["unicode", "pyss3"]),
    st.sampled_from([1, 5, 1 << 22]),
)
def test_partial_counts_add_up_to_the_whole_model(
    documents, max_ngram, counting, tokenization, most
):
    own = {"max_ngram": max_ngram, "counting": counting, "tokenization": tokenization}
    how = CountingSettings(text="post", label="own", **own, most_ngrams=most)
    rows = added(count_batches(frame(documents), how))
    assert rows == added(rows_of(learnt(documents, **own)))


def test_counts_do_not_depend_on_the_sizes_of_batches_and_slices(monkeypatch):
    documents = [("a b c. a b", "x"), ("b c a", "y"), ("a b c d e", "x")] * 3
    rows = added(count_batches(frame(documents), HOW))
    monkeypatch.setattr(counting, "_BATCH_ROWS", 2)
    monkeypatch.setattr(counting, "_SLICE_BYTES", 7)
    assert added(count_batches(frame(documents, size=100), HOW)) == rows
    assert added(rows_of(learnt(documents))) == rows


def test_a_document_without_words_is_counted_under_its_label():
    rows = added(count_batches(frame([("", "x"), ("a", "y")]), HOW))
    assert documents_of(rows) == {"x": 1, "y": 1}


def test_no_documents_give_no_rows():
    assert list(count_batches(iter([]), HOW)) == []


def test_unlearnt_documents_leave_only_zeros():
    documents = [("a b c", "x"), ("b c", "y")]
    taken = CountingSettings(text="post", label="own", sign=-1)
    both = [*count_batches(frame(documents), HOW), *count_batches(frame(documents), taken)]
    assert set(added(both).values()) == {0}


def test_words_from_a_hook_may_contain_any_byte():
    how = CountingSettings(text="post", label="own", word_hook=controls, max_ngram=2)
    documents = [("a b c d a c", "x"), ("b a", "y")]
    rows = added(count_batches(frame(documents), how))
    assert rows == added(rows_of(learnt(documents, word_hook=controls, max_ngram=2)))
    assert (b"\x02\x01\x01\x00\x01\x02", "x") in rows


def test_keys_sort_like_their_words():
    words = ["a", "ab", "a\0", "a\x01", "a\x02", "é", "z", "\0", "\x01", "\x7f"]
    pairs = [(one, other) for one in words for other in words]

    def tokenizer(text):
        return [(0, 0, word) for word in pairs[int(text)]]

    model = ww.TauSS3(max_ngram=2, tokenizer=tokenizer)
    model.learn_many(map(str, range(len(pairs))), ["x"] * len(pairs))
    keys = [key for key, _ in added(rows_of(model)) if key[0] == 2]
    unescaped = [
        tuple(
            word.replace(b"\x01\x01", b"\xff").replace(b"\x01\x02", b"\x01").replace(b"\xff", b"\0")
            for word in key[1:].split(b"\0")
        )
        for key in keys
    ]
    assert unescaped == sorted((one.encode(), other.encode()) for one, other in pairs)


# --- level by level -------------------------------------------------------------------------------


def level_by_level(documents, how, floor, folder):
    """Count length by length, only extensions of kept n-grams; return the kept counts."""
    kept = {}
    for length in range(1, how.max_ngram + 1):
        path = folder / f"kept{length - 1}.ww"
        found = added(count_level(frame(documents), how, length=length, kept=path))
        assert all(key[0] in (0, length) for key, _ in found)
        kept = dict(sorted((kept | floored(found, floor)[0]).items()))
        empty = ww.TauSS3(max_ngram=length, counting=how.counting)
        write_sorted(folder / f"kept{length}.ww", batches_of(kept), parameters=empty, pruned=(0, 0))
    return kept


@given(
    documents=documents,
    floor=st.integers(0, 4),
    counting=countings,
    most=st.sampled_from([1, 1 << 22]),
)
def test_levelwise_counting_equals_counting_and_pruning_once(
    tmp_path_factory, documents, floor, counting, most
):
    how = CountingSettings(
        text="post", label="own", max_ngram=3, counting=counting, most_ngrams=most
    )
    kept = level_by_level(documents, how, floor, tmp_path_factory.mktemp("levels"))
    assert kept == floored(added(count_batches(frame(documents), how)), floor)[0]


def test_levelwise_counting_applies_the_word_hook(tmp_path):
    how = CountingSettings(text="post", label="own", word_hook=controls)
    documents = [("a b c a b c", "x"), ("b a d d", "y")] * 2
    kept = level_by_level(documents, how, 1, tmp_path)
    assert kept == floored(added(count_batches(frame(documents), how)), 1)[0]
    assert any(key[0] == 3 for key, _ in kept)


def test_levelwise_counting_refuses_new_labels(tmp_path):
    write_sorted(
        tmp_path / "kept.ww", rows_of(learnt([("a", "x")], max_ngram=1)), parameters=ww.TauSS3()
    )
    rows = count_level(frame([("a b", "y")]), HOW, length=2, kept=tmp_path / "kept.ww")
    with pytest.raises(
        ww.errors.DataFormatError, match="'own' has labels that were missing when words were"
    ):
        list(rows)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", None], ["x", "y"], "column 'post' contains null"),
        (["a", "b"], ["x", None], "column 'own' contains null"),
        (["a", "b"], [0.5, 1.0], "labels must be strings or whole numbers, but are double"),
    ],
)
def test_rows_that_cannot_be_learnt_are_refused(texts, labels, message):
    batch = pa.record_batch([labels, texts], ["label", "text"])
    with pytest.raises(ww.errors.DataFormatError, match=message):
        list(count_batches(iter([batch]), HOW))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.large_string()])
def test_labels_of_any_width_become_int64_or_string(kind):
    labels = pa.array([1, 2]).cast(kind)
    batch = pa.record_batch([labels, pa.array(["a", "b"])], ["label", "text"])
    first = next(count_batches(iter([batch]), HOW))
    assert first.schema.field("label").type in (pa.int64(), pa.string())
    assert first.column("label").to_pylist()[:2] == labels.to_pylist()


def test_rows_of_a_pruned_model_are_refused():
    model = learnt([("a b", "x")])
    model.prune(1)
    with pytest.raises(ww.errors.PrunedModelError, match="counting on from this model is refused"):
        next(rows_of(model))
