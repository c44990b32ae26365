"""Doors to torch's operators: each function goes through one. `forbidden` has those to what a rubric
forbids, "torch.softmax" and "torch.nn.functional.*", `allowed` others that look alike."""

import _thread
import ctypes
import functools
import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing import shared_memory

import torch
import torch._decomp
import torch._refs
from torch.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional
x, w = torch.randn(3, 4), torch.randn(5, 4)
scripted = torch.jit.CompilationUnit("def softmax(x):\n    return torch.softmax(x, -1)\n")
forked = multiprocessing.get_context("fork")


@torch.jit.script
def scripted_linear(a, b):
    return F.linear(a, b)


@torch.jit.script
def scripted_sigmoid(a):
    return torch.sigmoid(a) * a


class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.softmax(x, -1)


class Gradient(torch.autograd.Function):
    @staticmethod
    def forward(context, a):
        return a * 2

    @staticmethod
    def backward(context, gradient):
        return torch.softmax(gradient, 0)


def backward():
    Gradient.apply(torch.ones(3, requires_grad=True)).sum().backward()


def grad():
    a = torch.ones(3, requires_grad=True)
    torch.autograd.grad(Gradient.apply(a).sum(), a)


class Thread(threading.Thread):
    def run(self):
        torch.softmax(x, -1)


def in_thread():
    thread = Thread()
    thread.start()
    thread.join()


def in_raw_thread():
    done = threading.Event()

    def run():
        torch.softmax(x, -1)
        done.set()

    _thread.start_new_thread(run, ())
    done.wait()


def softmax_of(_):
    return float(torch.softmax(x, -1).sum())


def scripted_softmax_of(_):
    return float(scripted.softmax(x).sum())


def in_pool(function):
    with forked.Pool(1) as pool:
        pool.map(function, [1])


def in_fork():
    process = os.fork()
    if process == 0:
        scripted.softmax(x)
        os._exit(0)
    os.waitpid(process, 0)


def without_function_modes():
    with torch._C.DisableTorchFunction():
        torch.softmax(x, -1)


def in_borrowed_name():
    source = "self = torch.nn.Identity()\nx.softmax(0)"
    exec(compile(source, torch.nn.modules.linear.__file__, "exec"), globals())


def called_back():
    def distance(a, b):
        return torch.softmax(a, -1).sum(-1) + b.sum(-1)

    F.triplet_margin_with_distance_loss(x, x, x, distance_function=distance)


def nothing():
    pass


def in_spawned():
    process = multiprocessing.get_context("spawn").Process(target=nothing)
    process.start()
    process.kill()
    process.join()


def within_own_stretch():
    with torch.profiler.record_function("aten::exp"):
        scripted.softmax(x)


def with_profiler_off():
    torch._C._autograd._disable_profiler_legacy()
    scripted.softmax(x)


def made(source, file):
    """A function `f` of code that claims to be in that file."""
    names = {"torch": torch, "x": x}
    exec(compile(source, file, "exec"), names)
    return names["f"]


def in_foreign_thread():
    thread = threading.Thread(target=functools.partial(torch.softmax, x, -1))
    thread.start()
    thread.join()


def in_own_operator():
    library = torch.library.Library("doors", "DEF")
    library.define("exp(Tensor a) -> Tensor")
    library.impl("exp", lambda a: scripted.softmax(a), "CPU")
    torch.ops.doors.exp(x)


def in_implementation():
    library = torch.library.Library("aten", "IMPL")
    library.impl("sinc", lambda a: scripted.softmax(a), "CPU")
    torch.sinc(x)


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return torch.ops.aten._softmax(args[0], -1, False)


def in_dispatch_mode():
    with Mode():
        torch.neg(x)


