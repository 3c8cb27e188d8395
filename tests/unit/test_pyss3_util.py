"""`watchword.pyss3.util` and `watchword.pyss3.server`: datasets, evaluations, the live page."""

import gzip
import json
import threading
import zipfile
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

from untyped import untyped
from watchword.errors import DataFormatError
from watchword.pyss3 import (
    SS3,
    EmptyModelError,
    kmean_multilabel_size,
    mad,
    set_verbosity,
    sigmoid,
)
from watchword.pyss3.server import Live_Test
from watchword.pyss3.util import (
    Dataset,
    Evaluation,
    Preproc,
    Print,
    RecursiveDefaultDict,
    frange,
    membership_matrix,
    span,
)
from watchword.web import Content

DATA = Path(__file__).parents[1] / "data" / "pyss3.json.gz"
DOCUMENTS = json.loads(gzip.decompress(DATA.read_bytes()))["job"]["train"]
TEXTS, LABELS = ([row[at] for row in DOCUMENTS] for at in (0, 1))
GRID = untyped({"s": [0.2, 0.45, 0.8], "l": [0.1, 1.2], "p": [0.5, 2]})


@pytest.fixture(autouse=True)
def _quiet():
    set_verbosity(0)
    yield
    set_verbosity(1)
    Evaluation.clear_cache()


@pytest.fixture
def clf():
    clf = SS3(name="taught")
    clf.fit(TEXTS[:100], LABELS[:100], n_grams=2)
    return clf


# PySS3 0.6.5 returned these for the same documents (with `cache=False`).
@pytest.mark.parametrize(
    ("metric", "target", "tested", "folded"),
    [
        (None, "macro avg", 0.42, 0.4667),
        ("accuracy", "macro avg", 0.42, 0.4667),
        ("f1-score", "macro avg", 0.4062727480709636, 0.4671),
        ("precision", "weighted avg", 0.5412788461538461, 0.5203),
        ("recall", "music", 0.3333333333333333, 0.4346),
    ],
)
def test_measures_are_those_of_pyss3(clf, metric, target, tested, folded):
    wanted = {"metric": metric, "metric_target": target, "plot": False}
    assert Evaluation.test(clf, TEXTS[100:], LABELS[100:], **wanted) == pytest.approx(tested)
    assert Evaluation.kfold_cross_validation(clf, TEXTS, LABELS, k=3, **wanted) == folded


def test_unknown_is_a_category_of_its_own(clf):
    found = Evaluation.test(
        clf,
        [*TEXTS[100:], "?"],
        [*LABELS[100:], "music"],
        def_cat="unknown",
        metric="f1-score",
        plot=False,
    )
    assert found == pytest.approx(0.30965909090909094)


def test_grid_search_finds_what_pyss3_finds(clf):
    assert Evaluation.grid_search(clf, TEXTS, LABELS, k_fold=3, **GRID) == (0.45, 0.1, 0.5, 0.0)
    assert Evaluation.get_best_hyperparameters("f1-score", "music") == (0.8, 1.2, 2.0, 0.0)
    found = Evaluation.grid_search(
        clf, TEXTS[100:], LABELS[100:], a=[0, 0.5], metric="f1-score", **GRID
    )
    assert found == (0.45, 0.1, 0.5, 0.0)


def test_grid_search_leaves_the_classifier_as_it_was(clf):
    before = clf.get_hyperparameters(), clf.predict(TEXTS[100:])
    best = Evaluation.grid_search(clf, TEXTS[100:], LABELS[100:], s=span(0.1, 0.9, 3), l=[1, 2])
    assert best[0] in (0.1, 0.5, 0.9)
    assert (clf.get_hyperparameters(), clf.predict(TEXTS[100:])) == before


def test_another_test_set_of_the_same_size_has_its_own_score(clf):
    predicted = clf.predict(TEXTS[100:])
    assert Evaluation.test(clf, TEXTS[100:], predicted, plot=False) == 1
    assert Evaluation.test(clf, TEXTS[100:], LABELS[100:], plot=False) < 1


def test_folds_have_the_settings_of_the_classifier():
    plain, other = SS3(cv_m="gv", sg_m="vanilla"), SS3()
    values = [
        Evaluation.kfold_cross_validation(one, TEXTS, LABELS, k=3, plot=False)
        for one in (plain, other)
    ]
    assert values[0] != values[1]


