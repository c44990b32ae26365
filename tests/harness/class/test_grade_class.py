# labels: unit grading
# slow processors: 2
# slow labels: unit grading
"""`prenorm grade ... --gradebook`: what is graded again and what not, and that nothing is lost,
whatever dies.

The course is one of two problems; a submission is graded in a tenth of a second.
"""

import json
import os
import re
import shutil
import signal
import subprocess

import h5py
import pytest

from conftest import slow_but
from gradebooks import (RUBRIC, Course, Gate, children, difference, dump, graders, none_left, wait_for,
                        words_of, write_course)
from grading import rubric
from places import shipped

EVERYONE = {"ann", "ben", "cy", "dee"}


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    write_course(folder)
    course = Course(folder)
    code, printed = course.grade()
    assert code == 1 and "4 submissions: 4 graded, 0 unchanged, 0 not graded" in printed
    return folder


@pytest.fixture
def course(graded_once, tmp_path):
    """The class, graded; all that is graded again in the test is not marked any more."""
    shutil.copytree(graded_once, tmp_path / "course")
    course = Course(tmp_path / "course")
    course.mark()
    return course


@pytest.fixture
def fresh(graded_once, tmp_path):
    """The class, before it is graded."""
    shutil.copytree(graded_once, tmp_path / "course", ignore=shutil.ignore_patterns("g.sqlite*"))
    return Course(tmp_path / "course")


@pytest.fixture
def gated(fresh, tmp_path):
    """The same, where no submission is graded before gated.gate is open."""
    fresh.hold(tmp_path / "gate")
    return fresh


def same(course, graded_once):
    """The gradebook is that of a run that nobody interrupted."""
    once = dump(graded_once / "g.sqlite")
    once["course"] = [dict(row) | {"rubric": str(course.folder / "rubric.toml")}
                      for row in once["course"]]
    once["course"] = [tuple(row.items()) for row in once["course"]]
    unlike = difference(dump(course.book), once)
    assert not unlike, unlike


def change_fixture(path):
    """Its tolerance is another one; all else stays."""
    with h5py.File(path, "r+") as file:
        case = file["cases/hundred_float32/outputs/y"]
        case.attrs["atol"] = case.attrs["atol"] * 1.5 + 1e-30


# What is graded again


def test_what_stands_in_it(graded_once):
    course = Course(graded_once)
    assert course.earned() == {"ann": 3, "ben": 3, "cy": 0, "dee": 0}
    statuses = dict(course.ask("SELECT submission, group_concat(DISTINCT status) FROM cases "
                               "GROUP BY submission"))
    assert statuses == {"ann": "PASSED", "ben": "PASSED", "cy": "NOT_IMPLEMENTED",
                        "dee": "LOAD_ERROR"}
    counts = course.ask("SELECT count(*), count(DISTINCT submission), max(number) FROM cases")
    assert counts == [(4 * 63, 4, 62)]
    [(mode,)] = course.ask("PRAGMA journal_mode")
    assert mode == "wal" and course.book.stat().st_mode & 0o077 == 0
    assert course.ask("SELECT name FROM submissions WHERE path != CAST('subs/' || name AS BLOB)"
                      ) == []


def test_unchanged_is_not_graded_again(course):
    before = dump(course.book, leave_out=())
    os.utime(course.folder / "subs/ann/solution.so", (1, 1))
    (course.folder / "subs/ann/__pycache__").mkdir()
    (course.folder / "subs/ann/__pycache__/x.pyc").write_text("no work of anybody's")
    code, printed = course.grade()
    assert code == 1 and "4 submissions: 0 graded, 4 unchanged, 0 not graded" in printed
    assert dump(course.book, leave_out=()) == before


