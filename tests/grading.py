"""What the tests of `prenorm grade` share: how it is run, and what must not have changed."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUBMISSIONS = ROOT / "tests" / "submissions"
SANDBOXES = ("bubblewrap", "process")


def program():
    return Path(os.environ["PRENORM_PROGRAM"])


def home():
    return Path(os.environ["PRENORM_HOME"])


def built(kind):
    """The folder of the libraries that were built of tests/submissions/KIND."""
    return Path(os.environ["PRENORM_TEST_SUBMISSIONS"]) / kind


def grade(submission, *words, tmp, json_report=True, seconds=300, environment=None):
    """Runs `prenorm grade`: its exit code, the report, and what it printed."""
    report = tmp / "report.json"
    command = [program(), "grade", submission, "--no-color", *words]
    if json_report:
        command += ["--json", report]
    scratch = tmp / "scratch"
    scratch.mkdir(exist_ok=True)
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=seconds,
                          cwd=tmp, env={**os.environ, "TMPDIR": str(scratch), **(environment or {})})
    left = sorted(str(path.relative_to(scratch)) for path in scratch.rglob("*"))
    assert not left, f"left in the folder for temporary files: {left[:5]}"
    answer = json.loads(report.read_text()) if report.exists() else None
    return done.returncode, answer, (done.stdout + done.stderr).decode("utf-8", "strict")


@cache
def unavailable(sandbox):
    """Why that sandbox does not work here; empty: it does."""
    done = subprocess.run([program(), "grade", "/nowhere.so", "--sandbox", sandbox],
                          capture_output=True, text=True)
    return done.stderr.strip() if "does not work here" in done.stderr else ""


@cache
def best_sandbox():
    return next(sandbox for sandbox in SANDBOXES if not unavailable(sandbox))


def quick():
    """Whether this is the quick tier: one sandbox, the best that works here."""
    return os.environ.get("PRENORM_TIER", "quick") == "quick"


def need(sandbox, slow=False):
    """Skips a test of a sandbox that does not work here, or belongs to the other tier: the best
    sandbox is for the quick one, unless the test is slow; all else is for the slow one."""
    if why := unavailable(sandbox):
        # Where the system has namespaces, nothing of this may be left out unseen.
        (pytest.fail if os.environ.get("PRENORM_REQUIRE_SANDBOX") else pytest.skip)(why)
    if quick() != (sandbox == best_sandbox() and not slow):
        pytest.skip("in the other tier")


def state(*folders):
    """What tells that a file was changed, for every file below: the time of the last change is not
    for anybody to set."""
    found = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            info = path.lstat()
            found[str(path)] = (info.st_ino, info.st_mode, info.st_size, info.st_ctime_ns)
    return found


def items(report):
    return {item["name"]: item for item in report["items"]}


def results(report, problem):
    return [result for result in report["results"] if result["problem"] == problem]
