"""The worker's own process: what a submission may change in it, its limits, and its prints.

prenorm_worker.py loads this file.
"""

import mmap
import os
import random
import resource
import signal
import sys

leave = os._exit  # a submission may put another in its place

# Something in it: a copy has ended for another. (Not shared memory: the supervisor would count it as the
# submission's.)
asked, asks = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)


class Settings:
    """State of the interpreter that a submission may change and the worker needs unchanged."""

    def __init__(self, least_depth=0):
        self.depth = max(sys.getrecursionlimit(), least_depth)
        numbers = (signal.SIGINT, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)
        self.handlers = {number: signal.getsignal(number) for number in numbers}

    def restore(self):
        sys.setrecursionlimit(self.depth)
        stop_tracing_and_timers()
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def stop_tracing_and_timers():
    sys.settrace(None)
    sys.setprofile(None)
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)


def empty_caches():
    """Overwrites four times the last level cache."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index3/size") as file:
            size = int(file.read().strip().rstrip("K")) << 10
    except (OSError, ValueError):
        size = 32 << 20
    bytearray(b"\1") * (4 * size)


def keep_prints():
    """A crash loses no whole line, and no character ends a call."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")


def flush_prints():
    """What a call printed belongs to it. The streams may be the submission's own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def seed_chance():
    """What is random is the same in every process. (torch's generators are so by themselves.)"""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


def copy():
    """True in a copy of this process, and in another one whenever one calls end_for_another().
    This process ends as any other copy does. False: it cannot be copied, and goes on itself. Where
    it has threads, a copy would be without them, and wait for them for ever."""
    flush_prints()
    state = random.getstate()  # Python seeds it anew where a process is copied
    while True:
        try:
            number = os.fork() if len(os.listdir("/proc/self/task")) == 1 else None
        except OSError:
            number = None
        if number is None:
            return False
        if number == 0:
            random.setstate(state)
            return True
        ended = os.waitpid(number, 0)[1]
        if is_another_asked_for():
            continue
        if os.WIFEXITED(ended):
            leave(os.WEXITSTATUS(ended))
        try:
            signal.signal(os.WTERMSIG(ended), signal.SIG_DFL)
        except OSError:  # of SIGKILL
            pass
        os.kill(os.getpid(), os.WTERMSIG(ended))
        leave(128 + os.WTERMSIG(ended))


def is_another_asked_for():
    try:
        return os.read(asked, 1 << 16) != b""  # all: the submission may have written too
    except OSError:  # there is nothing
        return False


def end_for_another():
    """Where this is no copy, the program starts the other."""
    try:
        os.write(asks, b"1")
    except OSError:  # the submission has closed or filled it
        pass
    leave(0)


def limit_addresses(more):
    """Limits the address space for good, to its current size plus some bytes; 0: no limit."""
    if more == 0:
        return
    try:
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * mmap.PAGESIZE + more
    except OSError:  # not permitted: then the sandbox limits the memory
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def volunteer_for_the_oom_killer():
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
