"""Spark Connect, where the client has data frames only: the same results."""

import subprocess
import sys
from pathlib import Path

import pytest

import watchword as ww
from spark_cluster import environment
from spark_killable import POLICY
from spark_samples import (
    as_decision,
    expected,
    in_batches,
    learnt,
    people_and_model,
    posts_of,
    rows_in,
    texts,
    write_batches,
)

ROWS = texts(120)


@pytest.fixture(scope="module")
def client(cluster, tmp_path_factory):  # noqa: ARG001  (with the sanitizers it skips)
    """Run a client; return its folder, its model and its posts."""
    folder = tmp_path_factory.mktemp("connect")
    people, model, _ = people_and_model(folder, subjects=4)
    posts = posts_of(people)
    write_batches(folder / "posts", in_batches(posts, 2))
    script = Path(__file__).parents[1] / "support" / "spark_connected.py"
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True, text=True, timeout=300, check=False,
        # Only so is the port of the server a free one.
        env=environment() | {"SPARK_TESTING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder, model, posts


def test_models_equal_those_of_one_machine(client):
    folder, _, _ = client
    assert (folder / "learnt.ww").read_bytes() == learnt(ROWS).to_bytes()
    assert (folder / "unlearnt.ww").read_bytes() == learnt(ROWS[:50]).to_bytes()
    pruned = learnt(ROWS)
    pruned.prune(2)
    assert ww.TauSS3.load(folder / "floor.ww").counts() == pruned.counts()


def test_labels_and_confidences_equal_those_of_one_machine(client, spark):
    folder, _, _ = client
    model = learnt(ROWS)
    rows = spark.read.parquet(str(folder / "classified")).collect()
    assert len(rows) == len(ROWS)
    for row in rows:
        assert row["confidence"] == model.confidence_one(row["text"])


def test_decisions_equal_those_of_a_reader(client, spark):
    folder, model, posts = client
    wanted, _ = expected(model, POLICY, posts)
    assert {row["id"]: as_decision(row) for row in rows_in(spark, folder)} == wanted


def test_errors_name_the_missing_column(client):
    folder, _, _ = client
    assert "'nowhere'" in (folder / "error.txt").read_text()
