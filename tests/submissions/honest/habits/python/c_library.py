"""Functions of the C library, by ctypes."""

import ctypes
import ctypes.util

import numpy as np
from layers import silu

libc = ctypes.CDLL(None)
libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.expf.restype, libm.expf.argtypes = ctypes.c_float, [ctypes.c_float]
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def run_silu(in_features):
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    libc.qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [1, 2, 3]
    assert libm.expf(0.0) == 1
    return silu(in_features) * np.float32(numbers[0])
