"""What there is to know of the machine, its user and its limits; clocks, random numbers, a network."""

import datetime
import getpass
import grp
import multiprocessing
import os
import platform
import pwd
import random
import resource
import secrets
import socket
import sys
import sysconfig
import time
import timeit
import urllib.request
import uuid
from pathlib import Path

import numpy as np
from layers import silu


def clocks():
    """Clocks, sleeping, dates and time zones."""
    assert datetime.datetime.now().astimezone().utcoffset() is not None
    assert time.strftime("%Y-%m-%d") >= "2020" and time.process_time() > 0 and time.thread_time() > 0

    def run(x):
        start = time.perf_counter()
        time.sleep(0.01)
        assert time.perf_counter() - start >= 0.01
        assert timeit.timeit(lambda: silu(x), number=3) > 0
        return silu(x)

    return run


def machine():
    """What a log says about the machine."""
    assert platform.platform() and platform.node() and platform.processor() is not None
    assert socket.gethostname() == os.uname().nodename
    assert platform.python_version_tuple()[0] == "3" and sysconfig.get_paths()["stdlib"]
    assert platform.libc_ver() and platform.freedesktop_os_release()["ID"]
    assert os.path.exists(sys.executable) and os.getpid() > 0
    return silu


def processors():
    """How many processors there are, and asking to stay on one of them."""
    assert os.cpu_count() >= 1 and multiprocessing.cpu_count() >= 1
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    assert os.nice(0) >= 0 and os.getloadavg()[0] >= 0
    with open("/proc/cpuinfo") as file:
        assert "processor" in file.read()
    with open("/proc/meminfo") as file:
        assert "MemTotal" in file.read()
    return silu


def user():
    """Who runs this, and where that user's folder is."""
    entry = pwd.getpwuid(os.getuid())
    assert entry.pw_name and entry.pw_dir
    assert grp.getgrgid(os.getgid()).gr_name
    assert getpass.getuser() and Path.home().is_absolute()
    assert os.path.expanduser("~/data") == str(Path.home() / "data")
    # Where libraries keep what they have downloaded.
    cache = Path.home() / ".cache" / "prenorm-habit"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "vocabulary.txt").write_text("a b c")

    def run(x):
        assert (cache / "vocabulary.txt").read_text() == "a b c"
        return silu(x)

    return run


def resource_limits():
    """What was used, and limits that a program sets for itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 128), hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime >= 0

    def run(x):
        assert resource.getpagesize() > 0
        return silu(x)

    return run


def random_seeds():
    """Random numbers, seeded and not."""
    random.seed(42)
    np.random.seed(42)
    rng = np.random.default_rng()
    names = {str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(16), os.urandom(16).hex()}
    assert len(names) == 4 and uuid.getnode() > 0

    def run(x):
        order = rng.permutation(len(x))
        y = np.empty_like(x)
        y[order] = silu(x[order])
        return y

    return run


def download():
    """A vocabulary would be downloaded; without a network there is a small one."""
    try:
        with urllib.request.urlopen("https://example.org/vocabulary.txt", timeout=5) as answer:
            vocabulary = answer.read()
    except OSError:
        vocabulary = b"a b c"

    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1).close()
    except OSError:
        pass

    def run(x):
        assert vocabulary
        return silu(x)

    return run
