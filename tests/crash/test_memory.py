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


_REFINED_SCRIPT = """
import os, random, resource, sys
from pathlib import Path
import watchword as ww
from watchword.errors import IncompleteModelError

draw = random.Random(1)
def taught(label):
    texts = [" ".join(f"w{draw.randrange(20_000)}" for _ in range(150)) for _ in range(1_500)]
    model, labels = ww.TauSS3(), ["a", label] * 750
    model.learn_many(texts, labels)
    model.refine(texts, labels)
    return model

model, other = taught("b"), taught("c")
probes = [" ".join(f"w{draw.randrange(20_000)}" for _ in range(30)) for _ in range(20)]
def state(model):
    return model.labels, model.refinement, model.confidence_many([*probes, "v1 v2"]).tolist()

long = " ".join(f"v{at}" for at in range(60_000))
changes = {
    "merge": lambda model: model.merge(other, refinement="average"),
    "correct": lambda model: model.learn_one(long, "a", correct=True),
}
change = changes[sys.argv[1]]
expected = state(model)
changed = ww.TauSS3.from_bytes(model.to_bytes())
change(changed)
afterwards = state(changed)
lines = Path("/proc/self/status").read_text().splitlines()
used = int(next(line for line in lines if line.startswith("VmSize")).split()[1]) << 10
def outcome(room):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        names = {0: "changed", 10: "as before", 11: "refused"}
        found = names.get(os.waitstatus_to_exitcode(status), "wrong")
        print(found)
        return found
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        change(model)
        code = 0
    except MemoryError:
        code = 10
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    try:
        right = state(model) == (expected if code else afterwards)
    except IncompleteModelError:
        code, right = 11, True
    os._exit(code if right else 1)

# Where memory is hardly too small, it runs out late in the change.
little, enough = 0, 1 << 28
while enough - little > 1 << 16:
    middle = (little + enough) // 2
    if outcome(middle) == "changed":
        enough = middle
    else:
        little = middle
for steps in range(12):
    outcome(max(0, little - (steps << 18)))
"""


_RESIDENT = """
import sys
from pathlib import Path
import watchword as ww

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) << 10

model = ww.TauSS3()
model.learn_many(["one two", "three four"], ["a", "b"])
model.save("model.ww")
reader = ww.TauSS3.load("model.ww", mapped=True) if sys.argv[1] == "long words" else model
reader.predict_one("one two three")
before = resident()
if sys.argv[1] == "long words":
    for number in range(120):
        reader.predict_one(f"{number}" + "x" * 500_000)
else:
    reader.predict_one(" ".join(f"w{number}" for number in range(1_500_000)))
print((resident() - before) >> 20)
"""


def output_of(script: str, change: str, folder: Path) -> list[str]:
    """Return the lines that a script prints."""
    run = subprocess.run(
        [sys.executable, "-c", script, change],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_averaging_corrections_is_undone_when_memory_runs_out(tmp_path):
    found = output_of(_REFINED_SCRIPT, "merge", tmp_path)
    assert set(found) == {"as before", "changed"}
    assert found.count("as before") > 12


def test_no_half_correction_is_left_when_memory_runs_out(tmp_path):
    found = output_of(_REFINED_SCRIPT, "correct", tmp_path)
    assert set(found) <= {"as before", "refused", "changed"}
    assert found.count("refused") > 12


@pytest.mark.parametrize("change", ["learn_one", "learn_many", "merge"])
def test_model_refuses_to_be_used_after_memory_ran_out_during_a_change(change, tmp_path):
    assert output_of(_SCRIPT, change, tmp_path) == [
        "memory ran out",
        *["refused"] * 6,
        "the copy is whole",
    ]
    assert not (tmp_path / "model.ww").exists()


@pytest.mark.parametrize("texts", ["long words", "one long text"])
def test_memory_of_hostile_texts_is_given_back_after_reading(texts, tmp_path):
    [megabytes] = output_of(_RESIDENT, texts, tmp_path)
    assert int(megabytes) < 50
