"""watchword convert: a model of PySS3 as a model of watchword."""

from __future__ import annotations

from pathlib import Path

import click

from watchword.cli.base import FILE, verb
from watchword.cli.files import MODEL, OutputPath
from watchword.cli.options import table_option
from watchword.cli.output import show_model
from watchword.pyss3 import SS3


@verb(example="watchword convert old.ss3m new.ww")
@click.argument("old", type=FILE)
@click.argument("new", type=OutputPath(MODEL, of=Path))
@table_option
def convert(old: Path, new: Path, table: bool) -> None:
    """Convert a PySS3 model (OLD.ss3m) to a watchword model (NEW.ww).

    The new model reads text as PySS3 does and has the same values. Labels are the names of the
    categories, converted to text if their types differ.
    """
    model = SS3.from_file(old).to_watchword()
    model.save(new)
    show_model(model, {"model": str(new)}, table=table)
