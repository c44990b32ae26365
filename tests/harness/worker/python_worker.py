"""The program's side of protocol.md, to talk to a worker without the program."""

import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import textwrap

import numpy as np

from places import ROOT

WORKER = ROOT / "harness" / "worker" / "prenorm_worker.py"
VERSION = 9  # of protocol.md
DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "bool"]
SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}
MODES = {"torch": (), "numpy": ("torch", "ml_dtypes")}
OK, ERROR, NOT_IMPLEMENTED = 0, 1, 2
RETURNED, OUT_OF_MEMORY, ABSENT, DEVICE_FAILED = 0, 2, 3, 4
OTHER_SHAPE, OTHER_DTYPE, NOT_LOADED, NO_DEVICE = 5, 6, 7, 9
OTHER_NOTE, MISSING_PACKAGE, UNREADABLE_CODE = 0, 1, 3
CPU, CUDA = 1, 2
# Makes a module one that the interpreter has not: `python -c` code, run before the worker.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({modules!r})); "
RUN = "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


class Array:
    """A tensor as its bytes: bfloat16 as what NumPy calls uint16."""

    def __init__(self, dtype, values, shape=None):
        self.dtype = dtype
        if isinstance(values, bytes):
            self.bytes, self.shape = values, list(shape)
            return
        values = np.asarray(values)
        if dtype == "bfloat16":
            bits = values.astype(np.float32).reshape(-1).view(np.uint32)
            stored = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        else:
            stored = values.astype(dtype)
        self.bytes, self.shape = stored.tobytes(), list(values.shape)

    def values(self):
        if self.dtype == "bfloat16":
            wide = np.frombuffer(self.bytes, np.uint16).astype(np.uint32) << 16
            return wide.view(np.float32).reshape(self.shape)
        return np.frombuffer(self.bytes, self.dtype).reshape(self.shape)


class Returned:
    """What came of a call, and what then lay in its memory. `notes` came with it."""

    def __init__(self, payload):
        self.number, self.how, self.code, self.seconds, count = struct.unpack_from(
            "<QBidI", payload
        )
        self.what = payload[25 : 25 + count].decode()
        self.notes, self.kinds = read_notes(payload[:-8], 25 + count)
        (self.launches,) = struct.unpack("<q", payload[-8:])


class Worker:
    """A worker for one submission. `without` names modules that its interpreter shall not have;
    `before` is code that it runs first, `how` what it is told besides."""

    def __init__(self, adapters, python=sys.executable, without=(), before="", how=None):
        ours, theirs = socket.socketpair()
        ours.settimeout(120)
        command = [str(python), "-I", "-B"]
        if without or before:
            command += ["-c", WITHOUT.format(modules=list(without)) + before + "\n" + RUN]
        command += [str(WORKER), adapters if isinstance(adapters, str) else json.dumps(adapters)]
        command += [json.dumps(how)] if how else []
        number = theirs.fileno()
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{number} {number}<&-', "bash"] + command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[number],
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
            cwd="/",
        )
        theirs.close()
        self.socket = ours
        self.calls = 0
        self.functions, self.failure = [], None
        self.notes, self.kinds = [], []
        self.unavailable = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()

    def ask(self, kind, payload, descriptor=None):
        message = struct.pack("<II", kind, len(payload)) + payload
        if descriptor is None:
            self.socket.sendall(message)
        else:
            socket.send_fds(self.socket, [message[:1]], [descriptor])
            self.socket.sendall(message[1:])
        kind, count = struct.unpack("<II", self.exactly(8))
        return kind, self.exactly(count)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError(f"the worker ended with {self.process.wait(60)}")
            data += part
        return data

    def load(self, path, memory=0, device=CPU):
        """Loads a submission; `functions` are then the problems, or `failure` the reason. It must
        say that it computes on that device."""
        kind, payload = self.ask(1, struct.pack("<IQ", VERSION, memory) + text(str(path)))
        if kind == 102:
            (self.failure,), at = read_texts(payload, 0, 1)
            self.notes, self.kinds = read_notes(payload, at)
            return self
        assert kind == 101
        assert struct.unpack_from("<Iii", payload) == (VERSION, 1, device)
        (self.unavailable, mode), at = read_texts(payload, 12, 2)
        (count,) = struct.unpack_from("<I", payload, at)
        self.functions, at = read_texts(payload, at + 4, count)
        (sources,), at = read_texts(payload, at, 1)
        assert device == CUDA or self.unavailable == ""
        assert mode in ("", "numpy") and sources == "" and payload[at : at + 1] == b"\0"
        self.notes, self.kinds = read_notes(payload, at + 1)
        return self

    def call(self, problem, inputs, scalars, outputs, timed=False):
        """Calls; `inputs` are Arrays or None, `outputs` pairs of a dtype and a shape.

        The answer also has the outputs and inputs as they lay in memory then, and the message.
        """
        self.calls += 1
        layout = Layout()
        given = [layout.add(x.bytes) if x is not None else None for x in inputs]
        wanted = [layout.add(poison(dtype, shape)) for dtype, shape in outputs]
        message = layout.add(b"\0" * 1024)
        payload = struct.pack("<Q", self.calls) + text(problem) + struct.pack("<Q", 1 << 30)
        payload += struct.pack("<I", len(inputs))
        for array, region in zip(inputs, given):
            payload += b"\0" if array is None else b"\1" + tensor(array.dtype, array.shape, region)
        payload += struct.pack("<I", len(scalars)) + b"".join(map(scalar, scalars))
        payload += struct.pack("<I", len(outputs))
        for (dtype, shape), region in zip(outputs, wanted):
            payload += tensor(dtype, shape, region)
        payload += message + bytes([timed])

        descriptor, memory = layout.make()
        kind, payload = self.ask(2, payload, descriptor)
        os.close(descriptor)
        assert kind == 103
        answer = Returned(payload)
        assert answer.number == self.calls
        answer.outputs = [
            Array(dtype, layout.read(memory, region), shape)
            for (dtype, shape), region in zip(outputs, wanted)
        ]
        answer.mutated = [
            i for i, x in enumerate(inputs) if x and layout.read(memory, given[i]) != x.bytes
        ]
        answer.message = layout.read(memory, message).split(b"\0")[0].decode()
        answer.whole = layout.canaries(memory)
        return answer


