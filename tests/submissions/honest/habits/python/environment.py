"""Environment variables are read, set, and passed on to a program."""

import os
import subprocess

os.environ["OMP_NUM_THREADS"] = "2"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["HABIT"] = "3"

from layers import silu  # noqa: E402

assert os.environ["PATH"] and os.environ["HOME"]


def run_silu(in_features):
    told = subprocess.run("echo $HABIT", shell=True, capture_output=True, text=True, check=True)
    assert told.stdout == "3\n" and os.getenv("NO_SUCH_VARIABLE") is None
    return silu(in_features)
