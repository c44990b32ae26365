# labels: unit emulated asan tsan
# slow labels: unit emulated asan
# slow only in: address
"""Bugs planted in kernels (planted.cpp) and in a solution (planted_solution.cpp).

What can be found depends on the build: out-of-bounds accesses by AddressSanitizer, races by
ThreadSanitizer, reads of shared memory that nothing wrote by the checker, which the builds without
sanitizers have.
"""

import os
import re
import subprocess

import pytest

from conftest import folder


MODE = {"address,undefined": "asan", "thread": "tsan"}.get(os.environ.get("PRENORM_SANITIZE", ""),
                                                           "checker")

# Kernel: what is reported, beside kernel, block and thread.
OUT_OF_BOUNDS = {
    "reads_beyond_global": r"heap-buffer-overflow.*READ of size 4",
    "writes_beyond_global": r"heap-buffer-overflow.*WRITE of size 4",
    "reads_beyond_dynamic_shared": r"heap-buffer-overflow.*READ of size 4",
    "writes_beyond_dynamic_shared": r"heap-buffer-overflow.*WRITE of size 4",
    "loads_rows_beyond_dynamic_shared": r"heap-buffer-overflow.*READ of size 16",
    "copies_beyond_global": r"heap-buffer-overflow.*READ of size 1 ",
    "reads_beyond_static_shared": r"index 64 out of bounds for type 'float \[64\]'",
}
# Kernel: the thread that reads, and what.
UNWRITTEN = {
    "reads_unwritten_static_shared": (
        58, "reads 4 bytes that no thread has written, static shared memory"),
    "reads_unwritten_dynamic_shared": (
        58, "reads 4 bytes that no thread has written, byte 20 of dynamic shared memory"),
    "reads_half_written_shared": (
        7, "reads 4 bytes that no thread has written, static shared memory"),
    "atomic_on_unwritten_shared": (
        0, "reads 4 bytes that no thread has written, static shared memory"),
    "reads_before_a_copy_is_there": (
        63, "reads 4 bytes that no thread has written, byte 248 of dynamic shared memory"),
    "loads_unwritten_rows": (
        0, "reads 16 bytes that no thread has written, byte 0 of dynamic shared memory"),
}
RACES = [
    "races_in_static_shared", "races_in_dynamic_shared", "races_past_a_barrier",
    "races_within_a_warp", "races_between_groups_of_a_warp", "races_after_a_shuffle",
    "races_with_a_copy", "races_with_the_next_copy", "races_with_ldmatrix", "races_in_global",
    "races_between_blocks", "races_between_distant_blocks",
]
CLEAN = ["clean_reduction", "clean_shuffles", "clean_syncwarp", "clean_atomics", "clean_copies"]


def only_in(mode, names, cases):
    """Parametrizes what the other builds cannot find; there it is no test."""
    return pytest.mark.parametrize(names, cases) if mode == MODE else lambda test: None


def run_planted(name, **environment):
    program = folder("PRENORM_PLANTED")
    return subprocess.run([program, name], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


@only_in("asan", "name", OUT_OF_BOUNDS)
def test_access_out_of_bounds(name):
    done = run_planted(name)
    assert done.returncode != 0 and "done" not in done.stdout
    assert re.search(OUT_OF_BOUNDS[name], done.stderr, re.DOTALL), done.stderr
    assert f"prenorm: in kernel {name}, block (1, 0, 0), thread (63, 0, 0)\n" in done.stderr


# Of the whole program under the sanitizer, which takes minutes to build.
@only_in("asan", "variant, what, thread", [
    ("reads_beyond", "use-after-poison.*READ of size 4", None),
    ("reads_before", "use-after-poison.*READ of size 4", "block (0, 0, 0), thread (0, 0, 0)"),
    ("writes_beyond", "use-after-poison.*WRITE of size 4", None),
])
@pytest.mark.slow
def test_step_beyond_a_tensor_of_the_call(program, variant, what, thread):
    library = folder("PRENORM_TEST_SOLUTIONS") / "libplanted.so"
    done = subprocess.run([program, "verify", "--in-process", "--fixtures",
                           folder("PRENORM_SOURCE") / "fixtures/relu.h5", "--dtype", "float32",
                           "--solution", f"{library}/{variant}"], capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(what, done.stderr, re.DOTALL), done.stderr
    assert f"prenorm: in kernel planted relu, {thread or 'block'}" in done.stderr


@only_in("asan", "mode", ["asan"])
@pytest.mark.slow
def test_the_same_solution_within_its_tensors(program, mode):
    library = folder("PRENORM_TEST_SOLUTIONS") / "libplanted.so"
    done = subprocess.run([program, "verify", "--in-process", "--fixtures",
                           folder("PRENORM_SOURCE") / "fixtures/relu.h5", "--dtype", "float32",
                           "--solution", library], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@only_in("checker", "name", UNWRITTEN)
def test_read_of_shared_memory_never_written(name):
    done = run_planted(name)
    thread, what = UNWRITTEN[name]
    in_every_block = ("reads_half_written_shared", "atomic_on_unwritten_shared",
                      "reads_before_a_copy_is_there", "loads_unwritten_rows")
    block = 0 if name in in_every_block else 1
    assert done.returncode == 1
    assert done.stderr == f"kernel {name}, block ({block}, 0, 0), thread ({thread}, 0, 0): {what}\n"


@only_in("tsan", "name", RACES)
@pytest.mark.parametrize("cores", ["1", "2"])
def test_race(name, cores):
    done = run_planted(name, TSAN_OPTIONS="halt_on_error=1", OMP_NUM_THREADS=cores)
    assert done.returncode != 0 and "done" not in done.stdout
    assert "ThreadSanitizer: data race" in done.stderr
    # The two threads that race, each by its name.
    racing = set(re.findall(r"'(thread \([^)]*\), block \([^)]*\)), kernel " + name[:10],
                            done.stderr))
    assert len(racing) == 2, done.stderr
    blocks = {place[place.index("block"):] for place in racing}
    assert len(blocks) == (2 if "blocks" in name else 1), done.stderr
    assert re.search(rf"prenorm: in kernel {name}, block .*, thread .*\n", done.stderr)


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_found_where_nothing_is(name):
    done = run_planted(name, TSAN_OPTIONS="halt_on_error=1")
    assert done.stderr == ""
    assert (done.returncode, done.stdout) == (0, "done\n")
