"""Another project uses what is installed: find_package(prenorm), build, verify; import prenorm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def without_home():
    """The environment without PRENORM_HOME: an installed program finds its parts by itself."""
    if not Path("/proc/self/exe").exists():
        pytest.skip("there is no /proc here, by which a program knows where it lies")
    return {name: value for name, value in os.environ.items() if name != "PRENORM_HOME"}


def test_installed_program_verifies(prefix, tmp_path):
    out = run(prefix / "bin/prenorm", "verify", "--problem", "rmsnorm", env=without_home(),
              cwd=tmp_path)
    assert "rmsnorm" in out and "PASSED" in out


def test_shells_and_man_find_what_is_theirs(prefix, home):
    for name, source in (("bash-completion/completions/prenorm", "bash"), ("zsh/site-functions/_prenorm", "zsh"),
                         ("fish/vendor_completions.d/prenorm.fish", "fish")):
        script = (ROOT / f"harness/cli/completion/prenorm.{source}").read_text()
        assert (prefix / "share" / name).read_text() == script
        assert run(prefix / "bin/prenorm", "completion", source, env=without_home()) == script
    assert "rmsnorm\t\n" in run(prefix / "bin/prenorm", "completion", "--", "verify", "--problem", "rms",
                                env=without_home())
    assert (prefix / "share/man/man1/prenorm.1").read_text() == (home / "share/man/man1/prenorm.1").read_text()


def test_find_package_builds_a_solution_that_passes(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", ROOT / "tests/repository/package", "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    out = run(prefix / "bin/prenorm", "verify", "--problem", "relu", "--solution",
              tmp_path / "libmine.so", env=without_home(), cwd=tmp_path)
    assert "PASSED" in out


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The Python package, as `pip install ./notebooks` copies it, in a folder of its own."""
    pytest.importorskip("setuptools")
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("python")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")  # pip builds in the folder
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
        "--root-user-action=ignore", "--target", folder / "packages", folder / "notebooks")
    return folder / "packages"


def test_the_python_package_finds_the_program_on_the_path(prefix, copied, tmp_path):
    script = ("import prenorm; print(prenorm.__file__); print(prenorm.home()); "
              "print(prenorm.load('reference').relu([-1.0, 2.0])); prenorm.fixture('relu'); "
              "print(len(str(prenorm.side_by_side('relu', 'reference', ['cuda'])._repr_html_())))")
    variables = without_home() | {"PYTHONPATH": str(copied), "PATH": f"{prefix}/bin:/usr/bin:/bin"}
    said = run(sys.executable, "-c", script, env=variables, cwd=tmp_path).splitlines()
    assert said[:3] == [str(copied / "prenorm/__init__.py"), str(prefix), "[0. 2.]"]
    assert int(said[3]) > 1000
    # In a checkout it is the launcher that may be on the PATH.
    (tmp_path / "prenorm").touch(0o755)
    for part in ("fixtures", "reference", "cuda"):
        (tmp_path / part).symlink_to(ROOT / part)
    variables["PATH"] = f"{tmp_path}:/usr/bin:/bin"
    said = run(sys.executable, "-c", "import prenorm; print(prenorm.ROOT)", env=variables, cwd="/")
    assert said.strip() == str(tmp_path)


def test_the_python_package_says_what_is_missing(copied, tmp_path):
    variables = without_home() | {"PYTHONPATH": str(copied), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", "import prenorm"], capture_output=True, text=True,
                          env=variables, cwd=tmp_path)
    assert done.returncode == 1
    assert "ImportError: prenorm is not found: put its program on the PATH" in done.stderr
