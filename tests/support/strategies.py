"""Hypothesis strategies: texts, corpora and parameters that make counts repeat and values tie."""

import unicodedata

from hypothesis import settings
from hypothesis import strategies as st

from hooks import last_row

# Few words, some in several spellings that fold to one; phrases make long n-grams repeat.
SPELLINGS = ["A", "is", "Don't", "don’t", "caf\u00e9", "cafe\u0301", "co\u00adop", "½"]
WORDS = ["a", "b", "c"] * 3 + ["a b c", "b c", "c a b is"] * 2 + SPELLINGS
PUNCTUATION = [", ", " - ", ". ", "! ", "?\n", ".", "…”  ", '." ', ") "]
LINE_ENDS = ["\n", "\r\n", "\n\n", "\n \t\n", "\u2028", "\v", "\r"]
SEPARATORS = [" "] * 30 + ["  ", "\t", *PUNCTUATION, *LINE_ENDS]

# What a tokenizer can stumble over: marks, joiners, emoji, scripts, surrogates, controls.
AWKWARD = [
    *"aB1_ ßİſŉǅ'’.!?…。！",
    *"\0\x1c\x1f\x7f\x85\u00a0\u00ad\u200b\u200c\u200d\u200e\u2028\u2029\u3000\ufeff",
    *"\u0301\u0307\u0345\u20e3\u3099\u093f\u0e31\ufe0f\u1ab0\ufe20\u0488",
    *"½²Ⅷ①㎏ﬁ\u037a\ufdfa\u0e33",
    *"가\u1100\u1161漢字ひらがなｶﾞカ",
    *"שָׁלוֹםمَرْحَبًاкйİ",
    *"नमस्तेไทย",
    *"😀❤👩🏽💻\U0001f1e9\U000e0041𝔘𝟙",
    "\ud800",
    "\udfff",
    "\r\n",
    "e\u0301",
    "👩\u200d💻",
]


def examples(factor):
    """Multiply the number of examples that the profile asks for."""
    return settings(max_examples=max(1, int(factor * settings().max_examples)))


PINNED = unicodedata.unidata_version == "14.0.0"


def settled(text):
    """Keep the characters on which this Python and the pinned Unicode table (14.0.0) agree."""
    if PINNED:
        return text
    return "".join(c for c in text if unicodedata.ucd_3_2_0.category(c) != "Cn")


def joined(pieces, **sizes):
    return st.lists(st.sampled_from(pieces), **sizes).map("".join)


def texts(max_words=14):
    """Return short texts of few different words, with punctuation and line ends."""
    piece = st.tuples(st.sampled_from(WORDS), st.sampled_from(SEPARATORS)).map("".join)
    opening = st.sampled_from(["", "", "", "  ", "... ", "\n", "“"])
    few = st.lists(piece, max_size=3)
    many = st.lists(piece, min_size=max_words // 2, max_size=max_words)
    return st.tuples(opening, st.one_of(few, many).map("".join)).map("".join)


def unicode_texts(max_size=24):
    """Return texts of any code points, with awkward ones overrepresented."""
    anything = st.text(st.characters(exclude_categories=()), max_size=max_size)
    awkward = joined(AWKWARD, max_size=max_size)
    mixed = st.lists(st.one_of(anything, awkward, texts(4)), max_size=4).map("".join)
    return st.one_of(awkward, anything, mixed).map(settled)


def pyss3_texts(max_size=24):
    """Return texts that are rich in what PySS3's patterns tell apart: numbers, hashtags, dots."""
    pieces = [*"abcCfF_ 12 3.,-/\\$%#'()!?\n\t\x1c", "#a ", "12", "3.5", "Σ", "ς", "ʰ", "é", "½"]
    pieces += ["٣", "…", "․", "⒈", "가", "e\u0301", "’", "\u00a0", "\u2028", "\ufdfa", "😀"]
    ascii_only = joined([piece for piece in pieces if piece.isascii()], max_size=max_size)
    return st.one_of(ascii_only, joined(pieces, max_size=max_size))


def any_texts():
    return st.one_of(texts(), unicode_texts())


def valid_texts():
    """Return texts without lone surrogates."""
    return any_texts().map(lambda text: text.encode("utf-8", "replace").decode())


def label_sets(min_size=1, max_size=6):
    """Return 1 to 6 labels, all of one kind."""
    names = st.sampled_from(["x", "y", "z", "B", "é", "two words", "ß"])
    numbers = st.integers(-3, 20)
    kinds: tuple[st.SearchStrategy[str | int], ...] = (names, numbers)
    return st.one_of(
        [st.lists(kind, min_size=min_size, max_size=max_size, unique=True) for kind in kinds]
    )


@st.composite
def corpora(draw, contents=None, min_labels=1, max_labels=6, max_documents=8):
    """Return a list of (text, label) with at least one document."""
    labels = draw(label_sets(min_labels, max_labels))
    contents = texts() if contents is None else contents
    first = [(draw(contents), label) for label in labels]
    pair = st.tuples(contents, st.sampled_from(labels))
    return first + draw(st.lists(pair, max_size=max_documents))


def summaries(own_operators=True):
    names = st.sampled_from(["sum", "max", "mean"])
    one = st.one_of(names, st.just(last_row)) if own_operators else names
    per_level = st.fixed_dictionaries({"sentence": one, "paragraph": one, "document": one})
    return st.one_of(one, per_level)


@st.composite
def parameters(draw, own_operators=True):
    """Return parameters that the model and the reference both accept."""
    smoothness = st.one_of(st.sampled_from([0.455, 1.0, 0.5, 0.1]), st.floats(0.01, 1))
    significance = st.one_of(st.sampled_from([1.0, 0.0, 0.5, 4.0]), st.floats(0.01, 8))
    sanction = st.one_of(st.sampled_from([1.0, 0.0, 0.5, 2.0]), st.floats(0, 4))
    return {
        "smoothness": draw(smoothness),
        "significance": draw(significance),
        "sanction": draw(sanction),
        "max_ngram": draw(st.sampled_from([3, 2, 1, 4])),
        "min_count": draw(st.sampled_from([1, 1, 2, 3])),
        "alpha": draw(st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.3])),
        "prior": draw(st.sampled_from([0.0, 0.0, 0.5, 1.0, 7.0])),
        "label_weight": draw(st.sampled_from([0.0, 0.15, 1.0])),
        "ngram_scale": draw(st.sampled_from(["length", "words", "label"])),
        "significance_function": draw(st.sampled_from(["vanilla", "xai", "ratio"])),
        "confidence_function": draw(st.sampled_from(["gv", "norm_gv", "norm_gv_xai"])),
        "reading": draw(st.sampled_from(["paper", "words_sum"])),
        "summary": draw(summaries(own_operators)),
        "counting": draw(st.sampled_from(["occurrences", "documents"])),
        "paragraphs": draw(st.sampled_from(["lines", "blank_lines"])),
        "tokenization": draw(st.sampled_from(["unicode", "unicode", "pyss3"])),
    }
