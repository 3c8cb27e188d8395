"""The overview of a model: its numbers equal those of the model."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from command_line import call, failure, records
from model_files import taught
from overview_samples import hostile_model, learn
from strategies import corpora, parameters
from watchword.model.overview import ngram_worth

# Data


@given(corpus=corpora(), arguments=parameters(own_operators=False))
def test_values_are_counted_in_their_bins(corpus, arguments):
    model = learn(corpus, arguments)
    overview = model.overview(n=3)
    width, alpha = overview.bin_width, arguments["alpha"]
    expected = {}
    for ngram in model.counts():
        words = ngram.split(" ")
        for label, value in model.value(words).items():
            if value.count:
                expected.setdefault((label, len(words)), []).append(value.cv)
    for of_label in overview.labels:
        for part in of_label.lengths:
            values = np.array(expected.get((of_label.label, part.length), []))
            valued = values[values > alpha]
            bins = np.bincount((np.ceil(valued / width) - 1).astype(int))
            assert part.ngrams == len(values)
            assert part.worthless == len(values) - len(valued)
            assert part.distribution == tuple(bins.tolist())


@given(corpus=corpora(), arguments=parameters(own_operators=False), n=st.integers(0, 5))
def test_the_best_ngrams_are_those_that_the_model_lists(corpus, arguments, n):
    model = learn(corpus, arguments)
    for of_label in model.overview(n).labels:
        assert list(of_label.top) == model.top_ngrams(of_label.label, n)
        for part in of_label.lengths:
            assert list(part.top) == model.top_ngrams(of_label.label, n, part.length)


def test_bins_are_as_narrow_as_the_largest_value_allows():
    overview = taught().overview()
    most = max(len(part.distribution) for label in overview.labels for part in label.lengths)
    assert 17 <= most <= 32


def test_values_above_1_have_bins():
    model = ww.TauSS3.paper(confidence_function="norm_gv_xai")
    model.learn_one("a b a b", "x")
    model.learn_one("c d", "y")
    overview = model.overview()
    highest = max(label.top[0].value for label in overview.labels)
    most = max(len(part.distribution) for label in overview.labels for part in label.lengths)
    assert highest > 1
    assert (most - 1) * overview.bin_width < highest <= most * overview.bin_width


def test_totals_are_those_of_the_model():
    model = taught()
    overview, statistics = model.overview(), model.statistics
    assert {one.label: one.documents for one in overview.labels} == statistics.documents
    assert {one.label: one.words for one in overview.labels} == statistics.words
    assert overview.ngrams == statistics.ngrams
    assert not overview.pruned


def test_a_pruned_model_says_so():
    model = taught()
    model.prune(1)
    assert model.overview().pruned
    assert "were pruned" in model.overview().to_html()


def test_a_model_with_fewer_lengths_has_fewer_columns():
    overview = taught().replace(max_ngram=2).overview()
    assert [len(one.lengths) for one in overview.labels] == [2, 2, 2]
    assert len(overview.ngrams) == 2


def test_plain_data_survives_json():
    plain = taught(default_label="x").overview().to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    plain = ngram_worth(taught(), "a b").to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_an_empty_model_is_refused():
    with pytest.raises(ww.errors.EmptyModelError):
        ww.TauSS3().overview()
    with pytest.raises(ww.errors.EmptyModelError):
        ngram_worth(ww.TauSS3(), "a")


@pytest.mark.parametrize("n", [-1, 1.5, "2"])
def test_the_number_of_ngrams_must_be_an_integer(n):
    with pytest.raises((TypeError, ValueError), match=r"^n must be"):
        taught().overview(n)


def test_the_overview_does_not_change_the_model():
    model = taught()
    before = model.to_bytes()
    model.overview().to_html()
    ngram_worth(model, "a b").to_html()
    assert model.to_bytes() == before


def test_a_printed_overview_has_no_control_characters():
    printed = str(hostile_model().overview())
    assert "\x1b" not in printed
    assert "escape␛[31m" in printed


# What an n-gram is worth


def test_an_ngram_is_worth_what_the_model_says():
    model = taught()
    worth = ngram_worth(model, "A b")
    assert worth.ngram == "a b"
    assert worth.known
    assert worth.values == model.value("a b")
    assert [(one.word, one.values) for one in worth.words] == [
        ("a", model.value("a")),
        ("b", model.value("b")),
    ]
    assert list(worth.following) == model.next_words("a b")


def test_a_single_word_has_no_parts():
    assert ngram_worth(taught(), "a").words == ()


def test_an_unseen_ngram_has_value_0():
    worth = ngram_worth(taught(), ["never", "heard"])
    assert not worth.known
    assert all(value.cv == 0 for value in worth.values.values())
    assert "has not learnt this n-gram" in worth.to_html()


def test_the_number_of_following_words_is_limited():
    model = ww.TauSS3()
    model.learn_one(". ".join(f"a w{at}" for at in range(30)), "x")
    assert len(ngram_worth(model, "a").following) == 20
    assert len(ngram_worth(model, "a", most_following=3).following) == 3


def test_the_page_of_an_ngram_shows_every_number():
    worth = ngram_worth(taught(), "a b")
    page = worth.to_page()
    for value in worth.values.values():
        assert f">{value.count}<" in page
        assert f">{value.cv:.3f}<" in page or value.cv == 0


# The command line


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taught().save("model.ww")
    return tmp_path / "model.ww"


def test_inspect_writes_a_page(model_file):
    [said] = records("inspect", "model.ww", "--html", "page.html")
    written = model_file.with_name("page.html").read_bytes()
    assert said == {"html": "page.html", "bytes": len(written)}
    assert written.decode() == taught().overview().to_page(title="Overview of model.ww")


@pytest.mark.usefixtures("model_file")
def test_inspect_writes_a_page_of_one_label_and_fewer_ngrams():
    page = call("inspect", "model.ww", "--html", "-", "--top", 1, "--label", "y").stdout
    title = "Overview of model.ww"
    assert page == taught().overview(1).to_page(title=title, labels=["y"])


@pytest.mark.usefixtures("model_file")
def test_inspect_writes_a_page_about_an_ngram():
    page = call("inspect", "model.ww", "--html", "-", "--value", "a b").stdout
    assert page == ngram_worth(taught(), "a b").to_page()


@pytest.mark.usefixtures("model_file")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--next", "a"], "--html cannot be combined with"),
        (["--top", "3", "--length", "1"], "--html cannot be combined with"),
    ],
)
def test_inspect_refuses_pages_that_do_not_exist(arguments, message):
    assert message in failure("inspect", "model.ww", "--html", "x.html", *arguments, code=2)


@pytest.mark.usefixtures("model_file")
def test_inspect_refuses_to_write_where_there_is_no_folder():
    assert "does not exist" in failure("inspect", "model.ww", "--html", "no/x.html", code=2)
