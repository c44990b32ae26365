"""A cache file beside the module, which the same call and later ones read."""

from pathlib import Path

import numpy as np
from layers import silu

CACHE = Path(__file__).parent / "cache.npy"
TABLE = np.exp(-np.arange(4.0))


def run_silu(in_features):
    if not CACHE.exists():
        np.save(CACHE, TABLE)
    assert np.array_equal(np.load(CACHE), TABLE)
    return silu(in_features)
