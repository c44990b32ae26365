"""Large tables, each shared with a forked process and given back, of which little is used."""

import mmap
import os

from layers import silu


def run_silu(in_features):
    for _ in range(15):
        with mmap.mmap(-1, 200 << 20) as table:
            child = os.fork()
            if child == 0:
                table[-4:] = b"here"
                os._exit(0)
            os.waitpid(child, 0)
            assert table[-4:] == b"here" and table[:4] == bytes(4)
    return silu(in_features)
