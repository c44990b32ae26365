"""Solutions, fixtures and sources of prenorm as Python, on NumPy arrays.

    import prenorm

    reference = prenorm.load("reference")              # as --solution takes it: a name, or a path
    y = reference.rmsnorm(x, weight, eps=1e-5)         # any problem, any of its dtypes
    wrong = prenorm.load("mistakes/no_eps").rmsnorm(x, weight)

    case = prenorm.fixture("rmsnorm").cases["by_hand_float32"]
    y = reference.rmsnorm(**case.arguments)
    prenorm.compare(y, case).passes                    # element by element

    prenorm.verify("rmsnorm", "reference", "mistakes/no_eps")    # prenorm verify, as a table
    prenorm.source("rmsnorm", "cuda-naive")                      # the code that is compiled
    prenorm.grade("rmsnorm", my_rmsnorm)                         # a function of your own

A solution is called through the C interface (<prenorm/prenorm.h>) by ctypes, in this process: what
crashes it crashes the notebook. `prenorm verify` has a process for it.

bfloat16 is the dtype `prenorm.bfloat16`, which stores bits and does no arithmetic: `to(values,
"bfloat16")` rounds to it, `widen(array)` gives float64. Arrays of ml_dtypes.bfloat16 are taken as
well, and answered in kind.
"""

import ctypes
import dataclasses
import functools
import json
import math
import numbers
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas

ROOT = Path(__file__).resolve().parent.parent  # the checkout, or an installation's share/prenorm
sys.path.insert(0, str(ROOT / "fixtures"))

import h5  # noqa: E402
from sides import side_by_side  # noqa: E402,F401
from sources import contract, ladder, function_source as source  # noqa: E402,F401

DTYPES = h5.FLOATS  # float64, float32, float16, bfloat16


class Error(RuntimeError):
    """What a solution said when it refused a call."""


def home():
    """The folder with bin/ and lib/prenorm/ of a build: $PRENORM_HOME, the checkout's own build, or
    the installation that this file is part of.

    Raises FileNotFoundError where nothing is built.
    """
    given = os.environ.get("PRENORM_HOME")
    places = [Path(given)] if given else [ROOT / "build/release", ROOT.parent.parent]
    for place in places:
        if (place / "libexec/prenorm/prenorm_python.so").exists():
            return place.resolve()
    raise FileNotFoundError(f"no built prenorm in {' or '.join(map(str, places))}: "
                            "./prenorm verify builds it, or set PRENORM_HOME")


# numbers -----------------------------------------------------------------------------------------

bfloat16 = np.dtype([("bfloat16", np.uint16)])
"""The dtype of arrays of bfloat16: their bits."""


def _is_ml_bfloat16(dtype):
    """Whether it is the bfloat16 of the package ml_dtypes, which need not be there."""
    return dtype.name == "bfloat16" and dtype != bfloat16


def dtype_name(array):
    """The name that a signature has for an array's type: "float32", "bfloat16", "int64", "bool"."""
    if array.dtype == bfloat16:
        return "bfloat16"
    return array.dtype.name


def to(values, dtype):
    """The values rounded once to a named type, to nearest even: an array of that type.

    dtype   "float64", "float32", "float16", "bfloat16", "int64" or "bool"
    """
    if dtype == "bfloat16":
        return h5.to_bfloat16(widen(values)).view(bfloat16)
    _require_dtype(dtype, h5.DTYPES)
    with np.errstate(over="ignore"):
        return h5.round_to(widen(values), dtype).astype(dtype)


def _require_dtype(dtype, known=DTYPES):
    if dtype not in known:
        raise ValueError(f"no dtype {dtype!r}: {', '.join(known)}")


def widen(array):
    """Any array as float64; int64 and bool as they are."""
    array = np.asarray(array)
    if array.dtype == bfloat16:
        return h5.from_bfloat16(array["bfloat16"])
    if array.dtype.kind in "ib":
        return array
    return array.astype(np.float64)


