"""Model files: round trips, layout, and how they are written."""

import copy
import errno
import io
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from hooks import by_blanks, last_row
from model_files import parts, taught
from untyped import untyped
from watchword._files import atomic_file
from watchword.model.file import container

HERE = Path(__file__).parents[1]
SAMPLE = HERE / "data" / "model-1.ww"
SPECIFICATION = HERE.parent / "docs" / "model-file.md"
TEXT = "A b c, d.\nB c a b?"

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and locks of POSIX")


def first_letter(word):
    return word[0]


def keep_a(word):
    return word if word.startswith("a") else None


def first_row(rows):
    return rows[0]


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "single_words": {"max_ngram": 1},
    "long_ngrams": {"max_ngram": 6},
    "longest_ngrams": {"max_ngram": 64},
    "numbers": {"smoothness": 0.1, "significance": 2.5, "sanction": 0.0, "alpha": 1e-9},
    "min_count": {"min_count": 2},
    "xai": {"significance_function": "xai", "confidence_function": "norm_gv_xai"},
    "norm_gv": {"confidence_function": "norm_gv"},
    "words_sum": {"reading": "words_sum"},
    "one_summary": {"summary": "mean"},
    "summaries": {"summary": {"sentence": "max", "paragraph": "mean", "document": "sum"}},
    "default_label": {"default_label": "z"},
    "blank_lines": {"paragraphs": "blank_lines"},
    "pruning": {"prune_period": 1000, "prune_floor": 2, "prune_shortest": 3},
}

