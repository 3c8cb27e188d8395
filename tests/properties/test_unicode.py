"""The core's table against Python's `unicodedata`, for every character.

With the same version of Unicode they agree on everything; otherwise on the characters of the older
version. A later Python does not say which these are, so the tests then use the characters of
Unicode 3.2 (which every Python knows), and all word characters of the table.
"""

import sys
import unicodedata
from collections import defaultdict
from itertools import chain

import pytest

import watchword as ww

LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"
APOSTROPHES = "'’"
JOINERS = "\u00ad\u200c\u200d"
TERMINATORS = ".!?…‼⁇⁈⁉؟۔։।॥။።፧፨།៕។᙮᠃᠉．"
WIDE_TERMINATORS = "。！？｡"
ACCENTS = {
    *map(chr, range(0x0300, 0x0370)),
    *map(chr, range(0x1AB0, 0x1B00)),
    *map(chr, range(0x1DC0, 0x1E00)),
    *map(chr, range(0x20D0, 0x2100)),
    *map(chr, range(0xFE20, 0xFE30)),
}

# Python keeps strings in one, two or four bytes a character: three ways through the core.
WIDTHS = {
    "one_byte": range(0x100),
    "two_bytes": range(0x100, 0x10000),
    "four_bytes": range(0x10000, sys.maxunicode + 1),
}
each_width = pytest.mark.parametrize("width", WIDTHS)


def version(text):
    return tuple(map(int, text.split(".")))


OURS, PYTHONS = version(ww.UNICODE_VERSION), version(unicodedata.unidata_version)


def is_known_to_both(character):
    if OURS == PYTHONS:
        return True
    known = unicodedata if PYTHONS < OURS else unicodedata.ucd_3_2_0
    return known.category(character) != "Cn"


def is_word_character(character):
    return character.isalnum() or character == "_"


def is_mark(character):
    return unicodedata.category(character).startswith("M")


def kind_of(character):
    named = {
        "line end": LINE_ENDS,
        "apostrophe": APOSTROPHES,
        "joiner": JOINERS,
        "terminator": TERMINATORS + WIDE_TERMINATORS,
    }
    for kind, characters in named.items():
        if character in characters:
            return kind
    if is_word_character(character):
        return "word"
    if character.isspace():
        return "blank"
    if is_mark(character):
        return "mark"
    if unicodedata.category(character) in ("Pe", "Pf") or character == '"':
        return "closer"
    return "break"


def fold(character):
    decomposed = unicodedata.normalize("NFKD", character)
    plain = "".join(part for part in decomposed if part not in ACCENTS)
    folded = plain.casefold().replace("’", "'")
    return "".join(c for c in folded if is_word_character(c) or is_mark(c) or c == "'")


@pytest.fixture(scope="module")
def kinds():
    """Return the characters of each width by kind."""
    found = {width: defaultdict(list) for width in WIDTHS}
    for width, codes in WIDTHS.items():
        for character in filter(is_known_to_both, map(chr, codes)):
            found[width][kind_of(character)].append(character)
    return found


def words_of(text):
    return [[[term.word for term in terms] for terms in line] for line in ww.model.read_terms(text)]


def sentences_of(text):
    return [sentence for paragraph in words_of(text) for sentence in paragraph]


def each_with_x(words):
    """Return the words with an x after each, which separates breaks."""
    return list(chain.from_iterable((word, "x") for word in words))


def test_every_character_has_a_kind(kinds):
    total = sum(len(found) for by_kind in kinds.values() for found in by_kind.values())
    assert total == sys.maxunicode + 1 or OURS != PYTHONS
    assert total > 90_000


@each_width
def test_word_characters_alone(kinds, width):
    characters = kinds[width]["word"]
    [words] = sentences_of("".join(f"{c} x " for c in characters))
    assert words == each_with_x(fold(c) or None for c in characters)


@each_width
def test_word_characters_inside_a_word(kinds, width):
    characters = kinds[width]["word"]
    [words] = sentences_of("".join(f"a{c}b " for c in characters))
    assert words == [f"a{fold(c)}b" for c in characters]


