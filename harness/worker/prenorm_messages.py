"""The messages of protocol.md, version 9, as a worker reads and sends them.

prenorm_worker.py loads this file.
"""

import array
import os
import socket
import struct

VERSION = 9
CPU, CUDA = 1, 2  # DLPack's names of devices
LARGEST_MESSAGE = 1 << 20
LOAD, CALL, MEASURE_COPY, BEGIN_ANEW = 1, 2, 3, 5
LOADED, LOAD_FAILED, RETURNED, BANDWIDTH, BEGUN = 101, 102, 103, 105, 107
# How a call went.
BACK, OUT_OF_MEMORY, ABSENT, DEVICE_FAILED, NOT_LOADED, NO_DEVICE = 0, 2, 3, 4, 7, 9
OTHER_SHAPE, OTHER_DTYPE = 5, 6
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "bool")


class Reader:
    """Reads numbers and texts from a payload."""

    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def numbers(self, kinds):
        values = struct.unpack_from("<" + kinds, self.payload, self.at)
        self.at += struct.calcsize("<" + kinds)
        return values

    def number(self, kind):
        return self.numbers(kind)[0]

    def text(self):
        count = self.number("I")
        self.at += count
        return self.payload[self.at - count : self.at].decode("utf-8", "surrogateescape")

    def list(self, item):
        return [item() for _ in range(self.number("I"))]


class Region:
    """The location of a tensor's data, or of the error message, in the call's file."""

    def __init__(self, reader):
        file_offset, _, _, data_offset, self.bytes = reader.numbers("5Q")
        self.offset = file_offset + data_offset


class Tensor:
    """An argument or a result: type, shape and location."""

    def __init__(self, reader):
        self.dtype = reader.number("B")
        self.shape = reader.list(lambda: reader.number("q"))
        self.region = Region(reader)


class Call:
    def __init__(self, payload):
        reader = Reader(payload)
        self.number = reader.number("Q")
        self.problem = reader.text()
        reader.number("Q")  # the stretch of addresses: mmap of Python maps the file as it is
        self.inputs = reader.list(lambda: Tensor(reader) if reader.number("B") else None)
        self.scalars = reader.list(lambda: self.scalar(reader))
        self.outputs = reader.list(lambda: Tensor(reader))
        self.error = Region(reader)
        self.timed = reader.number("B") != 0

    @staticmethod
    def scalar(reader):
        kind = reader.number("B")
        value = reader.number("d" if kind == 1 else "q")
        return bool(value) if kind == 2 else value


def text(value):
    data = value.encode("utf-8", "replace")
    return struct.pack("<I", len(data)) + data


def notes(each):
    """Of (kind, problem, words)."""
    return struct.pack("<I", len(each)) + b"".join(
        struct.pack("<B", kind) + text(problem) + text(words) for kind, problem, words in each
    )


def cut(value, most):
    """The text as UTF-8, truncated to `most` bytes at a character."""
    return value.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode()


class Connection:
    """The socket to the program. When it is closed, the process exits at once."""

    def __init__(self):
        self.socket = socket.socket(fileno=3)
        self.socket.set_inheritable(False)
        self.pid = os.getpid()

    def receive(self):
        """The next message: its kind, its payload, and the descriptor that came with it or -1."""
        descriptors = []
        kind, count = struct.unpack("<II", self._exactly(8, descriptors))
        if count > LARGEST_MESSAGE:
            raise ValueError("too long a message")
        payload = self._exactly(count, descriptors)
        return kind, payload, descriptors[0] if descriptors else -1

    def _exactly(self, count, descriptors):
        data = bytearray()
        while len(data) < count:
            part, beside, _, _ = self.socket.recvmsg(
                count - len(data), socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
            )
            if not part:
                os._exit(0)
            for level, kind, content in beside:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    descriptors.extend(array.array("i", content[:4]))
            data += part
        return bytes(data)

    def send(self, kind, payload):
        if os.getpid() != self.pid:
            os._exit(1)  # a function forked and returned twice: the child must not answer
        self.socket.sendall(struct.pack("<II", kind, len(payload)) + payload)