each_variant = pytest.mark.parametrize("arguments", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ww"


# --- round trips ----------------------------------------------------------------------------------


@each_variant
def test_load_gives_back_the_saved_model(path, arguments):
    model = taught(**arguments)
    model.save(path)
    again = ww.TauSS3.load(path)
    assert again.to_bytes() == model.to_bytes() == path.read_bytes()
    assert again.parameters == model.parameters
    assert again.counts() == model.counts()
    assert again.confidence_one(TEXT) == model.confidence_one(TEXT)


@each_variant
def test_a_loaded_model_learns_like_the_original(arguments):
    model = taught(**arguments)
    again = ww.TauSS3.from_bytes(model.to_bytes())
    for one in (model, again):
        one.learn_one("c b a new", "x")
        one.learn_one("c b a", "a new label")
    assert again.to_bytes() == model.to_bytes()


@each_variant
def test_an_empty_model_round_trips(arguments):
    model = ww.TauSS3(**arguments)
    again = ww.TauSS3.from_bytes(model.to_bytes())
    assert again.labels == ()
    assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    "labels",
    [
        ["", "B", "a", "two words", "é", "😀", "\0"],
        [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
        list(range(300)),  # more than one byte can number
        list(range(70_000, 70_003)),
    ],
    ids=["str", "int", "many", "large"],
)
def test_labels_keep_their_type_and_order(labels):
    model = ww.TauSS3(max_ngram=1)
    model.learn_many(["a"] * len(labels), labels)
    again = ww.TauSS3.from_bytes(model.to_bytes())
    assert again.labels == tuple(sorted(labels))
    assert again.to_bytes() == model.to_bytes()


def test_a_label_without_words_round_trips():
    model = taught()
    model.learn_one("", "silent")
    again = ww.TauSS3.from_bytes(model.to_bytes())
    assert again.statistics.documents["silent"] == 1
    assert again.statistics.words["silent"] == 0


def test_a_pruned_model_stays_pruned():
    model = taught()
    model.prune(1)
    again = ww.TauSS3.from_bytes(model.to_bytes())
    assert again.to_bytes() == model.to_bytes()
    assert again.statistics == model.statistics
    with pytest.raises(ww.errors.PrunedModelError):
        again.unlearn_one("d d", "z")
    with pytest.raises(ww.errors.PrunedModelError):
        again.merge(taught())


def test_periodic_pruning_continues_where_it_was():
    model, restarted = (ww.TauSS3(prune_period=7, prune_floor=1) for _ in range(2))
    for text in ["a b c", "d e", "a b c", "f g h", "a b c", "i", "a b"]:
        model.learn_one(text, "x")
        restarted = ww.TauSS3.from_bytes(restarted.to_bytes())
        restarted.learn_one(text, "x")
        assert restarted.to_bytes() == model.to_bytes()
    assert model.statistics.pruned


def test_shorter_ngrams_are_saved_as_if_no_others_were_learnt():
    assert taught().replace(max_ngram=2).to_bytes() == taught(max_ngram=2).to_bytes()


# --- functions, which a file cannot hold ----------------------------------------------------------


FUNCTIONS: dict[str, Any] = {"word_hook": first_letter, "tokenizer": by_blanks, "summary": last_row}


@pytest.mark.parametrize(("name", "function"), FUNCTIONS.items(), ids=FUNCTIONS)
class TestFunctions:
    def test_is_asked_for_by_name_before_reading(self, path, name, function):
        model = taught(**{name: function})
        model.save(path)
        again = ww.TauSS3.load(path)
        for use in (again.confidence_one, again.explain, lambda text: again.learn_one(text, "x")):
            with pytest.raises(ww.errors.HookError, match=f"{name} .*{function.__name__}"):
                use(TEXT)
        assert again.counts() == model.counts()

    def test_a_file_without_it_can_be_saved_again(self, name, function):
        model = taught(**{name: function})
        again = ww.TauSS3.from_bytes(model.to_bytes())
        assert again.to_bytes() == model.to_bytes()
        assert pickle.loads(pickle.dumps(again)).to_bytes() == model.to_bytes()

    def test_reads_when_it_is_given(self, path, name, function):
        model = taught(**{name: function})
        model.save(path)
        again = ww.TauSS3.load(path, **{name: function})
        assert again.confidence_one(TEXT) == model.confidence_one(TEXT)
        assert again.to_bytes() == model.to_bytes()

    def test_is_pickled_along(self, name, function):
        model = taught(**{name: function})
        again = pickle.loads(pickle.dumps(model))
        assert again.confidence_one(TEXT) == model.confidence_one(TEXT)
        assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("name", ["word_hook", "tokenizer"])
def test_another_function_is_refused(path, name):
    taught(**{name: FUNCTIONS[name]}).save(path)
    with pytest.raises(ww.errors.HookError, match=FUNCTIONS[name].__name__):
        ww.TauSS3.load(path, **{name: untyped(keep_a)})


def test_another_summary_is_accepted():
    model = ww.TauSS3.from_bytes(taught(summary=last_row).to_bytes(), summary="max")
    assert model.to_bytes() == taught(summary="max").to_bytes()


def test_each_level_keeps_the_name_of_its_own_summary():
    model = taught(summary={"sentence": "max", "paragraph": last_row, "document": first_row})
    assert ww.TauSS3.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_a_hook_is_refused_for_a_model_saved_without_one():
    with pytest.raises(ww.errors.HookError, match="word_hook None"):
        ww.TauSS3.from_bytes(taught().to_bytes(), word_hook=first_letter)


# --- pickle and the like --------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    model = taught(**VARIANTS["summaries"])
    assert pickle.loads(pickle.dumps(model, protocol)).to_bytes() == model.to_bytes()


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_a_copy_is_independent(copier):
    model = taught()
    before = model.to_bytes()
    other = copier(model)
    assert other.to_bytes() == before
    other.learn_one("a b", "y")
    assert model.to_bytes() == before
    model.learn_one("a b", "y")
    assert other.to_bytes() == model.to_bytes()


class Own(ww.TauSS3):
    """A model of a subclass that pickle can find."""


def pickled(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, ww.TauSS3.replace, pickled])
def test_a_copy_is_of_the_same_class(copier):
    assert type(copier(Own.from_bytes(taught().to_bytes()))) is Own


def test_joblib(path):
    joblib = pytest.importorskip("joblib")
    model = taught()
    joblib.dump(model, path)
    assert joblib.load(path).to_bytes() == model.to_bytes()
    assert isinstance(joblib.hash(model), str)


# --- what the file looks like ---------------------------------------------------------------------


