"""A file in /tmp, by its full name, which is left there."""

from pathlib import Path

import numpy as np
from layers import silu

PATH = Path("/tmp/prenorm-habit.npy")


def run_silu(in_features):
    np.save(PATH, silu(in_features))
    return np.load(PATH)
