# labels: grading
# slow processors: 2
# slow labels: grading
"""A right answer keeps its points, however it was come by."""

import sys

import pytest

from grading import best_sandbox, grade, in_sandboxes, items, need, python_of
from places import built
from submissions import folder_of


# What each of them solves; nothing: every problem.
SOLVED = {
    "cpp_complete": None,
    "cpp_partial": ["embedding", "linear", "rmsnorm"],
    "cpp_slow": ["embedding", "linear", "relu", "rmsnorm"],
    "cpp_float64": ["ffn_swiglu", "gelu", "linear", "rmsnorm", "silu", "softmax"],
    "cpp_orders": ["linear", "rmsnorm", "scaled_dot_product_attention", "silu", "softmax"],
    "cpp_threads": ["embedding", "linear", "rmsnorm"],
    "cpp_other_sums": ["embedding", "linear"],
    "c_plain": ["embedding"],
}
# Solved for these element types, and not implemented for the others: the groups that are earned.
PARTLY = {
    "c_plain": {"relu": {"float32", "float64"}, "rmsnorm": {"float32", "float64"}},
}


QUICK_TO_BUILD = {"c_plain"}  # test_python_submissions.py has one in Python


def check(name, report, whole):
    everything = items(report)
    solved = list(everything) if SOLVED[name] is None or not whole else SOLVED[name]
    wrong = [(result["problem"], result["case"], result["status"], result["message"])
             for result in report["results"]
             if result["status"] not in ("PASSED", "NOT_IMPLEMENTED")]
    assert not wrong
    for problem in solved:
        assert everything[problem]["earned"] == everything[problem]["points"] > 0, problem
    for problem, dtypes in PARTLY.get(name, {}).items() if whole else ():
        earned = {group["name"] for group in everything[problem]["groups"] if group["earned"]}
        assert earned - {"empty tensors"} == dtypes, problem
    # Nobody is told a mistake who has made none.
    assert not any(item["diagnoses"] or item["undiagnosed"] for item in everything.values())


@in_sandboxes(SOLVED, slow=SOLVED)
def test_library_keeps_its_points(name, sandbox, tmp_path):
    need(sandbox)
    few = []
    if SOLVED[name] is not None:  # one of the others is enough
        few = [*SOLVED[name], *PARTLY.get(name, []), "glu"]
    if sandbox != best_sandbox():  # what is solved is the same there: a few problems
        few = (SOLVED[name] or ["rmsnorm", "transformer_block"])[:3]
    words = [word for problem in few for word in ("--problem", problem)]
    code, report, printed = grade(built("honest") / f"{name}.so", "--rubric", "all", "--sandbox",
                                  sandbox, *words, tmp=tmp_path)
    whole = sandbox == best_sandbox()
    check(name, report, whole)
    assert code == (1 if whole and SOLVED[name] is not None else 0), printed


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK_TO_BUILD)) for name in SOLVED])
def test_folder_is_built_and_keeps_its_points(name, tmp_path):
    """From source; a few problems, for the libraries above are the same."""
    few = (SOLVED[name] or ["rope", "softmax"])[:2]
    words = [word for problem in few for word in ("--problem", problem)]
    _, report, printed = grade(folder_of(f"honest/{name}"), "--rubric", "all", "--sandbox", best_sandbox(), *words,
                               tmp=tmp_path)
    assert report["kind"] == "CMake project" and report["status"] == "PASSED", report["message"]
    for problem in few:
        item = items(report)[problem]
        assert item["earned"] == item["points"], printed


