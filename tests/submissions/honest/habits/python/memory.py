"""Memory that is mapped, and memory that processes share."""

import mmap
import os
import tempfile
from multiprocessing import Process
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from layers import silu


def anonymous_memory(x):
    """Memory without a file, which a forked process fills."""
    memory = mmap.mmap(-1, x.nbytes)
    y = np.frombuffer(memory, np.float32).reshape(x.shape)
    child = os.fork()
    if child == 0:
        y[...] = silu(x)
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    return y.copy()


def shared_mapping(x):
    """Large tables, each shared with a forked process and given back, of which little is used."""
    for _ in range(15):
        with mmap.mmap(-1, 200 << 20) as table:
            child = os.fork()
            if child == 0:
                table[-4:] = b"here"
                os._exit(0)
            os.waitpid(child, 0)
            assert table[-4:] == b"here" and table[:4] == bytes(4)
    return silu(x)


def _fill(name, x):
    memory = SharedMemory(name)
    np.ndarray(x.shape, x.dtype, memory.buf)[...] = silu(x)
    memory.close()


def shared_memory(x):
    """The result is written by another process into shared memory, which is then unlinked."""
    memory = SharedMemory(create=True, size=x.nbytes)
    process = Process(target=_fill, args=(memory.name, x))
    process.start()
    process.join()
    y = np.ndarray(x.shape, x.dtype, memory.buf).copy()
    memory.close()
    memory.unlink()
    return y


def shared_memory_left():
    """Shared memory by a name of its own, which is never unlinked."""
    global _kept
    _kept = SharedMemory("prenorm-habit", create=True, size=1 << 20)

    def run(x):
        _fill("prenorm-habit", x)
        return np.ndarray(x.shape, x.dtype, _kept.buf).copy()

    return run


def memory_map(x):
    """Arrays in files that are mapped into memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        np.save(path, x)
        y = np.memmap(path + ".y", np.float32, "w+", shape=x.shape)
        y[...] = silu(np.load(path, mmap_mode="r"))
        y.flush()
        return np.array(np.memmap(path + ".y", np.float32, "r", shape=x.shape))
