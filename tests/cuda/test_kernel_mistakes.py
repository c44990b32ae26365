# labels: unit emulated
# processors: 2
# slow labels: unit emulated
"""Mistakes planted in kernels by text are caught by the tests of these kernels, which pass without them:
in softmax v3 those that only show in rows that are long, not aligned, or shared by a cluster
(test_cuda_softmax.cpp); in float32's product and attention on tensor cores (test_linear_steps.cpp,
test_attention_mma.cpp); with the model of Hopper's instructions in the product's v5 (test_linear_wgmma.cpp)
and in attention v4 (test_attention_wgmma.cpp), those in the rings' second turn only where a stage is used
again."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import folder, slow_but
from places import ROOT, compiler, replaced


KERNELS = ("softmax.cu", "softmax_rows.cu", "softmax_long_rows.cu", "softmax_columns.cu", "linear_bf16x6.cu",
           "attention_bf16x6.cu")

ROWS, LONG, COLUMNS, PRODUCT_IN_PARTS, ATTENTION_IN_PARTS = KERNELS[1:]
# name: (the test that finds it, file, old text, new text)
SOFTMAX = {
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
    "each_block_for_itself": ("clusters_of_each_size", LONG, "scale_over_cluster<T>(own, blocks)",
                              "scale_over_cluster<T>(own, 1u)"),
    "blocks_do_not_wait": ("clusters_of_each_size", LONG,
                           "blocks == 1 ? __syncthreads() : cluster_barrier();", "__syncthreads();"),
    # columns
    "columns_are_not_waited_for": ("a_cluster_takes_tile_after_tile", COLUMNS, "wait_for_copies<1>();", ""),
    "places_are_not_taken_in_turn": ("a_cluster_takes_tile_after_tile", COLUMNS,
                                     "first = wrapped(first + tiles.held * shared_apart);", ""),
    "places_have_no_end": ("a_cluster_takes_tile_after_tile", COLUMNS,
                           "return place < places_end ? place : place - places_end;", "return place;"),
    "columns_of_each_block": ("a_cluster_takes_tile_after_tile", COLUMNS,
                              "cluster_peer(own_part, block)", "own_part"),
    # columns that are read twice
    "column_sums_are_not_rescaled": ("long_columns", COLUMNS,
                                     "sum[k] *= exponential<T>(largest[k] - larger);", ""),
    "sums_of_streamed_columns": ("long_columns", COLUMNS,
                                 "sum[k] *= exponential<T>(largest[k] - now[k]);", ";"),
}
# And those in float32's product and attention on tensor cores.
SIZES = "attention_mma/sizes_strides_and_masks<(anonymous namespace)__Bf16x6>"
NO_PARTS = "attention_mma/values_that_no_parts_make_up"
PARTS = {
    "middle_parts_are_not_multiplied": ("linear_steps/bf16x6_is_as_accurate*", "bf16x6.cuh", "{1, 1}, ", ""),
    "last_parts_are_not_multiplied": ("linear_steps/bf16x6_is_as_accurate*", "bf16x6.cuh", "{2, 0}, ", ""),
    "a_stage_is_read_too_early": ("linear_steps/float32_on_tensor_cores", PRODUCT_IN_PARTS,
                                  "    if (stage % 2 == 0) __syncthreads();\n", ""),
    "what_is_not_finite_stays": ("linear_steps/hard_values*", PRODUCT_IN_PARTS,
                                 "!isfinite(y[0]) || !isfinite(y[1]) ||", ""),
    "lost_bits_of_rows_are_forgotten": ("linear_steps/hard_values*", PRODUCT_IN_PARTS, "row_lost || ", ""),
    # rounded to 16 bits, as in v3
    "probabilities_in_one_part": (SIZES, ATTENTION_IN_PARTS, "left[i][part][e] = parts[part];",
                                  "left[i][part][e] = part > 0 ? 0 : parts[part];"),
    "keys_in_two_parts": (SIZES, ATTENTION_IN_PARTS, "k[j + e / 2][part][e % 2] = both[e];",
                          "k[j + e / 2][part][e % 2] = part > 1 ? 0 : both[e];"),
    "one_half_of_the_keys_twice": (SIZES, ATTENTION_IN_PARTS, "add_values<D>(out, score, shared, 2 * half);",
                                   "add_values<D>(out, score, shared, 0);"),
    "earlier_values_are_not_rescaled": (SIZES, ATTENTION_IN_PARTS, "out[i][j][2 * r + 1] *= correction;", ""),
    "the_plain_pass_is_left_out": (NO_PARTS, ATTENTION_IN_PARTS, "if ((votes >> 4 * of_eight & 15) != 0)",
                                   "if (false)"),
    "hidden_values_count": (NO_PARTS, ATTENTION_IN_PARTS, "if (mask != nullptr && !mask[key]) continue;", ""),
    "beyond_the_diagonal": (NO_PARTS, ATTENTION_IN_PARTS, "a.causal ? min(a.m, query + 1) : a.m;", "a.m;"),
}

OBJECTS = os.environ.get("PRENORM_HOPPER_OBJECTS", "")
CONSUMER, PRODUCER = "attention_wgmma_consumer.cuh", "attention_wgmma_producer.cuh"

# (file, old text, new text) of mistakes that show only where a stage of the rings is used again.
RINGS = {
    "parity_stays": ("warpgroups.cuh", "Stage{0, parity ^ 1}", "Stage{0, parity}"),
    "keys_are_not_released": (
        CONSUMER, "    fence_registers(scores);\n    release(shared_.k_empty[keys_.index]);\n",
        "    fence_registers(scores);\n"),
    "values_are_not_released": (CONSUMER, "    release(shared_.v_empty[values_.index]);\n", ""),
    "keys_are_not_waited_for": (
        PRODUCER, "    wait(shared_.k_empty[keys_.index], keys_.parity ^ 1);\n", ""),
    "values_are_not_waited_for": (
        PRODUCER, "    wait(shared_.v_empty[values_.index], values_.parity ^ 1);\n", ""),
    "the_end_is_not_released": (CONSUMER, "    release(shared_.k_empty[keys_.index]);\n"
                                          "    keys_ = keys_.next();\n    store", "    store"),
}
# And those that show wherever there is more than one tile, or a mask.
OTHERS = {
    "causal_by_one_more": (CONSUMER, "min(item.end_key, query + 1)", "min(item.end_key, query + 2)"),
    "causal_tiles_too_few": (PRODUCER, "a.causal ? min(a.m, end_query)",
                             "a.causal ? min(a.m, end_query - tile)"),
    "second_panel_is_the_first": (CONSUMER, "c / panel_columns * tile * panel_row_bytes", "0"),
    "half_of_the_mask_twice": (CONSUMER, "2 * number_of(message) + half", "2 * number_of(message)"),
    "mask_of_the_other_consumer": (PRODUCER, "2 * work.query_tile + consumer, key_tile",
                                   "2 * work.query_tile + 1 - consumer, key_tile"),
    "clipped_tiles_are_full": (PRODUCER, "kind = Kind::clipped;", ""),
}
# And those that show where scores grow from tile to tile.
GROWS = {
    "values_are_not_rescaled": (CONSUMER, "if (grows) shrink_all(y, rows.shrink);", ""),
    "powers_are_not_rescaled": (CONSUMER, "rows.sum[r] *= rows.shrink[r];", ""),
    "maxima_are_a_lane_s_own": (CONSUMER, "warp_reduce(now[r], maximum, 4)", "now[r]"),
}
# And those that show where a block has item after item.
ITEMS = {
    "the_last_item_is_not_released": (CONSUMER, "if (has_last_item_) arrive(", "if (false) arrive("),
    "the_present_item_is_released": (CONSUMER, "shared_.q_empty[items_.next().index]",
                                     "shared_.q_empty[items_.index]"),
    "items_are_not_waited_for": (
        PRODUCER, "      wait(shared_.q_empty[items_.index], items_.parity ^ 1);\n", ""),
    "a_stage_for_all_items": (CONSUMER, "const std::uint64_t q = tile_at(q_, items_);",
                              "const std::uint64_t q = q_;"),
}
# In the product's v5: (file, old text, new text).
PRODUCT = {
    "a_stage_too_early": ("linear_wgmma.cuh", "    wait(shared.full[stage.index], stage.parity);\n", ""),
    "a_stage_is_filled_too_early": (
        "linear_wgmma.cuh", "      wait(shared.empty[stage.index], stage.parity ^ 1);\n", ""),
    "released_while_it_is_read": ("linear_wgmma.cuh", "      wgmma_wait<1>();\n", ""),
    "the_last_stage_is_not_released": ("linear_wgmma.cuh", "  fence_registers(sum);\n  release(before);\n",
                                       "  fence_registers(sum);\n"),
    "operands_are_exchanged": ("linear_wgmma.cuh", "x + 2 * step, weight + 2 * step",
                               "weight + 2 * step, x + 2 * step"),
    "the_other_consumer_s_rows": ("linear_wgmma.cuh", "[at.consumer * consumer_rows]",
                                  "[(1 - at.consumer) * consumer_rows]"),
    "sums_go_on_from_the_last_tile": ("linear_wgmma.cuh", "round > 0 || step > 0", "true"),
    "the_tail_of_the_terms_is_left_out": ("linear_wgmma.cu", "ceil_div(p.d_in, depth)", "p.d_in / depth"),
    "the_first_box_of_the_weight_twice": ("linear_wgmma.cuh", "column + tile_columns / 2", "column"),
    "the_weight_for_the_gate": ("linear_wgmma.cuh", "maps.weight[gated ? 1 : 0]", "maps.weight[0]"),
    "stored_over_what_is_on_its_way": (
        "linear_wgmma.cu",
        "    if (at.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<1>());\n", ""),
}
# And in float32's product by them: (old text, new text).
IN_PARTS = {
    "the_other_operand_s_part": ("maps.x, row, of_x);", "maps.x, row, of_weight);"),
    "later_terms_replace_the_sums": ("if (is_first) break;", "break;"),
    "the_largest_product_is_left_out": ("bf16_products * rounds, stage", "(bf16_products - 1) * rounds, stage"),
    "what_is_not_finite_is_kept": ("if (!isfinite(all)) again", "if (false) again"),
}


def found_by(test, kernel, mistakes):
    """Of a kernel with the model of Hopper's instructions: one test finds all of these."""
    return {name: ("hopper_tests", test, kernel, *change) for name, change in mistakes.items()}


