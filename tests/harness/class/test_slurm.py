# labels: grading slow
# lock: slurm
"""A real Slurm: what the rig of slurm_cluster.py promises. What becomes of jobs, nodes and controllers:
test_grade_slurm.py."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slurm_cluster
from slurm_cluster import Cluster, unavailable

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


def wait(condition, cluster):
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end, cluster.logs()
        time.sleep(0.1)


def left(folder):
    """The processes that have something to do with a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            if bytes(folder) in told and int(process.name) != os.getpid():
                found.append((process.name, (process / "cmdline").read_bytes()))
    return found


def links():
    return set(Path("/tmp").glob(f"{slurm_cluster.LINK}*"))


def test_nothing_is_left(tmp_path):
    deep = tmp_path / "/".join(["deep" * 10] * 4)
    before = links()
    with Cluster(deep, nodes=1) as cluster:
        assert len(links() - before) == 1  # sockets have short names
        cluster.run("sbatch", f"--output={deep}/out", "--wrap",
                    "setsid sleep 1000 & trap '' TERM; touch running; sleep 1000",
                    f"--chdir={deep}")
        wait((deep / "running").exists, cluster)
        assert left(deep)
    assert left(deep) == [] and links() <= before  # others may have gone meanwhile


def test_nothing_is_left_of_a_start_that_fails(tmp_path):
    with pytest.raises(RuntimeError, match="(?s)not ready.*NoSuchOption"):
        Cluster(tmp_path, nodes=1, more="NoSuchOption=1\n", patience=3).__enter__()
    assert left(tmp_path) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_test_is_killed(tmp_path, end):
    code = ("import sys, time, slurm_cluster\n"
            "with slurm_cluster.Cluster(sys.argv[1], nodes=1):\n"
            "    print('ready', flush=True)\n"
            "    time.sleep(1000)\n")
    folder = tmp_path / ("long" * 20)
    before = links()
    test = subprocess.Popen([sys.executable, "-c", code, folder], cwd=Path(slurm_cluster.__file__).parent,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert test.stdout.readline() == b"ready\n"
    assert left(folder) and links() != before
    test.send_signal(end)
    test.communicate()
    until = time.monotonic() + 30
    while (left(folder) or links() != before) and time.monotonic() < until:
        time.sleep(0.1)  # after a SIGKILL others clear up
    assert left(folder) == [] and links() <= before


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(slurm_cluster, "SYSTEM", str(tmp_path))
    assert unavailable() == "there is no slurmctld (Debian: slurmctld)"
