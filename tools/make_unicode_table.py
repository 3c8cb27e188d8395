"""Write what each character is and how it folds, for the core.

The table is pinned to one Unicode version, because counts learnt with one table must not be read
with another. Run with a Python whose `unicodedata` has that version:

    python tools/make_unicode_table.py            # writes the files
    python tools/make_unicode_table.py --check    # exits 1 if they are not what would be written
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

UNICODE_VERSION = "14.0.0"
SOURCE = Path(__file__).parent.parent / "src"
TARGET = SOURCE / "core" / "unicode_table.inc"
CLEANING_TARGET = SOURCE / "core" / "cleaning_table.inc"

# The order is that of `enum class CharClass` in src/core/unicode.h.
BREAK, WORD, MARK, BLANK, LINE_END, APOSTROPHE, JOINER, TERMINATOR, WIDE_TERMINATOR, CLOSER = range(
    10
)
# The order is that of `enum class CleanClass` in src/core/unicode.h: what PySS3's patterns tell
# apart, and which characters decide how a capital sigma is lower-cased.
OTHER, SPACE, DIGIT, WORD_UNCASED, WORD_CASED, WORD_IGNORABLE = range(6)

LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"
APOSTROPHES = "'\u2019"
JOINERS = "\u00ad\u200c\u200d"
# Full stops, question and exclamation marks of the scripts that have their own.
TERMINATORS = ".!?…‼⁇⁈⁉؟۔։।॥။።፧፨།៕។᙮᠃᠉．"
WIDE_TERMINATORS = "。！？｡"

ACCENT_BLOCKS = (
    (0x0300, 0x036F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
)

HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)  # decomposed by arithmetic in the core
SHIFT = 7


Records = tuple[list[int], list[tuple[int, int, int]], bytes]


def is_word_character(character: str) -> bool:
    """Python's `\\w`."""
    return character.isalnum() or character == "_"


def is_accent(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in ACCENT_BLOCKS)


def character_class(character: str) -> int:
    if character in LINE_ENDS:
        return LINE_END
    if character in APOSTROPHES:
        return APOSTROPHE
    if character in JOINERS:
        return JOINER
    if character in TERMINATORS:
        return TERMINATOR
    if character in WIDE_TERMINATORS:
        return WIDE_TERMINATOR
    if is_word_character(character):
        return WORD
    if character.isspace():
        return BLANK
    category = unicodedata.category(character)
    if category.startswith("M"):
        return MARK
    if category in ("Pe", "Pf") or character == '"':
        return CLOSER
    return BREAK


def fold(character: str) -> str:
    """One character of a word as it is learnt: decomposed, without accents, case folded."""
    decomposed = unicodedata.normalize("NFKD", character)
    plain = "".join(part for part in decomposed if not is_accent(part))
    folded = plain.casefold().replace("\u2019", "'")
    return "".join(
        part
        for part in folded
        if is_word_character(part) or unicodedata.category(part).startswith("M") or part == "'"
    )


def clean_class(character: str) -> int:
    r"""What Python's `\s`, `\d` and `\w` say of a character, and `str.lower` of its case."""
    if character.isspace():
        return SPACE
    if unicodedata.category(character) == "Nd":
        return DIGIT
    if not is_word_character(character):
        return OTHER
    # A sigma is final after a cased letter, however many ignorable ones lie between them.
    if (character + "\u03a3").lower().endswith("\u03c2"):
        return WORD_CASED
    if ("a" + character + "\u03a3").lower().endswith("\u03c2"):
        return WORD_IGNORABLE
    return WORD_UNCASED


def clean(character: str) -> str:
    """One character as PySS3 learns it: decomposed, without marks, in lower case.

    The capital sigma stays, because its lower case depends on the characters around it.
    """
    decomposed = unicodedata.normalize("NFKD", character)
    plain = (part for part in decomposed if unicodedata.category(part) != "Mn")
    return "".join(part if part == "\u03a3" else part.lower() for part in plain)


