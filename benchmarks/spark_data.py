"""Generated text in Parquet files, and a stream of posts in JSON lines: made once, then kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

from report import say
from zipf import ZipfText

_CHUNK = 4000  # posts


def make_texts(folder: Path, *, size: int, files: int, post_words: int) -> tuple[int, int]:
    """Parquet of at least so many bytes of text; how many bytes and words there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    note = folder / "made.json"
    asked = {"size": size, "files": files, "post_words": post_words}
    if note.is_file():
        made = json.loads(note.read_text())
        if made["asked"] == asked:
            return made["bytes"], made["words"]
    say(f"making {size / 1e9:g} GB of text in {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    text = ZipfText(seed=1)
    total = words = 0
    schema = pa.schema([("text", pa.string()), ("label", pa.string())])
    for number in range(files):
        with pq.ParquetWriter(folder / f"{number:03}.parquet", schema, compression="zstd") as file:
            while total < size * (number + 1) / files:
                posts = text.posts(_CHUNK, post_words=post_words)
                file.write_table(pa.table([posts.texts, posts.labels], schema=schema))
                total += sum(map(len, posts.texts))
                words += posts.words
    note.write_text(json.dumps({"asked": asked, "bytes": total, "words": words}))
    return total, words


def make_posts(
    folder: Path, *, batches: int, posts: int, subjects: int, post_words: int, begin: int = 0
) -> int:
    """A file of posts per batch, of subjects in turn; how many words there are."""
    folder.mkdir(parents=True, exist_ok=True)
    text, words = ZipfText(seed=2 + begin), 0
    for batch in range(begin, begin + batches):
        made = text.posts(posts, post_words=post_words)
        words += made.words
        first = batch * posts
        lines = [
            json.dumps({"subject": f"s{(first + at) % subjects}", "seq": first + at, "text": one})
            for at, one in enumerate(made.texts)
        ]
        path = folder / f"{batch:04}.json"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))
    return words
