# labels: unit emulated
# processors: 2
# slow labels: unit emulated
"""Mistakes planted in attention v4 by text are caught by test_attention_wgmma.cpp, with the model
of Hopper's instructions: those in the rings' second turn only where a place is used again."""

import os
import re
import subprocess

import pytest

from conftest import slow_but
from places import ROOT, compiler

OBJECTS = os.environ.get("PRENORM_HOPPER_OBJECTS", "")

pytestmark = pytest.mark.skipif(not OBJECTS, reason="this build has no model of Hopper")

# (file, old text, new text) of mistakes that show only where a place of the rings is used again.
RINGS = {
    "parity_stays": ("cuh", "Place{0, parity ^ 1}", "Place{0, parity}"),
    "keys_are_not_released": ("cu", "      release(shared.k_empty[ahead.index]);\n"
                                    "      mask_scores", "      mask_scores"),
    "values_are_not_released": ("cu", "      release(shared.v_empty[place.index]);\n", ""),
    "keys_are_not_waited_for": ("cuh", "    wait(shared.k_empty[place.index], place.parity ^ 1);\n", ""),
    "values_are_not_waited_for": (
        "cuh", "    wait(shared.v_empty[before.index], before.parity ^ 1);\n", ""),
}
# And those that show wherever there is more than one tile, or a mask.
OTHERS = {
    "causal_by_one_more": ("cu", "min(block.end_key, query + 1)", "min(block.end_key, query + 2)"),
    "causal_tiles_too_few": ("cuh", "call.a.causal ? min(call.a.m, end_query)",
                             "call.a.causal ? min(call.a.m, first_query)"),
    "second_panel_is_the_first": ("cu", "shared.k[place][c / panel_columns])",
                                  "shared.k[place][0])"),
    "half_of_the_mask_twice": ("cu", "first_key + half * mask_tile)", "first_key)"),
    "mask_of_the_other_consumer": ("cuh", "2 * block.query_tile + consumer, key_tile",
                                   "2 * block.query_tile + 1 - consumer, key_tile"),
    "sums_are_not_rescaled": ("cu", "      shrink_all(y, shrink);                                   "
                                    "// step: maximum\n", ""),
}


def run_tests(program, case):
    """Whether a test of the suite passes. A mistake may leave threads that wait for each other, which
    the model finds, or go on for ever."""
    try:
        done = subprocess.run([program, f"--run_test=hopper_attention/{case}<prenorm__float16>"], capture_output=True,
                              text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False
    assert re.search("No errors detected|failure|error", done.stdout + done.stderr), done
    return done.returncode == 0


@pytest.fixture
def program(tmp_path):
    """program(file, old, new): the tests with this change of v4."""
    def build(file, old, new):
        for part in ("cu", "cuh"):
            text = (ROOT / f"cuda/attention_wgmma.{part}").read_text()
            if part == file:
                assert text.count(old) == 1, f"'{old}' occurs {text.count(old)} times"
                text = text.replace(old, new)
            (tmp_path / f"attention_wgmma.{part}").write_text(text)
        kernel = tmp_path / "attention_wgmma.o"
        includes = [f"-I{folder}" for folder in (ROOT / "tests/cuda/hopper", ROOT / "cuda",
                                                 ROOT / "harness/include")]
        objects = [each for each in OBJECTS.split(":") if "attention_wgmma.cu" not in each]
        for words in (["-c", "-std=c++20", "-O1", "-w", *includes, "-xc++",
                       "attention_wgmma.cu", "-o", kernel],
                      [*objects, kernel, "-o", tmp_path / "tests", "-lboost_unit_test_framework",
                       "-lboost_context"]):
            done = subprocess.run([*compiler(), *words], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return tmp_path / "tests"
    return build


@pytest.mark.parametrize("name", slow_but({"parity_stays"}, RINGS))
def test_the_second_turn_is_seen_only_where_there_is_one(program, name):
    tests = program(*RINGS[name])
    assert run_tests(tests, "each_place_is_used_once")
    assert not run_tests(tests, "places_are_used_again")


@pytest.mark.parametrize("name", slow_but({"causal_by_one_more"}, OTHERS))
def test_planted_mistakes_are_caught(program, name):
    assert not run_tests(program(*OTHERS[name]), "places_are_used_again")
