# labels: unit grading
# slow labels: unit grading
"""`prenorm gradescope`: the autograder that it writes, run in the folders that Gradescope documents."""

import os
import re
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest

from disks import on_small_disk
from grading import unavailable
from places import ROOT, SUBMISSIONS, found_some
from submissions import folder_of
from results_json import TWO_PROBLEMS, check_results

HONEST = SUBMISSIONS / "honest"


@pytest.fixture(scope="module")
def plain(program, tmp_path_factory):
    """An autograder with the usual settings, made once: to write it takes longer than most tests."""
    target = tmp_path_factory.mktemp("plain") / "autograder"
    subprocess.run([program, "gradescope", target], check=True, capture_output=True)
    return target


@pytest.fixture
def autograder(run, tmp_path):
    """autograder(words...): the folder that `prenorm gradescope` writes."""
    made = []

    def make(*words):
        target = tmp_path / f"autograder{len(made)}"
        made.append(target)
        done = run("gradescope", target, *words)
        assert done.returncode == 0, done.stderr
        assert str(target / "autograder.zip") in done.stdout
        return target

    return make


@pytest.fixture
def rubric(tmp_path):
    """A rubric of somebody's own, with adapters beside it."""
    shelf = tmp_path / "rubrics"
    shelf.mkdir()
    (shelf / "mine.toml").write_text(TWO_PROBLEMS)
    (shelf / "secrets.json").write_text("{}")
    shutil.copy(ROOT / "fixtures/rubrics/adapters-2025.toml", shelf / "names.toml")
    return shelf / "mine.toml"


@pytest.mark.slow
def test_the_archive_has_what_builds_and_nothing_else(autograder, rubric):
    target = autograder("--rubric", rubric)
    archive = zipfile.ZipFile(target / "autograder.zip")
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == sorted(set(names))
    # At the root: what Gradescope looks for, and the launcher, executable.
    for name in ("setup.sh", "run_autograder", "prenorm"):
        assert (archive.getinfo(name).external_attr >> 16) & 0o777 == 0o755
    assert (archive.getinfo("CMakeLists.txt").external_attr >> 16) & 0o777 == 0o644
    assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    # The same files lie beside it.
    beside = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert beside == {*names, "autograder.zip"}
    for name in names:
        assert (target / name).read_bytes() == archive.read(name)
        assert os.access(target / name, os.X_OK) == bool(archive.getinfo(name).external_attr >> 16
                                                         & stat.S_IXUSR)
    # Of the fixtures those that are graded by, and all sources.
    assert {f"fixtures/{path.name}" for path in found_some((ROOT / "fixtures").glob("*.h5"))} <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"harness", "reference", "fixtures", "prenorm", "CMakeLists.txt",
                    "CMakePresets.json", "LICENSE", "setup.sh", "run_autograder", "settings.sh"}
    assert [name for name in names if name.startswith("fixtures/rubrics")] == [
        "fixtures/rubrics/mine.toml", "fixtures/rubrics/names.toml"]
    for name in names:
        assert not re.search(r"secret|instructor|oracle|make_fixtures|\.pyc$|/\.", name), name
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("there is no git, which would list the sources")
    listed = subprocess.run(["git", "-C", ROOT, "-c", "safe.directory=*", "ls-files", "harness", "reference"],
                            capture_output=True, text=True, check=True)
    assert set(found_some(listed.stdout.split())) <= set(names)


@pytest.mark.slow
def test_nothing_that_is_hidden_lies_in_it(plain, autograder):
    same, seeded = autograder(), autograder("--seed", "987654321")
    archives = [(each / "autograder.zip").read_bytes() for each in (plain, same)]
    assert archives[0] == archives[1], "the same files make the same archive"
    assert "--seed" not in (plain / "settings.sh").read_text()
    assert "--seed 987654321" in (seeded / "settings.sh").read_text()
    for path in plain.rglob("*"):
        assert path.is_dir() or path.suffix == ".zip" or b"987654321" not in path.read_bytes()
    archive = zipfile.ZipFile(seeded / "autograder.zip")
    assert [name for name in archive.namelist() if b"987654321" in archive.read(name)] == [
        "settings.sh"]
    for name in ("settings.sh", "autograder.zip"):
        assert (seeded / name).stat().st_mode & 0o777 == 0o600, name
    # Hidden cases are none of the stored ones: those of the fixtures are the checkout's own.
    for path in found_some((plain / "fixtures").glob("*.h5")):
        assert path.read_bytes() == (ROOT / "fixtures" / path.name).read_bytes()


