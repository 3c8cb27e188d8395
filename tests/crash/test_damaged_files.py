"""Files that are not models, or are corrupt: a clear error each, nothing loaded, no crash."""

import hashlib
import io
import json
import os
import pickle
import re
import struct
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from model_files import (
    MANIFEST,
    members,
    parts,
    taught,
    with_manifest_text,
    with_members,
    with_parts,
    zipped,
)
from watchword.model.file.container import VERSION

# A small one: every byte of it is damaged in turn.
SMALL = taught(max_ngram=2).to_bytes()
GOOD = taught(max_ngram=3).to_bytes()


def refusal(data, source="some.ww"):
    """Return the message with which a file is refused; it must name the file."""
    with pytest.raises(ww.errors.ModelFormatError) as caught:
        ww.TauSS3.from_bytes(data, source=source)
    message = str(caught.value)
    assert source in message
    assert "\n" not in message
    assert len(message) < 500
    return message


def is_refused_or_the_same(data, original):
    """Return whether a file is refused or the same model: some bits of a zip are unused."""
    try:
        model = ww.TauSS3.from_bytes(data, source="some.ww")
    except ww.errors.ModelFormatError as error:
        return "some.ww" in str(error)
    return model.to_bytes() == original


# --- chance ---------------------------------------------------------------------------------------


def test_truncated_anywhere():
    for size in range(len(SMALL)):
        refusal(SMALL[:size])


@pytest.mark.slow
def test_any_byte_flipped():
    for at in range(len(SMALL)):
        damaged = bytearray(SMALL)
        damaged[at] ^= (0x01, 0xFF, 0x80, 0x08)[at % 4]
        assert is_refused_or_the_same(bytes(damaged), SMALL), at


@given(at=st.integers(0, len(GOOD)), removed=st.integers(0, 80), added=st.binary(max_size=80))
def test_a_piece_replaced(at, removed, added):
    assert is_refused_or_the_same(GOOD[:at] + added + GOOD[at + removed :], GOOD)


@given(data=st.binary(max_size=200))
def test_noise(data):
    refusal(data)


@given(data=st.binary(max_size=200))
def test_noise_that_ends_like_a_zip(data):
    refusal(data + GOOD[-22:])


def test_a_directory_that_points_before_the_file():
    # The end of the directory says that it begins later than it does: offsets become negative.
    at = GOOD.rindex(b"PK\5\6") + 16
    (begin,) = struct.unpack_from("<I", GOOD, at)
    refusal(GOOD[:at] + struct.pack("<I", begin + 1) + GOOD[at + 4 :])


# --- other files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"{}", b"\x80\x04N.", b"\x93NUMPY", b"a,b\n1,2\n", bytes(10_000)],
    ids=["empty", "two_letters", "json", "pickle", "npy", "csv", "zeros"],
)
def test_not_a_zip(tmp_path, data):
    path = tmp_path / "some.ww"
    path.write_bytes(data)
    with pytest.raises(ww.errors.ModelFormatError, match=r"some\.ww is not a watchword model"):
        ww.TauSS3.load(path)


@pytest.mark.parametrize(
    "contents",
    [[], [("a.txt", b"a")], [(MANIFEST, b"{}")], [(MANIFEST, b'{"format": "other"}')]],
    ids=["empty", "other", "other_manifest", "other_format"],
)
def test_another_zip(contents):
    assert "is not a watchword model" in refusal(zipped(contents))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.ww"):
        ww.TauSS3.load(tmp_path / "missing.ww")


def test_a_folder(tmp_path):
    with pytest.raises(OSError, match=tmp_path.name):
        ww.TauSS3.load(tmp_path)


def test_a_later_version():
    message = refusal(with_parts(GOOD, lambda manifest, _: manifest.update(version=VERSION + 1)))
    assert "later version" in message
    assert "pip install" in message