def spacing(values, dtype):
    """One unit in the last place of a named type at each value: a float64 array."""
    _require_dtype(dtype)
    of_one = np.vectorize(lambda value: _harness().prenorm_python_spacing(dtype.encode(), value),
                          otypes=[np.float64])
    return of_one(widen(values))


# the harness, as a library -----------------------------------------------------------------------

class _DLTensor(ctypes.Structure):
    """DLPack's DLTensor, version 0.6."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("b", ctypes.c_int32)]


class _Scalar(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("value", _Value)]


class _Call(ctypes.Structure):
    """prenorm_call of <prenorm/prenorm.h>."""
    _fields_ = [("inputs", ctypes.POINTER(ctypes.POINTER(_DLTensor))),
                ("num_inputs", ctypes.c_int32), ("num_scalars", ctypes.c_int32),
                ("scalars", ctypes.POINTER(_Scalar)),
                ("outputs", ctypes.POINTER(ctypes.POINTER(_DLTensor))),
                ("num_outputs", ctypes.c_int32), ("stream", ctypes.c_void_p),
                ("error", ctypes.c_char_p), ("error_size", ctypes.c_size_t)]


ABI = 1
CPU = 1  # kDLCPU
OK, NOT_IMPLEMENTED = 0, 2
_DLPACK_TYPES = {"float64": (2, 64), "float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16),
                 "int64": (0, 64), "bool": (1, 8)}
_STORED = {"bfloat16": bfloat16}  # the others have their own names in NumPy
_INTEGER, _FLOATING, _BOOLEAN = 0, 1, 2
_KINDS = {_INTEGER: "a whole number of 64 bits", _FLOATING: "a number", _BOOLEAN: "True or False"}


class _Buffer:
    """An array in memory as solutions may expect it: compact, row-major, aligned to 256 bytes."""

    def __init__(self, dtype, shape, values=None):
        stored = np.dtype(_STORED.get(dtype, dtype))
        count = math.prod(shape)
        memory = np.zeros(count * stored.itemsize + 256, np.uint8)
        first = -memory.ctypes.data % 256
        self.array = memory[first:first + count * stored.itemsize].view(stored).reshape(shape)
        if values is not None:
            self.array[...] = values
        code, bits = _DLPACK_TYPES[dtype]
        strides = [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
        self._shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self._strides = (ctypes.c_int64 * max(1, len(shape)))(*strides)
        self.tensor = _DLTensor(memory.ctypes.data + first, CPU, 0, len(shape), code, bits, 1,
                                self._shape, self._strides, 0)


def _pointers(buffers):
    """An array of pointers to their tensors; None: a null pointer."""
    array = (ctypes.POINTER(_DLTensor) * max(1, len(buffers)))()
    for i, buffer in enumerate(buffers):
        if buffer is not None:
            array[i] = ctypes.pointer(buffer.tensor)
    return array


@functools.lru_cache(maxsize=None)
def _harness():
    library = ctypes.CDLL(str(home() / "libexec/prenorm/prenorm_python.so"))
    library.prenorm_python_spacing.restype = ctypes.c_double
    library.prenorm_python_spacing.argtypes = [ctypes.c_char_p, ctypes.c_double]
    library.prenorm_python_compare.argtypes = [
        ctypes.POINTER(_DLTensor), ctypes.c_void_p, ctypes.c_double, ctypes.c_double,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    return library


def _ask(function, *arguments):
    """The text that a function of the harness answers; its message as a ValueError."""
    text = ctypes.create_string_buffer(1 << 16)
    failed = getattr(_harness(), function)(*arguments, text, ctypes.c_size_t(len(text)))
    if failed:
        raise ValueError(text.value.decode())
    return text.value.decode()


# solutions ---------------------------------------------------------------------------------------

def load(name):
    """A solution: "reference", "cuda-naive-emulated", "cuda-emulated/v2", "mistakes/no_eps", the
    path of a library (./libmine.so), or a path and a variant (./libmine.so/v2).

    Its problems are methods: load("reference").softmax(x, dim=-1). Raises FileNotFoundError where
    there is no such library, ValueError where it is none or was not built here.
    """
    library, variant = _find(str(name))
    return Solution(str(name), library, variant)


def _find(name):
    shipped = home() / "lib/prenorm"
    is_path = re.fullmatch(r"(.*\.so(?:\.\d+)*)(?:/(\w+))?", name)
    if is_path:
        path, variant = Path(is_path[1]), is_path[2]
        if not path.exists():
            raise FileNotFoundError(f"no library {path}")
        return path.resolve(), variant
    word, _, variant = name.partition("/")
    absent = shipped / f"{word}.absent"
    path = shipped / f"libprenorm_{word}.so"
    if not path.exists():
        if absent.exists():
            raise ValueError(f"solution {word}: {absent.read_text().splitlines()[0]}")
        names = sorted(p.stem[len("libprenorm_"):] for p in shipped.glob("libprenorm_*.so"))
        raise FileNotFoundError(f"no solution {word}: {', '.join(names)}")
    return path, variant or None


_opened = {}  # a library's path: when it was last written. A process loads a library once.


class Solution:
    """A library of solved problems; load() opens one."""

    def __init__(self, name, library, variant):
        self.name, self.library, self.variant = name, library, variant
        written = library.stat().st_mtime_ns
        if _opened.setdefault(library, written) != written:
            raise Error(f"{library} was built anew since this kernel loaded it: restart the kernel")
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
        """The name of the function that it has for a problem, or None."""
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
def _parsed(signature):
    return json.loads(_ask("prenorm_python_signature", signature.encode()))


class Function:
    """A problem, as one solution has it: called with arrays and scalars, by the signature's order
    or by name; an optional tensor may be None or left out.

    Lists and numbers become float64 tensors. Raises ValueError with the harness's message where a
    call breaks the signature, Error with the solution's own where it refuses, NotImplementedError.
    """

    def __init__(self, solution, problem, signature, function):
        self.solution, self.problem, self.signature = solution, problem, signature
        self._function = function
        self.__doc__ = f"{problem} by {solution}:\n\n    {signature}"

    def __repr__(self):
        return f"<{self.problem} by {self.solution}: {self.signature}>"

    def __call__(self, *positional, **named):
        parsed = _parsed(self.signature)
        values = self.by_name(parsed, positional, named)
        inputs, in_kind = [], None
        for spec in parsed["inputs"]:
            value = values.get(spec["name"])
            if value is None:
                inputs.append(None)
                continue
            array = np.asarray(value)
            if _is_ml_bfloat16(array.dtype):
                in_kind = array.dtype
                array = array.view(np.uint16).view(bfloat16)
            array = _as_wanted(array, spec["dtype"])
            inputs.append(_Buffer(_known(array, spec["name"]), array.shape, array))
        outputs = [_Buffer(each["dtype"], tuple(each["shape"])) for each in json.loads(
            _ask("prenorm_python_outputs", self.signature.encode(), _pointers(inputs),
                 ctypes.c_int32(len(inputs))))]
        scalars = [_scalar(spec, values) for spec in parsed["scalars"]]
        self._run(inputs, scalars, outputs)
        arrays = [each.array for each in outputs]
        if in_kind is not None:
            arrays = [a.view(np.uint16).view(in_kind) if a.dtype == bfloat16 else a for a in arrays]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def by_name(self, parsed, positional, named):
        """The arguments of a call by their names. Raises TypeError for one that there is not."""
        names = [spec["name"] for spec in parsed["inputs"] + parsed["scalars"]]
        if len(positional) > len(names):
            raise TypeError(f"{self.problem} takes {', '.join(names)}: "
                            f"{len(positional)} arguments were given")
        values = dict(zip(names, positional))
        for name, value in named.items():
            if name not in names or name in values:
                what = "is given twice" if name in values else "is none of its arguments"
                raise TypeError(f"{self.problem}: {name} {what} ({', '.join(names)})")
            values[name] = value
        return values

    def _run(self, inputs, scalars, outputs):
        error = ctypes.create_string_buffer(4096)
        call = _Call(_pointers(inputs), len(inputs), len(scalars),
                     (_Scalar * max(1, len(scalars)))(*scalars), _pointers(outputs), len(outputs),
                     None, ctypes.cast(error, ctypes.c_char_p), len(error))
        status = self._function(ctypes.byref(call))
        message = error.value.decode(errors="replace")
        if status == NOT_IMPLEMENTED:
            raise NotImplementedError(f"{self.problem} by {self.solution}: not implemented")
        if status != OK:
            raise Error(message or f"{self.problem} by {self.solution} returned {status}")


def _known(array, name):
    dtype = dtype_name(array)
    if dtype not in _DLPACK_TYPES:
        raise ValueError(f"{name} has dtype {dtype}, wanted one of {', '.join(h5.DTYPES)}")
    return dtype


def _as_wanted(array, dtype):
    """Python's own numbers and NumPy's other integers as the type that a signature wants."""
    if dtype == "int64" and (array.dtype.kind in "iu" or not array.size):
        return array.astype(np.int64)
    if dtype == "T" and array.dtype.kind in "iu":
        return array.astype(np.float64)
    return array


def _scalar(spec, values):
    """The scalar of a call; None stands for the default."""
    name, kind = spec["name"], spec["kind"]
    value = spec.get("default") if values.get(name) is None else values[name]
    if value is None:
        raise TypeError(f"scalar {name} is missing, and has no default")
    wanted = {_INTEGER: numbers.Real, _FLOATING: numbers.Real, _BOOLEAN: (bool, np.bool_)}[kind]
    is_bool = isinstance(value, (bool, np.bool_))
    if not isinstance(value, wanted) or is_bool != (kind == _BOOLEAN):
        raise TypeError(f"scalar {name} is {value!r}, wanted {_KINDS[kind]}")
    if kind == _INTEGER and not (-2**63 <= value < 2**63 and int(value) == value):
        raise TypeError(f"scalar {name} is {value!r}, wanted {_KINDS[kind]}")
    if kind == _INTEGER:
        return _Scalar(kind, _Value(i=int(value)))
    return _Scalar(kind, _Value(b=int(value)) if kind == _BOOLEAN else _Value(f=float(value)))


# fixtures ----------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a fixture file. Arrays are of the type that the file gives them; `expected` is
    the exact answer, in float64."""
    problem: str
    name: str
    description: str
    dtype: str                # of the outputs: the T of the call; None for a case with an error
    error: str                # why a solution must refuse the inputs, or None
    inputs: dict              # name: array
    scalars: dict             # name: number, without defaults
    expected: dict            # name: float64 array; empty for a case with an error
    atol: dict                # name: float
    rtol: dict
    reason: dict              # name: how the tolerance came about

    @property
    def arguments(self):
        """All that a call is given, by name: reference.rmsnorm(**case.arguments)."""
        return {**self.inputs, **self.scalars}

    @property
    def y(self):
        """The only expected output. Raises ValueError where the case is to be refused."""
        if self.error:
            raise ValueError(f"{self.name} has no outputs, it is to be refused: {self.error}")
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


