"""Threads that are joined, and one in the background that never ends."""

import threading

import numpy as np
from layers import silu

calls = threading.Condition()
seen = []


def count():
    while True:
        with calls:
            calls.wait()
            seen.append(1)


threading.Thread(target=count, daemon=True).start()


def run_silu(in_features):
    y = np.empty_like(in_features)
    threads = [threading.Thread(target=lambda i=i: y.__setitem__(i, silu(in_features[i])))
               for i in range(len(in_features))][:20]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    y[20:] = silu(in_features[20:])
    with calls:
        calls.notify()
    return y
