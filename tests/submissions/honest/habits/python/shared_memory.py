"""The result is written by another process into shared memory, which is then unlinked."""

from multiprocessing import Process
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from layers import silu


def fill(name, x):
    memory = SharedMemory(name)
    np.ndarray(x.shape, x.dtype, memory.buf)[...] = silu(x)
    memory.close()


def run_silu(in_features):
    memory = SharedMemory(create=True, size=in_features.nbytes)
    process = Process(target=fill, args=(memory.name, in_features))
    process.start()
    process.join()
    y = np.ndarray(in_features.shape, in_features.dtype, memory.buf).copy()
    memory.close()
    memory.unlink()
    return y