def test_several_labels_are_evaluated():
    clf = SS3()
    texts = ["hot soup, hot soup", "a match, a match", "soup at the match, soup, match"] * 6
    labels = [["food"], ["sports"], ["food", "sports"]] * 6
    clf.fit(texts, labels)
    loss = Evaluation.test(clf, texts, labels, plot=False)
    exact = Evaluation.test(clf, texts, labels, plot=False, metric="exact-match")
    predicted = clf.predict(texts, def_cat="most-probable")
    right = [sorted(one) == sorted(two) for one, two in zip(predicted, labels, strict=True)]
    assert exact == np.mean(right)
    is_predicted, is_true = (membership_matrix(clf, y).toarray() for y in (predicted, labels))
    assert loss == np.mean(is_predicted != is_true)
    assert Evaluation.kfold_cross_validation(clf, texts, labels, k=3, plot=False) == round(loss, 4)
    assert Evaluation.grid_search(clf, texts, labels, s=[0.3, 0.4], k_fold=2)[0] in (0.3, 0.4)
    with pytest.raises(ValueError, match="several labels"):
        Evaluation.test(clf, ["soup"], ["food"], plot=False, metric="hamming-loss")


def test_page_shows_every_setting(clf, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    Evaluation.grid_search(clf, TEXTS, LABELS, k_fold=2, **GRID)
    assert Evaluation.plot(tmp_path)
    page = tmp_path / "ss3_model_evaluation[taught].html"
    assert "Evaluation of taught" in page.read_text(encoding="utf-8")
    assert opened == [page.as_uri()]


def test_reports_are_printed_and_plotted(clf, capsys, monkeypatch):
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(len(plt.gcf().axes)))
    set_verbosity(1)
    Evaluation.test(clf, TEXTS[100:], LABELS[100:])
    assert capsys.readouterr().out.startswith("50 texts, 3 labels, accuracy 0.420")
    assert shown == [1]
    Evaluation.show_best(metric="accuracy")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "test, taught, default category most-probable:",
        "  accuracy: 0.4200 with s=0.45, l=0.5, p=1, a=0",
    ]
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "f2"}, KeyError, "not a valid metric"),
        ({"metric": "recall", "metric_target": "travel"}, KeyError, "not a valid target"),
    ],
)
def test_bad_measures_are_refused(clf, options, error, message):
    with pytest.raises(error, match=message):
        Evaluation.test(clf, TEXTS[100:], LABELS[100:], plot=False, **options)


def test_bad_evaluations_are_refused(clf):
    with pytest.raises(EmptyModelError):
        Evaluation.test(SS3(), ["a"], ["b"])
    with pytest.raises(ValueError, match="1 documents but 2 labels"):
        Evaluation.test(clf, ["a"], ["b", "c"])
    with pytest.raises(ValueError, match="at least 2"):
        Evaluation.kfold_cross_validation(clf, TEXTS, LABELS, k=1)
    with pytest.raises(ValueError, match="4 folds need"):
        Evaluation.kfold_cross_validation(clf, ["a", "b"], ["x", "y"])


def test_best_hyperparameters_are_those_of_the_evaluation_asked_for(clf):
    Evaluation.clear_cache(clf)
    folded = Evaluation.grid_search(clf, TEXTS, LABELS, k_fold=2, **GRID)
    tested = Evaluation.grid_search(clf, TEXTS[:100], LABELS[:100], s=[0.3])
    assert Evaluation.get_best_hyperparameters() == tested
    assert Evaluation.get_best_hyperparameters(method="2-fold") == folded
    with pytest.raises(LookupError, match="10-fold"):
        Evaluation.get_best_hyperparameters(method="10-fold")


def test_results_are_removed_by_value_and_by_method(clf):
    Evaluation.clear_cache(clf)
    Evaluation.grid_search(clf, TEXTS[:100], LABELS[:100], s=[0.2, 0.3], l=[0.5, 1])
    assert Evaluation.remove(s=0.2, simulate=True) == (2, {"test": 2})
    assert Evaluation.remove(s=0.2) == (2, {"test": 2})
    assert Evaluation.remove(method="4-fold") == (0, {})
    assert Evaluation.remove() == (2, {"test": 2})
    assert not Evaluation.plot()
    with pytest.raises(LookupError, match="not been evaluated"):
        Evaluation.get_best_hyperparameters()


