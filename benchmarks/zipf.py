"""Endless text with the statistics that matter for speed, the same for the same seed.

Words and set phrases are drawn by the law of Zipf and Mandelbrot, so that few n-grams are common,
most occur once, and new ones never cease. Posts carry labels and lean towards units of their
label. Commas and full stops break the n-grams. The shares and exponents were set so that a few
million words hold about a tenth more distinct n-grams than as many of 20 Newsgroups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

VOCABULARY = 1_000_000
PHRASES = 2_000_000
PHRASE_SHARE = 0.4
LONGEST_PHRASE = 6
# Below this rank stand the words and phrases that every subject uses.
COMMON = 1_000
COMMA_SHARE = 0.17
STOP_SHARE = 0.1


@dataclass(frozen=True)
class Posts:
    texts: list[str]
    labels: list[str]
    words: int


class ZipfText:
    """A source of posts. Two with the same seed, asked the same, give the same posts."""

    def __init__(self, *, seed: int, labels: int = 4) -> None:
        self._random = np.random.default_rng(seed)
        self._labels = [f"label {number}" for number in range(labels)]
        self._word_odds = _cumulative_odds(VOCABULARY, exponent=1.2)
        self._phrase_odds = _cumulative_odds(PHRASES, exponent=1.0)
        self._words = np.array([_spell(number) for number in range(VOCABULARY)], dtype=object)
        # What a phrase is made of belongs to the language, not to the seed of the posts.
        language = np.random.default_rng(0)
        lengths = language.integers(2, LONGEST_PHRASE + 1, PHRASES)
        inside = _draw(language, self._word_odds, int(lengths.sum()))
        # A word is a unit of length one, so that one table serves words and phrases.
        self._flat = np.concatenate([np.arange(VOCABULARY), inside])
        self._length = np.concatenate([np.ones(VOCABULARY, dtype=np.int64), lengths])
        self._start = np.concatenate([[0], np.cumsum(self._length)[:-1]])
        self._separators = np.array([" ", ", ", ". ", ".\n"], dtype=object)

    def stream(self, *, post_words: int, chunk_words: int = 250_000) -> Iterator[Posts]:
        """Chunks of posts without end; memory is that of one chunk."""
        while True:
            yield self.posts(max(1, chunk_words // post_words), post_words=post_words)

    def posts(self, number: int, *, post_words: int) -> Posts:
        """So many posts of about `post_words` words each, from half to one and a half of it."""
        mean_length = 1 - PHRASE_SHARE + PHRASE_SHARE * (2 + LONGEST_PHRASE) / 2
        typical = post_words / mean_length
        units_per_post = self._random.integers(
            max(1, round(typical / 2)), max(2, round(typical * 1.5) + 1), number
        )
        label_per_post = self._random.integers(0, len(self._labels), number)
        units = self._units(np.repeat(label_per_post, units_per_post))
        lengths = self._length[units]
        words = self._flat[_ranges(self._start[units], lengths)]
        posts_end = np.cumsum(np.add.reduceat(lengths, _starts(units_per_post)))
        return self._spelt(words, posts_end, label_per_post)

    def _units(self, label_per_unit: Integers) -> Integers:
        number = len(label_per_unit)
        words = _draw(self._random, self._word_odds, number)
        phrases = _draw(self._random, self._phrase_odds, number)
        is_phrase = self._random.random(number) < PHRASE_SHARE
        units = np.where(is_phrase, phrases, words)
        # Half of the rarer units move to the nearest rank that belongs to the post's label.
        own = units - units % len(self._labels) + label_per_unit
        leans = (units >= COMMON) & (self._random.random(number) < 0.5)
        units = np.where(leans, own, units)
        return np.where(
            is_phrase,
            VOCABULARY + np.minimum(units, PHRASES - 1),
            np.minimum(units, VOCABULARY - 1),
        )

    def _spelt(self, words: Integers, ends: Integers, label_per_post: Integers) -> Posts:
        chance = self._random.random(len(words))
        kinds = (
            (chance < COMMA_SHARE + STOP_SHARE).astype(np.int64)
            + (chance < STOP_SHARE)
            + (chance < STOP_SHARE / 4)
        )
        pieces = np.empty(2 * len(words), dtype=object)
        pieces[0::2] = self._words[words]
        pieces[1::2] = self._separators[kinds]
        texts = []
        start = 0
        for end in ends.tolist():
            texts.append("".join(pieces[2 * start : 2 * end]))
            start = end
        labels = [self._labels[number] for number in label_per_post.tolist()]
        return Posts(texts, labels, len(words))


def _cumulative_odds(number: int, *, exponent: float) -> NDArray[np.float64]:
    odds: NDArray[np.float64] = np.cumsum((np.arange(number) + 2.7) ** -exponent)
    odds /= odds[-1]
    return odds


def _draw(random: np.random.Generator, odds: NDArray[np.float64], number: int) -> Integers:
    return np.searchsorted(odds, random.random(number), side="right").astype(np.int64)


def _starts(lengths: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]])


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """start, start + 1, … for each start, as many as its length says."""
    within = np.arange(int(lengths.sum())) - np.repeat(_starts(lengths), lengths)
    return np.repeat(starts, lengths) + within


_SYLLABLES = [onset + vowel for onset in "tnsrhldcmfpgwybvk" for vowel in "eaoiu"]


def _spell(number: int) -> str:
    """A pronounceable word of its own for each number; common words come out short."""
    spelling = ""
    number += 1
    while number:
        number, syllable = divmod(number - 1, len(_SYLLABLES))
        spelling = _SYLLABLES[syllable] + spelling
    return spelling
