"""40 forked processes that read one array of 300 MB, which they share with their parent."""

import functools
import multiprocessing

import numpy as np
from layers import silu

table = np.ones(300_000_000 // 4, np.float32)  # 12 GB if each process's were counted


def scaled(part):
    assert table[::1024].min() == 1  # every page is read
    return silu(part) * table[-1]


@functools.lru_cache(maxsize=None)
def pool():
    return multiprocessing.Pool(40)


def run_silu(in_features):
    parts = pool().map(scaled, np.array_split(in_features.reshape(-1), 40), chunksize=1)
    return np.concatenate(parts).reshape(in_features.shape)
