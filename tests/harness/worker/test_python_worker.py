# slow labels: unit
"""The worker for Python submissions, spoken to by its protocol: no program, no sandbox."""

import json
import signal
import struct
import zipfile

import numpy as np
import pytest

from conftest import slow_but
from python_worker import (ABSENT, DTYPES, ERROR, MODES, NOT_IMPLEMENTED, OK, ONE, ONE_OUT,
                           OTHER_DTYPE, OTHER_SHAPE, OUT_OF_MEMORY, RETURNED, TAKES_X,
                           UNREADABLE_CODE, VERSION, Array, Worker, answers, argument, run, start,
                           takes, write)


# To start a worker with PyTorch takes seconds: the quick tier does so in one test.
@pytest.fixture(params=[pytest.param("torch", marks=pytest.mark.slow), "numpy"])
def mode(request):
    pytest.importorskip("torch" if request.param == "torch" else "numpy")
    return request.param


# Tensors, in and out.


@pytest.mark.parametrize("mode", MODES, indirect=True)
def test_every_type_and_shape_goes_through(tmp_path, mode):
    with start(tmp_path, "def run(x): return x", mode=mode) as worker:
        shapes = [[[-3, 0, 1.5], [2, 7, 9]], np.ones(()), np.ones((0,)), np.ones((2, 0, 3))]
        for dtype in DTYPES:
            for values in shapes:
                x = Array(dtype, np.not_equal(values, 0) if dtype == "bool" else values)
                answer = run(worker, x, [(dtype, x.shape)])
                assert (answer.how, answer.code, answer.message) == (RETURNED, OK, "")
                assert answer.mutated == []
                assert answer.outputs[0].bytes == x.bytes
                assert answer.seconds > 0


def test_what_a_function_is_given(tmp_path, mode):
    source = """
        def run(x, count, rate, flag, absent, constant):
            kinds = [type(v).__name__ for v in (count, rate, flag, absent, constant)]
            raise ValueError(f"{type(x).__module__} {x.dtype} {kinds} {count} {rate} {flag}")
        """
    adapters = takes(*(argument(name, scalar=i) for i, name in enumerate(("count", "rate", "flag"))),
                     argument("absent", input=1), argument("constant", constant=0.5))
    with start(tmp_path, source, adapters, mode) as worker:
        x = Array("bfloat16", [1.0])
        answer = run(worker, [x, None], [("float32", [1])], [-3, 0.25, True])
        seen = {"torch": "torch torch.bfloat16", "numpy": "numpy float32"}[mode]
        kinds = "['int', 'float', 'bool', 'NoneType', 'float']"
        assert answer.message.startswith(f"ValueError: {seen} {kinds} -3 0.25 True")


def test_dimensions_dictionaries_blocks_and_inverted_masks(tmp_path, mode):
    source = """
        def run(d, weights, mask):
            assert list(weights) == ["all", "head.0", "head.1"], list(weights)
            assert mask.tolist() == [True, False]
            return (weights["head.1"] - weights["head.0"]) * d
        """
    weights = [argument("all", input=0), argument("head.{N}", input=0, blocks={"scalar": 0})]
    arguments = [argument("d", dimension=[0, -1]), argument("weights", dict=weights),
                 argument("mask", input=1, **{"not": True})]
    adapters = {"problem": {"function": "run", "arguments": arguments}}
    inputs = [Array("float64", np.arange(12).reshape(4, 3)), Array("bool", [False, True])]
    with start(tmp_path, source, adapters, mode) as worker:
        answer = run(worker, inputs, [("float64", [2, 3])], [2])
        assert (answer.code, answer.message) == (OK, "")
        assert answer.outputs[0].values().tolist() == [[18.0] * 3] * 2
        answer = run(worker, [inputs[0], None], [("float64", [2, 3])], [2])
        assert "'NoneType' object has no attribute 'tolist'" in answer.message


