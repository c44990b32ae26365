# labels: notebooks
# slow labels: notebooks
# slow timeout: 900
"""The C++ exercises of the notebooks: unsolved where they start, and solved by a few lines."""

import re

import pytest

for package in ("pandas", "pygments"):
    pytest.importorskip(package)

from conftest import slow_but
from notebook_runs import ROOT, code_of
from prenorm import cells, sources

pytestmark = pytest.mark.usefixtures("home")
STARTS = {problem: text for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
          for cell in code_of(path.stem)
          for problem, text in re.findall(r"^%%cpp (\w+)\n(.*)", cell, re.S)}


def test_every_component_has_one():
    components = {path.stem for path in (ROOT / "reference").glob("*.hpp")} - {"tensor", "checks"}
    assert {sources.component_of(problem) for problem in STARTS} == components
    assert set(STARTS) == {path.stem for path in (ROOT / "tests/study/exercises").iterdir()}


@pytest.mark.parametrize("problem", slow_but({"silu"}, STARTS))
def test_the_start_is_unsolved_and_the_solution_solves(problem, capsys):
    assert cells.cpp(problem, STARTS[problem]) < 0.1  # some answer empty tensors
    assert f"{problem} by your cell: not implemented" in capsys.readouterr().out
    assert cells.cpp(problem, (ROOT / f"tests/study/exercises/{problem}.cpp").read_text()) == 1


def test_what_does_not_compile_is_told_by_its_line_of_the_cell(capsys):
    assert cells.cpp("silu", "Tensor silu(const Tensor& x) {\n  return y;\n}") == 0
    said = capsys.readouterr().out.replace("‘", "'").replace("’", "'")  # as the locale has them
    assert said == "silu.cpp:3:10: error: 'y' was not declared in this scope\n"