# --- the container --------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_file_is_refused_unopened(compression):
    data = with_members(
        GOOD,
        lambda contents: contents.update({MANIFEST: bytes(50_000_000)}),
        compression=compression,
    )
    assert len(data) < 1_000_000
    tracemalloc.start()
    assert "compressed" in refusal(data)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_duplicate_member_name():
    contents = [*members(GOOD).items(), (MANIFEST, members(GOOD)[MANIFEST])]
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(contents)
    assert "duplicate member" in refusal(data)


@pytest.mark.parametrize("name", members(GOOD))
def test_a_missing_member(name):
    message = refusal(with_members(GOOD, lambda contents: contents.pop(name)))
    assert name.removesuffix(".npy").removesuffix(".json") in message


def directory_entry(archive, name):
    return archive.NameToInfo[name]


@pytest.mark.parametrize("name", [MANIFEST, "maxima.npy"])
@pytest.mark.parametrize("size", [2**31, 2**32 - 1, 2**40, 2**62])
def test_a_member_larger_than_the_file(name, size):
    def tamper(archive):
        info = directory_entry(archive, name)
        info.file_size = info.compress_size = size

    assert "outside the file" in refusal(with_members(GOOD, lambda _: None, prepare=tamper))


@pytest.mark.parametrize("offset", [2**30, 2**32 - 2, 2**40, 2**62])
def test_a_member_that_begins_after_the_end_of_the_file(offset):
    def tamper(archive):
        directory_entry(archive, "maxima.npy").header_offset = offset

    assert "outside the file" in refusal(with_members(GOOD, lambda _: None, prepare=tamper))


def test_two_names_for_one_member():
    def tamper(archive):
        infos = archive.NameToInfo
        infos["maxima.npy"].header_offset = infos["words.offsets.npy"].header_offset

    message = refusal(with_members(GOOD, lambda _: None, prepare=tamper))
    assert "'maxima.npy' has a wrong header" in message


def test_a_member_inside_another():
    inner = zipped([("maxima.npy", members(GOOD)["maxima.npy"])])
    outer = b"the outer member" + inner

    def tamper(archive):
        infos = archive.NameToInfo
        begin = infos["outer"].header_offset + 30 + len("outer") + len(b"the outer member")
        infos["maxima.npy"].header_offset = begin

    message = refusal(
        with_members(GOOD, lambda contents: contents.update(outer=outer), prepare=tamper)
    )
    assert "overlap" in message


@pytest.mark.parametrize("flag", [0x1, 0x8, 0x20, 0x40], ids=hex)
def test_encrypted_and_other_members(flag):
    def tamper(archive):
        directory_entry(archive, "maxima.npy").flag_bits |= flag

    assert "'maxima.npy' is not a plain member" in refusal(
        with_members(GOOD, lambda _: None, prepare=tamper)
    )


def test_unknown_members_do_no_harm():
    data = with_members(GOOD, lambda contents: contents.update({"../../evil": b"", "x.npy": b""}))
    assert ww.TauSS3.from_bytes(data).to_bytes() == GOOD


# --- the manifest ---------------------------------------------------------------------------------


def changed_text(old, new):
    text = members(GOOD)[MANIFEST].decode()
    assert old in text
    return text.replace(old, new).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 900 + b"]" * 900,
        b"{",
        members(GOOD)[MANIFEST].decode().encode("utf-16"),
        b"\xef\xbb\xbf" + members(GOOD)[MANIFEST],
        members(GOOD)[MANIFEST] + b"{}",
        changed_text('"words_since_prune": 0', '"words_since_prune": ' + "9" * 100_000),
        changed_text('"words_since_prune": 0', '"x": ' + "[" * 50 + "]" * 50),
        changed_text('"label": "x"', '"label": "\\ud800"'),
        changed_text('"label": "x"', '"label": "\ud800"'),
        changed_text('"tokenizer": null', '"tokenizer": "\\udfff"'),
        *(
            changed_text('"smoothness": 0.455', f'"smoothness": {number}')
            for number in ("NaN", "Infinity", "-Infinity", "1e999")
        ),
    ],
)
def test_a_manifest_that_is_not_valid_json(text):
    refusal(with_manifest_text(GOOD, text))


