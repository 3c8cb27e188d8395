"""Switching to another model without stopping the service."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from watchword._checks import as_choice
from watchword._files import AnyPath
from watchword.errors import StoreError
from watchword.model.tau_ss3 import TauSS3
from watchword.service.choices import RELOAD_MODES, ReloadMode
from watchword.service.layouts import Reading
from watchword.service.logs import logger
from watchword.service.records import ModelVersion
from watchword.service.replays import reread_some
from watchword.service.store import Store
from watchword.service.versions import Versions, active_version, set_active, version_row

if TYPE_CHECKING:
    from watchword.service.runner import Service


class Reloader:
    """Loads models in its own thread, one after the other."""

    def __init__(self, service: Service, store: Store, versions: Versions) -> None:
        self._service = service
        self._store = store
        self._versions = versions
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="watchword-reload")
        self._stop = threading.Event()

    def start(self, path: AnyPath | None, mode: ReloadMode) -> Future[ModelVersion]:
        """Begin to load a model; the future has its version once it is in use."""
        as_choice("mode", mode, RELOAD_MODES)
        if mode == "replay" and not self._service.settings.store_texts:
            raise ValueError("reading texts again requires stored texts (store_texts)")
        if mode == "replay" and self._service.reading.policy.is_population:
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
        policy = self._service.reading.policy
        reading = Reading(model, policy, 0)
        reading.engine.known_label(policy.positive)
        with self._service.changing():
            number, used, fingerprint = self._activate(path, reading.fingerprint)
            if fingerprint != reading.fingerprint:
                model = self._versions.load(used, fingerprint)
            reading = Reading(model, policy, number)
            self._service.switch(reading)
        logger.info("version %d of the model is in use: %s", number, reading.fingerprint)
        if mode == "replay":
            self._reread(reading)
        return self._versions.get(number)

    def _activate(self, path: Path | None, fingerprint: str) -> tuple[int, str, str]:
        """Make the version of a file the active one; return its number, file and fingerprint.

        The file given at the start, if it has not changed, keeps what was taught on top of it, as
        at a restart; a file that the operator names is used as it is.
        """
        with self._store.writing() as session:
            session.lock("lessons")
            number = active_version(session)
            if path is None:
                number = self._versions.adopt(session, fingerprint)
            elif number is None or version_row(session, number)[3] != fingerprint:
                number = self._versions.add(session, None, path, fingerprint)
                set_active(session, number)
            own = version_row(session, number)
            return number, own[2], own[3]

    def _reread(self, reading: Reading) -> None:
        """Read the stored texts of all subjects again, some at a time."""
        last: int | None = 0
        changed = kept = 0
        by_time = self._service.settings.order == "time"
        while last is not None:
            if self._stop.is_set():
                raise StoreError("the service stopped while stored texts were read again")
            last, some, others, alerts = reread_some(
                self._store, reading, after=last, by_time=by_time
            )
            changed, kept = changed + some, kept + others
            self._service.announce(alerts)
        logger.info("subjects read again: %d, kept for lack of stored texts: %d", changed, kept)

    def follow(self) -> None:
        """Switch to the version that another process has made the active one."""
        own = self._service.reading
        with self._store.reading() as session:
            number = active_version(session)
            if number is None or number == own.version:
                return
            _, _, path, fingerprint, _ = version_row(session, number)
        model = self._versions.load(path, fingerprint)
        self._service.switch(Reading(model, own.policy, number))
        logger.info("version %d of the model is in use: %s", number, fingerprint)
