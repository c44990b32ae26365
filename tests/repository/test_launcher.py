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
import time
from pathlib import Path

import pytest

from places import ROOT, found_some

# Of what the launcher calls, by name: a shell script each.
STAND_INS = {
    "dpkg-query": 'cat "$TREE/installed" 2>/dev/null',
    "id": "echo 0",
    "apt-get": 'case "$*" in *assume-no*) echo "Need to get 312 MB of archives."; exit 1 ;;\n'
               '*update*) case "$*$OFFLINE" in *Error-Mode=any*offline) echo "no network"; exit 100 ;; esac ;;\n'
               '*) for p in $*; do printf "installed:%s " $p; done >> "$TREE/installed" ;; esac',
    "cmake": 'cd "$TREE/build/release"; touch build.ninja; mkdir -p bin\n'
             'echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(cd ../.. && pwd)" > CMakeCache.txt\n'
             'for program in prenorm prenorm_check; do cp "$TREE/program" bin/$program; done',
    "ctest": 'case "$*" in *-R*) printf "a::b: %s\\n" "$REASON" "$REASON" >> "$PRENORM_SKIPS" ;; esac',
    "ninja": 'case "$*" in *" -n "*) echo "$STEPS" ;; *targets.ninja*) echo "[1/7] Building a.o"; exit ${FAILS:-0} ;; esac',
}
PROGRAM = 'echo "ran $*"'


