"""Functions that tests give to models as tokenizer or summary."""

import re


def by_blanks(text):
    """Split a text at blanks: a tokenizer that keeps every other character."""
    return [(found.start(), found.end(), found[0]) for found in re.finditer(r"\S+", text)]


def last_row(rows):
    """Return the last row: a summary that is not one of the named operators."""
    return rows[-1]
