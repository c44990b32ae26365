"""Notebooks: their code, and executed from top to bottom."""
import json
import os
import subprocess
import sys

import pytest

from places import ROOT


def code_of(name):
    """The code cells of a notebook."""
    cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def written(name, ending):
    """The files with this ending that a notebook writes: {name without the ending: text}."""
    files = [cell.partition("\n") for cell in code_of(name) if cell.startswith("%%writefile")]
    return {line.split()[1].removesuffix(ending): text + "\n" for line, _, text in files
            if line.endswith(ending)}


def executed(name, tmp_path):
    """The outputs of a notebook's cells."""
    pytest.importorskip("nbconvert")
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute",
                           "--output-dir", tmp_path, ROOT / f"notebooks/{name}.ipynb"],
                          capture_output=True, text=True, cwd=ROOT / "notebooks",
                          env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not any(output.get("name") == "stderr" for output in outputs)
    return outputs