@functools.lru_cache(maxsize=64)
def _read(path, _changed):
    import h5py
    with h5py.File(path) as file:
        problem = file.attrs["problem"]
        cases = {name: _case(problem, name, group) for name, group in file["cases"].items()}
        return Fixture(problem, path, file.attrs["signature"], file.attrs.get("source", ""), cases)


def _case(problem, name, group):
    def tensor(dataset):
        array = to(*h5.read_tensor(dataset))
        array.flags.writeable = False  # a case is read once, and handed out many times
        return array

    def exact(dataset):
        array = h5.read_tensor(dataset)[0]
        array.flags.writeable = False
        return array

    told = dict(group.attrs)
    outputs = group.get("outputs", {})
    attributes = {key: dict(each.attrs) for key, each in outputs.items()}
    dtypes = [each["dtype"] for each in attributes.values()]
    words = {"description", "dims", "error"}
    return Case(problem, name, told.get("description", ""), dtypes[0] if dtypes else None,
                told.get("error"), {key: tensor(each) for key, each in group["inputs"].items()},
                {key: np.asarray(value).item() for key, value in told.items() if key not in words},
                {key: exact(each) for key, each in outputs.items()},
                {key: float(each.get("atol", 0)) for key, each in attributes.items()},
                {key: float(each.get("rtol", 0)) for key, each in attributes.items()},
                {key: each.get("reason", "") for key, each in attributes.items()})


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An output beside the expected one, element by element."""
    passes: np.ndarray        # bool
    ulps: np.ndarray          # |y - expected| in units in the last place; infinity for a wrong NaN
    error: np.ndarray         # y - expected, float64
    allowed: np.ndarray       # atol + rtol |expected|


def compare(actual, case):
    """Holds an output against a case's expected one by the harness's own rule: a Comparison.

    Raises ValueError where its shape or type is another.
    """
    actual = np.asarray(actual)
    if _is_ml_bfloat16(actual.dtype):
        actual = actual.view(np.uint16).view(bfloat16)
    expected = case.y
    ((name, _),) = case.expected.items()
    if actual.shape != expected.shape or dtype_name(actual) != case.dtype:
        raise ValueError(f"{name} is {dtype_name(actual)} {list(actual.shape)}, "
                         f"wanted {case.dtype} {list(expected.shape)}")
    passes, ulps = np.empty(expected.shape, np.uint8), np.empty(expected.shape)
    buffer = _Buffer(case.dtype, actual.shape, actual)
    expected = np.asarray(expected, order="C")
    _ask("prenorm_python_compare", ctypes.byref(buffer.tensor), expected.ctypes.data,
         case.atol[name], case.rtol[name], passes.ctypes.data, ulps.ctypes.data)
    with np.errstate(invalid="ignore"):
        error = widen(actual) - expected
        allowed = case.atol[name] + case.rtol[name] * np.abs(expected)
    return Comparison(passes.astype(bool), ulps, error, allowed)


# the program -------------------------------------------------------------------------------------

def run(*words, exit_codes=(0, 1, 3)):
    """Runs the program with these words; its standard output. Raises Error with what it said where
    it ends with another exit code (2: a word or a file that it cannot use)."""
    done = subprocess.run([str(home() / "bin/prenorm"), *map(str, words)], capture_output=True,
                          text=True, env={**os.environ, "PRENORM_HOME": str(home())})
    if done.returncode not in exit_codes:
        raise Error(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def verify(problem=None, *solutions, fixtures=None, options=()):
    """`prenorm verify --json`: a table (pandas.DataFrame) with a row for each case and solution.

    problem     a name or a glob; None: all
    solutions   names or paths; none: all that ship and can run here
    fixtures    a file or folder; None: those that ship
    options     further words, as on the command line
    """
    words = ["verify", "--json", "-", "--fixtures", fixtures or ROOT / "fixtures", *options]
    words += ["--problem", problem] if problem else []
    for solution in solutions:
        words += ["--solution", solution]
    return _table(json.loads(run(*words))["results"])


def _table(results):
    rows = []
    for result in results:
        row = {key: result[key] for key in
               ("problem", "case", "dtype", "solution", "status", "message", "seconds")}
        for output in result["outputs"]:
            row.update({key: _number(output[key]) for key in
                        ("max_abs_error", "max_ulp_error", "mismatches", "elements")})
        rows.append(row)
    return pandas.DataFrame(rows)


def _number(value):
    """A number of a report, where NaN and the infinities are strings, and nothing is null."""
    return float(value) if value is not None else float("nan")


def verdicts(problem, *solutions):
    """verify() in short: how many cases pass, a row for each dtype, a column for each solution.

    Cases that a solution is not given ("large for the emulator") are left out of its count. Cases
    that must be refused stand in a row of their own.
    """
    table = verify(problem, *solutions)
    table["dtype"] = table["dtype"].where(table["case"].map(_has_answer(problem)), "to be refused")
    counted = table[table.status != "SKIPPED"]
    rows = [*DTYPES, "to be refused"]
    columns = list(dict.fromkeys(table.solution))

    def cell(dtype, solution):
        part = counted[(counted.dtype == dtype) & (counted.solution == solution)]
        return f"{(part.status == 'PASSED').sum()}/{len(part)}" if len(part) else ""
    cells = pandas.DataFrame([[cell(row, column) for column in columns] for row in rows],
                             index=rows, columns=columns)
    return cells[(cells != "").any(axis=1)]


def _has_answer(problem):
    cases = fixture(problem).cases
    return lambda name: not cases[name].error


def mistakes(problem):
    """The known mistakes of a problem and how many cases of each dtype catch them: a table."""
    told = json.loads(run("mistakes", problem, "--json", "-", "--fixtures", ROOT / "fixtures"))
    rows = []
    for variant in told["variants"]:
        counts = {dtype: f"{len(cases['caught'])}/{len(cases['tried'])}"
                  for dtype, cases in variant["dtypes"].items()}
        caught = [name for cases in variant["dtypes"].values() for name in cases["caught"]]
        rows.append({"mistake": variant["name"],
                     **{dtype: counts.get(dtype, "-") for dtype in DTYPES},
                     "caught, for one, by": caught[0] if caught else "no case"})
    return pandas.DataFrame(rows).set_index("mistake")


def names_of_mistakes(problem):
    """The known mistakes of a problem, as load() takes them: ["mistakes/no_eps", ...]."""
    return _variants("mistakes", problem)


def names_of_honest(problem):
    """The honest variants of a problem, as load() takes them: ["honest/ascending", ...]."""
    return _variants("honest", problem)


def _variants(library, problem):
    listing = subprocess.run(["nm", "-D", "--defined-only", str(_find(library)[0])], check=True,
                             capture_output=True, text=True).stdout
    found = re.findall(rf"\bprenorm_{problem}__(\w+)", listing)
    return [f"{library}/{name}" for name in sorted(found)]


# a reader's own ----------------------------------------------------------------------------------

def grade(problem, function, dtypes=DTYPES):
    """Grades a Python function: calls it with every stored case that has an answer, and hands what
    it returns to `prenorm grade`, whose words are printed.

    The function takes the arguments of the signature by name, arrays of the case's dtype (bfloat16
    as prenorm.bfloat16); scalars that a case leaves out have the signature's default. It returns an
    array, which is rounded to the case's dtype. What it raises counts as no answer.

    Returns the share of these cases that passed.
    """
    dtypes = [dtypes] if isinstance(dtypes, str) else dtypes
    for dtype in dtypes:
        _require_dtype(dtype)
    cases = [case for dtype in dtypes for case in fixture(problem).of_dtype(dtype)]
    with tempfile.TemporaryDirectory(prefix="prenorm-") as folder:
        answered, complaints = _hand_in(problem, function, cases, Path(folder) / "yours")
        for complaint in complaints[:3]:
            print(complaint)
        if len(complaints) > 3:
            print(f"... and {len(complaints) - 3} more")
        if not answered:
            print(f"{problem}: 0 of {len(cases)} cases answered, there is nothing to grade yet")
            return 0.0
        report = Path(folder) / "report.json"
        words = ["grade", Path(folder) / "yours", "--rubric", "all", "--problem", problem,
                 "--no-hidden", "--no-color", "--fixtures", ROOT / "fixtures", "--json", report]
        for case in cases:  # not those that must be refused: stored answers cannot
            words += ["--case", case.name]
        print(_for_a_notebook(run(*words)))
        passed = {result["case"] for result in json.loads(report.read_text())["results"]
                  if result["status"] == "PASSED"}
    return sum(case.name in passed for case in cases) / len(cases)


def _hand_in(problem, function, cases, folder):
    """Writes the function's answers as a file of outputs; their number, and what went wrong."""
    import h5py
    parsed = _parsed(fixture(problem).signature)
    defaults = {spec["name"]: spec.get("default") for spec in parsed["scalars"]}
    defaults |= {spec["name"]: None for spec in parsed["inputs"] if spec["optional"]}
    folder.mkdir()
    answered, complaints = 0, []
    with h5py.File(folder / f"{problem}.h5", "w") as file:
        file.attrs["format"] = "prenorm-outputs"
        file.attrs["version"] = np.int64(1)
        file.attrs["problem"] = problem
        for case in cases:
            ((name, _),) = case.expected.items()
            try:
                with warnings.catch_warnings():  # some cases hold NaN and infinities on purpose
                    warnings.simplefilter("ignore")
                    values = function(**{**defaults, **case.arguments})
                if values is None:
                    raise NotImplementedError("it returned None")
                values = widen(values)
            except Exception as error:  # whatever it raises: the other cases go on
                complaints.append(f"{case.name}: {type(error).__name__}: {error}")
                continue
            group = file.create_group(f"cases/{case.name}/outputs")
            h5.write_tensor(group, name, values, case.dtype)
            answered += 1
    return answered, complaints


