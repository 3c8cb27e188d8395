"""Versions of the model: given files, and models taught from marks; switching between them.

The store knows which version is active. The file that the operator names is never written to:
taught models, and a copy of the given one to go back to, are files in the folder
`MODEL.versions` beside it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from watchword._checks import as_choice
from watchword._files import AnyPath
from watchword.data.lines import shown
from watchword.errors import StoreError
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.service.logs import logger
from watchword.service.records import RELOAD_MODES, ModelVersion, ReloadMode, moment, now
from watchword.service.replays import reread_some
from watchword.service.rows import Detector
from watchword.service.store import Session, Store

if TYPE_CHECKING:
    from watchword.service.runner import Service

CHANGED = "the model was changed in the meantime: try again"

_UNSETTLED = "unsettled file "  # begins the names of facts about files that no version uses yet


class Versions:
    """The versions in a store, and their files."""

    def __init__(self, store: Store, given: AnyPath) -> None:
        self.store = store
        self.given = Path(given).absolute()

    def start(self) -> tuple[TauSS3, int]:
        """Return the model to begin with, and the number of its version.

        That is the active version if it was taught on top of the given file, as it is now;
        otherwise the given file, which then becomes a new version.
        """
        model = TauSS3.load(self.given)
        try:
            return self.activate_file(model)
        finally:  # also if the file of the active version is missing
            with self.store.writing() as session:
                session.lock("lessons")
                remove_unsettled(session)

    def activate_file(self, model: TauSS3, path: AnyPath | None = None) -> tuple[TauSS3, int]:
        """Make the version of a loaded file the active one; return its model and number.

        The file given at the start, if it has not changed, keeps what was taught on top of it; a
        file that the operator names, by its path, is used as it is.
        """
        own = model.fingerprint
        with self.store.writing() as session:
            session.lock("lessons")
            number = active_version(session)
            if number is not None:
                root = ancestry(session, number)[-1] if path is None else number
                if version_file(session, root)[1] != own:
                    number = None
            if number is None:
                number = self.add(session, None, path or self.given, own)
                set_active(session, number)
            used, fingerprint = version_file(session, number)
        return (model if fingerprint == own else self.load(used, fingerprint)), number

    def named_file(self, path: str, folders: Sequence[AnyPath], most_bytes: int) -> Path:
        """Return the path of a model in the folder of the given one, or in one of these folders.

        Raise `StoreError` for any other file, and do not say whether it exists.
        """
        named = self.given.parent / path
        try:
            target = named.resolve()
            is_given = target == self.given.resolve()
            places = [Path(folder).resolve() for folder in (self.given.parent, *folders)]
            status = target.stat() if is_given or any(map(target.is_relative_to, places)) else None
        except (OSError, ValueError, RuntimeError):  # unreadable, not a path, or a loop of links
            status = None
        if status is None or not S_ISREG(status.st_mode):
            raise StoreError(
                f"{shown(path)} is not a model file in the folder of the service's model or in one "
                "that --model-folder names"
            )
        if status.st_size > most_bytes:
            raise StoreError(
                f"{shown(path)} is larger than {most_bytes} bytes: increase --model-limit"
            )
        return named

    def load(self, path: AnyPath, fingerprint: str) -> TauSS3:
        """Load the file of a version; raise `StoreError` if it is missing or has changed."""
        try:
            model = TauSS3.load(path)
        except FileNotFoundError:
            raise StoreError(
                f"the model {path} is missing: restore it, or start with another model"
            ) from None
        if model.fingerprint != fingerprint:
            raise StoreError(
                f"{path} is not the model recorded in the store: restore the original file"
            )
        return model

    def save(self, model: TauSS3) -> Path:
        """Write a model to the folder of versions; return its path.

        Until `settle`, the store lists the file as unsettled. If the process ends before that, the
        next start removes the file: it may contain texts of a subject that is forgotten later.
        """
        folder = self.given.with_name(f"{self.given.name}.versions")
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{model.fingerprint}.ww"
        if not path.exists():
            with self.store.writing() as session:
                unsettle(session, path)
            model.save(path)
        return path

    def add(self, session: Session, parent: int | None, path: AnyPath, fingerprint: str) -> int:
        """Add a version to the store; return its number."""
        [(number,)] = session.run(
            "INSERT INTO versions (parent, path, model, at) VALUES (?, ?, ?, ?) RETURNING id",
            *(parent, os.fspath(path), fingerprint, now()),
        )
        return int(number)

    def listed(self) -> list[ModelVersion]:
        """Return all versions, oldest first."""
        with self.store.reading() as session:
            rows = session.run("SELECT id, parent, path, model, at FROM versions ORDER BY id")
            active = active_version(session)
            counts: dict[int, int] = dict(
                session.run("SELECT version, count(*) FROM lessons GROUP BY version")
            )
        parents = {row[0]: row[1] for row in rows}
        found = []
        for number, parent, path, model, at in rows:
            line = lineage(parents, number)
            found.append(
                ModelVersion(
                    number=number,
                    kind="given" if parent is None else "taught",
                    root=line[-1],
                    path=path,
                    model=model,
                    lessons=sum(counts.get(one, 0) for one in line),
                    at=moment(at),
                    is_active=number == active,
                )
            )
        return found

    def get(self, number: int) -> ModelVersion:
        """Return a version; raise `StoreError` if there is no version with this number."""
        found = next((one for one in self.listed() if one.number == number), None)
        if found is None:
            raise _unknown(number)
        return found


def active_version(session: Session) -> int | None:
    """Return the number of the active version; None in a new store."""
    found = session.run("SELECT value FROM facts WHERE name = 'active version'")
    return int(found[0][0]) if found else None


def set_active(session: Session, number: int) -> None:
    """Make a version the active one."""
    session.set_fact("active version", str(number))


def unsettle(session: Session, path: Path) -> None:
    """List a file as one that no version uses: `remove_unsettled` removes it."""
    session.set_fact(f"{_UNSETTLED}{path}", "")


def settle(session: Session, path: Path) -> None:
    """Let a version use a file that was saved for it; the caller holds the lock of lessons.

    Raise `StoreError` if another process has removed the file as unsettled.
    """
    if not path.exists():
        raise StoreError(CHANGED)
    session.run("DELETE FROM facts WHERE name = ?", f"{_UNSETTLED}{path}")


def remove_unsettled(session: Session) -> None:
    """Remove unsettled files unless a version uses them; the caller holds the lock of lessons."""
    found = session.run("SELECT name FROM facts WHERE name LIKE ?", f"{_UNSETTLED}%")
    used = {path for (path,) in session.run("SELECT path FROM versions")} if found else set()
    for (name,) in found:
        path = Path(name.removeprefix(_UNSETTLED))
        if str(path) not in used and path.parent.name.endswith(".versions"):
            path.unlink(missing_ok=True)
    session.many("DELETE FROM facts WHERE name = ?", found)


def version_file(session: Session, number: int) -> Any:
    """Return the path of a version and the fingerprint of the model in it."""
    found = session.run("SELECT path, model FROM versions WHERE id = ?", number)
    if not found:
        raise _unknown(number)
    return found[0]


def _unknown(number: int) -> StoreError:
    return StoreError(f"version {number} of the model not found (see the list of versions)")


def ancestry(session: Session, number: int) -> list[int]:
    """Return a version and those that it was taught on top of, up to the given one."""
    parents: dict[int, int | None] = dict(session.run("SELECT id, parent FROM versions"))
    return lineage(parents, number)


def lineage(parents: dict[int, int | None], number: int) -> list[int]:
    """Return a version and its ancestors.

    >>> lineage({1: None, 2: 1, 3: 2}, 3)
    [3, 2, 1]
    """
    line: list[int] = []
    at: int | None = number
    while at is not None and at in parents and at not in line:
        line.append(at)
        at = parents[at]
    return line or [number]


class Reloader:
    """Loads models in its own thread, one after the other."""

    def __init__(self, service: Service, versions: Versions) -> None:
        self._service = service
        self._versions = versions
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="watchword-reload")
        self._stop = threading.Event()

    def start(self, path: AnyPath | None, mode: ReloadMode) -> Future[ModelVersion]:
        """Begin to load a model; the future has its version once it is in use."""
        as_choice("mode", mode, RELOAD_MODES)
        if mode == "replay" and not self._service.settings.store_texts:
            raise ValueError("reading texts again requires stored texts (store_texts)")
        if mode == "replay" and self._service.detector.policy.is_population:
            raise ValueError(
                "with a policy that compares all subjects, stored texts cannot be read again: "
                "reload without replay"
            )
        chosen = None if path is None else Path(os.fspath(path)).absolute()
        return self._worker.submit(self._reload, chosen, mode)

    def close(self) -> None:
        """Wait for a model that is being loaded; stop reading stored texts again."""
        self._stop.set()
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _reload(self, path: Path | None, mode: ReloadMode) -> ModelVersion:
        model = TauSS3.load(self._versions.given if path is None else path)
        policy = self._service.detector.policy
        engine_of(model).known_label(policy.positive)
        with self._service.changing:
            model, number = self._versions.activate_file(model, path)
            detector = Detector(model, policy, number)
            self._service.switch(detector)
        logger.info("version %d of the model is in use: %s", number, detector.fingerprint)
        if mode == "replay":
            self._reread(detector)
        return self._versions.get(number)

    def _reread(self, detector: Detector) -> None:
        """Read the stored texts of all subjects again, some at a time."""
        last: int | None = 0
        changed = kept = 0
        by_time = self._service.settings.order == "time"
        while last is not None:
            if self._stop.is_set():
                raise StoreError("the service stopped while stored texts were read again")
            last, some, others, alerts = reread_some(
                self._service.store, detector, after=last, by_time=by_time
            )
            changed, kept = changed + some, kept + others
            self._service.announce(alerts)
        logger.info("subjects read again: %d, kept for lack of stored texts: %d", changed, kept)

    def follow(self) -> None:
        """Switch to the version that another process has made the active one."""
        own = self._service.detector
        with self._service.store.reading() as session:
            number = active_version(session)
            if number is None or number == own.version:
                return
            path, fingerprint = version_file(session, number)
        model = self._versions.load(path, fingerprint)
        self._service.switch(Detector(model, own.policy, number))
        logger.info("version %d of the model is in use: %s", number, fingerprint)
