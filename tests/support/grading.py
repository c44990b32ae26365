"""What the tests of `prenorm grade` share: how it is run, and what must not have changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from elf import exports
from places import ROOT, found_some, program

SANDBOXES = ("bubblewrap", "process")


def grade(submission, *words, tmp, json_report=True, seconds=300, environment=None,
          run=subprocess.run, cwd=None):
    """Runs `prenorm grade`: its exit code, the report, and what it printed."""
    report = tmp / "report.json"
    command = [program(), "grade", submission, "--no-color", *words]
    if json_report:
        command += ["--json", report]
    scratch = tmp / "scratch"
    scratch.mkdir(exist_ok=True)
    done = run([str(word) for word in command], capture_output=True, timeout=seconds, cwd=cwd or tmp,
               env={**os.environ, "TMPDIR": str(scratch), **(environment or {})})
    left = sorted(path.name for path in scratch.iterdir())
    assert not left, f"left in the folder for temporary files: {left[:5]}"
    answer = json.loads(report.read_text()) if report.exists() else None
    return done.returncode, answer, (done.stdout + done.stderr).decode("utf-8", "strict")


@cache
def unavailable(sandbox):
    """Why that sandbox does not work here; empty if it does."""
    done = subprocess.run([program(), "grade", "/nowhere.so", "--sandbox", sandbox],
                          capture_output=True, text=True)
    return done.stderr.strip() if "does not work here" in done.stderr else ""


@cache
def best_sandbox():
    return next(sandbox for sandbox in SANDBOXES if not unavailable(sandbox))


def in_sandboxes(names, slow=(), left_out=(), in_all=None):
    """Parametrizes a test by (name, sandbox): slow in all sandboxes but the best that works here, and
    for the names in `slow`; without the pairs in `left_out`. Names that are not `in_all` (where that is given)
    have the best sandbox only."""
    return pytest.mark.parametrize("name, sandbox", [
        pytest.param(name, sandbox, marks=[pytest.mark.slow] * (name in slow
                                                               or sandbox != best_sandbox()))
        for name in names for sandbox in SANDBOXES if (name, sandbox) not in left_out
        and (sandbox == best_sandbox() or in_all is None or name in in_all)])


def need(sandbox):
    """Skips a test of a sandbox that does not work here."""
    if why := unavailable(sandbox):
        (pytest.fail if os.environ.get("PRENORM_REQUIRE_SANDBOX") else pytest.skip)(why)


def state(*folders):
    """What tells that a file was changed, for every file below: the time of the last change is not
    for anybody to set."""
    found = {}
    for folder in folders:
        for path in found_some(Path(folder).rglob("*")):
            info = path.lstat()
            found[str(path)] = (info.st_ino, info.st_mode, info.st_size, info.st_ctime_ns)
    return found


def rubric(title, groups, items, more=""):
    """A rubric's text: groups {name: its other lines}, items {name: (problem, points)}."""
    parts = [f'title = "{title}"\n{more}']
    parts += [f'[[groups]]\nname = "{name}"\n{lines}\n' for name, lines in groups.items()]
    parts += [f'[[items]]\nname = "{name}"\nproblems = ["{problem}"]\npoints = {points}\n'
              for name, (problem, points) in items.items()]
    return "\n".join(parts)


def write_rubric(folder, text):
    """The path of a rubric in that folder, for work with the adapters of 2025, which are beside it."""
    shutil.copy(ROOT / "fixtures/rubrics/adapters-2025.toml", folder)
    (folder / "rubric.toml").write_text('adapters = "adapters-2025.toml"\n' + text)
    return folder / "rubric.toml"


def items(report):
    return {item["name"]: item for item in report["items"]}


def results(report, problem):
    return [result for result in report["results"] if result["problem"] == problem]


def variants(path):
    """{variant: problems that the collection has it for}"""
    found = defaultdict(set)
    for problem, variant in re.findall(r"\bprenorm_(\w+?)__(\w+)", " ".join(exports(path))):
        found[variant].add(problem)
    return found


def of_problems(names):
    return [word for name in sorted(names) for word in ("--problem", name)]


def side_by_side(work, items):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))


def python_of(name, folder):
    """The interpreter that an honest submission in Python is graded with; skips where there is none."""
    if name == "python_repository":
        # With einops, jaxtyping and the current torch, as pip installs them.
        return os.environ.get("PRENORM_TEST_VENV") or pytest.skip("PRENORM_TEST_VENV is not set")
    if name == "python_numpy":
        return without_torch(folder / "venv")
    pytest.importorskip("torch")
    return sys.executable


def without_torch(folder):
    """An environment of this interpreter in which torch cannot be imported."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", folder],
                   check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "no_torch.pth").write_text("import sys; sys.modules['torch'] = None\n")
    return folder / "bin" / "python"
