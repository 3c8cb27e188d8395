"""watchword service reload, forget, mark, teach, activate, models: ask a running service."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from watchword.cli.base import COUNT, FILE, emit, verb
from watchword.cli.commands.service import READ, service
from watchword.cli.options import flag, joined, option
from watchword.service.choices import VERDICTS

_TOKEN_VARIABLE = "WATCHWORD_SERVICE_TOKEN"  # noqa: S105  (a name)

_SERVED = (
    READ.rstrip()
    + """
    watchword service run --model model.ww --positive "at risk" --port 8765 --no-token &
"""
)
_TEXTS = _SERVED.replace(" --port", " --store-texts --port")
_URL = "--url http://127.0.0.1:8765"


def _asker(url: str, token: str | None) -> Callable[..., dict[str, Any]]:
    from watchword.service.client import request

    return partial(request, url, token=token)


_remote_options = joined(
    "ask",  # sends a request
    _asker,
    option("--url URL", "URL of the running service.", default="http://127.0.0.1:8000"),
    option(
        "--token TOKEN",
        "Token with the scope admin; for mark, the scope mark.  "
        f"[default: the variable {_TOKEN_VARIABLE}]",
        envvar=_TOKEN_VARIABLE,
    ),
)


@verb(group=service, example=_SERVED + f"watchword service reload {_URL}")
@_remote_options
@option("--model", "Model file.  [default: the current one]", type=FILE)
@flag("--replay", "Read the stored texts of all subjects again, with the new model.")
def reload(ask: Callable[..., dict[str, Any]], model: Path | None, replay: bool) -> None:
    """Reload the model without stopping the service.

    Subjects keep their sums unless their stored texts are read again. If the model file has not
    changed, the texts taught since are kept. SIGHUP does the same as this command without options.
    """
    body: dict[str, Any] = {"mode": "replay" if replay else "keep"}
    if model is not None:
        body["path"] = str(model.absolute())
    emit([ask("POST", "/admin/reload", body=body)])


@verb(group=service, example=_SERVED + f"watchword service forget subject03 {_URL}")
@click.argument("subject")
@_remote_options
def forget(subject: str, ask: Callable[..., dict[str, Any]]) -> None:
    """Delete a subject's data, including what the model learnt from it.

    Deletes the subject's posts, state, alerts, marks and deliveries from the store, and unlearns
    its texts. Earlier backups still contain them. Prints the numbers of deleted rows.
    """
    name = quote(subject, safe="")
    path = f"/subjects/?id={name}" if subject in (".", "..") else f"/subjects/{name}"
    emit([ask("DELETE", path)])


@verb(group=service, example=_SERVED + f"watchword service mark 1 right {_URL}")
@click.argument("alert", type=COUNT)
@click.argument("verdict", type=click.Choice(VERDICTS))
@option("--note", "Note about the alert.", default="")
@option(
    "--label LABEL", "True label of a wrong alert.  [default: the other label, if there are two]"
)
@_remote_options
def mark(
    alert: int, verdict: str, note: str, label: str | None, ask: Callable[..., dict[str, Any]]
) -> None:
    """Mark an alert as right, wrong or unsure, as on the board."""
    body = {"verdict": verdict, "note": note, "label": label}
    emit([ask("POST", f"/alerts/{alert}/mark", body=body)])


@verb(
    group=service,
    example=_TEXTS + f"watchword service mark 1 right {_URL}\nwatchword service teach {_URL}",
)
@_remote_options
def teach(ask: Callable[..., dict[str, Any]]) -> None:
    """Teach the model newly marked texts, as a new version.

    Lessons whose marks have changed are replaced or taken back. Requires stored texts. The model
    file that the service was started with does not change.
    """
    emit([ask("POST", "/admin/teach", body={})])


@verb(group=service, example=_SERVED + f"watchword service activate 1 {_URL}")
@click.argument("version", type=COUNT)
@_remote_options
def activate(version: int, ask: Callable[..., dict[str, Any]]) -> None:
    """Switch to a version of the model.

    watchword service models lists all versions.
    """
    emit([ask("POST", f"/admin/models/{version}/activate", body={})])


@verb(group=service, example=_SERVED + f"watchword service models {_URL}")
@_remote_options
def models(ask: Callable[..., dict[str, Any]]) -> None:
    """List the versions of the model, one JSON line each."""
    emit(ask("GET", "/admin/models")["models"])
