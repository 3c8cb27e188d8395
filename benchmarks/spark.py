"""Spark on two executors of one core each, against two threads of one process on the same data.

Text is generated into Parquet files (kept in the folder, for the next run). Starting a session is
not counted: each job is preceded by a small one of its kind. Processor seconds are those of all
processes, Java and Python; memory is their sum, shared pages counted once; shuffles are what
Spark's log of events says.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command import run_command
from ours import watchword
from report import markdown_table, megabytes, say
from spark_data import make_posts, make_texts
from spark_meter import Meter, Used

_ROCKSDB_LOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the generated text is, or is put")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--files", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--post-words", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--floor", type=int, default=10, help="default: %(default)s")
    parser.add_argument("--batches", type=int, default=8, help="of posts (default: %(default)s)")
    parser.add_argument("--posts", type=int, default=20_000, help="a batch (default: %(default)s)")
    parser.add_argument("--subjects", type=int, default=5_000, help="default: %(default)s")
    parser.add_argument(
        "--only",
        nargs="*",
        choices=["native", "python", "count", "fit", "levelwise", "all", "classify", "watch"],
        help="some of the jobs; `all` keeps every n-gram",
    )
    return parser.parse_args()


class Bench:
    """A session with two executors, the data, and what was measured."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.data = options.folder / "texts"
        self.bytes, self.words = make_texts(
            self.data,
            size=round(options.gigabytes * 1e9),
            files=options.files,
            post_words=options.post_words,
        )
        self.meter = Meter(scratch / "events")
        self.rows: list[list[str]] = []
        self.session: Any = None
        self.model = options.folder / "model.ww"

    def start(self) -> None:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        (self.scratch / "events").mkdir()
        self.session = (
            SparkSession.builder.master("local-cluster[2,1,3072]")
            .appName("benchmark")
            .config("spark.executor.memory", "3g")
            .config("spark.driver.memory", "2g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "16")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", (self.scratch / "events").as_uri())
            .config(_ROCKSDB_LOG, "true")
            .getOrCreate()
        )
        self.session.sparkContext.setLogLevel("ERROR")

    def frame(self, files: int | None = None) -> Any:
        paths = sorted(map(str, self.data.glob("*.parquet")))[:files]
        return self.session.read.parquet(*paths)

    def add(self, name: str, used: Used, words: int | None = None) -> None:
        words = words or self.words
        million = words / 1e6
        self.rows.append(
            [
                name,
                f"{words / used.wall / 1e6:.2f} M",
                f"{words / used.processor / 1e6:.2f} M",
                f"{used.processor / million:.2f}",
                megabytes(used.peak),
                f"{megabytes(used.shuffled)}, {used.shuffled_rows / 1e6:.1f} M rows"
                if used.shuffled
                else "–",
            ]
        )
        say(" | ".join(self.rows[-1]))


def _wanted(options: argparse.Namespace, name: str) -> bool:
    default = ["native", "python", "count", "fit", "levelwise", "classify", "watch"]
    return name in (options.only or default)


# One process


def _batches(bench: Bench) -> Iterator[tuple[list[str], list[str]]]:
    import pyarrow.parquet as pq

    for path in sorted(bench.data.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=4096):
            yield batch.column("text").to_pylist(), batch.column("label").to_pylist()


def _native(bench: Bench) -> None:
    ww, floor = watchword(), bench.options.floor
    model = ww.TauSS3()
    say("native: learning")
    with bench.meter.measure() as used:
        for texts, labels in _batches(bench):
            model.learn_many(texts, labels, threads=2)
        model.prune(floor)
        model.save(bench.model)
    bench.add("learn, prune, save: 2 threads", used)
    say("native: classifying")
    with bench.meter.measure() as used:
        for texts, _ in _batches(bench):
            model.predict_many(texts, threads=2)
    bench.add("classify: 2 threads", used)


# Spark


def _python_count(batches: Iterator[Any]) -> Iterator[Any]:
    """What the counter would be in plain Python, for words of ASCII."""
    import pyarrow as pa

    counts: Counter[tuple[str, str]] = Counter()

    def flush() -> Any:
        labels, ngrams = zip(*counts, strict=True)
        batch = pa.record_batch(
            [pa.array(labels), pa.array(ngrams), pa.array(list(counts.values()), pa.int64())],
            ["label", "ngram", "count"],
        )
        counts.clear()
        return batch

    for batch in batches:
        for text, label in zip(
            batch.column("text").to_pylist(), batch.column("label").to_pylist(), strict=True
        ):
            for part in re.split(r"[^\w\s]+|\n", text):
                words = part.lower().split()
                for length in (1, 2, 3):
                    for at in range(len(words) - length + 1):
                        counts[label, " ".join(words[at : at + length])] += 1
        if len(counts) > 2_000_000:
            yield flush()
    if counts:
        yield flush()


