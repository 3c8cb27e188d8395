"""watchword.spark.fit: the same model as on one machine, byte for byte."""

import secrets
from typing import Any

import pytest

import watchword as ww
from spark_samples import frame_of, learnt, texts
from watchword import spark as ws

ROWS = texts()


@pytest.mark.parametrize("partitions", [1, pytest.param(2, marks=pytest.mark.quick), 7])
def test_the_model_equals_that_of_one_machine(spark, partitions):
    frame = frame_of(spark, ROWS).repartition(partitions)
    assert ws.fit(frame).to_bytes() == learnt(ROWS).to_bytes()


def test_partitions_may_be_empty(spark):
    frame = frame_of(spark, ROWS[:3]).repartition(7)
    assert ws.fit(frame).to_bytes() == learnt(ROWS[:3]).to_bytes()


def test_a_frame_without_rows_gives_an_empty_model(spark):
    assert ws.fit(frame_of(spark, [])).to_bytes() == ww.TauSS3().to_bytes()


def test_the_model_does_not_depend_on_most_ngrams(spark):
    frame = frame_of(spark, ROWS).repartition(2)
    assert ws.fit(frame, most_ngrams=10).to_bytes() == learnt(ROWS).to_bytes()


def test_fit_accepts_numeric_labels_and_model_parameters(spark):
    numbered = [(text, -1 if label == "rare" else 2**40) for text, label in ROWS]
    frame = frame_of(spark, numbered, "long").withColumnsRenamed({"text": "t", "label": "l"})
    settings: dict[str, Any] = {"max_ngram": 2, "smoothness": 0.3, "paragraphs": "blank_lines"}
    model = ws.fit(frame, text="t", label="l", **settings)
    assert model.to_bytes() == learnt(numbered, **settings).to_bytes()


@pytest.mark.parametrize(
    "model",
    [
        ww.TauSS3.paper(),
        ww.TauSS3(),
        ww.TauSS3.paper(prune_floor=3, prune_shortest=2, prior=1),
        ww.TauSS3.pyss3(prune_period=None, max_ngram=2),
    ],
    ids=["paper", "default", "other", "pyss3"],
)
def test_the_parameters_of_a_model_give_an_equal_model(spark, model):
    found = ws.fit(frame_of(spark, ROWS), **model.parameters)
    assert found.to_bytes() == learnt(ROWS, **model.parameters).to_bytes()
    assert not found.statistics.pruned


def test_a_word_hook_is_sent_to_the_workers(spark):
    def shortened(word):
        return None if word == "the" else word[:4]

    model = ws.fit(frame_of(spark, ROWS), word_hook=shortened)
    assert model.to_bytes() == learnt(ROWS, word_hook=shortened).to_bytes()
    assert model.predict_one("the garden") in model.labels


@pytest.mark.parametrize("shortest", [1, 2])
def test_prune_equals_pruning_once_at_the_end(spark, shortest):
    frame = frame_of(spark, ROWS).repartition(2)
    wanted = learnt(ROWS, prune_shortest=shortest)
    wanted.prune(3, shortest)
    found = ws.fit(frame, prune=3, prune_shortest=shortest)
    assert found.to_bytes() == wanted.to_bytes()


@pytest.mark.parametrize("shortest", [1, 2])
def test_levelwise_counts_equal_counts_pruned_at_the_end(spark, shortest):
    frame = frame_of(spark, ROWS).repartition(3)
    wanted = learnt(ROWS)
    wanted.prune(3, shortest)
    found = ws.fit(frame, prune=3, prune_shortest=shortest, levelwise=True)
    assert found.counts() == wanted.counts()
    assert found.statistics.words == wanted.statistics.words
    assert found.statistics.documents == wanted.statistics.documents
    assert found.statistics.pruned


def test_pruning_all_ngrams_keeps_the_labels(spark):
    found = ws.fit(frame_of(spark, ROWS), prune=10**6, levelwise=True)
    assert found.counts() == {}
    assert found.labels == ("common", "rare")


def test_fit_adds_to_a_model(spark):
    known = learnt(ROWS[:100])
    found = ws.fit(frame_of(spark, ROWS[100:]), add_to=known)
    assert found.to_bytes() == learnt(ROWS).to_bytes()
    assert known.to_bytes() == learnt(ROWS[:100]).to_bytes()


def test_fit_file_adds_to_a_model_file(spark, tmp_path):
    learnt(ROWS[:100]).save(tmp_path / "known.ww")
    path = tmp_path / "all.ww"
    ws.fit_file(frame_of(spark, ROWS[100:]), path, add_to=tmp_path / "known.ww", max_ngram=2)
    shorter = learnt(ROWS).replace(max_ngram=2)
    assert path.read_bytes() == shorter.to_bytes()


def test_unlearn_removes_the_texts_of_a_frame(spark):
    rest = ws.unlearn(frame_of(spark, ROWS[100:]), learnt(ROWS))
    assert rest.to_bytes() == learnt(ROWS[:100]).to_bytes()