def test_a_change_is_graded_again_alone(course):
    folder = course.folder / "subs/ann"
    changes = [
        lambda: (folder / "solution.so").write_bytes(shipped("reference").read_bytes()),
        lambda: (folder / "notes.txt").write_text(""),
        lambda: (folder / "notes.txt").chmod(0o755),
        lambda: (folder / "notes.txt").rename(folder / "Notes.txt"),
        lambda: (folder / "Notes.txt").unlink(),
        lambda: (folder / "empty").mkdir(),
        lambda: (folder / "link").symlink_to("solution.so"),
    ]
    for change in changes:
        change()
        code, printed = course.grade()
        assert course.graded_again() == {"ann"}, printed
        assert "1 graded, 3 unchanged" in printed
        course.mark()
    (folder / "solution.so").unlink()
    course.grade()
    assert course.earned()["ann"] == 0 and course.graded_again() == {"ann"}


@pytest.mark.slow
def test_who_runs_kernels_is_part_of_what_is_asked(course):
    code, printed = course.grade("--emulate")
    assert "4 graded, 0 unchanged" in printed and course.graded_again() == EVERYONE
    course.mark()
    code, printed = course.grade("--emulate")
    assert "0 graded, 4 unchanged" in printed and course.graded_again() == set()


def test_regrade(course, graded_once):
    chosen = ["subs/ann", "subs/ben"]
    code, printed = course.grade("--regrade", submissions=chosen)
    assert code == 0 and "2 submissions: 2 graded, 0 unchanged" in printed
    assert course.graded_again() == {"ann", "ben"}
    course.grade("--regrade")
    assert course.graded_again() == EVERYONE
    same(course, graded_once)
    course.mark()
    course.grade()  # and it was once only
    assert course.graded_again() == set()


def interrupt_regrade(course, folder, graded=2, **more):
    """Grades that many again, and is killed while the next one hangs."""
    gate = Gate(folder, script=f"[ $N -lt {graded} ] || exec sleep 600")
    course.environment = gate.environment
    process = course.start("--regrade", jobs=1, **more)
    wait_for(lambda: len(gate.begun()) == graded + 1, process)
    kill(process)
    course.environment = {}


def test_an_interrupted_regrade_goes_on(course, graded_once, tmp_path):
    interrupt_regrade(course, tmp_path / "gate")
    assert course.graded_again() == {"ann", "ben"}
    # The same command grades what is left, and no other.
    code, printed = course.grade("--regrade")
    assert "2 graded, 2 unchanged, 0 not graded" in printed
    assert course.graded_again() == EVERYONE
    same(course, graded_once)


@pytest.mark.slow
def test_an_interrupted_regrade_has_graded_who_is_new(course, tmp_path):
    everyone = ["subs/abe", *(f"subs/{name}" for name in sorted(EVERYONE))]
    shutil.copytree(course.folder / "subs/ann", course.folder / "subs/abe")
    interrupt_regrade(course, tmp_path / "gate", submissions=everyone)
    assert "abe" in course.graded_again()
    code, printed = course.grade("--regrade", submissions=everyone)
    assert "3 graded, 2 unchanged, 0 not graded" in printed


@pytest.mark.slow
def test_an_interrupted_regrade_of_fewer(course, tmp_path):
    """Who was not named then is graded again too."""
    interrupt_regrade(course, tmp_path / "gate", graded=0, submissions=["subs/ann"])
    code, printed = course.grade("--regrade", submissions=["subs/ann", "subs/ben"])
    assert "2 graded, 0 unchanged, 0 not graded" in printed
    assert course.graded_again() == {"ann", "ben"}
    assert course.ask("SELECT count(*) FROM submissions WHERE regrade <> 0") == [(0,)]


@pytest.mark.slow
def test_other_points_score_anew_without_a_run(course, tmp_path):
    other = RUBRIC.replace("points = 2", "points = 5").replace("share = 3", "share = 9")
    (course.folder / "rubric.toml").write_text(other.replace("A course", "Another course"))
    course.environment = Gate(tmp_path / "gate", script="exit 9").environment  # who runs fails
    code, printed = course.grade()
    assert code == 1 and "4 submissions scored anew" in printed
    assert "0 graded, 4 unchanged, 0 not graded" in printed
    assert course.graded_again() == set()
    assert course.earned() == {"ann": 6, "ben": 6, "cy": 0, "dee": 0}
    # As if it had been graded so.
    anew = dump(course.book)
    course.environment = {}
    course.grade("--regrade")
    assert difference(anew, {**dump(course.book), "submissions": anew["submissions"]}) == ""
    assert "scored anew" not in course.grade()[1]


