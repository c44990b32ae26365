# labels: unit cuda
"""The kernel that reads clean memory before a timed call (harness/worker/cuda_device.cpp) is text which only
a driver compiles: here NVIDIA's assembler reads it, for every architecture, and the loads stay."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT

NVCC = os.environ.get("PRENORM_NVCC", "")
ASSEMBLER = shutil.which("ptxas", path=Path(NVCC).parent) if NVCC else None

pytestmark = pytest.mark.skipif(not ASSEMBLER, reason="there is no ptxas")


def ptx():
    source = (ROOT / "harness" / "worker" / "cuda_device.cpp").read_text()
    return re.search(r'R"\(\n(.*?)\)"', source, re.DOTALL)[1]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_the_driver_can_translate_it(architecture, tmp_path):
    path = tmp_path / "read.ptx"
    path.write_text(ptx())
    done = subprocess.run([ASSEMBLER, f"-arch={architecture}", "-v", path, "-o", tmp_path / "read.cubin"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill" in done.stderr and "'read_all'" in done.stderr
    # A load that no instruction uses would be left out if it were not volatile.
    assert re.findall(r"\bld\.(\S*global\S*)", ptx()) == ["volatile.global.v4.u32"]
