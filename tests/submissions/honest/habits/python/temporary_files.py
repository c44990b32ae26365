"""Temporary files of every kind, one of which is left."""

import os
import tempfile

import numpy as np
from layers import silu

left = tempfile.mkdtemp(prefix="prenorm-habit")


def run_silu(in_features):
    y = silu(in_features)
    np.save(os.path.join(left, "y.npy"), y)
    with tempfile.NamedTemporaryFile(suffix=".npy") as file, tempfile.TemporaryFile() as other:
        np.save(file, y)
        file.flush()
        np.save(other, np.load(file.name))
        other.seek(0)
        y = np.load(other)
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "y.npy"), y)
        y = np.load(os.path.join(folder, "y.npy"))
    assert np.array_equal(y, np.load(os.path.join(left, "y.npy")))
    return y
