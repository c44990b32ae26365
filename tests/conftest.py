"""What the tests of the built program share: where it is."""

import os
from pathlib import Path

import h5py
import pytest

import browser


def folder(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set (ctest sets it)")
    return Path(value)


def small_cases(path, limit):
    """The names of a fixture's cases that have at most so many elements in all."""
    with h5py.File(path) as file:
        return [name for name, case in file["cases"].items()
                if sum(tensor.size for tensor in (*case["inputs"].values(),
                                                  *case.get("outputs", {}).values())) <= limit]


@pytest.fixture(scope="session")
def program():
    """The built program."""
    return folder("PRENORM_PROGRAM")


@pytest.fixture(scope="session")
def home():
    """The build tree, laid out like an installation."""
    return folder("PRENORM_HOME")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A page of a headless browser."""
    if not browser.find():
        pytest.skip("there is no chromium (Debian: chromium)")
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    opened.ask("Emulation.setFocusEmulationEnabled", enabled=True)  # else nothing has the focus
    yield opened
    opened.close()
