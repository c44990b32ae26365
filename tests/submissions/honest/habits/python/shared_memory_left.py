"""Shared memory by a name of its own, which is never unlinked."""

from multiprocessing.shared_memory import SharedMemory

import numpy as np
from layers import silu

memory = SharedMemory("prenorm-habit", create=True, size=1 << 20)


def run_silu(in_features):
    again = SharedMemory("prenorm-habit")
    shared = np.ndarray(in_features.shape, in_features.dtype, again.buf)
    shared[...] = silu(in_features)
    y = shared.copy()
    del shared
    again.close()
    return y
