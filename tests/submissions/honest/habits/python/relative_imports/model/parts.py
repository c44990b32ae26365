"""Its parts. Some of the data lies within the package."""

from importlib import resources

from layers import silu

NAMES = resources.files(__package__).joinpath("names.txt").read_text().split()


def activation(x):
    assert NAMES == ["silu", "gelu"]
    from .last import unchanged

    return unchanged(silu(x))
