"""From characters to terms, the user's hooks included.

A word is a run of letters, digits, underscores and the marks on them; `'` or `’` between two such
characters stays inside. Words are case folded and lose their accents. In scripts without blanks
between words (Chinese, Japanese, Thai, …) a run of letters is one word: give a `tokenizer` there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from watchword import _native
from watchword.errors import HookError

WordHook = Callable[[str], str | None]
Tokenizer = Callable[[str], Iterable[tuple[int, int, str | None]]]


class Term(NamedTuple):
    """A word as it is learnt, or a break (`word` is None) that no n-gram crosses."""

    start: int
    end: int
    word: str | None


def read_terms(
    text: str, *, paragraphs: Literal["lines", "blank_lines"] = "lines"
) -> list[list[list[Term]]]:
    """Paragraphs of sentences of terms, with their places in the text.

    >>> [[paragraph]] = read_terms("Don’t PANIC, Zoë")
    >>> [term.word for term in paragraph]
    ["don't", 'panic', None, 'zoe']
    """
    batch = _native.read_terms([text], _native.Paragraphs[paragraphs], True)
    return [
        [[Term(*term) for term in sentence] for sentence in paragraph] for paragraph in batch.tree()
    ]


def name_of(function: object) -> str:
    """How a user's function is called in a model file and in messages."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}"


class TextSource:
    """How texts become terms: the core's own way, or with the user's functions."""

    def __init__(
        self,
        paragraphs: str,
        *,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        for name, function in (("word_hook", word_hook), ("tokenizer", tokenizer)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function, got {function!r}")
        self.paragraphs = _native.Paragraphs[paragraphs]
        self.word_hook = word_hook
        self.tokenizer = tokenizer
        self._remembered: dict[str, str | None] = {}
        self._asking = threading.Lock()

    @property
    def is_plain(self) -> bool:
        """Whether the core can do everything by itself."""
        return self.word_hook is None and self.tokenizer is None

    @property
    def description(self) -> dict[str, Any]:
        """What two models must agree on to be merged; kept in the model file."""
        return {
            "unicode": _native.unicode_version,
            "paragraphs": self.paragraphs.name,
            "word_hook": None if self.word_hook is None else name_of(self.word_hook),
            "tokenizer": None if self.tokenizer is None else name_of(self.tokenizer),
        }

    def read(self, texts: list[str], *, with_spans: bool = False) -> _native.TermBatch:
        """The terms of these texts."""
        if self.tokenizer is None:
            batch = _native.read_terms(texts, self.paragraphs, with_spans)
        else:
            terms = [_checked_terms(text, self.tokenizer(text)) for text in texts]
            batch = _native.foreign_terms(texts, terms, self.paragraphs, with_spans)
        if self.word_hook is not None:
            batch.rewrite([self._replacement(word) for word in batch.words])
        return batch

    def _replacement(self, word: str) -> str | None:
        assert self.word_hook is not None
        with self._asking:
            if word not in self._remembered:
                result = self.word_hook(word)
                if result is not None:
                    _check_word(result, f"word_hook({word!r})")
                self._remembered[word] = result
            return self._remembered[word]


def _check_word(word: object, source: str) -> None:
    if not isinstance(word, str):
        raise HookError(f"{source} must give a str or None, got {type(word).__name__}")
    if not word or any(character.isspace() for character in word):
        raise HookError(f"{source} must give a word without blanks, got {word!r}")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise HookError(f"{source} must give valid Unicode, got {word!r}") from None


def _checked_terms(
    text: str, terms: Iterable[tuple[int, int, str | None]]
) -> list[tuple[int, int, str | None]]:
    checked: list[tuple[int, int, str | None]] = []
    previous = 0
    for term in terms:
        try:
            start, end, word = term
        except (TypeError, ValueError):
            raise HookError(
                f"tokenizer must give (start, end, word or None), got {term!r}"
            ) from None
        if not previous <= start <= end <= len(text):
            raise HookError(
                f"tokenizer must give spans inside the text, in order, got {(start, end)}"
            )
        if word is not None:
            _check_word(word, "tokenizer")
        checked.append((start, end, word))
        previous = end
    return checked
