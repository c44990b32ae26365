"""A package beside the module, whose modules import one another by relative names."""

from model import activation


def run_silu(in_features):
    return activation(in_features)
