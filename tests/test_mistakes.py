# labels: fixtures
# processors: 2
# slow labels: fixtures
"""The shipped fixtures are themselves tested: what must fail fails, what must pass passes."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import h5py
import numpy
import pytest

from conftest import slow_but

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
PROBLEMS = sorted(path.stem for path in FIXTURES.glob("*.h5"))

# Where an element type cannot show a mistake, the mistake is not implemented for it.
ALL_TYPES = {"float64", "float32", "float16", "bfloat16"}


@pytest.fixture(scope="session")
def report(program):
    """report(command...): the JSON report and the exit code."""

    def run(*words):
        done = subprocess.run([program, *words, "--json", "-"], capture_output=True, text=True,
                              cwd=FIXTURES.parent)
        assert done.stdout, done.stderr
        return json.loads(done.stdout), done.returncode

    return run


@pytest.fixture(scope="session")
def mistakes(report):
    """{mistake: {dtype: number of cases that catch it}} for the types that it is written for."""
    answer, code = report("mistakes")
    assert code == 0
    statuses = {result["status"] for result in answer["results"]}
    assert statuses <= {"PASSED", "INCORRECT_NUMERICAL", "NOT_IMPLEMENTED"}, "wrong, not broken"
    caught = defaultdict(lambda: defaultdict(int))
    for result in answer["results"]:
        if result["status"] != "NOT_IMPLEMENTED":
            name = f"{result['problem']} {result['solution']}"
            caught[name][result["dtype"]] += result["status"] != "PASSED"
    return caught


def wrong_of(answer):
    return [(r["solution"], r["problem"], r["case"], r["message"]) for r in answer["results"]
            if r["status"] not in ("PASSED", "NOT_IMPLEMENTED")]


def test_every_mistake_is_caught_in_every_type_that_shows_it(mistakes):
    survivors = [(mistake, dtype) for mistake, types in mistakes.items()
                 for dtype, count in types.items() if count == 0]
    assert not survivors
    assert len(mistakes) >= 421


def test_the_tf32_tolerances_let_no_mistake_pass_but_what_is_as_good(mistakes, report, tmp_path):
    """Judged by them, every other mistake that float32 shows still fails a case."""
    for problem in PROBLEMS:
        with h5py.File(shutil.copy(FIXTURES / f"{problem}.h5", tmp_path), "r+") as file:
            for case in file["cases"].values():
                for output in case.get("outputs", {}).values():
                    for key in ("atol", "rtol"):
                        output.attrs[key] = output.attrs.get(f"{key}_tf32", output.attrs[key])
    answer, code = report("mistakes", "--fixtures", str(tmp_path), "--dtype", "float32")
    caught = {f"{r['problem']} {r['solution']}" for r in answer["results"]
              if r["status"] not in ("PASSED", "NOT_IMPLEMENTED")}
    shown = {mistake for mistake, types in mistakes.items() if "float32" in types}
    # Angles in float32 inside a product of attention, and an approximation of GELU.
    as_good = {mistake for mistake in shown if mistake.startswith(
        "multihead_self_attention_with_rope mistakes/float32_angles")}
    assert len(as_good) == 6
    assert shown - caught == as_good | {"transformer_block_gelu mistakes/tanh_form"}
    assert caught <= shown


def test_only_five_kinds_of_mistake_are_hidden_by_a_type(mistakes):
    partial = {mistake: set(types) for mistake, types in mistakes.items()
               if set(types) != ALL_TYPES}
    for mistake, types in partial.items():
        # What is rounded to T on the way is right where T is the compute type.
        if mistake.endswith(("_in_t", "/rounded_before_gain")):
            assert types == {"float16", "bfloat16"}
        elif mistake == "rmsnorm mistakes/not_widened":
            assert types == {"float16"}
        # Processors' products of bfloat16 do that.
        elif mistake == "linear mistakes/subnormals_flushed":
            assert types == ALL_TYPES - {"bfloat16"}
        # The positions of a block are 0, 1, 2, ..., too near for float32 to show.
        elif re.match(r"transformer_\w+ mistakes/float32_angles", mistake):
            assert types == {"float64"}
        else:
            assert "mistakes/float32_angles" in mistake or mistake in (
                "softmax mistakes/log_sum_exp_subtracted",
                "transformer_block_gelu mistakes/tanh_form")
            assert types == {"float64", "float32"}


def outputs(folder, name):
    """The outputs that `verify --save` wrote for mistakes/NAME: {case: y}."""
    with h5py.File(folder / f"rmsnorm.mistakes-{name}.h5") as file:
        return {case: group["outputs/y"][...].astype("float64")
                for case, group in file["cases"].items() if "outputs/y" in group}


def test_two_mistakes_at_once(report, tmp_path):
    names = ["no_eps", "no_gain", "no_eps+no_gain"]
    words = [word for name in names for word in ("--solution", f"mistakes/{name}")]
    answer, code = report("verify", "--problem", "rmsnorm", *words, "--save", str(tmp_path))
    assert code == 1
    statuses = {result["status"] for result in answer["results"]}
    assert statuses <= {"PASSED", "INCORRECT_NUMERICAL"}
    no_eps, no_gain, both = (outputs(tmp_path, name) for name in names)
    case = "base_eps_0_5_float32"
    assert not numpy.allclose(both[case], no_eps[case], rtol=1e-2)
    assert not numpy.allclose(both[case], no_gain[case], rtol=1e-2)
    # Its rows have the mean square 1, which neither mistake alone gives them.
    assert numpy.allclose((both[case] ** 2).mean(axis=-1), 1, rtol=1e-5)
    assert not numpy.allclose((no_gain[case] ** 2).mean(axis=-1), 1, rtol=1e-2)


@pytest.mark.parametrize("names, message", [
    ("no_eps+eps_fixed", "no such combination: two of no_eps+eps_fixed change the same step"),
    ("no_eps+no_gains", "no function prenorm_rmsnorm__no_gains; its variants are "),
    ("no_epps+no_gain", "no function prenorm_rmsnorm__no_epps; its variants are "),
    ("no_eps+", "no function prenorm_rmsnorm__; its variants are "),
])
def test_what_is_no_combination_is_said(report, names, message):
    answer, code = report("verify", "--problem", "rmsnorm", "--solution", f"mistakes/{names}",
                          "--dtype", "float64")
    assert code == 3
    assert all(result["status"] == "NOT_IMPLEMENTED" and result["message"].startswith(message)
               for result in answer["results"])


@pytest.fixture(scope="session")
def honest(report):
    """What `mistakes --expect-pass` says of the honest variants, and the exit code."""
    return report("mistakes", "--solution", "honest", "--expect-pass")


def test_every_honest_variant_passes_every_case(honest):
    answer, code = honest
    assert code == 0 and not wrong_of(answer)
    assert {r["problem"] for r in answer["results"]} == set(PROBLEMS)


@pytest.mark.slow
def test_every_honest_variant_refuses_what_is_an_error(honest, report):
    """`verify` has the cases that must be refused, too."""
    variants = sorted({result["solution"] for result in honest[0]["results"]})
    words = [word for variant in variants for word in ("--solution", variant)]
    answer, code = report("verify", *words)
    assert code == 0 and not wrong_of(answer)
    assert {result["solution"] for result in answer["results"]} == set(variants)


@pytest.mark.parametrize("problem", slow_but({"relu", "rope", "softmax"}, PROBLEMS))
def test_zeros_and_16_bit_answers_fail(program, problem):
    # `fixtures check` tries both, and expected values near overflow, and lost draw texts.
    done = subprocess.run([program, "fixtures", "check", FIXTURES / f"{problem}.h5"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # Each input and each scalar changes alone between two cases.
    assert "never the only difference" not in done.stdout


@pytest.mark.parametrize("solution", ["reference", "plain"])
def test_the_reference_passes_every_case(report, solution):
    answer, code = report("verify", "--solution", solution)
    assert code == 0
    assert answer["summary"]["failed"] == answer["summary"]["skipped"] == 0
    assert {r["problem"] for r in answer["results"]} == set(PROBLEMS)


def test_one_wrong_element_fails_with_its_index(report, tmp_path):
    path = tmp_path / "rmsnorm.h5"
    shutil.copy(FIXTURES / "rmsnorm.h5", path)
    with h5py.File(path, "r+") as file:
        name = next(name for name in file["cases"] if name.endswith("float32")
                    and file[f"cases/{name}/outputs/y"].size > 100)
        y = file[f"cases/{name}/outputs/y"]
        index = tuple(extent // 2 for extent in y.shape)
        y[index] = y[index] + 0.01
    answer, code = report("verify", "--solution", "reference", "--fixtures", str(path))
    wrong = [r for r in answer["results"] if r["status"] != "PASSED"]
    assert code == 1
    assert [r["case"] for r in wrong] == [name]
    assert wrong[0]["outputs"][0]["mismatches"] == 1
    assert wrong[0]["outputs"][0]["worst_index"] == list(index)