OTHER_QUESTIONS = {
    "patterns": ('cases = ["width_*"]', 'cases = ["width_*"]\nexcept = ["width_7_*"]'),
    "name": ('name = "widths"', 'name = "sizes"'),
    "dtypes": ('dtypes = ["float32"]', 'dtypes = ["float32", "float64"]'),
    "groups": ('problems = ["gelu"]\npoints = 1', 'problems = ["gelu"]\npoints = 1\n[[items.groups]]\n'
               'name = "all"\ndtypes = ["float32"]'),
    "forbidden": ("title =", 'forbidden = ["dlopen"]\ntitle ='),
}


@pytest.mark.parametrize("question", slow_but({"patterns"}, OTHER_QUESTIONS))
def test_other_questions_are_graded_again(question, course):
    change = OTHER_QUESTIONS[question]
    assert change[0] in RUBRIC
    (course.folder / "rubric.toml").write_text(RUBRIC.replace(*change))
    chosen = ["subs/ann", "subs/dee"]
    code, printed = course.grade(submissions=chosen)
    assert "2 submissions: 2 graded, 0 unchanged, 0 not graded" in printed
    assert course.graded_again() == {"ann", "dee"}


@pytest.mark.slow
def test_other_fixtures_are_graded_again(course):
    change_fixture(course.folder / "fixtures/silu.h5")
    course.grade(submissions=["subs/ann", "subs/dee"])
    assert course.graded_again() == {"ann", "dee"}


@pytest.mark.slow
def test_another_seed_is_graded_again(fresh):
    fresh.words = fresh.words[:fresh.words.index("--no-hidden")]
    text = RUBRIC.replace('name = "float32"', 'hidden = true\nname = "float32"')
    (fresh.folder / "rubric.toml").write_text(text)
    fresh.submissions = ["subs/ann"]
    fresh.grade()  # a secret one
    [(secret,)] = fresh.ask("SELECT seed FROM course")
    assert len(secret) > 8
    for words, again in ([], set()), (["--seed", 8], {"ann"}), (["--seed", 8], set()), ([], set()):
        fresh.mark()
        code, printed = fresh.grade(*words)
        assert fresh.graded_again() == again, printed
    assert fresh.ask("SELECT seed FROM course") == [("8",)]
    assert fresh.ask("SELECT outline ->> 'seed' FROM submissions") == [(8,)]


def test_who_is_not_named_any_more_stays(course):
    before = dump(course.book)
    shutil.rmtree(course.folder / "subs/ann")
    code, printed = course.grade(submissions=["subs/cy"])
    assert code == 1 and "1 submission: 0 graded, 1 unchanged" in printed
    assert dump(course.book) == before
    assert course.grade(submissions=["subs/ben"])[0] == 0  # of those that are named
    code, printed = course.grade(submissions=["subs/ann"])
    assert code == 2 and "subs/ann: no such file or folder" in printed
    assert dump(course.book) == before


# What is handed in


@pytest.mark.slow
def test_two_of_one_name(fresh):
    shutil.copytree(fresh.folder / "subs/ann", fresh.folder / "late/ann")
    code, printed = fresh.grade(submissions=["subs/ann", "subs/ben", "late/ann"])
    assert code == 2
    assert "two submissions are called 'ann': subs/ann and late/ann" in printed
    code, printed = fresh.grade(submissions=["subs/ann", "subs/ann"])  # named twice is one
    assert code == 0 and "1 submission: 1 graded" in printed


