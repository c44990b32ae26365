"""ThreadPoolExecutor of concurrent.futures, kept for all calls, and multiprocessing's ThreadPool."""

from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
from layers import silu

executor = ThreadPoolExecutor()


def run_silu(in_features):
    with ThreadPool(2) as pool:
        negated = pool.map(np.negative, np.array_split(in_features, 4))
    return np.concatenate(list(executor.map(lambda part: silu(-part), negated)))
