"""watchword spark: its commands, run in the session of the tests."""

import json
import subprocess
from pathlib import Path

import pytest

import watchword as ww
from command_line import failure, records, write_lines
from spark_cluster import SETTINGS, environment

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records("make", "posts.jsonl", "--subjects", 30, "--by-time")
    return tmp_path


def test_train_writes_the_same_model_as_without_spark(here):
    records("train", "posts.jsonl", "-o", "one.ww", "--max-ngram", 2)
    [told] = records("spark", "train", "posts.jsonl", "-o", "many.ww", "--max-ngram", 2)
    assert told["model"] == "many.ww"
    assert (here / "one.ww").read_bytes() == (here / "many.ww").read_bytes()


def test_train_runs_under_spark_submit(here, cluster):
    """Follow the page on Spark, with a separate driver."""
    import pyspark

    records("train", "posts.jsonl", "-o", "one.ww")
    script = here / "submit.py"
    script.write_text("from watchword.__main__ import main; raise SystemExit(main())")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
    done = subprocess.run(
        [submit, "--master", cluster.url, *settings, script,
         "spark", "train", "posts.jsonl", "-o", "many.ww"],
        capture_output=True, text=True, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout)["model"] == "many.ww"
    assert (here / "one.ww").read_bytes() == (here / "many.ww").read_bytes()


def test_train_reads_text_files_and_adds_to_a_model(here):
    for label, number, text in (("good day", 1, "a+b"), ("bad", 1, "c d"), ("bad", 2, "e\n\nf")):
        (here / "texts" / label).mkdir(parents=True, exist_ok=True)
        (here / "texts" / label / f"{number}.txt").write_text(text, encoding="utf-8")
    records("train", "texts", "-o", "one.ww", "--no-refine")
    records("spark", "train", "texts", "--format", "text", "-o", "many.ww")
    assert (here / "one.ww").read_bytes() == (here / "many.ww").read_bytes()
    [told] = records(
        "spark", "train", "texts", "--format", "text", "-o", "more.ww", "--add-to", "many.ww"
    )
    assert told["documents"] == {"bad": 4, "good day": 2}


def test_classify_adds_columns(here, spark):
    records("train", "posts.jsonl", "-o", "model.ww")
    [told] = records(
        "spark", "classify", "model.ww", "posts.jsonl", "--label", "guess", "-o", "out.parquet"
    )
    rows = spark.read.parquet(str(here / "out.parquet")).collect()
    model = ww.TauSS3.load("model.ww")
    contents = [ww.Post(row["text"], title=row["title"]).content for row in rows]
    assert [row["guess"] for row in rows] == model.predict_many(contents)
    assert sum(told["labels"].values()) == len(rows)
    assert "already exists" in failure(
        "spark", "classify", "model.ww", "posts.jsonl", "--label", "guess", "-o", "out.parquet",
        code=2,
    )  # fmt: skip


@pytest.mark.usefixtures("here")
def test_a_failed_classify_leaves_no_output(here):
    records("train", "posts.jsonl", "-o", "model.ww")
    write_lines(here / "some.jsonl", [{"text": "tired", "title": "So"}, {"text": None}])
    command = ("spark", "classify", "model.ww", "some.jsonl", "-o", "out.json")
    assert failure(*command).startswith("Error: column 'text' contains null")
    assert not (here / "out.json").exists()
    write_lines(here / "some.jsonl", [{"text": "tired", "title": "So"}])
    [told] = records(*command)
    assert sum(told["labels"].values()) == 1
    written = "".join(part.read_text() for part in (here / "out.json").glob("*.json"))
    row = json.loads(written)
    assert (row["text"], row["title"]) == ("tired", "So")


def test_classify_accepts_an_empty_table(here, spark):
    records("train", "posts.jsonl", "-o", "model.ww")
    spark.createDataFrame([], "text string").write.parquet(str(here / "none.parquet"))
    command = ("spark", "classify", "model.ww", "none.parquet")
    assert records(*command, "-o", "out.json") == [{"output": "out.json", "labels": {}}]
    assert records(*command, "-o", "out.parquet") == [{"output": "out.parquet", "labels": {}}]


