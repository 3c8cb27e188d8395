"""Text as terms: tokenizers, hooks, and placeholders for functions that were not passed.

A model file stores the names of functions, not the functions. A model loaded without them has a
placeholder for each: it can be inspected, merged and saved, but cannot learn or read.

A word is a run of letters, digits, underscores and their combining marks; `'` or `’` between two
such characters belongs to the word. Words are case-folded, and accents are removed. In scripts
without spaces between words (Chinese, Japanese, Thai, …) a run of letters is one word: pass a
`tokenizer` for them.
"""

from __future__ import annotations

import operator
import pickle
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from watchword import _native
from watchword._checks import as_choice, as_text
from watchword.errors import HookError


@dataclass(frozen=True)
class MissingFunction:
    """A placeholder for a function of the model that was not passed to `TauSS3.load`."""

    role: str  # the name of the argument: word_hook, tokenizer, summary
    name: str

    def __call__(self, *_: object) -> NoReturn:
        """Raise `HookError`."""
        raise HookError(
            f"the model needs the {self.role} {self.name}, which is not stored in the file: "
            f"pass it as TauSS3.load(path, {self.role}=…)"
        )


def check_function(role: str, function: object) -> None:
    """Raise `TypeError` if this is neither a function nor None."""
    if function is not None and not callable(function):
        raise TypeError(f"{role} must be a function, got {function!r}")


def refuse_placeholder(function: object) -> None:
    """Raise `HookError` if this is a placeholder."""
    if isinstance(function, MissingFunction):
        function()


def same(ours: object, theirs: object) -> bool:
    """Return whether two functions are equal, by name if one is missing, else by content.

    >>> same(str.lower, str.lower), same(str.lower, str.upper)
    (True, False)
    """
    if isinstance(ours, MissingFunction) or isinstance(theirs, MissingFunction):
        return function_name(ours) == function_name(theirs)
    try:
        return bool(ours == theirs or _content(ours) == _content(theirs))
    except Exception:  # comparing or pickling an object may raise anything
        return False


