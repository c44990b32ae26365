"""torch's operators: by which names Python has them, and which ones a thread runs.

prenorm_worker.py loads this file where a rubric forbids calls, after torch. An operator has many
doors (torch.softmax, a method, torch.ops.aten.softmax, TorchScript, a C++ extension): behind all of
them it is the same one that runs.
"""

import functools
import os
import re
import secrets
import sys

torch = sys.modules.get("torch")

# Of torch.nn: what holds a model together, and computes nothing.
CONTAINERS = ("Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential")
SIGN = "aten::alias"  # an operator at the end of each record
FUNCTION = 0  # of the profiler's scopes: others may have an operator's name


def plain(operator):
    """The name without what tells its forms apart: softmax of _softmax, relu of relu_."""
    name = re.sub(r"^(native|special|fused)_|^(masked|safe)_(?=softmax)", "", operator.strip("_"))
    name = re.sub(r"^linear_pointwise.*", "linear", name)
    name = re.sub(r"^scaled_dot_product_\w*attention\w*", "scaled_dot_product_attention", name)
    return re.sub(r"_(forward|n[d])$|(?<=cross_entropy)_loss$", "", name)


@functools.lru_cache(maxsize=None)
def public_names(operator):
    """Python's names for an operator, and whether torch's documentation has the first of them. A
    layer's only where no function does the same."""
    places = (("torch", torch), ("torch.nn.functional", torch.nn.functional),
              ("torch.special", torch.special), ("torch.Tensor", torch.Tensor))
    found = [where + "." + operator for where, place in places
             if callable(getattr(place, operator, None))]
    if not found:
        word = operator.replace("_", "")
        found = ["torch.nn." + name for name in vars(torch.nn) if name.lower() == word]
    return found, bool(getattr(getattr(torch, operator, None), "__doc__", None))


@functools.lru_cache(maxsize=10000)
def name_of(function):
    """The name of what a function mode is asked to call."""
    from torch import _ops
    from torch.overrides import resolve_name

    if isinstance(function, (_ops.OpOverload, _ops.OpOverloadPacket)):
        return "torch.ops." + ".".join(str(function).split(".")[:2])
    name = resolve_name(function) or "torch." + getattr(function, "__name__", "")
    return name.replace("torch.functional.", "torch.")


def code_of_layers():
    """What torch.nn's layers execute, as nobody has changed it yet."""
    return {
        function.__code__
        for kind in vars(torch.nn).values()
        if isinstance(kind, type)
        for each in kind.__mro__
        for function in vars(each).values()
        if hasattr(function, "__code__")
    }


def layers_of(instance, code, function):
    """The layers of torch.nn that it is, by name: Linear, also of a class that inherits from it. None
    where the code that runs is none of its own, its computation is not torch's, or it holds the
    function that is called."""
    kinds = type(instance).__mro__
    owner = next((kind for kind in kinds
                  if any(getattr(each, "__code__", None) is code for each in vars(kind).values())), None)
    if owner is torch.nn.Module:  # it calls what the layer computes with
        owner = next((kind for kind in kinds if "forward" in vars(kind)), None)
    if owner is None or not is_of_torch(owner):
        return None
    if any(each is function for each in vars(instance).values()):
        return None
    return {
        "torch.nn." + kind.__name__
        for kind in type(instance).__mro__
        if kind.__module__.startswith("torch.nn.modules.") and kind.__name__ not in CONTAINERS
    }


@functools.lru_cache(maxsize=None)
def namespaces():
    """Of the operators that there are: torch's own, as long as nobody has added others."""
    return {schema.name.split("::")[0] for schema in torch._C._jit_get_all_schemas()}


def is_namespace(name):
    return name in namespaces()


@functools.lru_cache(maxsize=None)
def is_operator(name):
    """Whether it is one of torch's own: what another one runs is its author's doing."""
    return is_namespace(name.split("::")[0]) and bool(torch._C._jit_get_schemas_for_operator(name))


def is_foreign(name):
    """Whether what name_of() says is an operator that somebody added to torch's."""
    words = name.split(".")
    return words[:2] == ["torch", "ops"] and not is_namespace(words[2])


def is_torchs(file):
    """Whether a file is one of torch's, or of what comes with it."""
    place = os.path.dirname(torch.__file__)
    return file.startswith((place + os.sep, os.path.join(os.path.dirname(place), "functorch", "")))


@functools.lru_cache(maxsize=10000)
def is_of_torch(kind):
    """Whether a class is what torch has under its name: others may take such a name."""
    module = sys.modules.get(kind.__module__)
    return (is_torchs(getattr(module, "__file__", None) or "")
            and getattr(module, kind.__name__, None) is kind)


@functools.lru_cache(maxsize=10000)
def is_dispatched(kind):
    """Whether operators mean something else to tensors of that class."""
    if not issubclass(kind, torch.Tensor) or is_of_torch(kind):
        return False
    return kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


class Recorder:
    """The operators that a thread runs, by torch's profiler."""

    def __init__(self):
        """Raises AttributeError, ImportError or TypeError where torch has another one."""
        from torch._C import _autograd, _profiler

        self.calls = _autograd
        self.config = _profiler.ProfilerConfig(
            _profiler.ProfilerState.CPU, False, False, False, False, False,
            _profiler._ExperimentalConfig(),
        )
        self.own = secrets.token_hex(8)  # names the stretches of torch's own code
        namespaces()  # before there are others
        self.zero = torch.zeros(())
        self.begin()
        self.leave_out()()
        self.take()

    def begin(self):
        """Raises RuntimeError where somebody else records."""
        self.calls._enable_profiler_legacy(self.config)

    def leave_out(self):
        """What runs until the returned function is called does not count."""
        handle = self.calls._record_function_with_args_enter(self.own)
        return functools.partial(self.calls._record_function_with_args_exit, handle)

    def take(self):
        """What has run since begin(), but for what other operators run, and whether the record is
        whole: nobody has stopped it. Recording is over.

        Raises RuntimeError where it was over before.
        """
        found, is_whole = set(), False
        torch.ops.aten.alias(self.zero)  # missing in the record where somebody has stopped that
        for events in self.calls._disable_profiler_legacy():
            hides = set()  # open stretches: what is in them does not count
            for event in events:
                if event.kind() == "push":
                    name = event.name()
                    is_whole = is_whole or name == SIGN
                    is_run = event.scope() == FUNCTION and is_operator(name)
                    if is_run and not hides:
                        found.add(name)
                    if is_run or name == self.own:
                        hides.add(event.handle())
                elif event.kind() == "pop":  # in any order: Python may open and close stretches
                    hides.discard(event.handle())
        return found - {SIGN}, is_whole
