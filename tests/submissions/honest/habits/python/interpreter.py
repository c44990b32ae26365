"""What Python itself offers: functions, threads, output, the end of the process, help with mistakes."""

import atexit
import cProfile
import contextlib
import ctypes
import ctypes.util
import dataclasses
import enum
import faulthandler
import functools
import gc
import importlib
import io
import itertools
import os
import pstats
import sys
import tempfile
import threading
import tracemalloc
import typing
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
from layers import silu


class _Kind(enum.Enum):
    SILU = "silu"


@dataclasses.dataclass(frozen=True)
class _Config:
    kind: _Kind = _Kind.SILU
    rows: typing.Optional[int] = 2


@functools.lru_cache(maxsize=None)
def _activation(config):
    return {_Kind.SILU: functools.partial(silu)}[config.kind]


@functools.singledispatch
def _apply(x):
    raise TypeError(type(x))


@_apply.register
def _(x: np.ndarray):
    return _activation(_Config())(x)


def functions(x):
    """What Python offers to write functions: caches, dispatch, data classes, enumerations, generators."""
    rows = (x[i] for i in itertools.count())
    return np.stack([_apply(np.asarray(row)) for row in itertools.islice(rows, len(x))])


def c_library():
    """Functions of the C library, by ctypes."""
    libc, libm = ctypes.CDLL(None), ctypes.CDLL(ctypes.util.find_library("m"))
    libm.expf.restype, libm.expf.argtypes = ctypes.c_float, [ctypes.c_float]
    pointer = ctypes.POINTER(ctypes.c_int)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)

    def run(x):
        numbers = (ctypes.c_int * 3)(3, 1, 2)
        libc.qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
        assert list(numbers) == [1, 2, 3]
        assert libm.expf(0.0) == 1
        return silu(x) * np.float32(numbers[0])

    return run


def missing_modules():
    """Modules that most machines lack, with something else in their place."""
    try:
        from no_such_progress_bar import tqdm
    except ImportError:
        def tqdm(values, **_):
            return values

    try:
        importlib.import_module("no_such_tracker")
    except ModuleNotFoundError:
        pass

    def run(x):
        for _ in tqdm(range(2), desc="calls"):
            y = silu(x)
        return y

    return run


def deep_recursion():
    """A recursion that is deeper than Python's usual limit, in a thread with a larger stack."""
    sys.setrecursionlimit(100_000)
    threading.stack_size(256 << 20)

    def depth(count):
        return 0 if count == 0 else 1 + depth(count - 1)

    def run(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(depth(20_000)))
        thread.start()
        thread.join()
        assert found == [20_000]
        return silu(x)

    return run


def diagnostics():
    """What one turns on to find a mistake: faulthandler, tracemalloc, warnings, gc, a profiler."""
    faulthandler.enable()
    tracemalloc.start()
    warnings.simplefilter("error")
    np.seterr(invalid="raise")

    def run(x):
        faulthandler.dump_traceback_later(60, exit=True)
        with cProfile.Profile() as profile:
            y = silu(x)
        text = io.StringIO()
        pstats.Stats(profile, stream=text).print_stats()
        assert "silu" in text.getvalue()
        faulthandler.cancel_dump_traceback_later()
        assert tracemalloc.get_traced_memory()[1] > 0 and gc.collect() >= 0
        return y

    return run


class _Model:
    pass


def at_exit():
    """Work is done when the process ends: a summary is written."""
    global _model
    calls = []
    _model = _Model()
    weakref.finalize(_model, calls.append, "model")

    @atexit.register
    def summary():
        with open("summary.txt", "w") as file:
            file.write(f"{len(calls)} calls\n")

    def run(x):
        calls.append(x.shape)
        return silu(x)

    return run


def threads():
    """Threads that are joined, and one in the background that never ends."""
    calls, seen = threading.Condition(), []

    def count():
        while True:
            with calls:
                calls.wait()
                seen.append(1)

    threading.Thread(target=count, daemon=True).start()

    def run(x):
        y = np.empty_like(x)
        each = [threading.Thread(target=lambda i=i: y.__setitem__(i, silu(x[i])))
                for i in range(len(x))][:20]
        for thread in each:
            thread.start()
        for thread in each:
            thread.join()
        y[20:] = silu(x[20:])
        with calls:
            calls.notify()
        return y

    return run


def thread_executor():
    """ThreadPoolExecutor of concurrent.futures, kept for all calls, and multiprocessing's ThreadPool."""
    executor = ThreadPoolExecutor()

    def run(x):
        with ThreadPool(2) as pool:
            negated = pool.map(np.negative, np.array_split(x, 4))
        return np.concatenate(list(executor.map(lambda part: silu(-part), negated)))

    return run


def much_output():
    """Much is printed, to both streams, by Python and past it."""
    print("loading", "." * 100_000)

    def run(x):
        for line in range(2000):
            print("line", line, "of", x.shape, flush=line % 100 == 0)
            print("warning", line, file=sys.stderr)
        os.write(1, b"past the buffers\n" * 100)
        sys.stdout.flush()
        return silu(x)

    return run


def captured_output(x):
    """What is printed is caught, by Python and by descriptor."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print("silu")
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.system("echo of x")
        os.dup2(kept, 1)
        os.close(kept)
        file.seek(0)
        assert (text.getvalue(), file.read()) == ("silu\n", b"of x\n")
    assert sys.stdin is None or sys.stdin.read() == ""
    return silu(x)
