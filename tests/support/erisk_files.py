"""Small eRisk collections, written by hand."""

from watchword.evaluation.metrics import chunk_sizes


def individual(name, *texts, title="", dates=None):
    """Return the XML file of a subject; by default one text per day, the last one newest."""
    dates = dates or [f"2016-01-{day:02} 10:00:00" for day in range(1, len(texts) + 1)]
    writings = [
        f"<WRITING><TITLE> {title} </TITLE><DATE> {date} </DATE>"
        f"<INFO> reddit post </INFO><TEXT> {text} </TEXT></WRITING>"
        for text, date in zip(texts, dates, strict=True)
    ]
    return f"<INDIVIDUAL><ID> {name} </ID>{''.join(writings)}</INDIVIDUAL>"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_chunks(folder, name, texts, *, chunk="chunk{}"):
    """Write a subject in ten chunks by the official rule, newest post first in each file."""
    begin = 0
    for number, size in enumerate(chunk_sizes(len(texts)).tolist(), 1):
        part = texts[begin : begin + size]
        dates = [f"2016-01-01 10:{begin + at:02}:00" for at in range(size)]
        content = individual(name, *part[::-1], dates=dates[::-1])
        write(folder / chunk.format(number) / f"{name}_{number}.xml", content)
        begin += size


def write_test_set(folder, people, *, truth=True, counts=True, chunk="chunk{}"):
    """Write a test set from name → (label, texts)."""
    for name, (_, texts) in people.items():
        write_chunks(folder, name, texts, chunk=chunk)
    if truth:
        lines = [f"{name}\t{label}\n" for name, (label, _) in people.items()]
        write(folder / "risk-golden-truth-test.txt", "".join(lines))
    if counts:
        lines = [f"{name}\t\t{len(texts)}\n" for name, (_, texts) in people.items()]
        write(folder / "writings-per-subject-all-test.txt", "".join(lines))
    return folder


def texts(count, word="word"):
    return [f"{word} {place}" for place in range(count)]
