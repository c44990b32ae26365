"""What an attack could lay hands on: for the tests of attacks."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grading import state
from places import ROOT, home


class Bait:
    """What an attack could lay hands on, and the signs that it did."""

    def __init__(self, folder):
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.marker = "pn" + secrets.token_hex(6)  # as long as a process's name may be: 15 bytes
        self.signalled = folder / "signalled"
        self.victim = subprocess.Popen(
            [sys.executable, "-c",
             "import signal, sys, time\n"
             "signal.signal(signal.SIGURG, lambda *_: open(sys.argv[1], 'w').close())\n"
             "print('ready', flush=True)\n"
             "while True: time.sleep(60)", str(self.signalled)], stdout=subprocess.PIPE)
        self.victim.stdout.readline()
        self.stream = self.listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.port = self.stream.getsockname()[1]
        self.sockets = [
            self.stream,
            self.listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", self.port)),
            self.listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.marker),
            self.listen(socket.AF_UNIX, socket.SOCK_STREAM, str(self.outside) + ".socket"),
            self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, str(self.outside) + ".datagrams"),
            self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + self.marker + "d"),
        ]
        self.before = self.everything()

    @staticmethod
    def listen(family, kind, address):
        listener = socket.socket(family, kind)
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        return listener

    @staticmethod
    def everything():
        return state(ROOT / "fixtures", home() / "bin", home() / "lib/prenorm",
                     home() / "libexec/prenorm")

    def known(self):
        """What the attacks know, by the words that stand for it in them."""
        return {"HOME": str(home()), "SOURCE": str(ROOT), "OUTSIDE": str(self.outside),
                "PORT": str(self.port), "MARKER": self.marker, "VICTIM": str(self.victim.pid)}

    def processes(self):
        """Those that call themselves by the marker."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and self.marker in (
                        (process / "comm").read_text(errors="replace")
                        + (process / "cmdline").read_text(errors="replace")):
                    found.append(int(process.name))
            except OSError:
                pass  # it has ended
        return found

    def remains(self):
        """Processes that are there a while after the grading: the end of a PID namespace takes a
        moment."""
        end = time.monotonic() + 10
        while (found := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def signs(self):
        """Everything that an attack has reached."""
        found = [f"process {process} is still there" for process in self.remains()]
        found += [f"wrote {path}" for path in self.outside.iterdir()]
        found += [f"left {path}" for path in self.left()]
        if self.signalled.exists():
            found.append("a signal to another process")
        if self.victim.poll() is not None:
            found.append("another process ended")
        for listener in self.sockets:
            try:
                if listener.type == socket.SOCK_STREAM:
                    listener.accept()
                else:
                    listener.recv(1)
                found.append(f"a connection to {listener.getsockname()!r}")
            except BlockingIOError:
                pass
        after = self.everything()
        found += [f"changed {path}" for path in self.before.keys() | after.keys()
                  if self.before.get(path) != after.get(path)]
        return found

    @staticmethod
    def left():
        folders = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/usr/lib", ROOT / "fixtures",
                   home() / "lib/prenorm", home() / "libexec/prenorm", home() / "share/prenorm")
        return [path for folder in folders for path in Path(folder).glob("prenorm-attack*")]

    def close(self):
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):  # it may be ending by itself
                os.kill(process, signal.SIGKILL)
        for path in self.left():
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.victim.kill()
        self.victim.communicate()
        for listener in self.sockets:
            listener.close()


@pytest.fixture
def bait(tmp_path):
    bait = Bait(tmp_path)
    yield bait
    bait.close()