@pytest.mark.slow
def test_what_is_no_work_is_not_lost(fresh):
    subs = fresh.folder / "subs"
    (subs / "empty").mkdir()
    (subs / "link").symlink_to("ann")
    (subs / "two").mkdir()
    (subs / "large").mkdir()
    for name in ("one", "two"):
        shutil.copy(subs / "ann/solution.so", subs / f"two/{name}.so")
    with open(subs / "large/solution.so", "wb") as file:
        file.truncate(257 << 20)
    (subs / "cut").mkdir()
    (subs / "cut/solution.so").write_bytes((subs / "ann/solution.so").read_bytes()[:100])
    os.mkfifo(subs / "pipe")
    (subs / "file.txt").write_text("by mail\n")
    names = sorted(path.name for path in subs.iterdir())
    code, printed = fresh.grade()
    assert code == 1 and f"{len(names)} submissions: {len(names)} graded" in printed
    assert sorted(fresh.earned()) == names
    bad = set(names) - EVERYONE | {"dee"}
    assert {name for name, points in fresh.earned().items() if points == 0} == bad | {"cy"}
    rows = fresh.ask("SELECT name, status, message FROM submissions WHERE status = 'LOAD_ERROR'")
    assert {row[0] for row in rows} == bad
    assert all(message and str(fresh.folder) not in message for _, _, message in rows), rows
    assert ("cut", "LOAD_ERROR", "solution.so: cannot read file data") in rows
    fresh.mark()
    fresh.grade()
    assert fresh.graded_again() == set()
    # What is mended counts.
    (subs / "link").unlink()
    shutil.copytree(subs / "ann", subs / "link")
    fresh.grade()
    assert fresh.graded_again() == {"link"} and fresh.earned()["link"] == 3


HOSTILE = {"two\nlines": "two\\nlines", "-rf": "-rf", "'; DROP TABLE cases; --": None,
           "\x1b[2Jgone": "\\x1b[2Jgone", os.fsdecode(b"\xff\xfe"): "\\xff\\xfe", "%s%n": None,
           "a" * 255: None, "Zo\u00eb": None, "*": None, "\u202egnp": None}


@pytest.mark.slow
def test_hostile_names(fresh):
    shutil.rmtree(fresh.folder / "subs")
    for name in HOSTILE:
        (fresh.folder / "subs" / name).mkdir(parents=True)
    # Named from within, they look like options and patterns, too.
    fresh.words = ["--no-hidden", "--rubric", "../rubric.toml", "--fixtures", "../fixtures"]
    command = fresh.command(submissions=list(HOSTILE))
    command[command.index(b"g.sqlite")] = b"../g.sqlite"
    process = subprocess.Popen(command, cwd=fresh.folder / "subs", stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": str(fresh.scratch)})
    code, printed = fresh.finish(process)
    assert code == 1 and f"{len(HOSTILE)} graded" in printed
    assert "\x1b" not in printed and "\u202e" not in printed
    rows = dict((os.fsdecode(path), name)
                for name, path in fresh.ask("SELECT name, path FROM submissions"))
    assert set(rows) == set(HOSTILE)
    for path, name in HOSTILE.items():
        assert rows[path] == name or name is None
        assert rows[path].isprintable(), ascii(rows[path])
    assert fresh.ask("SELECT count(DISTINCT submission) FROM cases") == [(len(HOSTILE),)]


# Exit codes


def test_exit_codes(course):
    assert course.grade(submissions=["subs/ann", "subs/ben"])[0] == 0
    assert course.grade(submissions=["subs/ann", "subs/cy"])[0] == 1
    command = course.command()
    nowhere = [b"nowhere/g.sqlite" if word == b"g.sqlite" else word for word in command]
    for words, message in [(nowhere, "nowhere/g.sqlite"),
                           (command[:command.index(b"--")], "no submission")]:
        done = subprocess.run(words, cwd=course.folder, capture_output=True, text=True)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert course.graded_again() == set()


@pytest.mark.parametrize("part, message", [
    ("0.1", "has no part 0.1"), ("1.0", "has no part 1.0"),
    ("0.99999999999999999999", "must be ARRAY.TASK"),
    *((part, "must be ARRAY.TASK") for part in ("0", "0.", ".0", "0.0x", "0.0.0", "0,0", "-1.0",
                                                 "0.-1", " 0.0", "a.b")),
    ("0.0", None),
])
def test_a_part_of_a_plan(run, part, message, tmp_path):
    plan = {"version": 1, "settings": {}, "exam": "", "folder": str(tmp_path), "submissions": []}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "paths").write_text("")
    (tmp_path / "slurm.json").write_text(json.dumps([{"name": "a", "job": "1", "tasks": [[]]}]))
    done = run("grade", "--planned", tmp_path, f"--part={part}", code=2 if message else 0)
    assert (message or "") in done.stderr


