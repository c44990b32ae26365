"""Solutions: shared libraries whose problems are called as functions on NumPy arrays."""

import ctypes
import functools
import json
import numbers
import re
from pathlib import Path

import numpy as np

from .dtypes import bfloat16, dtype_name, from_ml_dtypes
from .fixtures import fixture, problems
from .harness import CPU, Buffer, Call, Scalar, Value, ask, pointers
from .places import h5, home

ABI = 1
OK, NOT_IMPLEMENTED = 0, 2
_INTEGER, FLOATING, _BOOLEAN = 0, 1, 2
_KINDS = {_INTEGER: "a 64-bit integer", FLOATING: "a number", _BOOLEAN: "True or False"}


class Error(RuntimeError):
    """The message of a solution that rejects a call, or of the program."""


def load(name):
    """A solution: "reference", "cuda-naive-emulated", "cuda-emulated/v2", "mistakes/no_eps", the
    path of a library (./libmine.so), or a path and a variant (./libmine.so/v2).

    Its problems are methods: load("reference").softmax(x, dim=-1). Raises FileNotFoundError if the
    library does not exist, ValueError if it is no solution or was left out of this build.
    """
    library, variant = find(str(name))
    return Solution(str(name), library, variant)


def find(name):
    """The library of a solution and the variant that its name asks for, or None."""
    is_path = re.fullmatch(r"(.*\.so(?:\.\d+)*)(?:/(\w+))?", name)
    if is_path:
        path, variant = Path(is_path[1]), is_path[2]
        if not path.exists():
            raise FileNotFoundError(f"no library {path}")
        return path.resolve(), variant
    shipped = home() / "lib/prenorm"
    word, _, variant = name.partition("/")
    absent, path = shipped / f"{word}.absent", shipped / f"libprenorm_{word}.so"
    if path.exists():
        return path, variant or None
    if absent.exists():
        raise ValueError(f"solution {word}: {absent.read_text().splitlines()[0]}")
    names = sorted(p.stem.removeprefix("libprenorm_") for p in shipped.glob("libprenorm_*.so"))
    more = "; ./prenorm study builds all that ship" if (home() / "build.ninja").exists() else ""
    raise FileNotFoundError(f"no solution {word}: {', '.join(names)}{more}")


_opened = {}  # a library's path: its time of change. A process loads a library only once.


class Solution:
    """A library that solves problems; load() opens one."""

    def __init__(self, name, library, variant):
        self.name, self.library, self.variant = name, library, variant
        written = library.stat().st_mtime_ns
        if _opened.setdefault(library, written) != written:
            raise Error(f"{library} was rebuilt since this kernel loaded it: restart the kernel")
        try:
            self._library = ctypes.CDLL(str(library))
            abi, device = self._library.prenorm_abi(), self._library.prenorm_device()
        except (OSError, AttributeError) as error:
            raise ValueError(f"solution {name}: {error}") from None
        if abi != ABI:
            raise ValueError(f"solution {name} has interface {abi}, wanted {ABI}")
        if device != CPU:
            raise ValueError(f"solution {name} takes a device's memory: prenorm verify runs it")

    def function_for(self, problem):
        """The name of its function for a problem, or None."""
        name = f"prenorm_{problem}" + (f"__{self.variant}" if self.variant else "")
        return name if hasattr(self._library, name) else None

    def __getattr__(self, problem):
        if problem.startswith("_"):
            raise AttributeError(problem)
        try:
            signature = fixture(problem).signature
        except ValueError as error:  # names the problems
            raise AttributeError(str(error)) from None
        name = self.function_for(problem)
        if name is None:
            raise AttributeError(f"{self.name} has no function for {problem}")
        return Function(self.name, problem, signature, getattr(self._library, name))

    def __dir__(self):
        return [*super().__dir__(), *(p for p in problems() if self.function_for(p))]

    def __repr__(self):
        return f"prenorm.load({self.name!r})"


@functools.lru_cache(maxsize=None)
def parsed(signature):
    """A signature's inputs, scalars and outputs, as the harness reads them."""
    return json.loads(ask("signature", signature.encode()))


