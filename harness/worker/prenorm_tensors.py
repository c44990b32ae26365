"""Tensors for a Python submission's functions, as torch and as NumPy have them.

They share a call's memory: nothing is copied until a function has returned. Where there is a device,
a function that fails with tensors in the CPU's memory gets copies, on the device; they are copied back
afterwards, so that a changed input is seen. prenorm_worker.py loads this file.
"""

import gc
import importlib
import math
import sys

from prenorm_layout import Unusable
from prenorm_messages import DTYPES, OTHER_DTYPE, OTHER_SHAPE

BFLOAT16 = DTYPES.index("bfloat16")


class Unfit(Exception):
    """A result that does not fit the output: the kind of difference, and a message."""

    def __init__(self, how, what):
        super().__init__(what)
        self.how, self.what = how, what


class TorchTensors:
    round_float64 = False
    places = ("cpu",)

    def __init__(self, torch):
        self.torch = torch
        self.dtypes = [getattr(torch, name) for name in DTYPES]
        self.plain = (torch.Tensor, torch.nn.Parameter)
        self.knows_devices = torch.version.cuda is not None
        torch.set_num_threads(1)

    def view(self, memory, tensor):
        """The tensor in the call's memory."""
        dtype = self.dtypes[tensor.dtype]
        if tensor.region.bytes == 0:
            return self.torch.empty(tensor.shape, dtype=dtype, device="cpu")
        count = math.prod(tensor.shape)
        flat = self.torch.frombuffer(memory, dtype=dtype, count=count, offset=tensor.region.offset)
        return flat.reshape(tensor.shape)

    def use_device(self):
        """Whether functions may compute on the CUDA device from now on."""
        if self.torch.cuda.is_available():
            self.places = ("cpu", "cuda")
        return "cuda" in self.places

    def give(self, view, place):
        """The tensor that a function gets, there; the view itself where there is no device."""
        return view if self.places == ("cpu",) else view.to(place, copy=True)

    def finish(self):
        """Waits for what a function has begun."""
        if "cuda" in self.places:
            self.torch.cuda.synchronize()

    def materialize(self, value):
        """The values of a tensor that may compute them on access."""
        if type(value) in self.plain or not isinstance(value, self.torch.Tensor):
            return value
        plain = self.torch.empty(tuple(value.shape), dtype=value.dtype, device="cpu")
        return plain.copy_(value.detach())

    def store(self, value, memory, tensor):
        """Copies what a function returned into an output."""
        if not isinstance(value, self.torch.Tensor):
            return store_array(value, memory, tensor, DTYPES[tensor.dtype], self)
        dtype = str(value.dtype).replace("torch.", "")
        wanted = DTYPES[tensor.dtype]
        if self.round_float64 and (dtype, wanted) == ("float64", "float32"):
            dtype = wanted  # copy_() rounds
        compare(value.shape, dtype, tensor.shape, wanted)
        self.view(memory, tensor).copy_(value.detach())

    def store_number(self, value, memory, tensor):
        self.view(memory, tensor).fill_(value)


class NumPyTensors:
    round_float64 = False
    places = ("cpu",)
    knows_devices = False

    def __init__(self, numpy):
        self.numpy = numpy
        self.dtypes = [numpy.dtype(name) for name in DTYPES if name != "bfloat16"]
        try:
            bfloat16 = numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
        except ImportError:
            bfloat16 = None
        self.dtypes.insert(BFLOAT16, bfloat16)

    def view(self, memory, tensor):
        """The tensor in the call's memory; a widened copy for bfloat16."""
        dtype = self.dtypes[tensor.dtype] or self.numpy.uint16
        if tensor.region.bytes == 0:
            stored = self.numpy.empty(tensor.shape, dtype)
        else:
            stored = self.numpy.ndarray(tensor.shape, dtype, memory, tensor.region.offset)
        if self.dtypes[tensor.dtype] is None:
            bits = stored.astype(self.numpy.uint32)
            bits <<= self.numpy.uint32(16)
            return bits.view(self.numpy.float32)
        return stored

    def use_device(self):
        return False

    def give(self, view, _):
        return view

    def finish(self):
        pass

    def materialize(self, value):
        """The values of an array that may compute them on access."""
        if type(value) is self.numpy.ndarray or not isinstance(value, self.numpy.ndarray):
            return value
        return self.numpy.array(value, subok=False)

    def store(self, value, memory, tensor):
        """Copies what a function returned into an output."""
        dtype = self.dtypes[tensor.dtype]
        name = "float32" if dtype is None else dtype.name
        store_array(value, memory, tensor, name, self)

    def store_number(self, value, memory, tensor):
        dtype = self.dtypes[tensor.dtype] or self.numpy.float32
        self.store(self.numpy.asarray(value, dtype), memory, tensor)


def store_array(value, memory, tensor, dtype, tensors):
    """Copies a NumPy array, or a number where the output has no axes, into an output."""
    if type(value) in (bool, int, float) and not tensor.shape:
        return tensors.store_number(value, memory, tensor)
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        what = "None" if value is None else "an object of type " + type(value).__name__
        raise Unfit(OTHER_SHAPE, "returned %s, wanted a tensor %s" % (what, tensor.shape))
    value = numpy.asarray(value)
    if tensors.round_float64 and value.dtype.name == "float64" and DTYPES[tensor.dtype] == "float32":
        value = value.astype(dtype)
    compare(value.shape, value.dtype.name, tensor.shape, dtype)
    value = value.astype(value.dtype.newbyteorder("="), order="C", copy=False)
    if tensor.dtype == BFLOAT16 and dtype == "float32":
        value = to_bfloat16(numpy, value)
    data = value.tobytes()
    memory[tensor.region.offset : tensor.region.offset + len(data)] = data


def to_bfloat16(numpy, value):
    """The bits of float32 numbers, rounded to the nearest bfloat16, ties to even; NaN stays NaN."""
    value = value.reshape(-1)
    bits = value.view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(value), bits >> 16 | 0x40, rounded).astype(numpy.uint16)


def compare(shape, dtype, wanted_shape, wanted_dtype):
    if list(shape) != wanted_shape:
        raise Unfit(OTHER_SHAPE, "returned %s, wanted %s" % (list(shape), wanted_shape))
    if dtype != wanted_dtype:
        raise Unfit(OTHER_DTYPE, "returned %s, wanted %s" % (dtype, wanted_dtype))


def import_tensors():
    """torch or NumPy, from the interpreter only: the submission is not on the path yet."""
    gc.disable()  # imported modules stay: collecting garbage there only costs time
    for name, kind in (("torch", TorchTensors), ("numpy", NumPyTensors)):
        try:
            tensors = kind(importlib.import_module(name))
            gc.freeze()
            gc.enable()
            return tensors
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise Unusable(
        "this Python has neither torch nor NumPy: %s (Debian: python3-torch; --python names another)"
        % sys.executable
    )
