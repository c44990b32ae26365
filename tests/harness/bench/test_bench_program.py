# slow labels: unit
"""`prenorm bench` from outside, at shapes of a few hundred elements. No test asserts on a time."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

import h5
from conftest import folder, make_home
from places import ROOT

PEER = ROOT / "harness/bench/peers/pytorch.py"
SHIPPED = ROOT / "harness/bench/shapes.json"
SMALL = 6  # of every dimension but these
SIZES = {"d_k": 4, "d_model": 8, "vocab_size": 11, "columns": 9, "d_qkv": 24}


def entry(name, **changes):
    """RMSNorm of 6 rows of 8."""
    return {"name": name, "problem": "rmsnorm", "set": "cpu", "model": "none",
            "dtypes": ["float32"], "dims": {"rows": 6, "d_model": 8},
            "inputs": {"x": "[rows, d_model] ~ normal(0, 1)",
                       "weight": "[d_model] ~ normal(1, 0.1)"},
            "bytes": "io", "flops": "4*rows*d_model", **changes}


def roof():
    """Large enough that its rate is far above that of the small ones, whatever the noise."""
    return entry("roof", dims={"rows": 512, "d_model": 256}, product_ceiling=True)


@pytest.fixture
def shapes(tmp_path):
    def write(*entries):
        path = tmp_path / "shapes.json"
        path.write_text(json.dumps({"format": "prenorm-shapes", "version": 1,
                                    "shapes": list(entries)}))
        return path
    return write


@pytest.fixture
def bench(run):
    """bench(words..., code=0, problems=...): with the fixtures of these problems, None: of all. To
    read all of them takes longer than to time a small shape."""
    def call(*words, code=0, problems=("relu", "rmsnorm")):
        chosen = [ROOT / "fixtures"]
        if problems is not None:
            chosen = [ROOT / "fixtures" / f"{problem}.h5" for problem in problems]
        fixtures = [word for path in chosen for word in ("--fixtures", path)]
        return run("bench", *fixtures, "--samples", "2", *words, code=code)
    return call


@pytest.fixture
def timed(bench, tmp_path):
    """The report in JSON of the same."""
    def call(*words, **more):
        bench(*words, "--json", tmp_path / "out.json", **more)
        return json.loads((tmp_path / "out.json").read_text())
    return call


def small_entries():
    """The shipped entries, one a problem and kind of mask, at a few elements each."""
    entries, seen = [], set()
    for shipped in json.loads(SHIPPED.read_text())["shapes"]:
        kind = (shipped["problem"], shipped["inputs"].get("mask", ""))
        if kind in seen:
            continue
        seen.add(kind)
        small = {**shipped, "set": "cpu", "dtypes": ["float32", "bfloat16"],
                 "dims": {name: SIZES.get(name, SMALL) for name in shipped["dims"]}}
        if "num_heads" in shipped.get("scalars", {}):
            small["scalars"] = {**shipped["scalars"], "num_heads": 2}
        small.pop("product_ceiling", None)
        entries.append(small)
    return entries


def multihead_entries():
    """What no shipped entry has: projections in one product, and positions of each sequence."""
    square = "[d_model, d_model] ~ normal(0, 0.3)"
    common = {"dtypes": ["float32"], "flops": "1",
              "dims": {"batch": 3, "seq": 5, "d_model": 8, "d_qkv": 24}}
    x = {"x": "[batch, seq, d_model] ~ normal(0, 1)"}
    return [entry("fused", problem="multihead_self_attention_fused_qkv", scalars={"num_heads": 2},
                  inputs={**x, "w_qkv": "[d_qkv, d_model] ~ normal(0, 0.3)", "w_o": square},
                  **common),
            entry("positions", problem="multihead_self_attention_with_rope",
                  inputs={**x, **dict.fromkeys(["w_q", "w_k", "w_v", "w_o"], square),
                          "token_positions": "[batch, seq] ~ integer(0, 40)"},
                  scalars={"num_heads": 2, "max_seq_len": 40}, **common)]


def test_progress_where_there_is_no_terminal(run, shapes):
    error = run("bench", "--fixtures", ROOT / "fixtures/rmsnorm.h5", "--shapes", shapes(entry("first")), "--solution",
                "reference", "--samples", 2, "--threads", 1, code=0, PRENORM_PROGRESS_SECONDS=0).stderr
    assert re.findall(r"^prenorm: \[1/1\] first.*", error, re.M) and error.endswith(", 2 of 2\n"), error


def test_a_run_from_end_to_end(bench, shapes, tmp_path):
    file = shapes(entry("first"), entry("second", dtypes=["float64", "bfloat16"]),
                  roof())
    out, picture = tmp_path / "out.json", tmp_path / "out.svg"
    done = bench("--shapes", file, "--solution", "reference", "--threads", 1, "--json", out,
                 "--svg", picture)
    assert done.stderr == ""
    assert "ceilings (CPU, 1 thread): copy" in done.stdout
    report = json.loads(out.read_text())
    assert report["threads"] == 1 and report["summary"] == {"ok": 4, "failed": 0, "skipped": 0}
    assert [(row["shape"], row["dtype"]) for row in report["rows"]] == [
        ("roof", "float32"), ("first", "float32"), ("second", "float64"), ("second", "bfloat16")]
    for row in report["rows"]:
        assert row["status"] == "OK" and row["contestant"] == "reference"
        assert len(row["samples"]) == row["seconds"]["samples"] == 2
        assert 0 < row["seconds"]["min"] <= row["seconds"]["median"] <= row["seconds"]["max"]
        assert row["bytes_per_second"] == pytest.approx(row["bytes"] / row["seconds"]["median"])
    assert [row["flops"] for row in report["rows"]] == [4 * 512 * 256, 4 * 48, 4 * 48, 4 * 48]
    assert report["rows"][3]["bytes"] == 2 * (48 + 8 + 48)
    circles = [e for e in xml.etree.ElementTree.parse(picture).iter() if e.tag.endswith("circle")]
    assert len(circles) == 4


@pytest.mark.slow
def test_rows_are_written_as_lines_as_they_are_measured(bench, shapes, tmp_path):
    out, lines = tmp_path / "out.json", tmp_path / "out.jsonl"
    file = shapes(entry("first"), entry("second", dtypes=["float64", "bfloat16"]), roof())
    words = ["--shapes", file, "--solution", "reference", "--solution", "plain"]
    bench(*words, "--json", out, "--json-lines", lines)
    head, *rows, last = map(json.loads, lines.read_text().splitlines())
    report = json.loads(out.read_text())
    assert head["command"] == "bench" and head["environment"] == report["environment"]
    assert head["ceilings"]["cpu"]["copy_bytes_per_second"] > 0
    assert last["ceilings"] == report["ceilings"] and "rows" not in last
    assert [{**row, "share": None} for row in rows] == [
        {**row, "share": None} for row in report["rows"]]
    assert "--json-lines needs a file, not standard output" in bench(*words, "--json-lines", "-", code=2).stderr


@pytest.mark.slow
def test_a_run_that_ends_early_leaves_the_lines_that_it_wrote(bench, shapes, twice, tmp_path):
    """The second shape's solution, in this process, ends it."""
    lines = tmp_path / "out.jsonl"
    file = shapes(entry("first"), entry("second", problem="twice",
                                        inputs={"x": "[rows, d_model] ~ normal(0, 1)"}))
    misbehaving = folder("PRENORM_TEST_SOLUTIONS") / "libmisbehaving.so/exits_at_once"
    bench("--shapes", file, "--fixtures", twice, "--json-lines", lines, "--in-process",
          "--solution", "reference", "--solution", misbehaving, "--set", "cpu", code=3)
    head, *rows = map(json.loads, lines.read_text().splitlines())
    assert head["command"] == "bench"
    assert [(row["shape"], row["status"]) for row in rows] == [
        ("first", "OK"), ("first", "NOT_IMPLEMENTED")]


