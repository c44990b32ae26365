"""A vocabulary would be downloaded; without a network there is a small one."""

import socket
import urllib.request

from layers import silu

try:
    with urllib.request.urlopen("https://example.org/vocabulary.txt", timeout=5) as answer:
        vocabulary = answer.read()
except OSError:
    vocabulary = b"a b c"

try:
    socket.create_connection(("127.0.0.1", 9), timeout=1).close()
except OSError:
    pass


def run_silu(in_features):
    assert vocabulary
    return silu(in_features)
