# labels: grading
# slow processors: 2
# slow labels: grading
"""What honest code does besides its work costs nothing: each habit of tests/submissions/honest/habits
keeps its points, one of each kind in both sandboxes, is accused of nothing, and leaves nothing behind.

A habit that fails does not give the right answer, so the points show that it worked. A module of
habits has a function for each: what a call does, or, without an argument, what is done at import,
which returns what a call does. Those that need a module of their own are run_silu in it.
"""

import ast
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attacks import write_over
from grading import best_sandbox, grade, in_sandboxes, need, rubric, state, without_torch, write_rubric
from places import SUBMISSIONS, built


HABITS = SUBMISSIONS / "honest" / "habits"


def habits_of(path):
    """{name: (file or folder, what adapters.py is where that is not the file itself)}"""
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([])
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    if path.is_dir() or "run_silu" in functions:
        return {path.stem: (path, None)}
    return {name: (path, f"from {path.stem} import {name}\n\nrun_silu = {name}"
                         + ("\n" if function.args.args else "()\n"))
            for name, function in functions.items() if not name.startswith("_")}


PYTHON = {name: habit for path in sorted((HABITS / "python").iterdir())
          for name, habit in habits_of(path).items()}
TORCH = habits_of(HABITS / "with_torch.py")
CPP = {name: path for path in sorted((HABITS / "cpp").iterdir())
       for name in re.findall(r'\{"(\w+)", \1\}', path.read_text())}
CPP |= dict.fromkeys(["openmp_reduction", "openmp_teams"], HABITS / "cpp/openmp.cpp")
# What a habit needs that not every machine has: a module or a program.
MODULES = {"matplotlib_plot": "matplotlib"}
PROGRAMS = {"compiled_extension": "gcc"}
# What else a habit is graded with.
OPTIONS = {"pool_of_40": ["--memory", "1"], "held_memory": ["--memory", "1"]}
# Those that sum; the others compute SiLU.
PROBLEMS = {"openmp_reduction": "rmsnorm"}
# Without a mount namespace chmod does nothing: it would reach other files of the same user.
NEED_CHMOD = [("script", "process"), ("copied_file", "process")]
# In the quick tier: one of a kind.
QUICK = {"cache_beside", "file_in_tmp", "fork_and_wait", "listener", "lock", "log_file",
         "new_session", "open_files", "pool_terminated", "shared_mapping", "sqlite_table", "std_thread"}

CASES = {"silu": '["width_33_float32", "three_axes_float32", "elements_8209_float32"]',
         "rmsnorm": '["many_terms_float32", "batch_of_4_float32", "three_batch_axes_float32"]'}


def write_submission(path, adapters, folder):
    """The habit as adapters.py, or its folder, with layers.py beside."""
    if path.is_dir():
        shutil.copytree(path, folder)
    else:
        folder.mkdir()
        shutil.copy(path, folder / (path.name if adapters else "adapters.py"))
    if adapters:
        (folder / "adapters.py").write_text(adapters)
    shutil.copy(HABITS / "layers.py", folder)
    return folder


LOOKED_AT = ("/tmp", "/var/tmp", "/dev/shm", Path.home() / ".cache")


def shared_memory():
    """Semaphores and the like of Python, by the names that it gives them."""
    return {str(path) for pattern in ("sem.mp-*", "psm_*", "pym-*", "torch_*")
            for path in Path("/dev/shm").glob(pattern)}


def processes_of(program):
    running = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(program) in (process / "cmdline").read_text(errors="replace"):
                running.add(f"process {process.name}")
        except OSError:
            pass  # it has ended
    return running


def left_behind(program, before):
    """What remains, after a while in which processes end: those of a program, files with the habits'
    name, and shared memory that was not there before (or is another test's, and goes)."""
    files = {str(path) for folder in LOOKED_AT for path in Path(folder).glob("*prenorm-habit*")}
    left = processes_of(program) | (shared_memory() - before)
    end = time.monotonic() + 5
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= processes_of(program) | shared_memory()
    return sorted(files | left)


def check(submission, name, sandbox, tmp, python=None):
    problem = PROBLEMS.get(name, "silu")
    path = write_rubric(tmp, rubric("Habits", {"all": f"cases = {CASES[problem]}"}, {problem: (problem, 1)}))
    words = ["--python", python] if python else []
    before = shared_memory()
    _, report, printed = grade(submission, "--rubric", path, "--sandbox", sandbox, "--seed", "3",
                               *OPTIONS.get(name, []), *words, tmp=tmp)
    assert report, printed
    wrong = [(result["case"], result["status"], result["message"])
             for result in report["results"] if result["status"] != "PASSED"]
    assert report["status"] == "PASSED" and not wrong, (report["message"], wrong, printed)
    assert report["earned"] == report["points"] == 1, printed
    assert any(result["hidden"] for result in report["results"])
    assert not report["notes"]
    for item in report["items"]:
        assert not item["diagnoses"] and not item["undiagnosed"]
    assert left_behind(python or submission, before) == []


