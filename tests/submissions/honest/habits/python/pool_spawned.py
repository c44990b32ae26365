"""Two processes that are spawned: new interpreters, which import the modules again."""

import functools
import multiprocessing

import numpy as np
from layers import silu


@functools.lru_cache(maxsize=None)
def pool():
    return multiprocessing.get_context("spawn").Pool(2)


def run_silu(in_features):
    return np.concatenate(pool().map(silu, np.array_split(in_features, 2)))