NOT_COUNTS = [-1, 2**63, 2**64, 10**19, 1.5, True, "1", None, [], {}]
NOT_LABELS = [None, True, 1.0, [], {}, 2**63, -(2**63) - 1]
NOT_VERSIONS = [0, -1, 1.0, "1", None, True, [1]]
NOT_SECTIONS = [None, 0, "x", True, [[]], ["x"]]


NOT_NUMBERS = [None, True, "1", [], {}, -1]
NOT_WHOLE = [*NOT_NUMBERS, 1.5, 2**32]
NOT_NAMES = [None, True, 1, "?", [], {}]
WRONG_PARAMETERS: dict[str, list[Any]] = {
    "smoothness": [*NOT_NUMBERS, 0, 1.1],
    "significance": NOT_NUMBERS,
    "sanction": NOT_NUMBERS,
    "alpha": NOT_NUMBERS,
    "max_ngram": [*NOT_WHOLE, 0, 2, 4, 64, 65],
    "min_count": [*NOT_WHOLE, 0],
    "prior": [*NOT_NUMBERS, -1],
    "ngram_scale": NOT_NAMES,
    "significance_function": NOT_NAMES,
    "confidence_function": NOT_NAMES,
    "reading": NOT_NAMES,
    "summary": [*NOT_NAMES[:-1], {"sentence": 1}, {"sentence": []}, {"chapter": "sum"}],
    "default_label": [True, 1.5, [], {}, 2**63],
    "counting": NOT_NAMES,
    "paragraphs": [*NOT_NAMES, "blank_lines"],
    "prune_period": [*NOT_WHOLE[1:], 0],
    "prune_floor": NOT_WHOLE,
    "prune_shortest": [*NOT_WHOLE, 0, 65],
    "unheard_of": [1],
}


def wrong_entries():
    for value in NOT_VERSIONS:
        yield ("version",), value
    for section in ("parameters", "reading", "pruned", "labels", "arrays"):
        for value in NOT_SECTIONS:
            yield (section,), value
    yield ("labels",), {}
    for name in ("word_hook", "tokenizer", "paragraphs", "unicode"):
        for value in (0, False, [], {}):
            yield ("reading", name), value
    yield ("reading", "unicode"), None
    yield ("reading", "unicode"), "13.0.0"
    yield ("reading", "paragraphs"), "pages"
    yield ("reading", "paragraphs"), "blank_lines"  # contradicts the parameters
    for value in NOT_COUNTS:
        yield ("words_since_prune",), value
        yield ("pruned", "ngrams"), value
        yield ("pruned", "counts"), value
        yield ("labels", 0, "documents"), value
        yield ("labels", 0, "words"), value
    for value in (0, 1, None, "false", []):
        yield ("pruned", "was_pruned"), value
    for value in NOT_LABELS:
        yield ("labels", 0, "label"), value
    for value in ("y", "zz", 1):  # twice, out of order, of another kind
        yield ("labels", 0, "label"), value
    yield ("labels", 0, "documents"), 0
    yield ("labels", 0, "words"), 9
    for value in (None, "x", [], {}):
        yield ("labels", 0), value
    for name, values in WRONG_PARAMETERS.items():
        for value in values:
            yield ("parameters", name), value


@pytest.mark.parametrize(("keys", "value"), list(wrong_entries()), ids=str)
def test_a_wrong_entry_in_the_manifest(keys, value):
    manifest = parts(GOOD)[0]
    entry = manifest
    for key in keys[:-1]:
        entry = entry[key]
    entry[keys[-1]] = value
    refusal(with_manifest_text(GOOD, json.dumps(manifest).encode()))


