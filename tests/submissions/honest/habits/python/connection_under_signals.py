"""Connections while a timer rings, whose handler interrupts what waits; and one that finds no room
within its own time."""

import os
import signal
import socket
import tempfile
import threading
import time

from layers import silu


def serve(server, count):
    for _ in range(count):
        client, _ = server.accept()
        client.sendall(b"x")
        client.close()


def run_silu(in_features):
    path = os.path.join(tempfile.mkdtemp(), "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)
        thread = threading.Thread(target=serve, args=(server, 200))
        thread.start()
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                assert client.recv(1) == b"x"
        signal.setitimer(signal.ITIMER_REAL, 0)
        thread.join()
        clients, start = [], time.monotonic()
        try:
            while time.monotonic() < start + 5:
                clients.append(socket.socket(socket.AF_UNIX))
                clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                                       (0).to_bytes(8, "little") + (200_000).to_bytes(8, "little"))
                clients[-1].connect(path)
        except BlockingIOError:
            assert len(clients) > 1
            return silu(in_features)
    raise AssertionError("there was always room")
