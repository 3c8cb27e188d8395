"""The content of the live page as plain data, independent of HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchword import __version__
from watchword._checks import Target
from watchword.data import Document, Subject
from watchword.explain.pictures import bars_svg, cloud_svg, distribution_svg
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.web.documents import DocumentShelf
from watchword.web.models import (
    LatestUsed,
    Models,
    NotThereError,
    Settings,
    SharedProgress,
    explained,
    found_at,
)
from watchword.web.subjects import SubjectShelf

_FOLLOWING = 20
_TOP = 40  # n-grams of a label
_PICTURES = ("cloud", "bars", "distribution")


class Content:
    """A model and, where given, documents and subjects to try it on."""

    def __init__(
        self,
        model: TauSS3,
        texts: Iterable[str | Document] | None = None,
        labels: Iterable[Target | None] | None = None,
        *,
        subjects: Iterable[Subject] | None = None,
        policy: Policy | None = None,
        name: str = "model",
    ) -> None:
        engine_of(model).refuse_if_unreadable()
        self.models = Models(model)
        self.progress = SharedProgress()
        self.name = name
        self._overviews = LatestUsed(2)
        self.documents = (
            None
            if texts is None
            else DocumentShelf(self.models, texts, labels, progress=self.progress)
        )
        self.subjects = None if subjects is None else SubjectShelf(self.models, subjects, policy)

    def about(self) -> dict[str, Any]:
        """Return the data that the page loads first: labels, counts, settings."""
        model = self.models.first
        statistics = model.statistics
        refinement = model.refinement
        return {
            "version": __version__,
            "name": self.name,
            "labels": list(model.labels),
            "documents_learnt": [statistics.documents[label] for label in model.labels],
            "words_learnt": [statistics.words[label] for label in model.labels],
            "ngrams": list(statistics.ngrams),
            "pruned": statistics.pruned,
            "refinement": None if refinement is None else refinement.to_dict(),
            "settings": self.models.own_settings(),
            "text_limit": self.models.text_limit,
            "documents": None if self.documents is None else self.documents.about(),
            "subjects": None if self.subjects is None else self.subjects.about(),
        }

    def explain(self, text: str, settings: Settings) -> dict[str, Any]:
        """Return the explanation of a text, ready for painting."""
        return explained(self.models.under(settings), text)

    def ngram(self, ngram: str, settings: Settings) -> dict[str, Any]:
        """Return an n-gram's values for every label, and the words that follow it."""
        model = self.models.under(settings)
        values = model.value(ngram)
        return {
            "ngram": ngram,
            "values": [value._asdict() for value in values.values()],
            "next": [word._asdict() for word in model.next_words(ngram)[:_FOLLOWING]],
        }

    def change(self, text: str, settings: Settings) -> dict[str, Any]:
        """Return the fewest n-grams without which a text would get another label."""
        return self.models.under(settings).what_would_change(text).to_dict()

    def overview(self, column: int, settings: Settings) -> dict[str, Any]:
        """Return a label's n-grams of highest value, overall and by length."""
        labels: list[dict[str, Any]] = self._overview(settings)["labels"]
        return found_at(labels, column, "label")

    def picture(
        self,
        kind: str,
        column: int,
        length: int | None,
        settings: Settings,
        alert: int | None = None,
    ) -> str:
        """Return a picture of a label's n-grams, as SVG; `alert` is the warm label's column."""
        if kind not in _PICTURES:
            raise NotThereError(
                f"picture {kind!r} not found: expected one of {', '.join(_PICTURES)}"
            )
        label = self.overview(column, settings)["label"]
        plain = self._overview(settings)
        warm = label if alert == column else None
        if kind == "distribution":
            return distribution_svg(plain, label, length or 1, alert=warm, alone=True)
        draw = cloud_svg if kind == "cloud" else bars_svg
        return draw(plain, label, length=length, alert=warm, alone=True)

    def _overview(self, settings: Settings) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            return self.models.under(settings).overview(_TOP).to_dict()

        return self._overviews.get(settings, make)
