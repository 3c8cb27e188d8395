"""Arrow columns: texts are read like the same texts in Python."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from hooks import last_row
from model_files import taught
from strategies import valid_texts
from watchword.model.engine import engine_of
from watchword.model.text import TextSource
from watchword.spark.scoring import confidence_of, labels_of, terms_of

PLAIN = TextSource("lines")


@given(st.lists(valid_texts(), max_size=6), st.integers(0, 3))
def test_confidences_equal_those_of_the_texts(texts, skipped):
    model = taught()
    column = pa.array([*["d é", "", "a"][:skipped], *texts], pa.string()).slice(skipped)
    labels, values = confidence_of(column, engine_of(model))
    assert labels == model.labels
    assert values.tobytes() == model.confidence_many(texts).tobytes()


@given(st.lists(valid_texts(), max_size=6))
def test_terms_equal_those_of_the_texts(texts):
    assert terms_of(pa.array(texts, pa.string()), PLAIN).words == PLAIN.read(texts).words


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_all_arrow_string_types_are_read(kind):
    model = taught()
    values = confidence_of(pa.array(["a b é", "d"], kind), engine_of(model)).values
    assert (values == model.confidence_many(["a b é", "d"])).all()


@pytest.mark.parametrize("own", [{"summary": last_row}, {"word_hook": str.upper}])
def test_summary_functions_and_word_hooks_are_called(own):
    model = taught(**own)
    values = confidence_of(pa.array(["a b. c d", "d"]), engine_of(model)).values
    assert (values == model.confidence_many(["a b. c d", "d"])).all()


def test_an_empty_model_is_refused():
    with pytest.raises(ww.errors.EmptyModelError):
        confidence_of(pa.array(["a"]), engine_of(ww.TauSS3()))


NOT_UTF8 = [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x28\xa1"]


@pytest.mark.parametrize("data", NOT_UTF8)
@pytest.mark.parametrize("source", [PLAIN, TextSource("lines", word_hook=str.upper)])
def test_invalid_utf_8_is_refused(data, source):
    column = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, len(data)], "i4")), pa.py_buffer(data)]
    )
    with pytest.raises(ww.errors.DataFormatError, match="a text column contains invalid text"):
        terms_of(column, source)


@pytest.mark.parametrize("offsets", [[0, 9], [-1, 2], [2, 1], [0, 2**31 - 1]])
def test_offsets_outside_the_bytes_are_refused(offsets):
    with pytest.raises(ValueError, match="lies elsewhere"):
        PLAIN.read_utf8(np.zeros(4, "u1"), np.array(offsets, "i4"))


@given(st.lists(st.sampled_from(["x", "ß", ""])), st.integers(0, 2))
def test_labels_are_read_from_sliced_columns(labels, skipped):
    assert labels_of(pa.array(labels, pa.string()).slice(skipped)) == labels[skipped:]
    numbers = [len(label) for label in labels]
    assert labels_of(pa.array(numbers, pa.int16())) == numbers
