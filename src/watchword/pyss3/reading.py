"""Documents as PySS3 reads them: preprocessing, tokens, n-grams and their values.

The core reads text as PySS3 does with its own cleaning and delimiters. This module is for the rest:
text without cleaning, a function that cleans, other delimiters, and output that must hold every
character of the text.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from watchword.model.native import TermBatch
from watchword.model.text import batch_of_words
from watchword.pyss3.constants import PARA_DELTR, SENT_DELTR, WORD_DELTR, WORD_REGEX

if TYPE_CHECKING:
    from watchword.pyss3.counts import View

Cleaner = Callable[[str], str]
Knows = Callable[[str], bool]

_NUMBER = r"\d+(?:[.,]\d+)?"
# In this order: a later rule sees what earlier ones have left. The signs of a degree are the two
# characters that PySS3 looks for, its UTF-8 bytes, so that "25°C" is a number and a letter.
_NUMBERS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (rf"{_NUMBER}\s*(?:\xc2[\xb0\xba])?\s*[CcFf](?=[^a-zA-Z])", "NNBRRT"),
        (rf"{_NUMBER}[-/\\]{_NUMBER}[-/\\]{_NUMBER}", "NNBRRD"),
        (rf"\$\s*{_NUMBER}", "MNNBRR"),
        (rf"{_NUMBER}\s*%", "NNBRRP"),
        (_NUMBER, "NNBRR"),
    )
)
_CHAINED_HASHTAGS = re.compile(r"(#[a-zA-Z0-9]+)\s*(?=#)")
_PUNCTUATION = re.compile(r'[(),;:?!="/.|<>\[\]]+|#(?![a-zA-Z])')
_WORD = re.compile(WORD_REGEX)
_WORDS = re.compile(f"({WORD_REGEX})")
# Without spaces between them, punctuation swallows the word behind it: "-bar" is no word.
_LEARNT = re.compile(rf"{WORD_REGEX}|[^\s]+")


def clean(text: str | bytes, dots: bool = True, normalize: bool = True, min_len: int = 1) -> str:
    """Return a text as PySS3 learns it: tokens separated by spaces, punctuation as `.`.

    Without `dots`, punctuation is left out; without `normalize`, accents and apostrophes stay.
    Tokens of fewer than `min_len` characters are left out.

    >>> clean("I'm 25, Zoë!")
    'im nnbrr . zoe . .'
    """
    if isinstance(text, bytes):
        text = text.decode()
    if normalize:
        if not text.isascii():
            decomposed = unicodedata.normalize("NFKD", text)
            text = "".join(one for one in decomposed if unicodedata.category(one) != "Mn")
        text = text.replace("'", "")
    text += " "
    for pattern, name in _NUMBERS:
        text = pattern.sub(name, text)
    token = rf"[\w\n]{{{int(min_len)},}}"
    if dots:
        text = _PUNCTUATION.sub(".", _CHAINED_HASHTAGS.sub(r"\1.", text)) + "."
        token += r"|\."
    return " ".join(re.findall(token, text)).lower()


clean_piece: Cleaner = partial(clean, dots=False)


class Piece(NamedTuple):
    """A piece of a sentence: its text, the word in it, and whether n-grams may cross it."""

    lexeme: str
    word: str | None
    crossed: bool = False


Sentence = list[Piece]
Paragraph = list[Sentence]


@dataclass(frozen=True)
class Delimiters:
    """The regular expressions that separate paragraphs, sentences and words."""

    paragraph: str = PARA_DELTR
    sentence: str = SENT_DELTR
    word: str = WORD_DELTR

    @property
    def are_default(self) -> bool:
        """Whether these are PySS3's own."""
        return self == Delimiters()


def learnt_words(text: str, delimiter: str) -> list[str | None]:
    r"""Return the words of a cleaned text, with None where no n-gram may cross.

    >>> learnt_words("a raised bed . and", r"\s")
    ['a', 'raised', 'bed', None, 'and']
    """
    if delimiter == WORD_DELTR:
        found: list[str] = _LEARNT.findall(text)
        return [token if _WORD.match(token) else None for token in found]
    words: list[str | None] = []
    for at, piece in enumerate(_WORDS.split(text)):
        if at % 2:
            words.append(piece)
        elif re.sub(delimiter, "", piece):
            words.append(None)
    return words


