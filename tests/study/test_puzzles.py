# labels: notebooks
# slow labels: notebooks emulated
# slow timeout: 600
"""The puzzles of CUDA without a GPU: each start fails or misses its target, each solution reaches it."""

import difflib
import re

import pytest

for package in ("pandas", "pygments"):
    pytest.importorskip(package)

from conftest import slow_but
from notebook_runs import ROOT, code_of, written
from prenorm.puzzles import puzzle

CELLS = code_of("puzzles")
STARTS = written("puzzles", ".cu")
KERNEL = re.compile(r"^__global__ .*?^}\n", re.M | re.S)


def solution(name):
    """The kernel that reaches the targets, in the program of the notebook."""
    kernel = (ROOT / f"tests/study/puzzles/{name}.cu").read_text()
    return KERNEL.sub(lambda _: kernel, STARTS[name])


@pytest.fixture
def tried(home, tmp_path, monkeypatch):
    """What the notebook's cell says of a program."""
    monkeypatch.chdir(tmp_path)

    def of(name, text):
        (tmp_path / f"{name}.cu").write_text(text)
        [cell] = [cell for cell in CELLS if cell.startswith(f'puzzle("{name}.cu"')]
        return eval(cell, {"puzzle": puzzle})
    return of


@pytest.mark.parametrize("name", slow_but({"map"}, STARTS))
def test_the_start_is_unsolved_and_the_solution_solves(name, tried):
    start = tried(name, STARTS[name])
    assert not start.solved and start.text.endswith("\nNot yet.")
    # Wrong, or a picture of what costs most.
    assert bool(start.picture) == start.text.startswith("The results are right."), start.text
    solved = tried(name, solution(name))
    assert solved.solved and solved.text.endswith("\nSolved."), solved.text


def test_there_are_fourteen_of_ten_lines_at_most():
    assert len(STARTS) == 14 == len(list((ROOT / "tests/study/puzzles").iterdir()))
    for name, start in STARTS.items():
        changed = difflib.ndiff(start.splitlines(), solution(name).splitlines())
        assert 0 < sum(line.startswith("+ ") for line in changed) <= 10, name


@pytest.mark.slow
def test_a_program_that_does_not_compile_says_where(tried):
    told = tried("map", STARTS["map"].replace("2 * x[i]", "2 * z[i]", 1))
    text = told.text.replace("‘", "'").replace("’", "'")  # as the locale has them
    assert not told.solved and "\nmap.cu:4:44: error: 'z' was not declared" in text, text
