"""Memory without a file, which a forked process fills."""

import mmap
import os

import numpy as np
from layers import silu


def run_silu(in_features):
    memory = mmap.mmap(-1, in_features.nbytes)
    y = np.frombuffer(memory, np.float32).reshape(in_features.shape)
    child = os.fork()
    if child == 0:
        y[...] = silu(in_features)
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    return y.copy()
