"""PySS3's Live Test: a classifier in the browser, on watchword's page."""

from __future__ import annotations

import mimetypes
import posixpath
import re
import socket
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar
from urllib.parse import unquote_plus

from watchword._checks import as_list
from watchword._files import AnyPath
from watchword.pyss3.classifier import SS3, are_collections
from watchword.pyss3.constants import STR_UNKNOWN_CATEGORY, Print, refusing
from watchword.pyss3.counts import native_names
from watchword.pyss3.reading import Cleaner
from watchword.pyss3.settings import plain_label
from watchword.pyss3.util import Dataset
from watchword.web import LivePage, serve

__all__ = ["Live_Test", "Server"]

__getattr__ = refusing(__name__, {"main": "use the command `watchword serve`"})


class Server:
    """The page that shows how a classifier reads documents.

    The classifier and the documents are arguments of `serve`, or set before.
    """

    _classifier: ClassVar[SS3 | None] = None
    _documents: ClassVar[tuple[list[str], list[Any] | None] | None] = None
    _default_category: ClassVar[Hashable] = None
    __server_socket__: ClassVar[socket.socket | None] = None

    @staticmethod
    def set_model(clf: SS3) -> None:
        """Set the classifier to show, and forget the documents that were set."""
        Server._classifier, Server._documents = clf, None

    @staticmethod
    def set_testset(
        x_test: Iterable[str], y_test: Iterable[Any] | None = None, def_cat: Hashable = None
    ) -> bool:
        """Set the documents to show and their categories; return whether there are any."""
        documents = as_list(x_test, "documents")
        labels = None if y_test is None else as_list(y_test, "labels")
        if labels is not None and len(documents) != len(labels):
            raise ValueError("y_test must have the same length as x_test")
        Server._documents, Server._default_category = (documents, labels), def_cat
        return bool(documents)

    @staticmethod
    def set_testset_from_files(
        test_path: AnyPath, folder_label: bool = True, sep_doc: str = "\n"
    ) -> bool:
        """Set documents read by `Dataset.load_from_files`; return whether there are any."""
        return Server.set_testset(
            *Dataset.load_from_files(test_path, folder_label, sep_doc=sep_doc)
        )

    @staticmethod
    def set_testset_from_files_multilabel(
        docs_path: AnyPath, labels_path: AnyPath, sep_label: str | None = None, sep_doc: str = "\n"
    ) -> bool:
        """Set documents with several labels each; return whether there are any."""
        return Server.set_testset(
            *Dataset.load_from_files_multilabel(docs_path, labels_path, sep_label, sep_doc)
        )

    @staticmethod
    def start_listening(port: int = 0) -> int:
        """Listen on a port of this machine, on which `serve` then answers programs; return it.

        Programs that were written for PySS3's server send POST requests to `/classify`,
        `/get_info` and `/get_doc`, without a token: every user of this machine can. For the page,
        call `serve` alone.
        """
        from watchword.web.listening import listening

        Server.__server_socket__ = listening("127.0.0.1", port).__enter__()
        return Server.get_port()

    @staticmethod
    def get_port() -> int:
        """Return the port of `start_listening`; 0 if there is none."""
        listener = Server.__server_socket__
        return 0 if listener is None else int(listener.getsockname()[1])

    @staticmethod
    def serve(
        clf: SS3 | None = None,
        x_test: Iterable[str] | None = None,
        y_test: Iterable[Any] | None = None,
        port: int = 0,
        browser: bool = True,
        quiet: bool = True,
        prep: bool = True,
        prep_func: Cleaner | None = None,
        def_cat: Hashable = None,
        on_ready: Callable[[LivePage], None] | None = None,
    ) -> None:
        """Show a classifier and documents in the browser until interrupted (Ctrl-C).

        The page is for this machine only, and its address has a token. `on_ready` is called with
        the `watchword.web.LivePage` once it is available. After `start_listening`, programs are
        answered instead.
        """
        clf = Server._classifier = clf or Server._classifier
        if clf is None:
            Print.error("a model must be given before serving")
            return
        if x_test is not None:
            Server.set_testset(x_test, y_test, def_cat)
        documents, labels = Server._documents or (None, None)
        listener = Server.__server_socket__
        if listener is not None:
            _answer_programs(listener, clf, documents or [], labels, prep, prep_func)
            return
        default = Server._default_category if def_cat is None else def_cat
        serve(
            clf.to_watchword(prep=prep, prep_func=prep_func, def_cat=default),
            documents,
            None if labels is None else _as_labels(clf, labels),
            name=clf.get_name(),
            port=port,
            open_browser=browser,
            on_ready=on_ready,
        )

    run = serve


