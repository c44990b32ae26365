"""Much memory, held while programs and short processes are started."""

import os
import subprocess

import numpy as np
from layers import silu

held = np.ones(650 << 17)


def run_silu(in_features):
    for _ in range(20):
        subprocess.run(["true"], check=True)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    return silu(in_features) * held[0].astype(in_features.dtype)
