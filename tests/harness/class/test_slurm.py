# labels: grading slow
# lock: slurm
"""A real Slurm: what the rig of slurm_cluster.py promises, and what Slurm tells of jobs. Nodes,
controllers and time that run out: test_grade_slurm.py."""

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

COMING = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.fixture
def submit(cluster, tmp_path):
    """submit(script, options...): the id of a job that runs in tmp_path; cancelled afterwards."""
    jobs = []

    def submitted(script, *options):
        done = cluster.run("sbatch", "--parsable", "--no-requeue", f"--chdir={tmp_path}",
                           f"--output={tmp_path}/%a.log", *options, input=script)
        jobs.append(done.stdout.strip())
        return jobs[-1]

    yield submitted
    cluster.run("scancel", *jobs)
    cluster.wait_until_idle()


def tasks(cluster, job):
    """{index: (state, node, reason)}, as squeue tells them."""
    told = cluster.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K|%T|%N|%r").stdout
    lines = [line.split("|", 3) for line in told.splitlines()]
    return {int(index): tuple(rest) for index, *rest in lines}


def wait(condition, cluster, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, cluster.logs()
        time.sleep(0.1)


def wait_for_end(cluster, job):
    """The tasks when all have ended."""
    wait(lambda: not any(state in COMING for state, *_ in tasks(cluster, job).values()), cluster)
    return tasks(cluster, job)


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


# What Slurm tells


def test_an_array_runs_with_sandboxes_in_its_tasks(cluster, submit, tmp_path):
    job = submit("#!/bin/sh\nbwrap --unshare-all --ro-bind / / --proc /proc --dev /dev "
                 "sh -c 'echo $$' && echo $SLURM_ARRAY_TASK_ID\n", "--array=0-9")
    told = wait_for_end(cluster, job)
    assert {index: state for index, (state, *_) in told.items()} == dict.fromkeys(
        range(10), "COMPLETED")
    for index in range(10):
        assert (tmp_path / f"{index}.log").read_text().split() == ["2", str(index)]


def test_how_tasks_end(cluster, submit):
    job = submit("#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in 0) exit 3;; 1) kill -9 $$;; esac\n"
                 "sleep 1000\n", "--array=0-2")
    wait(lambda: tasks(cluster, job)[2][0] == "RUNNING", cluster)
    cluster.run("scancel", f"{job}_2")
    told = wait_for_end(cluster, job)
    assert {index: (state, reason) for index, (state, _, reason) in told.items()} == {
        0: ("FAILED", "NonZeroExitCode"), 1: ("FAILED", "JobLaunchFailure"),
        2: ("CANCELLED", "None")}


def test_an_unknown_job_is_told_from_silence(cluster):
    asked = cluster.run("squeue", "-h", "-j", "99999", check=False)
    assert asked.returncode == 1 and "Invalid job id" in asked.stderr


# What the rig promises


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