def test_a_stacked_tensor_goes_in_slices(tmp_path, mode):
    source = """
        def run(count, weights):
            assert list(weights) == ["last", *(f"layers.{n}.w" for n in range(count))], list(weights)
            for n in range(count):
                assert weights[f"layers.{n}.w"].shape == (3, 2)
            return sum((10**n * weights[f"layers.{n}.w"] for n in range(count)), 0 * weights["last"])
        """
    weights = [argument("last", input=1), argument("layers.{N}.w", input=0, slices=True)]
    arguments = [argument("count", dimension=[0, -3]), argument("weights", dict=weights)]
    adapters = {"problem": {"function": "run", "arguments": arguments}}
    last = Array("float64", np.ones((3, 2)))
    with start(tmp_path, source, adapters, mode) as worker:
        for count in (2, 1, 0):
            stacked = np.arange(count * 6).reshape(count, 3, 2)
            answer = run(worker, [Array("float64", stacked), last], [("float64", [3, 2])])
            assert (answer.code, answer.message) == (OK, "")
            wanted = np.tensordot(10.0 ** np.arange(count), stacked, 1)
            assert (answer.outputs[0].values() == wanted).all()


def test_batch_axes_are_folded_into_one(tmp_path, mode):
    source = """
        def run(x):
            batch, length, width = x.shape
            if length == 7: return x[:, :3]
            return x * 2
        """
    with start(tmp_path, source, takes(fold={"input": 0, "dims": 2}), mode) as worker:
        for batch in ([], [4], [2, 1, 3], [0], [0, 2]):
            x = Array("float32", np.arange(int(np.prod(batch)) * 15).reshape(batch + [5, 3]))
            answer = run(worker, x, [("float32", batch + [5, 3])])
            assert (answer.how, answer.code) == (RETURNED, OK), answer.message + answer.what
            assert (answer.outputs[0].values() == 2 * x.values()).all()
        answer = run(worker, Array("float32", np.ones((2, 2, 7, 3))), [("float32", [2, 2, 7, 3])])
        assert (answer.how, answer.what) == (OTHER_SHAPE, "returned [4, 3, 3], wanted [4, 7, 3]")


def test_other_names_are_given_by_order(tmp_path, mode):
    adapters = takes(argument("dim", scalar=0))
    wrapped = """
        def any_names(function):
            def call(*values, **names):
                return function(*values, **names)
            return call

        run = any_names(lambda features, axis: features + axis)
        """
    sources = ["def run(features, axis): return features + axis", f"from {mode} import add as run",
               wrapped]
    for number, source in enumerate(sources):
        with start(tmp_path / str(number), source, adapters, mode) as worker:
            answer = run(worker, Array("float32", [1.0, 2.0]), [("float32", [2])], [3])
            assert answer.outputs[0].values().tolist() == [4.0, 5.0], answer.message


RESULTS = """
    import numpy
    import torch


    class Mine(torch.Tensor):
        pass


    class Lazy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            with torch._C.DisableTorchFunction():
                return function(*arguments, **(keywords or {}))


    kinds = [
        lambda x: x.T,
        lambda x: torch.nn.Parameter(x.T),
        lambda x: torch.ones(1, requires_grad=True) * x.T,
        lambda x: x.T.as_subclass(Mine),
        lambda x: x.T.as_subclass(Lazy),
        lambda x: torch.complex(x, -x).conj().imag.T,
        lambda x: numpy.asarray(x.T, order="F"),
        lambda x: numpy.asarray(x.T).astype(">f4"),
        lambda x: numpy.matrix(x.T),
    ]


    def run(x, kind):
        return kinds[kind](x)
    """


def test_results_of_many_kinds(tmp_path):
    pytest.importorskip("torch")
    with start(tmp_path, RESULTS, takes(argument("kind", scalar=0)), "torch") as worker:
        for kind in range(9):
            x = Array("float32", np.arange(6).reshape(2, 3))
            answer = run(worker, x, [("float32", [3, 2])], [kind])
            assert (answer.how, answer.code, answer.message) == (RETURNED, OK, ""), kind
            assert (answer.outputs[0].values() == x.values().T).all(), kind


