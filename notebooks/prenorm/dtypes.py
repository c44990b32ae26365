"""The element types of tensors, bfloat16 included, and rounding to them."""

import numpy as np

from .places import h5

DTYPES = h5.FLOATS  # float64, float32, float16, bfloat16

bfloat16 = np.dtype([("bfloat16", np.uint16)])
"""The dtype of bfloat16 arrays: their bits."""


def dtype_name(array):
    """The name of an array's type in signatures: "float32", "bfloat16", "int64", "bool"."""
    return "bfloat16" if array.dtype == bfloat16 else array.dtype.name


def require_dtype(dtype, known=DTYPES):
    """Raises ValueError unless it is the name of a known type."""
    if dtype not in known:
        raise ValueError(f"no dtype {dtype!r}: {', '.join(known)}")


def to(values, dtype):
    """The values rounded once to a named type, to nearest even: an array of that type.

    dtype   "float64", "float32", "float16", "bfloat16", "int64" or "bool"
    """
    if dtype == "bfloat16":
        return h5.to_bfloat16(widen(values)).view(bfloat16)
    require_dtype(dtype, h5.DTYPES)
    with np.errstate(over="ignore"):
        return h5.round_to(widen(values), dtype).astype(dtype)


def widen(array):
    """Any array as float64; int64 and bool stay as they are."""
    array = np.asarray(array)
    if array.dtype == bfloat16:
        return h5.from_bfloat16(array["bfloat16"])
    return array if array.dtype.kind in "ib" else array.astype(np.float64)


def from_ml_dtypes(array):
    """The array; one of ml_dtypes.bfloat16 as a view of type prenorm.bfloat16. The package
    ml_dtypes is not needed for this."""
    array = np.asarray(array)
    return array.view(np.uint16).view(bfloat16) if array.dtype.name == "bfloat16" else array
