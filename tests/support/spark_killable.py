"""A driver process that watches a stream, for tests that kill it.

python spark_killable.py MASTER FOLDER
"""

import sys
from pathlib import Path

import watchword as ww
from spark_cluster import configured
from spark_samples import start, stream_of
from watchword import spark as ws

POLICY = ww.Overtakes("at risk", margin=0.2) | ww.Repeats("at risk", times=3)


def decisions(spark, folder):
    stream = stream_of(spark, folder / "posts")
    return ws.watch(stream, folder / "model.ww", POLICY, post_id="id", order="seq")


def main(master, folder):
    from pyspark.sql import SparkSession

    spark = configured(SparkSession.builder.master(master).appName("killable")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    start(decisions(spark, folder), folder).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
