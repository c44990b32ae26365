"""A failing case of a Python submission comes with lines of PyTorch that show it without the grader."""

# labels: grading
# slow labels: grading

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from grading import best_sandbox
from submissions import folder_of

SUBMISSION = folder_of("class/eps_outside")
PYTHON = os.environ["PRENORM_TEST_PYTHON"]


def snippet(run, problem, case, submission=SUBMISSION, python=PYTHON):
    done = run("grade", submission, "--rubric", "strict", "--python", python, "--sandbox", best_sandbox(),
               "--no-hidden", "--problem", problem, "--case", case)
    found = re.search(r"^    in Python, beside adapters.py:\n((?:      .*\n)+)", done.stdout, re.M)
    assert found, done.stdout + done.stderr
    lines = [line[6:] for line in found.group(1).splitlines()]
    assert len(lines) <= 8
    return lines


def output_of(lines, folder):
    """What the lines print where they belong: beside adapters.py."""
    done = subprocess.run([PYTHON, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": f"{SUBMISSION}:{SUBMISSION / 'tests'}"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_small_inputs_stand_in_it(run, tmp_path):
    lines = snippet(run, "rmsnorm", "no_batch_float32")
    assert not any("case.pt" in line for line in lines)
    printed, expected = [np.array(re.findall(r"-?\d+\.\d+", text), float)
                         for text in (output_of(lines, tmp_path), lines[-1].split("# expected")[1])]
    assert printed.shape == expected.shape == (16,)
    # It shows what is wrong: eps beside the root.
    assert 1e-6 < np.abs(printed - expected).max() < 1e-3


@pytest.fixture(scope="module")
def numpy_python(tmp_path_factory):
    """A Python with NumPy and without torch."""
    made = tmp_path_factory.mktemp("python") / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", made], check=True)
    [packages] = made.glob("lib/python3*/site-packages")
    (packages / "numpy").symlink_to(Path(np.__file__).parent)
    return made / "bin/python"


@pytest.mark.slow
@pytest.mark.parametrize("case", ["no_batch_float32", "scale_1e_minus_2_float32"])
def test_without_torch_it_is_numpy(case, run, numpy_python, tmp_path):
    (tmp_path / "adapters.py").write_text(
        "def run_rmsnorm(d_model, eps, weights, in_features):\n"
        "    return in_features / ((in_features**2).mean(-1, keepdims=True)**0.5 + eps) * weights\n")
    lines = snippet(run, "rmsnorm", case, tmp_path / "adapters.py", numpy_python)
    assert lines[0] == "import numpy as np; from adapters import run_rmsnorm"
    for export in [line for line in lines if line.startswith("# prenorm")]:
        run(*export[len("# prenorm "):].split(), code=0)
    done = subprocess.run([numpy_python, "-c", "\n".join(lines)], capture_output=True, text=True,
                          cwd=tmp_path)
    printed, expected = [np.array(re.findall(r"-?\d+\.\d+", text), float)
                         for text in (done.stdout, lines[-1].split("# expected")[1])]
    assert printed.shape == expected.shape and len(printed) > 0, done.stderr
    assert 1e-6 < np.abs(printed - expected).max() < 0.5


@pytest.mark.slow
def test_large_inputs_come_from_an_exported_case(run, tmp_path):
    lines = snippet(run, "rope", "position_131071_float32")
    export = next(line for line in lines if "case.pt" in line and line.startswith("# prenorm"))
    run(*export[len("# prenorm "):].split(), code=0)
    printed = float(re.search(r"-?\d+\.\d+", output_of(lines, tmp_path)).group())
    expected = float(lines[-1].split("# expected")[1])
    assert abs(printed - expected) > 1e-5  # angles in float32