@pytest.mark.slow
def test_nothing_ran_is_three(fresh):
    # Functions in Python have no argument for another eps.
    (fresh.folder / "rubric.toml").write_text(
        rubric("One case", {"eps": 'hidden = false\ndtypes = ["float32"]\ncases = ["by_hand_*"]'},
               {"rmsnorm": ("rmsnorm", 1)}, 'adapters = "adapters.toml"\n'))
    (fresh.folder / "adapters.toml").write_text(
        '[rmsnorm]\nfunction = "run_rmsnorm"\narguments.weights = "weight"\n'
        'arguments.in_features = "x"\nonly.eps = 7.0\n')
    (fresh.folder / "subs/ann/solution.so").unlink()
    (fresh.folder / "subs/ann/adapters.py").write_text("def run_rmsnorm(weights, in_features):\n"
                                                       "    return in_features\n")
    shutil.copy(os.environ["PRENORM_HOME"] + "/share/prenorm/fixtures/rmsnorm.h5",
                fresh.folder / "fixtures")
    code, printed = fresh.grade(submissions=["subs/ann"])
    assert code == 3, printed
    assert fresh.ask("SELECT count(*), status FROM submissions") == [(1, "PASSED")]
    assert fresh.ask("SELECT count(*) FROM cases") == [(0,)]


# What is remembered, and what is left where nothing is graded


@pytest.mark.parametrize("words, message", [
    (["--rubric", "nowhere.toml"], "nowhere.toml"),
    (["--rubric", "cs336-2023"], "no rubric"),
    (["--roster", "nowhere.csv"], "nowhere.csv"),
    (["--roster", "rubric.toml"], "rubric.toml, line 1"),
    (["--roster", "others.csv"], "none of the 4 submissions"),
    (["--fixtures", "nowhere"], "nowhere"),
    (["--python", "nowhere"], "--python nowhere: no such program"),
    (["--work", "subs"], "has files that no grader of a class made"),
    (["--timeout", "soon"], "--timeout"),
    (["--problem", "silu"], "a gradebook holds whole gradings"),
    (["--case", "hundred_float32"], "a gradebook holds whole gradings"),
    (["--json", "x.json"], "reports are of one submission"),
    (["--batch", "2"], "--batch is for --executor slurm"),
    (["--slurm-option=--nice"], "--slurm-option is for --executor slurm"),
    (["subs/zoe"], "no such file or folder"),
])
def test_a_refused_grading_leaves_no_gradebook(words, message, fresh):
    (fresh.folder / "others.csv").write_text("submission\nzoe\n")
    if words[0] in fresh.words:
        at = fresh.words.index(words[0])
        del fresh.words[at:at + 2]
    if words[0].startswith("-"):
        code, printed = fresh.grade(*words)
    else:
        code, printed = fresh.grade(submissions=words)
    assert code == 2 and message in printed, printed
    assert not list(fresh.folder.glob("g.sqlite*"))


def test_without_slurm_there_is_no_gradebook(fresh):
    fresh.environment = {"PATH": "/nowhere"}
    code, printed = fresh.grade("--executor", "slurm")
    assert code == 2 and "there is no sbatch here (Debian's package slurm-client)" in printed
    assert not list(fresh.folder.glob("g.sqlite*"))


def test_who_is_in_no_roster_is_named(fresh):
    (fresh.folder / "roster.csv").write_text("submission\nann\n")
    fresh.grade("--roster", "roster.csv", submissions=["subs/ann"])
    code, printed = fresh.grade(submissions=["subs/ann", "subs/ben"])
    assert "not in the roster: ben; store it again if it is older: " in printed


def test_a_refused_grading_leaves_the_gradebook_as_it_was(course):
    before = dump(course.book, leave_out=())
    (course.folder / "others.csv").write_text("submission\nzoe\n")
    code, printed = course.grade("--roster", "others.csv")
    assert code == 2 and "none of the 4 submissions" in printed
    assert dump(course.book, leave_out=()) == before


