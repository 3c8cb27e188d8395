"""PySS3's preprocessing of text: accents, numbers, punctuation and case."""

from __future__ import annotations

import re
import unicodedata

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
