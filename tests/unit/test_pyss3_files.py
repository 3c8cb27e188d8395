"""Models of PySS3: reading its files, and saving."""

import contextlib
import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from watchword.errors import ModelFormatError
from watchword.pyss3 import SS3

# PySS3 0.6.5 saved this: SS3(name="old", sg_m="vanilla", cv_m="norm_gv", s=.32), `fit` of 3-grams,
# so that maxima are above the counts; `learn` under the labels 7 and "7" and, without a word,
# "nothing". PySS3 itself loads it wrongly: other modes, and one category for 7 and "7".
OLD = Path(__file__).parents[1] / "data" / "old.ss3m"

# What PySS3 computed before it saved the model.
VECTORS = {
    "a raised bed and a long bike ride": [
        2.4574042146299986,
        2.0020736768825818,
        1.5064244072229676,
        0,
        0,
    ],
    "tomato plants, my road bike": [2.228023271943189, 2.0, 0.3749999999976405, 0, 0],
    "seven bikes in the garden": [
        0.0003600806975318564,
        0.6709034037484065,
        1.7455022002873144,
        0,
        0,
    ],
    "": [0, 0, 0, 0, 0],
}
NGRAMS = {
    "raised bed": [0, 1.0, 0, 0, 0],
    "a long": [1.0, 0, 0, 0, 0],
    "bike": [0.4269533943535673, 0, 0.3749999999976405, 0, 0],
    "seven": [0, 0, 0, 0, 0],
}
CATEGORIES = ["bikes", "garden", 7, "7", "nothing"]


def load_old(folder, data=None):
    (folder / "ss3_models").mkdir()
    (folder / "ss3_models" / "old.ss3m").write_bytes(OLD.read_bytes() if data is None else data)
    clf = SS3(name="old")
    clf.load_model(folder)
    return clf


def assert_old(clf):
    assert clf.get_categories() == CATEGORIES
    assert clf.get_hyperparameters() == (0.32, 0.5, 1.0, 0.0)
    assert clf.get_ngrams_length() == 3
    for text, vector in VECTORS.items():
        assert clf.classify(text, sort=False) == pytest.approx(vector, rel=1e-12, abs=1e-12)
    for ngram, values in NGRAMS.items():
        found = [clf.cv(ngram, category) for category in CATEGORIES]
        assert found == pytest.approx(values, rel=1e-12, abs=1e-12)


def test_file_of_pyss3_gives_its_values(tmp_path):
    assert_old(load_old(tmp_path))


def test_model_is_saved_with_all_that_its_values_need(tmp_path):
    load_old(tmp_path).save_model(tmp_path)
    assert (tmp_path / "ss3_models" / "old.ww").exists()
    again = SS3(name="old", cv_m="gv", s=0.9)
    again.load_model(tmp_path)
    assert_old(again)


def test_maxima_survive_loading_and_learning(tmp_path):
    clf = load_old(tmp_path)
    for _ in range(3):
        clf.learn("my road bike", "bikes", n_grams=3)
    # The most frequent 3-gram was seen 6 times, before it was dropped.
    assert clf.lv("my road bike", "bikes") == pytest.approx((3 / 6) ** 0.32, rel=1e-12)


def test_loading_replaces_everything(tmp_path):
    clf = SS3(name="old")
    clf.fit(["hot soup, hot soup", "a match, a match"], ["food", "sports"])
    assert clf.predict(["tomato plants"]) == ["sports"]
    (tmp_path / "ss3_models").mkdir()
    (tmp_path / "ss3_models" / "old.ss3m").write_bytes(OLD.read_bytes())
    clf.load_model(tmp_path)
    assert clf.predict(["tomato plants"]) == ["garden"]


