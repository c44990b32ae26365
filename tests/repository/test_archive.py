# labels: unit slow
# timeout: 3000
# lock: relocatable
"""The relocatable archive: made by its preset, and used where it was unpacked, with nothing of ours
around it."""

import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from places import ROOT, version
from submissions import write

IN_ONE_PART = True
# What every system has: the C library, and the C++ library.
SYSTEM = {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
          "librt.so.1", "libresolv.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
NAME = f"prenorm-{version().rpartition('.')[0]}-linux-x86_64"


@pytest.fixture(scope="module")
def archive():
    """Made by the preset, in the checkout's build/archive, where a later run has less to build."""
    subprocess.run(["cmake", "--workflow", "--preset", "archive"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return ROOT / f"build/archive/{NAME}.tar.xz"


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    """Where somebody moved it to, who may not write there; a path with a space."""
    place = tmp_path_factory.mktemp("some place")
    with tarfile.open(archive) as file:
        assert {member.name.split("/")[0] for member in file} == {NAME}
    subprocess.run(["tar", "-xf", archive, "-C", place], check=True)
    moved = (place / NAME).rename(place / "moved here")
    subprocess.run(["chmod", "-R", "a-w", moved], check=True)
    yield moved
    subprocess.run(["chmod", "-R", "u+w", moved], check=True)


@pytest.fixture
def run(unpacked, tmp_path):
    """run(words..., code=0): its program in an empty folder, with an empty environment."""

    def call(*words, code=0):
        done = subprocess.run([str(word) for word in (unpacked / "bin/prenorm", *words)], cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
                              capture_output=True, text=True, timeout=900)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    return call


def programs(folder):
    """The programs and libraries below a folder."""
    return [path for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"
            and path.suffix != ".a"]


def test_it_brings_every_library_but_those_that_every_system_has(unpacked):
    lists = subprocess.run(["readelf", "--dynamic", "--wide", *programs(unpacked)],
                           capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", lists))
    brought = {path.name for path in (unpacked / "lib").iterdir() if path.is_file()}
    assert needed - brought <= SYSTEM
    assert {"libhdf5_serial.so.103", "libopenblas.so.0"} <= brought and not brought & SYSTEM
    # Ours look for them beside themselves; no folder of the machine that built them is named.
    places = {place for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", lists)
              for place in found.split(":")}
    assert places and all(place.startswith("$ORIGIN") for place in places), places
    assert not [path for path in unpacked.rglob("*") if path.is_symlink()]


def test_every_library_has_its_license(unpacked):
    rows = [line.split() for line in (unpacked / "share/prenorm/libraries.txt").read_text().splitlines()]
    assert {row[0] for row in rows} == {path.name for path in (unpacked / "lib").iterdir()
                                        if path.is_file()}
    if shutil.which("dpkg-query"):
        licenses = {path.name for path in (unpacked / "share/doc/prenorm/licenses").iterdir()}
        assert licenses == {row[1] for row in rows}
    assert (unpacked / "share/doc/prenorm/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_verifies(run):
    assert run("--version") == f"prenorm {version()}\n"
    said = run("verify", "--problem", "rmsnorm", "--problem", "softmax")
    assert re.search(r"^rmsnorm +PASSED", said, re.M) and "FAILED" not in said
    said = run("doctor")
    assert "MISSING" not in said and "does not start" not in said


def test_it_grades_a_library(run, unpacked, tmp_path):
    """Whose worker finds the libraries in the sandbox, but no solution."""
    shutil.copy(unpacked / "lib/prenorm/libprenorm_plain.so", tmp_path / "mine.so")
    said = run("grade", "mine.so", "--rubric", "all", "--problem", "rmsnorm", "--no-hidden")
    assert re.search(r"^rmsnorm +\S+ / \S+", said, re.M) and " 0 failed" in said, said


def test_it_grades_and_keeps_a_gradebook(run, tmp_path):
    for name in ("python_partial", "python_numpy"):
        write(f"honest/{name}", tmp_path / "class" / name)
    said = run("grade", "class/python_numpy", "--rubric", "all", "--no-hidden", code=1)
    assert re.search(r"^rmsnorm +\S+ / \S+", said, re.M), said
    run("grade", "class/python_partial", "class/python_numpy", "--rubric", "all", "--no-hidden",
        "--gradebook", "grades.sqlite", code=1)
    said = run("gradebook", "grades.sqlite", "--html", "class.html")
    assert "python_numpy" in run("gradebook", "grades.sqlite")
    assert "python_partial" in (tmp_path / "class.html").read_text()


def test_its_autograder_builds_nothing(run, unpacked, tmp_path):
    said = run("gradescope", "autograder", "--rubric", "cs336-2025")
    assert "nothing is built there" in said
    with zipfile.ZipFile(tmp_path / "autograder/autograder.zip") as file:
        names = set(file.namelist())
        assert {"setup.sh", "run_autograder", "settings.sh", "build/release/bin/prenorm"} <= names
        assert not [name for name in names if name.endswith(("CMakeLists.txt", ".ipynb"))
                    and "templates/" not in name]
        assert [name for name in names if "/rubrics/" in name and name.endswith("2025.toml")
                ] and not [name for name in names if "2024" in name]
        for name in ("setup.sh", "run_autograder", "build/release/bin/prenorm"):
            assert file.getinfo(name).external_attr >> 16 & 0o111, name
    # The program of the autograder works where Gradescope unpacks it.
    done = subprocess.run([tmp_path / "autograder/build/release/bin/prenorm", "verify", "--problem",
                           "relu", "--solution", "reference"], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout + done.stderr
