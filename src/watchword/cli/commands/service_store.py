"""watchword service token, webhook, marks, rejected and backup: commands that open the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from watchword.cli.base import COUNT, emit, example_text, show_records, verb
from watchword.cli.commands.service import service, store_option
from watchword.cli.files import STORE, OutputPath
from watchword.cli.options import flag, joined, option, table_option
from watchword.service.choices import SCOPES

if TYPE_CHECKING:
    from watchword.service.store import Store


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