@pytest.mark.slow
def test_the_gradebook_remembers_how_it_was_graded(fresh):
    code, printed = fresh.grade("--timeout", 7, "--memory", 3, "--sandbox", "none",
                                submissions=["subs/ann"])
    assert "as before" not in printed
    code, printed = fresh.grade(submissions=["subs/ben"])
    assert "as before: --sandbox none --timeout 7 --memory 3\n" in printed
    limits = {row[0] for row in fresh.ask("SELECT limits FROM submissions")}
    assert limits == {"7 s a call, 300 s to build, 3 GiB; sandbox none; /usr/bin/python3"}
    code, printed = fresh.grade("--timeout", 10, "--budget", 90, submissions=["subs/cy"])
    assert "as before: --sandbox none --memory 3\n" in printed
    [(limits,)] = fresh.ask("SELECT limits FROM submissions WHERE name = 'cy'")
    assert limits.startswith("10 s a call, 300 s to build, 3 GiB")
    code, printed = fresh.grade("--timeout", 10, submissions=["subs/ann"])
    assert "as before: --sandbox none --budget 90 --memory 3\n" in printed
    assert fresh.ask("SELECT count(*) FROM course") == [(1,)]


@pytest.mark.slow
def test_the_active_environment_s_interpreter_is_the_usual_one(fresh, run, tmp_path):
    venv, python = tmp_path / "environment", tmp_path / "environment/bin/python"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    fresh.environment = {"VIRTUAL_ENV": str(venv)}
    fresh.grade(submissions=["subs/ann"])
    [(limits,)] = fresh.ask("SELECT limits FROM submissions")
    assert limits.endswith(f"; {python}")
    # The class goes on with it, and says so where it is not what is usual.
    fresh.environment = {}
    code, printed = fresh.grade(submissions=["subs/ben"])
    assert f"as before: --python {python}\n" in printed
    assert len(fresh.ask("SELECT DISTINCT limits FROM submissions")) == 1
    fresh.environment = {"VIRTUAL_ENV": str(tmp_path / "nowhere")}
    fresh.grade("--python", "/usr/bin/python3", submissions=["subs/cy"])
    [(limits,)] = fresh.ask("SELECT limits FROM submissions WHERE name = 'cy'")
    assert limits.endswith("; /usr/bin/python3")
    told = run("grade", "--help", VIRTUAL_ENV=venv).stdout
    assert f"--python PATH={python}\n" in told


@pytest.mark.slow
def test_times_are_those_of_the_files_as_they_were_graded(fresh):
    folder = fresh.folder / "subs/ann"
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/late.pyc").write_text("no work of anybody's")
    os.utime(folder / "solution.so", (1_000_000_000, 1_000_000_000))
    fresh.grade(submissions=["subs/ann"])
    assert fresh.ask("SELECT name, changed FROM submissions") == [("ann", 1_000_000_000)]
    os.utime(folder / "solution.so", (2_000_000_000, 2_000_000_000))
    fresh.grade(submissions=["subs/ann"])  # it is as it was
    assert fresh.ask("SELECT changed FROM submissions") == [(1_000_000_000,)]
    fresh.grade("--regrade", submissions=["subs/ann"])
    assert fresh.ask("SELECT changed FROM submissions") == [(2_000_000_000,)]


# What dies, and what comes between


def test_two_graders(gated, graded_once):
    first = gated.start()
    wait_for(lambda: gated.gate.begun(), first)
    second = subprocess.run(gated.command(), cwd=gated.folder, capture_output=True, text=True,
                            timeout=60)
    assert second.returncode == 2 and second.stdout == ""
    assert (f"g.sqlite: another grader is at work on it (process {first.pid} on "
            in second.stderr), second.stderr
    assert first.poll() is None
    gated.gate.open()
    code, printed = gated.finish(first)
    assert code == 1 and "4 graded" in printed
    same(gated, graded_once)


def grade_while(gated, change):
    process = gated.start()
    wait_for(gated.gate.begun, process)
    change()
    gated.gate.open()
    return gated.finish(process)


