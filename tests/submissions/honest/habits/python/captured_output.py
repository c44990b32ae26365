"""What is printed is caught, by Python and by descriptor."""

import contextlib
import io
import os
import sys
import tempfile

from layers import silu


def run_silu(in_features):
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
    return silu(in_features)
