# labels: fixtures
# slow labels: fixtures
# slow timeout: 2400
# processors: 2
"""What the field calls right passes: the forms of forms.py, through every shipped case and hidden draws."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from grading import best_sandbox, grade
from places import ROOT, found_some

FORMS = Path(__file__).with_name("forms.py")
FIXTURES = ROOT / "fixtures"
PROBLEMS = found_some(path.stem for path in FIXTURES.glob("*.h5"))
SEEDS = range(1, 7)
LARGEST = 1 << 16  # elements of a case that is drawn anew for a grade
# The paths of PyTorch's own kernels, as far as this processor has them.
CAPABILITIES = ("default", "avx2", "avx512")


def failures(python, *words, capability=None):
    """The rows that failed, of a run of forms.py; at least one row must be there."""
    environment = dict(os.environ, **({"ATEN_CPU_CAPABILITY": capability} if capability else {}))
    done = subprocess.run([python, FORMS, *words], capture_output=True, text=True, env=environment)
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert sum(row["cases"] for row in rows) > 0
    assert done.returncode == any(row["failed"] for row in rows)
    return [row for row in rows if row["failed"]]


@pytest.fixture(scope="session")
def current():
    """A Python with a current PyTorch."""
    python = os.environ.get("PRENORM_TEST_VENV")
    if not python:
        pytest.skip("no PRENORM_TEST_VENV with a current PyTorch (tests/support/make_venv.sh)")
    return python


@pytest.fixture(scope="session", params=SEEDS)
def drawn(request, program, tmp_path_factory):
    """Hidden draws of one seed, of every problem: every other seed with other sizes."""
    folder = tmp_path_factory.mktemp(f"seed_{request.param}")
    small = folder / "small"
    small.mkdir()
    for problem in PROBLEMS:
        without_large_cases(FIXTURES / f"{problem}.h5", small / f"{problem}.h5")
    resize = ["--resize"] if request.param % 2 == 0 else []
    done = subprocess.run([program, "fixtures", "make", *(small / f"{each}.h5" for each in PROBLEMS),
                           "--seed", str(request.param), "--out", folder / "drawn", *resize],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "drawn"


def without_large_cases(shipped, path):
    with h5py.File(shipped) as old, h5py.File(path, "w") as new:
        new.attrs.update(old.attrs)
        cases = new.create_group("cases")
        for name, case in old["cases"].items():
            size = sum(each.size for room in ("inputs", "outputs") for each in case.get(room, {}).values())
            if size <= LARGEST:
                old.copy(case, cases, name)


@pytest.mark.parametrize("problem", ["gelu", "scaled_dot_product_attention"])
def test_forms_pass(problem):
    assert failures(sys.executable, FIXTURES / f"{problem}.h5") == []


@pytest.mark.slow
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_all_forms_pass(capability, current):
    assert failures(current, FIXTURES, capability=capability) == []


@pytest.mark.slow
def test_all_forms_pass_with_debians_pytorch():
    assert failures(sys.executable, FIXTURES) == []


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["gelu", "softmax", "rmsnorm"])
def test_compiled_forms_pass(problem, current):
    assert failures(current, FIXTURES / f"{problem}.h5", "--form", "F.*", "--compile") == []


@pytest.mark.slow
@pytest.mark.parametrize("which, rubric", [
    ("debian", "cs336-2025"), ("current", "cs336-2024"), ("current", "cs336-2026"), ("current", "strict"),
    ("current", "all")])
def test_pytorch_earns_every_point(which, rubric, request, tmp_path):
    """Of what the rubric asks of Python. Debian's PyTorch has no float16 on a CPU, which courses do not need."""
    python = request.getfixturevalue("current") if which == "current" else sys.executable
    _, report, printed = grade(FORMS.parent / "pytorch", "--rubric", rubric, "--seed", "5", "--python", python,
                               "--sandbox", best_sandbox(), tmp=tmp_path)
    missing = {result["problem"] for result in report["results"] if result["status"] == "NOT_IMPLEMENTED"}
    assert not missing or rubric == "all"
    assert {result["status"] for result in report["results"]} <= {"PASSED", "NOT_IMPLEMENTED"}, printed
    for item in report["items"]:
        assert item["earned"] == item["points"] or missing & set(item["problems"]), printed


@pytest.mark.slow
def test_forms_pass_hidden_draws(drawn, current):
    assert failures(current, drawn) == []


def test_what_is_wrong_fails(tmp_path):
    """The comparison sees an error just beyond what is allowed, and NaN."""
    sys.path.insert(0, str(FORMS.parent))
    import forms

    limits = {"atol": 1e-6, "rtol": 0.0, "rms": 0.5, "bias": 0.4}
    e = np.linspace(1, 2, 300)
    assert forms.share_of(e, e, "float32", limits) == 0
    assert forms.share_of(e + 2e-6 * (np.arange(300) == 7), e, "float32", limits) > 1
    assert forms.share_of(e + 0.9e-6 * (-1)**np.arange(300), e, "float32", limits) > 1  # together
    assert forms.share_of(np.where(e > 1.9, np.nan, e), e, "float32", limits) == np.inf
