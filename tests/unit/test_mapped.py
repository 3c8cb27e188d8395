"""Models mapped from a file: equal answers, no changes, and corrupt files."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from model_files import MANIFEST, members, parts, taught, with_manifest_text, with_parts
from strategies import any_texts, corpora, parameters
from watchword.model.engine import engine_of
from watchword.spark.counting import rows_of

TEXTS = ["A b c, d.\nB c a b?", "", "d d d, c? a b é.", "nobody knows", "a b c a b c d a b d"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ww"


@pytest.fixture
def mapped(path):
    return lambda model, **functions: reopened(model, path, **functions)


def reopened(model, path, **functions):
    model.save(path)
    return ww.TauSS3.load(path, mapped=True, **functions)


def answers(model, texts=TEXTS):
    """Return the results of every method in a form that can be compared."""
    ngrams = [tuple(ngram.split(" ")) for ngram in model.counts()]
    return {
        "confidence": model.confidence_many(texts, threads=1).tobytes(),
        "threads": model.confidence_many(texts * 3, threads=2).tobytes(),
        "predict": model.predict_many(texts),
        "several": model.predict_labels_many(texts),
        "explain": [model.explain(text).to_dict() for text in texts],
        "values": {ngram: model.value(ngram) for ngram in ngrams[:20]},
        "unknown": [model.value("nobody"), model.value("a nobody"), model.value("a a a a a a")],
        "next": {ngram: model.next_words(ngram) for ngram in ngrams[:10]},
        "next_one": model.next_words("a", model.labels[-1]),
        "top": {label: model.top_ngrams(label, 50) for label in model.labels},
        "stop_words": model.stop_words(0.5),
        "overview": model.overview(5).to_dict(),
        "statistics": model.statistics,
        "labels": model.labels,
        "default_label": model.default_label,
        "counts": model.counts(),
        "fingerprint": model.fingerprint,
        "bytes": model.to_bytes(),
        "trails": followed(model, texts),
    }


def followed(model, texts):
    """Return values of the same n-grams with other parameters, as a search computes them."""
    engine = engine_of(model)
    trails = engine.native.trails(engine.source.read(texts), True, True)
    labels, values = trails.confidence(engine.parameters.for_native())
    return labels, values.tobytes()


# --- the same answers -----------------------------------------------------------------------------


@given(
    corpora(any_texts(), max_documents=6),
    parameters(own_operators=False),
    st.lists(any_texts(), max_size=3),
)
def test_a_mapped_model_gives_the_same_answers(tmp_path_factory, documents, arguments, texts):
    model = ww.TauSS3(**arguments)
    model.learn_many(*zip(*documents, strict=True))
    stays = reopened(model, tmp_path_factory.mktemp("models") / "model.ww")
    asked = [*texts, *(text for text, _ in documents)]
    assert answers(stays, asked) == answers(model, asked)


def test_a_pruned_mapped_model_gives_the_same_answers(mapped):
    model = taught()
    model.prune(1)
    assert answers(mapped(model)) == answers(model)


@pytest.mark.parametrize("labels", [300, 66_000])
def test_a_mapped_model_of_many_labels_gives_the_same_answers(mapped, labels):
    model = ww.TauSS3(max_ngram=2)
    model.learn_many((f"w{at % 5000} v{at}" for at in range(labels)), range(labels), threads=1)
    stays, texts = mapped(model), [f"w{labels % 5000 - 1} v{labels - 1}", "v7 w7"]
    assert stays.confidence_many(texts).tobytes() == model.confidence_many(texts).tobytes()
    assert stays.fingerprint == model.fingerprint


def test_answers_stay_the_same_when_the_word_cache_is_full(mapped):
    # The memory of words is emptied when it is full: twice here.
    model = ww.TauSS3(max_ngram=2)
    model.learn_many((f"w{at} x w{at + 1}" for at in range(3000)), ["even", "odd"] * 1500)
    texts = [" ".join(f"w{at} u{at}" for at in range(begin, begin + 300_000)) for begin in (0, 7)]
    expected = model.confidence_many(texts, threads=1)
    assert (mapped(model).confidence_many(texts, threads=1) == expected).all()


def test_readers_of_both_resume_from_each_others_states(mapped):
    model, policy = taught(), ww.Overtakes("x")
    stays = mapped(model)
    here, there = model.reader(policy), stays.reader(policy)
    for text in TEXTS:
        here, there = (
            stays.reader(policy, state=here.to_bytes()),
            model.reader(policy, state=there.to_bytes()),
        )
        assert here.read(text) == there.read(text)
    assert here.to_bytes() == there.to_bytes()


def test_a_mapped_model_with_a_hook_gives_the_same_answers(mapped):
    model = ww.TauSS3(word_hook=str.upper)
    model.learn_many(["a b c", "b c d"], ["x", "y"])
    stays = mapped(model, word_hook=str.upper)
    assert stays.confidence_one("a b c") == model.confidence_one("a b c")
    with pytest.raises(ww.errors.HookError):
        mapped(model).confidence_one("a b c")


def test_an_empty_model_stays_empty(mapped):
    stays = mapped(ww.TauSS3())
    assert stays.labels == ()
    assert stays.to_bytes() == ww.TauSS3().to_bytes()
    assert stays.fingerprint == ww.TauSS3().fingerprint
    with pytest.raises(ww.errors.EmptyModelError):
        stays.predict_one("a")


@pytest.mark.parametrize(
    "changes", [{"max_ngram": 2}, {"max_ngram": 1}, {"smoothness": 0.9}, {"reading": "words_sum"}]
)
def test_replaced_parameters_give_the_same_answers(mapped, changes):
    model = taught()
    assert answers(mapped(model).replace(**changes)) == answers(model.replace(**changes))


def test_copies_and_pickles_read_the_same(mapped):
    stays = mapped(taught())
    for twin in (copy.copy(stays), copy.deepcopy(stays), pickle.loads(pickle.dumps(stays))):
        assert answers(twin) == answers(stays)


def test_an_old_file_with_wider_numbers_is_the_same_model(path):
    def widen(_, arrays):
        for name in list(arrays):
            if name.rpartition(".")[2] in ("children", "rows", "counts", "offsets", "maxima"):
                arrays[name] = arrays[name].astype("<u8")
            elif name.endswith("labels"):
                arrays[name] = arrays[name].astype("<u2")

    path.write_bytes(with_parts(taught().to_bytes(), widen))
    assert answers(ww.TauSS3.load(path, mapped=True)) == answers(taught())


def test_the_file_may_be_replaced_while_it_is_read(path):
    model = taught()
    stays = reopened(model, path)
    ww.TauSS3().save(path)
    assert stays.confidence_many(TEXTS).tobytes() == model.confidence_many(TEXTS).tobytes()
    path.unlink()
    assert answers(stays) == answers(model)


# --- no changes -----------------------------------------------------------------------------------

CHANGES = {
    "learning": lambda model: model.learn_one("a", "x"),
    "unlearning": lambda model: model.unlearn_one("d d", "z"),
    "merging (this model)": lambda model: model.merge(taught()),
    "merging (the other model)": lambda model: taught().merge(model),
    "pruning": lambda model: model.prune(),
}


@pytest.mark.parametrize(("what", "change"), CHANGES.items(), ids=CHANGES)
def test_changes_are_refused_and_say_what_to_do(mapped, what, change):
    stays = mapped(taught())
    with pytest.raises(ww.errors.MappedModelError) as caught:
        change(stays)
    assert str(caught.value).startswith(f"{what} is refused: ")
    assert str(caught.value).endswith("load it without")
    assert answers(stays) == answers(taught())


# --- no cost --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory as Linux tells it")
def test_opening_reads_no_counts(path):
    """Only the directory, the manifest and a few headers of a large file are read."""
    model = ww.TauSS3(max_ngram=2)
    model.learn_many((f"w{at} v{at % 977} u{at % 1009}" for at in range(500_000)), ["x"] * 500_000)
    model.save(path)
    program = (
        "import sys, watchword as ww\n"
        "def kept(): return int(open('/proc/self/statm').read().split()[1])\n"
        "before = kept()\n"
        "model = ww.TauSS3.load(sys.argv[1], mapped=sys.argv[2] == 'mapped')\n"
        "model.predict_one('w7 v7'), model.fingerprint\n"
        "print(kept() - before)\n"
    )

    def grown(how):
        command = [sys.executable, "-c", program, str(path), how]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    assert path.stat().st_size > 20_000_000
    assert grown("mapped") * 4 < grown("read")


# --- no trust -------------------------------------------------------------------------------------

GOOD = taught().to_bytes()
ASKED = [*TEXTS, "a b c d"]


QUESTIONS = (
    lambda model: model.confidence_many(ASKED),
    lambda model: [model.explain(text) for text in ASKED],
    lambda model: [model.value(ngram) for ngram in ("a", "a b", "a b c", "d d")],
    lambda model: [model.top_ngrams(label) for label in model.labels],
    lambda model: [model.next_words(ngram) for ngram in ("a", "a b", "b")],
    lambda model: model.overview(3),
    lambda model: model.fingerprint,
    lambda model: model.counts(),
)


def refusal(ask, path):
    """Return the message of a refusal, which must name the file; None without one."""
    try:
        ask()
    except ww.errors.EmptyModelError:
        return None
    except ww.errors.ModelFormatError as error:
        return str(error) if path.name in str(error) else pytest.fail(f"no file in {error}")
    return None


def survives(data, path):
    """Check that a file is refused with a message or can be used; return whether refused."""
    path.write_bytes(data)
    opened = []
    if refusal(lambda: opened.append(ww.TauSS3.load(path, mapped=True)), path):
        return True
    messages = [refusal(lambda ask=ask: ask(opened[0]), path) for ask in QUESTIONS]
    assert all("is corrupt" in message for message in messages if message)
    return any(messages)


@pytest.mark.slow
def test_any_byte_flipped_is_survived(path):
    small = taught(max_ngram=2).to_bytes()
    for number, at in enumerate(range(0, len(small), 4)):
        damaged = bytearray(small)
        damaged[min(at + number % 4, len(small) - 1)] ^= (0xFF, 0x01, 0x80)[number % 3]
        survives(bytes(damaged), path)


def test_truncated_anywhere_is_refused(path):
    for size in range(1, len(GOOD), 31):
        assert survives(GOOD[:size], path)


def test_an_empty_file_is_refused(path):
    path.write_bytes(b"")
    with pytest.raises(ww.errors.ModelFormatError, match="it is empty"):
        ww.TauSS3.load(path, mapped=True)


NUMBERS = [0, 1, 2, 3, 5, 255, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
NAMES = [name for name in parts(GOOD)[1] if name != "words.bytes"]


@given(data=st.data())
def test_numbers_out_of_range_are_survived(tmp_path_factory, data):
    """Arrays have the right size and checksum, but some wrong numbers."""

    def change(_, arrays):
        for _ in range(data.draw(st.integers(1, 3))):
            name = data.draw(st.sampled_from(NAMES))
            wide = arrays[name].astype("<u4" if name.endswith(("words", "labels")) else "<u8")
            number = data.draw(st.sampled_from(NUMBERS))
            if wide.size:
                at = data.draw(st.integers(0, wide.size - 1))
                wide[at] = min(number, np.iinfo(wide.dtype).max)
            arrays[name] = wide

    survives(with_parts(GOOD, change), tmp_path_factory.mktemp("bad") / "model.ww")


@pytest.mark.parametrize("name", parts(GOOD)[1])
@pytest.mark.parametrize("change", ["longer", "shorter", "empty", "missing"])
def test_arrays_of_another_size_are_refused(path, name, change):
    def resize(_, arrays):
        old = arrays[name]
        new = {"longer": np.append(old, old[-1:]), "shorter": old[:-1], "empty": old[:0]}
        if change == "missing":
            del arrays[name]
        else:
            arrays[name] = new[change].astype(old.dtype)

    path.write_bytes(with_parts(GOOD, resize))
    with pytest.raises(ww.errors.ModelFormatError, match=path.name):
        ww.TauSS3.load(path, mapped=True)


WRONG = {
    "counts of 0": ("ngrams1.counts", 0, 0, r"ngrams1\.counts is out of range"),
    "counts above the maxima": ("ngrams1.counts", 0, 2**31, r"ngrams1\.counts is out of range"),
    "labels nobody knows": ("ngrams1.labels", 0, 9, r"ngrams1\.labels is out of range"),
    "rows that fall": ("ngrams1.rows", 1, 99, r"ngrams1\.rows is not ascending"),
    "children that fall": ("ngrams1.children", 1, 99, r"ngrams1\.children is not ascending"),
    "words that fall": ("words.offsets", 1, 99, r"words\.offsets is not ascending"),
}


@pytest.mark.parametrize(("name", "at", "number", "message"), WRONG.values(), ids=WRONG)
def test_damage_is_named_where_it_is_read(path, name, at, number, message):
    def change(_, arrays):
        arrays[name][at] = number

    path.write_bytes(with_parts(GOOD, change))
    model = ww.TauSS3.load(path, mapped=True)
    with pytest.raises(ww.errors.ModelFormatError, match=message):
        model.confidence_one("a b c")


def test_words_that_are_no_text_are_refused_where_they_are_shown(path):
    def change(_, arrays):
        arrays["words.bytes"][-1] = 0xFF

    path.write_bytes(with_parts(GOOD, change))
    model = ww.TauSS3.load(path, mapped=True)
    with pytest.raises(ww.errors.ModelFormatError, match="a word is not UTF-8"):
        model.top_ngrams("y")


@pytest.mark.parametrize(
    ("keys", "value"),
    [(("labels", 0, "documents"), 0), (("labels", 0, "words"), 2**41), (("labels", 0), None)],
)
def test_a_wrong_manifest_is_refused(path, keys, value):
    manifest = json.loads(members(GOOD)[MANIFEST])
    entry = manifest
    for key in keys[:-1]:
        entry = entry[key]
    entry[keys[-1]] = value
    path.write_bytes(with_manifest_text(GOOD, json.dumps(manifest).encode()))
    with pytest.raises(ww.errors.ModelFormatError, match=path.name):
        ww.TauSS3.load(path, mapped=True)


# --- checksums before anything is written ---------------------------------------------------------


def rotten(path, name="ngrams1.counts"):
    """Return a mapped model with a flipped bit in one array."""
    path.write_bytes(GOOD)
    data = bytearray(GOOD)
    array = members(GOOD)[f"{name}.npy"]
    data[GOOD.index(array) + 128] ^= 1  # behind the header of the array
    path.write_bytes(bytes(data))
    return ww.TauSS3.load(path, mapped=True)


WRITERS = {
    "save": lambda model, path: model.save(path),
    "to_bytes": lambda model, _: model.to_bytes(),
    "pickle": lambda model, _: pickle.dumps(model),
    "save a replacement": lambda model, path: model.replace(smoothness=0.9).save(path),
    "save shorter n-grams": lambda model, path: model.replace(max_ngram=1).save(path),
    "save a copy": lambda model, path: copy.deepcopy(model).save(path),
    "counts": lambda model, _: model.counts(),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("name", ["ngrams1.counts", "ngrams3.counts", "words.bytes", "maxima"])
def test_a_flipped_bit_never_gets_a_new_checksum(path, write, name):
    model, target = rotten(path, name), path.with_name("target.ww")
    target.write_bytes(b"good")
    with pytest.raises(ww.errors.ModelFormatError) as caught:
        write(model, target)
    assert str(caught.value) == f"{path}: array '{name}' is corrupt: its checksum is wrong"
    assert target.read_bytes() == b"good"


def test_counting_on_from_a_file_verifies_it_first(path):
    model = rotten(path)
    for source in (model, path):
        with pytest.raises(ww.errors.ModelFormatError, match=r"'ngrams1\.counts' is corrupt"):
            next(rows_of(source))


# --- arrays with the right checksums --------------------------------------------------------------


def with_children(path, children):
    """Return a mapped model with these children of its words."""

    def change(_, arrays):
        arrays["ngrams1.children"] = np.array(children, "<u8")

    model = ww.TauSS3.paper(max_ngram=2)
    model.learn_many(["a b", "c d"], ["x", "y"])
    path.write_bytes(with_parts(model.to_bytes(), change))
    return ww.TauSS3.load(path, mapped=True)


@pytest.mark.parametrize(
    "children",
    [
        [0, 2**62, 2**63, 3 * 2**62, 2],
        [0, 2**64 - 1, 1, 1, 2],
        [0, 2, 1, 1, 2],
        [0, 2**40, 0, 0, 2],
    ],
)
@pytest.mark.parametrize("name", ["counts", "save", "to_bytes"])
def test_offsets_are_checked_before_whole_arrays_are_used(path, children, name):
    model = with_children(path, children)
    with pytest.raises(ww.errors.ModelFormatError, match=r"ngrams1\.children is not ascending"):
        WRITERS[name](model, path.with_name("target"))


def with_maxima(path, maxima, **parameters):
    model = ww.TauSS3(max_ngram=2, **parameters)
    model.learn_many(["a b a b", "c d"], ["x", "y"])

    def change(_, arrays):
        arrays["maxima"] = np.array(maxima, "<u4")

    path.write_bytes(with_parts(model.to_bytes(), change))
    return path


@pytest.mark.parametrize("scale", ["words", "length", "label"])
@pytest.mark.parametrize("maxima", [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 2, 1]])
def test_a_largest_count_below_that_of_longer_ngrams_is_refused(path, scale, maxima):
    with_maxima(path, maxima, ngram_scale=scale)
    with pytest.raises(
        ww.errors.ModelFormatError, match="maxima are above those of shorter n-grams"
    ):
        ww.TauSS3.load(path, mapped=True)


def test_a_largest_count_above_the_number_of_documents_is_refused(path):
    with_maxima(path, [2, 1, 1, 1], counting="documents")
    with pytest.raises(ww.errors.ModelFormatError, match="more documents than it has"):
        ww.TauSS3.load(path, mapped=True)
