"""watchword serve: the live page."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import click

from watchword import Policy, TauSS3
from watchword.cli.base import FILE, emit, verb, write_output
from watchword.cli.files import DATA
from watchword.cli.loading import Loader
from watchword.cli.options import data_options, flag, option, server_options
from watchword.cli.policy_notation import check_policy, known_policies, policy_for
from watchword.data import Document

_TOKEN_VARIABLE = "WATCHWORD_SERVE_TOKEN"  # noqa: S105  (a name)


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword serve model.ww streams.jsonl --get "/api/ngram?ngram=sleep"
    """
)
@click.argument("model", type=FILE)
@click.argument("data", required=False, type=DATA)
@server_options(_TOKEN_VARIABLE, user="visitors", default="random")
@flag("--open", "Open the page in a browser.", name="open_browser")
@flag(
    "--no-token",
    "Require no token: every user of this machine can read the page. Not with other hosts.",
    name="open_to_all_users",
)
@option("--positive LABEL", "Label to alert for.")
@option(
    "--policy POLICY",
    f"Initial alert policy: {known_policies()}; combined with or, and, after POSTS, "
    "ranked_by SCORE.",
    parse=lambda text: text and check_policy(text),
)
@option("--get PATH", "Print the response to this path, and exit.", name="path")
@data_options()
def serve(
    model: Path,
    data: str | None,
    token: str | None,
    open_to_all_users: bool,
    positive: str | None,
    policy: str | None,
    path: str | None,
    loader: Loader,
    **options: Any,
) -> None:
    """Show a model in the browser until Ctrl-C.

    On the page, type text and see it painted; browse DATA (texts or subjects, as for train) with
    right and wrong predictions; replay subjects post by post; change parameters and see the effect
    at once. The page is served to this machine only, unless --host is given. Visitors need a token,
    which is part of the printed URL. To choose it yourself, set the environment variable
    WATCHWORD_SERVE_TOKEN rather than --token, which other users of the machine can see.
    """
    if open_to_all_users and token is not None:
        raise click.UsageError(f"--no-token cannot be combined with --token or {_TOKEN_VARIABLE}")
    from watchword.web import Content, serve
    from watchword.web.app import get, make_app

    taught = TauSS3.load(model)
    shown = _data(loader, data) | {"policy": _policy(taught, positive, policy)}
    shown["name"] = model.name
    if path is not None:
        status, body = get(make_app(Content(taught, **shown)), path)
        write_output(body if body.endswith(b"\n") else body + b"\n")
        if status >= 400:
            raise click.exceptions.Exit(1)
        return
    options |= {"token": token, "open_to_all_users": open_to_all_users}
    options["on_ready"] = lambda page: emit([{"url": page.url, "token": page.token}])
    serve(taught, **shown, **options)


def _policy(model: TauSS3, positive: str | None, policy: str | None) -> Policy | None:
    if positive is None:
        if policy is not None:
            raise click.UsageError("--policy requires --positive")
        return None
    return policy_for("overtakes" if policy is None else policy, positive, model.labels)


def _data(loader: Loader, source: str | None) -> dict[str, Any]:
    """Read subjects if the first record has one, and texts otherwise."""
    if source is None:
        return {}
    if source == "-":
        raise click.UsageError(
            "DATA must be a file or a folder, not standard input (it may be read twice)"
        )
    batches = loader.batches([source])
    first = next(filter(None, batches), None)
    if first is not None and first.has_posts:
        found: dict[str, Any] = {"subjects": loader.subjects(source)}
    else:
        items = chain(first or (), chain.from_iterable(batches))
        found = {"texts": [Document(item.text, item.label, item.id) for item in items]}
    loader.report()
    return found
