"""What the tests of grading a class share: a course of two problems, a class of four, and what
stands in a gradebook."""

import ctypes
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from grading import rubric
from places import home, program, shipped

RUBRIC = rubric("A course of two problems", {
    "float32": 'share = 3\ndtypes = ["float32"]\nexcept = ["width_*"]',
    "widths": 'share = 1\ndtypes = ["float32"]\ncases = ["width_*"]'},
    {"silu": ("silu", 2), "gelu": ("gelu", 1)})
FIXTURES = ("silu", "gelu")
TIMES = {"seconds", "graded_at", "set_at"}


def write_course(folder):
    """A rubric of two problems, and a class: two did all of it, one nothing, one has no file but a
    README."""
    (folder / "fixtures").mkdir(parents=True)
    for name in FIXTURES:
        shutil.copy(home() / "share/prenorm/fixtures" / f"{name}.h5", folder / "fixtures")
    (folder / "rubric.toml").write_text(RUBRIC)
    for name in ("ann", "ben", "cy", "dee"):
        (folder / "subs" / name).mkdir(parents=True)
    shutil.copy(shipped("plain"), folder / "subs/ann/solution.so")
    shutil.copy(shipped("reference"), folder / "subs/ben/solution.so")
    shutil.copy(shipped("mistakes"), folder / "subs/cy/solution.so")
    (folder / "subs/dee/README.md").write_text("Sorry, I was ill.\n")


class Course:
    """A folder with subs/NAME, fixtures, rubric.toml and g.sqlite; the grader is started in it."""

    def __init__(self, folder):
        adopt_orphans()
        self.folder = folder
        self.book = folder / "g.sqlite"
        self.work = folder / "g.sqlite.work"
        self.words = ["--rubric", "rubric.toml", "--fixtures", "fixtures",
                      "--no-hidden", "--seed", 7]
        self.environment = {}
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.submissions = None  # all

    def names(self):
        return sorted(f"subs/{each.name}" for each in (self.folder / "subs").iterdir())

    def command(self, *words, submissions=None, jobs=2):
        chosen = submissions or self.submissions or self.names()
        words = ["--gradebook", "g.sqlite", "--jobs", jobs, *self.words, *words, "--", *chosen]
        return [program(), "grade", *(os.fsencode(str(word)) for word in words)]

    def start(self, *words, stderr=subprocess.PIPE, **more):
        return subprocess.Popen(self.command(*words, **more), cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=stderr,
                                env={**os.environ, "TMPDIR": str(self.scratch),
                                     **self.environment})

    def finish(self, process):
        """(exit code, printed) of a grader that ends by itself and leaves nothing behind."""
        try:
            printed = b"".join(text or b"" for text in process.communicate(timeout=1800))
        finally:
            process.kill()
        none_left()
        left = [*self.scratch.rglob("*"), *self.folder.glob("g.sqlite[.-]*"),
                *(self.work.rglob("*") if self.work.exists() else ())]
        assert not left, left[:5]
        return process.returncode, printed.decode("utf-8", "strict")

    def grade(self, *words, **more):
        return self.finish(self.start(*words, **more))

    def hold(self, folder):
        """No submission is graded before the gate, which is returned, is open."""
        self.gate = Gate(folder)
        self.environment = self.gate.environment
        return self.gate

    # What is graded again by the next run: all that is not marked any more.

    def mark(self):
        with sqlite3.connect(self.book) as book:
            book.execute("UPDATE submissions SET program = 'marked'")
            book.execute("UPDATE course SET rubric = ?", [str(self.folder / "rubric.toml")])
        book.close()

    def graded_again(self):
        return {name for name, mark in self.ask("SELECT name, program FROM submissions")
                if mark != "marked"}

    def ask(self, sql, *values):
        book = sqlite3.connect(self.book)
        book.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        rows = book.execute(sql, values).fetchall()
        book.close()
        return rows

    def earned(self):
        return dict(self.ask("SELECT submission, sum(earned) FROM items GROUP BY submission"))


