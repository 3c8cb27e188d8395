"""Run PySS3's own tests against `watchword.pyss3`: run_pyss3_suite.py CHECKOUT [PYTEST OPTIONS].

The tests are copied from a checkout of PySS3 and only their imports are changed. Left out, with the
reasons in docs/moving-from-pyss3.md: the interactive shell, and the test of evaluations, which
expects results of the cache on disk.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LEFT_OUT = ("tests/test_cmd_line.py", "tests/test_util.py::test_evaluation")


def with_our_imports(source: str) -> str:
    """Return a test module that imports `watchword.pyss3` instead of `pyss3`."""
    source = re.sub(r"(?m)^import pyss3$", "import watchword.pyss3 as pyss3", source)
    return re.sub(r"(?m)^(from|import) pyss3\b", r"\1 watchword.pyss3", source)


def main() -> int:
    checkout, *options = sys.argv[1:] or sys.exit(__doc__)
    shell, evaluation = LEFT_OUT
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(checkout) / "tests", Path(folder) / "tests")
        for module in Path(folder, "tests").glob("*.py"):
            source = with_our_imports(module.read_text(encoding="utf-8"))
            module.write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "tests", "--rootdir=.", *options]
        command += [f"--ignore={shell}", f"--deselect={evaluation}"]
        without_windows = {**os.environ, "MPLBACKEND": "agg"}
        return subprocess.run(command, cwd=folder, env=without_windows, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
