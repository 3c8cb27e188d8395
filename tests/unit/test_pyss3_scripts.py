"""Scripts of PySS3's README and tutorials, typed again, with the import changed."""

import pytest

from watchword.pyss3 import SS3, server, set_verbosity, util
from watchword.web import LivePage

TOPICS = {
    "beauty": "red lipstick and nail polish, nail polish for long nails",
    "food": "roast chicken with rice, fried chicken, chicken soup",
    "sports": "the match was won by the home team, the team won the match",
}


@pytest.fixture
def topics(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for part, copies in (("train", 12), ("test", 2)):
        folder = tmp_path / "datasets" / "topic" / part
        folder.mkdir(parents=True)
        for label, text in TOPICS.items():
            (folder / f"{label}.txt").write_text("\n".join([text] * copies))
    set_verbosity(0)
    yield tmp_path
    set_verbosity(1)


@pytest.mark.usefixtures("topics")
def test_topic_categorization(monkeypatch):
    x_train, y_train = util.Dataset.load_from_files("datasets/topic/train", folder_label=False)
    x_test, y_test = util.Dataset.load_from_files("datasets/topic/test", folder_label=False)

    clf = SS3()
    clf.train(x_train, y_train)
    y_pred = clf.predict(x_test)
    assert y_pred == y_test

    s, l, p, _ = util.Evaluation.grid_search(  # noqa: E741
        clf,
        x_test,
        y_test,
        s=util.span(0.2, 0.8, 6),
        l=util.span(0.1, 2, 6),
        p=util.span(0.5, 2, 6),
    )
    clf.set_hyperparameters(s, l, p)
    assert util.Evaluation.test(clf, x_test, y_test, plot=False) == 1

    clf = SS3(name="topics_3grams", s=0.32, l=1.24, p=1.1)
    clf.train(x_train, y_train, n_grams=3)
    assert clf.get_ngrams_length() == 3
    clf.save_model()
    clf = SS3(name="topics_3grams")
    clf.load_model()
    assert clf.get_hyperparameters() == (0.32, 1.24, 1.1, 0.0)
    assert clf.predict(x_test) == y_test

    pages: list[LivePage] = []
    monkeypatch.setattr("watchword.web.listening.run_until_interrupted", lambda *_: None)
    monkeypatch.setattr("webbrowser.open", pages.append)
    server.Live_Test.run(clf, x_test, y_test)
    assert len(pages) == 1


def test_readme(topics, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: None)
    x_train, y_train = util.Dataset.load_from_files("datasets/topic/train", folder_label=False)

    clf = SS3()
    clf.fit(x_train, y_train)
    document = "A roast chicken after the match"
    assert clf.classify_label(document) in TOPICS
    assert set(clf.classify_multilabel(document)) <= set(TOPICS)

    best_s, best_l, best_p, _ = util.Evaluation.grid_search(
        clf,
        x_train,
        y_train,
        s=[0.2, 0.32, 0.44, 0.56, 0.68, 0.8],
        l=[0.1, 0.48, 0.86],
        p=[0.5, 0.8, 1.1],
        k_fold=4,
    )
    assert (best_s, best_l, best_p) == (0.2, 0.1, 0.5)
    util.Evaluation.plot()
    assert (topics / "ss3_model_evaluation[model].html").exists()


@pytest.mark.usefixtures("topics")
def test_extract_insight():
    x_train, y_train = util.Dataset.load_from_files("datasets/topic/train", folder_label=False)
    clf = SS3()
    clf.train(x_train, y_train, n_grams=3)
    document = "We ate roast chicken with rice.\nThen the home team won the match."
    assert clf.classify_label(document) in ("food", "sports")
    [(fragment, value), *_] = clf.extract_insight(document, cat="food")
    assert "chicken" in fragment
    assert value > 0
    assert [text for text, _ in clf.extract_insight(document, cat="food", level="sentence")] == [
        "We ate roast chicken with rice"
    ]
    paragraphs = clf.extract_insight(document, cat="sports", level="paragraph")
    assert paragraphs[0][0] == "Then the home team won the match."
    assert clf.extract_insight(document, cat="food", window_size=0)


def test_custom_preprocessing_and_learning(topics):
    clf = SS3()
    clf.set_block_delimiters(parag="\n\n", word=r"\s")
    for label, text in TOPICS.items():
        clf.learn(text.lower(), label, n_grams=2, prep=False, update=False)
    clf.update_values(force=True)
    assert clf.classify_label("chicken", prep=False) == "food"
    assert clf.classify("CHICKEN", prep=False)[0][1] == 0
    assert clf.classify("CHICKEN", prep_func=str.lower)[0][0] == clf.get_category_index("food")
    clf.save_vocab(topics)
    clf.save_wordcloud("food", top_n=10, n_grams=2, path=topics / "food.svg")
    assert "chicken" in clf.get_stopwords(2)
