"""A plugin for tests of `prenorm grade`: how they run it, and what they grade."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from places import ROOT, shipped


@pytest.fixture(scope="session")
def raw(program):
    """raw(words...): the finished `prenorm grade`."""

    def run(*words, timeout=300):
        return subprocess.run([program, "grade", *map(str, words)], capture_output=True, text=True,
                              cwd=ROOT, timeout=timeout)

    return run


@pytest.fixture(scope="session")
def grade(raw):
    """grade(words...): the report in JSON, with the exit code beside it."""

    def run(*words, jobs=2):
        done = raw(*words, "--json", "-", "--jobs", jobs)
        assert done.stdout, done.stderr
        return json.loads(done.stdout) | {"exit": done.returncode}

    return run


@pytest.fixture(scope="session")
def library():
    return shipped


@pytest.fixture(scope="session")
def worthless():
    return Path(os.environ["PRENORM_TEST_SOLUTIONS"]) / "libworthless.so"