@pytest.mark.slow
def test_a_rubric_that_changes_meanwhile(gated):
    text = RUBRIC.replace('["width_*"]', '["width_2*"]')
    code, printed = grade_while(gated, lambda: (gated.folder / "rubric.toml").write_text(text))
    assert code == 2
    assert "4 submissions: 0 graded, 0 unchanged, 4 not graded" in printed
    assert printed.count("the rubric or the fixtures changed while it was graded") >= 4
    code, printed = gated.grade()  # by the new one
    assert code == 1 and "4 graded, 0 unchanged, 0 not graded" in printed


@pytest.mark.slow
def test_a_submission_that_changes_meanwhile(gated, graded_once):
    late = gated.folder / "subs/ben/late.txt"
    code, printed = grade_while(gated, lambda: late.write_text("just in time\n"))
    assert code == 2 and "3 graded, 0 unchanged, 1 not graded" in printed
    assert "not graded: ben: was changed while it was graded" in printed
    assert gated.ask("SELECT name FROM submissions WHERE failure != ''") == [("ben",)]
    late.unlink()
    code, printed = gated.grade()
    assert code == 1 and "1 graded, 3 unchanged, 0 not graded" in printed
    same(gated, graded_once)


@pytest.mark.slow
def test_the_time_is_that_of_the_files_that_are_graded(gated):
    file = gated.folder / "subs/ann/solution.so"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    grade_while(gated, lambda: os.utime(file, (2_000_000_000, 2_000_000_000)))
    assert gated.ask("SELECT changed FROM submissions WHERE name = 'ann'") == [(1_000_000_000,)]


def kill(process):
    """Kills a grader with all that came from it."""
    process.kill()
    process.communicate()
    none_left()


def kill_first(course, *words, times=1):
    """Grades, and kills the process that grades ann, so often as it is started."""
    process = course.start(*words)

    def of_ann():
        return [pid for pid in graders(process.pid) if words_of(pid)[-1] == b"0"]

    for trial in range(times):
        wait_for(lambda: course.gate.begun().get(0) == trial + 1, process)
        [pid] = wait_for(of_ann, process)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: pid not in children(process.pid), process)
    course.gate.open()
    return course.finish(process)


@pytest.mark.slow
def test_a_killed_process_is_started_again(gated, graded_once):
    code, printed = kill_first(gated, "--retries", 2, times=2)
    assert code == 1 and "4 graded" in printed
    assert gated.gate.begun() == {0: 3, 1: 1, 2: 1, 3: 1}
    same(gated, graded_once)


@pytest.mark.slow
def test_a_submission_that_cannot_be_graded_is_said(gated, graded_once):
    code, printed = kill_first(gated, "--retries", 0)
    assert code == 2 and "3 graded, 0 unchanged, 1 not graded" in printed
    assert "not graded: ann: the grader ended: killed by SIGKILL" in printed
    assert "the same command tries these again" in printed
    assert gated.ask("SELECT name, failure FROM submissions WHERE failure != ''") == [
        ("ann", "the grader ended: killed by SIGKILL")]
    assert gated.ask("SELECT count(*) FROM cases WHERE submission = 'ann'") == [(0,)]
    code, printed = gated.grade()
    assert code == 1 and "1 graded, 3 unchanged, 0 not graded" in printed
    same(gated, graded_once)


@pytest.mark.slow
def test_an_earlier_grading_stays_where_there_is_no_later_one(course, tmp_path):
    before = dump(course.book)
    gate = Gate(tmp_path / "gate", script='echo "out of luck" >&2; exit 9')
    course.environment = gate.environment
    code, printed = course.grade("--regrade", "--retries", 1)
    assert code == 2 and "0 graded, 0 unchanged, 4 not graded" in printed
    assert printed.count("the grader ended: exit code 9: out of luck") == 8
    assert gate.begun() == {number: 2 for number in range(4)}
    after = dump(course.book)
    assert {**after, "submissions": before["submissions"]} == before
    course.environment = {}
    course.grade()
    assert course.graded_again() == EVERYONE


