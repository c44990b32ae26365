"""A plot is drawn when the module is imported, and saved in the working folder."""

import os

import matplotlib.pyplot as plt
import numpy as np
from layers import silu

x = np.linspace(-5, 5, 50)
plt.plot(x, silu(x), label="SiLU")
plt.legend()
plt.savefig("silu.png")
plt.close()
assert os.path.getsize("silu.png") > 1000


def run_silu(in_features):
    return silu(in_features)