def test_solutions_are_loaded_into_the_program(timed, shapes):
    report = timed("--shapes", shapes(entry("first")), "--in-process")
    assert [row["status"] for row in report["rows"]] == ["OK"]


@pytest.mark.slow
def test_the_ceiling_is_measured_where_it_is_not_selected(timed, shapes):
    report = timed("--shapes", shapes(roof(), entry("other")), "--shape", "other")
    assert [row["shape"] for row in report["rows"]] == ["other"]
    assert report["ceilings"]["cpu"]["product_flops_per_second"]["float32"] > 0


@pytest.mark.slow
def test_shapes_are_timed_in_the_order_of_the_options(timed, shapes):
    file = shapes(entry("a_1"), entry("b_1"), entry("b_2"), entry("c_1"))
    report = timed("--shapes", file, "--shape", "c*", "--shape", "b*", "--shape", "*_1")
    assert [row["shape"] for row in report["rows"]] == ["c_1", "b_1", "b_2", "a_1"]


@pytest.mark.slow
def test_by_default_fast_is_timed_at_shapes_for_the_cpu(timed, shapes):
    file = shapes(entry("here"), entry("there", set="device"))
    row, = timed("--shapes", file)["rows"]
    assert (row["shape"], row["contestant"]) == ("here", "fast")
    row, = timed("--shapes", file, "--solution", "reference", "--set", "device")["rows"]
    assert row["shape"] == "there"


