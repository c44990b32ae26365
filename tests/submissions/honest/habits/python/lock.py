"""A lock, a semaphore, an event and a condition of multiprocessing, made at import."""

import multiprocessing as mp

from layers import silu

lock, semaphore, event, condition = mp.Lock(), mp.Semaphore(2), mp.Event(), mp.Condition()


def run_silu(in_features):
    with lock, semaphore, condition:
        event.set()
        assert event.wait(1)
        return silu(in_features)
