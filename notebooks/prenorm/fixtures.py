"""Fixture files and their cases, and comparing an output with the expected one."""

import ctypes
import dataclasses
import functools
import re
from pathlib import Path

import numpy as np

from .dtypes import dtype_name, from_ml_dtypes, to, widen
from .harness import Buffer, ask
from .places import ROOT, h5


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a fixture file. Its inputs have the types of the file; `expected` is the exact
    answer, in float64."""
    problem: str
    name: str
    description: str
    dtype: str                # of the outputs: the T of the call; None for a case with an error
    error: str                # why a solution must reject the inputs, or None
    inputs: dict              # name: array
    scalars: dict             # name: number, without defaults
    expected: dict            # name: float64 array; empty for a case with an error
    atol: dict                # name: float
    rtol: dict
    reason: dict              # name: how the tolerance was derived

    @property
    def arguments(self):
        """All arguments of a call, by name: reference.rmsnorm(**case.arguments)."""
        return {**self.inputs, **self.scalars}

    @property
    def y(self):
        """The only expected output. Raises ValueError if solutions must reject the case."""
        if self.error:
            raise ValueError(f"{self.name} has no outputs, solutions must reject it: {self.error}")
        (values,) = self.expected.values()
        return values


@dataclasses.dataclass(frozen=True)
class Fixture:
    """A fixture file: the contract of a problem."""
    problem: str
    path: Path
    signature: str
    source: str
    cases: dict               # name: Case

    def of_dtype(self, dtype):
        """The cases of one type that have answers: a list."""
        return [case for case in self.cases.values() if case.dtype == dtype and not case.error]


def problems():
    """The names of all problems that ship with a fixture."""
    return sorted(path.stem for path in (ROOT / "fixtures").glob("*.h5"))


def fixture(problem):
    """The fixture of a problem, by name, or of a file: a Fixture."""
    path = Path(problem) if str(problem).endswith(".h5") else ROOT / f"fixtures/{problem}.h5"
    if not path.exists():
        raise ValueError(f"no problem {problem}: {', '.join(problems())}")
    return _read(path.resolve(), path.stat().st_mtime_ns)


def random_weights(problem, rng, **sizes):
    """The parameters of a problem before any training, {name: float64 array}: gains (`ln...`) are 1,
    embeddings have variance 1, and a matrix 2 / (d_in + d_out), as the modules in reference/ have.

    sizes    the dimensions of the signature, by name: d_model=64
    """
    tensors = re.findall(r"(\w+)\[([^\].]*)\](?!:)", fixture(problem).signature.split(";")[0])
    shapes = {name: [sizes[size] for size in dims.split(", ")] for name, dims in tensors}
    return {name: np.ones(shape) if name.startswith("ln") else
            rng.normal(0, 1 if "embeddings" in name else np.sqrt(2 / sum(shape[-2:])), shape)
            for name, shape in shapes.items()}


@functools.lru_cache(maxsize=64)
def _read(path, _changed):
    with h5.h5py.File(path) as file:
        problem = file.attrs["problem"]
        cases = {name: _case(problem, name, group) for name, group in file["cases"].items()}
        return Fixture(problem, path, file.attrs["signature"], file.attrs.get("source", ""), cases)


def _case(problem, name, group):
    def read_only(array):
        array.flags.writeable = False  # a case is read once, and shared by all who ask for it
        return array

    told = dict(group.attrs)
    outputs = group.get("outputs", {})
    dtypes = [each.attrs["dtype"] for each in outputs.values()]
    inputs = {key: read_only(to(*h5.read_tensor(each))) for key, each in group["inputs"].items()}
    expected = {key: read_only(h5.read_tensor(each)[0]) for key, each in outputs.items()}
    scalars = {key: np.asarray(value).item() for key, value in told.items()
               if key not in ("description", "dims", "error")}
    atol, rtol = ({key: float(each.attrs.get(name, 0)) for key, each in outputs.items()}
                  for name in ("atol", "rtol"))
    reason = {key: each.attrs.get("reason", "") for key, each in outputs.items()}
    return Case(problem, name, told.get("description", ""), dtypes[0] if dtypes else None,
                told.get("error"), inputs, scalars, expected, atol, rtol, reason)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An output compared with the expected one, element by element."""
    passes: np.ndarray        # bool
    ulps: np.ndarray          # |y - expected| in units in the last place; infinity for a wrong NaN
    error: np.ndarray         # y - expected, float64
    allowed: np.ndarray       # atol + rtol |expected|


def compare(actual, case):
    """Compares an output with a case's expected one by the harness's own rule: a Comparison.

    Raises ValueError if its shape or type differs.
    """
    actual, expected = from_ml_dtypes(actual), np.asarray(case.y, order="C")
    (name,) = case.expected
    if actual.shape != expected.shape or dtype_name(actual) != case.dtype:
        raise ValueError(f"{name} is {dtype_name(actual)} {list(actual.shape)}, "
                         f"wanted {case.dtype} {list(expected.shape)}")
    passes, ulps = np.empty(expected.shape, np.uint8), np.empty(expected.shape)
    buffer = Buffer(case.dtype, actual.shape, actual)
    ask("compare", ctypes.byref(buffer.tensor), expected.ctypes.data, case.atol[name],
        case.rtol[name], passes.ctypes.data, ulps.ctypes.data)
    with np.errstate(invalid="ignore"):
        error = widen(actual) - expected
        allowed = case.atol[name] + case.rtol[name] * np.abs(expected)
    return Comparison(passes.astype(bool), ulps, error, allowed)
