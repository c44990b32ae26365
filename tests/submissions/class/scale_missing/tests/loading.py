"""Helpers of adapters.py."""


def take(weights, prefix):
    n = len(prefix)
    return {name[n:]: w for name, w in weights.items() if name.startswith(prefix)}