def without(members, value):
    """JSON without these members of its objects."""
    if isinstance(value, dict):
        return {key: without(members, each) for key, each in value.items() if key not in members}
    return [without(members, each) for each in value] if isinstance(value, list) else value


def dump(path, leave_out=TIMES):
    """{table: its rows}: all that is in a gradebook but the times."""
    book = sqlite3.connect(path)
    book.row_factory = sqlite3.Row
    tables = [row[0] for row in book.execute("SELECT name FROM sqlite_master ORDER BY name")
              if not row[0].startswith("sqlite_")]
    found = {}
    for table in tables:
        rows = [tuple((key, json.dumps(without(leave_out, json.loads(row[key])))
                       if key in ("outline", "results") and row[key] else row[key])
                      for key in row.keys() if key not in leave_out)
                for row in book.execute(f"SELECT * FROM {table}")]
        found[table] = sorted(rows, key=repr)
    book.close()
    return found


def difference(one, other):
    """Where two dumps differ, to be read; empty: nowhere."""
    lines = [f"{table}: {row}"[:400] for table in {*one, *other}
             for row in {*one.get(table, ())} ^ {*other.get(table, ())}]
    lines += [f"{table}: {len(one.get(table, ()))} and {len(other.get(table, ()))} rows"
              for table in {*one, *other} if len(one.get(table, ())) != len(other.get(table, ()))]
    return "\n".join(lines[:10])


# Processes


def adopt_orphans():
    """What our children leave behind becomes our child."""
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def words_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def graders(pid):
    """Of a class's grader: the processes that grade a submission each."""
    return [child for child in children(pid) if b"--planned" in words_of(child)]


def end_unborn_sandboxes():
    """bwrap 0.8's child waits for a word of its parent's, for ever where that is killed before: it
    has no program, and nothing of a submission, in it yet."""
    for pid in children(os.getpid()):
        words = words_of(pid)
        try:
            waits = "eventfd" in Path(f"/proc/{pid}/stack").read_text()
        except OSError:  # only root may read it
            waits = True
        if words and words[0].endswith(b"bwrap") and not children(pid) and waits:
            os.kill(pid, signal.SIGKILL)


def none_left():
    """Fails where a process is alive that came from our children; the killed ones may need a
    moment. To be called when each child of our own has been waited for."""
    until = time.monotonic() + 6
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == 0:
            late = time.monotonic() > until - 3
            if late:
                end_unborn_sandboxes()
            assert time.monotonic() < until, [words_of(pid) for pid in children(os.getpid())]
            time.sleep(0.1 if late else 0.01)


def wait_for(condition, process):
    """What the condition returns, as soon as that is something; the process must not end before."""
    until = time.monotonic() + 120
    while not (found := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)
    return found


class Gate:
    """A home whose `prenorm` lets no grader of a submission begin before the gate is open.

    `script` is what it does first, in a shell: $N is the submission's number.
    """

    def __init__(self, folder, script='while [ ! -e "$GATE/open" ]; do sleep 0.01; done'):
        self.folder = folder
        (folder / "home/bin").mkdir(parents=True)
        for each in home().iterdir():
            if each.name in ("lib", "libexec", "share", "include"):
                (folder / "home" / each.name).symlink_to(each)
        program_file = folder / "home/bin/prenorm"
        program_file.write_text(f"#!/bin/sh\nfor N; do :; done\necho >> $GATE/begun.$N\n{script}\n"
                                f"exec {shlex.quote(str(home()))}/bin/prenorm \"$@\"\n")
        program_file.chmod(0o755)
        self.environment = {"PRENORM_HOME": str(folder / "home"), "GATE": str(folder)}

    def open(self):
        (self.folder / "open").touch()

    def begun(self):
        """{number: how often}"""
        return {int(path.suffix[1:]): len(path.read_text())
                for path in self.folder.glob("begun.*")}
