# labels: unit
"""What the kernel files, docs/profile.md and the site say of counts: cuda/ladders.py writes it from
cuda/profiles.json, which test_profile.py reproduces."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import ladders
from places import ROOT, found_some


KERNEL = """\
// A kernel.
//
//   v1  one thread            the loop
//   v2  one block             shared   <- launched
//
// The rest.
#include "launch.cuh"
"""


def counts(**some):
    none = {f"{kind}_{count}": 0 for kind in ("load", "store")
            for count in ("requests", "bytes", "sectors", "ideal_sectors")}
    return {"kernel": "k", "launches": 1, "barriers": 0, "shuffles": 0, "least_bytes": 0, **none,
            "shared_requests": 0, "shared_wavefronts": 0, "shared_ideal_wavefronts": 0, **some}


FIRST = counts(load_requests=10, load_sectors=320, load_ideal_sectors=40, store_requests=2,
               store_sectors=8, store_ideal_sectors=8, least_bytes=2560)
SECOND = counts(load_requests=10, load_sectors=40, load_ideal_sectors=40, store_requests=2,
                store_sectors=8, store_ideal_sectors=8, least_bytes=1280, shared_requests=4,
                shared_wavefronts=10, shared_ideal_wavefronts=4, barriers=3, shuffles=5)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A checkout with one kernel file and its counts."""
    monkeypatch.setattr(ladders, "TOLD", {"linear": ["linear float32"]})
    (tmp_path / "cuda").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "cuda/linear.cu").write_text(KERNEL)
    (tmp_path / "docs/profile.md").write_text(f"A page.\n{ladders.BEGIN}old\n{ladders.END}Its end.\n")
    write(tmp_path, {"cuda-naive-emulated": [FIRST], "cuda-emulated": [SECOND, SECOND]})
    return tmp_path


def write(root, versions):
    shape = {"problem": "linear", "bytes": 1280, "what": "4 rows"}
    (root / "cuda/profiles.json").write_text(json.dumps(
        {"shapes": {"linear float32": shape},
         **{f"linear float32 {solution}": kernels for solution, kernels in versions.items()}}))


def test_all_are_fresh():
    stale = [str(path.relative_to(ROOT)) for path, text in ladders.texts(ROOT).items()
             if path.read_text() != text]
    assert stale == [], "python3 cuda/ladders.py writes them anew"


def test_every_file_with_problems_tells_of_one():
    exporting = {path.stem for path in (ROOT / "cuda").glob("*.cu")
                 if re.search(r"^PRENORM_CUDA_EXPORT", path.read_text(), re.M)}
    assert exporting == set(ladders.TOLD)


def test_the_numbers(own):
    first, launched = ladders.Profiles(own / "cuda").versions("linear float32", "linear")
    assert (first.name, launched.name) == ("v1", "v2")
    # 328 sectors of 32 bytes are 8.2 times 1280.
    assert first.cells == ["1", "32 (4)", "4", "8.2", "2", "-", "0", "0"]
    assert launched.cells == ["2", "4", "4", "2.4", "2", "2.5 (1)", "6", "10"]


def test_a_launched_version_that_another_one_is_in_the_emulator_has_that_name(own):
    write(own, {"cuda-naive-emulated": [FIRST], "cuda-emulated/v2": [SECOND],
                "cuda-emulated": [SECOND]})
    (own / "cuda/linear.cu").write_text(KERNEL.replace(
        "shared   <- launched\n", "shared\n//   v3  another               <- launched\n"))
    found = ladders.Profiles(own / "cuda").versions("linear float32", "linear")
    assert [(each.name, each.solution) for each in found] == [
        ("v1", "cuda-naive-emulated"), ("v2", "cuda-emulated")]


def test_what_is_written(own):
    assert ladders.write(own) == [own / "cuda/linear.cu", own / "docs/profile.md"]
    text = (own / "cuda/linear.cu").read_text()
    assert text == KERNEL.replace("//\n// The rest", """\
//
// Counts of linear, float32: 4 rows (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1        32 (4)              4     8.2          2           -         0         0
//   v2         2             4              4     2.4          2     2.5 (1)         6        10
//
// The rest""")
    page = (own / "docs/profile.md").read_text()
    assert page.startswith("A page.\n") and page.endswith("Its end.\n") and "old" not in page
    assert "| v1 | 1 | 32 (4) | 4 | 8.2 | 2 | - | 0 | 0 |" in page
    assert ladders.write(own) == []


@pytest.mark.parametrize("old, new", [('"load_sectors": 320', '"load_sectors": 321'),
                                      ('"bytes": 1280', '"bytes": 1279')])
def test_a_change_of_the_counts_makes_them_stale(own, old, new):
    ladders.write(own)
    record = own / "cuda/profiles.json"
    record.write_text(record.read_text().replace(old, new))
    assert [path.name for path in ladders.write(own)] == ["linear.cu", "profile.md"]


def test_heads_are_short():
    """What a kernel file is, its versions and their counts; the rest stands where it happens."""
    heads = {path.name: path.read_text().partition("\n#")[0].count("\n") + 1
             for path in found_some((ROOT / "cuda").glob("*.cu"))}
    most = dict.fromkeys(heads, 15) | {"attention.cu": 16, "linear.cu": 19}  # five and seven versions
    assert {name: lines for name, lines in heads.items() if lines > most[name]} == {}


def test_as_a_command(tmp_path):
    for name in ("cuda", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    kernel = tmp_path / "cuda/rope.cu"
    kernel.write_text(re.sub(r"^// Counts of .*\n", "// Counts of old times\n", kernel.read_text(),
                             flags=re.M))
    done = subprocess.run([sys.executable, tmp_path / "cuda/ladders.py"], capture_output=True,
                          text=True, check=True)
    assert done.stdout == "cuda/rope.cu\n"
    assert kernel.read_text() == (ROOT / "cuda/rope.cu").read_text()
