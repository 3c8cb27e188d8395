"""Programs in processes of their own that are killed with SIGKILL at any time."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from command_line import ENVIRONMENT

KILLS = int(os.environ.get("WATCHWORD_KILLS", "5"))


class Killable:
    """The program that forks processes and kills them."""

    def __init__(self, process, errors):
        self._process = process
        self._errors = errors

    def run(self, folder, arguments, *, output, delay=None, point=0):
        order = {"arguments": [str(one) for one in arguments], "folder": str(folder)}
        order |= {"output": str(output), "errors": str(self._errors)}
        order |= {"delay": delay, "point": point}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        said = self._errors.read_text(encoding="utf-8")
        assert told["code"] in (0, -signal.SIGKILL), said
        assert "Traceback" not in said
        return told

    def run_for_a_while(self, chance, undisturbed, *arguments, **options):
        """Run and kill after a random time or at a random point of the undisturbed run."""
        if chance.random() < 0.5:
            delay = chance.uniform(0, undisturbed["seconds"])
            return self.run(*arguments, delay=delay, **options)
        point = chance.randint(1, undisturbed["points"])
        return self.run(*arguments, point=point, **options)


@contextlib.contextmanager
def killable(program, folder):
    """Start a program of this folder, `command_killable.py` or one like it."""
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT | single,
    ) as process:
        yield Killable(process, folder / "errors")
        process.stdin.close()
