"""Random numbers, seeded and not."""

import os
import random
import secrets
import uuid

import numpy as np
from layers import silu

random.seed(42)
np.random.seed(42)
rng = np.random.default_rng()
names = {str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(16), os.urandom(16).hex()}
assert len(names) == 4 and uuid.getnode() > 0


def run_silu(in_features):
    order = rng.permutation(len(in_features))
    y = np.empty_like(in_features)
    y[order] = silu(in_features[order])
    return y