# name: (the fixture that makes the program, the test that finds it, the fixture's words)
MISTAKES = {
    **{name: ("emulated_tests", f"cuda_softmax/{test}*", *change) for name, (test, *change) in SOFTMAX.items()},
    **{name: ("emulated_tests", *found) for name, found in PARTS.items()},
    **found_by("hopper_attention/stages_are_used_again<prenorm__float16>", "attention", RINGS | OTHERS),
    **found_by("hopper_attention/hard_values", "attention", GROWS),
    **found_by("hopper_attention/items_follow_each_other<prenorm__float16>", "attention", ITEMS),
    **found_by("hopper_product/sizes_that_tiles_do_not_divide", "linear", PRODUCT),
    **found_by("hopper_product/float32_in_parts_of_bfloat16", "linear",
               {name: ("linear_bf16x6_wgmma.cu", *change) for name, change in IN_PARTS.items()}),
}
assert len(MISTAKES) == sum(map(len, (SOFTMAX, PARTS, RINGS, OTHERS, GROWS, ITEMS, PRODUCT, IN_PARTS)))
QUICK = {"rows_begin_at_vectors", "middle_parts_are_not_multiplied", "parity_stays", "causal_by_one_more",
         "values_are_not_rescaled", "a_stage_for_all_items"}


