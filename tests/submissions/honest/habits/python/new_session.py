"""A program in a session of its own."""

import subprocess

from layers import silu


def run_silu(in_features):
    done = subprocess.run(["echo", "yes"], start_new_session=True, stdout=subprocess.PIPE)
    assert done.stdout == b"yes\n"
    return silu(in_features)
