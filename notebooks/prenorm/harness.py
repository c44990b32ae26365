"""The harness as a library, called by ctypes: tensors, calls, and what it says of them."""

import ctypes
import functools
import math

import numpy as np

from .dtypes import bfloat16, require_dtype, widen
from .places import home

CPU = 1  # kDLCPU
_DLPACK_TYPES = {"float64": (2, 64), "float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16),
                 "int64": (0, 64), "bool": (1, 8)}


class DLTensor(ctypes.Structure):
    """DLPack's DLTensor, version 0.6."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("b", ctypes.c_int32)]


class Scalar(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("value", Value)]


class Call(ctypes.Structure):
    """prenorm_call of <prenorm/prenorm.h>."""
    _fields_ = [("inputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
                ("num_inputs", ctypes.c_int32), ("num_scalars", ctypes.c_int32),
                ("scalars", ctypes.POINTER(Scalar)),
                ("outputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
                ("num_outputs", ctypes.c_int32), ("stream", ctypes.c_void_p),
                ("error", ctypes.c_char_p), ("error_size", ctypes.c_size_t)]


class Buffer:
    """An array in memory as solutions may expect it: compact, row-major, aligned to 256 bytes."""

    def __init__(self, dtype, shape, values=None):
        stored = bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
        size = math.prod(shape) * stored.itemsize
        memory = np.zeros(size + 256, np.uint8)
        first = -memory.ctypes.data % 256
        self.array = memory[first:first + size].view(stored).reshape(shape)
        if values is not None:
            self.array[...] = values
        strides = [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
        self._axes = [(ctypes.c_int64 * max(1, len(shape)))(*each) for each in (shape, strides)]
        self.tensor = DLTensor(memory.ctypes.data + first, CPU, 0, len(shape),
                               *_DLPACK_TYPES[dtype], 1, *self._axes, 0)


def pointers(buffers):
    """An array of pointers to their tensors; a null pointer for None."""
    array = (ctypes.POINTER(DLTensor) * max(1, len(buffers)))()
    for i, buffer in enumerate(buffers):
        if buffer is not None:
            array[i] = ctypes.pointer(buffer.tensor)
    return array


@functools.lru_cache(maxsize=None)
def _library():
    library = ctypes.CDLL(str(home() / "libexec/prenorm/prenorm_python.so"))
    library.prenorm_python_spacing.restype = ctypes.c_double
    library.prenorm_python_spacing.argtypes = [ctypes.c_char_p, ctypes.c_double]
    library.prenorm_python_compare.argtypes = [
        ctypes.POINTER(DLTensor), ctypes.c_void_p, ctypes.c_double, ctypes.c_double,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    return library


def ask(function, *arguments):
    """The text that prenorm_python_<function> returns. Raises ValueError with its message."""
    text = ctypes.create_string_buffer(1 << 16)
    called = getattr(_library(), f"prenorm_python_{function}")
    failed = called(*arguments, text, ctypes.c_size_t(len(text)))
    if failed:
        raise ValueError(text.value.decode())
    return text.value.decode()


def spacing(values, dtype):
    """One unit in the last place of a named type at each value: a float64 array."""
    require_dtype(dtype)
    of_one = np.vectorize(lambda value: _library().prenorm_python_spacing(dtype.encode(), value),
                          otypes=[np.float64])
    return of_one(widen(values))
