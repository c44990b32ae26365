"""What all tests share: the built program, the `slow` mark, and a list of what was skipped."""

import os
import re
import shutil
import subprocess
import zlib
from functools import partial
from pathlib import Path

import h5py
import pytest

import browser

pytest_plugins = ["centred"]


def folder(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.fail(f"{variable} is not set (ctest sets it)")
    return Path(value)


def small_cases(path, limit):
    """The names of a fixture's cases that have at most `limit` elements in all."""
    with h5py.File(path) as file:
        return [name for name, case in file["cases"].items()
                if sum(tensor.size for tensor in (*case["inputs"].values(),
                                                  *case.get("outputs", {}).values())) <= limit]


def not_sanitized(reason):
    """A mark: skipped in the sanitizers' builds."""
    return pytest.mark.skipif(bool(os.environ.get("PRENORM_SANITIZE")), reason=reason)


def slow_but(quick, values):
    """All of the values as parameters; those not named in `quick` belong to the slow tier."""
    assert quick <= {str(value) for value in values}
    return [pytest.param(value, id=str(value), marks=[] if str(value) in quick else [pytest.mark.slow])
            for value in values]


@pytest.fixture(scope="session")
def program():
    """The built program."""
    return folder("PRENORM_PROGRAM")


@pytest.fixture(scope="session")
def home():
    """The build tree, laid out like an installation."""
    return folder("PRENORM_HOME")


@pytest.fixture(scope="session")
def prefix(home, tmp_path_factory):
    """An installation in a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", home, "--prefix", folder], check=True,
                   capture_output=True)
    return folder


@pytest.fixture
def run(program, tmp_path):
    """run(words..., code=None, NAME=value...): the finished program, in a folder of its own.

    `code` is checked where it is given; environment variables that are None are removed.
    """

    def call(*words, code=None, **variables):
        environment = {name: str(value) for name, value in {**os.environ, **variables}.items()
                       if value is not None}
        done = subprocess.run([str(word) for word in (program, *words)], capture_output=True,
                              text=True, cwd=tmp_path, env=environment, timeout=600)
        assert code in (None, done.returncode), f"{words}: {done.returncode}\n{done.stdout}" \
                                                f"{done.stderr}"
        return done

    return call


@pytest.fixture
def profile(run):
    """The same of `prenorm profile`, which succeeds unless `code` says another."""
    return partial(run, "profile", code=0)


def make_home(folder, home, **libraries):
    """A home whose shipped solutions are these libraries, with the real helper programs."""
    (folder / "libexec").mkdir(parents=True)
    (folder / "libexec/prenorm").symlink_to(home / "libexec/prenorm")
    (folder / "lib/prenorm").mkdir(parents=True)
    (folder / "share/prenorm").mkdir(parents=True)
    for name, library in libraries.items():
        shutil.copy(library, folder / f"lib/prenorm/libprenorm_{name}.so")
    return folder


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A page of a headless browser."""
    if not browser.find():
        pytest.skip("there is no chromium (Debian: chromium)")
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    opened.ask("Emulation.setFocusEmulationEnabled", enabled=True)  # else nothing has the focus
    yield opened
    opened.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: of the slow tier (tests/cmake/tests.cmake)")


def in_part(item):
    """Whether the part of the tests that runs, PRENORM_PART=2/4 for the second of four, has this one: by its
    name alone, so that a new test moves no other; or by its file's, if that says IN_ONE_PART, as what its tests
    share takes long to make."""
    together = getattr(item.module, "IN_ONE_PART", False)
    name = item.path.stem if together else f"{item.path.stem}::{item.name}"
    part, _, parts = os.environ.get("PRENORM_PART", "1/1").partition("/")
    return zlib.crc32(name.encode()) % int(parts) == int(part) - 1


OTHERS = pytest.StashKey()  # tests of other parts


@pytest.hookimpl(trylast=True)  # of what -m and -k have left
def pytest_collection_modifyitems(config, items):
    others = [item for item in items if not in_part(item)]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
    config.stash[OTHERS] = others


def pytest_sessionfinish(session, exitstatus):
    """A file that has all of its tests in other parts passes; one without tests does not."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash[OTHERS]:
        session.exitstatus = pytest.ExitCode.OK


# A skipped test is a line `<test>: <reason>` in the file named by PRENORM_SKIPS, and a failure where
# PRENORM_REQUIRE_ALL is set or support/skips.txt does not have the reason.
SKIPS = [line for line in Path(__file__).with_name("support").joinpath("skips.txt").read_text().splitlines()
         if not line.startswith("#")]


def note_skip(report, name):
    if not report.skipped:
        return
    reason = " ".join(report.longrepr[2].removeprefix("Skipped: ").split())
    if path := os.environ.get("PRENORM_SKIPS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{name}: {reason}\n")
    listed = any(re.fullmatch(each, reason) for each in SKIPS)
    if not listed or os.environ.get("PRENORM_REQUIRE_ALL"):
        unlisted = "" if listed else ", which tests/support/skips.txt does not list"
        report.outcome, report.longrepr = "failed", f"skipped: {reason}{unlisted}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    note_skip(report, f"{item.path.stem}::{item.name}")


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    report = (yield).get_result()
    note_skip(report, collector.name)