@pytest.mark.slow
def test_the_scripts_are_clean(plain):
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    for name in ("setup.sh", "run_autograder", "settings.sh"):
        done = subprocess.run(["shellcheck", plain / name], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_words_that_cannot_be_used(run, tmp_path, rubric):
    assert "did you mean" in run("gradescope", "x", "--rubric", "cs336-2052", code=2).stderr
    rubric.write_text(TWO_PROBLEMS.replace('["silu"]', '["silly"]'))
    assert "silly" in run("gradescope", "x", "--rubric", rubric, code=2).stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    assert "not empty" in run("gradescope", "full", code=2).stderr
    # An installation has no sources.
    told = run("gradescope", "x", code=2, PRENORM_LAUNCHER="/nowhere/prenorm").stderr
    assert "/nowhere: no CMakeLists.txt there; an autograder is built of the sources" in told
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["disk/auto", "disk"])  # one that is made, one that is empty
def test_on_a_full_disk_nothing_is_left(program, tmp_path, folder):
    done, files = on_small_disk(tmp_path, 64, program, "gradescope", folder)
    assert done.returncode == 2 and files == {} and not (tmp_path / "kept/auto").exists()
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def gradescope(autograder, plain, home, program, tmp_path):
    """gradescope(submission, words..., without=()): results.json and what was printed, in
    Gradescope's folders, with the program of this build in place of one that setup.sh builds."""
    if unavailable("bubblewrap"):
        pytest.skip(unavailable("bubblewrap"))

    def call(submission, *words, change=None):
        target = tmp_path / "container"
        source = target / "source"
        source.mkdir(parents=True)
        made = autograder(*words) if words else plain
        zipfile.ZipFile(made / "autograder.zip").extractall(source)
        shutil.copy(source / "run_autograder", target)
        (target / "run_autograder").chmod(0o755)
        (target / "results").mkdir()
        if submission.is_dir():
            shutil.copytree(submission, target / "submission")
        else:
            (target / "submission").mkdir()
            shutil.copy(submission, target / "submission")
        release = source / "build/release"
        (release / "share/prenorm").mkdir(parents=True)
        (release / "share/prenorm/fixtures").symlink_to("../../../../fixtures")
        binds = {home / part: Path("/autograder/source/build/release") / part
                 for part in ("lib", "libexec", "include", "share/cmake")}
        binds[program.resolve()] = "/autograder/source/build/release/bin/prenorm"
        worker = (home / "libexec/prenorm/prenorm_worker.py").resolve().parent
        binds[worker] = worker
        if change:
            change(target, binds)
        command = ["bwrap", "--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc",
                   "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", target,
                   "/autograder"]
        for link in ("bin", "sbin", "lib", "lib64"):
            command += ["--symlink", f"usr/{link}", f"/{link}"]
        for what, where in binds.items():
            command += ["--ro-bind", what.resolve(), where]
        command += ["--chdir", "/autograder", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
                    "/autograder/run_autograder"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [path.name for path in (target / "results").iterdir()] == ["results.json"]
        text = (target / "results/results.json").read_text()
        return check_results(text), done.stdout

    return call


@pytest.mark.slow
def test_a_submission_in_gradescope_s_folders(gradescope, rubric):
    results, printed = gradescope(HONEST / "python_partial", "--rubric", rubric,
                                  "--hidden-visibility", "after_due_date")
    assert [test["name"] for test in results["tests"]] == [
        *(f"{item}: {group}{end}" for item in ("silu", "softmax") for group in ("float32", "16 bits")
          for end in ("", ", with hidden cases")), "the whole submission"]
    assert [test["visibility"] for test in results["tests"]] == [
        *["visible", "after_due_date"] * 4, "after_due_date"]
    # Points need both; what is visible says nothing of what is hidden.
    assert [test["max_score"] for test in results["tests"][:4]] == [
        0, round(2 / 3, 4), 0, round(1 / 3, 4)]
    assert "points" not in results["output"]
    assert 0 < results["score"] <= 3 and sum(t["max_score"] for t in results["tests"]) == 3
    assert results["extra_data"]["rubric"] == "mine"
    assert "of 3 points" in printed


@pytest.mark.slow
def test_a_submission_is_not_graded_by_its_own_fixtures(gradescope, rubric, tmp_path):
    def bring_fixtures(target, binds):
        shutil.copytree(ROOT / "fixtures", target / "submission/fixtures",
                        ignore=lambda folder, names: [name for name in names
                                                      if name not in ("silu.h5", "softmax.h5")])
        for path in found_some((target / "submission/fixtures").glob("*.h5")):
            path.write_bytes(b"no fixture")

    (tmp_path / "adapters.py").write_text(
        "def run_silu(in_features):\n    return in_features / 2\n")
    results, _ = gradescope(tmp_path / "adapters.py", "--rubric", rubric, change=bring_fixtures)
    wrong = results["tests"][0]
    assert wrong["name"] == "silu: float32" and "elements wrong" in wrong["output"]
    repeats = re.findall("repeat: (.*)", wrong["output"])
    start = "./prenorm grade submission --rubric mine --problem silu --case "
    assert len(repeats) == 3 and all(line.startswith(start) for line in repeats)


@pytest.mark.slow
def test_a_project_in_gradescope_s_folders(gradescope, rubric):
    rubric.write_text(TWO_PROBLEMS.replace('adapters = "names.toml"\n', ""))
    results, _ = gradescope(folder_of("honest/cpp_orders"), "--rubric", rubric)
    assert results["score"] == 3, results["output"]


def no_program(target, binds):
    binds.popitem()
    for what in [what for what, where in binds.items() if str(where).endswith("bin/prenorm")]:
        del binds[what]


def broken_settings(target, binds):
    (target / "source/settings.sh").write_text("set -- --rubric 'no\"such\\'\n")


def unreadable_settings(target, binds):
    (target / "source/settings.sh").write_text("set -- 'no end\n")


def no_submission(target, binds):
    shutil.rmtree(target / "submission")


@pytest.mark.parametrize("change, says", [
    (no_program, "not found"),
    (broken_settings, "no rubric 'no\"such\\'"),
    (unreadable_settings, "run_autograder could not read settings.sh"),
    (no_submission, "there is no /autograder/submission"),
])
def test_a_results_json_there_is_always(gradescope, change, says):
    results, _ = gradescope(HONEST / "python_partial", change=change)
    assert results["score"] == 0 and results["tests"] == []
    assert results["output"].startswith("This submission was not graded.")
    assert says in results["output"]


def test_nothing_to_grade_says_so(gradescope, tmp_path):
    (tmp_path / "essay.txt").write_text("")
    results, _ = gradescope(tmp_path / "essay.txt")
    assert "nothing in it that can be graded: no CMakeLists.txt" in results["output"]
