"""Clocks, sleeping, dates and time zones."""

import datetime
import time
import timeit

from layers import silu

assert datetime.datetime.now().astimezone().utcoffset() is not None
assert time.strftime("%Y-%m-%d") >= "2020" and time.process_time() > 0 and time.thread_time() > 0


def run_silu(in_features):
    start = time.perf_counter()
    time.sleep(0.01)
    assert time.perf_counter() - start >= 0.01
    assert timeit.timeit(lambda: silu(in_features), number=3) > 0
    return silu(in_features)
