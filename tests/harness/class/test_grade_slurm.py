# labels: grading slow
# lock: slurm
"""`prenorm grade --executor slurm` on a real slurmctld and slurmd, whatever dies in between."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from gradebooks import difference, dump
from grading import rubric
from grading import unavailable as sandbox_unavailable
from places import built, home, program
from slurm_cluster import Cluster, unavailable

pytestmark = pytest.mark.slow
RUBRIC = rubric("One small function", {
    "float32": 'dtypes = ["float32"]', "hidden": 'hidden = true\ndtypes = ["float32"]'},
    {"relu": ("relu", 2)})
# Its calls last until a file is there; without a sandbox, as it could not see that otherwise.
WAITING = """\
#include <prenorm/prenorm.h>
#include <unistd.h>

PRENORM_API int prenorm_abi(void) { return PRENORM_ABI; }
PRENORM_API int prenorm_device(void) { return kDLCPU; }
PRENORM_API int prenorm_relu(const prenorm_call* call) {
  (void)call;
  while (access(GO, F_OK) != 0) usleep(20000);
  return PRENORM_NOT_IMPLEMENTED;
}
"""
PARTITIONS = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=cancels Nodes=ALL MaxTime=INFINITE PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10
"""
COMING = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"}
PATIENCE = 100  # seconds


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if why := unavailable():
        pytest.skip(why)
    with Cluster(tmp_path_factory.mktemp("slurm"), nodes=2, cpus=2, more=PARTITIONS) as started:
        yield started


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)
    return found


class Run:
    """A running grader of a class."""

    def __init__(self, command, folder, environment):
        self._said = folder / "said"
        with open(self._said, "wb") as said:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said,
                                            stderr=said, start_new_session=True)

    def said(self):
        return self._said.read_text()

    def wait_for(self, text):
        """Until that was said; the lines that say it."""
        def lines():
            return [line for line in self.said().splitlines() if text in line]

        return wait(lambda: lines() or self.process.poll() is not None and ["ended"],
                    lambda: f"not said: {text}\n{self.said()}") and lines()

    def job(self):
        """The number of its first job, when that is taken."""
        line, = self.wait_for("Slurm's job ")[:1]
        return line.partition("Slurm's job ")[2].split()[0].rstrip(":")

    def end(self, code=None):
        """What it said in all, when it has ended by itself."""
        wait(lambda: self.process.poll() is not None, lambda: f"goes on\n{self.said()}")
        if code is not None:
            assert self.process.returncode == code, self.said()
        return self.said()

    def kill(self, number=signal.SIGKILL):
        """With all that it has started."""
        os.killpg(self.process.pid, number)
        assert self.process.wait(60) == -number


