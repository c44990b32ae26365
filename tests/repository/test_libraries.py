# labels: unit
"""Configuring says which libraries do not fit (harness/cmake/libraries.cmake), and the launcher which
packages it installs."""

import os
import subprocess

import pytest

from places import ROOT


@pytest.fixture
def configure(tmp_path):
    """configure(**versions): what CMake says where these libraries have these versions."""

    def call(**versions):
        project = tmp_path / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(any LANGUAGES CXX)\n"
            f"include([[{ROOT}/harness/cmake/libraries.cmake]])\n")
        for name, version in versions.items():
            folder = tmp_path / f"lib/cmake/{name}"
            folder.mkdir(parents=True)
            (folder / f"{name}Config.cmake").write_text("")
            (folder / f"{name}ConfigVersion.cmake").write_text(f"set(PACKAGE_VERSION {version})\n")
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", project, "-B", tmp_path / "build",
                               f"-DCMAKE_PREFIX_PATH={tmp_path}", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"],
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    return call


def test_every_library_that_does_not_fit_is_listed_at_once(configure):
    code, said = configure(xtensor="0.26.0", fmt="8.1.1")
    assert code != 0
    for line in ("xtensor: 0.26.0 found, wanted 0.24 or newer, below 0.26 (Debian: libxtensor-dev)",
                 "fmt: 8.1.1 found, wanted 9 or newer (Debian: libfmt-dev)",
                 "CLI11: not found, wanted 2.1 or newer (Debian: libcli11-dev)"):
        assert f"\n    {line}\n" in said, said
    assert "pugixml" not in said and "docs/install.md" in said


def packages(*groups):
    done = subprocess.run([ROOT / "prenorm", "packages", *groups], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]})
    return done.returncode, done.stdout.split(), done.stderr


def test_the_launcher_prints_its_packages():
    code, build, _ = packages()
    assert code == 0 and {"g++", "cmake", "libhdf5-dev"} <= set(build) and "python3-torch" not in build
    assert set(build) < set(packages("study")[1]) < set(packages("test")[1]) < set(packages("all")[1])
    code, usage, _ = packages("study", "--help")
    assert code == 0 and usage[0] == "usage:"
    code, _, said = packages("games")
    assert code == 2 and "no group games; the groups are study, test, all" in said
