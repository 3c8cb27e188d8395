"""The service itself, without HTTP: what routes, sources and the board call.

A `Service` may be used by any number of threads. Posts go through a queue; one thread commits
groups of batches, each in one transaction. Everything else reads the store, or changes it in
transactions of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path

from watchword._checks import as_choice, as_whole
from watchword._files import AnyPath
from watchword.service import lessons
from watchword.service.alerts import Alerts, avoid_used_ids, precision_of
from watchword.service.intake import Intake, IntakeSettings, PostBatch, check_posts
from watchword.service.logs import logger
from watchword.service.records import (
    MODEL_LIMIT,
    ORDERS,
    QUEUE_POSTS,
    Forgotten,
    IncomingPost,
    ModelVersion,
    Position,
    ReadingOrder,
    Receipt,
    RejectedLine,
    ReloadMode,
    Statistics,
    moment,
)
from watchword.service.replays import close_round
from watchword.service.rows import Detector
from watchword.service.store import Store, decoded, encoded, open_store
from watchword.service.subjects import BriefCache, Subjects
from watchword.service.upkeep import Duty, Upkeep, expire_texts, plan_forgetting, write_forgetting
from watchword.service.versions import Reloader, Versions
from watchword.service.writer import Writer
from watchword.streams.policies import Policy

Listener = Callable[[Sequence[int]], None]

_RETENTION = 600.0  # seconds between removals of old texts
_NEW_VERSION = 2.0  # seconds between looks for a version that another process has activated


class Service(Alerts, Subjects):
    """A model, a policy and a store, with a queue of posts. Opened by `Service.open`.

    >>> import tempfile, watchword as ww
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> model.save(f"{folder.name}/model.ww")
    >>> opened = Service.open(
    ...     f"{folder.name}/watch.db", f"{folder.name}/model.ww", ww.Overtakes("at risk")
    ... )
    >>> with opened as service:
    ...     sent = service.submit([IncomingPost("ann", "1", "I cannot sleep")])
    ...     receipt = sent.result()
    ...     [alert] = service.alerts()
    >>> receipt
    Receipt(accepted=1, duplicates=0, alerts=(1,))
    >>> alert.subject, alert.label, alert.reasons.ngrams_for[0].ngram
    ('ann', 'at risk', 'cannot')
    >>> folder.cleanup()
    """

    def __init__(
        self,
        store: Store,
        model_path: AnyPath,
        policy: Policy,
        *,
        settings: IntakeSettings,
        keep_texts_days: float | None,
        round_seconds: float | None,
        queue_posts: int,
        threads: int,
    ) -> None:
        if policy.is_population and round_seconds is None:
            raise ValueError(f"{policy!r} compares all subjects of a round: set round_seconds")
        self.store = store
        self.settings = settings  #: of how posts are read
        self._versions = Versions(store, model_path)
        model, version = self._versions.start()
        self.detector = Detector(model, policy, version)  #: the model and the policy in use
        self.detector.engine.known_label(policy.positive)
        self._lock = threading.RLock()
        #: Held while the model is changed, so that the store and `detector` agree.
        self.changing = threading.RLock()
        self._listeners: list[Listener] = []
        self._intake = Intake(store, settings)
        self.layouts = self._intake.layouts
        self.kept = BriefCache()
        self._reloader = Reloader(self, self._versions)
        # Before the first thread is started: both may fail while the store is unavailable.
        if not settings.in_rounds:  # posts that an earlier run has left waiting
            self.close_round()
        duties = self._duties(keep_texts_days, round_seconds)
        self.writer = Writer(
            self._intake,
            lambda: self.detector,
            lock=self._lock,
            queue_posts=queue_posts,
            committed=lambda found: self.announce([key for one in found for key in one.alerts]),
            threads=threads,
        )
        self._upkeep = Upkeep(duties)

    def _duties(self, days: float | None, seconds: float | None) -> list[Duty]:
        duties = []
        if days is not None:
            self.expire(days)
            duties.append(Duty("removing old texts", _RETENTION, lambda: self.expire(days)))
        if seconds is not None:
            closing = Duty("closing the round", seconds, lambda: None, on_the_clock=True)
            closing.action = lambda: self.close_round(int(closing.newest() * 1_000_000))
            duties.append(closing)
        if self.store.is_shared:
            follow = self._reloader.follow
            duties.append(Duty("looking for a new model", _NEW_VERSION, follow))
        return duties

    @classmethod
    @contextmanager
    def open(
        cls,
        store_url: str,
        model_path: AnyPath,
        policy: Policy,
        *,
        order: ReadingOrder = "arrival",
        store_texts: bool = False,
        keep_texts_days: float | None = None,
        round_seconds: float | None = None,
        queue_posts: int = QUEUE_POSTS,
        threads: int = 1,
        is_restored: bool = False,
    ) -> Iterator[Service]:
        """Open or create a store, and run the service until the end of the context.

        At the end, queued posts are committed first. `order` defines how late posts are read: in
        order of arrival, or by time (re-reads the subject). Texts are stored only with
        `store_texts`, and for `keep_texts_days` if given. `round_seconds` is the length of a round,
        which population policies need; rounds are read in the order of arrival. `submit` refuses
        posts while more than `queue_posts` wait. `is_restored` says that the store was restored
        from a copy that neither `Store.backup` nor pg_dump made; these are noticed.
        """
        as_choice("order", order, ORDERS)
        if round_seconds is not None and not round_seconds > 0:
            raise ValueError(f"round_seconds must be above 0, got {round_seconds}")
        if round_seconds is not None and order == "time":
            raise ValueError("order='time' and round_seconds cannot be used together")
        settings = IntakeSettings(order, store_texts, round_seconds is not None)
        with open_store(store_url) as store:
            avoid_used_ids(store, is_restored=is_restored)
            service = cls(
                store,
                model_path,
                policy,
                settings=settings,
                keep_texts_days=keep_texts_days,
                round_seconds=round_seconds,
                queue_posts=as_whole("queue_posts", queue_posts, 1),
                threads=threads,
            )
            with closing(service):
                yield service

    def close(self) -> None:
        """Commit queued posts, and end the threads."""
        self._upkeep.close()
        self._reloader.close()
        self.writer.close()

    # Posts

    def submit(
        self,
        posts: Sequence[IncomingPost],
        position: Position | None = None,
        rejected: Sequence[RejectedLine] = (),
    ) -> Future[Receipt]:
        """Queue posts; the future has the receipt once they are committed.

        Posts of one call are committed together, with the position of their source and the lines
        that were rejected on the way, which may come without posts. Raise `TypeError` or
        `ValueError` for posts that cannot be kept, `BusyError` if too many are waiting; the future
        raises `StoreUnavailableError` if the store cannot be written now. In both cases nothing is
        stored; retry with the same posts.
        """
        check_posts(posts)
        return self.writer.submit(PostBatch(posts, position, rejected))

    def position(self, source: str) -> str | None:
        """Return how far a source has been read, as committed; None at its beginning."""
        found = self.store.rows("SELECT position FROM positions WHERE source = ?", encoded(source))
        return decoded(found[0][0]) if found else None

    # Alerts

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the ids of new alerts of this process after each commit.

        It is called in the thread that writes, so it must be quick; its errors are logged. Return a
        function to remove it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def announce(self, alerts: Sequence[int]) -> None:
        """Tell listeners about new alerts."""
        for listener in tuple(self._listeners) if alerts else ():
            try:
                listener(alerts)
            except Exception:  # noqa: PERF203 - the calling thread, which commits, must not end
                logger.exception("a listener failed")

    # The model

    def versions(self) -> list[ModelVersion]:
        """Return all versions of the model in the store, oldest first."""
        return self._versions.listed()

    def teach(self, alerts: Sequence[int] | None = None) -> ModelVersion:
        """Teach the model newly or differently marked texts, of these alerts or of all.

        Each post up to the alert is learnt with the true label, with one step of correction if the
        model is refined. The result is a new version, saved and switched to; posts read so far keep
        their contributions. The texts are kept with the lessons until their subject is forgotten,
        so that they can be unlearnt. Lessons whose marks have changed are replaced or taken back,
        as if they had never been taught. Raise `StoreError` if there is nothing to teach.
        """
        with self.changing:
            taught = lessons.teach(self._versions, self.detector, alerts)
            self.switch(taught)
        return self._versions.get(taught.version)

    def activate(self, version: int) -> ModelVersion:
        """Switch to an earlier or later version of the model."""
        with self.changing:
            self.switch(lessons.activate(self._versions, self.detector, version))
        return self._versions.get(version)

    def reload(
        self, path: AnyPath | None = None, *, mode: ReloadMode = "keep"
    ) -> Future[ModelVersion]:
        """Load a model in the background and switch to it between two groups of posts.

        Without `path`, the file given at the start is read again; if it has not changed, the texts
        taught since are kept. With "keep", subjects keep their sums; with "replay", subjects whose
        texts are all stored are read again before the future is done. Raise `ValueError` for
        "replay" without stored texts.
        """
        return self._reloader.start(path, mode)

    def model_file(
        self, path: str, *, folders: Sequence[AnyPath] = (), most_bytes: int = MODEL_LIMIT
    ) -> Path:
        """Return the path of a model named by somebody who may not read every file.

        It has to be a regular file of at most `most_bytes` in the folder of the given model, which
        relative paths begin with, or in one of the `folders`. The error for any other file does not
        say whether it exists.
        """
        return self._versions.named_file(path, folders, most_bytes)

    def switch(self, detector: Detector) -> None:
        """Use another model or policy from the next group of posts on."""
        with self._lock:
            self.detector = detector

    # Removing

    def forget(self, subject: str) -> Forgotten:
        """Remove a subject everywhere: posts, texts, state, alert, mark, deliveries, lessons.

        If the model was taught its texts, they are unlearnt exactly, and the files of all versions
        that learnt them are removed. Return the removed data; empty if the subject is unknown.
        """
        with self.changing:
            key, plan = plan_forgetting(self._versions, subject)
            if key is None:
                return Forgotten(subject)
            with self._lock:
                found, active = write_forgetting(self._versions, subject, key=key, plan=plan)
                if plan.model is not None and active is not None:
                    self.switch(Detector(plan.model, self.detector.policy, active))
        self.kept.clear()  # lists may have the subject
        return found

    def expire(self, days: float) -> int:
        """Remove the texts that arrived more than some days ago; return their number."""
        return expire_texts(self.store, days)

    # Operation

    def close_round(self, due: int | None = None) -> list[int]:
        """Read the posts that wait for the end of the round; return the ids of new alerts."""
        with self._lock:
            alerts = close_round(
                self.store, self.detector, texts_kept=self.settings.store_texts, due=due
            )
        self.announce(alerts)
        return alerts

    def statistics(self) -> Statistics:
        """Return numbers about the service and its store."""
        with self.store.reading() as session:
            [(alerts,)] = session.run("SELECT count(*) FROM alerts")
            [(waiting,)] = session.run("SELECT count(*) FROM posts WHERE number IS NULL")
            facts: dict[str, str] = dict(session.run("SELECT name, value FROM facts"))
            marks = precision_of(session)
        query = "SELECT count(*), coalesce(sum(posts), 0) FROM subjects"
        [(subjects, posts)] = self.kept.get(query, lambda: self.store.rows(query))
        writer, detector = self.writer, self.detector
        at = writer.last_commit
        return Statistics(
            subjects=subjects,
            posts=int(posts) + waiting,
            alerts=alerts,
            marks=marks,
            accepted=writer.accepted,
            duplicates=writer.duplicates,
            per_second=writer.rates.latest(),
            queued=writer.queued,
            last_commit=None if at is None else moment(int(at * 1_000_000)),
            model=detector.fingerprint,
            policy=detector.spelling,
            version=detector.version,
            labels=detector.engine.labels,
            positive=detector.policy.positive,
            rounds=int(facts.get("rounds", 0)) if self.settings.in_rounds else None,
            waiting=waiting,
            failures=writer.failures,
        )
