"""Imported by a call only."""

from . import parts


def unchanged(y):
    assert parts.NAMES
    return y
