"""watchword service run: the service that reads posts and raises alerts.

The other commands are beside it: those about what is stored (`service_store`) open the store, also
while the service runs; those about the model, alerts and subjects (`service_requests`) ask the
running service, which has the model.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import click

from watchword import TauSS3, WatchwordError
from watchword.cli.base import ABOVE_ZERO, COUNT, FILE, FOLDER, cli, emit, example_text, verb
from watchword.cli.files import DATA, UpdatedPath
from watchword.cli.options import (
    flag,
    host_option,
    joined,
    option,
    policy_option,
    port_option,
    positive_option,
    threads_option,
)
from watchword.cli.output import term_as_interrupt
from watchword.cli.policy_notation import policy_for
from watchword.service.records import (
    BODY_LIMIT,
    MODEL_LIMIT,
    MOST_CONNECTIONS,
    ORDERS,
    QUEUE_POSTS,
    RATE,
)

if TYPE_CHECKING:
    from watchword.service.runner import Service
    from watchword.service.serving import HttpSettings
    from watchword.service.sources import PostSource

READ = """
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword make new.jsonl --subjects 20 --seed 1 --by-time
    watchword service run --model model.ww --positive "at risk" --port 0 --follow new.jsonl --once
"""


@cli.group(
    epilog=example_text("""
    watchword service token add feed --scope feed
    watchword service token list
    """)
)
def service() -> None:
    """Run a service that reads posts and raises alerts."""


class StorePath(UpdatedPath):
    """A store of the service: an SQLite file, or a URL."""

    is_bare = False

    def paths(self, value: Any) -> Iterator[str]:
        """Yield the file and those that SQLite puts beside it."""
        from watchword.service.store import sqlite_path

        path = sqlite_path(value)
        return iter(() if path is None else (path, f"{path}-wal", f"{path}-shm"))


_STORE_VARIABLE, _REDIS_VARIABLE = "WATCHWORD_SERVICE_STORE", "WATCHWORD_SERVICE_REDIS"


def _has_secret(url: str) -> bool:
    from watchword.service.store import has_secret

    return has_secret(url)


store_option = option(
    "--store URL",
    "Store: the path of an SQLite file, or postgresql://USER@HOST/NAME; with a password only in "
    f"the variable {_STORE_VARIABLE} or in the file that {_STORE_VARIABLE}_FILE names.",
    default="watchword.db",
    type=StorePath(),
    envvar=_STORE_VARIABLE,
    is_secret=_has_secret,
)


_service_options = joined(  # how posts are read
    "reading",
    dict,
    option(
        "--order",
        "How to read late posts: in order of arrival, or by time (re-reads the subject).",
        type=click.Choice(ORDERS),
        default="arrival",
    ),
    flag("--store-texts", "Keep the texts of posts."),
    option(
        "--keep-texts DAYS",
        "With --store-texts: days to keep them.  [default: forever]",
        name="keep_texts_days",
        type=ABOVE_ZERO,
    ),
    option(
        "--round SECONDS",
        "Length of a round, for policies that compare all subjects; not with --order time.",
        name="round_seconds",
        type=ABOVE_ZERO,
    ),
    flag(
        "--restored",
        "Give new alerts ids that were never used. Needed once after the store was restored from a "
        "snapshot of the disk or the like; backups and dumps are noticed.",
        name="is_restored",
    ),
    option(
        "--queue POSTS",
        "Largest number of waiting posts; more are refused with status 429.",
        name="queue_posts",
        type=COUNT,
        default=QUEUE_POSTS,
    ),
)


def _door_settings(
    *,
    body_limit: int,
    rate: float,
    connections: int,
    model_limit: int,
    model_folder: tuple[Path, ...],
    **options: Any,
) -> HttpSettings:
    from watchword.service.serving import CONNECTIONS, HttpSettings, RequestLimits

    try:
        return HttpSettings(
            limits=RequestLimits(
                body=body_limit, rate=rate, model=model_limit, model_folders=model_folder
            ),
            connections=replace(CONNECTIONS, connections=connections),
            **options,
        )
    except ValueError as error:
        raise click.UsageError(f"--no-token, --host or --public-url: {error}") from None


_door_options = joined(  # the HTTP server
    "http",
    _door_settings,
    host_option,
    flag(
        "--no-token",
        "Require no token: every user of this machine has all scopes. Not with other hosts.",
        name="open_to_all_users",
    ),
    option(
        "--body-limit BYTES",
        "Largest size of a request body.",
        type=click.IntRange(min=1024),
        default=BODY_LIMIT,
    ),
    option(
        "--rate",
        "Requests per second and token; bursts may have twice as many. Each of several processes "
        "counts for itself.",
        type=ABOVE_ZERO,
        default=RATE,
    ),
    option(
        "--model-folder FOLDER",
        "Folder that requests to reload may name models in, beside that of --model; repeatable.",
        type=FOLDER,
        multiple=True,
    ),
    option(
        "--model-limit BYTES",
        "Largest size of a model file that a request names.",
        type=COUNT,
        default=MODEL_LIMIT,
    ),
    option(
        "--connections", "Largest number of open connections.", type=COUNT, default=MOST_CONNECTIONS
    ),
    option(
        "--public-url URL", "URL of the reverse proxy in front, such as https://watch.example.org."
    ),
)


@verb(group=service, example=READ)
@option("--model", "Model file.", type=FILE, required=True)
@positive_option
@policy_option
@store_option
@option(
    "--follow FILE",
    "Growing file of JSON lines to read posts from, or - for standard input; repeatable.",
    multiple=True,
    type=DATA,
)
@option(
    "--redis URL",
    "Redis stream to read posts from, redis://HOST:PORT/DATABASE/STREAM; repeatable. With a "
    f"password only in the variable {_REDIS_VARIABLE} or in the file that {_REDIS_VARIABLE}_FILE "
    "names.",
    name="streams",
    multiple=True,
    envvar=_REDIS_VARIABLE,
    is_secret=_has_secret,
)
@option("--redis-group GROUP", "Consumer group for --redis.", default="watchword")
@port_option
@_door_options
@_service_options
@option(
    "--workers",
    "Number of processes; more than one requires PostgreSQL.",
    type=click.IntRange(1, 256),
    default=1,
)
@option(
    "--log-level",
    "Lowest level to log; debug includes every request.",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
)
@flag("--once", "Stop when all files have been read to their current end.")
@option("--worker", "Place of a worker of --workers.", hidden=True)
@threads_option
def run(
    model: Path,
    positive: str,
    policy: str,
    store: str,
    follow: tuple[str, ...],
    streams: tuple[str, ...],
    redis_group: str,
    port: int,
    http: HttpSettings,
    reading: dict[str, Any],
    workers: int,
    log_level: str,
    once: bool,
    worker: str | None,
    threads: int | None,
) -> None:
    """Read posts from HTTP, files and Redis, and raise alerts.

    Every post counts exactly once. The store keeps the state of every subject, what every post
    added, alerts with their reasons, and how far each source has been read; all of it is committed
    before a post is acknowledged. Prints the URL as a JSON line, and logs as JSON lines, without
    texts, to standard error. SIGHUP reloads the model; on SIGTERM and Ctrl-C, the service commits
    queued posts and stops. Requests need a token: watchword service token add.
    """
    hangups = click.get_current_context().with_resource(_hangups_noted())
    from watchword.service.logs import json_logs, say
    from watchword.service.runner import Service
    from watchword.service.serving import serve_until_interrupted
    from watchword.service.store import patiently, shown_url
    from watchword.service.workers import Supervisor, Worker
    from watchword.web.listening import listening, url_of

    if reading["keep_texts_days"] is not None and not reading["store_texts"]:
        raise click.UsageError("--keep-texts requires --store-texts")
    if reading["order"] == "time" and reading["round_seconds"] is not None:
        raise click.UsageError("--order time and --round cannot be used together")
    if workers > 1 and not store.startswith(("postgresql://", "postgres://")):
        raise click.UsageError("--workers requires a shared store: postgresql://…")
    sources = _sources(follow, streams, redis_group, once=once)
    rule = policy_for(policy, positive, TauSS3.load(model, mapped=True).labels)
    if rule.is_population and reading["round_seconds"] is None:
        raise click.UsageError(f"{policy!r} compares all subjects of a round: use --round SECONDS")
    own = None if worker is None else Worker.parse(worker)
    listener = listening(http.host, port) if own is None else nullcontext(own.socket())
    with json_logs(log_level), listener as listens:

        def ready() -> None:
            if own is None:
                emit([{"url": url_of(listens), "store": shown_url(store)}])

        if workers > 1 and own is None:
            ready()
            Supervisor(sys.argv[1:], listens, workers).run()
            return
        is_first = own is None or own.number == 0
        with term_as_interrupt(), ExitStack() as stack:
            if own is not None:
                own.end_with_parent()

            def opened() -> Service:
                service = Service.open(store, model, rule, threads=threads or 1, **reading)
                return stack.enter_context(service)

            try:
                served = patiently(opened)
            except KeyboardInterrupt:
                say("service stopped")
                return
            with _reloading(served, hangups):
                serve_until_interrupted(
                    served,
                    listens,
                    replace(http, delivers=is_first),
                    sources=sources if is_first else (),
                    on_ready=ready,
                    until_sources_end=once,
                )
        say("service stopped")


def _sources(
    follow: Sequence[str], streams: Sequence[str], group: str, *, once: bool
) -> list[PostSource]:
    from watchword.service.following import FollowedFile, StandardInput

    found: list[PostSource] = [
        StandardInput() if one == "-" else FollowedFile(one, once=once) for one in follow
    ]
    if streams:
        from watchword.service.redis_source import RedisStream

        try:
            found += [RedisStream(one, group=group) for one in streams]
        except ValueError as error:
            raise click.UsageError(f"--redis: {error}") from None
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise click.UsageError("duplicate file or stream")
    if once and (streams or not follow):
        raise click.UsageError("--once requires --follow, and cannot be combined with --redis")
    return found


@contextmanager
def _hangups_noted() -> Iterator[SimpleQueue[bool]]:
    """Put SIGHUP into a queue, where there are signals: it would end the process."""
    noted: SimpleQueue[bool] = SimpleQueue()  # unlike an event, safe to use in a handler
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.signal(hangup, lambda _number, _frame: noted.put(True))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [hangup])  # held back since the start
    try:
        yield noted
    finally:
        signal.signal(hangup, before)


@contextmanager
def _reloading(service: Service, hangups: SimpleQueue[bool]) -> Iterator[None]:
    """Reload the model after each SIGHUP, also an earlier one, in the background."""
    from watchword.service.logs import logger, say

    def reload() -> None:
        try:
            version = service.reload().result()
            say("model reloaded", version=version.number, model=version.model, signal="SIGHUP")
        except (WatchwordError, OSError) as error:
            logger.error("the model was not reloaded: %s", error)
        except Exception:
            logger.exception("the model was not reloaded")

    def work() -> None:
        while hangups.get():
            reload()

    threading.Thread(target=work, name="reload", daemon=True).start()
    try:
        yield
    finally:
        hangups.put(False)
