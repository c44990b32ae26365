"""Whether a Python submission asks for a CUDA device, and what says that there is none.

Code that asks whether there is a device, and does without one, gets none: it computes on the CPU, as on
the author's own machine. prenorm_worker.py loads this file.
"""

import ast
import os
import re
import sys

# Triton has an interpreter for the CPU; of the others nothing runs without a device.
DEVICE_ONLY = ("cuda", "cupy", "cutlass", "pycuda", "tilelang")
# Words of torch, of its builder of extensions, and of CUDA's own libraries.
MISSING = re.compile(
    "Torch not compiled with CUDA enabled"
    "|Found no NVIDIA driver"
    "|No CUDA GPUs are available"
    "|CUDA_HOME environment variable is not set"
    "|no CUDA-capable device is detected"
    "|CUDA driver version is insufficient"
    "|cudaErrorNoDevice|cudaErrorInsufficientDriver|CUDA_ERROR_NO_DEVICE"
    r"|libcuda\.so"
    r"|No module named '(?:%s)['.]" % "|".join(DEVICE_ONLY)
)


def is_missing(message):
    """Whether an exception's text says that it is a device that is missing."""
    return MISSING.search(message) is not None


def is_asked_for(folder):
    """Whether the modules of that folder that have been imported compute on a device only."""
    if "triton" in sys.modules or any(name in sys.modules for name in DEVICE_ONLY):
        return True
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return any(names_device(file) for file in files if is_source_of(folder, file))


def is_source_of(folder, file):
    return isinstance(file, str) and file.startswith(folder + os.sep) and file.endswith(".py")


def names_device(file):
    """Whether a file's code names a CUDA device and never asks whether there is one."""
    try:
        with open(file, "rb") as stream:
            nodes = list(ast.walk(ast.parse(stream.read())))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return False
    if any(isinstance(node, ast.Attribute) and node.attr == "is_available" for node in nodes):
        return False
    return any(map(is_name_of_device, nodes))


def is_name_of_device(node):
    if isinstance(node, ast.Constant):  # device="cuda:0"
        return isinstance(node.value, str) and re.fullmatch(r"cuda(:\d+)?", node.value) is not None
    if isinstance(node, ast.Call):  # x.cuda()
        return isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"
    return isinstance(node, ast.keyword) and node.arg == "cuda_sources"
