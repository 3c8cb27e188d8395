"""Requirements of Spark, checked up front, and one-line messages for its known failures.

Spark's own errors are a Java traceback inside a Python traceback; the messages here say what to do.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword._checks import reprs
from watchword.errors import DataFormatError, MissingExtraError, WatchwordError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from watchword.spark.scoring import ModelFile


_LEAST = (4, 1)


class SparkError(WatchwordError):
    """Spark cannot run the job; the message says what to change."""


def require() -> None:
    """Raise unless pyspark and its dependencies are installed in compatible versions."""
    if sys.version_info < (3, 11):
        raise MissingExtraError("watchword.spark needs Python 3.11 or later, as pyspark 4.1 does")
    for module in ("pyspark", "pyarrow", "pandas", "google.protobuf"):
        if not _is_installed(module):
            raise MissingExtraError.of("spark", f"watchword.spark needs {module}")
    import pandas
    import pyspark

    version = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < _LEAST:
        raise MissingExtraError.of(
            "spark", f"pyspark {pyspark.__version__} is too old, 4.1 is needed"
        )
    if int(pandas.__version__.partition(".")[0]) >= 3:
        raise MissingExtraError(
            f"pyspark does not work with pandas {pandas.__version__}; "
            "install with: pip install 'pandas>=2.2,<3'"
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # its parent package is missing
        return False


def require_java() -> None:
    """Raise if this machine has no Java, which a local session needs."""
    home = os.environ.get("JAVA_HOME")
    if home is not None:
        if not any((Path(home) / "bin" / name).is_file() for name in ("java", "java.exe")):
            raise SparkError(
                f"there is no bin/java in JAVA_HOME ({home}): set it to the folder of Java 17"
            )
    elif shutil.which("java") is None:
        raise SparkError(
            "Java not found: Spark needs Java 17 or later (on Debian: apt-get install "
            "openjdk-17-jre-headless); set JAVA_HOME if it is installed elsewhere"
        )


# Columns


def column_type(frame: DataFrame, role: str, name: str) -> Any:
    """Return the type of a required column; raise if it is missing."""
    if not isinstance(name, str):
        raise TypeError(f"{role} must be the name of a column, got {name!r}")
    for field in frame.schema.fields:
        if field.name == name:
            return field.dataType
    listed = reprs(frame.columns) or "none"
    raise DataFormatError(
        f"column {name!r} for {role} not found; the columns are {listed}", arguments=(role,)
    )


def column(frame: DataFrame, name: str) -> Column:
    """Return a column by its full name; Spark would read a dot as access to a structure."""
    return frame[quoted(name)]


def quoted(name: str) -> str:
    """Quote a name for Spark SQL.

    >>> quoted("user.id")
    '`user.id`'
    """
    return "`" + name.replace("`", "``") + "`"


def require_text(frame: DataFrame, role: str, name: str) -> None:
    """Raise unless a column exists and holds strings."""
    from pyspark.sql.types import StringType

    kind = column_type(frame, role, name)
    if not isinstance(kind, StringType):
        raise DataFormatError(
            f"column {name!r} for {role} must hold strings, but is {kind.simpleString()}: "
            "cast it to string, or choose another column",
            arguments=(role,),
        )


def require_free(frame: DataFrame, role: str, name: str) -> None:
    """Raise if a column to add already exists; Spark usually ignores case."""
    exactly = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    for known in frame.columns:
        if known == name or (not exactly and known.lower() == name.lower()):
            raise DataFormatError(
                f"column {known!r} already exists: drop it, or choose another name for the new one",
                arguments=(role,),
            )


def check_shippable(role: str, function: object) -> None:
    """Raise unless a user's function can be sent to workers."""
    from pyspark import cloudpickle

    dumps: Callable[[object], bytes] = cloudpickle.dumps
    try:
        dumps(function)
    except Exception as error:
        raise SparkError(
            f"the {role} cannot be sent to the workers ({error}): it must not hold open files, "
            "locks or sessions; define it in a module that the workers have"
        ) from None


# Failures


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Replace Spark's errors for known mistakes by one line that says what to do.

    `fit` and the command line do this themselves. The frames of `classify` and `watch` run later,
    in your code; wrap that code to get the same messages:

    >>> with clear_errors():
    ...     pass  # frame.write.parquet("labels"), query.awaitTermination(), …
    """
    try:
        yield
    except WatchwordError:
        raise
    except Exception as error:
        clear = known_failure(str(error)) if type(error).__module__.startswith(_FOREIGN) else None
        if clear is None:
            raise
        raise clear from error


_FOREIGN = ("pyspark", "py4j")

# Patterns in Spark's messages, and their explanations; {0} is the first group of the pattern.
_MEANINGS = (
    (
        r"PYTHON_VERSION_MISMATCH.*?worker has a different version of Python: ([\d.]+)",
        "the workers run Python {0}, the driver {python}: set PYSPARK_PYTHON to the same version "
        "on both",
    ),
    (
        r"PYTHON_VERSION_MISMATCH|different version in worker",
        "the workers run another version of Python than the driver ({python}): set "
        "PYSPARK_PYTHON to the same version on both",
    ),
    (
        r"Cannot run program \"([^\"]+)\"",
        "the workers have no Python called {0}: set PYSPARK_PYTHON to one with watchword",
    ),
    (
        r"ModuleNotFoundError: No module named '(watchword|pyarrow|numpy|pandas|google)\b",
        "the workers' Python has no {0}: install watchword[spark] on every worker, or set "
        "PYSPARK_PYTHON to a Python that has it",
    ),
    (
        r"ModuleNotFoundError: No module named '([^']+)'",
        "the workers' Python has no module {0}, which a user-defined function needs: install it "
        "there, or send it with spark.addArtifacts(…, pyfile=True)",
    ),
    (
        r"(?:PicklingError|PICKLING|Could not serialize object)[:.\] ]*([^\n]*)",
        "a user-defined function cannot be sent to the workers ({0}): it must not hold open "
        "files, locks or sessions; define it in a module that the workers have",
    ),
    (
        r"JAVA_GATEWAY_EXITED",
        "Spark's Java process did not start: see its output for the reason (it needs Java 17 or "
        "later, and valid settings)",
    ),
    (
        r"\[CAST_INVALID_INPUT\] (The value .{1,200}? of the type \S+ cannot be cast to \S+)",
        "{0}: correct the data, or drop these rows",
    ),
)


def known_failure(message: str) -> WatchwordError | None:
    """Return an error that explains a failure of Spark, or None if the failure is unknown."""
    own = _own_error(message)
    if own is not None:
        return own
    python = ".".join(map(str, sys.version_info[:2]))
    for pattern, meaning in _MEANINGS:
        found = re.search(pattern, message, re.DOTALL)
        if found is not None:
            return SparkError(meaning.format(*found.groups(), python=python))
    return None


def _own_error(message: str) -> WatchwordError | None:
    """Return watchword's own error raised by a worker, extracted from Spark's traceback."""
    from watchword import errors

    found = re.search(r"^watchword\.(?:\w+\.)+(\w+): (.+)$", message, re.MULTILINE)
    if found is None:
        return None
    kind: type[WatchwordError] = getattr(errors, found[1], SparkError)
    return kind(found[2].strip())


# Workers


def check_workers(session: SparkSession, model: ModelFile | None = None) -> None:
    """Run a tiny job on the workers, so that errors in their setup appear at once."""

    def check(batches: Any) -> Any:
        for batch in batches:
            if model is not None:
                model.open()
            yield batch

    with clear_errors():
        session.range(0, 4, 1, 4).mapInArrow(check, "id long").collect()
