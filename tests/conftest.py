"""What the tests of the built program share: where it is."""

import os
from pathlib import Path

import pytest


def folder(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set (ctest sets it)")
    return Path(value)


@pytest.fixture(scope="session")
def program():
    """The built program."""
    return folder("PRENORM_PROGRAM")


@pytest.fixture(scope="session")
def home():
    """The build tree, laid out like an installation."""
    return folder("PRENORM_HOME")
