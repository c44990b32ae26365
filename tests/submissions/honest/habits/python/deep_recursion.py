"""A recursion that is deeper than Python's usual limit, in a thread with a larger stack."""

import sys
import threading

from layers import silu

sys.setrecursionlimit(100_000)
threading.stack_size(256 << 20)


def depth(count):
    return 0 if count == 0 else 1 + depth(count - 1)


def run_silu(in_features):
    found = []
    thread = threading.Thread(target=lambda: found.append(depth(20_000)))
    thread.start()
    thread.join()
    assert found == [20_000]
    return silu(in_features)
