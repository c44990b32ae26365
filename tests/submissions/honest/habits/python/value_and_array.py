"""Numbers in memory that processes share: Value and Array."""

from multiprocessing import Array, Process, Value

import numpy as np
from layers import silu


def work(x, y, count):
    np.frombuffer(y.get_obj(), np.float32)[:] = silu(x).reshape(-1)
    with count.get_lock():
        count.value += x.size


def run_silu(in_features):
    y, count = Array("f", in_features.size), Value("i", 0)
    process = Process(target=work, args=(in_features, y, count))
    process.start()
    process.join()
    assert count.value == in_features.size
    return np.frombuffer(y.get_obj(), np.float32).reshape(in_features.shape).copy()
