"""A document in PySS3's words: paragraphs, sentences and n-grams with their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchword.pyss3.constants import WORD_REGEX
from watchword.pyss3.reading import Paragraph, Sentence, batch_of

if TYPE_CHECKING:
    from watchword.pyss3.counts import View

Vector = Sequence[float]
SummaryOperator = Callable[[Sequence[Vector]], Vector]


def added(vectors: Sequence[Vector]) -> Vector:
    """Add vectors, from left to right."""
    total = list(vectors[0])
    for vector in vectors[1:]:
        total = [sum(pair) for pair in zip(total, vector, strict=True)]
    return total


def largest(vectors: Sequence[Vector]) -> Vector:
    """Return the largest value of each category."""
    return [max(column) for column in zip(*vectors, strict=True)]


@dataclass(frozen=True)
class Operators:
    """The operators that summarise the vectors of a block's parts in one vector."""

    ngrams: SummaryOperator = added
    sentences: SummaryOperator = added
    paragraphs: SummaryOperator = added


Ngram = dict[str, Any]  # token, lexeme, cv, lv, fr: as in `classify(json=True)`


def _parsed(view: View, document: list[Paragraph]) -> list[list[list[Ngram]]]:
    """Return the n-grams of each sentence of each paragraph."""
    explained = view.explain(batch_of([document], with_spans=True))
    values = explained["values"]
    # By the number of words and breaks before each n-gram: its words, and its row of values.
    ngrams = {
        start // 2: (words.split(" "), row)
        for start, _, _, words, row in explained["ngrams"]
        if any(values["count"][row])
    }
    columns = len(values["labels"])
    at = 0  # words and breaks so far

    def read(sentence: Sentence) -> list[Ngram]:
        nonlocal at
        found: list[Ngram] = []
        pending = 0  # words of the n-gram that are still to come
        for token in sentence:
            if pending:
                found[-1]["lexeme"] += token.lexeme
                pending -= not token.crossed
            else:
                words: list[str] = []
                cv, lv, fr = [0.0] * columns, [0.0] * columns, [0] * columns
                if at in ngrams and not token.crossed:
                    words, row = ngrams[at]
                    cv = [one if one > view.alpha else 0.0 for one in values["cv"][row].tolist()]
                    lv, fr = list(values["lv"][row]), list(values["count"][row])
                    pending = len(words) - 1
                ngram = {"token": "→".join(words), "lexeme": token.lexeme}
                found.append(ngram | {"cv": cv, "lv": lv, "fr": fr})
            at += not token.crossed
        return found

    return [[read(sentence) for sentence in paragraph] for paragraph in document]


def summarised(view: View, document: list[Paragraph], summary: Operators) -> list[float]:
    """Return the vector of a document with user-defined summary operators."""
    paragraphs = [
        summary.sentences(
            [summary.ngrams([one["cv"] for one in sentence]) for sentence in paragraph]
        )
        for paragraph in _parsed(view, document)
        if paragraph
    ]
    columns = len(view.model.labels)
    return list(summary.paragraphs(paragraphs)) if paragraphs else [0.0] * columns


def document_json(
    view: View, document: list[Paragraph], summary: Operators, categories: list[Any]
) -> dict[str, Any]:
    """Return what `SS3.classify(json=True)` returns."""
    zeros = [0.0] * len(categories)
    paragraphs = []
    for paragraph in _parsed(view, document):
        sentences = []
        for words in paragraph:
            cvs = [one["cv"] for one in words]
            sentences.append({"words": words, "cv": summary.ngrams(cvs), "wmv": largest(cvs)})
        paragraphs.append(_block("sents", sentences, summary.sentences, zeros))
    whole = _block("pars", paragraphs, summary.paragraphs, zeros)
    highest = max(whole["cv"])
    norm = [one / highest if highest > 1 else one for one in whole["cv"]]
    ranked = [(at, norm[at], value) for at, value in enumerate(whole["cv"])]
    ranked.sort(key=lambda one: -one[1])
    return whole | {"cvns": ranked, "ci": categories}


def _block(
    name: str, parts: list[dict[str, Any]], operator: SummaryOperator, zeros: list[float]
) -> dict[str, Any]:
    """Return a block of parts, its vector and the largest values of words in it."""
    cv = operator([one["cv"] for one in parts]) if parts else zeros
    wmv = largest([one["wmv"] for one in parts]) if parts else zeros
    return {name: parts, "cv": cv, "wmv": wmv}


def insights(
    found: dict[str, Any],
    category: int,
    level: str,
    window: int,
    least: float,
    *,
    sort: bool,
) -> list[tuple[str, float]]:
    """Return the parts of a document with a confidence above `least`, and that confidence."""
    parts: list[tuple[str, float]] = []
    for paragraph in found["pars"]:
        if level == "word":
            words = [word for sentence in paragraph["sents"] for word in sentence["words"]]
            parts += _windows(words, category, window, least)
            continue
        blocks = [paragraph] if level == "paragraph" else paragraph["sents"]
        for block in blocks:
            sentences = block.get("sents", [block])
            text = "".join(word["lexeme"] for one in sentences for word in one["words"])
            if block["cv"][category] > least:
                parts.append((text, block["cv"][category]))
    return sorted(parts, key=lambda part: -part[1]) if sort else parts


def _windows(
    words: list[dict[str, Any]], category: int, size: int, least: float
) -> list[tuple[str, float]]:
    """Return the words above `least` with those around them; overlapping windows are merged.

    On the left, `size` tokens are taken, on the right as many as hold `size` words.
    """
    values = [word["cv"][category] for word in words]
    found = []
    at = 0
    while at < len(words):
        if values[at] <= least:
            at += 1
            continue
        left = min(at, size)
        begin, at = at - left, at - left
        remaining = left + 1
        total = 0.0
        while remaining > 0 and at < len(words):
            total += values[at]
            if values[at] > least:
                remaining += min(size, len(words) - 1 - at)
            remaining -= re.search(WORD_REGEX, words[at]["lexeme"]) is not None
            at += 1
        found.append(("".join(word["lexeme"] for word in words[begin:at]), total))
    return found
