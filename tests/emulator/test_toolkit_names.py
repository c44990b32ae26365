# labels: emulated slow
# timeout: 600
"""Every public name of CUDA's toolkit works in the emulator or is refused by name (toolkit_names.py)."""
import os
import subprocess
from pathlib import Path

import pytest

from conftest import not_sanitized
from toolkit_names import compile_, names, program, refused

PARTS = 8  # of the headers

NVCC = os.environ.get("PRENORM_NVCC", "")
FRONT_DOOR = Path(os.environ["PRENORM_PROGRAM"]).resolve().parent.parent / "libexec/prenorm/prenorm-cu++"

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not NVCC, reason="the names are those of a toolkit's headers"),
              not_sanitized("it compiles only")]


def test_every_name_works_or_is_refused(tmp_path):
    statements = [each for probes in names(NVCC).values() for each in probes]
    assert len(statements) > 4000
    words, works = refused(FRONT_DOOR, statements, tmp_path)
    assert {"cudaGraphLaunch", "cublasCgemm", "__any", "tex2D"} < words
    done = compile_(FRONT_DOOR, program(works), tmp_path)
    assert done.stderr == ""  # what is not refused compiles
    assert len(works) >= 2670


def test_the_names_are_cuda(tmp_path):
    """What is tried above, nvcc compiles."""
    path = tmp_path / "names.cu"
    path.write_text(program(each for probes in names(NVCC).values() for each in probes))
    done = subprocess.run([NVCC, "-std=c++17", "-arch=sm_90", "-w", "-cuda", path, "-o", tmp_path / "out"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", range(PARTS))
def test_every_header_works_or_is_refused(tmp_path, part):
    folder = Path(NVCC).resolve().parent.parent / "include"
    paths = sorted([*folder.glob("*.h"), *folder.glob("cccl/*/*.*h"), *folder.glob("nvtx3/*.h")])
    assert len(paths) > 200
    wrong = []
    for path in paths[part::PARTS]:
        name = path.relative_to(folder / "cccl" if "cccl" in path.parts else folder)
        said = compile_(FRONT_DOOR, f"\n#include <{name}>\n", tmp_path).stderr
        if said not in ("", *(f"{tmp_path}/names.cu:2: {each} is not emulated\n" for each in (name, name.name))):
            wrong.append(said[:200])
    assert wrong == []