def test_numbers_where_there_are_no_axes(tmp_path, mode):
    source = "import numpy\ndef run(x): return [1.5, 2, numpy.float32(2.5)][int(x)]"
    with start(tmp_path, source, mode=mode) as worker:
        for which, value in enumerate((1.5, 2.0, 2.5)):
            answer = run(worker, Array("float32", float(which)), [("float32", [])])
            assert (answer.how, answer.outputs[0].values()) == (RETURNED, value), answer.what
        answer = run(worker, Array("float32", 0.0), [("bfloat16", [])])
        assert (answer.how, answer.outputs[0].values()) == (RETURNED, 1.5)
        answer = run(worker, Array("float32", 0.0), [("float32", [1])])
        assert (answer.how, answer.what) == (
            OTHER_SHAPE, "returned an object of type float, wanted a tensor [1]")


def test_wrong_shapes_and_types(tmp_path, mode):
    source = """
        def run(x):
            return [x[:1], x > 1, None, [1.0, 2.0], (x, x)][int(x[0])]
        """
    wanted = [
        (OTHER_SHAPE, "returned [1], wanted [2]"),
        (OTHER_DTYPE, "returned bool, wanted float32"),
        (OTHER_SHAPE, "returned None, wanted a tensor [2]"),
        (OTHER_SHAPE, "returned an object of type list, wanted a tensor [2]"),
        (OTHER_SHAPE, "returned an object of type tuple, wanted a tensor [2]"),
    ]
    with start(tmp_path, source, mode=mode) as worker:
        for which, (how, what) in enumerate(wanted):
            answer = run(worker, Array("float32", [which, 5]), [("float32", [2])])
            assert (answer.how, answer.what) == (how, what)
            assert answer.outputs[0].bytes == b"\x77" * 8  # nothing was written
        answer = run(worker, Array("float64", [4.0, 5.0]), [("float64", [2]), ("float64", [2])])
        assert [y.values().tolist() for y in answer.outputs] == [[4.0, 5.0]] * 2
        answer = run(worker, Array("float64", [4.0, 5.0]), [("float64", [2])] * 3)
        assert (answer.how, answer.what) == (OTHER_SHAPE, "returned 2 results, wanted 3")


def test_overwritten_inputs_are_seen(tmp_path, mode):
    with start(tmp_path, "def run(x):\n    x += 1\n    return x", mode=mode) as worker:
        answer = run(worker, Array("float32", [1.0, 2.0]), [("float32", [2])])
        assert answer.mutated == [0]
        assert answer.outputs[0].values().tolist() == [2.0, 3.0]


def test_bfloat16_without_torch_is_rounded_once(tmp_path):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 32, 20000, dtype=np.uint32)
    ties = (random.integers(0, 1 << 16, 2000, dtype=np.uint32) << 16) + 0x8000
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.4e38, 1e-45], np.float32)
    values = np.concatenate([bits.view(np.float32), ties.view(np.float32), special])
    with start(tmp_path, "def run(x): return x") as worker:
        answer = run(worker, Array("float32", values), [("bfloat16", [len(values)])])
        got = np.frombuffer(answer.outputs[0].bytes, np.uint16)
        wanted = torch.from_numpy(values).bfloat16().view(torch.int16).numpy().view(np.uint16)
        numbers = ~np.isnan(values)
        assert (got[numbers] == wanted[numbers]).all()
        assert np.isnan(answer.outputs[0].values()[~numbers]).all()
        answer = run(worker, Array("float64", [1.0]), [("bfloat16", [1])])
        assert (answer.how, answer.what) == (OTHER_DTYPE, "returned float64, wanted float32")


# What functions raise.

RAISED = {
    "raise ValueError('no\\n  good')": (ERROR, "ValueError: no good (adapters.py:2)"),
    "return x[1000]": (ERROR, "IndexError: "),
    "raise SystemExit(3)": (ERROR, "SystemExit: 3 (adapters.py:2)"),
    "import sys; sys.exit()": (ERROR, "SystemExit (adapters.py:2)"),
    "raise KeyboardInterrupt": (ERROR, "KeyboardInterrupt (adapters.py:2)"),
    "raise NotImplementedError": (NOT_IMPLEMENTED, "NotImplementedError (adapters.py:2)"),
    "raise NotImplementedError('next week')": (NOT_IMPLEMENTED, "NotImplementedError: next week"),
    "run(x)": (ERROR, "RecursionError: maximum recursion depth exceeded"),
    "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})": (
        ERROR, "Odd (adapters.py:2)"),
}


