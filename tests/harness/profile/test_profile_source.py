# labels: unit emulated
# processors: 2
"""`prenorm profile --solution ./mine.cu`: a CUDA source is compiled for the emulator that counts, and by
nvcc, where it is, for registers."""

import json
import os

import pytest

from conftest import not_sanitized

pytestmark = not_sanitized("the counter takes a sanitizer's place")

SOURCE = """\
// Each thread has 8 neighbouring numbers.
#include <prenorm/prenorm.hpp>

#include <cuda_runtime.h>

template <class T>
__global__ void relu_by_eights(const T* x, T* y, std::int64_t n) {
  const std::int64_t first = 8 * (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x);
  for (std::int64_t i = first; i < first + 8 && i < n; ++i) {
    y[i] = x[i] < T(0) ? T(0) : x[i];
  }
}

template <class T>
void relu(prenorm::View<const T> x, prenorm::Stream stream, prenorm::View<T> y) {
  if constexpr (sizeof(T) == 2) throw prenorm::not_implemented();
  const auto blocks = static_cast<unsigned>((x.size() + 1023) / 1024);
  if constexpr (sizeof(T) > 2) {
    relu_by_eights<<<blocks, 128, 0, static_cast<cudaStream_t>(stream.handle)>>>(x.data(), y.data(),
                                                                                x.size());
  }
}

PRENORM_SOLUTION(kDLCUDA)
PRENORM_EXPORT(relu, relu)
"""
WORDS = ("relu", "--dtype", "float32", "--solution", "./mine.cu")


@pytest.fixture
def profile(profile, tmp_path):
    """profile(word..., source=..., code=0): with the source in mine.cu."""
    def call(*words, source=SOURCE, **more):
        (tmp_path / "mine.cu").write_text(source)
        return profile(*words, **more)
    return call


def test_a_source_is_compiled_and_counted(profile):
    row, = json.loads(profile(*WORDS, "--json", "-", CUDACXX="/no/nvcc").stdout)["rows"]
    kernel, = row["kernels"]
    # 256 x 1024 numbers: 1024 warps, each of which reads and writes 8 times, with 32 bytes between the
    # lanes.
    for kind in ("load", "store"):
        assert kernel[kind]["requests"] == 8192 and kernel[kind]["sectors_per_request"] == 32
        assert kernel[kind]["ideal_sectors_per_request"] == 4
    assert row["solution"] == "./mine.cu" and kernel["kernel"] == "relu_by_eights"
    line = 1 + SOURCE.splitlines().index("    y[i] = x[i] < T(0) ? T(0) : x[i];")
    innermost = [access["source"][0] for access in kernel["accesses"]]
    assert innermost == [{"file": "mine.cu", "line": line}] * 2  # a load and a store


def test_nvcc_says_what_it_takes_in_registers(profile):
    nvcc = os.environ.get("PRENORM_NVCC")
    if not nvcc:
        pytest.skip("there is no nvcc")
    for device, architecture in ("h100", "sm_90"), ("a100", "sm_80"):
        done = profile(*WORDS, "--device", device, "--json", "-", CUDACXX=nvcc)
        resources = json.loads(done.stdout)["rows"][0]["kernels"][0]["resources"]
        assert resources["architecture"] == architecture and 8 <= resources["registers"] <= 40
        assert resources["spilled_bytes"] == 0 and resources["occupancy"] == 1


def test_what_nvcc_does_not_take_is_counted_all_the_same(profile):
    done = profile(*WORDS, CUDACXX="/no/nvcc")
    assert "prenorm: /no/nvcc does not take ./mine.cu, so registers are not known:" in done.stderr
    assert "relu_by_eights" in done.stdout and "registers" not in done.stdout


def test_a_source_that_does_not_compile(profile):
    done = profile(*WORDS, source=SOURCE.replace("y[i] =", "y{i} ="), code=2)
    assert "mine.cu:10:" in done.stderr and "./mine.cu does not compile" in done.stderr


def test_beside_the_shipped_versions(profile):
    done = profile(*WORDS, "--solution", "cuda-emulated", "--json", "-", CUDACXX="/no/nvcc")
    mine, shipped = json.loads(done.stdout)["rows"]
    assert [mine["solution"], shipped["solution"]] == ["./mine.cu", "cuda-emulated"]
    assert mine["least_bytes"] == shipped["least_bytes"] == mine["bytes"]
    assert mine["sector_bytes"] == 8 * shipped["sector_bytes"]
