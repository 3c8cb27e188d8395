"""watchword service token, reload, backup, …: what operators do with stores and services."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from watchword.cli.base import COUNT, FILE, emit, example_text, show_records, verb
from watchword.cli.commands.service import READ, service, store_option
from watchword.cli.files import STORE, OutputPath
from watchword.cli.options import flag, joined, option, table_option
from watchword.service.records import SCOPES, VERDICTS

if TYPE_CHECKING:
    from watchword.service.store import Store

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


def _opened(store: str) -> Store:
    from watchword.service.store import open_store

    return click.get_current_context().with_resource(open_store(store))


opened_store = joined("store", _opened, store_option)  # open while the command runs


@service.group(
    epilog=example_text("""
    watchword service token add feed --scope feed
    watchword service token list --table
    """)
)
def token() -> None:
    """Manage the access tokens of the service."""


@verb(group=token, example="watchword service token add ann --scope read --scope mark")
@click.argument("name")
@option(
    "--scope",
    "Scope of the token: feed (send posts), read, mark (alerts) or admin (everything); repeatable.",
    name="scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
)
@opened_store
def add(name: str, scopes: tuple[str, ...], store: Store) -> None:
    """Add a token and print it; it cannot be shown again."""
    from watchword.service.tokens import add_token

    secret = add_token(store, name, scopes)
    emit([{"name": name, "scopes": list(scopes), "token": secret}])


@verb(group=token, name="list", example="watchword service token list --table")
@opened_store
@table_option
def list_tokens(store: Store, table: bool) -> None:
    """List the tokens, without their secrets."""
    from watchword.service.records import as_json_data
    from watchword.service.tokens import tokens_in

    found = tokens_in(store)
    show_records(
        [as_json_data(one) | {"scopes": " ".join(one.scopes)} for one in found], table=table
    )


@verb(
    group=token,
    name="remove",
    example="""
    watchword service token add feed --scope feed
    watchword service token remove feed
    """,
)
@click.argument("name")
@opened_store
def remove_token(name: str, store: Store) -> None:
    """Remove a token.

    A running service rejects it within a second or two.
    """
    from watchword.service.tokens import remove_token

    remove_token(store, name)
    emit([{"removed": name}])


@service.group(
    epilog=example_text("""
    watchword service webhook add https://example.org/alerts
    watchword service webhook list --table
    """)
)
def webhook() -> None:
    """Manage the URLs to send alerts to."""


@verb(group=webhook, name="add", example="watchword service webhook add https://example.org/alerts")
@click.argument("url")
@opened_store
def add_webhook(url: str, store: Store) -> None:
    """Send new alerts to a URL.

    Prints the secret that signs them; it cannot be shown again.
    """
    from watchword.service.webhooks import add_webhook

    number, secret = add_webhook(store, url)
    emit([{"id": number, "url": url, "secret": secret}])


@verb(group=webhook, name="list", example="watchword service webhook list --table")
@opened_store
@flag("--dead", "List failed deliveries.")
@table_option
def list_webhooks(store: Store, dead: bool, table: bool) -> None:
    """List the webhooks.

    Prints the numbers of due, done and dead deliveries of each.
    """
    from watchword.service.records import as_json_data
    from watchword.service.webhooks import dead_letters, webhooks_in

    found = dead_letters(store) if dead else webhooks_in(store)
    show_records([as_json_data(one) for one in found], table=table)


@verb(
    group=webhook,
    name="remove",
    example="""
    watchword service webhook add https://example.org/alerts
    watchword service webhook remove 1
    """,
)
@click.argument("number", type=COUNT, metavar="ID")
@opened_store
def remove_webhook(number: int, store: Store) -> None:
    """Remove a webhook and its deliveries."""
    from watchword.service.webhooks import remove_webhook

    remove_webhook(store, number)
    emit([{"removed": number}])


@verb(group=webhook, example="watchword service webhook retry")
@opened_store
def retry(store: Store) -> None:
    """Retry failed deliveries; print their number."""
    from watchword.service.webhooks import retry_dead_letters

    emit([{"retried": retry_dead_letters(store)}])


@service.group(epilog=example_text("watchword service marks export"))
def marks() -> None:
    """List and export the marks of alerts."""


@verb(group=marks, name="list", example="watchword service marks list")
@option("--alert", "Only the marks of this alert.", type=COUNT)
@opened_store
@table_option
def list_marks(alert: int | None, store: Store, table: bool) -> None:
    """List all marks, oldest first; the latest one of each alert counts."""
    from watchword.service.alerts import marks_in
    from watchword.service.records import as_json_data

    with store.reading() as session:
        show_records([as_json_data(mark) for mark in marks_in(session, alert)], table=table)


@verb(group=marks, example="watchword service marks export")
@opened_store
def export(store: Store) -> None:
    """Export marked texts as training data.

    Prints a JSON line per text; without stored texts, a line per subject with its label.
    """
    from watchword.service.alerts import training_texts
    from watchword.service.records import as_json_data

    for one in training_texts(store):
        emit([as_json_data(one)])


@verb(group=service, example="watchword service rejected")
@opened_store
@table_option
def rejected(store: Store, table: bool) -> None:
    """List rejected lines and entries of sources, with the reasons.

    The store keeps the newest 10,000.
    """
    from watchword.service.intake import rejected_lines
    from watchword.service.records import as_json_data

    show_records([as_json_data(line) for line in rejected_lines(store)], table=table)


@verb(
    group=service,
    example="""
    watchword service token add feed --scope feed
    watchword service backup copy.db
    """,
)
@click.argument("file", type=OutputPath(STORE, of=Path))
@store_option
def backup(file: Path, store: str) -> None:
    """Write a copy of the store to a file, also while the service runs.

    For a store in PostgreSQL, use pg_dump.
    """
    from watchword.service.store import open_store

    with open_store(store) as opened:
        opened.backup(file)
    emit([{"file": str(file), "bytes": file.stat().st_size}])
