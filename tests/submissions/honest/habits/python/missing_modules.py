"""Modules that most machines lack, with something else in their place."""

import importlib

from layers import silu

try:
    from no_such_progress_bar import tqdm
except ImportError:
    def tqdm(values, **_):
        return values

try:
    wandb = importlib.import_module("no_such_tracker")
except ModuleNotFoundError:
    wandb = None


def run_silu(in_features):
    for _ in tqdm(range(2), desc="calls"):
        y = silu(in_features)
    return y
