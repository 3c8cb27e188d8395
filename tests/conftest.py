"""Settings of all tests, and the additional rules of CI."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from browser import browser, browser_process  # noqa: F401  (fixtures; imported once, for all)
from postgres import postgres, store_url  # noqa: F401
from redis_server import redis_server  # noqa: F401
from spark_cluster import HAS_SPARK, cluster, spark  # noqa: F401

IN_CI = bool(os.environ.get("CI"))

# Reasons of the tests that may be skipped in CI. Any other skip fails the run.
EXPECTED_SKIPS: frozenset[str] = frozenset()

# The report says, before and after, that these tests are left out.
collect_ignore_glob = [] if HAS_SPARK else ["spark/*.py", "crash/test_spark_kills.py"]
NO_SPARK = "tests of Spark are left out: pyspark needs Python 3.11"


def pytest_report_header():
    return None if HAS_SPARK else NO_SPARK


# Times vary with the machine: no deadline. How many inputs are filtered out varies, too. CI draws
# the same examples every time.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    max_examples=100,
)
settings.register_profile(
    "ci", parent=settings.get_profile("default"), max_examples=30, derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=10)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile("ci" if IN_CI else "default")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items):
    """Keep the tests of Spark in one process, which starts one cluster.

    They are left out of `make test`, and so are those of PostgreSQL and of browsers, but for those
    that are marked as quick.
    """
    for item in items:
        needs = {*item.fixturenames, *item.keywords}
        needs |= {getattr(item, "callspec", None) and item.callspec.params.get("store_url")}
        if {"spark", "cluster"} & needs:
            item.add_marker(pytest.mark.xdist_group("spark"))
        is_long = {"spark", "cluster", "postgres", "own_postgres", "browser_process"} & needs
        if is_long and "quick" not in item.keywords:
            item.add_marker(pytest.mark.slow)
    # The longest group first: the other processes share what remains.
    items.sort(key=lambda item: "xdist_group" not in item.keywords)


@pytest.fixture(autouse=True, scope="session")
def usual_signals():
    """Restore the default signal handlers: a background process may ignore some signals."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    for name in names:
        usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
        signal.signal(getattr(signal, name), usual)
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)


def unexpected_skips(reporter):
    """Return the reason of every skip that is not expected, including skipped files."""
    reasons = [str(report.longrepr[2]) for report in reporter.stats.get("skipped", [])]
    return [one for one in reasons if one.removeprefix("Skipped: ") not in EXPECTED_SKIPS]


def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and unexpected_skips(reporter):
        session.exitstatus = session.exitstatus or 1


def pytest_terminal_summary(terminalreporter):
    if not HAS_SPARK:
        terminalreporter.write_line(NO_SPARK, yellow=True)
    skips = unexpected_skips(terminalreporter) if IN_CI else []
    if skips:
        terminalreporter.write_line(f"{len(skips)} unexpected skips: CI allows none", red=True)