def test_a_wrong_solution_has_no_time(bench, shapes, tmp_path):
    out = tmp_path / "out.json"
    done = bench("--shapes", shapes(entry("first")), "--json", out, "--solution", "reference",
                 "--solution", "mistakes/no_gain", code=1)
    assert "WRONG  first float32 by mistakes/no_gain: y: " in done.stdout
    right, wrong = json.loads(out.read_text())["rows"]
    assert right["status"] == "OK" and right["ratios"] == {}
    assert wrong["status"] == "WRONG" and wrong["seconds"] is None


@pytest.mark.slow
def test_a_time_that_cannot_be_is_an_error(bench, shapes, tmp_path):
    out = tmp_path / "out.json"
    # A byte count that no machine moves in the time of a call.
    done = bench("--shapes", shapes(entry("first", bytes="1e18")), "--json", out, code=1)
    assert "IMPOSSIBLE  first float32 by fast" in done.stdout
    assert json.loads(out.read_text())["rows"][0]["seconds"] is None


@pytest.mark.slow
def test_nothing_to_time(bench, shapes):
    file = shapes(entry("first", problem="relu", inputs={"x": "[rows, d_model] ~ normal(0, 1)"}))
    done = bench("--shapes", file, "--solution", "mistakes/no_gain", code=3)
    assert "nothing was timed" in done.stdout
    assert "nothing was timed" in bench("--shapes", file, "--set", "device", code=3).stdout


def test_what_cannot_be_used_is_told_in_a_line(bench, shapes, tmp_path):
    for changes, words, what in [
            ({}, ["--shapes", tmp_path / "none.json"], "cannot be read"),
            ({"problem": "rmsnor"}, [], "no problem 'rmsnor'"),
            ({"flops": "depth"}, [], "shapes.json: first: 'depth'"),
            ({"inputs": {"x": "[rows, d_model] ~ normal(0, sigma)",
                         "weight": "[d_model] ~ normal(1, 0.1)"}}, [], "'sigma': the bound is"),
            ({"colour": "red"}, [], "shapes.json: first: unknown key 'colour'"),
            ({}, ["--shape", "frist"], "did you mean 'first'?"),
            ({}, ["--problem", "softmax"], "no problem 'softmax' among the shapes"),
            ({}, ["--dtype", "float16"], "no dtype 'float16' among the shapes"),
            ({}, ["--solution", "referense"], "did you mean 'reference'?"),
            ({}, ["--pytorch", tmp_path / "no-python"], "no-python"),
            ({}, ["--pytorch", "/bin/false"], "peer /bin/false: exit code 1"),
            ({}, ["--compare"], "go with --pytorch"),
            ({}, ["--peer", SHIPPED], "shapes.json: "),
            ({}, ["--json", "-", "--svg", "-"], "one report only"),
            ({}, ["--threads", "0"], "--threads"),
    ]:
        if "--shapes" not in words:
            words = ["--shapes", shapes(entry("first", **changes)), *words]
        done = bench(*words, code=2)
        assert what in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_list_times_nothing(bench):
    done = bench("--list", "--problem", "rope", problems=None)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["shape", "problem", "dtype", "set", "inputs", "model"]
    assert len(lines) == 2 + 5 and "token_positions[256]" in done.stdout
    shipped = json.loads(SHIPPED.read_text())["shapes"]
    every = bench("--list", problems=None).stdout.splitlines()
    assert len(every) == 2 + sum(len(each["dtypes"]) for each in shipped)


needs_proc = pytest.mark.skipif(not Path("/proc/cpuinfo").exists(),
                                reason="there is no /proc here, by which peers find tensors")