@pytest.mark.parametrize("statement", RAISED)
def test_exceptions_are_told(tmp_path, statement):
    with start(tmp_path, f"def run(x):\n    {statement}\n") as worker:
        answer = run(worker, Array("float32", [1.0, 2.0]), [("float32", [2])])
        code, message = RAISED[statement]
        assert (answer.how, answer.code) == (RETURNED, code)
        assert answer.message.startswith(message)


def test_the_line_is_that_of_the_submission(tmp_path):
    files = {
        "pyproject.toml": "",
        "parts/__init__.py": "",
        "parts/deep.py": "import json\n\ndef fail(x):\n    return json.loads('{')\n",
        "tests/adapters.py": "from parts.deep import fail\n\ndef run(x):\n    return fail(x)\n",
    }
    with start(tmp_path, files) as worker:
        answer = run(worker, ONE, ONE_OUT)
        assert answer.message.startswith("JSONDecodeError: ")
        assert answer.message.endswith(" (parts/deep.py:4)")


def test_long_messages_are_cut(tmp_path):
    with start(tmp_path, "def run(x): raise ValueError('ä' * 100000)") as worker:
        answer = run(worker, ONE, ONE_OUT)
        assert answer.message.startswith("ValueError: äää")
        assert len(answer.message.encode()) <= 1023


def test_memory_that_runs_out(tmp_path, mode):
    many = {"torch": "torch.ones(1 << 33)", "numpy": "numpy.ones(1 << 33)"}[mode]
    source = f"""
        import {mode}
        def run(x):
            if x[0] == 1: raise MemoryError("enough")
            if x[0] == 2: return {many}
            return x
        """
    with start(tmp_path, source, mode=mode, memory=1 << 30) as worker:
        assert run(worker, ONE, ONE_OUT).how == OUT_OF_MEMORY
        answer = run(worker, Array("float32", [2.0]), [("float32", [1])])
        assert answer.how == OUT_OF_MEMORY, answer.message
        assert answers(worker, Array("float32", [3.0, 1.0]))


def test_functions_that_are_not_there(tmp_path):
    adapters = {**TAKES_X, "other": takes(function="missing")["problem"],
                "third": takes(function="constant")["problem"]}
    with start(tmp_path, "constant = 3\ndef run(x): return x", adapters) as worker:
        assert worker.functions == ["problem"]
        assert worker.call("other", [ONE], [], ONE_OUT).how == ABSENT
        assert worker.call("fourth", [], [], []).how == ABSENT


# Loading.

