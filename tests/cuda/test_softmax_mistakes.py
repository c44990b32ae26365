# labels: unit emulated
# processors: 2
# slow labels: unit emulated
"""Mistakes planted in softmax v3 by text, such as only show in rows that are long, not aligned, or shared
by a cluster, are caught by tests/cuda/test_cuda_softmax.cpp."""

import re
import subprocess
from pathlib import Path

import pytest

from conftest import folder, slow_but
from places import ROOT, compiler

KERNELS = ("softmax.cu", "softmax_rows.cu", "softmax_long_rows.cu", "softmax_columns.cu")

ROWS, LONG, COLUMNS = KERNELS[1:]
# name: (the test that finds it, file, old text, new text)
MISTAKES = {
    # short rows, and rows that a block keeps
    "lanes_beyond_the_row": ("short_rows", ROWS, "row < rows && i < n;", "row < rows;"),
    "row_of_a_neighbour": ("short_rows", ROWS, "threadIdx.x) * N;\n  const bool there",
                           "threadIdx.y) * N;\n  const bool there"),
    "copies_are_not_waited_for": ("a_block_takes_row_after_row", ROWS, "wait_for_copies<1>();", ""),
    "the_next_row_is_not_taken": ("a_block_takes_row_after_row", ROWS, "    present = next;\n", ""),
    "the_wrong_row_is_fetched": ("a_block_takes_row_after_row", ROWS, "fetch(row + step, next);",
                                 "fetch(row + 1, next);"),
    "neighbours_come_back": ("a_block_takes_row_after_row", ROWS,
                             "if constexpr (!aligned) store_shared(present + at, a);", ""),
    # where rows begin and end
    "rows_begin_at_vectors": ("a_block_takes_row_after_row", "softmax_spans.cuh",
                              "first(aligned ? 0 : static_cast<int>(begin % width))", "first(0)"),
    "neighbours_are_stored": ("a_block_takes_row_after_row", "softmax_spans.cuh",
                              "if (has_all<N>(at)) {", "if (true) {"),
    "ends_are_not_stored": ("a_block_takes_row_after_row", "softmax_spans.cuh",
                            "if (at + k >= first && at + k < end) to[at + k]",
                            "if (at + k > first && at + k < end) to[at + k]"),
    # long rows
    "neighbours_in_registers": ("rows_at_the_limits", LONG,
                                "in_registers.leave_others_out(a[v], first + v * apart);", ""),
    "sums_are_not_rescaled": ("two_passes_without_clusters", LONG, "sum *= exp(largest - larger);", ""),
    "sum_of_the_streamed_part": ("two_passes_without_clusters", LONG,
                                 "sum *= exp(of_streamed - largest);", ""),
    "last_turn_is_left_out": ("two_passes_without_clusters", LONG,
                              "ceil_div(streamed, step) * step - step", "streamed / step * step - step"),
    "streamed_is_not_backwards": ("two_passes_without_clusters", LONG, "turn >= 0; turn -= step",
                                  "turn > 0; turn -= step"),
    "each_block_for_itself": ("clusters_of_each_size", LONG, "scale_over_cluster(own, blocks)",
                              "scale_over_cluster(own, 1u)"),
    "blocks_do_not_wait": ("clusters_of_each_size", LONG,
                           "blocks == 1 ? __syncthreads() : cluster_barrier();", "__syncthreads();"),
    # columns that are read twice
    "column_sums_are_not_rescaled": ("long_columns", COLUMNS,
                                     "sum[k] *= exponential<T>(largest[k] - larger);", ""),
    "sums_of_streamed_columns": ("long_columns", COLUMNS,
                                 "sum[k] *= exponential<T>(largest[k] - now);", ";"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """program(file, old, new): the tests with this change of the kernels; all else is the build's."""
    room = tmp_path_factory.mktemp("softmax")
    built = [Path(path) for name in ("PRENORM_SOFTMAX_OBJECTS", "PRENORM_EMULATOR")
             for path in str(folder(name)).split(":") if path.endswith(".o")]  # else precompiled headers
    (room / "emulator").symlink_to(ROOT / "cuda/emulator")

    def run(*words):
        done = subprocess.run([*compiler(), *words], cwd=room, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def build(file, old, new):
        for path in (*(ROOT / "cuda").glob("*.cuh"), *(ROOT / "cuda" / name for name in KERNELS)):
            (room / path.name).write_text(path.read_text())
        text = (room / file).read_text()
        assert text.count(old) == 1, f"'{old}' occurs {text.count(old)} times in {file}"
        (room / file).write_text(text.replace(old, new))
        changed = [name for name in KERNELS
                   if file == name or (file.endswith(".cuh") and file in (room / name).read_text())]
        for name in changed:
            run("-c", "-std=c++20", "-O1", "-w", "-ffp-contract=off", f"-I{ROOT}/harness/include", "-xc++",
                name, "-o", f"{name}.o")
        kept = [path for path in built if path.name.removesuffix(".o") not in changed]
        assert len(kept) == len(built) - len(changed)
        run(*kept, *(room / f"{name}.o" for name in changed), "-o", room / "tests",
            "-lboost_unit_test_framework", "-lboost_context")
        return room / "tests"
    return build


def passes(program, test):
    """Whether a test passes. A mistake may leave it waiting."""
    try:
        done = subprocess.run([program, f"--run_test=cuda_softmax/{test}*"], capture_output=True, text=True,
                              timeout=300)
    except subprocess.TimeoutExpired:
        return False
    assert re.search("No errors detected|failure|error", done.stdout + done.stderr), done
    return done.returncode == 0


@pytest.mark.parametrize("name", slow_but({"rows_begin_at_vectors"}, MISTAKES))
def test_a_planted_mistake_is_found(program, name):
    """The same tests pass without it: they are tests of their own (cuda_softmax)."""
    test, *change = MISTAKES[name]
    assert not passes(program(*change), test)