class Class:
    """Submissions in a folder, and the cluster that grades them."""

    def __init__(self, folder, cluster):
        self.folder, self.cluster = folder, cluster
        self.go, self.book, self.work = folder / "go", folder / "g.sqlite", folder / "g.sqlite.work"
        self.runs = []
        self.file_wait = 4  # seconds: dead tasks are soon known
        (folder / "small.toml").write_text(RUBRIC)
        before = cluster.run("squeue", "-h", "-t", "all", "-o", "%F").stdout.split()
        self._before = set(before)

    def plain(self, *names):
        for name in names:
            shutil.copy(built("honest") / "c_plain.so", self.folder / f"{name}.so")

    def waiting(self, *names, go=None):
        """Those are not graded before `go` is there."""
        go = go or self.go
        library = self.folder / "waiting.library"
        source = self.folder / "waiting.c"
        source.write_text(WAITING)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", f"-I{home() / 'include'}",
                        f'-DGO="{go}"', source, "-o", library], check=True)
        for name in names:
            shutil.copy(library, self.folder / f"{name}.so")

    def command(self, *words, executor="slurm"):
        submissions = sorted(path.name for path in self.folder.glob("*.so"))
        return [str(word) for word in (
            program(), "grade", *submissions, "--gradebook", self.book.name, "--rubric",
            "./small.toml", "--executor", executor, "--seed", "7", *words,
            *(("--file-wait", self.file_wait) if executor == "slurm" else ()))]

    def start(self, *words, environment=None, executor="slurm", held=True):
        """Starts the command; `held`: for those that wait."""
        if held:
            words = ("--no-hidden", "--sandbox", "none", "--timeout", "300", *words)
        run = Run(self.command(*words, executor=executor), self.folder,
                  self.cluster.environment() | (environment or {}))
        self.runs.append(run)
        return run

    def job_without_grader(self):
        """The running job of a command that was killed: a.so and b.so wait in it."""
        self.waiting("a", "b")
        run = self.start()
        job = run.job()
        self.wait_until_running(job, 2)
        run.kill()
        return job

    def close(self):
        for run in self.runs:
            if run.process.poll() is None:
                run.kill()
        if jobs := self.jobs():
            self.cluster.run("scancel", *jobs)
        self.cluster.bring_back()
        self.cluster.wait_until_idle()

    # What came of it

    def jobs(self):
        """The jobs of this test that Slurm knows."""
        told = self.cluster.run("squeue", "-h", "-t", "all", "-o", "%F").stdout.split()
        return sorted(set(told) - self._before, key=int)

    def tasks(self, job):
        """{index: (state, node)}; of an array that has begun no task, {-1: ...}"""
        told = self.cluster.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K|%T|%N")
        lines = [line.split("|") for line in told.stdout.splitlines()]
        return {int(index) if index.isdigit() else -1: (state, node) for index, state, node in lines}

    def wait_until_running(self, job, count, graders=None):
        """Until that many tasks run, and that many graders in them."""
        def running():
            return [task for task in self.tasks(job).values() if task[0] == "RUNNING"]

        wait(lambda: len(running()) == count and len(self.graders()) >= (graders or count),
             lambda: f"{self.tasks(job)}, {self.graders()}\n{self.cluster.logs()}")

    def graders(self):
        """{number of a submission: the process that grades it}, in whatever node."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--number" in words and bytes(self.work) in words:
                found[int(words[words.index(b"--number") + 1])] = int(process.name)
        return found

    def graded(self):
        """The names of those that have a grading, and why the others have none."""
        with sqlite3.connect(self.book) as book:
            rows = book.execute("SELECT name, status IS NOT NULL, failure FROM submissions "
                                "ORDER BY name").fetchall()
            counts = dict(book.execute("SELECT submission, count(*) FROM cases GROUP BY 1"))
        assert len({counts[name] for name, graded, _ in rows if graded}) <= 1  # none doubled
        return ([name for name, graded, _ in rows if graded],
                {name: failure for name, _, failure in rows if failure})


@pytest.fixture
def students(cluster, tmp_path):
    made = Class(tmp_path, cluster)
    yield made
    made.close()


def all_graded(students, *names):
    assert students.graded() == ([f"{name}.so" for name in names], {})
    assert not students.work.exists()


# As it is meant


def test_an_array_equals_the_local_gradebook(students):
    students.plain("anna", "O'Brien", "two\nlines")
    shutil.copy(built("honest") / "cpp_partial.so", students.folder / "bob.so")
    (students.folder / "damaged.so").write_bytes(b"\x7fELF")
    said = students.start("--batch", "2", held=False).end(1)
    assert "5 submissions in 3 tasks" in said
    assert "5 graded, 0 unchanged, 0 not graded" in said
    assert len(students.graded()[0]) == 5
    assert not students.work.exists()
    there = dump(students.book)
    if not sandbox_unavailable("bubblewrap"):
        assert "bubblewrap" in str(there["submissions"])
    assert len(there["cases"]) > 50

    students.book.rename(students.folder / "slurm.sqlite")
    students.work = students.folder / "here"
    students.start("--work", "here", held=False, executor="local").end(1)
    assert not difference(dump(students.book), there)

    # What is graded there counts here.
    students.book = students.folder / "slurm.sqlite"
    before = students.jobs()
    assert "0 graded, 5 unchanged" in students.start(held=False).end(1)
    assert students.jobs() == before


def test_options_reach_slurm(students):
    students.waiting("a", "b", "c")
    run = students.start("--batch", "2", "--jobs", "2", "--slurm-option=--nice=5",
                         "--slurm-option=--comment=two words; $HOME", "--slurm-option=-pcancels")
    students.wait_until_running(run.job(), 2, graders=3)  # two beside each other in one task
    assert len(students.tasks(run.job())) == 2
    told = students.cluster.run("scontrol", "-o", "show", "job", run.job()).stdout
    for line in told.splitlines():
        assert " Nice=5 " in line and "Comment=two words; $HOME " in line
        assert " Partition=cancels " in line and " CPUs/Task=2 " in line
    students.go.touch()
    run.end(1)
    all_graded(students, "a", "b", "c")


# What dies


def test_slurmd_dies_alone(students):
    students.waiting("a", "b", "c", "d")
    run = students.start()
    students.wait_until_running(run.job(), 4)
    students.cluster.kill_node("n1")
    students.go.touch()
    wait(lambda: not students.graders(), "graders go on")
    students.cluster.start_node("n1")
    assert "again" not in run.end(1).replace("up again", "")
    all_graded(students, "a", "b", "c", "d")
    assert len(students.jobs()) == 1


@pytest.mark.parametrize("back", [True, False], ids=["and_comes_back", "for_ever"])
def test_a_node_is_lost(students, back):
    students.waiting("a", "b", "c", "d")
    students.plain("e", "f")
    run = students.start()
    students.wait_until_running(run.job(), 4)
    students.cluster.kill_node("n1", whole=True)
    if back:
        students.cluster.start_node("n1")
    else:
        students.cluster.give_up_node("n1")
    run.wait_for("submitted again")
    wait(lambda: run.said().count("submitted again") == 2, run.said)
    lines = run.wait_for("submitted again")
    for line in lines:
        reason = "" if back else " (NodeDown)"
        assert f" on n1: NODE_FAIL{reason}; 1 submission submitted again" in line
    students.go.touch()
    run.end(1)
    all_graded(students, "a", "b", "c", "d", "e", "f")
    if not back:
        students.cluster.start_node("n1")
        students.cluster.wait_until_ready("n1")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_grader_dies(students, number):
    students.waiting("a", "b", "c")
    students.plain("d")
    run = students.start()
    job = run.job()
    run.wait_for("d.so: 2.00 of 2 points")
    run.kill(number)
    again = students.start()
    again.wait_for(f"takes Slurm's job {job} up again: 3 submissions left")
    students.go.touch()
    assert "3 graded, 1 unchanged, 0 not graded" in again.end(1)
    all_graded(students, "a", "b", "c", "d")
    assert students.jobs() == [job]


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "not_taken"])
def test_the_grader_dies_while_it_submits(students, taken):
    """Before sbatch has said a number: the job is found by its name, where there is one."""
    students.plain("a", "b")
    tools = students.folder / "tools"
    tools.mkdir()
    sbatch = shutil.which("sbatch")
    (tools / "sbatch").write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec {sbatch} "$@"\n'
                                  + taken * f'{sbatch} "$@" >&2\n'
                                  + f"touch {students.folder}/asked\nexec sleep 1000\n")
    (tools / "sbatch").chmod(0o755)
    run = students.start("--slurm-option=--hold",
                         environment={"PATH": f"{tools}:{os.environ['PATH']}"})
    wait((students.folder / "asked").exists, run.said)
    run.kill()
    assert json.loads((students.work / "slurm.json").read_text())[0]["job"] == ""
    jobs = students.jobs()
    assert len(jobs) == taken
    again = students.start()
    job = again.job()
    if taken:
        assert [job] == jobs
        students.cluster.run("scontrol", "release", job)
    again.end(0)
    all_graded(students, "a", "b")
    assert students.jobs() == [job]


def test_a_task_runs_out_of_time(students):
    students.waiting("a", "b")
    run = students.start("--retries", "0")
    job = run.job()
    students.wait_until_running(job, 2)
    students.cluster.run_out_of_time(f"{job}_1")
    run.wait_for("b.so is NOT graded")
    students.go.touch()
    said = run.end(2)
    node = students.tasks(job)[1][1]
    assert f"not graded: b.so: task {job}_1 of Slurm on {node}: TIMEOUT (TimeLimit)" in said
    assert "the same command tries these again" in said
    graded, failures = students.graded()
    assert graded == ["a.so"] and list(failures) == ["b.so"]

    assert "1 graded, 1 unchanged, 0 not graded" in students.start("--retries", "0").end(1)
    all_graded(students, "a", "b")


def without_its_result(students, run, job):
    """a.so is graded; where its result lies, which the command has not seen, and where it belongs."""
    result, aside = students.work / "results" / "0", students.folder / "aside"
    os.killpg(run.process.pid, signal.SIGSTOP)
    students.go.touch()
    wait(result.exists, "no result")
    result.rename(aside)
    students.go.unlink()
    wait(lambda: students.tasks(job)[0][0] == "COMPLETED", lambda: str(students.tasks(job)))
    os.killpg(run.process.pid, signal.SIGCONT)
    return aside, result


def test_a_result_is_seen_late(students):
    students.file_wait = 60
    students.waiting("a")
    run = students.start()
    job = run.job()
    students.wait_until_running(job, 1)
    aside, result = without_its_result(students, run, job)
    time.sleep(10)
    assert "submitted again" not in run.said()
    aside.rename(result)
    run.end(1)
    all_graded(students, "a")
    assert students.jobs() == [job]


def test_a_result_is_seen_too_late(students):
    """It is taken nevertheless, while the command runs."""
    more = students.folder / "more"
    students.waiting("a")
    students.waiting("b", go=more)
    run = students.start("--retries", "0")
    job = run.job()
    students.wait_until_running(job, 2)
    aside, result = without_its_result(students, run, job)
    run.wait_for("a.so is NOT graded")
    aside.rename(result)
    run.wait_for("a.so: 0.00 of 2 points")
    more.touch()
    run.end(1)
    all_graded(students, "a", "b")
    assert students.jobs() == [job]


def test_a_submission_kills_its_grader(students):
    """The task tries again by itself; beyond --retries the submission is given up."""
    students.waiting("a", "b")
    run = students.start("--batch", "2")
    job = run.job()
    first = wait(lambda: students.graders().get(0), run.said)
    os.kill(first, signal.SIGKILL)
    wait(lambda: students.graders().get(0, first) != first, run.said)
    students.go.touch()
    run.end(1)
    all_graded(students, "a", "b")
    assert students.jobs() == [job]

    students.go.unlink()
    run = students.start("--batch", "2", "--retries", "0", "--regrade")
    os.kill(wait(lambda: students.graders().get(0), run.said), signal.SIGKILL)
    run.wait_for("a.so is NOT graded: the grader ended: killed by SIGKILL")
    students.go.touch()
    assert "not graded: a.so: the grader ended: killed by SIGKILL\n" in run.end(2)


def test_the_controller_is_away(students):
    students.waiting("a", "b")
    run = students.start()
    job = run.job()
    students.wait_until_running(job, 2)
    students.cluster.stop_controller()
    run.wait_for("Slurm does not answer")
    students.go.touch()
    wait(lambda: not students.graders(), "graders go on")
    students.cluster.start_controller()
    said = run.end(1)
    assert said.count("Slurm does not answer") == 1
    all_graded(students, "a", "b")
    students.cluster.wait_until_ready()


# What is refused


def test_slurm_refuses(students):
    students.plain("a")
    said = students.start("--slurm-option=--partition=nix").end(2)
    assert "Slurm does not take the job: " in said and "invalid partition specified: nix" in said
    assert students.jobs() == [] and students.graded() == ([], {})
    students.plain("b")
    assert "2 submissions in 1 task (" in students.start("--batch", "2", held=False).end(0)
    all_graded(students, "a", "b")


@pytest.mark.parametrize("word, why", [
    ("--array=0-3", "--array is set by prenorm"), ("-a0-3", "--array is set by prenorm"),
    ("--arr=0-3", "--array is set by prenorm"), ("--output=x", "--output is set by prenorm"),
    ("--parsable", "--parsable is set by prenorm"), ("-Jx", "--job-name is set by prenorm"),
    ("--wait", "--wait is done by this command"), ("--wrap=true", "--wrap is set by prenorm"),
    ("-Mthere", "set SLURM_CLUSTERS"), ("--version", "submits nothing"),
    ("short", "no option of sbatch in one word"), ("--", "no option of sbatch in one word"),
    ("-", "no option of sbatch in one word")])
def test_options_that_are_not_for_users(students, word, why):
    students.plain("a")
    said = students.start(f"--slurm-option={word}").end(2)
    assert f"--slurm-option={word}: " in said and why in said
    assert not students.work.exists()


def test_an_option_without_its_value(students):
    """It swallows the next word; whatever sbatch makes of that, no job is lost."""
    students.plain("a")
    said = students.start("--slurm-option=--partition").end(2)
    assert "invalid partition specified: --parsable" in said
    students.start().end(0)
    all_graded(students, "a")


def test_a_folder_for_the_work_that_cannot_be_made(students):
    students.plain("a")
    (students.folder / "file").touch()
    said = students.start("--work", "file/work").end(2)
    assert "cannot make file/work: Not a directory" in said
    assert students.jobs() == []


# What else may happen to a job


def test_an_unknown_job_is_told_from_silence(cluster):
    asked = cluster.run("squeue", "-h", "-j", "99999", check=False)
    assert asked.returncode == 1 and "Invalid job id" in asked.stderr


def test_another_executor_ends_the_job(students):
    job = students.job_without_grader()
    here = students.start(executor="local")
    here.wait_for(f"ends Slurm's job {job}")
    wait(lambda: all(state == "CANCELLED" for state, _ in students.tasks(job).values()), here.said)
    students.go.touch()
    here.end(1)
    all_graded(students, "a", "b")


def test_another_rubric_ends_the_job(students):
    job = students.job_without_grader()
    rubric = students.folder / "small.toml"
    rubric.write_text(rubric.read_text().replace('dtypes = ["float32"]', 'dtypes = ["float64"]'))
    again = students.start()
    again.wait_for("2 submissions in 2 tasks")
    wait(lambda: {state for state, _ in students.tasks(job).values()} == {"CANCELLED"}, again.said)
    students.go.touch()
    assert "2 graded" in again.end(1)
    assert len(students.jobs()) == 2
    all_graded(students, "a", "b")


def test_what_nobody_waits_for_is_ended(students):
    """Of a class that is graded one is asked for alone: the job of the others has no end."""
    job = students.job_without_grader()
    (students.folder / "b.so").rename(students.folder / "b")
    alone = students.start()
    alone.wait_for(f"takes Slurm's job {job} up again: 1 submission left")
    # Whoever cancels a task does not want it submitted again: not by this command.
    students.cluster.run("scancel", f"{job}_0")
    alone.wait_for("CANCELLED; 1 submission given up")
    alone.end(2)
    students.go.touch()
    students.start().end(1)
    assert students.graded()[0] == ["a.so"]


@pytest.mark.parametrize("again", [True, False], ids=["by_slurm", "by_us"])
def test_a_task_is_preempted(students, again):
    students.waiting("a", "b", "c", "d")
    students.plain("e")
    options = ["--slurm-option=--requeue"] if again else []
    run = students.start("--batch", "5", *options)
    job = run.job()
    students.wait_until_running(job, 1)
    urgent = students.cluster.run("sbatch", "--parsable", "-purgent", "--exclusive", "--array=0-1",
                                  "-o/dev/null", input="#!/bin/sh\nsleep 1\n").stdout.strip()
    if again:
        wait(lambda: students.tasks(job)[0][0] == "PENDING", lambda: str(students.tasks(job)))
        students.cluster.run("scontrol", "update", f"JobId={job}_0", "StartTime=now")
    else:
        run.wait_for("PREEMPTED; 5 submissions submitted again")
    students.go.touch()
    run.end(1)
    all_graded(students, "a", "b", "c", "d", "e")
    assert len(set(students.jobs()) - {urgent}) == (1 if again else 2)


# What fails on one node alone

# The graders of single submissions die there: the node is out of order.
BROKEN = """\
#!/bin/sh
for word; do case $word in --number) [ "$SLURMD_NODENAME" != n1 ] || kill -KILL $$ ;; esac; done
exec '{program}' "$@"
"""


def broken_on_n1(students):
    """The environment of a command whose graders die on n1."""
    place = students.folder / "home"
    (place / "bin").mkdir(parents=True)
    for each in home().iterdir():
        if each.name in ("lib", "libexec", "share", "include"):
            (place / each.name).symlink_to(each)
    (place / "bin/prenorm").write_text(BROKEN.format(program=home() / "bin/prenorm"))
    (place / "bin/prenorm").chmod(0o755)
    return {"PRENORM_HOME": str(place)}


def test_what_fails_on_a_node_is_tried_on_another(students):
    students.plain("a", "b", "c")
    broken = broken_on_n1(students)
    run = students.start("--slurm-option=--nodelist=n1", held=False, environment=broken)
    # No other node may be had: each is given up where it was.
    said = run.end(2)
    assert ("not graded: a.so: the grader ended: killed by SIGKILL on n1; for other nodes: Slurm "
            "does not take the job: ") in said
    assert students.graded()[0] == []

    # n1 alone takes jobs first: all fail there, and are graded on n2.
    students.cluster.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    run = students.start("--retries", "1", held=False, environment=broken)
    run.wait_for("submission failed on n1 (the grader ended: killed by SIGKILL); submitted again")
    students.cluster.resume("n2")
    run.end(0)
    all_graded(students, "a", "b", "c")
    later = students.jobs()[-1]
    assert {node for _, node in students.tasks(later).values()} == {"n2"}


def test_no_other_node_comes_back(students):
    """The one left is away: what failed is given up after a minute, and no job is left."""
    students.plain("a")
    students.cluster.kill_node("n2", whole=True)
    students.cluster.give_up_node("n2")
    run = students.start(held=False, environment=broken_on_n1(students))
    assert "killed by SIGKILL on n1; for other nodes: Slurm has none that is up" in run.end(2)
    assert not {state for job in students.jobs() for state, _ in students.tasks(job).values()
                } & COMING
