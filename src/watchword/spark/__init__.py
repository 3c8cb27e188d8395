"""Training, classifying and watching on Apache Spark, for data too large for one machine.

Counts are additive and subjects are independent, so a cluster gives exactly the result of a single
machine: `fit` that of `TauSS3.learn_many`, `classify` that of `TauSS3.predict_many`, `watch` that
of a `Reader` per subject. Requires the extra `watchword[spark]` and Java 17. See docs/spark.md,
also for when not to use Spark.
"""

from __future__ import annotations

from watchword.spark.fitting import fit, fit_file, unlearn
from watchword.spark.needs import SparkError, clear_errors
from watchword.spark.scoring import classify
from watchword.spark.watching import watch

__all__ = ["SparkError", "classify", "clear_errors", "fit", "fit_file", "unlearn", "watch"]
