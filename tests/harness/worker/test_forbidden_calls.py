# labels: unit grading
"""What a rubric forbids is found through whichever door it is called, and nothing else is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

pytest.importorskip("torch")
DOORS = Path(__file__).parent
FORBIDDEN = ["torch.softmax", "torch.nn.functional.*"]
# What prenorm_worker.py does with a submission, without a submission.
GO_THROUGH = f"""
import json, os, sys
import torch
sys.path[:0] = {[str(ROOT / "harness/worker"), str(DOORS)]!r}
import prenorm_forbidden
class Layout:
    def contains(self, file): return os.path.dirname(file) == {str(DOORS)!r}
    def name(self, file): return os.path.basename(file)
notes, found = [], {{}}
def note(words, kind, problem):
    assert kind == 2 and ("in " + problem + ": " if problem else "while it is imported: ") in words
    notes.append(words)
watch = prenorm_forbidden.Watch({FORBIDDEN!r}, Layout(), note, sys._getframe().f_code)
watch.begin()
with watch.during(""):
    import doors
found["import"] = notes[:]
for name, door in [*(each for group in doors.forbidden.values() for each in group.items()),
                   *doors.allowed.items()]:
    notes.clear()
    watch.seen.clear()
    with watch.during("softmax"):
        door()
    found[name] = notes[:]
print(json.dumps(found), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def found():
    """What is told of each door."""
    done = subprocess.run([sys.executable, "-B", "-c", GO_THROUGH], capture_output=True, text=True,
                          timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def doors_of(kind):
    """Their names, each with what it lies under."""
    text = (DOORS / "doors.py").read_text()
    table, under = text[text.index(f"\n{kind} = {{"):], None
    for name, brace in re.findall(r'^ +"([^"]+)": (\{?)', table[:table.index("\n}")], re.M):
        if brace:
            under = name
        else:
            yield pytest.param(under, name, id=f"{kind}: {name}")


@pytest.mark.parametrize("call, door", doors_of("forbidden"))
def test_a_forbidden_operator_is_found_through_this_door(found, call, door):
    told = [note.split(" (")[0] for note in found[door]]
    assert f"forbidden call in softmax: {call}" in told
    # A function that calls back is forbidden, too; by its other names nothing is told twice.
    assert len(told) == (2 if door == "called back" else 1)


@pytest.mark.parametrize("_, door", doors_of("allowed"))
def test_what_looks_alike_is_allowed(found, _, door):
    assert found[door] == [] == found["import"]
