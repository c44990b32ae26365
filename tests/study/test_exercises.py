# labels: unit notebooks
# slow labels: notebooks emulated
# slow timeout: 1800
"""The exercises of the notebooks: as they are committed, none is solved; with tests/study/exercise_solutions.py
and the kernels in tests/study/solutions/, each is."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from places import ROOT

for package in ("pandas", "pygments", "matplotlib"):
    pytest.importorskip(package)
sys.modules["matplotlib"].use("Agg")  # no window
from conftest import not_sanitized, slow_but  # noqa: E402
from exercise_solutions import SOLUTIONS  # noqa: E402

pytestmark = pytest.mark.usefixtures("home")
CUDA = "cuda_without_a_gpu"
WRITES = re.compile(r"%%writefile (\S+)\n(.*)", re.S)


def cells_of(notebook):
    """The code cells before the exercises, and those of each exercise, as texts; without those in C++, which
    test_cpp_exercises.py has."""
    parts = [[]]
    for cell in json.loads((ROOT / f"notebooks/{notebook}.ipynb").read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and not text.startswith("%%cpp"):
            parts[-1].append(text)
        elif cell["cell_type"] == "markdown" and re.search(r"^\*\*\d+\.\*\*", text, re.M):
            parts.append([])
    return parts[0], parts[1:]


def value_of(text, names):
    """Runs a cell: the value of its last line."""
    *lines, last = ast.parse(text).body
    exec(compile(ast.Module(lines, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def with_solution(text, solution):
    """A cell in which a solution's definitions stand in the place of those of the same names; those
    that the cell does not have follow the one before them."""
    def name(line):
        return getattr(line, "name", None) or ", ".join(map(ast.unparse, getattr(line, "targets", [])))

    body, at = ast.parse(text).body, None
    for line in ast.parse(solution).body:
        same = [i for i, other in enumerate(body) if name(other) == name(line) != ""]
        at = same[0] if same else at + 1
        body[at:at + bool(same)] = [line]
    return "\n".join(map(ast.unparse, body))


def is_solved(value):
    return value is True or value == 1.0


def test_every_notebook_has_solutions_for_all_its_exercises():
    found = {path.stem: len(cells_of(path.stem)[1]) for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {name: len(texts) for name, texts in SOLUTIONS.items()} == {
        name: count for name, count in found.items() if count}


@pytest.mark.parametrize("notebook", slow_but({"00_start_here"}, [name for name in SOLUTIONS if name != CUDA]))
def test_exercises_are_unsolved_and_can_be_solved(notebook):
    (begin, *_), exercises = cells_of(notebook)
    for solve in (False, True):
        names = {"display": lambda *_: None}
        exec(begin, names)
        for number, ([text], solution) in enumerate(zip(exercises, SOLUTIONS[notebook]), 1):
            value = value_of(with_solution(text, solution) if solve else text, names)
            assert is_solved(value) == solve, (number, value)


@pytest.mark.slow
@not_sanitized("there is no emulator for submissions")
def test_exercises_in_cuda_are_unsolved_and_can_be_solved(monkeypatch):
    monkeypatch.chdir(ROOT)  # the notebook goes to a folder of its own
    before, exercises = cells_of(CUDA)
    names = {}
    exec(before[0], names)
    written = dict(WRITES.fullmatch(text).groups() for text in sum(exercises, before) if WRITES.fullmatch(text))
    for file, text in written.items():
        Path(file).write_text(text)
    for cells, file in zip(exercises, SOLUTIONS[CUDA]):
        assert not value_of(cells[-1], names)
        solution = (ROOT / "tests/study/solutions" / file).read_text()
        Path(file if file in written else "step5.cu").write_text(solution)
        assert value_of(cells[-1], names), file