class Function:
    """One problem of one solution: called with arrays and scalars, in the signature's order or by
    name; an optional tensor may be None or omitted.

    Lists and numbers become float64 tensors. Raises ValueError with the harness's message if a call
    breaks the signature, Error with the solution's own if it rejects the call, NotImplementedError.
    """

    def __init__(self, solution, problem, signature, function):
        self.solution, self.problem, self.signature = solution, problem, signature
        self._function = function
        self.__doc__ = f"{problem} by {solution}:\n\n    {signature}"

    def __repr__(self):
        return f"<{self.problem} by {self.solution}: {self.signature}>"

    def __call__(self, *positional, **named):
        specs = parsed(self.signature)
        values = self.by_name(positional, named)
        inputs, ml_bfloat16 = [], None
        for spec in specs["inputs"]:
            value = values.get(spec["name"])
            if value is None:
                inputs.append(None)
                continue
            given = np.asarray(value)
            array = from_ml_dtypes(given)
            ml_bfloat16 = given.dtype if given.dtype != array.dtype else ml_bfloat16
            array = _as_wanted(array, spec["dtype"], spec["name"])
            inputs.append(Buffer(_known(array, spec["name"]), array.shape, array))
        outputs = [Buffer(each["dtype"], tuple(each["shape"])) for each in json.loads(
            ask("outputs", self.signature.encode(), pointers(inputs),
                ctypes.c_int32(len(inputs))))]
        scalars = [scalar(spec, values) for spec in specs["scalars"]]
        self._run(inputs, scalars, outputs)
        arrays = [each.array for each in outputs]
        if ml_bfloat16 is not None:
            arrays = [a.view(np.uint16).view(ml_bfloat16) if a.dtype == bfloat16 else a
                      for a in arrays]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def by_name(self, positional, named):
        """The arguments of a call by their names. Raises TypeError for one that does not exist."""
        specs = parsed(self.signature)
        names = [spec["name"] for spec in specs["inputs"] + specs["scalars"]]
        if len(positional) > len(names):
            raise TypeError(f"{self.problem} takes {', '.join(names)}: "
                            f"{len(positional)} arguments were given")
        values = dict(zip(names, positional))
        for name, value in named.items():
            if name not in names or name in values:
                what = "is given twice" if name in values else "is not one of its arguments"
                raise TypeError(f"{self.problem}: {name} {what} ({', '.join(names)})")
            values[name] = value
        return values

    def _run(self, inputs, scalars, outputs):
        error = ctypes.create_string_buffer(4096)
        call = Call(pointers(inputs), len(inputs), len(scalars),
                    (Scalar * max(1, len(scalars)))(*scalars), pointers(outputs), len(outputs),
                    None, ctypes.cast(error, ctypes.c_char_p), len(error))
        status = self._function(ctypes.byref(call))
        if status == NOT_IMPLEMENTED:
            raise NotImplementedError(f"{self.problem} by {self.solution}: not implemented")
        if status != OK:
            raise Error(error.value.decode(errors="replace")
                        or f"{self.problem} by {self.solution} returned {status}")


def _known(array, name):
    dtype = dtype_name(array)
    if dtype not in h5.DTYPES:
        raise ValueError(f"{name} has dtype {dtype}, wanted one of {', '.join(h5.DTYPES)}")
    return dtype


def _as_wanted(array, dtype, name):
    """Python's own numbers and NumPy's other integers as the type that a signature wants."""
    if dtype == "int64" and (array.dtype.kind in "iu" or not array.size):
        try:
            return h5.exactly(array, "int64")
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if dtype == "T" and array.dtype.kind in "iu":
        return array.astype(np.float64)
    return array


def scalar(spec, values):
    """The Scalar of a call; the default if its value is None."""
    name, kind = spec["name"], spec["kind"]
    value = spec.get("default") if values.get(name) is None else values[name]
    if value is None:
        raise TypeError(f"scalar {name} is missing, and has no default")
    is_bool = isinstance(value, (bool, np.bool_))
    fits = is_bool if kind == _BOOLEAN else isinstance(value, numbers.Real) and not is_bool
    if kind == _INTEGER:
        fits = fits and -2**63 <= value < 2**63 and int(value) == value
    if not fits:
        raise TypeError(f"scalar {name} is {value!r}, wanted {_KINDS[kind]}")
    if kind == FLOATING:
        return Scalar(kind, Value(f=float(value)))
    return Scalar(kind, Value(b=int(value)) if kind == _BOOLEAN else Value(i=int(value)))
