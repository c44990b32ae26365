"""Signals, timers, and sockets while they ring."""

import mmap
import os
import signal
import socket
import tempfile
import threading
import time

from layers import silu


class _TooSlow(Exception):
    pass


def _ring(*_):
    raise _TooSlow


def alarm(x):
    """A time limit of one's own for each call, by a signal and by a timer."""
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(5)
    y = silu(x)
    signal.alarm(0)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        signal.pause()
    except _TooSlow:
        return y
    raise AssertionError("there was another signal")


def signal_handlers():
    """Handlers for signals that are set at import, and used by calls."""
    seen = []
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: seen.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(x):
        seen.clear()
        for number in (signal.SIGALRM, signal.SIGUSR1):
            os.kill(os.getpid(), number)
        assert seen == [signal.SIGALRM, signal.SIGUSR1]
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        return silu(x)

    return run


def fork_under_signals(x):
    """Threads, processes and memory of theirs while a timer rings, whose handler interrupts what waits."""
    rings = []
    signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    signal.signal(signal.SIGCHLD, lambda *_: rings.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for _ in range(100):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        mmap.mmap(-1, 4096).close()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert rings
    return silu(x)


def _serve(server, count):
    for _ in range(count):
        client, _ = server.accept()
        client.sendall(b"x")
        client.close()


def connection_under_signals(x):
    """Connections while a timer rings, whose handler interrupts what waits; and one that finds no room
    within its own time."""
    path = os.path.join(tempfile.mkdtemp(), "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)
        thread = threading.Thread(target=_serve, args=(server, 200))
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
            return silu(x)
    raise AssertionError("there was always room")


def _answers(name):
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(name)
        listener.listen()
        client.connect(name)
        with listener.accept()[0] as server:
            server.sendall(b"word")
            return client.recv(4) == b"word"


def abstract_name(x):
    """A socket whose name is abstract and free again when it is closed, and one whose path is relative."""
    assert all(_answers("\0prenorm-habit") for _ in range(3))
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        first.bind("\0prenorm-habit")  # it is not free meanwhile
        try:
            second.bind("\0prenorm-habit")
            raise AssertionError("the name was free")
        except OSError:
            pass
    os.chdir(os.environ["TMPDIR"])
    assert _answers("prenorm-habit.socket")
    os.unlink("prenorm-habit.socket")
    return silu(x)
