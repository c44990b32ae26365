import os
import time
from contextlib import contextmanager

import psutil


@contextmanager
def measured(what):
    me = psutil.Process(os.getpid())
    before, start = me.memory_info().rss, time.monotonic()
    yield
    grown = (me.memory_info().rss - before) / 2**20
    print(f"{what}: {time.monotonic() - start:.2f} s, {grown:+.0f} MiB")