def required_keys():
    manifest = parts(GOOD)[0]
    yield from ((key,) for key in manifest)
    for section in ("reading", "pruned"):
        yield from ((section, key) for key in manifest[section])
    yield from (("labels", 0, key) for key in manifest["labels"][0])
    yield from (("arrays", "maxima", key) for key in manifest["arrays"]["maxima"])


@pytest.mark.parametrize("keys", list(required_keys()), ids=str)
def test_a_missing_entry_in_the_manifest(keys):
    manifest = parts(GOOD)[0]
    entry = manifest
    for key in keys[:-1]:
        entry = entry[key]
    del entry[keys[-1]]
    refusal(with_manifest_text(GOOD, json.dumps(manifest).encode()))


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {"dtype": "<u8"},
        {"dtype": "|O"},
        {"dtype": "<f8"},
        {"dtype": ["<u4"]},
        {"shape": [2**60]},
        {"shape": [-1]},
        {"shape": [9, 1]},
        {"shape": []},
        {"shape": 9},
        {"shape": [9.0]},
        {"shape": [True]},
        {"sha256": "0" * 64},
        {"sha256": None},
    ],
    ids=str,
)
def test_a_wrong_description_of_an_array(entry):
    manifest = parts(GOOD)[0]
    described = manifest["arrays"]
    changed = described["maxima"] | entry if isinstance(entry, dict) else entry
    described["maxima"] = changed
    assert "'maxima'" in refusal(with_manifest_text(GOOD, json.dumps(manifest).encode()))


# --- arrays whose checksums are right -------------------------------------------------------------


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (self.path,))


def test_pickled_arrays_are_never_unpickled(tmp_path):
    trap = tmp_path / "sprung"
    array = np.array([Bomb(str(trap))], dtype=object)
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)

    def change(contents):
        manifest = json.loads(contents[MANIFEST])
        manifest["arrays"]["maxima"] = {"dtype": "|O", "shape": [1], "sha256": "0" * 64}
        contents |= {MANIFEST: json.dumps(manifest).encode(), "maxima.npy": buffer.getvalue()}

    assert "'maxima'" in refusal(with_members(GOOD, change))
    refusal(pickle.dumps(Bomb(str(trap))))
    assert not trap.exists()


@pytest.mark.parametrize(
    "dtype", ["<i4", "<f8", "<f4", ">u4", "|b1", "<c16", "<M8[s]", "|S4", "|V4"]
)
@pytest.mark.parametrize("name", ["maxima", "ngrams2.words"])
def test_arrays_of_another_type(name, dtype):
    def change(_, arrays):
        arrays[name] = np.zeros(arrays[name].size, dtype)

    assert f"'{name}'" in refusal(with_parts(GOOD, change))


@pytest.mark.parametrize(
    ("name", "dtype"), [("words.bytes", "<u2"), ("ngrams2.words", "<u8"), ("ngrams1.labels", "<u8")]
)
def test_arrays_of_too_wide_a_type(name, dtype):
    def change(_, arrays):
        arrays[name] = arrays[name].astype(dtype)

    assert f"'{name}' is too wide" in refusal(with_parts(GOOD, change))


@pytest.mark.parametrize("dtype", ["<u8", "<u4"])
def test_a_wider_type_than_needed_is_read(dtype):
    def change(_, arrays):
        for name in ("maxima", "words.offsets", "ngrams1.rows", "ngrams2.counts"):
            arrays[name] = arrays[name].astype(dtype)

    assert ww.TauSS3.from_bytes(with_parts(GOOD, change)).to_bytes() == GOOD


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"'fortran_order': False", b"'fortran_order': True "),
        (b"'descr': '<u4'", b"'descr': '|O' "),
        (b"(9,)", b"(3,3"),
        (b"(9,)", b"(8,)"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
        (b"{'descr'", b"{1.00000"),
        (b"}  ", b'"""'),
    ],
    ids=["fortran", "objects", "shape", "size", "version", "keys", "syntax"],
)
def test_array_headers_that_say_something_else(old, new):
    def change(contents):
        assert old in contents["maxima.npy"]
        contents["maxima.npy"] = content = contents["maxima.npy"].replace(old, new, 1)
        manifest = json.loads(contents[MANIFEST])
        manifest["arrays"]["maxima"]["sha256"] = hashlib.sha256(content).hexdigest()
        contents[MANIFEST] = json.dumps(manifest).encode()

    assert "'maxima'" in refusal(with_members(GOOD, change))


