"""The submission lists its own folder, and reads its own source."""

import glob
import hashlib
import inspect
import os
from pathlib import Path

from layers import silu

HERE = os.path.dirname(os.path.abspath(__file__))
names = {os.path.basename(path) for path in glob.glob(os.path.join(HERE, "*.py"))}
assert names == {"adapters.py", "layers.py"} == {path.name for path in Path(HERE).rglob("*.py")}
assert "np.exp" in inspect.getsource(silu)
version = hashlib.sha256(Path(HERE, "layers.py").read_bytes()).hexdigest()


def run_silu(in_features):
    assert len(version) == 64
    return silu(in_features)
