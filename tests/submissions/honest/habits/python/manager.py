"""A manager's list, which two processes write."""

from multiprocessing import Manager, Process

import numpy as np
from layers import silu


def work(index, part, found):
    found[index] = silu(part)


def run_silu(in_features):
    with Manager() as manager:
        found = manager.dict()
        parts = enumerate(np.array_split(in_features, 2))
        processes = [Process(target=work, args=(*part, found)) for part in parts]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        return np.concatenate([found[0], found[1]])