class Layout:
    """Where the buffers of a call lie: each on pages of its own, with canaries around it."""

    def __init__(self):
        self.regions, self.size = [], 0

    def add(self, data):
        length = -(-(len(data) + 512) // 4096) * 4096
        offset = (length - len(data)) // 256 * 256
        self.regions.append((self.size, offset, length, data))
        self.size += length
        return struct.pack("<5Q", self.size - length, self.size + 4096, length, offset, len(data))

    def make(self):
        descriptor = os.memfd_create("call", os.MFD_CLOEXEC)
        os.truncate(descriptor, self.size)
        memory = mmap.mmap(descriptor, 0)
        memory[:] = b"\xa5" * self.size
        for start, offset, _, data in self.regions:
            memory[start + offset : start + offset + len(data)] = data
        return descriptor, memory

    @staticmethod
    def read(memory, region):
        start, _, _, offset, count = struct.unpack("<5Q", region)
        return memory[start + offset : start + offset + count]

    def canaries(self, memory):
        """Whether nothing was written beside the buffers."""
        return all(
            set(memory[start : start + offset]) <= {0xA5}
            and set(memory[start + offset + len(data) : start + length]) <= {0xA5}
            for start, offset, length, data in self.regions
        )


def text(value):
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def read_texts(payload, at, count):
    found = []
    for _ in range(count):
        (size,) = struct.unpack_from("<I", payload, at)
        found.append(payload[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return found, at


def read_notes(payload, at):
    """The notes at the end of a message: their lines, and their kinds with the problems."""
    (count,) = struct.unpack_from("<I", payload, at)
    lines, kinds, at = [], [], at + 4
    for _ in range(count):
        kind = payload[at]
        (problem, line), at = read_texts(payload, at + 1, 2)
        lines.append(line)
        kinds.append((kind, problem))
    assert at == len(payload)
    return lines, kinds


def tensor(dtype, shape, region):
    head = struct.pack("<BI", DTYPES.index(dtype), len(shape))
    return head + struct.pack(f"<{len(shape)}q", *shape) + region


def scalar(value):
    if isinstance(value, bool):
        return struct.pack("<Bq", 2, value)
    return struct.pack(
        "<Bd" if isinstance(value, float) else "<Bq", isinstance(value, float), value
    )


def poison(dtype, shape):
    count = int(np.prod(shape, dtype=np.int64))
    return b"\x77" * (count * SIZES[dtype])


# Submissions of one problem.


def argument(name, **value):
    return {"name": name, "value": value}


def takes(*arguments, function="run", **more):
    """Adapters whose only problem calls a function with these arguments after x."""
    return {"problem": {"function": function, "arguments": [X, *arguments], **more}}


X = argument("x", input=0)
TAKES_X = takes()
ONE, ONE_OUT = Array("float32", [1.0]), [("float32", [1])]


def write(folder, files):
    """A submission: texts by path; one text is adapters.py."""
    for name, content in (files if isinstance(files, dict) else {"adapters.py": files}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content))
    return folder


def start(folder, files, adapters=TAKES_X, mode="numpy", before="", how=None, **options):
    """A worker that has loaded it; by NumPy, unless told, for that starts in less time."""
    worker = Worker(adapters, without=MODES[mode], before=before, how=how)
    return worker.load(write(folder, files), **options)


def run(worker, x, outputs, scalars=(), timed=False):
    inputs = x if isinstance(x, list) else [x]
    answer = worker.call("problem", inputs, list(scalars), outputs, timed)
    assert answer.whole, "something was written beside the buffers"
    return answer


def answers(worker, x=Array("float32", [1.0, 2.0]), outputs=(("float32", [2]),)):
    """The worker still does what it is asked."""
    answer = run(worker, x, list(outputs))
    return (answer.how, answer.code, answer.mutated) == (RETURNED, OK, [])