@pytest.mark.parametrize("kind", ["string", "timestamp_ntz"])
def test_times_in_parquet_may_be_text_or_naive(here, spark, kind):
    records("train", "posts.jsonl", "-o", "model.ww")
    posts = spark.read.json(str(here / "posts.jsonl")).select("subject", "text", "post_id", "time")
    posts.withColumn("time", posts["time"].cast(kind)).write.parquet(str(here / "posts.parquet"))
    [told] = records(
        "spark", "watch", "model.ww", "posts.parquet", "--positive", "at risk", "--order", "time",
        "--checkpoint", "checkpoint", "-o", "alerts.json",
    )  # fmt: skip
    write_lines(here / "plain.jsonl", [row.asDict() for row in posts.collect()])
    alerts = records("watch", "model.ww", "plain.jsonl", "--positive", "at risk")
    assert told["alerts"] == len(alerts) > 0


def test_watch_resumes_from_its_checkpoint(here, spark):
    records("train", "posts.jsonl", "-o", "model.ww")
    records("make", "new.jsonl", "--subjects", 20, "--seed", 1, "--by-time")
    lines = [json.loads(line) for line in (here / "new.jsonl").read_text().splitlines()]
    (here / "new").mkdir()
    command = (
        "spark", "watch", "model.ww", "new", "--positive", "at risk", "--post-id", "post_id",
        "--order", "time", "--checkpoint", "checkpoint", "-o", "alerts.json",
    )  # fmt: skip
    some = len(lines) // 8
    write_lines(here / "new" / "1.json", lines[:some])
    [first] = records(*command)
    write_lines(here / "new" / "2.json", lines[some:])
    [second] = records(*command)
    assert (first["posts"], second["posts"]) == (some, len(lines) - some)
    alerts = records("watch", "model.ww", "new.jsonl", "--positive", "at risk")
    assert second["alerts"] == len(alerts) > first["alerts"]
    found = spark.read.schema("subject string, delay long").json(str(here / "alerts.json"))
    assert {(row["subject"], row["delay"]) for row in found.collect()} == {
        (alert["subject"], alert["delay"]) for alert in alerts
    }
    anew = [*command[:-3], "other", *command[-2:]]
    assert "was written with another checkpoint than other" in failure(*anew, code=2)
    elsewhere = [*command[:-1], "elsewhere.json"]
    assert "belongs to another output than elsewhere.json" in failure(*elsewhere, code=2)
    assert records(*command) == [second | {"posts": 0}]


@pytest.mark.usefixtures("here")
def test_errors_are_one_line():
    records("train", "posts.jsonl", "-o", "model.ww")
    missing = failure("spark", "train", "nowhere.jsonl", "-o", "x.ww")
    assert missing == "Error: nowhere.jsonl: no such file or folder\n"
    assert "use --format" in failure("spark", "train", "data", "-o", "x.ww", code=2)
    wrong = failure("spark", "train", "posts.jsonl", "-o", "x.ww", "--text", "body")
    assert wrong.startswith("Error: column 'body' for text not found")
    assert wrong.endswith("(use --text COLUMN)\n")
    assert "--levelwise requires --prune" in failure(
        "spark", "train", "posts.jsonl", "-o", "x.ww", "--levelwise", code=2
    )
    assert "is not KEY=VALUE" in failure(
        "spark", "train", "posts.jsonl", "-o", "x.ww", "--set", "x", code=2
    )
    assert "use --prune instead" in failure(
        "spark", "train", "posts.jsonl", "-o", "x.ww", "--prune-floor", 5, code=2
    )
    assert "depends on the order of texts" in failure(
        "spark", "train", "posts.jsonl", "-o", "x.ww", "--prune-period", 100, code=2
    )
    assert "text files have no subjects" in failure(
        "spark", "watch", "model.ww", "lines.txt", "--positive", "at risk", "--checkpoint", "c",
        "-o", "out", code=2,
    )  # fmt: skip