def test_marks_alone_are_breaks(kinds):
    characters = kinds["two_bytes"]["mark"] + kinds["four_bytes"]["mark"]
    [words] = sentences_of("".join(f"{c} x " for c in characters))
    assert words == each_with_x(None for _ in characters)


@pytest.mark.parametrize("width", ["two_bytes", "four_bytes"])
def test_marks_inside_a_word(kinds, width):
    characters = kinds[width]["mark"]
    [words] = sentences_of("".join(f"a{c}b " for c in characters))
    assert words == [f"a{fold(c)}b" for c in characters]


@each_width
def test_all_others_break_sequences(kinds, width):
    breaks = list(chain(*(kinds[width][kind] for kind in ("break", "closer", "terminator"))))
    model = ww.TauSS3(max_ngram=2, counting="occurrences")
    model.learn_one(" ".join(f"a{c}b" for c in breaks), "x")
    alike = {"a": len(breaks), "b": len(breaks), "b a": len(breaks) - 1}
    assert model.counts() == {ngram: {"x": count} for ngram, count in alike.items()}


def test_blanks_only_separate_words(kinds):
    blanks = kinds["one_byte"]["blank"] + kinds["two_bytes"]["blank"]
    assert " " in blanks
    assert words_of("a" + "a".join(blanks) + "a") == [[["a"] * (len(blanks) + 1)]]
    assert not kinds["four_bytes"]["blank"]


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_line_ends_separate_paragraphs(line_end):
    assert words_of(f"a{line_end}b") == [[["a"]], [["b"]]]


@pytest.mark.parametrize("apostrophe", APOSTROPHES)
def test_apostrophes_stay_inside_words(apostrophe):
    assert words_of(f"a{apostrophe}b {apostrophe}a") == [[["a'b", None, "a"]]]


@pytest.mark.parametrize("joiner", JOINERS)
def test_joiners_vanish_inside_words(joiner):
    assert words_of(f"a{joiner}b {joiner}a") == [[["ab", None, "a"]]]


@pytest.mark.parametrize("terminator", TERMINATORS + WIDE_TERMINATORS)
def test_terminators_end_sentences_before_a_blank(terminator):
    assert sentences_of(f"a{terminator} b") == [["a", None], ["b"]]


@pytest.mark.parametrize("terminator", TERMINATORS)
def test_terminators_end_no_sentence_before_a_word(terminator):
    assert sentences_of(f"a{terminator}b") == [["a", None, "b"]]


@pytest.mark.parametrize("terminator", WIDE_TERMINATORS)
def test_wide_terminators_end_sentences_before_a_word(terminator):
    assert sentences_of(f"a{terminator}b") == [["a", None], ["b"]]


@each_width
def test_nothing_else_ends_sentences(kinds, width):
    others = list(chain(*(kinds[width][kind] for kind in ("break", "closer", "mark", "word"))))
    assert len(sentences_of("".join(f"{c} " for c in others))) == 1


@each_width
def test_closers_belong_to_the_sentence_before(kinds, width):
    closers = kinds[width]["closer"] + kinds[width]["apostrophe"]
    sentences = sentences_of("".join(f"a.{c} " for c in closers))
    assert [sentence[0] for sentence in sentences] == ["a"] * len(closers)


@each_width
def test_nothing_else_closes_a_sentence(kinds, width):
    others = list(chain(*(kinds[width][kind] for kind in ("break", "joiner", "mark", "word"))))
    assert len(sentences_of("".join(f".{c} " for c in others))) == 1


def test_words_of_the_table_are_words_for_python():
    characters = [
        c
        for c in map(chr, range(sys.maxunicode + 1))
        if not is_known_to_both(c) and unicodedata.category(c) != "Cn"
    ]
    words = list(chain.from_iterable(sentences_of("".join(f"{c} x " for c in characters))))
    taken = [(c, word) for c, word in zip(characters, words[::2], strict=True) if word is not None]
    assert [(c, fold(c)) for c, _ in taken] == taken
    assert all(is_word_character(c) for c, _ in taken)
