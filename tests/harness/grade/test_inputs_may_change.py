# labels: grading
"""A function that overwrites its inputs: whether it loses its points is the rubric's word."""

import pytest

from grading import best_sandbox, grade, results, rubric, without_torch, write_rubric
from places import ROOT

ADAPTERS = """
import numpy as np

def run_silu(in_features):
    in_features /= 1 + np.exp(-in_features)
    return in_features
"""


@pytest.mark.parametrize("allowed", [True, False])
def test_the_rubric_decides(allowed, tmp_path):
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "adapters.py").write_text(ADAPTERS)
    path = write_rubric(tmp_path, rubric(
        "In place", {"all": 'cases = ["width_33_float32"]'}, {"silu": ("silu", 1)},
        f"inputs_may_change = {str(allowed).lower()}\n"))
    _, report, printed = grade(submission, "--rubric", path, "--sandbox", best_sandbox(), "--seed", "5",
                               "--python", without_torch(tmp_path / "venv"), tmp=tmp_path)
    assert report["earned"] == allowed, printed
    [visible] = [each for each in results(report, "silu") if not each["hidden"]]
    assert visible["status"] == ("PASSED" if allowed else "INPUT_MUTATED")
    assert visible["message"].startswith("input x was changed at ")
    assert [note for note in report["notes"] if "overwrites" in note] == allowed * [
        "silu overwrites its input x: no points are lost here, but whoever calls it may still need that"]


@pytest.mark.parametrize("year", [2024, 2025, 2026])
def test_the_courses_allow_it(year):
    text = (ROOT / f"fixtures/rubrics/cs336-{year}.toml").read_text()
    assert "\ninputs_may_change = true" in text
