# labels: unit grading
"""Honest Python submissions over every case of every problem that their edition names."""

import os
import shutil
import sys
import tomllib
from collections import Counter

import pytest

from grading import grade, rubric, without_torch
from places import ROOT
from submissions import folder_of

# Which edition, and how many cases pass at least. In python_partial other problems are not done.
HONEST = {"python_torch": (2025, 400), "python_numpy": (2025, 400), "python_2024": (2024, 200),
          "python_repository": (2025, 400), "python_partial": (2025, 100)}


@pytest.mark.parametrize("name", HONEST)
def test_every_case_passes(name, tmp_path):
    edition, least = HONEST[name]
    adapters = f"adapters-{edition}.toml"
    shutil.copy(ROOT / "fixtures/rubrics" / adapters, tmp_path)
    problems = tomllib.loads((tmp_path / adapters).read_text())
    (tmp_path / "every.toml").write_text(rubric(
        "Every case", {"all": "errors = true\nhidden = false"}, {each: (each, 1) for each in problems},
        f'adapters = "{adapters}"\n'))
    python = sys.executable
    if name == "python_repository":
        # With einops, jaxtyping and the current torch, as pip installs them.
        python = os.environ.get("PRENORM_TEST_VENV") or pytest.skip("PRENORM_TEST_VENV is not set")
    elif name == "python_numpy":
        python = without_torch(tmp_path / "venv")
    _, report, printed = grade(folder_of(f"honest/{name}"), "--rubric", tmp_path / "every.toml",
                               "--python", python, tmp=tmp_path)
    assert report["status"] == "PASSED", printed
    statuses = Counter(result["status"] for result in report["results"])
    assert statuses.pop("PASSED") >= least, printed
    undone = statuses.pop("NOT_IMPLEMENTED", 0)
    assert not statuses and (undone > 100 if name == "python_partial" else undone == 0), printed
    if name == "python_torch":  # a block or a model with another eps
        assert any(note.startswith("16 cases left out: ") for note in report["notes"]), report["notes"]
