"""The command that repeats one case builds nothing again where no file has changed."""

# labels: grading
# timeout: 600
# slow labels: grading

import os

import pytest

from conftest import not_sanitized
from grading import best_sandbox, grade, need
from submissions import PROJECT, RELU, RIGHT_RELU as RIGHT

CUDA_ALONE = not_sanitized("there is no emulator for submissions")
CUDA = """#include <prenorm/prenorm.hpp>
#include <cuda_runtime.h>
template <class T>
__global__ void relu_kernel(const T* x, T* y, long n) {
  const long i = blockIdx.x * 64l + threadIdx.x;
  if (i < n) y[i] = x[i] < T(0) ? T(0) : x[i];
}
template <class T>
void relu(prenorm::View<const T> x, prenorm::View<T> y, prenorm::Stream stream) {
  const auto blocks = static_cast<unsigned>((x.size() + 63) / 64);
  relu_kernel<<<blocks, 64, 0, static_cast<cudaStream_t>(stream.handle)>>>(x.data(), y.data(), x.size());
}
PRENORM_SOLUTION(kDLCUDA)
PRENORM_EXPORT_FOR(relu, relu, float)
"""
WRONG = "y[i] = x[i]"
KEPT = "not built again: no file has changed since it was"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def mine(tmp_path):
    """mine(statement): a project in a folder of that name."""

    def make(statement, name="mine"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "CMakeLists.txt").write_text(PROJECT.format(name="mine"))
        (folder / "solution.cpp").write_text(RELU % statement)
        return folder

    return make


@pytest.fixture
def graded(tmp_path, cache):
    """graded(folder, words...): whether a kept library served, and the status of the case. Its
    `report` is the last one."""

    def call(folder, *words, sandbox=None, case="by_hand_float32"):
        need(best_sandbox())
        chosen = ["--case", case] if case else ["--no-hidden"]
        _, report, _ = grade(folder, "--rubric", "all", "--problem", "relu", *chosen, "--sandbox",
                             sandbox or best_sandbox(), *words, tmp=tmp_path,
                             environment={"XDG_CACHE_HOME": str(cache)})
        statuses = {result["status"] for result in report["results"]}
        call.report = report
        return KEPT in report["notes"], statuses

    return call


def libraries(cache):
    return sorted((cache / "prenorm/builds").glob("*.so"))


def test_a_case_is_repeated_without_a_build(mine, graded, cache):
    folder = mine(WRONG)
    kept, statuses = graded(folder, case=None)
    assert not kept and "INCORRECT_NUMERICAL" in statuses and len(libraries(cache)) == 1
    assert graded(folder) == (True, {"INCORRECT_NUMERICAL"})
    # A whole grading builds, whatever is kept.
    assert graded(folder, case=None) == (False, statuses)
    # The mended file is another build, and the old one is not forgotten.
    mine(RIGHT)
    assert graded(folder) == (False, {"PASSED"})
    assert graded(folder) == (True, {"PASSED"})
    mine(WRONG)
    assert graded(folder) == (True, {"INCORRECT_NUMERICAL"})
    assert len(libraries(cache)) == 2


@pytest.mark.slow
@CUDA_ALONE
def test_cuda_sources_are_kept_too(tmp_path, graded, cache):
    source = tmp_path / "relu.cu"
    source.write_text(CUDA)
    assert graded(source, "--emulate") == (False, {"PASSED"})
    assert graded(source, "--emulate") == (True, {"PASSED"})
    source.write_text(CUDA.replace("x[i] < T(0) ? T(0) : x[i]", "x[i]"))
    assert graded(source, "--emulate") == (False, {"INCORRECT_NUMERICAL"})
    assert len(libraries(cache)) == 2
    # Messages name the file.
    other = tmp_path / "other.cu"
    other.write_text(source.read_text())
    assert graded(other, "--emulate") == (False, {"INCORRECT_NUMERICAL"})


@pytest.mark.slow
@CUDA_ALONE
@pytest.mark.parametrize("sandbox", ["bubblewrap", "process"])
def test_a_kept_kernel_is_told_by_its_line(tmp_path, graded, cache, sandbox):
    need(sandbox)
    source = tmp_path / "relu.cu"
    source.write_text(CUDA.replace("if (i < n) y[i]", "y[i]"))
    [line] = [i for i, each in enumerate(source.read_text().splitlines(), 1) if " y[i] =" in each]
    told = []
    for kept in (False, True):
        assert graded(source, "--emulate", sandbox=sandbox)[0] == kept
        [result] = graded.report["results"]
        told.append(result["message"])
    assert told[0] == told[1] and f"relu.cu:{line}" in told[0], told
    assert "scratch" not in told[0] and "submission" not in told[0], told


@pytest.mark.slow
def test_a_submission_gets_its_own_library_only(mine, graded, cache):
    assert graded(mine(WRONG)) == (False, {"INCORRECT_NUMERICAL"})
    assert graded(mine(RIGHT, "other")) == (False, {"PASSED"})
    assert graded(mine(RIGHT, "other")) == (True, {"PASSED"})


@pytest.mark.slow
def test_a_folder_that_others_can_write_is_not_used(mine, graded, cache):
    folder = mine(RIGHT)
    graded(folder)
    (cache / "prenorm/builds").chmod(0o770)
    assert graded(folder) == (False, {"PASSED"})
    (cache / "prenorm/builds").chmod(0o700)
    library, = libraries(cache)
    aside = library.rename(library.with_name("aside"))
    library.symlink_to(aside)
    assert graded(folder) == (False, {"PASSED"})


@pytest.mark.slow
def test_few_are_kept(mine, graded, cache):
    folder = mine(RIGHT)
    (cache / "prenorm/builds").mkdir(parents=True, mode=0o700)
    for number in range(20):
        old = cache / "prenorm/builds" / f"{number}.so"
        old.touch()
        os.utime(old, (number, number))
    graded(folder)
    assert len(libraries(cache)) == 16
    assert graded(folder)[0]


@pytest.mark.slow
def test_without_a_sandbox_nothing_is_kept(mine, graded, cache):
    folder = mine(RIGHT)
    assert graded(folder, sandbox="none") == (False, {"PASSED"})
    assert graded(folder, sandbox="none") == (False, {"PASSED"})
    assert not libraries(cache)
