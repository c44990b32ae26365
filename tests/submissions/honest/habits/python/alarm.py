"""A time limit of one's own for each call, by a signal and by a timer."""

import signal

import numpy as np
from layers import silu


class TooSlow(Exception):
    pass


def ring(*_):
    raise TooSlow


def run_silu(in_features):
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(5)
    y = silu(in_features)
    signal.alarm(0)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        signal.pause()
    except TooSlow:
        return y
    return np.full_like(y, np.nan)