def test_native_model_has_the_names_as_labels(tmp_path):
    clf = load_old(tmp_path)
    model = clf.to_watchword()
    assert model.labels == ("7", "7 (int)", "bikes", "garden", "nothing")
    model.save(tmp_path / "new.ww")
    again = ww.TauSS3.load(tmp_path / "new.ww")
    for text, vector in VECTORS.items():
        found = again.confidence_one(text)
        names = ["bikes", "garden", "7 (int)", "7", "nothing"]
        assert [found[name] for name in names] == pytest.approx(vector, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("labels", [["0", "1"], [0, 1], ["0", "1st"]])
def test_labels_keep_their_types(tmp_path, labels):
    clf = SS3(name="typed")
    clf.fit(["hot soup, hot soup", "a match, a match"], labels)
    clf.save_model(tmp_path)
    again = SS3(name="typed")
    again.load_model(tmp_path)
    assert again.get_categories() == labels
    assert again.predict(["soup", "match"]) == labels


def test_order_of_categories_and_several_labels_are_kept(tmp_path):
    clf = SS3(name="several")
    clf.fit(["hot soup, hot soup", "a match, a match", "tram, tram"], [["b"], ["a", "b"], []])
    clf.save_model(tmp_path)
    again = SS3(name="several")
    again.load_model(tmp_path)
    assert again.get_categories(all=True) == ["b", "a", "[others]"]
    assert again.predict(["soup"]) == clf.predict(["soup"]) == [["b"]]


def test_plain_global_values_read_single_words_natively_too():
    clf = SS3(cv_m="gv")
    clf.fit(["a long bike ride, " * 12, "hot soup, hot soup"], ["bikes", "food"], n_grams=2)
    [value] = clf.to_watchword().confidence_many(["a long bike ride"]).tolist()
    assert value == clf.classify("a long bike ride", sort=False)
    assert clf.gv("long bike", "bikes") == 1


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.ss3m"):
        SS3(name="nowhere").load_model(tmp_path)


def changed(**entries):
    return json.dumps(json.loads(OLD.read_bytes()) | entries).encode()


NODE = [{}, 3, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a PySS3 model"),
        (b"\xff\xfe", "is not a PySS3 model"),
        (b"[]", "has no"),
        (b'{"__categories__": 3}', "has no"),
        (b"[" * 100_000, "is not a PySS3 model"),
        (b'{"__categories__": [], "__s__": NaN}', "NaN is not a number"),
        (b'{"__categories__": []}', "'__max_fr__' is missing"),
        (OLD.read_bytes()[:-100], "is not a PySS3 model"),
        (changed(__s__=2), "__s__ must be in"),
        (changed(__s__="x"), "__s__ must be a number"),
        (changed(__p__=-1), "__p__ must not be negative"),
        (changed(__cv_mode__="eval"), "__cv_mode__ must be one of"),
        (changed(__max_fr__=[[1]]), "__max_fr__ must have a list"),
        (changed(__max_fr__=[[10**30]] * 5), "a count is 1000"),
        (changed(__max_fr__=[[1], [1], [1], [1], []]), "is corrupt"),
        (changed(__max_fr__=[[1] * 65] * 5), "an entry of __max_fr__"),
        (changed(__categories__=[["a", {"0": NODE}]] * 5), "duplicate category"),
        (changed(__categories__=[[None, {}]] * 5), "the name of a category is None"),
        (changed(__categories__=[["a", {}, 1]] * 5), "a category is"),
        (changed(__categories__=[["a", {"99": NODE}]], __max_fr__=[[3]]), "the id of a word is 99"),
        (changed(__categories__=[["a", {"-1": NODE}]], __max_fr__=[[3]]), "the id of a word is -1"),
        (changed(__categories__=[["a", {"0": [3]}]], __max_fr__=[[3]]), "an n-gram is"),
        (changed(__categories__=[["a", {"0": [{}, 0]}]], __max_fr__=[[3]]), "a count is 0"),
        (changed(__categories__=[["a", {"0": [{}, 1.5]}]], __max_fr__=[[3]]), "a count is 1.5"),
        (changed(__index_to_word__={"0": "a b"}), "a word is a b"),
        (changed(__index_to_word__={"0": "a", "1": "a"}), "duplicate word"),
        (changed(__index_to_word__={"0": "a", "7": "b"}), "the id of a word is 7"),
        (changed(__index_to_word__=["a"]), "__index_to_word__ is"),
    ],
)
def test_damaged_and_hostile_files_are_refused(tmp_path, data, message):
    with pytest.raises(ModelFormatError, match=message) as raised:
        load_old(tmp_path, data)
    assert "old.ss3m" in str(raised.value)


def test_counts_that_do_not_fit_together_are_refused(tmp_path):
    data = json.loads(OLD.read_bytes())
    [word, *_] = [node for node in data["__categories__"][0][1].values() if node[0]]
    next(iter(word[0].values()))[1] = word[1] + 1
    with pytest.raises(ModelFormatError, match=r"old\.ss3m is corrupt"):
        load_old(tmp_path, json.dumps(data).encode())


def test_too_deep_ngrams_are_refused(tmp_path):
    node = list(NODE)
    for _ in range(80):
        node = [{"0": node}, 3, 0, 0, 0, 0]
    data = changed(
        __categories__=[["a", {"0": node}]],
        __max_fr__=[[3, 3]],
        __index_to_word__={"0": "a"},
    )
    with pytest.raises(ModelFormatError, match="longer n-grams"):
        load_old(tmp_path, data)


def test_model_that_reads_otherwise_is_refused(tmp_path):
    model = ww.TauSS3()
    model.learn_one("hot soup", "food")
    (tmp_path / "ss3_models").mkdir()
    model.save(tmp_path / "ss3_models" / "native.ww")
    with pytest.raises(ModelFormatError, match="does not read text as PySS3 does"):
        SS3(name="native").load_model(tmp_path)


def test_compressed_file_is_not_a_model(tmp_path):
    with pytest.raises(ModelFormatError, match="is not a PySS3 model"):
        load_old(tmp_path, gzip.compress(OLD.read_bytes()))


def places(data, path=()):
    """Yield the path of every entry of JSON data."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


PLACES = list(places(json.loads(OLD.read_bytes())))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("019", max_size=2), inner),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_any_other_entries_are_read_or_refused(changes):
    data = json.loads(OLD.read_bytes())
    for path, value in changes:
        inside = data
        with contextlib.suppress(KeyError, IndexError, TypeError):
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = value
    with TemporaryDirectory() as folder, contextlib.suppress(ModelFormatError):
        clf = load_old(Path(folder), json.dumps(data).encode())
        assert clf.classify("a raised bed", sort=False)


@given(st.integers(0, OLD.stat().st_size - 1), st.binary(max_size=2))
def test_any_other_bytes_are_read_or_refused(at, other):
    data = OLD.read_bytes()
    with TemporaryDirectory() as folder, contextlib.suppress(ModelFormatError):
        load_old(Path(folder), data[:at] + other + data[at + 1 :])
