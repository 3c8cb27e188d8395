"""A client of Spark Connect, which needs a process without a classic session.

python spark_connected.py FOLDER writes the results that tests/spark/test_connect.py checks.
"""

import sys
from pathlib import Path

import watchword as ww
from spark_cluster import configured
from spark_killable import decisions
from spark_samples import frame_of, start, texts
from watchword import spark as ws


def main(folder):
    from pyspark.sql import SparkSession

    spark = configured(SparkSession.builder.remote("local[2]")).getOrCreate()
    assert "connect" in type(spark).__module__
    rows = texts(120)
    frame = frame_of(spark, rows).repartition(2)
    learnt = ws.fit(frame)
    learnt.save(folder / "learnt.ww")
    ws.fit_file(frame, folder / "floor.ww", prune=2, levelwise=True)
    ws.unlearn(frame_of(spark, rows[50:]), folder / "learnt.ww").save(folder / "unlearnt.ww")
    found = ws.classify(frame.select("text"), folder / "learnt.ww")
    found.write.parquet(str(folder / "classified"))
    try:
        ws.classify(frame, folder / "learnt.ww", text="nowhere")
    except ww.errors.DataFormatError as error:
        (folder / "error.txt").write_text(str(error))
    start(decisions(spark, folder), folder).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