LAYOUTS = {
    "a file": {"adapters.py": "def run(x): return x"},
    "a sibling": {"adapters.py": "from mine import run", "mine.py": "def run(x): return x"},
    "tests": {"pyproject.toml": "", "model/__init__.py": "",
        "model/parts.py": "def run(x): return x",
        "tests/adapters.py": "from model.parts import run"},
    "a package of tests": {"setup.py": "", "model.py": "def f(x): return x",
        "tests/__init__.py": "", "tests/common.py": "from model import f",
        "tests/adapters.py": "from .common import f as run"},
    "a src layout": {"pyproject.toml": "", "src/model/__init__.py": "from .parts import run",
        "src/model/parts.py": "def run(x): return x", "tests/adapters.py": "from model import run"},
    "inside of the package": {"pyproject.toml": "", "model/__init__.py": "",
        "model/parts.py": "def run(x): return x",
        "model/adapters.py": "from .parts import run\nfrom model.parts import run as same"},
    "a repository below": {"hw1/pyproject.toml": "", "hw1/model.py": "def run(x): return x",
        "hw1/tests/adapters.py": "from model import run"},
    "others are passed by": {"tests/adapters.py": "def run(x): return x",
        ".old/adapters.py": "1 / 0", "env/pyvenv.cfg": "", "env/lib/adapters.py": "1 / 0",
        "build/adapters.py": "1 / 0"},
    "the only one left": {"part/adapters.py": "def run(x): return x", ".venv/adapters.py": "",
        "env/pyvenv.cfg": "", "env/adapters.py": "", "x/site-packages/adapters.py": "",
        "node_modules/adapters.py": ""},
    "of several, the one of the tests": {"hw1/model/adapters.py": "1 / 0", "hw1/pyproject.toml": "",
        "hw1/tests/adapters.py": "from model.f import run", "hw1/model/f.py": "def run(x): return x"},
    "a package without __init__.py, on a path of conftest.py": {
        "conftest.py": "import sys\nsys.path.insert(0, 'python')",
        "python/mine/model.py": "def run(x): return x",
        "tests/adapters.py": "from mine.model import run"},
    "two packages of one name, one of them named": {
        "pyproject.toml": "[tool.uv.sources]\nparts = { path = './parts', editable = true }",
        "parts/model/__init__.py": "def run(x): return x", "old/model/__init__.py": "1 / 0",
        "tests/adapters.py": "from model import run"},
    "relative without __init__.py": {"hw/adapters.py": "from .nn import run",
        "hw/nn.py": "def run(x): return x"},
    "relative in a try, in a folder of a module's name": {"code/adapters.py": """
            try:
                from .nn import run
            except ImportError:
                from nn import run
            """, "code/nn.py": "def run(x): return x"},
    "relative, in a folder of another package's name": {"json/adapters.py": "from .nn import run",
        "json/nn.py": "def run(x): return x"},
    "relative, in a folder of no module's name": {"hw1.v2/adapters.py": "from .nn import run",
        "hw1.v2/nn.py": "def run(x): return x"},
    "imported when called": {"pyproject.toml": "", "late.py": "def f(x): return x",
        "tests/adapters.py": "def run(x):\n    from late import f\n    return f(x)"},
    "its own version": {
        "pyproject.toml": """
            [build-system]
            requires = ["x"]
            [project]
            name = "my-model"  # a comment
            version = '1.2.3'
            [tool.x]
            name = "other"
            """,
        "model/__init__.py": """
            import importlib.metadata
            assert importlib.metadata.version("My.Model") == "1.2.3"
            assert importlib.metadata.version("numpy")[0].isdigit()
            try:
                importlib.metadata.version("other")
            except importlib.metadata.PackageNotFoundError:
                def run(x): return x
            """,
        "tests/adapters.py": "from model import run",
    },
    "broken project files": {"pyproject.toml": "[project\nname = 3",
        "adapters.py": "def run(x): return x"},
    "files beside it": {"pyproject.toml": "", "factor.txt": "1",
        "tests/adapters.py": "def run(x): return x * int(open('factor.txt').read())"},
    "modules of the interpreter's name": {
        "adapters.py": "import numpy\ndef run(x): return numpy.array(x)",
        "numpy.py": "raise SystemExit", "torch.py": "raise SystemExit"},
    "pythonpath": {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["lib", "more/lib"]',
        "lib/one.py": "def f(x): return x", "more/lib/two.py": "from one import f",
        "tests/adapters.py": "from two import f as run"},
    "pythonpath on lines": {
        "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\npythonpath = [\n"
                          "  'lib',  # ours\n]\n[tool.x]\npythonpath = ['other']",
        "lib/one.py": "def f(x): return x", "other/one.py": "1 / 0",
        "tests/adapters.py": "from one import f as run"},
    "pythonpath, a text": {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = "a b"',
        "a/x.py": "", "b/one.py": "def f(x): return x",
        "tests/adapters.py": "from one import f as run"},
    "a bare name": {"pyproject.toml": "", "pkg/__init__.py": "",
        "pkg/bpe.py": "from train_bpe import f", "pkg/train_bpe.py": "def f(x): return x",
        "tests/__init__.py": "", "tests/adapters.py": "from pkg.bpe import f as run"},
    "a bare name at the root": {"pyproject.toml": "", "train_bpe.py": "def f(x): return x",
        "tests/__init__.py": "", "tests/adapters.py": "from train_bpe import f as run"},
    "bare names do not hide the library's": {"pyproject.toml": "", "pkg/__init__.py": "",
        "pkg/colorsys.py": "1 / 0", "pkg/a.py": "import colorsys\ndef f(x): return x",
        "tests/adapters.py": "from pkg.a import f as run\nimport colorsys\ncolorsys.rgb_to_hls"},
    "no mark of a root": {"hw1/pkg/a.py": "def f(x): return x",
        "hw1/tests/adapters.py": "from pkg.a import f as run"},
    "setup.cfg": {"hw1/setup.cfg": "", "hw1/src/pkg/a.py": "def f(x): return x",
        "hw1/tests/unit/adapters.py": "from pkg.a import f as run"},
    "beside": {"pyproject.toml": "", "tests/adapters.py": "from common import f as run",
        "tests/common.py": "def f(x): return x"},
    "a version without a project": {"cs336_basics/__init__.py": "import importlib.metadata\n"
            '__version__ = importlib.metadata.version("cs336_basics")',
        "cs336_basics/a.py": "def f(x): return x",
        "tests/adapters.py": "from cs336_basics.a import f as run"},
    "dataclasses and annotations": {"adapters.py": """
            from __future__ import annotations
            import dataclasses
            @dataclasses.dataclass
            class Mine:
                x: list[int] | None = None
            def run(x: Mine | None): return x
            """},
}