@needs_proc
@pytest.mark.slow  # it starts PyTorch several times
def test_pytorch_computes_what_fast_does(bench, shapes, tmp_path):
    # Also the check of the peer: its outputs are compared with those of `fast`, as anybody's are.
    out = tmp_path / "out.json"
    file = shapes(*small_entries(), *multihead_entries())
    done = bench("--shapes", file, "--pytorch", sys.executable, "--compare", "--json", out,
                 problems=None)
    report = json.loads(out.read_text())
    peers = [row for row in report["rows"] if row["peer"]]
    assert len(peers) * 2 == len(report["rows"])
    for row in report["rows"]:
        # Half precision of older PyTorch keeps its sums in it; no such case is here.
        assert row["status"] == "OK", row
        assert len(row["ratios"]) == 1
    assert peers[0]["contestant"].startswith("pytorch ") and " eager" in done.stdout
    assert report["compare"]["elements"] == 10_000_000


FAKE_PEER = '''#!{python}
"""Says what a peer with backends says; computes RMSNorm."""
import json, socket, struct, sys
import numpy as np

connection = socket.socket(fileno=3)

def answer(value):
    text = json.dumps(value).encode()
    connection.sendall(struct.pack("<I", len(text)) + text)

answer({{"name": "fake 1", "threads": 1,
        "variants": {{"eager": None, "flash": ["rmsnorm"], "other": ["softmax"]}}}})
while length := connection.recv(4):
    request = json.loads(connection.recv(struct.unpack("<I", length)[0]))
    if request["variant"] != "eager":
        answer({{"absent": "no gains, please"}})
        continue
    x, weight = (np.fromfile(request["inputs"][name]["file"], "f4")
                 .reshape(request["inputs"][name]["shape"]) for name in ("x", "weight"))
    mean = (x.astype("f8") ** 2).mean(-1, keepdims=True)
    y = x / np.sqrt(mean + request["scalars"]["eps"]) * weight
    y.astype("f4").tofile(request["outputs"][0]["file"])
    answer({{"seconds": 1.0, "note": "takes flash"}})
'''


@pytest.mark.slow
@needs_proc
def test_what_a_peer_says_is_shown(bench, shapes, tmp_path):
    peer, out = tmp_path / "peer", tmp_path / "out.json"
    peer.write_text(FAKE_PEER.format(python=sys.executable))
    peer.chmod(0o755)
    done = bench("--shapes", shapes(roof(), entry("first"), entry("second")), "--pytorch", peer,
                 "--json", out)
    first, = [line for line in done.stdout.splitlines() if line.startswith("first")]
    assert first.endswith("0.00 takes flash  -"), first
    lines = [line for line in done.stdout.splitlines() if " does not take " in line]
    assert lines == ["fake 1 flash does not take roof float32, first float32, second float32: "
                     "no gains, please"]
    rows = {(row["shape"], row["contestant"]): row for row in json.loads(out.read_text())["rows"]
            if row["peer"]}
    # The other is for softmax.
    assert {name for _, name in rows} == {"fake 1 eager", "fake 1 flash"}
    assert rows["first", "fake 1 eager"]["note"] == "takes flash"
    flash = rows["first", "fake 1 flash"]
    assert (flash["status"], flash["message"]) == ("NOT_IMPLEMENTED", "no gains, please")


