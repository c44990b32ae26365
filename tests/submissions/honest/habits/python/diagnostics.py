"""What one turns on to find a mistake: faulthandler, tracemalloc, warnings, gc, a profiler."""

import cProfile
import faulthandler
import gc
import io
import pstats
import tracemalloc
import warnings

import numpy as np
from layers import silu

faulthandler.enable()
tracemalloc.start()
warnings.simplefilter("error")
np.seterr(invalid="raise")


def run_silu(in_features):
    faulthandler.dump_traceback_later(60, exit=True)
    with cProfile.Profile() as profile:
        y = silu(in_features)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).print_stats()
    assert "silu" in text.getvalue()
    faulthandler.cancel_dump_traceback_later()
    assert tracemalloc.get_traced_memory()[1] > 0 and gc.collect() >= 0
    return y
