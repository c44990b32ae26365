# labels: unit
"""./prenorm: what it says before anything is built, when it configures, waits, and builds nothing. The
programs that it calls are stand-ins here, which leave a line in a file."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from places import ROOT

# Of what the launcher calls, by name: a shell script each.
STAND_INS = {
    "dpkg-query": 'cat "$TREE/installed" 2>/dev/null',
    "id": "echo 0",
    "apt-get": 'case "$*" in *assume-no*) echo "Need to get 312 MB of archives."; exit 1 ;; update*) ;;\n'
               '*) for p in $*; do printf "installed:%s " $p; done >> "$TREE/installed" ;; esac',
    "cmake": 'touch "$TREE/build/release/build.ninja"',
    "ctest": 'case "$*" in *-R*) printf "a::b: %s\\n" "$REASON" "$REASON" >> "$PRENORM_SKIPS" ;; esac',
    "ninja": 'case "$*" in *" -n "*) ;; *targets.ninja*) echo "[1/7] Building a.o"; exit ${FAILS:-0} ;; esac',
}
PROGRAM = 'echo "ran $*"'


@pytest.fixture
def launcher():
    """launch(words..., variables...): the finished launcher of a copy that builds nothing, in launch.tree."""
    tree = Path(tempfile.mkdtemp(prefix="launcher-"))  # not tmp_path, which another user cannot enter
    tree.chmod(0o755)
    shutil.copy(ROOT / "prenorm", tree)
    (tree / "docs").mkdir()
    shutil.copy(ROOT / "docs/commands.md", tree / "docs")
    shutil.copytree(ROOT / "tests/support", tree / "tests/support")

    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    for name, text in STAND_INS.items():
        script(tree / "bin" / name, f'echo "{name} $*" >> "$TREE/calls" 2>/dev/null\n{text}')
    for name in ("prenorm", "prenorm_check"):
        script(tree / "build/release/bin" / name, PROGRAM)

    def launch(*words, start=subprocess.run, **variables):
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PRENORM_")}
        environment = {**ours, "PATH": f"{tree}/bin:{os.environ['PATH']}", "TREE": str(tree), **variables}
        with_output = {"capture_output": True} if start is subprocess.run else {
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return start([tree / "prenorm", *words], text=True, env=environment, **with_output,
                     **({"user": 65534} if "AS_NOBODY" in variables else {}))

    launch.tree = tree
    launch.calls = lambda: (tree / "calls").read_text() if (tree / "calls").exists() else ""
    yield launch
    shutil.rmtree(tree)


def test_help_comes_at_once_with_all_commands(launcher, program):
    told, bare = launcher("--help"), launcher()
    assert (told.returncode, bare.returncode, bare.stderr) == (0, 2, told.stdout)
    listed = re.findall(r"^  (\w+) +\w", told.stdout, re.M)
    own = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+) ", own.split("Subcommands:")[1].split("Examples:")[0], re.M)
    assert sorted(listed) == sorted([*commands, "test", "packages"])
    shutil.rmtree(launcher.tree / "build")
    wrong = launcher("verfy")
    assert (wrong.returncode, wrong.stderr) == (2, "prenorm: no command 'verfy'; ./prenorm --help lists all\n")
    assert launcher.calls() == ""


def test_it_configures_again_after_it_has_installed_something(launcher):
    first = launcher("verify")
    assert first.stdout == "ran verify\n" and "Need to get 312 MB" in first.stderr
    assert f"the log: {launcher.tree}/build/release/install.log" in first.stderr
    assert launcher.calls().count("cmake --preset") == 1
    os.utime(launcher.tree / "build/release/build.ninja")
    launcher("verify")
    assert launcher.calls().count("cmake --preset") == 1
    assert "installing python3-nbconvert" in launcher("study").stderr
    assert "targets.ninja shipped profiled emulation\n" in launcher.calls()  # what notebooks call
    assert launcher.calls().count("cmake --preset") == 2


def test_verify_builds_what_its_options_need(launcher):
    for options, needed in ((["--seed", "1"], "prenorm_solution_plain"),
                            (["--solution", "mine.so"], "prenorm_solution_mistakes"),
                            (["--seed", "1", "--solution=mine.cu"], "prenorm_emulation_submission")):
        assert needed not in launcher.calls()
        launcher("verify", *options)
        assert f" {needed}" in launcher.calls()


def test_a_second_build_waits_for_the_first(launcher):
    with (launcher.tree / "build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = launcher("verify", start=subprocess.Popen)
        assert second.stderr.readline() == "prenorm: another prenorm installs or builds here; waiting for it\n"
        assert launcher.calls() == ""
    out, _ = second.communicate(timeout=60)
    assert out == "ran verify\n" and "cmake" in launcher.calls()


def test_a_checkout_that_cannot_be_written_runs_what_is_built(launcher):
    tree = launcher.tree
    as_nobody = {"AS_NOBODY": "1"} if os.geteuid() == 0 else {}
    folders = [tree / "build/release", tree / "build", tree]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = launcher("verify", "--jobs", "1", **as_nobody)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ran verify --jobs 1\n", "")
        (tree / "build/release/bin/prenorm_check").chmod(0o644)
        for word in ("verify", "test"):
            done = launcher(word, **as_nobody)
            assert done.returncode == 2 and re.fullmatch("prenorm: build/release cannot be written.*\n", done.stderr)
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("reason, code", [("there is no ptxas", 0), ("one processor", 0),
                                          ("there is no libpair.so", 1), ("not one processor", 1)])
def test_a_test_is_skipped_for_a_known_reason_only(launcher, reason, code):
    done = launcher("test", "-R", "a", REASON=reason)
    assert f"skipped: a::b: {reason} (2 times)" in done.stdout and done.returncode == code, done.stderr
    assert ("not a reason of tests/support/skips.txt" in done.stderr) == bool(code)


@pytest.mark.parametrize("fails", [0, 3])
def test_a_build_without_a_terminal_says_how_far_it_is(launcher, fails):
    text = (launcher.tree / "prenorm").read_text()
    (launcher.tree / "prenorm").write_text(text.replace("every=60", "every=0"))
    done = launcher("verify", FAILS=str(fails))
    assert "prenorm: built 1/7\n" in done.stderr
    assert (launcher.tree / "build/release/build.log").read_text() == "[1/7] Building a.o\n"
    assert done.returncode == (2 if fails else 0) and ("the build failed" in done.stderr) == bool(fails)


def test_parts_are_all_tests_and_each_is_in_one(launcher):
    """Of ctest's own tests the launcher leaves out those of other parts, and pytest those of a file itself."""
    names = [f"suite_{i}" for i in range(40)]
    listing = "".join(f"echo '  Test #{i}: {name}'\n" for i, name in enumerate(names))
    (launcher.tree / "bin/ctest").write_text(
        f'#!/bin/sh\ncase "$*" in *" -N "*) {listing};; *) echo "ctest $PRENORM_PART $*" >> "$TREE/calls" ;; esac\n')
    (launcher.tree / "bin/ctest").chmod(0o755)
    files = [str(path) for path in sorted((ROOT / "tests/harness/grade").glob("test_grade*.py"))]

    def collected(**variables):
        done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
                               *files], capture_output=True, text=True, env=dict(os.environ, **variables))
        return [line for line in done.stdout.splitlines() if "::" in line]

    of_ctest, of_pytest = [], []
    for part in range(1, 5):
        done = launcher("test", "--all", "--part", f"{part}/4", PRENORM_TEST_VENV="none")
        assert f"this was part {part}/4 of all tests" in done.stderr
        first, *_ = re.findall(rf"^ctest {part}/4 .* -E (\S+)", launcher.calls(), re.M)
        of_ctest += [name for name in names if not re.fullmatch(first, name)]
        of_pytest += collected(PRENORM_PART=f"{part}/4")
    assert sorted(of_ctest) == sorted(names)
    assert len(of_pytest) > 40 and sorted(of_pytest) == sorted(collected())
    for words in (["--part", "5/4"], ["--part", "0/4"], ["--part=x"], ["--part"]):
        done = launcher("test", "--all", *words)
        assert (done.returncode, done.stderr) == (2, "prenorm: test: --part takes K/N, the K-th of N parts, as 2/4\n")