def set_to(name, at, value):
    """Return a change that sets one number of an array, in a wide enough type."""

    def change(_, arrays):
        array = arrays[name]
        if value > np.iinfo(array.dtype).max:
            array = array.astype("<u8" if not name.endswith(("words", "labels")) else "<u4")
        array[at] = value
        arrays[name] = array

    return change


def resize(name, by):
    def change(_, arrays):
        arrays[name] = np.resize(arrays[name], max(0, arrays[name].size + by))

    return change


def swap(name, one, other):
    def change(_, arrays):
        arrays[name][[one, other]] = arrays[name][[other, one]]

    return change


def without(*names):
    def change(_, arrays):
        for name in names:
            arrays[name] = arrays[name][:0]

    return change


# The words of the model are a b c d é; "a" and "b" occur under two labels.
INCONSISTENT = {
    "word_offset_beyond": set_to("words.offsets", -1, 100),
    "word_offset_huge": set_to("words.offsets", 2, 2**63),
    "word_offset_not_0": set_to("words.offsets", 0, 1),
    "word_offsets_fall": swap("words.offsets", 1, 2),
    "empty_word": set_to("words.offsets", 1, 0),
    "words_unsorted": swap("words.bytes", 0, 1),
    "word_twice": set_to("words.bytes", 1, ord("a")),
    "word_not_utf8": set_to("words.bytes", -1, 0xFF),
    "word_cut_in_a_character": set_to("words.bytes", 3, 0xC3),
    "no_words": without("words.bytes", "words.offsets"),
    "no_word_offsets": without("words.offsets"),
    "all_empty": lambda _, arrays: without(*arrays)(_, arrays),
    "child_beyond": set_to("ngrams1.children", -1, 100),
    "child_huge": set_to("ngrams1.children", 1, 2**64 - 1),
    "children_not_0": set_to("ngrams1.children", 0, 1),
    "children_too_few": resize("ngrams1.children", -1),
    "last_word_out_of_range": set_to("ngrams2.words", 0, 5),
    "last_word_huge": set_to("ngrams2.words", 0, 2**32 - 1),
    "last_words_unsorted": swap("ngrams2.words", 1, 2),
    "last_words_twice": lambda _, arrays: set_to("ngrams2.words", 2, arrays["ngrams2.words"][1])(
        _, arrays
    ),
    "row_beyond": set_to("ngrams3.rows", -1, 100),
    "row_huge": set_to("ngrams3.rows", 1, 2**63),
    "row_empty": set_to("ngrams1.rows", 1, 0),
    "rows_not_0": set_to("ngrams1.rows", 0, 1),
    "rows_too_many": resize("ngrams2.rows", 1),
    "label_out_of_range": set_to("ngrams1.labels", 0, 3),
    "label_huge": set_to("ngrams2.labels", 0, 2**32 - 1),
    "labels_unsorted": swap("ngrams1.labels", 0, 1),
    "label_twice": set_to("ngrams1.labels", 1, 0),
    "labels_too_few": resize("ngrams2.labels", -1),
    "count_0": set_to("ngrams3.counts", 0, 0),
    "count_too_large": set_to("ngrams1.counts", 0, 2**40),
    "count_huge": set_to("ngrams1.counts", 0, 2**64 - 1),
    "counts_too_many": resize("ngrams1.counts", 1),
    "ngram_more_frequent_than_its_words": set_to("ngrams2.counts", 0, 7),
    "long_ngram_more_frequent_than_its_words": set_to("ngrams3.counts", 0, 7),
    "total_too_small": set_to("ngrams1.counts", 0, 1),
    "maximum_too_large": set_to("maxima", 0, 7),
    "maximum_too_small": set_to("maxima", 0, 1),
    "maxima_too_few": resize("maxima", -1),
    "maxima_too_many": resize("maxima", 3),
}


