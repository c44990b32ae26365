"""Handlers for signals that are set at import, and used by calls."""

import os
import signal

from layers import silu

seen = []
for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, _: seen.append(number))
signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_silu(in_features):
    seen.clear()
    for number in (signal.SIGALRM, signal.SIGUSR1):
        os.kill(os.getpid(), number)
    assert seen == [signal.SIGALRM, signal.SIGUSR1]
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return silu(in_features)
