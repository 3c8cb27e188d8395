"""Write docs/parameters.md from the table of parameters; with --check, compare instead."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from watchword.model.parameters import PAPER, PYSS3, TABLE

PAGE = Path(__file__).parent.parent / "docs" / "parameters.md"
HEAD = """# Parameters

All parameters of a model, in the order of `help(watchword.TauSS3)`. Each is an argument of
`TauSS3`, of `TauSS3.replace` (except those that change the counts) and of `TauSS3Classifier`, and
an option of the command line (`--max-ngram`). [settings.md](settings.md) says which to choose.
`tools/make_parameters.py` writes this page.

The value of an n-gram under a label is gv = lv · sg · sn, times the weight of the label:

- lv, the local value: how frequent the n-gram is in the label.
- sg, the significance: how far lv is above that of the other labels.
- sn, the sanction: less the more labels the n-gram is significant in.
- cv, the confidence: gv or, with another `confidence_function`, gv divided by the largest. The
  score of a text adds up cv.

| parameter | default | paper | PySS3 | values | meaning |
|---|---|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(
        f"| `{one.name}` | {shown(one.default)} | {shown(PAPER.get(one.name, one.default))} | "
        f"{shown(PYSS3.get(one.name, one.default))} | {one.range or 'any label'} | "
        f"{one.help} {one.details}".rstrip()
        + " |\n"
        for one in TABLE
    )


def shown(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/parameters.md is out of date: run tools/make_parameters.py")


if __name__ == "__main__":
    main()