def _for_a_notebook(text):
    """The program's words without the commands that repeat a case: these outputs are not kept."""
    lines = [line for line in text.splitlines()
             if not line.lstrip().startswith("repeat:") and "this is no grade" not in line]
    return "\n".join(lines).strip()


def catches(problem, mistake, dtype="float32", **arguments):
    """Whether a case of your own catches a known mistake: True where the mistake fails it, and the
    reference and the textbook loop pass. Prints what `prenorm verify` says of the three.

    The arguments are those of the signature, by name; arrays are rounded to `dtype` where the
    signature has T. The truth is the reference's in float64, the tolerance `prenorm fixtures
    calibrate`'s.
    """
    _require_dtype(dtype)
    signature = fixture(problem).signature
    parsed = _parsed(signature)
    known = [name.removeprefix("mistakes/") for name in names_of_mistakes(problem)]
    if mistake not in known:
        raise ValueError(f"{problem} has no known mistake {mistake}: {', '.join(known)}")
    reference = getattr(load("reference"), problem)
    reference.by_name(parsed, (), arguments)
    with tempfile.TemporaryDirectory(prefix="prenorm-") as folder:
        path = Path(folder) / f"{problem}.h5"
        scalars = {}
        for spec in parsed["scalars"]:
            if arguments.get(spec["name"]) is not None:
                value = _scalar(spec, arguments).value
                scalars[spec["name"]] = value.f if spec["kind"] == _FLOATING else value.i
        with h5.create(path, problem, signature) as file:
            case = h5.add_case(file, "yours", scalars)
            exact = {}
            for spec in parsed["inputs"]:
                if arguments.get(spec["name"]) is None:
                    continue
                kind = dtype if spec["dtype"] == "T" else spec["dtype"]
                exact[spec["name"]] = h5.add_input(case, spec["name"],
                                                   widen(arguments[spec["name"]]), kind)
            truth = reference(**exact, **scalars)
            h5.add_output(case, parsed["outputs"][0]["name"], widen(truth), dtype)
        run("fixtures", "calibrate", path, "--no-color")
        solutions = ["reference", "plain", f"mistakes/{mistake}"]
        table = verify(problem, *solutions, fixtures=path).set_index("solution")
    for solution in solutions:
        print(f"{solution:<24} {table.status[solution]}")
        if table.message[solution]:
            print(f"    {table.message[solution]}")
    return (table.status["reference"] == table.status["plain"] == "PASSED"
            and table.status[solutions[-1]] != "PASSED")