def _content(function: object) -> object:
    """Return the content of a function, equal for copies of it in other processes."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__self__"):  # a callable object, or a method
        return pickle.dumps(function)
    cells = getattr(function, "__closure__", None) or ()
    defaults = [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__")]
    return code, defaults, [cell.cell_contents for cell in cells]


def function_name(function: object) -> str:
    """Return the name of a function in model files and messages."""
    if isinstance(function, MissingFunction):
        return function.name
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}"


_AnyLabel = TypeVar("_AnyLabel", bound=Hashable)

WordHook = Callable[[str], str | None]
Tokenizer = Callable[[str], Iterable[tuple[int, int, str | None]]]

# Size limits of the cache of hook results: a stream may bring new words forever, and long ones.
_REMEMBERED_WORDS = 1 << 20
_REMEMBERED_LENGTH = 64


class Term(NamedTuple):
    """A word in its learnt form, or a break (`word` is None) that no n-gram crosses."""

    start: int
    end: int
    word: str | None


class TermsOfTexts(NamedTuple):
    """The terms of some texts as they are read, and as they are learnt."""

    reading: _native.TermBatch
    learning: _native.TermBatch


def read_terms(
    text: str,
    *,
    paragraphs: Literal["lines", "blank_lines"] = "lines",
    tokenization: Literal["unicode", "pyss3"] = "unicode",
) -> list[list[list[Term]]]:
    """Return paragraphs of sentences of terms, with offsets into the text.

    >>> [[sentence]] = read_terms("Don’t PANIC, Zoë")
    >>> [term.word for term in sentence]
    ["don't", 'panic', None, 'zoe']
    >>> [[sentence]] = read_terms("Don't PANIC, Zoë", tokenization="pyss3")
    >>> [term.word for term in sentence]
    ['dont', 'panic', 'zoe']
    """
    as_choice("paragraphs", paragraphs, tuple(_native.Paragraphs.__members__))
    as_choice("tokenization", tokenization, tuple(_native.Tokenization.__members__))
    batch = TextSource(paragraphs, tokenization).read([as_text(text)], with_spans=True)
    return [
        [[Term(*term) for term in sentence] for sentence in paragraph] for paragraph in batch.tree()
    ]


def lines_by_label(texts: Iterable[str], labels: Iterable[_AnyLabel]) -> dict[_AnyLabel, list[str]]:
    """Return the texts of each label as lines, which are joined to learn them as PySS3 does."""
    lines: dict[_AnyLabel, list[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        lines.setdefault(label, []).append(text if text.endswith("\n") else text + "\n")
    return lines


def batch_of_words(
    documents: Iterable[Sequence[Sequence[str | None]]], *, with_spans: bool = False
) -> _native.TermBatch:
    """Return documents that are already split: sentences of words, with None for a break.

    The span of a word begins at twice the number of words and breaks before it.

    >>> batch_of_words([[["good", "morning"], ["bye"]]], with_spans=True).tree()
    [[[(0, 1, 'good'), (2, 3, 'morning')]], [[(4, 5, 'bye')]]]
    """
    texts, terms = [], []
    for document in documents:
        # The core finds the sentences in the text: a line for each, a letter for each word.
        texts.append("\n".join(" ".join("x" * len(words)) for words in document if words))
        words = [word for sentence in document for word in sentence]
        terms.append([(2 * at, 2 * at + 1, word) for at, word in enumerate(words)])
    rules = _native.TextRules(_native.Paragraphs.lines, _native.Tokenization.unicode)
    return _native.foreign_terms(texts, terms, rules, _native.Purpose.learning, with_spans)


class TextSource:
    """Turns texts into terms, with the core alone or with user-defined functions."""

    def __init__(
        self,
        paragraphs: str,
        tokenization: str = "unicode",
        *,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        check_function("word_hook", word_hook)
        check_function("tokenizer", tokenizer)
        self.rules = _native.TextRules(
            _native.Paragraphs[paragraphs], _native.Tokenization[tokenization]
        )
        self.word_hook = word_hook
        self.tokenizer = tokenizer
        self._remembered: dict[str, str | None] = {}
        self._asking = threading.RLock()

    def with_rules(self, paragraphs: str, tokenization: str) -> TextSource:
        """Return a source that differs only in these rules."""
        return TextSource(
            paragraphs, tokenization, word_hook=self.word_hook, tokenizer=self.tokenizer
        )

    @property
    def is_plain(self) -> bool:
        """Whether there are no user-defined functions."""
        return self.word_hook is None and self.tokenizer is None

    @property
    def description(self) -> dict[str, Any]:
        """The settings that must be equal for merging; stored in the model file."""
        return {
            "unicode": _native.unicode_version,
            "paragraphs": self.rules.paragraphs.name,
            "word_hook": None if self.word_hook is None else function_name(self.word_hook),
            "tokenizer": None if self.tokenizer is None else function_name(self.tokenizer),
        }

    def refuse_if_incomplete(self) -> None:
        """Raise `HookError` if a function of the model is missing."""
        refuse_placeholder(self.word_hook)
        refuse_placeholder(self.tokenizer)

    def read(
        self, texts: list[str], *, with_spans: bool = False, learning: bool = False
    ) -> _native.TermBatch:
        """Return the terms of these texts, for reading or for learning them."""
        self.refuse_if_incomplete()
        purpose = _purpose(learning)
        if self.tokenizer is None:
            batch = _native.read_terms(texts, self.rules, purpose, with_spans)
        else:
            terms = [_checked_terms(text, self.tokenizer(text)) for text in texts]
            batch = _native.foreign_terms(texts, terms, self.rules, purpose, with_spans)
        if self.word_hook is not None:
            batch.rewrite(self._replacements(self.word_hook, batch.words))
        return batch

    def read_both(self, texts: list[str]) -> TermsOfTexts:
        """Return the terms of texts that some models learn and others read."""
        reading = self.read(texts)
        if self.rules.tokenization == _native.Tokenization.unicode:
            return TermsOfTexts(reading, reading)
        return TermsOfTexts(reading, self.read(texts, learning=True))

    def read_utf8(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        *,
        learning: bool = False,
    ) -> _native.TermBatch:
        """Return the terms of texts in UTF-8, each ending where the next begins, as Arrow has them.

        Only for a plain source. Raises `ValueError` if the bytes are not UTF-8.
        """
        return _native.read_utf8(data, offsets, self.rules, _purpose(learning))

    def _replacements(self, hook: WordHook, words: list[str]) -> list[str | None]:
        # One thread at a time, so that the hook is called once for each word.
        with self._asking:
            known = self._remembered
            if len(known) > _REMEMBERED_WORDS:
                known.clear()
            replacements = []
            for word in words:
                if word in known:
                    replacements.append(known[word])
                    continue
                result = hook(word)
                if result is not None:
                    _check_word(result, f"word_hook({word!r})")
                if max(len(word), len(result or "")) <= _REMEMBERED_LENGTH:
                    known[word] = result
                replacements.append(result)
            return replacements


def _purpose(learning: bool) -> _native.Purpose:
    return _native.Purpose.learning if learning else _native.Purpose.reading


def _check_word(word: object, source: str) -> None:
    if not isinstance(word, str):
        raise HookError(f"{source} must return a str or None, got {type(word).__name__}")
    if not word or any(character.isspace() for character in word):
        raise HookError(f"{source} must return a word without whitespace, got {word!r}")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise HookError(f"{source} must return valid Unicode, got {word!r}") from None


def _checked_terms(
    text: str, terms: Iterable[tuple[int, int, str | None]]
) -> list[tuple[int, int, str | None]]:
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise HookError(
            "tokenizer must return an iterable of (start, end, word or None), "
            f"got {type(terms).__name__}"
        )
    checked: list[tuple[int, int, str | None]] = []
    previous = 0
    for term in terms:
        try:
            first, last, word = term
            start, end = operator.index(first), operator.index(last)
        except (TypeError, ValueError):
            raise HookError(
                f"tokenizer must yield (start, end, word or None), got {term!r}"
            ) from None
        if not previous <= start <= end <= len(text):
            raise HookError(
                f"tokenizer must yield spans inside the text, in order, got {(start, end)}"
            )
        if word is not None:
            _check_word(word, "tokenizer")
        checked.append((start, end, word))
        previous = end
    return checked
