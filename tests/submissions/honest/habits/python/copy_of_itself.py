"""The submission copies its own folder, as a record of the run, and imports the copy."""

import importlib.util
import shutil
import tempfile
from pathlib import Path

record = Path(tempfile.mkdtemp(prefix="prenorm-habit")) / "code"
shutil.copytree(Path(__file__).parent, record)
spec = importlib.util.spec_from_file_location("copied_layers", record / "layers.py")
copied = importlib.util.module_from_spec(spec)
spec.loader.exec_module(copied)


def run_silu(in_features):
    return copied.silu(in_features)