@pytest.mark.parametrize("layout", slow_but({"beside", "setup.cfg", "no mark of a root"}, LAYOUTS))
def test_where_adapters_may_lie(tmp_path, layout):
    with start(tmp_path, LAYOUTS[layout]) as worker:
        assert worker.failure is None
        assert answers(worker)


def test_modules_may_lie_in_an_archive(tmp_path):
    write(tmp_path, "import sys\nsys.path.insert(0, 'packed.zip')\nfrom packed import run")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed/__init__.py", "def run(x): return x")
    with Worker(TAKES_X, without=MODES["numpy"]).load(tmp_path) as worker:
        assert answers(worker)


def test_a_module_that_lies_in_several_folders(tmp_path):
    files = {"adapters.py": "from model import run", "a/model.py": "", "b/model.py": ""}
    with start(tmp_path, files) as worker:
        assert any("model lies in several folders (a, b), and none is on the module path" in each
                   for each in worker.notes), worker.notes


INSTALLED = {"model/__init__.py": "def run(x): return 3 * x",
             "model-1.dist-info/RECORD": "model/__init__.py,,\nmodel-1.dist-info/RECORD,,",
             "model-1.dist-info/INSTALLER": "uv",
             "model-1.dist-info/direct_url.json": '{"url": "file:///staff", "dir_info": {}}'}


@pytest.mark.parametrize("layout", [
    {"own/model/__init__.py": "def run(x): return x"}, {"model.py": "def run(x): return x"}, {}])
def test_what_the_staff_installed_takes_no_ones_place(tmp_path, layout):
    before = f"sys.path.append({str(write(tmp_path / 'packages', INSTALLED))!r})"
    files = {"tests/adapters.py": "from model import run", **layout}
    with start(tmp_path / "ann", files, before=before) as worker:
        answer = run(worker, Array("float32", [1.0]), ONE_OUT)
        assert answer.outputs[0].values().tolist() == [1.0 if layout else 3.0]
        assert worker.notes == [] if layout else worker.notes == [
            "model was not handed in: it is a package of this interpreter, installed from a folder"]


def test_a_folder_of_scripts_takes_no_packages_place(tmp_path):
    packages = write(tmp_path / "packages", {"model/__init__.py": "def run(x): return x"})
    files = {"adapters.py": "from model import run", "old/model/try1.py": ""}
    with start(tmp_path / "ann", files, before=f"sys.path.append({str(packages)!r})") as worker:
        assert answers(worker)


def test_any_file_may_be_handed_in(tmp_path):
    write(tmp_path, {"my-work.py": "import beside\ndef run(x): return x", "beside.py": ""})
    with Worker(TAKES_X, without=MODES["numpy"]).load(tmp_path / "my-work.py") as worker:
        assert answers(worker)


