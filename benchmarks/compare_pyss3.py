"""Whether `watchword.pyss3` computes what PySS3 computes: `compare_pyss3.py [CORPUS]`.

Both learn and read the same documents, by every method and in every configuration. Without a corpus
the documents are generated. Prints how many values agree, and the first that differ.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from command import run_command
from corpus import read_corpus
from peers import ask_peer, install_peer, peers_python
from report import say

HERE = Path(__file__).parent
TOLERANCE = 1e-12
SHOWN = 20  # differences
SETTINGS = [(0.45, 0.5, 1.0, 0.0), (0.32, 1.24, 1.1, 0.0), (0.455, 1.0, 1.0, 0.3)]

# PySS3 looks at the first category alone for the longest n-gram, and then reads single words.
KNOWN = {"longest", "predict", "predict unknown", "proba"}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("corpus", type=Path, nargs="?", metavar="CORPUS")
    parser.add_argument("--documents", type=int, default=6000, help="(default: %(default)s)")
    parser.add_argument("--test", type=int, default=25, help="documents to read (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="keep a few of PySS3's answers, for the tests"
    )
    parser.add_argument(
        "--cache", type=Path, default=HERE.parent / "build" / "benchmarks", metavar="FOLDER"
    )
    options = parser.parse_args(arguments)
    return run_command("compare_pyss3", lambda: _compare_all(options))


def _compare_all(options: argparse.Namespace) -> int:
    job = _job(options)
    python = peers_python(options.cache.resolve())
    install_peer(python, "pyss3")
    say(f"watchword: {len(job['train'])} documents")
    ours = _answers(sys.executable, "watchword.pyss3", job)
    say("PySS3: the same calls")
    theirs = _answers(str(python), "pyss3", job)
    if options.record is not None:
        kept = json.dumps({"job": job, "answers": theirs}, separators=(",", ":"))
        options.record.write_bytes(gzip.compress(kept.encode(), mtime=0))
    found = Differences()
    for name, expected in theirs.items():
        found.compare(name, ours[name], expected)
    print(f"{found.compared:,} values compared, {sum(found.differing.values()):,} differ")
    for name, count in found.differing.most_common():
        print(f"  {name}: {count:,}")
    for line in found.shown:
        print(line)
    return 1 if found.differing else 0


class Differences:
    """Counts the values that agree and those that do not."""

    def __init__(self) -> None:
        self.compared = 0
        self.differing: Counter[str] = Counter()
        self.shown: list[str] = []

    def compare(self, name: str, ours: Any, theirs: Any) -> None:
        if isinstance(theirs, dict):
            known: set[str] = KNOWN if ours.get("longest") != theirs.get("longest") else set()
            for key, value in theirs.items():
                if key not in known:
                    self.compare(f"{name}: {key}", ours[key], value)
        elif isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
            for mine, value in zip(ours, theirs, strict=True):
                self.compare(name, mine, value)
        else:
            self.compared += 1
            if not _equal(ours, theirs):
                self.differing[name] += 1
                if len(self.shown) < SHOWN:
                    self.shown.append(f"{name}: {str(ours)[:200]} instead of {str(theirs)[:200]}")


def _equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, int | float) and isinstance(ours, int | float):
        return abs(ours - theirs) <= TOLERANCE * max(1, abs(theirs))
    return bool(ours == theirs)


def _answers(python: str, module: str, job: dict[str, Any]) -> dict[str, Any]:
    answered: dict[str, Any] = ask_peer([python, HERE / "pyss3_calls.py", module], job, module)
    return answered


def _job(options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    if options.corpus is None:
        train = [_generated(chance) for _ in range(options.documents)]
        test = [_generated(chance)[0] for _ in range(options.test)]
    else:
        corpus = read_corpus(options.corpus.resolve())
        parts = zip(corpus.train.texts, corpus.train.labels, strict=True)
        train = list(parts)[: options.documents]
        test = corpus.test.texts[: options.test]
    labels = sorted({label for _, label in train})
    several = [
        [label, *chance.sample([one for one in labels if one != label], chance.choice((0, 0, 1)))]
        if chance.random() > 0.05
        else []
        for _, label in train
    ]
    few = options.record is not None
    return {
        "train": train,
        "several": several,
        "test": [*test, "", " \n", "...", "\n\n.\n", "?"],
        "ngrams": _ngrams([text for text, _ in train], chance)[:: 6 if few else 1],
        "learnt": max(1, len(train) // 4),
        "shown": 3 if few else 20,
        "lengths": [1, 3] if few else [1, 2, 3],
        "trained": ["fit", "learn", "fit then learn"],
        "settings": SETTINGS[1:2] if few else SETTINGS,
    }


def _ngrams(texts: list[str], chance: random.Random) -> list[str]:
    """N-grams to look up: some were learnt, some are of known words, some are unknown."""
    words = [one for text in chance.sample(texts, min(50, len(texts))) for one in text.split()]
    chosen = ["", " ", "a  b", "unheard-of", "THE"]
    for length in (1, 1, 2, 3):
        starts = [chance.randrange(max(1, len(words) - length)) for _ in range(15)]
        chosen += [" ".join(words[at : at + length]).lower().strip(".,!?") for at in starts]
    return chosen


_LABELS = ("food", "garden", "music")
_PIECES = (
    "&amp;", "25°C", "3.14", "$3.50", "12/11/2019", "50 %", "1,234,567.89", "don't", "don’t", "Zoë",
    "naïve",
    "#tag#other", "http://a.b/c?d=e", "e-mail", "rock'n'roll", "(yes)", "[no]", "½", "℃",
    "Ｆｕｌｌ",
    "日本", "текст", "🙂", "a_b", "x2", "C3PO", "10C ", "5\nF of", "№ 7", "\u200b", "…", "—",
)  # fmt: skip
_JOINTS = (" ",) * 20 + (", ", ". ", "; ", "\n", "! ", " - ", "? ", ": ", "  ", "\n\n", "/", "\t")


def _generated(chance: random.Random) -> tuple[str, str]:
    """A document of made-up words, common and rare, with the awkward pieces of real ones."""
    label = chance.choice(_LABELS)
    shift = 37 * _LABELS.index(label)
    parts = []
    for _ in range(chance.randrange(2, 60)):
        rank = int(chance.paretovariate(0.9))
        own = chance.random() < 0.4
        word = f"w{chr(97 + rank % 26)}{(rank + shift * own) % 900}" if rank > 12 else f"the{rank}"
        word = word if chance.random() > 0.05 else chance.choice(_PIECES)
        # Digits alone would be numbers, so that words are spelled with letters.
        parts += [word.translate(_SPELLED) if word[0] in "wt" else word, chance.choice(_JOINTS)]
    return "".join(parts), label


_SPELLED = str.maketrans("0123456789", "abcdefghij")


if __name__ == "__main__":
    sys.exit(main())