def compile_in(room, *words):
    done = subprocess.run([*compiler(), *words], cwd=room, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def program_of(room, sources, objects, *options):
    """The program of tests, of objects of the build and of these sources of the room."""
    for source in sources:
        compile_in(room, "-c", "-std=c++20", "-O1", "-w", *options, f"-I{ROOT}/harness/include", "-xc++",
                   source, "-o", f"{source}.o")
    compile_in(room, *objects, *(f"{source}.o" for source in sources), "-o", "tests",
               "-lboost_unit_test_framework", "-lboost_context")
    return room / "tests"


@pytest.fixture(scope="module")
def emulated_tests(tmp_path_factory):
    """emulated_tests(file, old, new): the tests with this change of the kernels; all else is the build's."""
    room = tmp_path_factory.mktemp("kernels")
    built = [Path(path) for name in ("PRENORM_KERNEL_OBJECTS", "PRENORM_EMULATOR")
             for path in str(folder(name)).split(":") if path.endswith(".o")]  # else precompiled headers
    (room / "emulator").symlink_to(ROOT / "cuda/emulator")

    def build(file, old, new):
        for path in (*(ROOT / "cuda").glob("*.cuh"), *(ROOT / "cuda" / name for name in KERNELS)):
            (room / path.name).write_text(path.read_text())
        (room / file).write_text(replaced((room / file).read_text(), old, new))
        changed = [name for name in KERNELS
                   if file == name or (file.endswith(".cuh") and file in (room / name).read_text())]
        kept = [path for path in built if path.name.removesuffix(".o") not in changed]
        assert len(kept) == len(built) - len(changed)
        return program_of(room, changed, kept, "-ffp-contract=off")
    return build


@pytest.fixture
def hopper_tests(tmp_path):
    """hopper_tests(kernel, file, old, new): the tests of attention or linear with this change."""
    if not OBJECTS:
        pytest.skip("this build has no model of Hopper")

    def build(kernel, file, old, new):
        source = file if file.endswith(".cu") else f"{kernel}_wgmma.cu"
        for path in (*(ROOT / "cuda").glob(f"{kernel}_*wgmma*"), ROOT / "cuda/warpgroups.cuh"):
            (tmp_path / path.name).write_text(path.read_text())
        (tmp_path / file).write_text(replaced((tmp_path / file).read_text(), old, new))
        objects = [each for each in OBJECTS.split(":") if f"/{source}" not in each
                   and ("_wgmma.dir/" not in each or f"test_{kernel}_wgmma.dir/" in each)]
        return program_of(tmp_path, [source], objects, f"-I{ROOT}/tests/cuda/hopper",
                          f"-I{ROOT}/cuda")
    return build


def passes(program, test):
    """Whether a test passes. A mistake may leave it waiting, which the model of Hopper finds, or go on for
    ever."""
    try:
        done = subprocess.run([program, f"--run_test={test}"], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False
    assert re.search("No errors detected|failure|error", done.stdout + done.stderr), done
    assert "Test setup error" not in done.stdout + done.stderr, done  # there is no such test
    return done.returncode == 0


@pytest.mark.parametrize("name", slow_but(QUICK, MISTAKES))
def test_a_mistake_is_found(request, name):
    fixture, test, *change = MISTAKES[name]
    tests = request.getfixturevalue(fixture)(*change)
    if name in RINGS:
        assert passes(tests, test.replace("stages_are_used_again", "each_stage_is_used_once"))
    assert not passes(tests, test)
