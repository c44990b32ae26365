# labels: unit grading
# slow labels: unit grading
"""What one submission of a class does to the others, to the run and to the next one: nothing.

The course is the one of test_grade_class.py.
"""

import os
import shutil
import subprocess

import pytest

from conftest import slow_but
from gradebooks import Course, graders, wait_for, write_course


@pytest.fixture
def course(tmp_path):
    write_course(tmp_path / "course")
    return Course(tmp_path / "course")


def nest(folder, name, depth):
    """Folders in folders, deeper than a path is long."""
    folder.mkdir(parents=True)
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=inside)
        below = os.open(name, os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = below
    os.close(inside)


def remove(folder):
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.mark.parametrize("file", slow_but({"CMakeLists.txt"}, ["solution.so", "CMakeLists.txt", "outputs.h5"]))
def test_nested_folders_are_one_submission_s_failure(course, file):
    deep = course.folder / "subs/eve"
    nest(deep, "folder", 1500)
    (deep / file).write_text("")
    try:
        for regrade in ([], ["--regrade"]):
            code, printed = course.grade(*regrade)
            assert "5 submissions: 5 graded, 0 unchanged, 0 not graded" in printed
        [(message,)] = course.ask("SELECT message FROM submissions WHERE name = 'eve'")
        assert message == "has folders nested deeper than 100"
        assert course.earned()["ann"] > 0 and course.earned()["eve"] == 0
    finally:
        remove(deep)


def immutable(path, on):
    if subprocess.run(["chattr", "+i" if on else "-i", path], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no file can be made immutable here")


def test_what_cannot_be_removed_is_set_aside(course, tmp_path):
    course.hold(tmp_path / "gate")
    grader = course.start()
    wait_for(course.gate.begun, grader)
    stuck = course.work / "tmp/stuck"
    stuck.write_text("")
    aside = course.folder / "g.sqlite.work.left-1"
    try:
        immutable(stuck, True)
        course.gate.open()
        printed = b"".join(grader.communicate(timeout=300)).decode()
        assert grader.returncode == 1 and "4 graded, 0 unchanged, 0 not graded" in printed
        [line] = [line for line in printed.splitlines() if "cannot be removed" in line]
        assert line == (f"prenorm: g.sqlite.work cannot be removed (tmp: stuck: Operation not "
                        f"permitted); it is now {aside.name}")
        assert not course.work.exists() and [*aside.rglob("stuck")] == [aside / "tmp/stuck"]
        assert not (aside / "plan.json").exists()
    finally:
        grader.kill()
        for path in (stuck, aside / "tmp/stuck"):
            if path.exists():
                immutable(path, False)
        remove(aside)
    course.environment = {}
    code, printed = course.grade("--regrade")
    assert code == 1 and "4 graded, 0 unchanged, 0 not graded" in printed


class Bubblewrap:
    """Programs that see another bwrap than the machine's, which can be taken away."""

    def __init__(self, folder):
        installed = shutil.which("bwrap")
        self.program = folder / "bwrap"
        shutil.copy(installed or "/bin/true", self.program)
        self.words = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", self.program, installed or ""]
        works = installed and self.run(["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc",
                                        "/proc", "true"]).returncode == 0
        if not works:
            pytest.skip("no bubblewrap within bubblewrap")

    def run(self, words):
        return subprocess.run([*self.words, *words])

    def take_away(self):
        self.program.chmod(0o644)

    def give_back(self):
        self.program.chmod(0o755)


@pytest.fixture
def bubblewrap(course, tmp_path):
    bubblewrap = Bubblewrap(tmp_path)
    within = course.command
    course.command = lambda *words, **more: [*bubblewrap.words, *within(*words, **more)]
    return bubblewrap


def limits(course):
    return {name: text.split("; ")[1].removeprefix("sandbox ")
            for name, text in course.ask("SELECT name, limits FROM submissions")}


@pytest.mark.slow
def test_the_sandbox_of_a_class_stays(course, bubblewrap):
    course.grade(submissions=["subs/ann"])
    assert limits(course) == {"ann": "bubblewrap"}
    bubblewrap.take_away()
    code, printed = course.grade(submissions=["subs/ben"])
    assert code == 2
    assert ("this class is graded in the sandbox bubblewrap, which does not work here any more: "
            in printed)
    assert limits(course) == {"ann": "bubblewrap"}
    code, printed = course.grade("--sandbox", "process", submissions=["subs/ben"])
    assert ("the class's sandbox is process from now on; earlier submissions had bubblewrap"
            in printed)
    bubblewrap.give_back()
    code, printed = course.grade(submissions=["subs/cy"])
    assert "from now on" not in printed
    assert limits(course) == {"ann": "bubblewrap", "ben": "process", "cy": "process"}


def test_a_sandbox_that_stops_working_in_the_middle_of_a_class(course, bubblewrap, tmp_path):
    course.hold(tmp_path / "gate")
    grader = course.start(jobs=1)
    wait_for(course.gate.begun, grader)
    bubblewrap.take_away()
    course.gate.open()
    code, printed = course.finish(grader)
    assert code == 2 and "not graded: ben: " in printed, printed
    assert "in the sandbox bubblewrap, which does not work here any more" in printed
    assert "process" not in {row for row, in course.ask("SELECT sandbox FROM submissions")}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_graders_share_the_processors(course, tmp_path):
    course.hold(tmp_path / "gate")
    grader = course.start(jobs=2)
    wait_for(lambda: len(course.gate.begun()) == 2, grader)
    first = graders(grader.pid)
    course.gate.open()

    def shares():
        found = [os.sched_getaffinity(each) for each in first]
        return found if all(each < os.sched_getaffinity(0) for each in found) else None

    one, other = wait_for(shares, grader)
    assert not one & other and one | other == os.sched_getaffinity(0)
    course.finish(grader)
