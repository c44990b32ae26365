"""A pool that is made at the first call, used by the later ones, and never closed."""

import functools
import multiprocessing

import numpy as np
from layers import silu


@functools.lru_cache(maxsize=None)
def pool():
    return multiprocessing.Pool(2)


def run_silu(in_features):
    return np.concatenate(pool().map(silu, np.array_split(in_features, 2)))