def class_and_folded(character: str) -> tuple[int, str]:
    kind = character_class(character)
    return kind, fold(character) if kind in (WORD, MARK) else character


def class_and_cleaned(character: str) -> tuple[int, str]:
    return clean_class(character), clean(character)


def records(describe: Callable[[str], tuple[int, str]]) -> Records:
    """(record of each code point, the records (class, offset, length), the folded bytes)."""
    blob = bytearray()
    known: dict[tuple[int, bytes | None], int] = {}
    table: list[tuple[int, int, int]] = []
    of_code_point: list[int] = []
    for code_point in range(sys.maxunicode + 1):
        character = chr(code_point)
        kind, result = describe(character)
        folded: bytes | None = None  # None: the character itself
        if result != character and code_point not in HANGUL_SYLLABLES:
            folded = result.encode()
        key = (kind, folded)
        if key not in known:
            known[key] = len(table)
            if folded is None:
                table.append((kind, 0, 255))
            else:
                place = blob.find(folded)
                if place < 0:
                    place = len(blob)
                    blob += folded
                table.append((kind, place, len(folded)))
        of_code_point.append(known[key])
    return of_code_point, table, bytes(blob)


def numbers(values: list[int] | bytes) -> str:
    lines, line = [], ""
    for value in values:
        word = f"{value},"
        if len(line) + len(word) > 99:
            lines.append(line)
            line = ""
        line += word
    return "\n".join([*lines, line])


def render(found: Records, folded: str) -> str:
    """The tables of `found` as C++; `folded` is the name of what characters are turned into."""
    of_code_point, table, blob = found
    size = 1 << SHIFT
    blocks: dict[tuple[int, ...], int] = {}
    index = [
        blocks.setdefault(tuple(of_code_point[start : start + size]), len(blocks))
        for start in range(0, len(of_code_point), size)
    ]
    assert max(len(table), len(blocks)) < 1 << 16
    assert len(blob) < 1 << 24
    assert all(length < 255 or length == 255 for _, _, length in table)
    flat = [value for block in blocks for value in block]
    packed = [kind << 28 | length << 20 | offset for kind, offset, length in table]
    assert all(offset < 1 << 20 for _, offset, _ in table)
    return f"""// Made by tools/make_unicode_table.py: do not edit.
constexpr char kUnicodeVersion[] = "{UNICODE_VERSION}";
constexpr unsigned kBlockShift = {SHIFT};
// The block of each code point >> kBlockShift.
constexpr std::uint16_t kBlockOf[{len(index)}] = {{
{numbers(index)}
}};
// The record of each code point, block by block.
constexpr std::uint16_t kRecordOf[{len(flat)}] = {{
{numbers(flat)}
}};
// Class in 4 bits, length of the {folded} form in 8 (255: the character itself), its offset in 20.
constexpr std::uint32_t kRecords[{len(packed)}] = {{
{numbers(packed)}
}};
constexpr unsigned char k{folded.title()}[{len(blob)}] = {{
{numbers(blob)}
}};
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    if unicodedata.unidata_version != UNICODE_VERSION:
        print(
            f"this Python has Unicode {unicodedata.unidata_version}, "
            f"the table is pinned to {UNICODE_VERSION}",
            file=sys.stderr,
        )
        return 3
    outdated = 0
    made = {
        TARGET: render(records(class_and_folded), "folded"),
        CLEANING_TARGET: render(records(class_and_cleaned), "cleaned"),
    }
    for target, text in made.items():
        if not arguments.check:
            target.write_text(text, encoding="ascii")
        elif target.read_text(encoding="ascii") != text:
            print(f"{target.name} is not what tools/make_unicode_table.py makes", file=sys.stderr)
            outdated = 1
    return outdated


if __name__ == "__main__":
    sys.exit(main())
