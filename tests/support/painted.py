"""Painted pages and snippets, parsed with the standard library."""

import math
import re
from html.parser import HTMLParser

VOID = {"meta", "input", "link", "br", "hr", "img", "rect", "path", "circle", "line"}


def drawing(thing, page):
    """Return the method that draws something as a page or as a snippet."""
    return thing.to_page if page else thing.to_html


class Painted(HTMLParser):
    """The elements of a page with their attributes, and its painted text."""

    def __init__(self, markup):
        super().__init__()
        self.elements = []  # (tag, attributes)
        self.text = ""
        self.style = ""
        self.marks = []  # (attributes, text)
        self._open = []
        self._outside = None  # how many elements are open around the painted text
        self.feed(markup)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), "an attribute stands twice"
        self.elements.append((tag, attributes))
        if self._outside is None and "ww-text" in (attributes.get("class") or "").split():
            self._outside = len(self._open)
        if tag == "mark":
            self.marks.append((attributes, ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if self._outside == len(self._open):
            self._outside = None

    def handle_data(self, data):
        if self._outside is not None:
            self.text += data
            if "mark" in self._open:
                attributes, before = self.marks[-1]
                self.marks[-1] = attributes, before + data
        if "style" in self._open:
            self.style += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def find(self, tag, **attributes):
        """Return the attributes of every element with this tag and these attributes."""
        return [
            found
            for name, found in self.elements
            if name == tag and attributes.items() <= found.items()
        ]

    def rules(self):
        """Return for each numbered class its shares by column and its tooltip."""
        found = {}
        for name, declarations in re.findall(r"^\.ww \.([nsp]\d+)\{(.*)\}$", self.style, re.M):
            shares, telling = re.fullmatch(r'(.*?)--t:"(.*)"', declarations).groups()
            numbers = re.findall(r"--[nsp](\d+):([\d.]+);", shares)
            found[name] = {int(at): float(share) for at, share in numbers}, unquoted(telling)
        return found


def unquoted(string):
    """Return the content of a CSS string."""
    return re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), string)


def with_shares(explanation):
    """Return an explanation as plain data, with the expected colours of each block."""
    plain = explanation.to_dict()
    levels = [plain["blocks"]]
    for _ in range(2):
        levels.append([inner for block in levels[-1] for inner in block["blocks"]])
    for blocks in levels:
        parts = [block["contribution"] or block["value"] for block in blocks]
        highest = max((part for own in parts for part in own), default=0)
        for block, own in zip(blocks, parts, strict=True):
            block["share"] = [
                math.floor(part / highest * 10_000 + 0.5) / 10_000 if part > 0 else 0
                for part in own
            ]
            best = max(block["share"])
            alone = best > 0 and block["share"].count(best) == 1
            block["speaks"] = block["share"].index(best) if alone else None
    return plain


def blocks_at(plain, level):
    """Return the blocks of a level."""
    blocks = plain["blocks"]
    while blocks and blocks[0]["kind"] != level:
        blocks = [inner for block in blocks for inner in block["blocks"]]
    return blocks


def shares_at(plain, level):
    """Return the expected colour strength for each label of every block of a level."""
    return [block["share"] for block in blocks_at(plain, level)]
