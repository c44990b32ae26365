"""Programs are started: echo, a shell's pipe, and another Python."""

import subprocess
import sys

import numpy as np
from layers import silu

CODE = "import sys; sys.stdout.write(str(2 * int(sys.stdin.read())))"
told = subprocess.run(["echo", "one"], capture_output=True, text=True, check=True).stdout
assert told == "one\n"
words = subprocess.check_output("printf 'a b' | wc -w", shell=True, text=True)
assert int(words) == 2


def run_silu(in_features):
    done = subprocess.run([sys.executable, "-c", CODE], input="1", capture_output=True, text=True,
                          check=True)
    return silu(in_features) * np.float32(int(done.stdout) / 2)
