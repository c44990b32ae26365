"""Another project uses the installed package: find_package(prenorm), build, verify."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(home, tmp_path_factory):
    """An installation in a folder of its own."""
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", home, "--prefix", prefix)
    return prefix


def without_home():
    """The environment without PRENORM_HOME: an installed program finds its parts by itself."""
    if not Path("/proc/self/exe").exists():
        pytest.skip("there is no /proc here, by which a program knows where it lies")
    return {name: value for name, value in os.environ.items() if name != "PRENORM_HOME"}


def test_installed_program_verifies(prefix, tmp_path):
    out = run(prefix / "bin/prenorm", "verify", "--problem", "rmsnorm", env=without_home(),
              cwd=tmp_path)
    assert "rmsnorm" in out and "PASSED" in out


def test_find_package_builds_a_solution_that_passes(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", ROOT / "tests/package", "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    out = run(prefix / "bin/prenorm", "verify", "--problem", "relu", "--solution",
              tmp_path / "libmine.so", env=without_home(), cwd=tmp_path)
    assert "PASSED" in out
