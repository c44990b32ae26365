"""A function in C, compiled when the module is imported."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

CODE = """
#include <math.h>
void silu(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] / (1 + expf(-x[i]));
}
"""
folder = Path(tempfile.mkdtemp(prefix="prenorm-habit"))
(folder / "silu.c").write_text(CODE)
subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "silu.c", "-o", "silu.so", "-lm"], cwd=folder,
               check=True)
library = ctypes.CDLL(str(folder / "silu.so"))


def run_silu(in_features):
    x = np.ascontiguousarray(in_features)
    y = np.empty_like(x)
    library.silu(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p),
                 ctypes.c_long(x.size))
    return y
