# labels: unit emulated
# timeout: 1200
# processors: 2
"""`prenorm profile`: the command, its JSON, and cuda/profiles.json, which it must reproduce exactly.

To write that file anew: PRENORM_WRITE_PROFILES=1 ./prenorm test -R '^profile$'
"""

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "cuda/profiles.json"
pytestmark = pytest.mark.skipif(bool(os.environ.get("PRENORM_SANITIZE")),
                                reason="the counter takes a sanitizer's place")


@pytest.fixture
def profile(run):
    def call(*words, code=0, **variables):
        return run("profile", *words, code=code, **variables)

    return call


def rows_of(profile, *words, **variables):
    return json.loads(profile(*words, "--json", "-", **variables).stdout)["rows"]


def test_relu_has_the_promised_numbers(profile):
    rows = rows_of(profile, "relu", "--solution", "cuda-naive-emulated", "--dtype", "float32")
    assert [row["solution"] for row in rows] == ["cuda-naive-emulated"]
    kernel, = rows[0]["kernels"]
    # 256 x 1024 floats: 8192 warps, each of which reads and writes 128 bytes.
    for kind in ("load", "store"):
        assert kernel[kind] == {"requests": 8192, "bytes": 1 << 20, "sectors": 1 << 15,
                                "lines": 8192, "ideal_sectors": 1 << 15,
                                "sectors_per_request": 4, "ideal_sectors_per_request": 4,
                                "lanes_per_request": 32}
    assert kernel["shared"]["requests"] == 0 and kernel["shared"]["wavefronts_per_request"] == 0
    assert kernel["barriers"] == 0 and kernel["launches"] == 1
    assert rows[0]["least_bytes"] == rows[0]["sector_bytes"] == rows[0]["bytes"] == 2 << 20
    assert rows[0]["bound"] == {"seconds": pytest.approx((2 << 20) / 3.35e12), "by": "bytes"}


def test_lines_name_the_source(profile):
    rows = rows_of(profile, "rmsnorm", "--shape", "rmsnorm", "--dtype", "float32")
    assert [row["solution"] for row in rows] == ["cuda-naive-emulated", "cuda-emulated/v2",
                                                "cuda-emulated"]
    v1, v2, v3 = (row["kernels"][0] for row in rows)
    assert v1["load"]["sectors_per_request"] > 20  # each lane has a row of its own
    assert v2["load"]["sectors_per_request"] == 4
    assert v3["load"]["sectors_per_request"] == 16 == v3["load"]["ideal_sectors_per_request"]
    sources = (ROOT / "cuda/rmsnorm.cu").read_text().splitlines()
    access = next(a for a in v1["accesses"] if a["kind"] == "store")
    assert "y[" in sources[access["source"][0]["line"] - 1]
    assert access["pattern"] == "32 lanes write 4 bytes each, 4096 bytes apart: 32 sectors, 4 would do"
    assert access["request"] == [4096 * lane for lane in range(32)]


def test_the_table_and_the_lines(profile):
    out = profile("rmsnorm", "--shape", "rmsnorm", "--dtype", "float32", "--lines", "--device",
                  "a100").stdout
    assert "cuda-emulated/v2" in out and "bound on a100" in out and "The bound is not a time" in out
    assert "32 lanes write 4 bytes each, 4096 bytes apart: 32 sectors, 4 would do" in out


def test_a_case_of_the_fixture(profile, home):
    fixture = home / "share/prenorm/fixtures/relu.h5"
    h5py = pytest.importorskip("h5py")
    with h5py.File(fixture) as file:
        name = next(name for name, case in file["cases"].items() if case.get("outputs"))
    row, = rows_of(profile, "relu", "--case", name, "--solution", "cuda-emulated")
    assert row["shape"] == name and row["status"] == "PASSED"


def test_counts_do_not_depend_on_threads(profile):
    words = ("softmax", "--shape", "softmax", "--dtype", "bfloat16", "--json", "-", "--threads")
    assert profile(*words, 1).stdout == profile(*words, 3).stdout


@pytest.mark.parametrize("words, message", [
    (["relu", "--device", "h10"], "no device 'h10' (did you mean 'h100'?)"),
    (["relu", "--solution", "reference"], "reference: counts nothing"),
    (["relu", "--solution", "refrence"], "did you mean 'reference'"),
    (["relu", "--shape", "nothing"], "no shape is selected"),
    ([], "PROBLEM"),
])
def test_a_wrong_word_is_told(profile, words, message):
    assert message in profile(*words, code=2).stderr


def test_an_absent_version_is_no_failure(profile):
    out = profile("relu", "--solution", "cuda-emulated/v7", code=3).stdout
    assert "NOT_IMPLEMENTED" in out and "nothing was profiled" in out


# ---- the record ---------------------------------------------------------------------------------

def summary(row):
    """What is kept of a row: counts that a compiler of another version does not change."""
    kernels = []
    for kernel in row["kernels"]:
        kept = {key: kernel[key] for key in ("kernel", "launches", "barriers", "shuffles",
                                             "tensor_flops", "least_bytes")}
        for kind in ("load", "store"):
            for count in ("requests", "bytes", "sectors", "ideal_sectors"):
                kept[f"{kind}_{count}"] = kernel[kind][count]
        for count in ("requests", "wavefronts", "ideal_wavefronts"):
            kept[f"shared_{count}"] = kernel["shared"][count]
        kept["atomic_requests"] = kernel["atomics"]["requests"]
        kernels.append(kept)
    return kernels


def differences(recorded, measured):
    """What grew or shrank, a line each: "rmsnorm bfloat16 cuda-emulated, rmsnorm v3: load_sectors"."""
    for name in recorded.keys() ^ measured.keys():
        yield f"{name}: {'is new' if name in measured else 'is gone'}"
    for name in recorded.keys() & measured.keys():
        before, now = ({k["kernel"] + f" {i}": k for i, k in enumerate(of[name])}
                       for of in (recorded, measured))
        for kernel in sorted(before.keys() ^ now.keys()):
            yield f"{name}: kernel {kernel} {'is new' if kernel in now else 'is gone'}"
        for kernel in sorted(before.keys() & now.keys()):
            for count, value in now[kernel].items():
                old = before[kernel][count]
                if value != old:
                    yield f"{name}, {kernel}: {count} {old} -> {value}"


def test_profiles_are_reproduced(profile):
    rows = rows_of(profile, "*")
    assert {row["status"] for row in rows} == {"PASSED"}
    measured = {f"{row['shape']} {row['dtype']} {row['solution']}": summary(row) for row in rows}
    if os.environ.get("PRENORM_WRITE_PROFILES"):
        lines = [f' {json.dumps(name)}: [\n  ' + ",\n  ".join(map(json.dumps, kernels)) + "]"
                 for name, kernels in sorted(measured.items())]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    changes = sorted(differences(json.loads(RECORD.read_text()), measured))
    assert not changes, "\n".join(changes)
