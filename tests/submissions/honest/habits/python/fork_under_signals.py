"""Threads, processes and memory of theirs while a timer rings, whose handler interrupts what waits."""

import mmap
import os
import signal
import threading

from layers import silu

rings = 0


def ring(*_):
    global rings
    rings += 1


def run_silu(in_features):
    signal.signal(signal.SIGALRM, ring)
    signal.signal(signal.SIGCHLD, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for _ in range(100):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        mmap.mmap(-1, 4096).close()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert rings > 0
    return silu(in_features)
