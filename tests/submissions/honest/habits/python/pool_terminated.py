"""A pool of two processes, which the context manager terminates."""

import multiprocessing

import numpy as np
from layers import silu


def run_silu(in_features):
    with multiprocessing.Pool(2) as pool:
        return np.concatenate(pool.map(silu, np.array_split(in_features, 2)))
