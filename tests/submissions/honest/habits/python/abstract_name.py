"""A socket whose name is abstract and free again when it is closed, and one whose path is relative."""

import os
import socket

import numpy as np
from layers import silu


def answers(name):
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(name)
        listener.listen()
        client.connect(name)
        with listener.accept()[0] as server:
            server.sendall(b"word")
            return client.recv(4) == b"word"


def run_silu(in_features):
    good = all(answers("\0prenorm-habit") for _ in range(3))
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        first.bind("\0prenorm-habit")  # it is not free meanwhile
        try:
            second.bind("\0prenorm-habit")
            good = False
        except OSError:
            pass
    os.chdir(os.environ["TMPDIR"])
    good = good and answers("prenorm-habit.socket")
    os.unlink("prenorm-habit.socket")
    return silu(in_features) if good else np.full_like(in_features, np.nan)