@pytest.fixture
def launcher():
    """launch(words..., variables...): the finished launcher of a copy that builds nothing, in launch.tree."""
    tree = Path(tempfile.mkdtemp(prefix="launcher-"))  # not tmp_path, which another user cannot enter
    tree.chmod(0o755)
    shutil.copy(ROOT / "prenorm", tree)
    (tree / "docs").mkdir()
    for name in ("docs/commands.md", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tree / name)
    for name in ("tests/support", "harness/cli/help", "harness/cli/completion"):
        shutil.copytree(ROOT / name, tree / name)

    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    for name, text in STAND_INS.items():
        script(tree / "bin" / name, f'echo "{name} $*" >> "$TREE/calls" 2>/dev/null\n{text}')
    for name in ("program", "build/release/bin/prenorm", "build/release/bin/prenorm_check"):
        script(tree / name, PROGRAM)

    def launch(*words, start=subprocess.run, tree=tree, path="prenorm", **variables):
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PRENORM_")}
        environment = {**ours, "PATH": f"{tree}/bin:{os.environ['PATH']}", "TREE": str(tree), **variables}
        with_output = {"capture_output": True} if start is subprocess.run else {
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return start([tree / path, *words], text=True, env=environment, **with_output,
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
    assert sorted(listed) == sorted([*commands, *OWN])
    assert launcher.calls() == ""


OWN = ("build", "clean", "help", "packages", "test", "version")
HELP = found_some((ROOT / "harness/cli/help").rglob("*.txt"))


def at_once(launcher, *words):
    """What it says on a fresh clone, without a call of anything that installs or builds."""
    shutil.rmtree(launcher.tree / "build", ignore_errors=True)
    done = launcher(*words, TMPDIR="/nowhere")
    assert launcher.calls() == "" and not (launcher.tree / "build").exists()
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("path", HELP, ids=lambda path: "_".join(path.relative_to(HELP[0].parent).with_suffix("").parts))
def test_help_of_a_command_comes_from_its_file(launcher, path):
    words = path.relative_to(ROOT / "harness/cli/help").with_suffix("").parts
    for asked in ([*words, "--help"], [*words, "-h"], ["help", *words], [*words, "--json", "x", "--help"]):
        assert at_once(launcher, *asked) == (0, path.read_text(), "")


def test_the_version_comes_from_the_project(launcher, program):
    own = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert at_once(launcher, "--version") == at_once(launcher, "version") == (0, own, "")


def test_completion_needs_no_build(launcher):
    for shell in ("bash", "fish", "zsh"):
        script = (ROOT / f"harness/cli/completion/prenorm.{shell}").read_text()
        assert at_once(launcher, "completion", shell) == (0, script, "")
    told = [line.split("\t")[0] for line in at_once(launcher, "completion", "--", "fixtures", "")[1].splitlines()]
    assert told == ["make", "check", "calibrate", "export"]
    assert at_once(launcher, "completion") == (2, "", "prenorm: completion: it takes a shell: bash, zsh or fish\n")


def test_what_comes_after_dashes_is_no_question_for_help(launcher):
    assert launcher("emulate", "a.cu", "--", "--help").stdout == "ran emulate a.cu -- --help\n"


@pytest.mark.parametrize("words, told", [
    ("verfy", "no command 'verfy' (did you mean 'verify'?); ./prenorm --help lists all"),
    ("verrify --help", "no command 'verrify' (did you mean 'verify'?); ./prenorm --help lists all"),
    ("tset", "no command 'tset' (did you mean 'test'?); ./prenorm --help lists all"),
    ("vercion", "no command 'vercion' (did you mean 'version'?); ./prenorm --help lists all"),
    ("grades", "no command 'grades' (did you mean 'grade'?); ./prenorm --help lists all"),
    ("gradesc", "no command 'gradesc' (did you mean 'gradescope'?); ./prenorm --help lists all"),
    ("nonsense", "no command 'nonsense'; ./prenorm --help lists all"),
    ("fixtures/make", "no command 'fixtures/make'; ./prenorm --help lists all"),
    ("fixtures chek", "no command 'chek' (did you mean 'check'?); ./prenorm fixtures --help lists all"),
    ("build verfy", "no command 'verfy' (did you mean 'verify'?); ./prenorm --help lists all"),
    ("build", "build: it takes a command that is built: ./prenorm build verify"),
    ("--hepl", "no option '--hepl' (did you mean '--help'?); ./prenorm --help lists all"),
    ("test --hepl", "test: no option '--hepl' (did you mean '--help'?); ./prenorm test --help lists all"),
    ("test -R x --al", "test: no option '--al' (did you mean '--all'?); ./prenorm test --help lists all"),
    ("test --sanitizer", "test: no option '--sanitizer' (did you mean '--sanitizers'?); ./prenorm test --help lists all"),
    ("test --all --prat=1/2", "test: no option '--prat=1/2' (did you mean '--part'?); ./prenorm test --help lists all"),
])
def test_a_wrong_word_is_told_before_anything_is_built(launcher, words, told):
    assert at_once(launcher, *words.split()) == (2, "", f"prenorm: {told}\n")


def test_the_options_of_ctest_go_to_it(launcher):
    told = subprocess.run(["ctest", "--help"], capture_output=True, text=True, check=True).stdout
    options = sorted(set(re.findall(r"--[a-z][a-z-]*", told)) - {"--help"})
    assert len(options) > 40
    assert launcher("test", *options, "-R", "x", REASON="one processor").returncode == 0
    assert " ".join([*options, "-R", "x"]) in launcher.calls()
    assert launcher("test", "-R", "x", "--part", "2/4", "--all", PRENORM_TEST_VENV="none",
                    REASON="one processor").returncode == 0


def test_a_folder_for_temporary_files_that_is_not_there(launcher):
    for words in (["verify"], ["test"], ["build", "verify"]):
        done = launcher(*words, TMPDIR="/nowhere")
        assert (done.returncode, launcher.calls()) == (2, "") and re.fullmatch(
            "prenorm: TMPDIR is /nowhere, which is no folder .*\n", done.stderr)


def test_without_a_network_it_says_what_is_missing(launcher):
    done = launcher("verify", OFFLINE="offline")
    assert (done.returncode, done.stdout) == (2, "") and "no network\n" in done.stderr
    told = re.search("these packages are missing, and could not be installed; as root: "
                     "apt-get install --no-install-recommends (.*)", done.stderr)[1]
    assert told.split() == re.search("prenorm: installing (.*)", done.stderr)[1].split() and "cmake" in told
    assert re.findall("apt-get .*", launcher.calls()) == [
        "apt-get -o APT::Update::Error-Mode=any -o Acquire::Retries=0 update -q"]
    assert launcher("verify").returncode == 0
    assert re.search("apt-get .*Acquire::Retries=0 install -q -y", launcher.calls())


def test_a_dockerfile_that_has_only_the_launcher_gets_the_packages(launcher):
    for name in ("docs", "harness", "tests", "build"):
        shutil.rmtree(launcher.tree / name)
    assert "cmake\n" in launcher("packages").stdout


def test_build_does_not_run_and_needs_what_an_autograder_has(launcher):
    shutil.rmtree(launcher.tree / "docs")
    done = launcher("build", "grade", PRENORM_CMAKE_ARGS="-DPRENORM_NATIVE=OFF")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "targets.ninja graded\n" in launcher.calls() and "-DPRENORM_NATIVE=OFF\n" in launcher.calls()
    assert "./prenorm build grade\n" in (ROOT / "harness/cli/gradescope/setup.sh").read_text()


def test_clean_removes_what_was_built(launcher):
    tree = launcher.tree
    for name in ("build/tsan/tests", "build/test-venv/bin", "build/study"):
        (tree / name).mkdir(parents=True)
    assert launcher("clean", "all").returncode == 2
    done = launcher("clean")
    assert (done.returncode, done.stdout, done.stderr) == (0, "removed build/release\nremoved build/tsan\n", "")
    assert sorted(each.name for each in (tree / "build").iterdir()) == ["lock", "study", "test-venv"]
    assert launcher("clean").stdout == "nothing to remove\n"


def test_a_link_on_the_path_leads_to_the_checkout(launcher):
    folder = launcher.tree / "on the path"
    folder.mkdir()
    (folder / "prenorm").symlink_to("../prenorm")
    (folder / "again").symlink_to("prenorm")
    for name in ("prenorm", "again"):
        assert launcher("list", path=f"on the path/{name}").stdout == "ran list\n"
    assert not (folder / "build").exists()


def built(launcher):
    """The launcher's tree as CMake leaves one, with what in it names the sources, for all presets."""
    assert launcher("verify").returncode == 0
    tree, cache = launcher.tree, launcher.tree / "build/release/CMakeCache.txt"
    os.utime(tree / "build/release/build.ninja")
    for preset in ("asan", "tsan"):
        (tree / "build" / preset / "tests/nested").mkdir(parents=True)
        shutil.copy(cache, tree / "build" / preset)
    (tree / "build/release/share").symlink_to(tree / "docs")
    (tree / "build/test-venv").mkdir()
    for name in ("prenorm", "prenorm_check"):
        (tree / "build/release/bin" / name).write_text("#!/bin/sh\necho old\n")
    (tree / "calls").unlink()
    return tree


def state(tree):
    """What is in it: each path with its time, and a link's target."""
    return {path: (path.lstat().st_mtime_ns, path.is_symlink() and os.readlink(path)) for path in tree.rglob("*")}


@pytest.mark.parametrize("how", ["copied", "moved", "renamed with a blank"])
def test_a_checkout_that_was_copied_or_moved_is_configured_anew(launcher, how):
    tree = built(launcher)
    other = tree.with_name(tree.name + (" b" if "blank" in how else "b"))
    try:
        if how == "copied":
            shutil.copytree(tree, other, symlinks=True)
        else:
            tree.rename(other)
        before = state(tree)
        done = launcher("verify", tree=other)
        assert done.stderr.count("prenorm: this checkout was copied or moved "
                                 f"(from {tree}); configuring anew\n") == 1 and "Error" not in done.stderr
        assert (done.returncode, done.stdout) == (0, "ran verify\n")
        assert (other / "calls").read_text().count("cmake --preset") == 1
        assert sorted(each.name for each in (other / "build").iterdir()) == ["lock", "release", "test-venv"]
        assert not (other / "build/release/share").is_symlink()
        assert state(tree) == before and tree.exists() == (how == "copied")
        again = launcher("verify", tree=other)
        assert again.stdout == "ran verify\n" and "anew" not in again.stderr
        (other / "build/release/CMakeCache.txt").unlink()  # as where a removal was stopped
        assert "configuring build/release" in launcher("verify", tree=other).stderr
    finally:
        shutil.rmtree(other)
        tree.mkdir(exist_ok=True)


def test_a_copy_that_cannot_be_written_does_not_check_the_original(launcher):
    tree = built(launcher)
    other = tree.with_name(tree.name + "b")
    shutil.copytree(tree, other, symlinks=True)
    folders = [other / "build/release", other / "build", other]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = launcher("verify", tree=other, **({"AS_NOBODY": "1"} if os.geteuid() == 0 else {}))
        assert (done.returncode, done.stdout, done.stderr) == (
            2, "", f"prenorm: build/release was made in {tree}, whose sources it would read, and cannot be written here\n")
    finally:
        for folder in folders:
            folder.chmod(0o755)
        shutil.rmtree(other)


def test_a_copy_that_links_to_the_original_s_build_leaves_it_alone(launcher):
    tree = built(launcher)
    other = tree.with_name(tree.name + "b")
    shutil.copytree(tree, other, symlinks=True, ignore=shutil.ignore_patterns("build"))
    try:
        for name in ("build", "build/release"):
            if name == "build/release":
                (other / "build").unlink()
                (other / "build").mkdir()
            (other / name).symlink_to(tree / name)
            before = state(tree)
            for word in ("verify", "clean"):
                done = launcher(word, tree=other)
                assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(
                    "prenorm: build/release lies outside of the checkout, by a link: remove the link first\n")
            assert state(tree) == before
    finally:
        shutil.rmtree(other)


def test_a_checkout_that_is_reached_by_a_link_was_not_moved(launcher):
    tree = built(launcher)
    link = tree.with_name(tree.name + "b")
    link.symlink_to(tree)
    try:
        for named, reached in ((tree, link), (link, tree), (link, link)):
            (tree / "build/release/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={named}\n")
            done = launcher("verify", tree=reached)
            assert done.stdout == "old\n" and "anew" not in done.stderr
        assert "cmake --preset" not in launcher.calls()
    finally:
        link.unlink()


def test_the_launcher_is_clean():
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    scripts = [ROOT / "harness/cli/completion" / name for name in ("words.sh", "prenorm.bash")]
    done = subprocess.run(["shellcheck", ROOT / "prenorm", *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


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


@pytest.mark.parametrize("builds, told", [
    ("", "installs or configures"),
    ("{then} 8 tsan all\n", "builds build/tsan: 6 of 8 steps left, about 15 min"),
    ("{then} 6 tsan all\n", "builds build/tsan: 6 of 6 steps left")])
def test_a_second_build_waits_for_the_first(launcher, builds, told):
    with (launcher.tree / "build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(builds.format(then=int(time.time()) - 290))
        lock.flush()
        second = launcher("verify", start=subprocess.Popen, STEPS="[1/6] a\n[2/6] b")
        assert second.stderr.readline() == f"prenorm: waiting for another prenorm, which {told}\n"
        assert "cmake" not in launcher.calls()
    out, _ = second.communicate(timeout=60)
    assert out == "ran verify\n" and "cmake" in launcher.calls()


def test_what_is_built_does_not_wait(launcher):
    tree, nothing = built(launcher), "ninja: no work to do."
    assert launcher("study", STEPS=nothing).returncode == 0  # with its packages
    with (tree / "build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (["list"], ["study"], ["verify", "--jobs", "1"], ["build", "grade"]):
            done = launcher(*words, STEPS=nothing)
            assert (done.returncode, done.stdout, done.stderr) == (
                0, "" if "build" in words else f"ran {' '.join(words)}\n", ""), words


@pytest.mark.parametrize("what", ["a source", "a new file", "CMake's", "the program", "options of CMake", "moved",
                                  "new packages", "packages of study"])
def test_what_may_not_be_built_waits(launcher, what):
    tree, steps, options, word = built(launcher), "ninja: no work to do.", {}, "list"
    later = time.time() + 60
    if what == "a source":
        steps = "[1/1] Building a.o"
    elif what == "a new file":
        os.utime(tree / "harness/cli", (later, later))
    elif what == "CMake's":
        os.utime(tree / "CMakeLists.txt", (later, later))
    elif what == "the program":
        (tree / "build/release/bin/prenorm").unlink()
    elif what == "options of CMake":
        options["PRENORM_CMAKE_ARGS"] = "-DPRENORM_WERROR=ON"
    elif what == "moved":
        (tree / "build/release/CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    elif what == "new packages":
        os.utime(tree / "build/release/install.log", (later, later))
    else:
        word = "study"
    with (tree / "build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = launcher(word, start=subprocess.Popen, STEPS=steps, **options)
        assert second.stderr.readline() == "prenorm: waiting for another prenorm, which installs or configures\n"
    second.communicate(timeout=60)
    assert "build.ninja\n" in launcher.calls()  # CMake was asked


def test_a_build_says_to_others_what_it_builds(launcher):
    lock = launcher.tree / "build/lock"
    assert launcher("verify", STEPS="[1/2] a\n[2/2] b", FAILS="1").returncode == 2
    assert re.fullmatch(r"\d+ 2 release verified\n", lock.read_text())
    assert launcher("verify", STEPS="ninja: no work to do.").returncode == 0
    assert lock.read_text() == ""
    launcher("verify", STEPS="[1/2] a\n[2/2] b")
    assert lock.read_text() == ""


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
    done = launcher("verify", FAILS=str(fails), PRENORM_PROGRESS_SECONDS="0")
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
