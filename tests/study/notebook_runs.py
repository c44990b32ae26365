"""Notebooks, executed from top to bottom."""
import json
import os
import subprocess
import sys

import pytest

from places import ROOT


def executed(name, tmp_path):
    """The outputs of a notebook's cells."""
    pytest.importorskip("nbconvert", reason="there is no nbconvert (Debian: jupyter-nbconvert)")
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute",
                           "--output-dir", tmp_path, ROOT / f"notebooks/{name}.ipynb"],
                          capture_output=True, text=True, cwd=ROOT / "notebooks",
                          env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not any(output.get("name") == "stderr" for output in outputs)
    return outputs
