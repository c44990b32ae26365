# labels: unit emulated
# slow labels: unit emulated
# processors: 2
# slow timeout: 3000
"""`prenorm profile` beside a device's own counters: with a driver and an ncu that are none, with files
in the manner of ncu's, and with those of the records of devices (cuda/records)."""

import json
import re
import subprocess

import pytest
from conftest import make_home, not_sanitized
from places import ROOT

SHAPE = ("--shape", "rmsnorm", "--dtype", "float32")
AGREEMENT = 0.05
RECORDS = sorted((ROOT / "cuda/records").glob("*/counters.csv"))
# What cuda/record/steps.sh counts: the kernels of `cuda` that memory bounds, each in bfloat16.
RECORDED = ("rmsnorm_8192x4096", "softmax_8192x4096", "softmax_8192x4096_axis_0", "silu_llama3", "gelu_gpt2",
            "rope_llama3", "embedding_gpt2")

pytestmark = not_sanitized("the counter takes a sanitizer's place")

COUNTERS = {"load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "dram_bytes_read": "dram__bytes_read.sum", "dram_bytes_written": "dram__bytes_write.sum"}


def table(launches):
    """What ncu writes of (symbol, grid, block, values)."""
    rows = [["ID", "Process ID", "Process Name", "Kernel Name", "Context", "Stream", "Block Size",
             "Grid Size", "Device", "CC", "gpu__time_duration.sum", *COUNTERS.values()],
            [""] * 10 + ["ns"] + ["request", "sector"] * 2 + ["byte"] * 2]
    for number, (symbol, grid, block, values) in enumerate(launches):
        sizes = (f"({size[0]}, {size[1]}, {size[2]})" for size in (block, grid))
        rows.append([str(number), "1", "prenorm", symbol, "1", "7", *sizes, "0", "9.0", "2,016",
                     *(values[name] if isinstance(values[name], str) else f"{values[name]:,}"
                       for name in COUNTERS)])
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join(["==PROF== Connected to process 1 (/a/prenorm)", *lines,
                      "==PROF== Disconnected from process 1"]) + "\n"


def as_counted(kernel, factor=1):
    """A device's counters that are those of the emulator, times a factor."""
    counts = {"load_requests": kernel["load"]["requests"], "load_sectors": kernel["load"]["sectors"],
              "store_requests": kernel["store"]["requests"],
              "store_sectors": kernel["store"]["sectors"],
              "dram_bytes_read": kernel["least_bytes"] // 2,
              "dram_bytes_written": kernel["least_bytes"] // 2}
    return {name: round(value * factor) for name, value in counts.items()}


@pytest.fixture(scope="module")
def symbols(home):
    """symbols("rmsnorm_v1"): those of all functions made from that template."""
    library = home / "lib/prenorm/counted/libprenorm_cuda-emulated.so"
    listing = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    return lambda name: re.findall(rf"^\S+ t (\S+\d{name}I\S+)$", listing, re.M)


@pytest.fixture
def rows(profile):
    def call(*words, **variables):
        return json.loads(profile(*words, "--json", "-", **variables).stdout)["rows"]
    return call


@pytest.fixture(scope="module")
def counted(program):
    """The kernels of rmsnorm's three versions, as they are counted here."""
    done = subprocess.run([program, "profile", "rmsnorm", *SHAPE, "--counters", "none", "--json", "-"],
                          capture_output=True, text=True, check=True)
    return [row["kernels"][0] for row in json.loads(done.stdout)["rows"]]


@pytest.fixture
def written(counted, symbols, tmp_path):
    """written(factor) -> a file of counters of rmsnorm's three versions, by that factor more than what
    is counted here; each of their functions stands in it."""
    def call(factor=1, change=lambda values: values):
        launches = []
        for kernel in counted:
            function = kernel["kernel"].replace(" ", "_")
            launches += [(symbol, kernel["grid"], kernel["block"], change(as_counted(kernel, factor)))
                         for symbol in symbols(function)]
        path = tmp_path / "counters.csv"
        path.write_text(table(launches))
        return path
    return call


# ---- files of counters --------------------------------------------------------------------------

def test_counters_of_a_file_stand_beside(rows, profile, written):
    path = written(1.25)
    for row in rows("rmsnorm", *SHAPE, "--counters", path):
        kernel, = row["kernels"]
        assert kernel["device_counters"] == {**as_counted(kernel, 1.25), "launches": 1}
    out = profile("rmsnorm", *SHAPE, "--counters", path).stdout
    assert "device: counters of counters.csv;" in out and "1.25 MiB (1.25)" in out
    assert re.search(r"rmsnorm v3 .* 32768 +40960 \(1\.25\) ", out)
    page = profile("rmsnorm", *SHAPE, "--counters", path, "--html", "-").stdout
    assert "device: counters of counters.csv;" in page and "40960 (1.25)" in page


def test_without_a_device_nothing_is_said(rows, profile):
    assert {kernel["device_counters"] for row in rows("relu", "--dtype", "float32")
            for kernel in row["kernels"]} == {None}
    done = profile("rmsnorm", *SHAPE)
    assert "device:" not in done.stdout and done.stderr == ""


def test_what_the_device_does_not_count_is_not_known(rows, profile, written):
    path = written(change=lambda values: {**values, "dram_bytes_read": "n/a"})
    row, *_ = rows("rmsnorm", *SHAPE, "--counters", path)
    counters = row["kernels"][0]["device_counters"]
    assert counters["dram_bytes_read"] is None and counters["load_sectors"] > 0
    assert "nan" not in profile("rmsnorm", *SHAPE, "--counters", path).stdout


def test_other_launches_are_not_taken_for_these(rows, written):
    path = written()
    text = path.read_text()
    # Another block; and other functions.
    path.write_text(re.sub(r'"\((\d+), \d+, 1\)","\((\d+)', r'"(\1, 3, 1)","(\2', text))
    assert {row["kernels"][0]["device_counters"] for row in
            rows("rmsnorm", *SHAPE, "--counters", path)} == {None}
    path.write_text(text.replace("rmsnorm_v", "another_v"))
    assert {row["kernels"][0]["device_counters"] for row in
            rows("rmsnorm", *SHAPE, "--counters", path)} == {None}


def test_a_device_may_choose_another_grid(rows, written):
    """As many blocks as fit it; but then there must be no doubt which launches these are."""
    path = written()
    text = re.sub(r'1\)","\(\d+, 1, 1\)"', '1)","(999, 1, 1)"', path.read_text())
    path.write_text(text)
    assert rows("rmsnorm", *SHAPE, "--counters", path)[0]["kernels"][0]["device_counters"]
    head, *launches = [line for line in text.splitlines() if line.startswith('"')]
    again = [line.replace("(999, 1, 1)", "(998, 1, 1)") for line in launches]
    path.write_text("\n".join([head, *launches, *again]))
    assert {row["kernels"][0]["device_counters"] for row in
            rows("rmsnorm", *SHAPE, "--counters", path)} == {None}


@pytest.mark.parametrize("text, message", [
    (None, "a.csv: cannot be read"),
    ("", "there is no launch of a kernel in it"),
    ("==PROF== Connected\n==WARNING== No kernels were profiled.\n", "there is no launch"),
    ('"ID","Kernel Name"\n"0","a"\n', "there is no column Grid Size"),
    ('"ID","Kernel Name"\n"0"\n', "a row has not as many cells as the head"),
    (table([("a", (1, 1, 1), (1, 1, 1), dict.fromkeys(COUNTERS, 1))]).replace("(1, 1, 1)", "1"),
     "no size: 1"),
])
def test_a_file_that_is_none_of_ncu(profile, tmp_path, text, message):
    if text is not None:
        (tmp_path / "a.csv").write_text(text)
    assert message in profile("rmsnorm", *SHAPE, "--counters", "a.csv", code=2).stderr


# ---- ncu ----------------------------------------------------------------------------------------

NCU = """#!/bin/sh
echo "$*" >>"$0.words"
while [ "${1##*/}" != prenorm ]; do
  [ "$1" != --log-file ] || log=$2
  shift
done
"$@" || { echo "==ERROR== The application returned an error code ($?)." >"$log"; exit 1; }
"""


@pytest.fixture
def device(home, tmp_path):
    """device(csv, ...): the environment with a driver that is none, a device's cuda-naive whose kernels
    run on the host, and an ncu that runs its application and writes that file."""
    def call(csv=None, end="", driver=True):
        rehearsed = home / "tests/rehearsal"
        own = make_home(tmp_path / "home", home,
                        **{"cuda-naive": rehearsed / "libprenorm_cuda-naive.so"})
        for name in ("counted", "libprenorm_cuda-emulated.so", "libprenorm_cuda-naive-emulated.so"):
            (own / "lib/prenorm" / name).symlink_to(home / "lib/prenorm" / name)
        for name in ("bench", "fixtures", "profile"):
            (own / "share/prenorm" / name).symlink_to(home / "share/prenorm" / name)
        ncu = tmp_path / "ncu"
        ncu.write_text(NCU + (f'cp {csv} "$log"\n' if csv else "") + end)
        ncu.chmod(0o755)
        return {"PRENORM_HOME": own, "PRENORM_NCU": ncu, "PRENORM_CUDA_DRIVER":
                rehearsed / "libfake_cuda_at_once.so" if driver else "/no/such/driver.so"}
    return call


def test_ncu_runs_around_the_same_call(profile, written, device, tmp_path):
    there = device(written(1.01))
    done = profile("rmsnorm", *SHAPE, "--seed", 3, **there)
    report = json.loads(profile("rmsnorm", *SHAPE, "--seed", 3, "--json", "-", **there).stdout)
    assert done.stderr == "" and report["counters_of"] == "Fake Device 1"
    assert "device: counters of Fake Device 1;" in done.stdout
    known = {row["solution"]: row["kernels"][0]["device_counters"] for row in report["rows"]}
    assert known["cuda-naive-emulated"]["load_sectors"] > 1e5
    assert known["cuda-emulated"] is None  # of that home no device has a solution `cuda`
    words = (tmp_path / "ncu.words").read_text().splitlines()
    assert len(words) == 2
    assert words[0].startswith("--csv --page raw --print-units base --print-kernel-base mangled "
                               "--target-processes application-only --clock-control none --metrics ")
    assert words[0].endswith("/prenorm profile rmsnorm --shape rmsnorm --dtype float32 "
                             "--solution cuda-naive --seed 3 --only-call")


def test_ncu_at_a_case(rows, written, device, tmp_path):
    rows("rmsnorm", "--case", "by_hand_float32", "--solution", "cuda-naive-emulated",
         **device(written()))
    assert " --case by_hand_float32 --dtype float32 " in (tmp_path / "ncu.words").read_text()


def test_ncu_that_may_not_count_is_told_once(profile, device, tmp_path):
    there = device(end='echo "==ERROR== ERR_NVGPUCTRPERM: no permission" >"$log"; exit 1\n')
    words = ("rmsnorm", "--solution", "cuda-naive-emulated")
    done = profile(*words, **there)
    assert done.stderr == ("prenorm: ncu, cuda-naive at rmsnorm: ERR_NVGPUCTRPERM: no permission; no "
                           "counters of the device\n")
    assert len((tmp_path / "ncu.words").read_text().splitlines()) == 1 and "device:" not in done.stdout
    done = profile(*words, "--counters", "ncu", code=2, **there)
    assert "ERR_NVGPUCTRPERM: no permission" in done.stderr


def test_a_launch_that_ncu_did_not_see_is_told(profile, device):
    done = profile("rmsnorm", *SHAPE, **device(end='echo "no kernel was seen"\n'))
    assert "cuda-naive at rmsnorm: no kernel was seen; no counters" in done.stderr


def test_left_out_or_not_there(profile, written, device, tmp_path):
    there = device(written())
    profile("rmsnorm", *SHAPE, "--counters", "none", **there)
    assert not (tmp_path / "ncu.words").exists()
    without = {**there, "PRENORM_CUDA_DRIVER": "/no/such/driver.so"}
    assert profile("rmsnorm", *SHAPE, **without).stderr == ""
    assert not (tmp_path / "ncu.words").exists()
    asked = ("rmsnorm", *SHAPE, "--solution", "cuda-naive-emulated", "--counters", "ncu")
    assert "--counters ncu: cuda-naive: " in profile(*asked, code=2, **without).stderr
    alone = {**there, "PRENORM_NCU": "", "PATH": "/nowhere"}
    assert "there is no ncu" in profile(*asked, code=2, **alone).stderr


def test_only_call_says_nothing_but_what_fails(profile):
    done = profile("rmsnorm", *SHAPE, "--solution", "cuda-emulated", "--only-call")
    assert done.stdout == done.stderr == ""
    assert "goes with --solution" in profile("rmsnorm", "--only-call", code=2).stderr
    done = profile("rmsnorm", *SHAPE, "--solution", "cuda-emulated/v7", "--only-call", code=3)
    assert "no function prenorm_rmsnorm__v7" in done.stdout


# ---- records of devices -------------------------------------------------------------------------

def differences(rows):
    """Where a device's counts and those here are further apart than agreed, a line each; and of how
    many kernels they are. The device's memory reads what a kernel reads, for ncu empties the caches
    before; what is written, by these kernels once, may stay in one."""
    found, known = [], 0
    for row in rows:
        for kernel in row["kernels"]:
            device = kernel["device_counters"]
            if device is None:
                continue
            known += 1
            wanted = as_counted(kernel)
            counts = {name: (device[name], wanted[name]) for name in wanted
                      if not name.startswith("dram")}
            counts["dram bytes read"] = (device["dram_bytes_read"],
                                         kernel["least_bytes"] - kernel["store"]["bytes"])
            found += [f"{row['shape']}, {kernel['kernel']}: {name} {there:.0f}, here {here}"
                      for name, (there, here) in counts.items()
                      if abs(there - here) > AGREEMENT * here]
    return found, known


def test_a_difference_is_found(rows, written):
    assert differences(rows("rmsnorm", *SHAPE, "--counters", written(1.04))) == ([], 3)
    found, known = differences(rows("rmsnorm", *SHAPE, "--counters", written(1.06)))
    assert known == 3 and len(found) == 3 * 5 and "dram bytes" in " ".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_devices_count_what_is_counted_here(rows, path):
    shapes = [word for shape in RECORDED for word in ("--shape", shape)]
    found, known = differences(rows("*", *shapes, "--dtype", "bfloat16", "--solution", "cuda-emulated",
                                    "--counters", path))
    assert not found, "\n".join(found)
    assert known >= len(RECORDED)