def read_plain(
    text: str, delimiters: Delimiters, cleaner: Cleaner | None, knows: Knows
) -> list[Paragraph]:
    """Return the tokens of a text; each sentence is cleaned as a whole."""
    return [
        [
            _tokens(sentence if cleaner is None else cleaner(sentence), delimiters.word, knows)
            for sentence in split(delimiters.sentence, paragraph)
        ]
        for paragraph in split(delimiters.paragraph, text)
    ]


def read_whole(text: str, delimiters: Delimiters, cleaner: Cleaner | None) -> list[Paragraph]:
    """Return the tokens of a text, cleaned as a whole and not split into sentences."""
    cleaned = text if cleaner is None else cleaner(text)
    words = split(delimiters.word, cleaned)
    return [[[Piece(one, one if _WORD.fullmatch(one) else None) for one in words]]]


def read_pieces(
    text: str, delimiters: Delimiters, cleaner: Cleaner | None, knows: Knows
) -> list[Paragraph]:
    """Return the tokens of a text; each piece is cleaned alone, and all text is kept."""
    return [
        [
            _tokens(sentence, delimiters.word, knows, cleaner)
            for sentence in split(delimiters.sentence, paragraph, keep=True)
        ]
        for paragraph in split(delimiters.paragraph, text, keep=True)
    ]


def split(delimiter: str, text: str, *, keep: bool = False) -> list[str]:
    """Return the pieces between delimiters that are not empty; `keep` also the delimiters.

    Unlike `re.split`, whatever groups there are in the pattern.

    >>> split("(-|/)", "a-b/c"), split("-", "a--b", keep=True)
    (['a', 'b', 'c'], ['a', '-', '-', 'b'])
    """
    pieces = []
    end = 0
    for found in re.finditer(delimiter, text):
        pieces += [text[end : found.start()], found[0] if keep else ""]
        end = found.end()
    return [piece for piece in (*pieces, text[end:]) if piece]


def _tokens(
    sentence: str, delimiter: str, knows: Knows, cleaner: Cleaner | None = None
) -> Sentence:
    tokens = []
    # The words of the sentence and what is between them.
    for lexeme in filter(None, _WORDS.split(sentence)) if sentence else ["."]:
        word = lexeme if cleaner is None else cleaner(lexeme)
        crossed = re.match(delimiter, lexeme) is not None
        # Only cleaning makes a word of a piece that begins with a space.
        if _WORD.fullmatch(word) and not (crossed and not knows(word)):
            tokens.append(Piece(lexeme, word))
        else:
            tokens.append(Piece(lexeme, None, crossed))
    return tokens


def batch_of(documents: Iterable[list[Paragraph]], *, with_spans: bool = False) -> TermBatch:
    """Return documents for the core; every sentence is a paragraph of its own."""
    return batch_of_words(
        [
            [
                [token.word for token in sentence if not token.crossed]
                for paragraph in document
                for sentence in paragraph
            ]
            for document in documents
        ],
        with_spans=with_spans,
    )


@dataclass(frozen=True)
class PieceTokenizer:
    """A tokenizer for `watchword.TauSS3` that cleans piece by piece."""

    delimiters: Delimiters
    cleaner: Cleaner | None

    def __call__(self, text: str) -> Iterator[tuple[int, int, str | None]]:
        """Yield (start, end, word), with None as word where no n-gram may cross."""
        end = 0
        for paragraph in read_pieces(text, self.delimiters, self.cleaner, lambda _: False):
            for token in itertools.chain.from_iterable(paragraph):
                start, end = end, end + len(token.lexeme)
                if not token.crossed:
                    yield start, end, token.word


# Documents with their values

Vector = Sequence[float]
VectorOperator = Callable[[Sequence[Vector]], Vector]


def added_vectors(vectors: Sequence[Vector]) -> Vector:
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

    ngrams: VectorOperator = added_vectors
    sentences: VectorOperator = added_vectors
    paragraphs: VectorOperator = added_vectors


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
    name: str, parts: list[dict[str, Any]], operator: VectorOperator, zeros: list[float]
) -> dict[str, Any]:
    """Return a block of parts, its vector and the largest values of words in it."""
    cv = operator([one["cv"] for one in parts]) if parts else zeros
    wmv = largest([one["wmv"] for one in parts]) if parts else zeros
    return {name: parts, "cv": cv, "wmv": wmv}


def insights(
    found: dict[str, Any], category: int, level: str, window: int, least: float, *, sort: bool
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
