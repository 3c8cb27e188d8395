"""watchword.spark.classify and watch: the same results as on one machine."""

from dataclasses import dataclass

import pytest

import watchword as ww
from spark_samples import (
    SCHEMA,
    as_decision,
    expected,
    in_batches,
    people_and_model,
    posts_of,
    run,
    states_in,
    stream_of,
    write_batches,
)
from watchword import spark as ws

POLICY = ww.Overtakes("at risk", margin=0.2)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    people, model, path = people_and_model(folder)
    return posts_of(people), model, path


@pytest.fixture(scope="module")
def refined(known, tmp_path_factory):
    posts, counted, _ = known
    model = counted.replace()
    model.refine([post["text"] for post in posts], counted.predict_many(texts_of(posts)))
    path = tmp_path_factory.mktemp("refined") / "model.ww"
    model.save(path)
    return posts, model, str(path)


def texts_of(posts):
    return [post["text"] for post in posts]


# classify


@pytest.mark.parametrize("kind", ["known", "refined"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_labels_and_confidences_equal_those_of_one_machine(spark, request, kind, partitions):
    posts, model, path = request.getfixturevalue(kind)
    posts = [*posts, {"subject": "x", "seq": 0, "id": "x/0", "text": ""}]
    frame = spark.createDataFrame(posts, SCHEMA).repartition(partitions)
    rows = ws.classify(frame, path).collect()
    texts = [row["text"] for row in rows]
    assert sorted(texts) == sorted(post["text"] for post in posts)
    assert [row["label"] for row in rows] == model.predict_many(texts)
    values = [[row["confidence"][label] for label in model.labels] for row in rows]
    assert values == model.confidence_many(texts).tolist()


def test_columns_can_be_named(spark, known):
    _, _, path = known
    frame = spark.createDataFrame([("a", 1)], "words string, label int")
    found = ws.classify(frame, path, text="words", label="guess", confidence="why")
    assert found.columns == ["words", "label", "guess", "why"]


def test_names_of_columns_may_have_dots_and_backticks(spark, known):
    posts, model, path = known
    names = ("who.is", "the `text`", "no.", "order.by")
    rows = [(post["subject"], post["text"], post["id"], post["seq"]) for post in posts]
    frame = spark.createDataFrame(rows, list(names))
    subject, text, post_id, order = names
    guesses = ws.classify(frame, path, text=text, label="the.guess").collect()
    assert [row["the.guess"] for row in guesses] == model.predict_many([row[1] for row in rows])
    told = ws.watch(
        frame, path, POLICY, subject=subject, text=text, post_id=post_id, order=order
    ).collect()
    assert {(row[subject], row[post_id], row[order]) for row in told} == {
        (row[0], row[2], row[3]) for row in rows
    }
    learnt = ws.fit(frame, text=text, label=subject)
    assert set(learnt.labels) == {row[0] for row in rows}


def test_labels_that_are_numbers_stay_numbers(spark, tmp_path):
    model = ww.TauSS3()
    model.learn_many(["good day", "bad night"], [1, -(2**40)])
    model.save(tmp_path / "numbers.ww")
    frame = spark.createDataFrame([("bad",)], "text string")
    [row] = ws.classify(frame, tmp_path / "numbers.ww").collect()
    assert row["label"] == -(2**40)
    assert row["confidence"] == model.confidence_one("bad")


# watch


@pytest.mark.parametrize("kind", ["known", "refined"])
def test_every_decision_equals_that_of_a_reader(spark, request, kind, tmp_path):
    known = request.getfixturevalue(kind)
    posts, model, path = known
    write_batches(tmp_path / "posts", in_batches(posts, 4))
    stream = stream_of(spark, tmp_path / "posts")
    rows = run(ws.watch(stream, path, POLICY, post_id="id", order="seq"), tmp_path)
    decisions, states = expected(model, POLICY, posts)
    assert len(rows) == len(posts)
    assert {row["id"]: as_decision(row) for row in rows} == decisions
    assert [row["is_new"] for row in rows] == [as_decision(row).is_new for row in rows]
    assert any(row["is_new"] for row in rows)
    assert states_in(spark, tmp_path) == states


def test_a_batch_frame_is_read_to_its_end(spark, known):
    posts, model, path = known
    frame = spark.createDataFrame(posts, SCHEMA).repartition(5)
    rows = ws.watch(frame, path, POLICY, post_id="id", order="seq", alerts_only=True).collect()
    decisions, _ = expected(model, POLICY, posts)
    assert {row["id"]: as_decision(row) for row in rows} == {
        post: decision for post, decision in decisions.items() if decision.is_new
    }


def test_duplicate_posts_are_read_once(spark, known, tmp_path):
    posts, model, path = known
    first, second = in_batches(posts, 2)
    write_batches(tmp_path / "posts", [first + first[:20], first[::3] + second + second[::2]])
    stream = stream_of(spark, tmp_path / "posts")
    rows = run(ws.watch(stream, path, POLICY, post_id="id", order="seq"), tmp_path)
    decisions, states = expected(model, POLICY, posts)
    assert len(rows) == len(posts)
    assert {row["id"]: as_decision(row) for row in rows} == decisions
    assert states_in(spark, tmp_path) == states


def test_post_ids_may_be_any_bytes(spark, known):
    _, _, path = known
    ids = [b"\xff", b"\xfe", b"\xff"]  # as text, all would be alike
    posts = [("ann", "tired", each) for each in ids]
    frame = spark.createDataFrame(posts, "subject string, text string, id binary").coalesce(1)
    told = ws.watch(frame, path, POLICY, post_id="id").collect()
    assert [bytes(row["id"]) for row in told] == ids[:2]


def test_a_duplicate_beyond_the_horizon_is_read_again(spark, known):
    _, _, path = known
    posts = [("ann", at, f"{at % 3}", "tired") for at in range(6)]
    frame = spark.createDataFrame(posts, SCHEMA)
    read = ws.watch(frame, path, POLICY, post_id="id", order="seq", horizon=2)
    assert read.count() == 6
    remembered = ws.watch(frame, path, POLICY, post_id="id", order="seq", horizon=3)
    assert remembered.count() == 3


def test_posts_out_of_order_are_skipped_without_post_ids(spark, known, tmp_path):
    _, model, path = known
    batches = [[5, 3, 4, 3], [4, 2, 6, 7]]
    made = [
        [{"subject": "ann", "seq": at, "id": f"{at}", "text": f"tired {at}"} for at in batch]
        for batch in batches
    ]
    write_batches(tmp_path / "posts", made)
    stream = stream_of(spark, tmp_path / "posts")
    rows = run(ws.watch(stream, path, POLICY, order="seq"), tmp_path)
    assert sorted((row["posts"], row["seq"]) for row in rows) == [
        (1, 3), (2, 4), (3, 5), (4, 6), (5, 7),
    ]  # fmt: skip
    reader = model.reader(POLICY)
    for at in (3, 4, 5, 6, 7):
        reader.read(f"tired {at}")
    assert states_in(spark, tmp_path) == {"ann": reader.to_bytes()}


def test_a_late_post_is_read_on_arrival(spark, known, tmp_path):
    _, _, path = known
    made = [
        [{"subject": "ann", "seq": at, "id": f"{at}", "text": "tired"} for at in batch]
        for batch in ([1, 3], [2, 4])
    ]
    write_batches(tmp_path / "posts", made)
    stream = stream_of(spark, tmp_path / "posts")
    rows = run(ws.watch(stream, path, POLICY, post_id="id", order="seq"), tmp_path)
    assert [row["seq"] for row in sorted(rows, key=lambda row: row["posts"])] == [1, 3, 2, 4]


def test_the_order_column_may_be_a_time(spark, known):
    _, _, path = known
    frame = spark.sql(
        "select 'ann' as subject, 'tired' as text, timestamp '2026-01-02 03:04:05.678' as time, "
        "date '2026-01-02' as day"
    )
    [row] = ws.watch(frame, path, POLICY, order="time").collect()
    assert row["time"] == frame.collect()[0]["time"]
    [row] = ws.watch(frame, path, POLICY, order="day").collect()
    assert row["day"] == frame.collect()[0]["day"]


def test_posts_without_an_order_are_read_as_they_arrive(spark, known):
    posts, model, path = known
    frame = spark.createDataFrame(posts, SCHEMA).coalesce(1)
    rows = ws.watch(frame, path, ww.Repeats("at risk", times=2), post_id="id").collect()
    decisions, _ = expected(model, ww.Repeats("at risk", times=2), posts)
    assert {row["id"]: as_decision(row) for row in rows} == decisions


def test_a_custom_policy_is_sent_to_the_workers(spark, known):
    @dataclass(frozen=True)
    class Doubles(ww.Policy):
        positive: str

        def alerts(self, step):
            return step.value > 2 * step.other

    posts, model, path = known
    policy = Doubles("at risk").after(2) | ww.Leaps("at risk", factor=8)
    frame = spark.createDataFrame(posts, SCHEMA)
    rows = ws.watch(frame, path, policy, post_id="id", order="seq").collect()
    decisions, _ = expected(model, policy, posts)
    assert {row["id"]: as_decision(row) for row in rows} == decisions


def test_a_policy_that_compares_subjects_is_refused(spark, known):
    _, _, path = known
    frame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(ValueError, match="compares all subjects of a round"):
        ws.watch(frame, path, ww.StandsOut("at risk"))


def test_resuming_with_another_model_must_be_allowed(spark, known, tmp_path):
    posts, model, path = known
    first, second = in_batches(posts, 2)
    write_batches(tmp_path / "posts", [first])
    stream = stream_of(spark, tmp_path / "posts")
    run(ws.watch(stream, path, POLICY, post_id="id", order="seq"), tmp_path)
    write_batches(tmp_path / "posts", [second], begin=1)
    other = tmp_path / "other.ww"
    model.replace(smoothness=0.2).save(other)
    changed = ws.watch(stream, other, POLICY, post_id="id", order="seq")
    with (
        pytest.raises(ww.errors.StateError, match="was saved with another model"),
        ws.clear_errors(),
    ):
        run(changed, tmp_path)
    allowed = ws.watch(stream, other, POLICY, post_id="id", order="seq", allow_changed_model=True)
    assert len(run(allowed, tmp_path)) == len(posts)
