# labels: grading
# slow labels: grading
"""PyTorch code for a CUDA device: SKIPPED where there is none, and given one where it asks for one.

No test here has a device. What a worker does with one is seen with a torch that says that it has one,
and whose copies on it are copies in memory.
"""

import subprocess
import sys

import pytest

from grading import best_sandbox, grade, items, results
from python_worker import (CPU, CUDA, DEVICE_FAILED, NO_DEVICE, NOT_LOADED, OK, ONE, ONE_OUT, OUT_OF_MEMORY,
                           RETURNED, run, start, write)

pytest.importorskip("torch")
PRETENDED = """
import torch
torch.version.cuda = "12.0"
torch.cuda.is_available = lambda: True
torch.cuda.waits = []
torch.cuda.synchronize = lambda: torch.cuda.waits.append(1)
moved = torch.Tensor.to
class OnDevice(torch.Tensor):
    pass
def to(self, place, copy=False):
    if place not in ("cpu", "cuda"):
        return moved(self, place)
    copied = self.as_subclass(torch.Tensor).clone()
    return copied.as_subclass(OnDevice) if place == "cuda" else copied
torch.Tensor.to = to
torch.Tensor.cuda = lambda self: self.to("cuda")
torch.Tensor.lies = lambda self: "cuda" if isinstance(self, OnDevice) else "cpu"
"""
# For an environment: torch is imported later than environments begin, and not found before.
WHEN_IMPORTED = """
import sys
from importlib.machinery import PathFinder
class WithTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            sys.meta_path.remove(self)
            spec = PathFinder.find_spec(name)
            execute = spec.loader.exec_module
            def exec_module(module):
                execute(module)
                import pretended
            spec.loader.exec_module = exec_module
            return spec
sys.meta_path.insert(0, WithTorch())
"""
ASKS = "def run(x):\n    return x.cuda() + 1"
ADAPTERS = """
    import cutlass
    import torch

    def run_silu(in_features):
        x = in_features.to(torch.float32)
        return (x * torch.sigmoid(x)).to(in_features.dtype)

    def run_softmax(in_features, dim):
        return torch.softmax(in_features.cuda(), dim).cpu()

    def run_rmsnorm(d_model, eps, weights, in_features):
        return cutlass.rmsnorm(in_features, weights, eps)
    """


@pytest.mark.parametrize("source, says", [
    ("import torch\ndef run(x):\n    return x.cuda()",
     "AssertionError: Torch not compiled with CUDA enabled (adapters.py:3)"),
    ("import torch\ndef run(x):\n    return torch.zeros(1, device='cuda')", "Torch not compiled with CUDA"),
    ("import cutlass.cute as cute\ndef run(x):\n    return cute.run(x)",
     "No module named 'cutlass', which adapters.py imports in line 1"),
    ("def run(x):\n    import cupy", "ModuleNotFoundError: No module named 'cupy'"),
    ("def run(x):\n    raise RuntimeError('No CUDA GPUs are available')", "RuntimeError: No CUDA GPUs"),
], ids=["cuda()", "device", "CuTe DSL", "in a function", "torch with CUDA"])
def test_what_needs_a_device_says_so(tmp_path, source, says):
    mode = "torch" if "torch" in source else "numpy"
    with start(tmp_path, source, mode=mode) as worker:
        answer = run(worker, ONE, ONE_OUT)
        assert answer.how == NO_DEVICE
        assert answer.what.startswith("needs a CUDA device: ") and says in answer.what


def test_other_failures_are_none_of_a_device(tmp_path):
    with start(tmp_path, "import yaml_of_old\ndef run(x):\n    return yaml_of_old.load(x)") as worker:
        assert run(worker, ONE, ONE_OUT).how == NOT_LOADED


@pytest.mark.slow
def test_a_module_that_needs_a_device_is_not_available(tmp_path):
    source = "import torch\nONE = torch.ones(1, device='cuda')\ndef run(x):\n    return x + ONE"
    with start(tmp_path, source, mode="torch", device=CUDA) as worker:
        assert worker.failure is None and worker.functions == []
        assert worker.unavailable.startswith("needs a CUDA device: AssertionError: Torch not compiled")


@pytest.mark.parametrize("source, asks", [
    (ASKS, True),
    ("import torch\nHERE = 'cuda' if torch.cuda.is_available() else 'cpu'\ndef run(x):\n    return x", False),
    ("def run(x):\n    'for cuda'\n    return x", False),
    ({"adapters.py": "import kernels\nrun = kernels.run", "kernels.py": ASKS}, True),
    ({"adapters.py": "def run(x):\n    import kernels\n    return kernels.run(x)", "kernels.py": ASKS}, True),
    ({"adapters.py": "def run(x): return x", "training.py": ASKS}, False),
    ({"adapters.py": "from triton_of_mine import run", "triton_of_mine.py": "import triton\nrun = abs"}, True),
    ({"adapters.py": "from cuda import run", "cuda.py": "run = abs"}, False),
], ids=["cuda()", "asks whether there is one", "a word", "imported", "imported in a function",
        "not imported", "Triton", "a module of its own"])
@pytest.mark.slow
def test_who_asks_for_a_device(tmp_path, source, asks):
    with start(tmp_path, source, mode="torch", before=PRETENDED, how={"device": "there"},
               device=CUDA if asks else CPU) as worker:
        assert bool(worker.unavailable) == asks


def test_who_has_not_asked_and_needs_one_is_told_so(tmp_path):
    source = "def run(x):\n    raise RuntimeError('No CUDA GPUs are available')"
    with start(tmp_path, source, how={"device": "there"}) as worker:
        assert run(worker, ONE, ONE_OUT).how == NO_DEVICE