@pytest.mark.slow
@needs_proc
def test_what_the_peer_makes_of_draws_and_warnings():
    code = f"""
import sys, warnings
sys.path.insert(0, {str(PEER.parent)!r})
import pytorch
tensor = {{"shape": [1, 5, 5], "draw": "block_diagonal(2)", "dtype": "bool"}}
mask = pytorch.draw_input(tensor, {{}}, None)
assert mask.int().tolist() == [[[1, 1, 0, 0, 0]] * 2 + [[0, 0, 1, 1, 1]] * 3]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert pytorch.refusal(caught) == "this backend takes no such call"
    for text in ["Flash attention kernel not used because: (Triggered internally at a.cpp:1.)",
                 "Flash Attention does not support masks. (Triggered internally at a.cpp:2.)",
                 "Flash Attention does not support masks. (Triggered internally at a.cpp:2.)",
                 "CuDNN attention has been runtime disabled. (Triggered internally at a.cpp:3.)"]:
        warnings.warn(text)
assert pytorch.refusal(caught) == "Flash Attention does not support masks."
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def run_peer(*words):
    done = subprocess.run([sys.executable, PEER, *map(str, words)], capture_output=True, text=True,
                          timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr


@needs_proc
@pytest.mark.slow  # it starts PyTorch several times
def test_a_peers_own_run_is_read(timed, shapes, tmp_path):
    """It has all that must fit the run, or would be refused (test_bench.cpp)."""
    peer = tmp_path / "peer.json"
    file = shapes(*small_entries())
    run_peer("--shapes", file, "--threads", 1, "--samples", 2, "--out", peer)
    rows = timed("--shapes", file, "--threads", 1, "--peer", peer, problems=None)["rows"]
    assert all(row["status"] == "OK" for row in rows)
    assert all(len(row["ratios"]) == 1 for row in rows if not row["peer"])


@pytest.fixture
def twice(tmp_path):
    """The fixture file of y = 2 x."""
    path = tmp_path / "twice.h5"
    with h5.create(path, "twice", "x[...] -> y[...]") as file:
        case = h5.add_case(file, "one")
        h5.add_input(case, "x", [1.0], "float64")
        h5.add_output(case, "y", [2.0], "float64")
    return path


@pytest.fixture
def on_device(run, home, twice, tmp_path):
    """bench with y = 2 x on the driver of fake_cuda_driver.cpp; `fast` is on the host."""
    solutions = folder("PRENORM_TEST_SOLUTIONS")
    library = solutions / "libon_device.so"
    own = make_home(tmp_path / "home", home, fast=solutions / "libmisbehaving.so",
                    device=library)

    # Moving a byte takes no time: the fake's caches are warm.
    def doubling(name, **changes):
        return entry(name, problem="twice", inputs={"x": "[rows, d_model] ~ normal(0, 1)"},
                     bytes="1", flops="0", **changes)
    file = tmp_path / "shapes.json"
    file.write_text(json.dumps({"format": "prenorm-shapes", "version": 1, "shapes": [
        doubling("here"), doubling("there", set="device")]}))

    def call(*words, code=0, driver="libfake_cuda.so"):
        done = run("bench", "--fixtures", twice, "--shapes", file, "--samples", "2",
                   "--threads", "1", "--json", tmp_path / "out.json", *words, code=code,
                   PRENORM_HOME=own, PRENORM_CUDA_DRIVER=solutions / driver)
        return done.stdout + done.stderr, json.loads((tmp_path / "out.json").read_text() or "{}")
    call.library = library
    return call


@pytest.mark.slow
def test_a_solution_of_a_device_is_timed_there(on_device):
    _, report = on_device()
    assert [(row["shape"], row["contestant"], row["place"]) for row in report["rows"]] == [
        ("here", "fast", "cpu"), ("there", "device", "device")]
    out, report = on_device("--solution", f"{on_device.library}/sleeps")
    row, = report["rows"]
    assert (row["shape"], row["place"], row["status"]) == ("there", "device", "OK")
    # Between two events of the stream: the function itself returns at once.
    assert min(row["samples"]) > 0.02
    assert report["ceilings"]["device"]["copy_bytes_per_second"] > 0
    assert "ceilings (device): copy " in out
    # Side by side each keeps its own place, and they are rivals.
    _, report = on_device("--solution", "fast", "--solution", "device", "--set", "cpu")
    assert [(row["shape"], row["contestant"], row["place"], list(row["ratios"]))
            for row in report["rows"]] == [("here", "fast", "cpu", ["device"]),
                                           ("here", "device", "device", ["fast"])]


@pytest.mark.slow
def test_what_goes_wrong_on_a_device_is_told(on_device):
    for variant, what in [("wrong", "WRONG"), ("faults", "an illegal memory access was encounter"),
                          ("unwritten", "WRONG"), ("refuses", "not to my taste")]:
        out, report = on_device("--solution", f"{on_device.library}/{variant}", code=1)
        assert what in out and report["rows"][0]["seconds"] is None
    # The caches are emptied before each call: y[1] is the number of bytes that were written for it,
    # 32 MiB for the copy's ceiling, 4 MiB for what is read, once, and 4 MiB per call: three calls
    # with those that are not timed.
    out, _ = on_device("--solution", f"{on_device.library}/tells", code=1)
    assert str((32 + 4 + 3 * 4) << 20) in out, out
    out, _ = on_device("--solution", "device", code=2, driver="libfake_cuda_without_device.so")
    assert "device: no CUDA device" in out


def test_help_says_what_it_does(bench):
    text = bench("--help").stdout
    for word in ["--pytorch", "--peer", "--samples", "--svg", "IMPOSSIBLE", "Exit code"]:
        assert word in text
