"""watchword serve: the live page, and the file to hand over."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from watchword import Policy, TauSS3
from watchword.cli.base import FILE, check_folder, emit, find_label, verb, write_output
from watchword.cli.options import data_options
from watchword.cli.policies import check_policy, known_policies, parse_policy
from watchword.cli.texts import Data
from watchword.data import Document
from watchword.streams.policies import Overtakes

if TYPE_CHECKING:
    from watchword.web import LivePage

_TOKEN_VARIABLE = "WATCHWORD_SERVE_TOKEN"  # noqa: S105  (a name)


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword serve model.ww streams.jsonl --get "/api/ngram?ngram=sleep"
    """
)
@click.argument("model", type=FILE)
@click.argument("data", required=False)
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Where to listen; 0 is any free port.",
)
@click.option("-o", "--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may connect.")
@click.option(
    "--token",
    envvar=_TOKEN_VARIABLE,
    help="Access token of visitors [default: a random one]. With --host, at least 16 characters.",
)
@click.option(
    "--no-token",
    "open_to_all_users",
    is_flag=True,
    help="Let every user of this machine read the page; not with other hosts.",
)
@click.option("--positive", metavar="LABEL", help="The label that alerts about subjects are for.")
@click.option(
    "--policy",
    metavar="POLICY",
    callback=lambda ctx, param, value: value and check_policy(ctx, param, value),
    help=f"When to alert, in the beginning: {known_policies()}, joined by or, and, after POSTS.",
)
@click.option("--get", "path", metavar="PATH", help="Print what the page answers there, and end.")
@click.option(
    "--export", type=FILE, metavar="FILE", help="Write the page as one file to hand over, and end."
)
@click.option(
    "--floor",
    type=click.IntRange(min=0),
    metavar="TIMES",
    help="With --export: leave out n-grams seen so often at most, which may be somebody's words.",
)
@data_options(bad_lines="error")
def serve(
    model: Path,
    data: str | None,
    port: int,
    open_browser: bool,
    host: str,
    token: str | None,
    open_to_all_users: bool,
    positive: str | None,
    policy: str | None,
    path: str | None,
    export: Path | None,
    floor: int | None,
    reading: Data,
) -> None:
    """Look at a model in the browser, until Ctrl-C.

    Type text and see it painted; browse DATA, texts or subjects as for train, and see where the
    model is right and wrong; replay subjects post by post; change settings and see the effect at
    once. The page is for this machine only, unless --host says otherwise. Visitors need a token,
    which is printed as part of the address. Your own may be in the environment, as
    WATCHWORD_SERVE_TOKEN: what stands on a command line, all users of the machine can see.
    """
    if floor is not None and export is None:
        raise click.UsageError("--floor goes with --export")
    if open_to_all_users and token is not None:
        raise click.UsageError(f"--no-token goes without --token and {_TOKEN_VARIABLE}")
    if export is not None:
        _export(model, export, floor)
        return
    from watchword.web import Content, serve
    from watchword.web.app import get, make_app

    taught = TauSS3.load(model)
    shown = _data(reading, data) | {
        "policy": _policy(taught, positive, policy),
        "name": model.name,
    }
    if path is not None:
        status, body = get(make_app(Content(taught, **shown)), path)
        write_output(body if body.endswith(b"\n") else body + b"\n")
        if status >= 400:
            raise click.exceptions.Exit(1)
        return
    serve(
        taught,
        **shown,
        host=host,
        port=port,
        token=token,
        open_to_all_users=open_to_all_users,
        open_browser=open_browser,
        on_ready=_tell,
    )


def _tell(page: LivePage) -> None:
    emit([{"url": page.url, "token": page.token}])


def _policy(model: TauSS3, positive: str | None, policy: str | None) -> Policy | None:
    if positive is None:
        if policy is not None:
            raise click.UsageError("--policy goes with --positive")
        return None
    label = find_label(positive, model.labels, where="the model")
    return Overtakes(label) if policy is None else parse_policy(policy, label)


def _data(reading: Data, source: str | None) -> dict[str, Any]:
    """Texts or subjects, as the first of them tells."""
    if source is None:
        return {}
    if source == "-":
        raise click.UsageError("DATA must be a file or a folder: it may be read twice")
    batches = reading.batches([source])
    first = next((batch for batch in batches if batch), [])
    if any(item.subject is not None for item in first):
        found: dict[str, Any] = {"subjects": reading.subjects(source)}
    else:
        items = chain(first, chain.from_iterable(batches))
        found = {"texts": [Document(item.text, item.label, item.id) for item in items]}
    reading.report()
    return found


def _export(model: Path, target: Path, floor: int | None) -> None:
    from watchword.web.export import DEFAULT_FLOOR, export_page

    check_folder(target)
    least = DEFAULT_FLOOR if floor is None else floor
    report = export_page(TauSS3.load(model), target, floor=least)
    emit(
        [
            {
                "file": str(report.path),
                "bytes": report.size,
                "ngrams": report.kept,
                "left_out": report.dropped,
                "floor": report.floor,
            }
        ]
    )
