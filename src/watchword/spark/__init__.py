"""Training, classifying and watching on Apache Spark, for data beyond one machine.

Counts add and what is known of one subject does not depend on others, so a cluster gives exactly
the answer of a single machine: `fit` that of `TauSS3.learn_many`, `classify` that of
`TauSS3.predict_many`, `watch` that of a `Reader` per subject. Needs the extra `watchword[spark]`
and Java 17; see docs/spark.md, also for when not to use it.
"""

from __future__ import annotations

from watchword.spark.classifying import classify
from watchword.spark.fitting import fit, fit_file, unlearn
from watchword.spark.needs import SparkError, clear_errors
from watchword.spark.watching import watch

__all__ = ["SparkError", "classify", "clear_errors", "fit", "fit_file", "unlearn", "watch"]
