"""A forked process that sends its result through a pipe."""

import os

import numpy as np
from layers import silu


def run_silu(in_features):
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        with os.fdopen(there, "wb") as pipe:
            pipe.write(silu(in_features).tobytes())
        os._exit(7)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        y = np.frombuffer(pipe.read(), np.float32)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return y.reshape(in_features.shape)
