"""A look at the machine while a grader runs: what it takes, and what it leaves.

Ends the grader, and all that it has started, before it takes the machine down."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20
CGROUPS = Path("/sys/fs/cgroup")
# Programs that run what was handed in; all others of the home are the grader's own.
STRANGERS = ("prenorm-worker", "prenorm-confine")


@dataclass
class One:
    """A process."""

    parent: int
    state: str
    bytes: int
    program: str


def one_of(folder):
    """The process of a folder of /proc; None: it has ended."""
    try:
        fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    try:
        program = os.path.basename(os.readlink(folder / "exe"))
    except OSError:  # a zombie has none
        program = ""
    return One(int(fields[1]), fields[0].decode(), int(fields[21]) * PAGE, program)


def processes():
    found = {int(folder.name): one_of(folder) for folder in Path("/proc").glob("[0-9]*")}
    return {number: one for number, one in found.items() if one is not None}


def descendants(pid, everybody):
    found, rest = {}, [pid]
    children = {}
    for number, one in everybody.items():
        children.setdefault(one.parent, []).append(number)
    while rest:
        each = rest.pop()
        if each in everybody and each not in found:
            found[each] = everybody[each]
            rest += children.get(each, [])
    return found


def available():
    """Bytes of memory that the machine has left."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def left_on_disk(folder):
    """Bytes and inodes."""
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize, info.f_ffree


def cgroups():
    return {path for path in CGROUPS.glob("**/*prenorm*") if path.is_dir()}


@dataclass
class Watch:
    """Runs a command as subprocess.run does, and looks fifty times a second."""

    most_of_grader: int = 1500 * MIB  # a grader that has more is ended
    least_available: int = 8192 * MIB  # likewise all, where the machine has less
    grader: int = 0     # the most bytes that one of its own processes had
    taken: int = 0      # the most that the machine had less than before
    disk: int = 0       # likewise of the disk with the folder for temporary files
    names: int = 0      # likewise of its inodes
    zombies: int = 0    # the most at a time
    most: int = 0       # processes at a time
    seconds: float = 0
    ended: str = ""     # why it was
    left: list = field(default_factory=list)  # cgroups

    def run(self, command, timeout, cwd, env, capture_output=True):
        before, groups = (available(), *left_on_disk(env["TMPDIR"])), cgroups()
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        over = threading.Event()
        watcher = threading.Thread(target=self.look, args=(process.pid, env["TMPDIR"], before, over))
        watcher.start()
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.end(process.pid, f"it took more than {timeout} s")
            stdout, stderr = process.communicate()
        finally:
            over.set()
            watcher.join()
        self.seconds = time.monotonic() - start
        self.left = sorted(map(str, cgroups() - groups))
        print(self.told())
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def look(self, pid, scratch, before, over):
        while not over.wait(0.02):
            family = descendants(pid, processes())
            own = max((one.bytes for one in family.values() if one.program.startswith("prenorm")
                       and one.program not in STRANGERS), default=0)
            free, (disk, names) = available(), left_on_disk(scratch)
            self.grader = max(self.grader, own)
            self.taken = max(self.taken, before[0] - free)
            self.disk = max(self.disk, before[1] - disk)
            self.names = max(self.names, before[2] - names)
            self.zombies = max(self.zombies, sum(one.state == "Z" for one in family.values()))
            self.most = max(self.most, len(family))
            if own > self.most_of_grader:
                self.end(pid, f"the grader had {own // MIB} MiB")
            elif free < self.least_available:
                self.end(pid, f"the machine had {free // MIB} MiB left")

    def end(self, pid, why):
        self.ended = self.ended or why
        for _ in range(20):
            family = descendants(pid, processes())
            for each in sorted(family, key=lambda number: number == pid):  # the grader last
                try:
                    os.kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if all(one.state == "Z" for one in family.values()):
                return
            time.sleep(0.05)

    def told(self):
        return (f"{self.seconds:.1f} s, grader {self.grader // MIB} MiB, taken "
                f"{self.taken // MIB} MiB, disk {self.disk // MIB} MiB, {self.names} names, "
                f"{self.most} processes, {self.zombies} zombies"
                + f", ENDED: {self.ended}" * bool(self.ended))


class FewProcesses:
    """Commands that have at most so many processes and threads together, whatever they do. What goes
    wrong below it takes nothing of the machine but that.

    By a control group; where a normal user may make none, by the limit on all that is his."""

    def __init__(self, most):
        self.most, self.group = most, make_group(most)
        if self.group is None and os.geteuid() == 0:
            pytest.skip("no control group limits processes here, and no other limit holds for root")

    def command(self, words):
        """The same, below the limit; its process keeps its number."""
        if self.group is None:
            most = len(tasks_of_user()) + self.most
            return ["prlimit", f"--nproc={most}:{most}", *words]
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', self.group / "cgroup.procs", *words]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.group is None:
            return
        (self.group / "pids.max").write_text("0")  # so that nothing is new
        end = time.monotonic() + 20
        while (there := members(self.group)) and time.monotonic() < end:
            for process in there:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        for folder, _, _ in os.walk(self.group, topdown=False):
            os.rmdir(folder)


def make_group(most):
    """A control group with that limit; None: nobody may make one here. One of version 2 limits memory,
    too: a grader that may not do so below its own group leaves it."""
    for parent, controls in ((CGROUPS / "pids", {"pids.max"}),
                             (CGROUPS, {"pids.max", "memory.max"})):
        group = parent / f"few-processes-{os.getpid()}"
        if not (parent / "cgroup.procs").exists() or not os.access(parent, os.W_OK):
            continue
        group.mkdir()
        if all((group / name).exists() for name in controls):
            (group / "pids.max").write_text(str(most))
            return group
        group.rmdir()
    return None


def members(group):
    return [int(process) for file in (group / "cgroup.procs", *group.glob("**/*/cgroup.procs"))
            for process in file.read_text().split()]


def tasks_of_user():
    own = {folder for folder in Path("/proc").glob("[0-9]*") if folder.exists()
           and folder.stat().st_uid == os.getuid()}
    return [task for folder in own for task in folder.glob("task/*")]