def test_unlearning_all_texts_of_a_label_removes_it(spark):
    rare = [row for row in ROWS if row[1] == "rare"]
    assert ws.unlearn(frame_of(spark, rare), learnt(ROWS)).labels == ("common",)


def test_unlearning_texts_that_were_not_learnt_is_refused(spark):
    with pytest.raises(ww.errors.UnlearnError, match="cannot unlearn this frame"):
        ws.unlearn(frame_of(spark, ROWS), learnt(ROWS[:100]))


@pytest.mark.parametrize("text", ["a", "c", "b b", "b b b", "a b c"])
def test_unlearning_other_texts_of_the_same_length_is_refused(spark, text):
    model = learnt([("b", "x"), ("b b b", "y")])
    with pytest.raises(ww.errors.UnlearnError, match="not all of its texts were learnt"):
        ws.unlearn(frame_of(spark, [(text, "x")]), model)


def test_fit_adds_to_a_model_with_a_summary_function(spark, tmp_path):
    def largest(rows):
        return rows.max(axis=0)

    summary = {"sentence": "sum", "paragraph": "sum", "document": largest}
    model = learnt(ROWS[:100], summary=summary)
    model.save(tmp_path / "base.ww")
    more = ws.fit(frame_of(spark, ROWS[100:]), add_to=tmp_path / "base.ww", summary=summary)
    assert more.to_bytes() == learnt(ROWS, summary=summary).to_bytes()


def test_adding_to_a_refined_model_is_refused(spark):
    model = ww.TauSS3()
    model.learn_many(["a b", "c d"], ["x", "y"])
    model.refine(["a b", "c d"], ["x", "y"])
    frame = spark.createDataFrame([("a", "x")], "text string, label string")
    with pytest.raises(ValueError, match="cannot add to a refined model"):
        ws.fit(frame, add_to=model)


def test_adding_to_a_pruned_model_is_refused(spark, tmp_path):
    pruned = learnt(ROWS)
    pruned.prune(2)
    pruned.save(tmp_path / "pruned.ww")
    for model in (pruned, tmp_path / "pruned.ww"):
        with pytest.raises(ww.errors.PrunedModelError, match="not be exact"):
            ws.fit(frame_of(spark, ROWS), add_to=model)


def test_periodic_pruning_is_refused_with_the_reason(spark):
    with pytest.raises(ValueError, match="depends on the order of texts"):
        ws.fit(frame_of(spark, ROWS), prune_period=1000)


def test_levelwise_counting_refuses_a_frame_that_changes(spark):
    def at_least_half(batches):  # what Spark calls random is the same again for the same frame
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half + secrets.randbelow(half + 1))

    whole = frame_of(spark, ROWS * 20)
    some = whole.mapInArrow(at_least_half, whole.schema)
    with pytest.raises(
        ww.errors.DataFormatError, match="returned other rows when it was read again"
    ):
        ws.fit(some, prune=2, levelwise=True)


def test_adding_to_a_model_with_periodic_pruning_is_refused(spark):
    model = ww.TauSS3(prune_period=10**9)
    model.learn_one("a b", "x")
    with pytest.raises(ValueError, match="depends on the order of texts"):
        ws.fit(frame_of(spark, ROWS), add_to=model)


def test_levelwise_counting_of_an_empty_frame_gives_no_labels(spark):
    frame = frame_of(spark, ROWS)
    assert ws.fit(frame.where("false"), prune=3, levelwise=True).labels == ()
    assert frame.repartition(3).count() == len(ROWS)


def written(change):
    """Return a hook that always has the same name, like a function edited in a notebook."""

    def spoken(word):
        return change(word)

    return spoken


def test_a_model_file_can_be_used_with_another_word_hook(spark, tmp_path):
    path, rows = tmp_path / "hooked.ww", [("Good", "x"), ("bad", "y")] * 3
    loud, quiet = written(str.upper), written(str.lower)
    model = ww.TauSS3(prior=0, word_hook=loud)
    model.learn_many([text for text, _ in rows], [label for _, label in rows])
    model.save(path)
    frame = frame_of(spark, rows).select("text")
    with pytest.raises(ww.errors.HookError):
        ws.classify(frame, path)

    def confidences(hook):
        found = ws.classify(frame, path, word_hook=hook).collect()
        return {(row["text"], *row["confidence"].values()) for row in found}

    expected = {(text, *model.confidence_one(text).values()) for text, _ in rows}
    assert confidences(quiet) != expected
    assert confidences(loud) == expected
    with pytest.raises(ww.errors.HookError):
        ws.classify(frame, path)


def test_columns_that_differ_in_case_are_not_replaced(spark, tmp_path):
    learnt(ROWS).save(tmp_path / "model.ww")
    gold = frame_of(spark, ROWS).withColumnRenamed("label", "Label")
    with pytest.raises(ww.errors.DataFormatError, match="column 'Label' already exists"):
        ws.classify(gold, tmp_path / "model.ww")
    with pytest.raises(ValueError, match="must be two columns"):
        ws.classify(gold, tmp_path / "model.ww", label="q", confidence="Q")
