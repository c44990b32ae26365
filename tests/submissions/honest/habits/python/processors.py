"""How many processors there are, and asking to stay on one of them."""

import multiprocessing
import os

from layers import silu

assert os.cpu_count() >= 1 and multiprocessing.cpu_count() >= 1
usable = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(usable)})
assert os.nice(0) >= 0 and os.getloadavg()[0] >= 0
with open("/proc/cpuinfo") as file:
    assert "processor" in file.read()
with open("/proc/meminfo") as file:
    assert "MemTotal" in file.read()


def run_silu(in_features):
    return silu(in_features)