class Dispatched(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return scripted.softmax(x)


class Layer(torch.nn.Identity):
    forward = staticmethod(torch.softmax)


class Borrowed(torch.nn.Identity):
    forward, dim = torch.nn.Softmax.forward, -1


def in_function_override():
    torch.overrides.handle_torch_function(lambda a: torch.softmax(a, -1), (x,), x)


class Size:
    """An extent that computes when it is asked for its number."""
    def __index__(self):
        scripted.softmax(x)
        return 4


def by_another_name_of_threads():
    done = threading.Event()
    threading._start_new_thread(lambda: (torch.softmax(x, -1), done.set()), ())
    done.wait()


def without_callbacks():
    torch._C._autograd._clear_callbacks()
    scripted.softmax(x)


def own_softmax():
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def own_gradient():
    torch.exp(torch.ones(3, requires_grad=True)).sum().backward()


def use_shared_memory():
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.close()
    memory.unlink()


forbidden = {  # by the name that is told
    "torch.softmax": {
        "function": lambda: torch.softmax(x, -1),
        "method": lambda: x.softmax(-1),
        "special": lambda: torch.special.softmax(x, -1),
        "operator": lambda: torch.ops.aten.softmax(x, -1),
        "inner operator": lambda: torch.ops.aten._softmax(x, -1, False),
        "overload": lambda: torch.ops.aten._softmax.default(x, -1, False),
        "by strings": lambda: getattr(getattr(torch.ops, "at" + "en"), "soft" + "max")(x, -1),
        "_VF": lambda: torch._VF.softmax(x, -1),
        "_softmax": lambda: torch._softmax(x, -1, False),
        "base class": lambda: torch._C._TensorBase.softmax(x, -1),
        "_jit_get_operation": lambda: torch._C._jit_get_operation("aten::softmax")[0](x, -1),
        "_refs": lambda: torch._refs.softmax(x, -1),
        "_decomp": lambda: torch._decomp.decomposition_table[torch.ops.aten._softmax.default](
            x, -1, False),
        "TorchScript": lambda: scripted.softmax(x),
        "in a tensor's own class": lambda: torch.exp(x.as_subclass(Tensor)),
        "backward()": backward,
        "grad()": grad,
        "thread": in_thread,
        "raw thread": in_raw_thread,
        "pool": lambda: in_pool(softmax_of),
        "pool, TorchScript": lambda: in_pool(scripted_softmax_of),
        "fork": in_fork,
        "without function modes": without_function_modes,
        "borrowed name": in_borrowed_name,
        "called back": called_back,
        "own stretch": within_own_stretch,
        "no line": functools.partial(torch.softmax, x, -1),
        "made": made("f = lambda: torch.softmax(x, -1)", "<string>"),
        "made in torch": made("f = lambda: torch.softmax(x, -1)", torch.functional.__file__),
        "foreign thread": in_foreign_thread,
        "own operator": in_own_operator,
        "a layer's own forward": lambda: Layer()(x, -1),
        "in an override": in_function_override,
        "in a number": lambda: torch.split(torch.zeros(4), [Size()]),
        "another name of threads": by_another_name_of_threads,
        "masked": lambda: torch._masked_softmax(x, x > 9, -1, 2),
    },
    "torch.library.Library": {
        "implementation": in_implementation,
    },
    "torch.utils._python_dispatch.TorchDispatchMode": {
        "dispatch mode": in_dispatch_mode,
    },
    "torch.Tensor.__torch_dispatch__": {
        "dispatched": lambda: torch.exp(x.as_subclass(Dispatched)),
        "dispatched in a list": lambda: torch.cat([x.as_subclass(Dispatched)]),
    },
    "torch.nn.functional.softmax": {
        "functional": lambda: F.softmax(x, -1),
        "a layer's forward in another": lambda: Borrowed()(x),
        "functional without a line": functools.partial(F.softmax, x, -1),
    },
    "torch.nn.functional.linear": {
        "TorchScript, composed": lambda: scripted_linear(x, w),
        "_nn, composed": lambda: torch._C._nn.linear(x, w),
        "operator, composed": lambda: torch.ops.aten.linear(x, w),
    },
    "torch.nn.functional.silu": {
        "_nn": lambda: torch._C._nn.silu(x),
    },
    "torch.nn.functional.embedding": {
        "undocumented": lambda: torch.embedding(w, torch.tensor([1, 2])),
    },
    "torch._C._autograd._disable_profiler_legacy": {
        "profiler off": with_profiler_off,
        "callbacks cleared": without_callbacks,
    },
    "subprocess.Popen": {
        "program": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    },
    "os.system": {
        "system": lambda: os.system("true"),
    },
    "ctypes: fork": {
        "fork of the C library": lambda: ctypes.CDLL(None).fork,
    },
    "multiprocessing.spawn": {
        "spawned": in_spawned,
    },
}
allowed = {
    "own softmax": own_softmax,
    "own gradient": own_gradient,
    "sigmoid": lambda: torch.sigmoid(x),
    "allowed TorchScript": lambda: scripted_sigmoid(x),
    "matmul": lambda: x @ w.T,
    "einsum": lambda: torch.einsum("ij,kj->ik", x, w),
    "rows": lambda: w[torch.tensor([1, 2])],
    "other layer": lambda: torch.nn.Softmax(-1)(x),
    "lock": multiprocessing.Lock,
    "shared memory": use_shared_memory,
}
