# labels: grading slow
"""Triton kernels are graded without a device: Triton's interpreter runs them in the sandbox.

PRENORM_TRITON_PYTHON names an interpreter that has torch and triton (with Debian's torch 1.13,
triton 3.1.0).
"""

import os

import pytest

from grading import grade
from submissions import make

PYTHON = os.environ.get("PRENORM_TRITON_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="PRENORM_TRITON_PYTHON names no Python with Triton")


def graded(slips, sandbox, tmp_path):
    submission = tmp_path / "adapters.py"
    submission.write_text(make("triton_rmsnorm", slips))
    _, report, printed = grade(submission, "--python", PYTHON, "--sandbox", sandbox, "--problem", "rmsnorm",
                               "--seed", "7", tmp=tmp_path, seconds=600)
    assert report, printed
    return report


@pytest.mark.parametrize("sandbox", ["bubblewrap", "process"])
def test_an_honest_submission_has_its_points(sandbox, tmp_path):
    found = graded([], sandbox, tmp_path)
    assert found["earned"] == found["points"] == 1
    assert any("interpreted" in note for note in found["notes"]), found["notes"]


@pytest.mark.parametrize("name, mistake", [("unmasked", None), ("no_eps", "no_eps"),
                                           ("half_sums", None)])
def test_a_wrong_submission_loses_points(name, mistake, tmp_path):
    found = graded([name], "bubblewrap", tmp_path)
    assert found["earned"] < found["points"]
    diagnosed = [each["mistake"] for item in found["items"] for each in item["diagnoses"]]
    assert mistake is None or diagnosed[:1] == [mistake]
