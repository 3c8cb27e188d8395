"""The live page: type text and see it painted, browse documents, replay subjects.

    watchword.web.serve(model, x_test, y_test)

The server listens on this machine only and requires a token. The page loads nothing from other
hosts, and nothing is stored.
"""

from __future__ import annotations

import socket
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchword._checks import Target
from watchword.data import Document, Subject
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.web.content import Content

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["Content", "LivePage", "running_page", "serve"]


@dataclass(frozen=True)
class LivePage:
    """The address of a running page; `url` includes the token, if there is one."""

    url: str = field(repr=False)
    address: str
    token: str | None = field(repr=False)


def serve(
    model: TauSS3,
    texts: Iterable[str | Document] | None = None,
    labels: Iterable[Target | None] | None = None,
    *,
    subjects: Iterable[Subject] | None = None,
    policy: Policy | None = None,
    name: str = "model",
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    open_to_all_users: bool = False,
    open_browser: bool = False,
    on_ready: Callable[[LivePage], None] | None = None,
) -> None:
    """Show a model in the browser until interrupted (Ctrl-C).

    Parameters
    ----------
    model
        model to show, as it is now; what it learns later does not change the page.
    texts, labels
        documents to browse, and their true labels; None where unknown.
    subjects
        subjects to replay post by post.
    policy
        initial policy for subjects, which can be changed on the page [default: `Overtakes` for the
        rarest label of the subjects].
    name
        name of the model on the page.
    host, port
        address to listen on; port 0 is any free port.
    token
        access token, part of the URL [default: a random one].
    open_to_all_users
        require no token: every user and program of this machine can then read the page. Refused if
        `host` is reachable from other machines.
    open_browser
        open the page in a browser.
    on_ready
        callback called with the `LivePage` once it is available [default: print its URL to standard
        error].
    """
    from watchword.web.listening import run_until_interrupted, way_to

    content = Content(model, texts, labels, subjects=subjects, policy=policy, name=name)
    with (
        _ready(content, host, port, token, open_to_all_users) as (app, listener, page),
        ExitStack() as until_the_end,
    ):
        if on_ready is None:
            print(f"Serving at {page.url} (press Ctrl-C to stop)", file=sys.stderr, flush=True)
        else:
            on_ready(page)
        if open_browser:
            secret = page.token is not None
            webbrowser.open(until_the_end.enter_context(way_to(page.url)) if secret else page.url)
        run_until_interrupted(app, listener)


@contextmanager
def running_page(
    model: TauSS3,
    texts: Iterable[str | Document] | None = None,
    labels: Iterable[Target | None] | None = None,
    *,
    subjects: Iterable[Subject] | None = None,
    policy: Policy | None = None,
    name: str = "model",
    port: int = 0,
    token: str | None = None,
    open_to_all_users: bool = False,
) -> Iterator[LivePage]:
    """Show a model in the browser as long as the context lasts, on this machine only.

    Programs send the token in a header.

    >>> from urllib.request import Request, urlopen
    >>> model = TauSS3()
    >>> model.learn_one("machine learning", "tech")
    >>> with running_page(model) as page:
    ...     header = {"Authorization": f"Bearer {page.token}"}
    ...     with urlopen(Request(page.address, headers=header)) as answer:
    ...         print(answer.readline().decode().strip())
    <!doctype html>
    """
    from watchword.web.listening import running_in_thread

    content = Content(model, texts, labels, subjects=subjects, policy=policy, name=name)
    with (
        _ready(content, "127.0.0.1", port, token, open_to_all_users) as (app, listener, page),
        running_in_thread(app, listener),
    ):
        yield page


@contextmanager
def _ready(
    content: Content, host: str, port: int, token: str | None, open_to_all_users: bool
) -> Iterator[tuple[ASGIApp, socket.socket, LivePage]]:
    from watchword.web.app import make_app
    from watchword.web.listening import listening, new_token, url_of

    if token is not None and open_to_all_users:
        raise ValueError("token and open_to_all_users=True cannot be used together")
    if token is None and not open_to_all_users:
        token = new_token()
    app = make_app(content, host=host, token=token)
    with listening(host, port) as listener:
        address = url_of(listener)
        url = f"{address}/" if token is None else f"{address}/?token={token}"
        yield app, listener, LivePage(url, address, token)