def _answer_programs(
    listener: socket.socket,
    clf: SS3,
    documents: list[str],
    labels: list[Any] | None,
    prep: bool,
    prep_func: Cleaner | None,
) -> None:
    """Answer requests in the protocol of PySS3's server until interrupted."""
    from starlette.applications import Starlette
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

    from watchword.web.connections import read_body
    from watchword.web.guard import OriginGuard
    from watchword.web.listening import run_until_interrupted

    class AnyProgram(OriginGuard):
        """Admit every program of this machine, but no other host and no page of another site."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and "host" not in Headers(scope=scope):
                # PySS3's clients leave it out; browsers, which a site could mislead, never do.
                scope = {**scope, "headers": [*scope["headers"], (b"host", b"localhost")]}
            await super().__call__(scope, receive, send)

        def admit(self, *_: object) -> None:
            return None

    async def body_of(request: Request) -> str:
        return unquote_plus((await read_body(request)).decode("utf-8", "replace"))

    async def acknowledge(_: Request) -> Response:
        return Response()

    async def describe(_: Request) -> Response:
        return JSONResponse(
            {
                "model_name": clf.get_name(),
                "hps": clf.get_hyperparameters(),
                "categories": [*clf.get_categories(all=True), STR_UNKNOWN_CATEGORY],
                "docs": _described(clf, documents, labels, prep_func),
            }
        )

    async def classify(request: Request) -> Response:
        text = await body_of(request)
        return JSONResponse(clf.classify(text, prep=prep, prep_func=prep_func, json=True))

    async def send_document(request: Request) -> Response:
        number = re.fullmatch(r":x_test:([0-9]{1,9})", await body_of(request))
        if number is None or int(number[1]) >= len(documents):
            return JSONResponse({"error": "no such document"}, 404)
        return JSONResponse({"content": documents[int(number[1])]})

    async def greet(_: Request) -> Response:
        return HTMLResponse(
            "<!doctype html>\n<html><title>watchword</title><p>Programs are answered here. For the "
            "page, call Live_Test.run without start_listening.</p></html>\n"
        )

    routes = [Route("/", greet), Route("/ack", acknowledge, methods=["POST"])]
    routes += [
        Route(path, endpoint, methods=["POST"])
        for path, endpoint in (
            ("/get_info", describe),
            ("/classify", classify),
            ("/get_doc", send_document),
        )
    ]
    app = Starlette(routes=routes, exception_handlers={404: lambda *_: Response(status_code=404)})
    try:
        run_until_interrupted(AnyProgram(app, host="127.0.0.1"), listener)
    finally:
        listener.close()
        if Server.__server_socket__ is listener:
            Server.__server_socket__ = None


def _described(
    clf: SS3, documents: list[str], labels: list[Any] | None, prep_func: Cleaner | None
) -> dict[str, dict[str, list[Any]]]:
    """Return names, paths and results of documents by category, as PySS3's page got them."""
    by_category: dict[str, dict[str, list[Any]]] = {}
    has_one_label_each = labels is not None and not are_collections(labels)
    unknown = len(clf.get_categories())
    for number, text in enumerate(documents):
        category = str(labels[number]) if labels is not None and has_one_label_each else ""
        entry = by_category.setdefault(category, {"file": [], "path": [], "clf_result": []})
        entry["file"].append(f"doc_{number}")
        entry["path"].append(f":x_test:{number}")
        index, value = clf.classify(text, prep_func=prep_func)[0]
        entry["clf_result"].append(index if value else unknown)
    if labels is not None and not has_one_label_each and documents:
        by_category[""]["true_labels"] = labels
    return by_category


def _as_labels(clf: SS3, labels: list[Any]) -> list[Any]:
    categories = clf.get_categories(all=True)
    label_of = dict(zip(categories, native_names(categories), strict=True))
    if not are_collections(labels):
        return [label_of.get(plain_label(category)) for category in labels]
    return [
        tuple(label_of[category] for category in map(plain_label, several) if category in label_of)
        for several in labels
    ]


def content_type(ext: str) -> str:
    """Return the media type for an extension of a file's name."""
    if ext == "js":
        return "application/javascript"
    return mimetypes.types_map.get(f".{ext}", "application/octet-stream")


def parse_and_sanitize(rsc_path: str) -> tuple[str, str]:
    """Return the path of a resource, without dots that lead elsewhere, and its extension."""
    folder, name = posixpath.split(rsc_path)
    name = name or "index.html"
    folders = (part.replace(".", "") for part in folder.split("/"))
    return "/".join([*filter(None, folders), name]), posixpath.splitext(name)[1][1:]


def get_http_path(http_request: str) -> str:
    """Return the path in the first line of a request."""
    return http_request.split("\n", 1)[0].split(" ")[1]


def get_http_body(http_request: str) -> str:
    """Return what follows the header of a request or response."""
    return http_request.partition("\r\n\r\n")[2]


def get_http_contlength(http_request: str) -> int:
    """Return the length in the header of a request or response; 0 without one."""
    length = re.search(r"^content-length\s*:\s*(\d+)", http_request, re.IGNORECASE | re.MULTILINE)
    return int(length[1]) if length else 0


Live_Test = Server
