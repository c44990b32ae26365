"""Where things are: the sources, and what ctest says of this build."""

import os
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = ROOT / "tests" / "submissions"


def version():
    """Of the project: "0.3.0"."""
    return re.search(r"^project\(prenorm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def program():
    return Path(os.environ["PRENORM_PROGRAM"])


def home():
    return Path(os.environ["PRENORM_HOME"])


def shipped(name):
    """The library of one of the project's own solutions."""
    return home() / "lib/prenorm" / f"libprenorm_{name}.so"


def compiler():
    """The words that start the C++ compiler: by this build's cache, where it has one."""
    return [*shlex.split(os.environ.get("PRENORM_COMPILER_CACHE", "")),
            *shlex.split(os.environ.get("CXX", "c++"))]


def replaced(text, old, new, count=1):
    """The text with another in place of one that it has so often."""
    assert text.count(old) == count, f"'{old}' occurs {text.count(old)} times, not {count}"
    return text.replace(old, new)


def found_some(paths):
    """The same, sorted; an error where there are none, for a test of them would say nothing."""
    paths = sorted(paths)
    assert paths, "no such file is here any more"
    return paths


def built(kind):
    """The folder of the libraries that were built of tests/submissions/KIND."""
    return Path(os.environ["PRENORM_TEST_SUBMISSIONS"]) / kind
