"""The live page: type text and see it painted, browse documents, replay subjects.

    watchword.web.serve(model, x_test, y_test)

It listens on this machine only, answers those who know its token, loads nothing from elsewhere,
and keeps nothing.
"""

from __future__ import annotations

import socket
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchword._checks import Label
from watchword.data import Document, Subject
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.web.content import Content
from watchword.web.export import ExportReport, export_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["Content", "ExportReport", "LivePage", "export_page", "running_page", "serve"]


@dataclass(frozen=True)
class LivePage:
    """A page that can be opened: `url` leads to it, with the token if there is one."""

    url: str = field(repr=False)
    address: str
    token: str | None = field(repr=False)


def serve(
    model: TauSS3,
    texts: Iterable[str | Document] | None = None,
    labels: Iterable[Label | None] | None = None,
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
        what to show; if it learns more meanwhile, the page does not change.
    texts, labels
        documents to browse, and the truth about them where it is known.
    subjects
        people to replay post by post.
    policy
        when to alert about them, in the beginning; the page can switch. By default `Overtakes` for
        the label that the fewest subjects have.
    name
        what to call the model.
    host, port
        where to listen; port 0 is any free one.
    token
        what visitors must know; by default one is made up. It is part of the address.
    open_to_all_users
        ask for no token: then every user and program of this machine can read the page. Where other
        machines can reach it, this is refused.
    open_browser
        open the page at once.
    on_ready
        is told where the page is, as soon as it can be opened; by default the standard error is.
    """
    from watchword.web.listening import run_until_interrupted, way_to

    content = Content(model, texts, labels, subjects=subjects, policy=policy, name=name)
    token = _token(token, open_to_all_users)
    with _ready(content, host, port, token) as (app, listener, page), ExitStack() as until_the_end:
        if on_ready is None:
            print(f"The page is at {page.url}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
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
    labels: Iterable[Label | None] | None = None,
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
    token = _token(token, open_to_all_users)
    with (
        _ready(content, "127.0.0.1", port, token) as (app, listener, page),
        running_in_thread(app, listener),
    ):
        yield page


def _token(token: str | None, open_to_all_users: bool) -> str | None:
    if not open_to_all_users:
        from watchword.web.listening import new_token

        return new_token() if token is None else token
    if token is not None:
        raise ValueError("a page with a token is not open to all users: give one of the two")
    return None


@contextmanager
def _ready(
    content: Content, host: str, port: int, token: str | None
) -> Iterator[tuple[ASGIApp, socket.socket, LivePage]]:
    from watchword.web.app import make_app
    from watchword.web.listening import listening, url_of

    app = make_app(content, host=host, token=token)
    with listening(host, port) as listener:
        address = url_of(listener)
        url = f"{address}/" if token is None else f"{address}/?token={token}"
        yield app, listener, LivePage(url, address, token)