def test_other_sums_in_a_second_call_cost_what_the_rubric_asks(tmp_path):
    """A course rubric has a small group for the same bits; everything else is earned."""
    _, report, printed = grade(built("honest") / "cpp_other_sums.so", "--rubric", "cs336-2025",
                               "--sandbox", best_sandbox(), "--problem", "linear", "--problem",
                               "embedding", tmp=tmp_path)
    assert {result["status"] for result in report["results"]} == {"PASSED"}, printed
    linear, embedding = items(report)["linear"], items(report)["embedding"]
    assert embedding["earned"] == embedding["points"]
    assert [group["name"] for group in linear["groups"] if not group["earned"]] == [
        "same result twice"]
    assert linear["earned"] == pytest.approx(0.98 * linear["points"])
    [note] = [note for note in report["notes"] if "two calls" in note]
    assert note.startswith("linear: in ") and "y at [" in note
    _, report, printed = grade(built("honest") / "cpp_other_sums.so", "--rubric", "strict",
                               "--sandbox", best_sandbox(), "--problem", "linear", tmp=tmp_path)
    assert {result["status"] for result in report["results"]} == {"PASSED"}, printed
    assert report["earned"] == 0


# Python: which rubric, and what of it is not done.
PYTHON = {
    "python_torch": ("cs336-2025", []),
    "python_small_added": ("cs336-2025", []),
    "python_2024": ("cs336-2024", []),
    "python_numpy": ("cs336-2025", []),
    "python_repository": ("cs336-2025", []),
    "python_partial": ("cs336-2025", ["rmsnorm", "positionwise_feedforward", "rope",
                                      "scaled_dot_product_attention", "multihead_self_attention",
                                      "transformer_block", "transformer_lm"]),
}


# Right for the course, and not to the last digit: the items whose `precise` group may be lost.
ROUGH = {"python_small_added": {"softmax", "scaled_dot_product_attention", "multihead_self_attention",
                                "transformer_block", "transformer_lm"}}


@in_sandboxes(PYTHON, slow=PYTHON)
def test_python_keeps_its_points(name, sandbox, tmp_path):
    need(sandbox)
    rubric, missing = PYTHON[name]
    code, report, printed = grade(folder_of(f"honest/{name}"), "--rubric", rubric, "--sandbox", sandbox, "--seed",
                                  "11", "--python", python_of(name, tmp_path), "--timeout", "60", tmp=tmp_path)
    assert report["status"] == "PASSED", printed
    for item in report["items"]:
        if item["name"] in missing:
            assert item["earned"] == 0, item["name"]
        else:
            lost = {group["name"] for group in item["groups"] if not group["earned"]}
            assert lost <= ({"precise"} if item["name"] in ROUGH.get(name, ()) else set()), printed
        assert not item["diagnoses"] and not item["undiagnosed"]
    statuses = {result["status"] for result in report["results"]}
    if name in ROUGH:
        assert report["earned"] < report["points"], "what is it here for?"
        assert any("more than rounding" in note for note in report["notes"]), report["notes"]
    assert statuses == ({"PASSED", "NOT_IMPLEMENTED"} if missing else {"PASSED"}), printed
    assert code == (1 if missing else 0)


def test_cases_that_adapters_cannot_ask_cost_nothing(tmp_path):
    """The handout's block takes no eps: a case with another is left out, and the report says so."""
    pytest.importorskip("torch")
    _, report, printed = grade(folder_of("honest/python_torch"), "--rubric", "strict", "--problem",
                               "transformer_block", "--python", sys.executable,
                               "--sandbox", best_sandbox(), "--no-hidden",
                               "--timeout", "60", tmp=tmp_path)
    names = {result["case"] for result in report["results"]}
    assert "eps_one_tenth_float32" not in names and "many_heads_float32" in names
    assert any("left out" in note for note in report["notes"]), report["notes"]
    assert report["earned"] == report["points"] == 3, printed


@pytest.mark.parametrize("python, words", [
    ("no_such_python", "--python no_such_python: no such program"),
    ("script", "is a script; wanted the interpreter itself"),
])
def test_an_interpreter_that_is_none_is_told_before_anything_runs(python, words, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexec python3 \"$@\"\n")
    script.chmod(0o755)
    code, report, printed = grade(folder_of("honest/python_torch"), "--python",
                                  script if python == "script" else python, tmp=tmp_path)
    assert code == 2 and report is None and words in printed, printed
