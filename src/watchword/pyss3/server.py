"""PySS3's Live Test: a classifier in the browser, on watchword's page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from watchword._checks import as_list
from watchword.pyss3.classifier import SS3, are_collections
from watchword.pyss3.counts import native_names
from watchword.pyss3.reading import Cleaner
from watchword.pyss3.settings import plain_label
from watchword.web import LivePage, serve

__all__ = ["Live_Test", "Server"]


class Server:
    """The page that shows how a classifier reads documents."""

    @staticmethod
    def serve(
        clf: SS3,
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
        the `watchword.web.LivePage` once it is available.
        """
        texts = None if x_test is None else as_list(x_test, "documents")
        labels = None if y_test is None else as_list(y_test, "labels")
        if labels is not None:
            if texts is None or len(texts) != len(labels):
                raise ValueError("y_test must have the same length as x_test")
            labels = _as_labels(clf, labels)
        model = clf.to_watchword(prep=prep, prep_func=prep_func, def_cat=def_cat)
        serve(
            model,
            texts,
            labels,
            name=clf.get_name(),
            port=port,
            open_browser=browser,
            on_ready=on_ready,
        )

    run = serve


def _as_labels(clf: SS3, labels: list[Any]) -> list[Any]:
    categories = clf.get_categories(all=True)
    known = dict(zip(categories, native_names(categories), strict=True))
    if not are_collections(labels):
        return [known.get(plain_label(one)) for one in labels]
    return [tuple(known[one] for one in map(plain_label, own) if one in known) for own in labels]


Live_Test = Server