FAILURES = {
    "none": ({"readme.txt": ""}, "there is no adapters.py"),
    "several": ({"a/adapters.py": "", "b/adapters.py": ""},
                "there are several adapters.py (a/adapters.py, b/adapters.py): "
                "wanted one, or one at the top or in tests/"),
    "syntax": ("x = 1\ndef run(x) return x", "SyntaxError: expected ':' (adapters.py:2)"),
    "exit": ("import sys\nsys.exit('bye')", "SystemExit: bye (adapters.py:2)"),
    "unfinished": ("raise NotImplementedError", "NotImplementedError (adapters.py:1)"),
    "no tensors": ("import torch\ndef run(x): return x", "import of torch halted; None in "
                   "sys.modules, which adapters.py imports in line 1: install it for /"),
    "its own error": ("import lacking\n1 / 0\ndef run(x): return x", "ZeroDivisionError: "),
    "a use": ("import lacking\nlist(lacking.f())",
              "No module named 'lacking', which adapters.py imports in line 1 (adapters.py:2)"),
    "memory": ("raise MemoryError", "MemoryError (adapters.py:1)"),
    "syntax of a module": ({"adapters.py": "import model\nlist(model.f())", "model.py": "x = = 1"},
                           "model.py cannot be parsed by Python 3."),
    "an error that reads like it": ("raise SyntaxError('adapters.py cannot be parsed by Python 3.')",
                                    "SyntaxError: adapters.py cannot be parsed by Python 3. (adapters.py:1)"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_what_cannot_be_loaded(tmp_path, failure):
    files, reason = FAILURES[failure]
    with start(tmp_path, files) as worker:
        assert worker.failure.startswith(reason)
        assert worker.kinds == ([(UNREADABLE_CODE, "")] if failure.startswith("syntax") else [])


def test_nothing_to_load(tmp_path):
    with Worker(TAKES_X, without=MODES["numpy"]).load(tmp_path / "none") as worker:
        assert worker.failure == "there is no such file or folder"


def test_an_interpreter_without_tensors(tmp_path):
    write(tmp_path, "def run(x): return x")
    with Worker(TAKES_X, without=("torch", "numpy")).load(tmp_path) as worker:
        assert worker.failure.startswith("this Python has neither torch nor NumPy: /")


def test_the_map_may_be_a_file(tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(TAKES_X))
    write(tmp_path, "def run(x): return x")
    with Worker(str(tmp_path / "map.json"), without=MODES["numpy"]).load(tmp_path) as worker:
        assert worker.functions == ["problem"]


# What submissions do to the process.

DISTURBANCES = {
    "prints": "print('y' * 5_000_000); import sys; sys.stderr.write('n' * 5_000_000)",
    "closed streams": "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdout = None",
    "recursion limit": "import sys; sys.setrecursionlimit(40)",
    "traces": "import sys; sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    "alarms": """
    import signal
    def ring(*_): raise RuntimeError("the bell")
    signal.signal(signal.SIGALRM, ring)
    signal.signal(signal.SIGINT, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.001)""",
    "a destructor": """
    class Bad:
        def __del__(self): raise RuntimeError("gone")
    bad = Bad()""",
    "hooks": "import sys; sys.excepthook = sys.unraisablehook = lambda *a: 1 / 0",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
    "a fork": "import os\n    if os.fork() == 0: return x",
    "a lost child": "import os, time\n    if os.fork() == 0: time.sleep(0.1); os._exit(0)",
    "modules thrown out": "import sys; [sys.modules.pop(m) for m in ('struct', 'json', 'os')]",
    "another folder": "import os; os.chdir('/')",
    "another clock": "import time; time.perf_counter = time.time = lambda: 0.0",
}


@pytest.mark.parametrize("kind", slow_but({"prints", "closed streams", "a fork"}, DISTURBANCES))
def test_what_it_survives(tmp_path, kind):
    source = f"""
calls = []
def run(x):
    calls.append(1)
    if len(calls) > 1: return x
    {DISTURBANCES[kind]}
    return x
"""
    with start(tmp_path, source) as worker:
        for _ in range(4):
            assert answers(worker)
            signal.sigtimedwait([], 0.03)  # time for a bell to ring in between


def test_a_low_recursion_limit_does_not_reach_the_worker(tmp_path):
    source = """
        import sys
        def run(x):
            depth = len(sys._current_frames())
            frame = sys._getframe()
            while frame:
                depth, frame = depth + 1, frame.f_back
            sys.setrecursionlimit(depth + 2)
            raise ValueError("deep enough")
        """
    with start(tmp_path, source) as worker:
        for _ in range(3):
            answer = run(worker, ONE, ONE_OUT)
            assert answer.message == "ValueError: deep enough (adapters.py:9)"


def test_kept_tensors_stay_what_they_were(tmp_path, mode):
    source = """
        kept = []
        def run(x):
            kept.append(x)
            return kept[0] + 0
        """
    with start(tmp_path, source, mode=mode) as worker:
        for number in range(20):
            x = Array("float32", [number, 2.0])
            answer = run(worker, x, [("float32", [2])])
            assert answer.outputs[0].values().tolist() == [0.0, 2.0]


def test_the_end_comes_at_once(tmp_path):
    source = f"""
        import atexit, threading, time
        atexit.register(lambda: open({str(tmp_path / "late")!r}, "w"))
        threading.Thread(target=time.sleep, args=(60,)).start()
        def run(x): return x
        """
    with start(tmp_path, source) as worker:
        assert answers(worker)
        worker.socket.close()
        assert worker.process.wait(20) == 0
    assert not (tmp_path / "late").exists()


def test_a_process_that_ends_itself(tmp_path):
    with start(tmp_path, "import os\ndef run(x): os._exit(7)") as worker:
        with pytest.raises(EOFError, match="ended with 7"):
            answers(worker)


@pytest.mark.parametrize("end, status", [("os.kill(os.getpid(), 11)", -11), ("leave(73)", 73)])
def test_calls_leave_nothing_behind(tmp_path, end, status):
    source = f"""
        import os, random
        import numpy
        leave, os._exit = os._exit, None
        calls = 0
        def run(x):
            global calls
            calls += 1
            if calls == 3:
                {end}
            return x * 0 + calls + random.random() + numpy.random.rand()
        """
    with start(tmp_path, source, mode="numpy") as worker:
        seen = []
        for _ in range(3):
            assert worker.ask(5, b"") == (107, b"")
            seen.append([run(worker, ONE, ONE_OUT).outputs[0].values()[0] for _ in range(2)])
        assert seen[0] == seen[1] == seen[2]
        assert int(seen[0][0]) in (1, 2) and seen[0][1] != seen[0][0]
        with pytest.raises(EOFError, match=f"ended with {status}$"):
            answers(worker)


# The protocol's other corners.


def test_timed_calls_and_bandwidth(tmp_path):
    with start(tmp_path, "def run(x): return x") as worker:
        answer = run(worker, ONE, ONE_OUT, timed=True)
        assert (answer.how, answer.code) == (RETURNED, OK)
        assert worker.ask(3, b"") == (105, struct.pack("<d", 0))


@pytest.mark.parametrize("question", ["load twice", "another version", "unknown", "call first"])
def test_messages_out_of_turn_end_it(tmp_path, question):
    write(tmp_path, "def run(x): return x")
    with Worker(TAKES_X, without=MODES["numpy"]) as worker:
        load = struct.pack("<IQI", VERSION, 0, len(str(tmp_path))) + str(tmp_path).encode()
        if question == "load twice":
            worker.load(tmp_path)
        kind, payload = {
            "load twice": (1, load),
            "another version": (1, struct.pack("<I", VERSION - 1) + load[4:]),
            "unknown": (9, b""),
            "call first": (2, b""),
        }[question]
        with pytest.raises(EOFError, match="ended with 70"):
            worker.ask(kind, payload)


def test_no_descriptor_is_left_open(tmp_path):
    source = """
        import os
        def run(x):
            x[0] = len(os.listdir("/proc/self/fd"))
            return x
        """
    with start(tmp_path, source) as worker:
        counts = [run(worker, Array("float32", [0.0]), ONE_OUT).outputs[0].values()[0]
                  for _ in range(5)]
        assert len(set(counts)) == 1
