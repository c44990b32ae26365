"""Arrays in files that are mapped into memory."""

import os
import tempfile

import numpy as np
from layers import silu


def run_silu(in_features):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        np.save(path, in_features)
        x = np.load(path, mmap_mode="r")
        y = np.memmap(path + ".y", np.float32, "w+", shape=x.shape)
        y[...] = silu(x)
        y.flush()
        return np.array(np.memmap(path + ".y", np.float32, "r", shape=x.shape))
