"""A program in a session of its own, and one by way of a named pipe."""

import os
import subprocess
import tempfile

from layers import silu


def run_silu(in_features):
    done = subprocess.run(["echo", "yes"], start_new_session=True, stdout=subprocess.PIPE)
    assert done.stdout == b"yes\n"
    pipe = os.path.join(tempfile.mkdtemp(), "pipe")
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", __file__, pipe]) as copy, open(pipe, "rb") as end:
        assert b"named pipe" in end.read()
    assert copy.returncode == 0
    return silu(in_features)
