# labels: unit
"""For which devices kernels are compiled, as cuda/toolchain.cmake concludes from what nvidia-smi and nvcc say,
and the sentence where they are not. Both are stand-ins here, except for the whole project."""

import re
import subprocess

import pytest

from places import ROOT
from test_cuda_resources import NVCC, architectures

# Of a program by that name: what its options make it say.
SMI = 'case "$*" in "--query-gpu=compute_cap --format=csv,noheader") printf "%b" "{}" ;; *) exit 2 ;; esac'
OLD_NVCC = 'case "$*" in --version) echo "release {}, V1" ;; *) printf "sm_%s\\n" 80 86 89 90 ;; esac'


@pytest.fixture
def configure(tmp_path):
    """configure(devices, options..., nvcc=a stand-in's version): a project that asks for devices, configured;
    its output on one line. With whole=True it is this one."""
    def stand_in(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def call(devices, *options, nvcc="12.4", whole=False):
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(asks NONE)\n"
            "macro(enable_language)\nendmacro()\nmacro(find_package)\nendmacro()\n"  # as if that nvcc compiled
            f"include({ROOT}/cuda/toolchain.cmake)\n"
            'message(STATUS "for \'${CMAKE_CUDA_ARCHITECTURES}\'")\n')
        compiler = NVCC if whole else stand_in("nvcc", OLD_NVCC.format(nvcc)) if nvcc else "OFF"
        where = ["--preset", "release"] if whole else ["-S", tmp_path]
        done = subprocess.run(["cmake", *where, "-B", tmp_path / "build", "-DBUILD_TESTING=OFF",
                               f"-DPRENORM_NVIDIA_SMI={stand_in('nvidia-smi', SMI.format(devices))}",
                               f"-DPRENORM_NVCC={compiler}", *options], cwd=ROOT, capture_output=True, text=True)
        assert ("CMake Error" in done.stderr) == bool(done.returncode)
        return re.sub(r"\s+", " ", done.stdout + done.stderr)

    return call


@pytest.mark.parametrize("devices, nvcc, why", [
    ("7.5", "13.0", "kernels need compute capability 8.0; this is 7.5"),
    ("12.0\\n9.0\\n7.0\\n7.5", "13.0", "kernels need compute capability 8.0; this is 7.0"),
    ("9.0\\n12.0", "12.4", "not built: nvcc 12.4 does not know compute capability 12.0"),
    ("8.6", "11.8", "not built: nvcc 11.8 has no C++20, which came with 12.0"),
    ("8.6", "", "not built: there was no nvcc"),
    ("7.5", "", "kernels need compute capability 8.0; this is 7.5"),
])
def test_a_device_that_nothing_can_be_compiled_for_is_done_without(configure, devices, nvcc, why):
    said = configure(devices, nvcc=nvcc)
    assert f"CUDA for devices: {why}; the emulated kernels need none -- for ''" in said
    refused = configure(devices, "-DPRENORM_CUDA=ON", nvcc=nvcc)
    assert f"CUDA for devices: {why}; asked for by PRENORM_CUDA=ON" in refused


@pytest.mark.parametrize("named, why", [
    ("90;75-real", "kernels need compute capability 8.0; this is 7.5"),
    ("all", "kernels need compute capability 8.0; this is all"),
    ("90a-real;120", "not built: nvcc 12.4 does not know compute capability 12.0"),
])
def test_an_architecture_that_is_asked_for_is_an_error(configure, named, why):
    said = configure("9.0", f"-DPRENORM_CUDA_ARCHITECTURES={named}")
    assert f"CUDA for devices: {why}; asked for by PRENORM_CUDA=AUTO, PRENORM_CUDA_ARCHITECTURES={named}," in said


@pytest.mark.parametrize("devices, named, built", [
    ("7.5", "90-real", "90-real"), ("9.0\\n8.6\\n9.0", "native", "86-real;90-real"), ("[N/A]", "", "native"),
    ("No devices were found", "native", "80-real;86-real;89-real;90")])
def test_it_is_compiled_for_what_is_there_or_named(configure, devices, named, built):
    assert f"for '{built}'" in configure(devices, f"-DPRENORM_CUDA_ARCHITECTURES={named}")


@pytest.mark.parametrize("devices, why", [
    ("7.5", "kernels need compute capability 8.0; this is 7.5"),
    pytest.param("12.0\\n8.7", "", marks=pytest.mark.skipif(not NVCC, reason="there is no nvcc"))])
def test_solutions_for_devices_are_there_or_say_why_not(configure, tmp_path, devices, why):
    """As the launcher configures for its other commands than `test`."""
    if not why and 120 not in architectures():
        pytest.skip("nvcc does not know sm_120")
    configure(devices, whole=True)
    for name in ("cuda", "cuda-naive", "cuda-tf32"):
        first, digest, *functions = (tmp_path / f"build/lib/prenorm/{name}.absent").read_text().splitlines()
        assert first == why and re.fullmatch("[0-9a-f]{64}", digest) and "rmsnorm" in functions
    compiled = (tmp_path / "build/compile_commands.json").read_text()
    assert ("prenorm_solution_cuda.dir" in compiled) == (not why)
    assert set(re.findall(r"code=\[(\w+)", compiled)) == (set() if why else {"sm_87", "sm_120"})