# Datasets


def test_folders_are_categories(tmp_path):
    for label, name, text in [("b", "2.txt", "two"), ("b", "10.txt", "ten"), ("a", "x", "one\n")]:
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / name).write_text(text)
    (tmp_path / ".hidden").mkdir()
    assert Dataset.load_from_files(tmp_path) == (["one\n", "two", "ten"], ["a", "b", "b"])


def test_files_are_categories(tmp_path):
    (tmp_path / "food.txt").write_text("hot soup\r\ntea\n", newline="")
    (tmp_path / "fun.txt").write_text("a match")
    texts = ["hot soup", "tea", "", "a match"]
    labels = ["food", "food", "food", "fun"]
    assert Dataset.load_from_files(tmp_path, folder_label=False) == (texts, labels)
    whole = Dataset.load_from_files(tmp_path, folder_label=False, as_single_doc=True)
    assert whole == (["hot soup\ntea\n", "a match"], ["food", "fun"])


def test_documents_in_a_folder_have_several_labels(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("doc1.txt", "doc2.txt", "doc3.md"):
        (docs / name).write_text(name)
    labels = tmp_path / "labels.txt"
    labels.write_text("doc1\thot food\ndoc1 drink\ndoc2 sports\ndoc3.md\n")
    assert Dataset.load_from_files_multilabel(docs, labels) == (
        ["doc1.txt", "doc2.txt", "doc3.md"],
        [["hot food", "drink"], ["sports"], []],
    )


def test_fewer_documents_than_labels_are_refused(tmp_path):
    (tmp_path / "docs").write_text("one")
    (tmp_path / "labels").write_text("a\nb")
    with pytest.raises(DataFormatError, match="2 lines"):
        Dataset.load_from_files_multilabel(tmp_path / "docs", tmp_path / "labels")


def test_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "food.txt").write_bytes(b"\xff")
    with pytest.raises(DataFormatError, match=r"food\.txt is not UTF-8"):
        Dataset.load_from_files(tmp_path, folder_label=False)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("watchword.pyss3", "vsum", "use NumPy"),
        ("watchword.pyss3.cmd_line", "SS3Prompt", "use the command `watchword`"),
        ("watchword.pyss3.server", "main", "use the command `watchword serve`"),
        ("watchword.pyss3.util", "round_fix", "use round"),
    ],
)
def test_import_of_what_is_left_out_says_what_to_use_instead(module, name, advice):
    with pytest.raises(ImportError, match=f"no {name}: {advice}.*moving-from-pyss3"):
        exec(f"from {module} import {name}")


