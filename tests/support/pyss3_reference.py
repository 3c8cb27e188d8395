"""PySS3's way from text to words, in plain Python: its patterns, with spans of the original text.

Written from a description of PySS3 0.6.5, one substitution after the other as PySS3 makes them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

NUMBER = r"\d+(?:[.,]\d+)?"
NUMBERS = (
    (re.compile(rf"{NUMBER}\s*[CcFf](?=[^a-zA-Z])"), "NNBRRT"),
    (re.compile(rf"{NUMBER}[-/\\]{NUMBER}[-/\\]{NUMBER}"), "NNBRRD"),
    (re.compile(rf"\$\s*{NUMBER}"), "MNNBRR"),
    (re.compile(rf"{NUMBER}\s*%"), "NNBRRP"),
    (re.compile(NUMBER), "NNBRR"),
)
AFTER_HASHTAG = re.compile(r"(#[a-zA-Z0-9]+)\s*(?=#)")
PUNCTUATION = re.compile(r'[(),;:?!="/.|<>\[\]]+|#(?![a-zA-Z])')
WORD_OR_DOT = re.compile(r"\w+|\.")


class Term(NamedTuple):
    """A word, or a break (word None), with its span in the original text."""

    start: int
    end: int
    word: str | None


class Spanned:
    """A text whose characters know where they come from."""

    def __init__(self, text, offset):
        self.text, self.spans = "", []
        for index, character in enumerate(text, start=offset):
            for part in unicodedata.normalize("NFKD", character):
                if unicodedata.category(part) == "Mn":
                    if self.spans and self.spans[-1][1] == index:
                        self.spans[-1] = (self.spans[-1][0], index + 1)
                elif part != "'":
                    self.append(part, (index, index + 1))
        self.append(" ", (offset + len(text), offset + len(text)))

    def append(self, characters, span):
        self.text += characters
        self.spans += [span] * len(characters)

    def span(self, start, end):
        return self.spans[start][0], self.spans[end - 1][1]

    def substitute(self, pattern, replacement):
        """Replace what matches, after its group; new characters come from all that they replace."""
        text, spans, at = "", [], 0
        for match in pattern.finditer(self.text):
            start = match.end(1) if pattern.groups else match.start()
            own = self.span(start, max(start + 1, match.end()))
            text += self.text[at:start] + replacement
            spans += self.spans[at:start] + [own] * len(replacement)
            at = match.end()
        self.text, self.spans = text + self.text[at:], spans + self.spans[at:]


def clean_terms(text, offset=0):
    """Return the words of a text, and a break for each full stop of the cleaned text."""
    cleaned = Spanned(text, offset)
    for pattern, replacement in NUMBERS:
        cleaned.substitute(pattern, replacement)
    cleaned.substitute(AFTER_HASHTAG, ".")
    cleaned.substitute(PUNCTUATION, ".")
    # Words are separated by blanks, so that only their own letters decide on a final sigma.
    terms, behind = [], 0
    for match in WORD_OR_DOT.finditer(cleaned.text):
        # One character may become several words: only the first of them spans it.
        start, end = (max(behind, place) for place in cleaned.span(*match.span()))
        terms.append(Term(start, end, None if match[0] == "." else match[0].lower()))
        behind = end
    return terms


def split(pattern, text, start):
    """Yield (part, its offset, whether a separator follows)."""
    at = 0
    for match in re.finditer(pattern, text):
        yield text[at : match.start()], start + at, True
        at = match.end()
    yield text[at:], start + at, False


def read_terms(text, paragraphs="lines"):
    """Return paragraphs of sentences of words: text to read is cut before it is cleaned."""
    document = []
    between = r"\n" if paragraphs == "lines" else r"\n(?=[^\S\n]*\n)"
    for paragraph, begin, _ in split(between, text, 0):
        sentences = []
        for sentence, start, stopped in split(r"\.", paragraph, begin):
            terms = [term for term in clean_terms(sentence, start) if term.word is not None]
            if terms and stopped:
                end = start + len(sentence)
                terms.append(Term(end, end + 1, None))
            if terms:
                sentences.append(terms)
        if sentences:
            document.append(sentences)
    return document
