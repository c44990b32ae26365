"""A machine that is busy with other work."""

import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def busy_machine(loops=6):
    """While the block runs, so many processes keep the processors busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
        for other in others:
            other.wait()
