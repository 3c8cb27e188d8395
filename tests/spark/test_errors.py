"""Errors of Spark: one line each, with advice."""

import importlib.util
import threading

import pytest

import watchword as ww
from spark_samples import SCHEMA, people_and_model
from watchword import spark as ws
from watchword.spark import needs

POLICY = ww.Overtakes("at risk")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return people_and_model(tmp_path_factory.mktemp("errors"), subjects=4)[2]


def said(error):
    """Return the message of an error, which must be one line."""
    message = str(error.value)
    assert "\n" not in message
    return message


# Requirements


@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "pandas", "google.protobuf"])
def test_a_missing_package_is_named_with_the_install_command(monkeypatch, module):
    found = importlib.util.find_spec

    def find_spec(name):
        return None if name == module else found(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(ww.errors.MissingExtraError) as error:
        needs.require()
    assert module in said(error)
    assert "pip install 'watchword[spark]'" in said(error)


def test_pandas_3_is_refused(monkeypatch):
    import pandas

    monkeypatch.setattr(pandas, "__version__", "3.1.1")
    with pytest.raises(ww.errors.MissingExtraError) as error:
        needs.require()
    assert "pip install 'pandas>=2.2,<3'" in said(error)


def test_an_old_pyspark_is_refused(monkeypatch):
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "4.0.1")
    with pytest.raises(ww.errors.MissingExtraError, match=r"4\.0\.1 is too old"):
        needs.require()


def test_missing_java_is_an_error_with_advice(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ws.SparkError) as error:
        needs.require_java()
    assert "openjdk-17-jre-headless" in said(error)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ws.SparkError, match="no bin/java in JAVA_HOME"):
        needs.require_java()


# Frames


def test_a_missing_column_is_named_with_the_existing_columns(spark, path):
    frame = spark.createDataFrame([("a", "b")], "body string, label string")
    for attempt in (
        lambda: ws.fit(frame),
        lambda: ws.classify(frame, path, label="guess"),
        lambda: ws.watch(frame, path, POLICY, subject="label"),
    ):
        with pytest.raises(ww.errors.DataFormatError) as error:
            attempt()
        assert said(error) == (
            "column 'text' for text not found; the columns are 'body', 'label' (pass text=…)"
        )


def test_columns_of_the_wrong_type_are_refused(spark, path):
    frame = spark.createDataFrame([(1, 0.5)], "text int, label double")
    with pytest.raises(ww.errors.DataFormatError, match="must hold strings, but is int: cast it"):
        ws.classify(frame, path, label="guess")
    named = spark.createDataFrame([("a", 0.5)], "text string, label double")
    with pytest.raises(ww.errors.DataFormatError, match="strings or whole numbers, but is double"):
        ws.fit(named)
    with pytest.raises(ww.errors.DataFormatError, match="whole numbers or times, but is double"):
        ws.watch(named, path, POLICY, subject="text", order="label")
    nested = spark.createDataFrame([("a", ("b",))], "text string, id struct<inside string>")
    with pytest.raises(ww.errors.DataFormatError, match="must hold single values, but is struct"):
        ws.watch(nested, path, POLICY, subject="text", post_id="id")


def test_a_value_that_cannot_be_cast_to_a_time_is_named(spark, path):
    posts = spark.createDataFrame(
        [("ann", "tired", "soon")], "subject string, text string, at string"
    )
    posts = posts.withColumn("at", posts["at"].cast("timestamp"))
    with pytest.raises(ws.SparkError) as error, ws.clear_errors():
        ws.watch(posts, path, POLICY, order="at").collect()
    assert said(error) == (
        """The value 'soon' of the type "STRING" cannot be cast to "TIMESTAMP": """
        "correct the data, or drop these rows"
    )


def test_existing_columns_are_not_replaced(spark, path):
    frame = spark.createDataFrame([("a", "b")], "text string, label string")
    with pytest.raises(ww.errors.DataFormatError, match="column 'label' already exists"):
        ws.classify(frame, path)