@pytest.mark.slow
@pytest.mark.parametrize("body", [
    "return load_inline('mine', '', cuda_sources='__global__ void k() {}').k(x)",
    "return x.pin_memory()",
    "return torch.Generator(device='cuda')",
    "torch.cuda.set_device(0)",
    "with torch.cuda.stream(torch.cuda.Stream()): return x",
])
def test_in_whatever_words_torch_says_so(tmp_path, body):
    source = "import torch\nfrom torch.utils.cpp_extension import load_inline\ndef run(x):\n    " + body
    with start(tmp_path, source, mode="torch") as worker:
        for _ in range(2):  # also where torch believes that it has been built
            answer = run(worker, ONE, ONE_OUT)
            assert answer.how == NO_DEVICE, (answer.how, answer.what, answer.message)


def test_a_worker_with_a_device(tmp_path):
    source = """
        import torch
        seen = []
        class OutOfMemoryError(RuntimeError): pass
        def run(x):
            seen.append(x.lies())
            if len(seen) == 1:
                raise RuntimeError("Expected all tensors to be on the same device")
            assert x.lies() == "cuda", seen
            if len(seen) == 3:
                x += 1
            if len(seen) == 4:
                x.unsqueeze_(0)
                return x.squeeze(0) + 1
            if len(seen) == 5:
                raise OutOfMemoryError("CUDA out of memory")
            if len(seen) == 6:
                raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")
            assert seen[:2] == ["cpu", "cuda"] and len(torch.cuda.waits) == len(seen) - 2
            return x + 1
        """
    with start(tmp_path, source, mode="torch", before=PRETENDED, how={"device": "given"},
               device=CUDA) as worker:
        assert worker.unavailable == ""
        assert worker.notes == ["may compute on the CUDA device"]
        # It fails on the CPU and is called again, with tensors on the device, and only so later.
        answer = run(worker, ONE, ONE_OUT)
        assert (answer.how, answer.code, answer.mutated) == (RETURNED, OK, []), answer.message
        assert answer.outputs[0].values() == [2]
        # Its copy is copied back: a changed input shows.
        assert run(worker, ONE, ONE_OUT).mutated == [0]
        assert run(worker, ONE, ONE_OUT).mutated == []
        assert run(worker, ONE, ONE_OUT).how == OUT_OF_MEMORY
        assert run(worker, ONE, ONE_OUT).how == DEVICE_FAILED


def test_what_works_on_the_cpu_stays_there(tmp_path):
    source = """
        import torch
        WEIGHT = torch.ones(1)
        def run(x):
            assert x.lies() == "cpu"
            return x + WEIGHT.cuda().to("cpu")
        """
    with start(tmp_path, source, mode="torch", before=PRETENDED, how={"device": "given"},
               device=CUDA) as worker:
        answer = run(worker, ONE, ONE_OUT)
        assert (answer.how, answer.code, answer.mutated) == (RETURNED, OK, []), answer.message


def asked(name, tmp_path, files, *words, python=sys.executable, environment=None):
    words = [*words, "--no-hidden", "--seed", 7, "--sandbox", best_sandbox(), "--python", python]
    return grade(write(tmp_path / name, files), *words, tmp=tmp_path, environment=environment)


def test_only_what_needs_a_device_is_skipped(tmp_path):
    code, report, printed = asked("some", tmp_path, ADAPTERS, "--problem", "silu", "--problem", "softmax",
                                  "--problem", "rmsnorm", "--dtype", "float32")
    # Who gives points by exit codes gives none for what did not run.
    assert code == 1 and report["status"] == "PASSED" and report["gradeable"], printed
    for problem in ("softmax", "rmsnorm"):
        assert {each["status"] for each in results(report, problem)} == {"SKIPPED"}
        assert items(report)[problem]["earned"] == 0
    assert {each["status"] for each in results(report, "silu")} == {"PASSED"}
    assert "cases skipped\n  SKIPPED  in all: needs a CUDA device: AssertionError: Torch not" in printed
    assert "needs a CUDA device: No module named 'cutlass', which adapters.py imports in line 2" in printed


@pytest.mark.slow
def test_code_that_only_a_device_runs_is_not_gradeable_here(tmp_path):
    code, report, printed = asked("all", tmp_path,
                                  "def run_softmax(in_features, dim): return in_features.cuda()",
                                  "--problem", "softmax")
    assert code == 3 and report["status"] == "SKIPPED" and not report["gradeable"], printed
    assert "SKIPPED  needs a CUDA device: " in printed and "not gradeable" in printed


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--emulate"]], ids=["given", "emulated"])
def test_a_submission_that_asks_is_given_the_device(tmp_path, words):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", venv], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "pretended.py").write_text(PRETENDED)
    (packages / "when_imported.py").write_text(WHEN_IMPORTED)
    (packages / "when_imported.pth").write_text("import when_imported\n")
    source = """
        import torch
        def run_softmax(in_features, dim):
            return torch.softmax(in_features.cuda().double(), dim).to(in_features.dtype)
        """
    code, report, printed = asked("asks", tmp_path, {"adapters.py": source}, "--problem", "softmax", *words,
                                  python=venv / "bin/python",
                                  environment={"PRENORM_CUDA_DRIVER": "/usr/bin/true"})
    assert code == 0 and report["earned"] == report["points"] > 0, printed
    assert ("its process says: may compute on the CUDA device" in report["notes"]) == (not words), printed