def check_python(name, habit, python, sandbox, tmp):
    submission = write_submission(*habit, tmp / "submission")
    before = state(submission)
    check(submission, name, sandbox, tmp, python)
    assert state(submission) == before


@in_sandboxes(PYTHON, slow=PYTHON.keys() - QUICK, left_out=NEED_CHMOD, in_all=QUICK)
def test_habit_keeps_its_points(name, sandbox, tmp_path):
    """Without torch, which takes two seconds to import."""
    need(sandbox)
    if name in MODULES:
        pytest.importorskip(MODULES[name])
    if name in PROGRAMS and not shutil.which(PROGRAMS[name]):
        pytest.skip(f"there is no {PROGRAMS[name]}")
    check_python(name, PYTHON[name], without_torch(tmp_path / "venv"), sandbox, tmp_path)


@in_sandboxes(TORCH, slow=TORCH, in_all=[])
def test_habit_with_torch_keeps_its_points(name, sandbox, tmp_path):
    need(sandbox)
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages",
                    tmp_path / "venv"], check=True)
    check_python(name, TORCH[name], tmp_path / "venv/bin/python", sandbox, tmp_path)


@in_sandboxes(CPP, slow=CPP.keys() - QUICK, left_out=NEED_CHMOD, in_all=QUICK)
def test_habit_in_cpp_keeps_its_points(name, sandbox, tmp_path):
    need(sandbox)
    library = built("habits") / CPP[name].with_suffix(".so").name
    submission = tmp_path / f"{name}.so"
    submission.write_bytes(write_over(library.read_bytes(), {"HABIT": name}))
    check(submission, name, sandbox, tmp_path)


def test_habits_are_many():
    names = [*PYTHON, *TORCH, *CPP]
    assert len(names) == len(set(names)) == 94
    assert {*QUICK, *MODULES, *PROGRAMS, *OPTIONS, *PROBLEMS} <= set(names)


# How projects are laid out

PACKAGE = {"tests/adapters.py": "from mine import silu\n\n\ndef run_silu(in_features):\n"
                                "    return silu(in_features)\n"}
LAYOUTS = {
    "conftest": {"lib/mine.py": None, "tests/conftest.py":
                 "import sys\nsys.path.insert(0, 'lib')\n"},
    "pytest_ini": {"lib/mine.py": None, "pytest.ini": "[pytest]\npythonpath = lib\n"},
    "setup_cfg": {"python/mine/__init__.py": None,
                  "setup.cfg": "[options]\npackage_dir =\n    = python\n"},
    "hatch": {"python/mine/__init__.py": None, "pyproject.toml":
              '[project]\nname = "mine"\n[tool.hatch.build]\npackages = ["python/mine"]\n'},
    # An extension of the package.
    "cmake": {"mine.py": None, "fast.cpp": "", "CMakeLists.txt":
              "project(mine CXX)\nadd_library(fast MODULE fast.cpp)\n"},
}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name != "conftest")) for name in LAYOUTS])
def test_module_is_found_where_it_lies(name, tmp_path):
    submission = tmp_path / "submission"
    for path, text in {**PACKAGE, **LAYOUTS[name]}.items():
        (submission / path).parent.mkdir(parents=True, exist_ok=True)
        (submission / path).write_text((HABITS / "layers.py").read_text() if text is None else text)
    check(submission, name, best_sandbox(), tmp_path, without_torch(tmp_path / "venv"))


HEAD = "cmake_minimum_required(VERSION 3.20)\nproject(mine CXX)\nfind_package(prenorm REQUIRED)\n"
SOLUTION = "prenorm_add_solution(mine threads.cpp)\n"
PROJECTS = {
    "versioned": SOLUTION + "set_target_properties(mine PROPERTIES VERSION 1.2 SOVERSION 1)\n",
    "beside_sources": "set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_SOURCE_DIR}/lib)\n" + SOLUTION,
    "symbol_versions": SOLUTION + "target_link_options(mine PRIVATE "
                       "LINKER:--version-script=${CMAKE_SOURCE_DIR}/mine/exports)\n",
    "stripped_copy": SOLUTION + "add_custom_command(TARGET mine POST_BUILD COMMAND strip "
                     "-o release.so $<TARGET_FILE:mine>)\n",
    "name_with_blank": SOLUTION + 'set_target_properties(mine PROPERTIES OUTPUT_NAME "my own")\n',
}


@in_sandboxes(PROJECTS, slow=PROJECTS)
def test_library_is_found_where_it_is_built(name, sandbox, tmp_path):
    need(sandbox)
    submission = tmp_path / "submission"
    (submission / "mine").mkdir(parents=True)
    shutil.copy(HABITS / "silu.hpp", submission)
    shutil.copy(CPP["std_thread"], submission / "mine")
    (submission / "mine/CMakeLists.txt").write_text(PROJECTS[name])
    (submission / "mine/exports").write_text("MINE_1 { global: prenorm_*; local: *; };\n")
    (submission / "CMakeLists.txt").write_text(HEAD + "add_subdirectory(mine)\n")
    check(submission, name, sandbox, tmp_path)