@pytest.mark.parametrize("change", INCONSISTENT.values(), ids=INCONSISTENT)
def test_arrays_that_contradict_each_other(change):
    assert "corrupt" in refusal(with_parts(GOOD, change))


def two_phrases():
    model = ww.TauSS3.paper(max_ngram=4)
    model.learn_one("a b c e", "x")
    model.learn_one("a b d", "x")
    return model.to_bytes()


def test_extensions_more_frequent_than_what_they_extend():
    # Each bigram once, though "a b" has two extensions: unlearning one would orphan the other.
    def change(_, arrays):
        arrays["ngrams2.counts"][:] = 1
        arrays["maxima"][1] = 1

    assert "corrupt" in refusal(with_parts(two_phrases(), change))


@given(data=st.data())
def test_any_number_changed(data):
    _, arrays = parts(GOOD)
    name = data.draw(st.sampled_from(sorted(arrays)))
    at = data.draw(st.integers(0, arrays[name].size - 1))
    old = int(arrays[name][at])
    most = int(np.iinfo(arrays[name].dtype).max)
    value = data.draw(st.one_of(st.integers(0, most), st.integers(max(0, old - 2), old + 2)))
    if value in (old, most + 1):
        return
    changed = with_parts(GOOD, lambda _, own: own[name].__setitem__(at, value))
    try:
        model = ww.TauSS3.from_bytes(changed)
    except ww.errors.ModelFormatError:
        return
    # A model of its own, then: it must be whole.
    assert model.to_bytes() == changed
    model.confidence_one("a b c d é")
    model.learn_one("a b c d é", "x")


# --- counters -------------------------------------------------------------------------------------

MOST = 2**40 - 1


def with_total(key, value, model=None):
    """Return a file whose first label has this total; a count follows a total of words."""
    made = ww.TauSS3.paper(max_ngram=1)
    made.learn_many(["a", "b"], ["x", "y"])

    def change(manifest, arrays):
        manifest["labels"][0][key] = value
        if key == "words":
            arrays["ngrams1.counts"] = np.array([value, 1], "<u8")
            arrays["maxima"] = np.array([value, 1], "<u8")

    return with_parts((model or made).to_bytes(), change)


@pytest.mark.parametrize("key", ["documents", "words"])
def test_totals_up_to_the_limit_are_read_and_saved_again(key):
    data = with_total(key, MOST)
    again = ww.TauSS3.from_bytes(data).to_bytes()
    assert ww.TauSS3.from_bytes(again).to_bytes() == again


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("key", ["documents", "words"])
@pytest.mark.parametrize("value", [MOST + 1, 2**63 - 1])
def test_totals_above_the_limit_are_refused(tmp_path, key, value, mapped):
    path = tmp_path / "some.ww"
    path.write_bytes(with_total(key, value))
    with pytest.raises(ww.errors.ModelFormatError, match=r"some\.ww is corrupt: .* out of range"):
        ww.TauSS3.load(path, mapped=mapped)


def test_words_that_only_add_up_by_wrapping_are_refused():
    # 2^24 words with 2^40 - 1 occurrences each would do; fewer show the sum being checked at once.
    model = ww.TauSS3.paper(max_ngram=1)
    model.learn_one("a b", "x")

    def change(manifest, arrays):
        manifest["labels"][0]["words"] = MOST
        arrays["ngrams1.counts"] = np.array([MOST, MOST], "<u8")
        arrays["maxima"] = np.array([MOST], "<u8")

    assert "out of range" in refusal(with_parts(model.to_bytes(), change))