def _fits(bench: Bench) -> None:
    from watchword import spark
    from watchword.spark.counting import CountingSettings, count_batches

    options, part = bench.options, max(1, bench.options.files // 16)
    rows = "label string, ngram string, count long"
    small = _small(bench)
    say("Spark: warming up")
    spark.fit(small, prune=2)
    spark.fit(small, prune=2, levelwise=True)
    words = bench.words * part // options.files
    if _wanted(options, "python"):
        _noop(small.mapInArrow(_python_count, rows))
        with bench.meter.measure() as used:
            _noop(bench.frame(part).mapInArrow(_python_count, rows))
        bench.add("Spark, count in plain Python, hand over", used, words)
        with bench.meter.measure() as used:
            counted = bench.frame(part).mapInArrow(_python_count, rows)
            summed = counted.groupBy("label", "ngram").sum("count")
            summed.write.mode("overwrite").parquet(str(bench.scratch / "python"))
        bench.add("Spark, all of it in plain Python, to Parquet", used, words)
    if _wanted(options, "count"):
        how = CountingSettings(text="text", label="label")
        keys = rows.replace("ngram string", "ngram binary")
        with bench.meter.measure() as used:
            _noop(bench.frame().mapInArrow(lambda batches: count_batches(batches, how), keys))
        bench.add("Spark, fit: count, hand over", used)
    target = bench.scratch / "model.ww"
    for name, levelwise in (("fit", False), ("levelwise", True)):
        if _wanted(options, name):
            with bench.meter.measure() as used:
                spark.fit_file(bench.frame(), target, prune=options.floor, levelwise=levelwise)
            bench.add(f"Spark, {name}, floor {options.floor}", used)
            if bench.model.is_file() and not levelwise:
                same = target.read_bytes() == bench.model.read_bytes()
                say("the same bytes as one process" if same else "NOT THE SAME MODEL")
            target.rename(bench.model)
    # Late, as Java compiles what it has run often: a small job pays for that otherwise.
    if _wanted(options, "count"):
        with bench.meter.measure() as used:
            spark.fit_file(bench.frame(part), bench.scratch / "part.ww")
        bench.add(f"Spark, fit, every n-gram, {part} of {options.files} files", used, words)
    if _wanted(options, "all"):
        with bench.meter.measure() as used:
            spark.fit_file(bench.frame(), target)
        bench.add("Spark, fit, every n-gram", used)
        say(f"a file of {megabytes(target.stat().st_size)}")


def _small(bench: Bench) -> Any:
    """A little of the text, the same every time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = bench.scratch / "small.parquet"
    texts, labels = next(_batches(bench))
    pq.write_table(pa.table({"text": texts, "label": labels}), path)
    return bench.session.read.parquet(str(path))


def _noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _classify(bench: Bench) -> None:
    from watchword import spark

    _noop(spark.classify(_small(bench), bench.model, label="guess"))
    with bench.meter.measure() as used:
        _noop(spark.classify(bench.frame(), bench.model, label="guess"))
    bench.add("Spark, classify", used)


def _watch(bench: Bench) -> None:
    from watchword import Overtakes, spark

    options, folder = bench.options, bench.scratch / "stream"
    bench.session.conf.set("spark.sql.shuffle.partitions", "4")
    made = {"posts": options.posts, "subjects": options.subjects, "post_words": 20}
    make_posts(folder / "posts", batches=options.batches, **made)
    reader = bench.session.readStream.schema("subject string, seq long, text string")
    stream = reader.option("maxFilesPerTrigger", 1).json(str(folder / "posts"))
    watched = spark.watch(stream, bench.model, Overtakes("label 0"), order="seq")
    with bench.meter.measure() as used:
        query = (
            watched.writeStream.format("noop")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    progress = [one for one in query.recentProgress if one["numInputRows"]]
    steady = [one["durationMs"]["triggerExecution"] for one in progress[3:]]
    middle = sorted(steady)[len(steady) // 2]
    posts = options.posts * options.batches
    operator = progress[-1]["stateOperators"][0]
    kept = sum(path.stat().st_size for path in folder.glob("checkpoint/**/*") if path.is_file())
    print(
        f"\nwatch: {posts:,} posts of 20 words, {options.subjects:,} subjects, "
        f"{options.posts:,} a batch, 4 state partitions: "
        f"a batch takes {middle:,} ms, {options.posts / middle * 1000:,.0f} posts/s; "
        f"{used.processor / posts * 1e3:.2f} ms of a processor per post in all; "
        f"peak {megabytes(used.peak)}; {operator['numRowsTotal']:,} states, "
        f"{kept / 1e6:.1f} MB of checkpoint"
    )


def _measure(options: argparse.Namespace) -> int:
    watchword()
    scratch = Path(tempfile.mkdtemp(prefix="watchword-benchmark-"))
    try:
        bench = Bench(options, scratch)
        if _wanted(options, "native"):
            _native(bench)
        say("starting Spark")
        bench.start()
        _fits(bench)
        if _wanted(options, "classify"):
            _classify(bench)
        header = ["", "words/s", "words/processor s", "processor s/M words", "peak", "shuffled"]
        size = f"{bench.bytes / 1e9:.2f} GB, {bench.words / 1e6:.1f} M words"
        print(f"{size} in {options.files} files, 4 labels\n")
        print(markdown_table(header, bench.rows))
        if _wanted(options, "watch"):
            _watch(bench)
        bench.session.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def main() -> int:
    options = _options()
    return run_command("spark.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