@pytest.mark.parametrize("row", [(None, "x"), ("a", None)])
def test_null_is_refused_in_fit(spark, row):
    frame = spark.createDataFrame([("good", "x"), row], "text string, label string")
    name = "text" if row[0] is None else "label"
    with pytest.raises(ww.errors.DataFormatError) as error:
        ws.fit(frame)
    assert said(error) == (
        f"column '{name}' contains null: drop these rows with frame.where(\"{name} is not null\")"
    )


def test_null_is_refused_in_a_stream(spark, path):
    posts = [("ann", 1, "1", "tired"), ("ann", None, "2", "tired")]
    frame = spark.createDataFrame(posts, SCHEMA)
    with pytest.raises(ww.errors.DataFormatError, match="'seq' contains null"), ws.clear_errors():
        ws.watch(frame, path, POLICY, order="seq").collect()


def test_fit_refuses_a_stream(spark):
    stream = spark.readStream.format("rate").load()
    frame = stream.selectExpr("cast(value as string) as text", "value as label")
    with pytest.raises(ww.errors.DataFormatError, match="a streaming frame, which has no end"):
        ws.fit(frame)


# Models and functions


def test_a_model_file_missing_on_the_driver_is_an_error(spark, tmp_path):
    frame = spark.createDataFrame([("a",)], "text string")
    with pytest.raises(ww.errors.ModelFormatError) as error:
        ws.classify(frame, tmp_path / "nowhere.ww")
    assert "the driver also needs it" in said(error)


def test_a_model_file_missing_on_the_workers_is_an_error(spark):
    from watchword.spark.scoring import ModelFile

    with pytest.raises(ww.errors.ModelFormatError) as error:
        needs.check_workers(spark, ModelFile("/nowhere/model.ww"))
    assert "a worker cannot read the model file /nowhere/model.ww" in said(error)


def test_a_different_model_file_on_the_workers_is_an_error(spark, path):
    from watchword.spark.scoring import ModelFile

    with pytest.raises(ww.errors.ModelFormatError, match="another model file at"):
        needs.check_workers(spark, ModelFile(str(path), "0" * 32))


def test_a_tokenizer_that_cannot_be_pickled_is_an_error(spark):
    lock = threading.Lock()

    def tokenizer(text):
        with lock:
            return [(0, len(text), text)]

    frame = spark.createDataFrame([("a", "b")], "text string, label string")
    with pytest.raises(ws.SparkError) as error:
        ws.fit(frame, tokenizer=tokenizer)
    assert "the tokenizer cannot be sent to the workers" in said(error)


def test_errors_of_a_word_hook_keep_their_type(spark):
    def word_hook(word):
        return word + " "

    frame = spark.createDataFrame([("a", "b")], "text string, label string")
    with pytest.raises(ww.errors.HookError, match="must return a word without whitespace"):
        ws.fit(frame, word_hook=word_hook)


# Workers


def test_a_python_missing_on_the_workers_is_an_error(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(ws.SparkError) as error:
        needs.check_workers(spark)
    assert said(error) == (
        "the workers have no Python called /nowhere/python: set PYSPARK_PYTHON to one with "
        "watchword"
    )


def test_another_python_version_on_the_workers_is_an_error(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")
    with pytest.raises(ws.SparkError) as error:
        needs.check_workers(spark)
    assert "set PYSPARK_PYTHON to the same" in said(error)


def test_a_module_missing_on_the_workers_is_named(spark):
    def check(batches):
        import watchword_that_is_nowhere  # type: ignore[import-not-found]

        yield from watchword_that_is_nowhere.something(batches)

    with pytest.raises(ws.SparkError) as error, ws.clear_errors():
        spark.range(1).mapInArrow(check, "id long").collect()
    assert "no module watchword_that_is_nowhere" in said(error)


def test_other_errors_are_left_unchanged(spark):
    with pytest.raises(ZeroDivisionError), ws.clear_errors():
        _ = 1 / 0
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), ws.clear_errors():
        spark.sql("select 1 / 0").collect()
