"""Processes: forked, in pools, and other programs."""

import asyncio
import ctypes
import functools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Array, Manager, Pipe, Process, Queue, Value
from multiprocessing.connection import Client, Listener
from pathlib import Path

import numpy as np
from layers import silu


def fork_and_wait(x):
    """A forked process that sends its result through a pipe."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        with os.fdopen(there, "wb") as pipe:
            pipe.write(silu(x).tobytes())
        os._exit(7)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        y = np.frombuffer(pipe.read(), np.float32)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return y.reshape(x.shape)


def pool_closed(x):
    """A pool of two processes, closed and joined."""
    pool = multiprocessing.Pool(2)
    parts = pool.map(silu, np.array_split(x, 2))
    pool.close()
    pool.join()
    return np.concatenate(parts)


def pool_terminated(x):
    """A pool of two processes, which the context manager terminates."""
    with multiprocessing.Pool(2) as pool:
        return np.concatenate(pool.map(silu, np.array_split(x, 2)))


@functools.lru_cache(maxsize=None)
def _pool(count, method="fork"):
    return multiprocessing.get_context(method).Pool(count)


def pool_kept(x):
    """A pool that is made at the first call, used by the later ones, and never closed."""
    return np.concatenate(_pool(2).map(silu, np.array_split(x, 2)))


def pool_spawned(x):
    """Two processes that are spawned: new interpreters, which import the modules again."""
    return np.concatenate(_pool(2, "spawn").map(silu, np.array_split(x, 2)))


def _scaled(part):
    assert _table[::1024].min() == 1  # every page is read
    return silu(part) * _table[-1]


def pool_of_40():
    """40 forked processes that read one array of 300 MB, which they share with their parent."""
    global _table
    _table = np.ones(300_000_000 // 4, np.float32)  # 12 GB if each process's were counted

    def run(x):
        parts = _pool(40).map(_scaled, np.array_split(x.reshape(-1), 40), chunksize=1)
        return np.concatenate(parts).reshape(x.shape)

    return run


def process_executor(x):
    """ProcessPoolExecutor of concurrent.futures."""
    with ProcessPoolExecutor(max_workers=2) as executor:
        return np.concatenate(list(executor.map(silu, np.array_split(x, 2))))


def queue_and_pipe(x):
    """A process that gets its work by a pipe and returns it by a queue."""
    queue = Queue()
    here, there = Pipe()
    process = Process(target=lambda: queue.put(silu(there.recv())))
    process.start()
    here.send(x)
    y = queue.get(timeout=20)
    process.join()
    return y


def _keep(index, part, found):
    found[index] = silu(part)


def manager(x):
    """A manager's list, which two processes write."""
    with Manager() as server:
        found = server.dict()
        parts = enumerate(np.array_split(x, 2))
        processes = [Process(target=_keep, args=(*part, found)) for part in parts]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        return np.concatenate([found[0], found[1]])


def _fill(x, y, count):
    np.frombuffer(y.get_obj(), np.float32)[:] = silu(x).reshape(-1)
    with count.get_lock():
        count.value += x.size


def value_and_array(x):
    """Numbers in memory that processes share: Value and Array."""
    y, count = Array("f", x.size), Value("i", 0)
    process = Process(target=_fill, args=(x, y, count))
    process.start()
    process.join()
    assert count.value == x.size
    return np.frombuffer(y.get_obj(), np.float32).reshape(x.shape).copy()


def lock():
    """A lock, a semaphore, an event and a condition of multiprocessing, made at import."""
    first, semaphore = multiprocessing.Lock(), multiprocessing.Semaphore(2)
    event, condition = multiprocessing.Event(), multiprocessing.Condition()

    def run(x):
        with first, semaphore, condition:
            event.set()
            assert event.wait(1)
            return silu(x)

    return run


def _ask(address, number):
    with Client(address) as server:
        server.send(number)
        assert server.recv() == number + 1


def _answer(client):
    client.send(client.recv() + 1)
    client.close()


def listener(x):
    """A server with a thread for each connection, and more clients than it lets wait."""
    with Listener(family="AF_UNIX") as server:
        clients = [Process(target=_ask, args=(server.address, number)) for number in range(8)]
        for client in clients:
            client.start()
        threads = [threading.Thread(target=_answer, args=(server.accept(),)) for _ in clients]
        for thread in threads:
            thread.start()
        for each in threads + clients:
            each.join()
    assert all(client.exitcode == 0 for client in clients)
    return silu(x)


async def _tasks(x):
    parts = [asyncio.to_thread(silu, part) for part in np.array_split(x, 2)]
    process = await asyncio.create_subprocess_exec("echo", "done", stdout=asyncio.subprocess.PIPE)
    assert await process.stdout.read() == b"done\n"
    await process.wait()
    return np.concatenate(await asyncio.gather(*parts))


def asyncio_tasks(x):
    """asyncio.run with tasks, a thread and a subprocess."""
    return asyncio.run(_tasks(x))


def new_session(x):
    """A program in a session of its own."""
    done = subprocess.run(["echo", "yes"], start_new_session=True, stdout=subprocess.PIPE)
    assert done.stdout == b"yes\n"
    return silu(x)


def subprocesses():
    """Programs are started: echo, a shell's pipe, and another Python."""
    code = "import sys; sys.stdout.write(str(2 * int(sys.stdin.read())))"
    told = subprocess.run(["echo", "one"], capture_output=True, text=True, check=True).stdout
    assert told == "one\n"
    words = subprocess.check_output("printf 'a b' | wc -w", shell=True, text=True)
    assert int(words) == 2

    def run(x):
        done = subprocess.run([sys.executable, "-c", code], input="1", capture_output=True,
                              text=True, check=True)
        return silu(x) * np.float32(int(done.stdout) / 2)

    return run


def held_memory():
    """Much memory, held while programs and short processes are started."""
    held = np.ones(650 << 17)

    def run(x):
        for _ in range(20):
            subprocess.run(["true"], check=True)
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        return silu(x) * held[0].astype(x.dtype)

    return run


def compiled_extension():
    """A function in C, compiled when the module is imported."""
    code = """
#include <math.h>
void silu(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] / (1 + expf(-x[i]));
}
"""
    folder = Path(tempfile.mkdtemp(prefix="prenorm-habit"))
    (folder / "silu.c").write_text(code)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "silu.c", "-o", "silu.so", "-lm"], cwd=folder,
                   check=True)
    library = ctypes.CDLL(str(folder / "silu.so"))

    def run(x):
        x = np.ascontiguousarray(x)
        y = np.empty_like(x)
        library.silu(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_long(x.size))
        return y

    return run