def test_dataset_in_a_zip_file_is_read_from_its_url(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as packed:
        packed.writestr("texts/food/1.txt", "hot soup")
        packed.writestr("texts/fun/1.txt", "a match")
    url = (tmp_path / "data.zip").as_uri()
    assert Dataset.load_from_url(url) == (["hot soup", "a match"], ["food", "fun"])
    with pytest.raises(FileNotFoundError):
        Dataset.load_from_url(url, "elsewhere")


def test_download_that_is_no_zip_file_is_named(tmp_path):
    (tmp_path / "data.zip").write_text("<html>")
    with pytest.raises(DataFormatError, match=r"data\.zip is not a zip file"):
        Dataset.load_from_url((tmp_path / "data.zip").as_uri())


def test_messages_are_printed_at_their_level(capsys):
    Print.info("not shown")
    Print.error("shown")
    Print.verbosity_region_begin(2, force=True)
    Print.info("shown, too")
    Print.verbosity_region_end()
    assert Print.is_quiet()
    assert capsys.readouterr().out == "\033[91m*** shown\033[0m\n\033[94m[ shown, too ]\033[0m\n"
    with pytest.raises(KeyError):
        Print.warn("fatal", raises=KeyError)


def test_functions_return_what_those_of_pyss3_do():
    assert [sigmoid(1, 0), sigmoid(0.2, 0.2)] == [0, 0.5]
    assert sigmoid(1, 2) == pytest.approx(0.04743, abs=1e-5)
    assert [mad([1, 1, 1], 3), mad([], 1), mad([1, 10, 1], 3)] == [(1, 0), (0, 0), (1, 3)]
    ranked = [(6, 8.1), (7, 5.6), (2, 5.5), (4, 1.5), (5, 1.3), (3, 1.2), (0, 1.1), (1, 0.4)]
    assert kmean_multilabel_size(ranked) == 3
    assert kmean_multilabel_size([(0, 10), (1, 10)]) == 0
    numbers = RecursiveDefaultDict()
    numbers["a"]["b"]["c"] = 1
    assert numbers == {"a": {"b": {"c": 1}}}


def test_helpers_are_those_of_pyss3():
    assert span(0, 1, 3).tolist() == [0, 0.5, 1]
    assert frange(0, 1, 0.5).tolist() == [0, 0.5]
    assert Preproc.clean_and_ready("It's 25%, Zoë: #a #b") == "its nnbrrp . zoe . a . b ."
    assert Preproc.clean_and_ready("It's 25%", dots=False, normalize=False) == "it s nnbrrp"


# The live page


@pytest.fixture
def served(monkeypatch):
    """Return what the page is asked to show, instead of showing it."""
    seen = []

    def serve(*shown, **options):
        seen.append((Content(*shown), options))

    monkeypatch.setattr("watchword.pyss3.server.serve", serve)
    return seen


def test_live_test_shows_the_classifier_and_its_documents(clf, served):
    Live_Test.run(clf, TEXTS[100:], LABELS[100:], port=8123)
    [(content, options)] = served
    assert content.documents.about() == {
        "total": 50,
        "labelled": 50,
        "labels": ["food", "garden", "music"],
    }
    assert options["port"] == 8123
    assert options["open_browser"]
    with pytest.raises(ValueError, match="same length"):
        Live_Test.run(clf, TEXTS[100:], LABELS[:1])


def test_live_test_shows_documents_with_several_labels(served):
    clf = SS3()
    texts = ["hot soup, hot soup", "a match, a match", "soup, match, soup, match"]
    clf.fit(texts, [[1], ["b"], [1, "b"]])
    Live_Test.run(clf, texts, [[1], ["b"], []])
    assert served[0][0].documents.labels == ["1", "b"]


def test_live_test_shows_what_was_set_before(clf, served, tmp_path):
    (tmp_path / "food.txt").write_text("hot soup\ncold soup")
    Live_Test.set_model(clf)
    assert Live_Test.set_testset_from_files(tmp_path, folder_label=False)
    Live_Test.run()
    assert served[0][0].documents.about()["total"] == 2


def test_live_test_without_a_classifier_says_so(served, capsys):
    Live_Test.set_model(None)
    Live_Test.run()
    assert not served
    assert "a model must be given" in capsys.readouterr().out


def test_programs_are_answered_after_start_listening(clf):
    Live_Test.set_model(clf)
    Live_Test.set_testset(["hot soup", "a song"], ["food", "music"])
    port = Live_Test.start_listening()
    threading.Thread(target=Live_Test.serve, daemon=True).start()

    def post(path, body=b"", **headers):
        with urlopen(Request(f"http://127.0.0.1:{port}/{path}", body, headers)) as response:
            return json.load(response)

    described = post("get_info")
    assert described["categories"] == [*clf.get_categories(), "[unknown]"]
    assert described["docs"]["music"]["path"] == [":x_test:1"]
    assert post("get_doc", b":x_test:1") == {"content": "a song"}
    assert post("classify", b"hot+soup")["cv"] == clf.classify("hot soup", json=True)["cv"]
    with pytest.raises(HTTPError, match="404"):
        post("get_doc", b"/etc/passwd")
    with pytest.raises(HTTPError, match="403"):
        post("classify", b"soup", Host="example.org")
    Live_Test.__server_socket__ = None


def test_live_test_listens_on_this_machine_only(clf, monkeypatch):
    seen = []
    monkeypatch.setattr("watchword.web.listening.run_until_interrupted", lambda *_: None)
    Live_Test.run(clf, browser=False, on_ready=seen.append)
    assert seen[0].address.startswith("http://127.0.0.1:")
    assert seen[0].token


def test_live_test_reads_with_a_function_that_cleans(clf):
    model = clf.to_watchword(prep_func=str.lower)
    text = "The1, THEA theb?"
    expected = clf.classify(text, prep_func=str.lower, json=True)["cv"]
    assert list(model.confidence_one(text).values()) == pytest.approx(expected)