@pytest.mark.parametrize("number", slow_but({str(signal.SIGKILL)}, [
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]))
def test_ended_from_outside(number, gated, graded_once):
    """Half of the class is graded, the rest hangs: then it ends."""
    gate = Gate(gated.folder / "half", script='[ $N -lt 2 ] || exec sleep 600')
    gated.environment = gate.environment
    process = gated.start(jobs=1)
    wait_for(lambda: 2 in gate.begun(), process)
    process.send_signal(number)
    assert process.wait(60) == -number
    process.communicate()
    none_left()
    assert set(gated.earned()) == {"ann", "ben"}
    gated.environment = {}
    code, printed = gated.grade()
    assert code == 1 and "2 graded, 2 unchanged, 0 not graded" in printed
    same(gated, graded_once)


@pytest.mark.slow
def test_results_that_nobody_took(gated, graded_once):
    """The holder of the gradebook dies between a grader's end and its taking the result."""
    process = gated.start()
    wait_for(lambda: len(gated.gate.begun()) == 2, process)
    process.send_signal(signal.SIGSTOP)
    gated.gate.open()
    results = gated.work / "results"
    wait_for(lambda: {path.name for path in results.iterdir()} == {"0", "1"}, process)
    kill(process)
    assert gated.ask("SELECT count(*) FROM submissions") == [(0,)]
    # Whose files changed since then is graded again all the same.
    (gated.folder / "subs/ann/late.txt").write_text("")
    before = gated.gate.begun()
    code, printed = gated.grade()
    assert code == 1 and "4 graded, 0 unchanged, 0 not graded" in printed
    again = gated.gate.begun()
    assert sum(again.values()) - sum(before.values()) == 3  # ben's was there
    assert "[4/4]" in printed and "[5/4]" not in printed and "/0]" not in printed
    (gated.folder / "subs/ann/late.txt").unlink()
    gated.grade()
    same(gated, graded_once)


def on_small_disk(course, size, script, *words):
    """A shell's script where the course's folder "small" is a disk of `size` bytes."""
    if subprocess.run(["bwrap", "--dev-bind", "/", "/", "true"]).returncode != 0:
        pytest.skip("no bubblewrap to make a small disk with")
    (course.folder / "small").mkdir()
    command = ["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs",
               course.folder / "small", "--chdir", course.folder, "sh", "-c", script, "sh", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TMPDIR": str(course.scratch)})


@pytest.mark.slow
def test_no_room_for_the_work(fresh, graded_once):
    # The copies of the libraries do not fit; the README does.
    done = on_small_disk(fresh, 300_000, '"$@"', *fresh.command("--work", "small/work"))
    assert done.returncode == 2, done.stderr
    assert re.search("not graded: ann: the grader ended: .*No space left on device", done.stdout)
    assert "4 submissions: 1 graded, 0 unchanged, 3 not graded" in done.stdout
    code, printed = fresh.grade()
    assert code == 1 and "3 graded, 1 unchanged, 0 not graded" in printed
    same(fresh, graded_once)


@pytest.mark.slow
def test_no_room_for_the_gradebook(fresh, graded_once):
    command = fresh.command("--work", "g.sqlite.work")
    command[command.index(b"g.sqlite")] = b"small/g.sqlite"
    script = '"$@"; code=$?; ls small >&2; cp small/g.sqlite* . || exit 99; exit $code'
    done = on_small_disk(fresh, 250_000, script, *command)
    assert done.returncode == 2, done.stderr
    assert "disk is full" in done.stderr or "disk I/O error" in done.stderr, done.stderr
    code, printed = fresh.grade()
    assert code == 1 and " 0 not graded" in printed
    same(fresh, graded_once)


@pytest.mark.slow
def test_a_folder_for_the_work(fresh, graded_once):
    thesis = fresh.folder / "mine/thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("the only copy\n")
    for words in (["--work", "mine"], ["--work", "rubric.toml"]):
        code, printed = fresh.grade(*words)
        assert code == 2 and f"{words[1]}: has files that no grader of a class made" in printed
    assert thesis.read_text() == "the only copy\n"
    (fresh.folder / "empty").mkdir()
    for words in (["--work", "empty"], ["--work", "new/folder", "--regrade"]):
        code, printed = fresh.grade(*words)
        assert code == 1 and "4 graded" in printed
        assert not (fresh.folder / words[1]).exists()
    same(fresh, graded_once)
