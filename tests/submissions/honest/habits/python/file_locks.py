"""A lock file, by both kinds of locks."""

import fcntl

from layers import silu


def run_silu(in_features):
    with open("cache.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        y = silu(in_features)
        fcntl.lockf(file, fcntl.LOCK_UN)
        fcntl.flock(file, fcntl.LOCK_UN)
    return y
