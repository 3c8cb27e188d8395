"""Memory that runs out while a model is changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sanitizing import SANITIZED

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits memory as on Linux"),
    pytest.mark.skipif(SANITIZED, reason="the sanitizers need far more memory than the limit"),
]

_SCRIPT = """
import random, resource, sys
from pathlib import Path
import watchword as ww
from watchword.errors import IncompleteModelError

draw = random.Random(1)
def texts(count):
    return [" ".join(f"w{draw.randrange(30_000)}" for _ in range(300)) for _ in range(count)]

model, other = ww.TauSS3(), ww.TauSS3()
model.learn_many(texts(200), ["a", "b"] * 100)
before = model.replace()  # shares its counts with the model until one of them changes
expected = before.predict_many(texts(20))
model.learn_one("w1", "a")
for _ in range(10):
    other.learn_many(texts(200), ["a", "c"] * 100)
lines = Path("/proc/self/status").read_text().splitlines()
used = int(next(line for line in lines if line.startswith("VmSize")).split()[1]) << 10
changes = {
    "learn_one": lambda: model.learn_one(texts(1)[0], "a"),
    "learn_many": lambda: model.learn_many(texts(50), ["a", "b"] * 25, threads=2),
    "merge": lambda: model.merge(other),
}
change = changes[sys.argv[1]]

def model_is_usable():
    try:
        model.learn_one("w1", "a")
    except IncompleteModelError:
        return False
    except MemoryError:
        pass
    return True

resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))
ran_out = False
while not ran_out or model_is_usable():
    try:
        change()
    except MemoryError:  # perhaps before anything was counted
        ran_out, change = True, changes["learn_one"]
print("memory ran out")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for use in (
    lambda: model.predict_one("w1 w2"),
    lambda: model.learn_one("w1", "a"),
    lambda: model.value("w1"),
    lambda: model.save("model.ww"),
    lambda: ww.TauSS3().merge(model),
    lambda: model.replace(prior=1),
):
    try:
        use()
    except IncompleteModelError:
        print("refused")
draw.seed(1)
texts(200)  # the same texts as above come next
assert before.predict_many(texts(20)) == expected
print("the copy is whole")
"""


@pytest.mark.parametrize("change", ["learn_one", "learn_many", "merge"])
def test_model_refuses_to_be_used_after_memory_ran_out_during_a_change(change, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, change],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )

    assert run.stdout.split("\n")[:-1] == [
        "memory ran out",
        *["refused"] * 6,
        "the copy is whole",
    ], run.stderr
    assert not (tmp_path / "model.ww").exists()