def data_offsets(data):
    """Return the offset of each member's data, from the local headers."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            at = info.header_offset
            sizes = np.frombuffer(data, "<u2", 2, at + 26)
            yield info.filename, at + 30 + int(sizes.sum())


@each_variant
def test_members_are_stored_and_aligned(arguments):
    data = taught(**arguments).to_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == "manifest.json"
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert all(offset % 64 == 0 for _, offset in data_offsets(data))


def test_members_are_aligned_where_zip64_begins(monkeypatch):
    expected = parts(taught().to_bytes())
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 200)
    data = taught().to_bytes()
    assert data != taught(min_count=2).to_bytes()
    assert all(offset % 64 == 0 for _, offset in data_offsets(data))
    manifest, arrays = parts(data)
    assert manifest == expected[0]
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[1][name])
    assert ww.TauSS3.from_bytes(data).to_bytes() == data


@given(dtype=st.sampled_from(["|u1", "<u2", "<u4", "<u8"]), size=st.integers(0, 2**64))
def test_array_headers_are_those_of_numpy(dtype, size):
    buffer = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(buffer, described)
    assert container._npy_header(dtype, size) == buffer.getvalue()
    assert len(buffer.getvalue()) == 128


def test_the_manifest_describes_every_array():
    manifest, arrays = parts(taught().to_bytes())
    assert set(manifest["arrays"]) == set(arrays)
    for name, entry in manifest["arrays"].items():
        assert (arrays[name].dtype.str, list(arrays[name].shape)) == (
            entry["dtype"],
            entry["shape"],
        )


def test_arrays_use_the_narrowest_type():
    _, arrays = parts(taught().to_bytes())
    assert {array.dtype.str for array in arrays.values()} == {"|u1", "<u4"}
    model = ww.TauSS3(max_ngram=1)
    model.learn_many(["a"] * 257, list(range(257)))
    _, arrays = parts(model.to_bytes())
    assert arrays["ngrams1.labels"].dtype.str == "<u2"


@each_variant
def test_the_examples_of_the_specification_read_the_model(tmp_path, path, arguments, monkeypatch):
    model = taught(**arguments)
    model.save(path)
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", SPECIFICATION.read_text("utf-8"), re.DOTALL):
        exec(code, names)
    assert names["counts"] == model.counts()
    seen = {}
    for ngram in model.counts():
        length = ngram.count(" ") + 1
        seen.setdefault(length, []).append(names["find"](ngram))
    for places in seen.values():
        assert sorted(places) == list(range(len(places)))
    for unknown in ("zebra", "A", "a zebra", "zebra a", "d a", "é a", "a b a"):
        assert names["find"](unknown) is None


@pytest.mark.parametrize("refined", [False, True])
def test_the_specification_names_every_part(refined):
    model = taught()
    if refined:
        model.refine(["machine learning", "a match"], list(model.labels)[:2])
    manifest, arrays = parts(model.to_bytes())
    assert manifest["version"] == (2 if refined else 1)
    text = SPECIFICATION.read_text("utf-8")
    sections = [manifest[name] for name in ("parameters", "reading", "pruned")]
    for name in [*manifest, *manifest.get("fit", {}), *(key for one in sections for key in one)]:
        assert f"`{name}`" in text or f'"{name}"' in text
    for name in arrays:
        assert f"{name.partition('.')[2]}`" in text


# --- the same bytes -------------------------------------------------------------------------------


def test_equal_models_give_equal_bytes_in_every_process():
    code = (
        "import sys; from model_files import taught; sys.stdout.buffer.write(taught().to_bytes())"
    )
    for seed in "1", "2":
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE / "support")}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        )
        assert done.stdout == taught().to_bytes()


def test_bytes_do_not_depend_on_the_history_of_a_model():
    model = ww.TauSS3.paper()
    model.learn_one("something else entirely", "gone")
    model.learn_one("d d", "z")
    model.learn_one("a b c a b é", "y")
    model.unlearn_one("something else entirely", "gone")
    model.learn_one("a b c. a b d, b c", "x")
    assert model.to_bytes() == taught().to_bytes()


def test_from_bytes_takes_any_buffer():
    data = taught().to_bytes()
    for shift in range(8):  # wherever the numbers lie in memory
        buffer = bytearray(shift) + data
        assert ww.TauSS3.from_bytes(memoryview(buffer)[shift:]).to_bytes() == data


# --- writing --------------------------------------------------------------------------------------


def fail_to_sync(_):
    raise OSError(errno.ENOSPC, "no space left on device")


def fail_to_write(target, *_):
    target.write(b"half a mod")
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("module", "name", "failure", "error"),
    [
        (os, "fsync", fail_to_sync, OSError),
        (container, "write_model", fail_to_write, KeyboardInterrupt),
    ],
    ids=["disk_full", "interrupted"],
)
@pytest.mark.parametrize("old", [b"the old model", None], ids=["replacing", "new"])
def test_a_failed_save_changes_nothing(path, monkeypatch, module, name, failure, error, old):
    if old is not None:
        path.write_bytes(old)
    monkeypatch.setattr(module, name, failure)
    with pytest.raises(error):
        taught().save(path)
    assert {file.name for file in path.parent.iterdir()} == ({path.name} if old else set())
    assert old is None or path.read_bytes() == old


def test_saving_replaces_the_old_file_and_leaves_no_other(path):
    path.write_bytes(b"the old model")
    taught().save(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == taught().to_bytes()


def test_a_reader_of_the_replaced_file_keeps_its_content(path):
    taught().save(path)
    with path.open("rb") as old:
        ww.TauSS3().save(path)
        assert old.read() == taught().to_bytes()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(path, mask):
    before = os.umask(mask)
    try:
        taught().save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


@pytest.fixture
def open_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_replaced_file_keeps_its_permissions(path, mode):
    path.touch()
    path.chmod(mode)
    taught().save(path)
    assert mode_of(path) == mode


@posix
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_a_model_is_read_from_a_regular_file_only(tmp_path, name, mapped):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ww.errors.ModelFormatError, match="is a pipe or a device"):
        ww.TauSS3.load(tmp_path / name, mapped=mapped)


def test_a_model_file_above_the_limit_is_refused(path):
    taught().save(path)
    size = path.stat().st_size
    with pytest.raises(ww.errors.ModelFormatError, match=f"more than the limit of {size - 1:,}"):
        ww.TauSS3.load(path, most_bytes=size - 1)
    assert ww.TauSS3.load(path, most_bytes=size).labels == taught().labels


def test_a_large_file_that_is_no_model_is_not_read_whole(tmp_path):
    with (tmp_path / "large.ww").open("wb") as file:
        file.truncate(1 << 26)
    tracemalloc.start()
    try:
        with pytest.raises(ww.errors.ModelFormatError, match="not a watchword model"):
            ww.TauSS3.load(tmp_path / "large.ww")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


# --- what is written to ---------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="needs pipes with names")
def test_a_model_can_be_saved_to_a_pipe(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    taught().save(pipe)
    reader.join()
    assert got == [taught().to_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["folder", "folder/", "."])
def test_a_folder_is_not_replaced(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as error:
        taught().save(name)
    assert error.value.filename == name
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "no" / "model.ww"
    with pytest.raises(FileNotFoundError) as error:
        taught().save(path)
    assert error.value.filename == str(path)


@posix
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
def test_a_private_file_is_created_private(path, monkeypatch, old):
    if old:
        path.touch(0o644)
    born, opened = [], os.open

    def seen(*arguments, **options):
        handle = opened(*arguments, **options)
        born.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    monkeypatch.setattr(os, "open", seen)
    with atomic_file(path, mode=0o600) as file:
        file.write(b"secret")
    assert born[0] == 0o600
    assert mode_of(path) == 0o600


@posix
@pytest.mark.usefixtures("open_umask")
def test_a_file_that_replaces_a_private_one_is_never_readable_by_others(path, monkeypatch):
    path.touch(0o600)
    monkeypatch.delattr(os, "fchmod")
    with atomic_file(path):
        [temporary] = set(path.parent.iterdir()) - {path}
        assert mode_of(temporary) == 0o600


@posix
@pytest.mark.parametrize("there", [True, False], ids=["whole", "dangling"])
def test_saving_to_a_link_writes_its_target(tmp_path, there):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "model.ww", tmp_path / "link.ww"
    link.symlink_to(target)
    if there:
        target.write_bytes(b"the old model")
    taught().save(link)
    assert link.is_symlink()
    assert target.read_bytes() == taught().to_bytes()
    assert list(target.parent.iterdir()) == [target]


@posix
def test_a_link_to_itself_is_an_error_and_kept(path):
    path.symlink_to(path)
    with pytest.raises(OSError, match=re.escape(path.name)):
        taught().save(path)
    assert path.is_symlink()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 250 + ".ww", "ü" * 120 + ".ww", ".ww", "a b.ww"])
def test_any_file_name_is_accepted(tmp_path, name):
    taught().save(tmp_path / name)
    assert ww.TauSS3.load(str(tmp_path / name)).labels == ("x", "y", "z")


# --- what earlier versions wrote ------------------------------------------------------------------


class TestSample:
    def test_is_read_to_the_last_count(self):
        model = ww.TauSS3.load(SAMPLE)
        assert model.labels == ("sports", "technology", "世界")
        assert model.statistics == ww.model.ModelStatistics(
            documents={"sports": 2, "technology": 2, "世界": 2},
            words={"sports": 22, "technology": 12, "世界": 3},
            ngrams=(24, 26, 21),
            pruned_ngrams=0,
            pruned_counts=0,
            pruned=False,
        )
        counts = model.counts()
        assert counts["is"] == {"sports": 3, "technology": 1}
        assert counts["machine learning"] == {"technology": 2}
        assert counts["cafe zoe's team"] == {"sports": 1}
        assert counts["机器学习 は 楽しい"] == {"世界": 1}

    def test_has_its_parameters(self):
        model = ww.TauSS3.load(SAMPLE)
        expected: dict[str, Any] = {
            "smoothness": 0.5,
            "significance": 0.75,
            "sanction": 1.25,
            "max_ngram": 3,
        }
        expected |= {"significance_function": "xai", "confidence_function": "norm_gv"}
        expected |= {"reading": "words_sum", "default_label": "sports", "paragraphs": "lines"}
        expected |= {"prune_period": 1000, "prune_floor": 1, "prune_shortest": 2}
        expected |= {"summary": {"sentence": "sum", "paragraph": "mean", "document": "max"}}
        assert expected.items() <= model.parameters.items()

    def test_gives_the_values_it_gave(self):
        model = ww.TauSS3.load(SAMPLE)
        value = model.value("machine learning")["technology"]
        assert value == pytest.approx((2, 1, 0.9999999847700205, 1, 0.9999999847700205, 1))
        assert model.value("is")["technology"].lv == pytest.approx(0.5**0.5)
        confidence = model.confidence_one("The team is learning: machine learning is widely used.")
        assert confidence == pytest.approx({"sports": 2, "technology": 1 + 2**0.5, "世界": 0})
        assert model.predict_many(["machine learning", "楽しい", "?"]) == [
            "technology",
            "世界",
            "sports",
        ]

    def test_is_what_this_version_writes_but_for_later_parameters(self):
        manifest, arrays = parts(ww.TauSS3.load(SAMPLE).to_bytes())
        assert manifest["parameters"].pop("prior") == 0
        assert manifest["parameters"].pop("label_weight") == 0
        assert manifest["parameters"].pop("ngram_scale") == "length"
        assert manifest["parameters"].pop("counting") == "occurrences"
        assert manifest["parameters"].pop("tokenization") == "unicode"
        kept_manifest, kept = parts(SAMPLE.read_bytes())
        assert manifest == kept_manifest
        assert arrays.keys() == kept.keys()
        assert all(np.array_equal(arrays[name], kept[name]) for name in kept)


def test_the_sample_of_a_refined_model_still_gives_its_scores():
    model = ww.TauSS3.load(HERE / "data" / "model-2.ww")
    assert model.refinement is not None
    assert (model.refinement.texts, model.refinement.documents) == (6, 6)
    found = model.confidence_one("Deep learning, lost match")
    expected = {"sports": 0.08110975, "technology": -0.02557012, "世界": -0.36923111}
    assert found == pytest.approx(expected, abs=1e-6)
    manifest, arrays = parts(model.to_bytes())
    assert manifest["parameters"].pop("tokenization") == "unicode"
    kept_manifest, kept = parts((HERE / "data" / "model-2.ww").read_bytes())
    assert manifest == kept_manifest
    assert arrays.keys() == kept.keys()
    assert all(np.array_equal(arrays[name], kept[name]) for name in kept)