def _small_addition():
    model = ww.TauSS3.paper(max_ngram=1)
    model.learn_many(["z", "a"], ["new", "x"])
    return model.to_bytes()


SMALL_ADDITION = _small_addition()


FULL = {
    key: ww.TauSS3.from_bytes(with_total(key, MOST)).to_bytes() for key in ("documents", "words")
}
GROWING = {
    "learn_one": lambda model: model.learn_one("a", "x"),
    "learn_many": lambda model: model.learn_many(["b", "c d", "a"], ["y", "new", "x"]),
    "merge": lambda model: model.merge(ww.TauSS3.from_bytes(SMALL_ADDITION)),
    "merge_with_itself": lambda model: model.merge(model),
}


@pytest.mark.parametrize("key", FULL)
@pytest.mark.parametrize("grow", GROWING.values(), ids=GROWING)
def test_learning_beyond_the_limit_of_a_label_is_refused_without_changes(key, grow):
    model = ww.TauSS3.from_bytes(FULL[key])
    with pytest.raises(ww.errors.ModelLimitError, match=f"more than 2\\^40 - 1 {key}"):
        grow(model)
    assert model.to_bytes() == FULL[key]


@pytest.mark.parametrize("key", FULL)
def test_learn_many_learns_nothing_if_the_last_text_exceeds_the_limit(key):
    # More than are read in one go.
    texts = ["b " * 550_000] * 6 + ["a"]
    model = ww.TauSS3.from_bytes(FULL[key])
    with pytest.raises(ww.errors.ModelLimitError):
        model.learn_many(texts, ["y"] * 6 + ["x"], threads=1)
    assert model.to_bytes() == FULL[key]


def test_a_full_label_can_be_unlearnt_from():
    model = ww.TauSS3.from_bytes(FULL["words"])
    model.learn_one("b", "y")
    model.unlearn_one("b", "y")
    assert model.to_bytes() == FULL["words"]


def pruned_often(key, value, **parameters):
    """Return a pruned model's file with this number of pruned n-grams or counts."""
    model = ww.TauSS3.paper(max_ngram=2, **parameters)
    model.learn_many(["a b a b c", "b"], ["x", "y"])
    model.prune(1)

    def change(manifest, _):
        manifest["pruned"][key] = value

    return with_parts(model.to_bytes(), change)


@pytest.mark.parametrize("key", ["ngrams", "counts"])
def test_pruning_beyond_the_counter_limit_is_refused_without_changes(key):
    data = pruned_often(key, 2**63 - 1)
    model = ww.TauSS3.from_bytes(data)
    with pytest.raises(ww.errors.ModelLimitError, match=r"pruned more than 2\^63 - 1"):
        model.prune(2)
    assert model.to_bytes() == data


def test_pruning_up_to_the_counter_limit_is_exact():
    model = ww.TauSS3.from_bytes(pruned_often("counts", 2**63 - 1 - 2))
    before = ww.TauSS3.from_bytes(pruned_often("counts", 100))
    assert before.prune(0) == model.prune(0) == (0, 0, False)
    with pytest.raises(ww.errors.ModelLimitError):
        model.prune(2**32 - 1)
    assert model.to_bytes() == pruned_often("counts", 2**63 - 1 - 2)


def test_learning_is_refused_if_its_pruning_exceeds_the_counter_limit():
    data = pruned_often("counts", 2**63 - 1, prune_period=8)
    model = ww.TauSS3.from_bytes(data)
    with pytest.raises(ww.errors.ModelLimitError):
        model.learn_one("e f g h i j k l", "x")
    assert model.to_bytes() == data


# --- keys and sizes of the manifest ---------------------------------------------------------------

