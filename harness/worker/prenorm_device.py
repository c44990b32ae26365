"""Whether a Python submission asks for a CUDA device, and what says that there is none.

Code that asks whether there is a device, and does without one, gets none: it computes on the CPU, as on
its author's machine. prenorm_worker.py loads this file.
"""

import ast
import re

LIBRARIES = ("cuda", "cupy", "cutlass", "pycuda", "tilelang", "triton")
# Triton has an interpreter for the CPU. Of the others nothing runs without a device.
DEVICE_ONLY = LIBRARIES[:-1]
# Words of torch, with and without CUDA, of its builder of extensions, and of CUDA's own libraries.
MISSING = re.compile(
    "Torch not compiled with CUDA enabled"
    "|Found no NVIDIA driver"
    "|No CUDA GPUs are available"
    "|no CUDA-capable device is detected"
    "|CUDA driver version is insufficient"
    "|CUDA_HOME environment variable is not set"
    "|cudaErrorNoDevice|cudaErrorInsufficientDriver|CUDA_ERROR_NO_DEVICE"
    r"|libcuda\.so"
    "|from the 'CUDA' backend"
    "|Device type CUDA is not supported"
    r"|No module named '(?:%s)['.]" % "|".join(DEVICE_ONLY)
)
ASKS_FIRST = ("is_available", "device_count")


def is_missing(message, error=None):
    """Whether it is a device that is missing, by an exception's text or by what raised it."""
    return MISSING.search(message) is not None or comes_of_torch_cuda(error)


def comes_of_torch_cuda(error):
    """Whether torch.cuda has raised it, or torch while it was building an extension in CUDA: it asks
    the device what to build for."""
    trace, file = getattr(error, "__traceback__", None), ""
    while trace is not None:
        frame = trace.tb_frame
        file = frame.f_code.co_filename
        if file.endswith("torch/utils/cpp_extension.py"):
            if frame.f_locals.get("with_cuda") or frame.f_locals.get("cuda_sources"):
                return True
        trace = trace.tb_next
    return "/torch/cuda/" in file


def is_asked_for(tree, own):
    """Whether a source's tree names a CUDA device and never asks whether there is one. `own`: modules
    of the submission."""
    nodes = list(ast.walk(tree))
    if any(getattr(node, "attr", getattr(node, "id", "")) in ASKS_FIRST for node in nodes):
        return False
    return any(is_name_of_device(node, own) for node in nodes)


def is_name_of_device(node, own):
    if isinstance(node, ast.Constant):  # device="cuda:0"
        return isinstance(node.value, str) and re.fullmatch(r"cuda(:\d+)?", node.value) is not None
    if isinstance(node, ast.Call):  # x.cuda()
        return isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"
    if isinstance(node, ast.keyword):
        return node.arg == "cuda_sources"
    return bool(imported(node).intersection(LIBRARIES) - set(own))


def imported(node):
    """The packages that a statement imports."""
    modules = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        modules = [node.module]
    return {module.split(".")[0] for module in modules}


def imports_triton(tree, own):
    """Whether a source's tree does; torch may, too."""
    return any("triton" in imported(node) - set(own) for node in ast.walk(tree))


def compiles(tree, own):
    """Whether a source's tree names torch.compile."""
    return any(
        getattr(node, "attr", "") == "compile" and getattr(node.value, "id", "") == "torch"
        for node in ast.walk(tree)
    )