LEVELS = [
    (),
    ("parameters",),
    ("parameters", "summary"),
    ("reading",),
    ("pruned",),
    ("labels", 1),
    ("arrays", "maxima"),
    ("arrays",),
]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("keys", LEVELS, ids=str)
def test_an_unknown_key_is_refused_at_every_level(tmp_path, keys, mapped):
    manifest = parts(GOOD)[0]
    entry = manifest
    for key in keys:
        entry = entry[key]
    entry["unheard_of"] = entry["maxima"] if keys == ("arrays",) else "sum"
    path = tmp_path / "some.ww"
    path.write_bytes(with_manifest_text(GOOD, json.dumps(manifest).encode()))
    with pytest.raises(ww.errors.ModelFormatError, match=r"some\.ww.*unheard_of"):
        ww.TauSS3.load(path, mapped=mapped)


def test_an_array_that_no_model_has_is_refused():
    def change(_, arrays):
        arrays["unheard_of"] = arrays["maxima"]

    assert "unheard_of" in refusal(with_parts(GOOD, change))


def test_an_unknown_key_is_refused_though_functions_are_given():
    def change(manifest, _):
        manifest["parameters"]["summary"]["chapter"] = "sum"

    with pytest.raises(ww.errors.ModelFormatError, match="chapter"):
        ww.TauSS3.from_bytes(with_parts(GOOD, change), summary={"sentence": "max"})


@pytest.mark.parametrize("key", ["format", "words_since_prune", "documents", "dtype", "max_ngram"])
def test_duplicate_keys_are_refused(key):
    text = members(GOOD)[MANIFEST].decode()
    (at,) = [match.start() for match in re.finditer(f'"{key}"', text)][:1]
    assert "duplicate keys" in refusal(
        with_manifest_text(GOOD, f'{text[:at]}"{key}": 1, {text[at:]}'.encode())
    )


def nested(item, size=3_000_000):
    """Return a manifest with megabytes of such items under an unknown key."""
    items = ",".join([item] * max(1, size // (len(item) + 1)))
    return members(GOOD)[MANIFEST].replace(
        b'"words_since_prune"', b'"x":[%s],"words_since_prune"' % items.encode()
    )


BOMBS = {
    "objects": nested('{"a":{"b":{"c":0}}}'),
    "lists": nested("[[[]]]"),
    "empty objects": nested("{}"),
    "numbers": nested("0"),
    "strings": nested('"ab"'),
    "one string": nested('"' + "a" * 3_000_000 + '"'),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_large_manifest_of_a_small_model_is_not_parsed(text):
    data = with_manifest_text(GOOD, text)
    tracemalloc.start()
    try:
        assert "too large" in refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "item", ['{"a":{"b":{"c":0}}}', "[[[]]]", "[]", "{}", '{"a":0}', '{"label":0}', '["a\\"["]']
)
def test_a_manifest_of_many_entries_takes_little_memory(item):
    def change(contents):
        contents[MANIFEST] = nested(item)
        contents["maxima.npy"] += bytes(100_000)

    data = with_members(GOOD, change)
    tracemalloc.start()
    try:
        assert "too many" in refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(data)
    finally:
        tracemalloc.stop()


def test_labels_too_long_for_the_manifest_are_not_saved(tmp_path):
    path = tmp_path / "some.ww"
    model = ww.TauSS3(max_ngram=1)
    model.learn_one("a", "[{" * 20_000)
    model.save(path)
    assert ww.TauSS3.load(path).labels == model.labels
    before = path.read_bytes()
    model.learn_one("a", "b" * 300_000)
    with pytest.raises(ww.errors.ModelLimitError, match="its labels are too long"):
        model.save(path)
    assert path.read_bytes() == before


def test_the_manifest_of_many_labels_is_read():
    model = ww.TauSS3(max_ngram=1)
    names = [f'[[label]] {{"\\{at}' for at in range(50_000)]
    model.learn_many(["a"] * len(names), names, threads=1)
    assert ww.TauSS3.from_bytes(model.to_bytes()).labels == tuple(sorted(names))
