"""Wrong words, help, and the program without /proc."""

import json
import os
import re
import shutil
import subprocess

import pytest

from centred import GOOD, SIGNATURE
from places import ROOT


@pytest.mark.parametrize("words, message", [
    (["verfy"], "did you mean 'verify'"),
    (["verify", "--problme", "centred"], "no option '--problme' (did you mean '--problem'?)"),
    (["new", "--langauge=cuda"], "no option '--langauge' (did you mean '--language'?)"),
    (["fixtures", "check", "--nonsense"], "no option '--nonsense'; prenorm fixtures check --help"),
    (["verify", "--solution", "--problme"], "no solution --problme"),
    (["verify", "--fixtures", "nowhere.h5"], "no file or folder nowhere.h5"),
    (["verify", "--fixtures", "good.h5", "--problem", "centered"], "did you mean 'centred'"),
    (["verify", "--fixtures", "good.h5", "--case", "batch23"], "did you mean 'batch32'"),
    (["verify", "--fixtures", "good.h5", "--dtype", "float23"], "did you mean 'float32'"),
    (["verify", "--fixtures", "good.h5", "--solution", "refrence"], "did you mean 'reference'"),
    (["verify", "--fixtures", "good.h5", "--solution", "./absent.so"], "absent.so"),
    (["verify", "--fixtures", "good.h5", "--jobs", "0"], "--jobs"),
    (["verify", "--fixtures", "good.h5", "--timeout", "0"], "'0' must be a positive number"),
    (["verify", "--fixtures", "good.h5", "--timeout", "nan"], "'nan' must be a positive number"),
    (["verify", "--fixtures", "good.h5", "--seed", "-1"], "'-1' must be a non-negative integer"),
    (["verify", "--fixtures", "good.h5", "--json", "-", "--html", "-"], "one report only"),
    (["verify", "--fixtures", "good.h5", "--only-failing"], "--save"),
    (["verify", "--fixtures", "good.h5", "--json", "no/such/folder.json"], "cannot write"),
    (["verify", "--fixtures", "good.h5", "--seed", "1", "--record", "new"], "--record"),
    (["profile", "centred", "--fixtures", "good.h5", "--json", "-", "--html", "-"], "one report only"),
    (["emulate", "good.h5", "--html", "-", "--svg", "-"], "one report only"),
    (["show", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["show"], "PROBLEM"),
    (["diff", "good.h5"], "B"),
    (["diff", "nowhere.h5", "good.h5"], "no file nowhere.h5"),
    (["fixtures"], "subcommand"),
    (["fixtures", "chek"], "did you mean 'check'"),
    (["mistakes", "--problem", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["fixtures", "check", "nowhere.h5"], "nowhere.h5"),
    (["fixtures", "make", "good.h5", "--out", "fresh"], "--seed"),
    (["fixtures", "make", "good.h5", "./good.h5", "--seed", "1", "--out", "fresh"],
     "good.h5 and ./good.h5 would both be written as centred.h5"),
    (["mistakes", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["mistakes", "--fixtures", "good.h5", "--solution", "mistake"], "did you mean 'mistakes'"),
    (["test"], "./prenorm"),
])
def test_a_wrong_word_is_told_in_one_line(prenorm, good, words, message):
    assert message in prenorm(*words, code=2)
    assert os.listdir(good.parent) == [good.name]


def test_no_command_shows_help(run):
    assert "verify" in run(code=2).stderr


COMMANDS = ["verify", "list", "show", "mistakes", "diff", "doctor", "gradescope", "watch", "hint",
            "profile", "emulate", "grade", "fixtures", "fixtures make", "fixtures check",
            "fixtures calibrate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(prenorm, command):
    out = prenorm(*command.split(), "--help")
    assert "Example" in out and f"prenorm {command}" in out
    assert all(len(line) <= 110 for line in out.splitlines()), out


@pytest.mark.parametrize("command", ["", "bench", "gradebook"])
def test_help_is_the_same_in_every_terminal(run, command):
    [out] = {run(*command.split(), "--help", COLUMNS=columns).stdout for columns in (40, 80, 200, None)}
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert all(line.startswith("  prenorm ") for line in wide), wide  # an example, to be copied


def test_help_lists_what_there_is(prenorm):
    out = prenorm("--help")
    for command in COMMANDS[:11]:
        assert re.search(rf"^  {command} ", out, re.M)
    assert prenorm("--version").startswith("prenorm ")


def test_the_version_is_the_projects(prenorm):
    version = re.search(r"project\(prenorm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert prenorm("--version") == f"prenorm {version[1]}\n"


def test_a_home_that_cannot_be_found(program, own_home, good):
    """Without /proc the program cannot see where it stands; told by PRENORM_HOME, it works."""
    if not shutil.which("bwrap"):
        pytest.skip("there is no bwrap")
    sandbox = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/proc", "--tmpfs", "/dev/shm"]
    if subprocess.run([*sandbox, "true"], capture_output=True).returncode != 0:
        pytest.skip("bwrap may not make user namespaces")
    words = [program, "verify", "--fixtures", good, "--solution", "reference"]
    environment = {k: v for k, v in os.environ.items() if k != "PRENORM_HOME"}
    lost = subprocess.run(sandbox + words, capture_output=True, text=True, env=environment)
    assert lost.returncode == 2 and "set PRENORM_HOME" in lost.stderr
    told = subprocess.run(sandbox + words, capture_output=True, text=True,
                          env={**environment, "PRENORM_HOME": str(own_home)})
    assert told.returncode == 0 and "PASSED 4/4" in told.stdout, told.stderr


# `prenorm list`, `prenorm show`, `prenorm doctor`.


def test_list(prenorm, good):
    out = prenorm("list", "--fixtures", good)
    assert re.search(r"^centred +4 +f64 f32 f16 +- +reference, cuda-emulated, fast, honest \(1\), "
                     r"mistakes \(3\), plain$", out, re.M)


def test_list_with_a_bad_file(prenorm, good, bad):
    out = prenorm("list", "--fixtures", good, "--fixtures", bad, code=2)
    assert "BAD_FIXTURE" in out and "centred" in out
    assert "1 problem, 4 cases" in out


def test_list_in_json(prenorm, good, bad, tmp_path):
    report = json.loads(prenorm("list", "--fixtures", good, "--fixtures", bad, "--json", "-", code=2))
    assert (report["version"], report["command"], report["rubric"]) == (1, "list", None)
    assert report["environment"]["program"].startswith("prenorm ")
    listed, unusable = report["problems"]
    assert listed == {"problem": "centred", "fixture": str(good), "message": "", "cases": 4,
                      "dtypes": ["float64", "float32", "float16"], "item": None, "points": None,
                      "solutions": ["reference", "cuda-emulated", "fast", "honest/reversed", "mistakes/no_bias",
                                    "mistakes/no_scale", "mistakes/sum_for_mean", "plain"]}
    assert (unusable["problem"], unusable["fixture"], unusable["solutions"]) == (None, str(bad), [])
    assert str(bad) in unusable["message"]
    (tmp_path / "points.toml").write_text(
        'title = "x"\n[[items]]\nname = "whole"\nproblems = ["centred"]\npoints = 2.5\n'
        '[[groups]]\nname = "all"\nshare = 1\n')
    table = prenorm("list", "--fixtures", good, "--rubric", "./points.toml", "--json", "list.json")
    [row] = json.loads((tmp_path / "list.json").read_text())["problems"]
    assert (row["item"], row["points"]) == ("whole", 2.5) and "2.5 in whole" in table


def test_show_in_json(prenorm, good, wrong, tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda/centring.cu").write_text("PRENORM_CUDA_EXPORT(centred, f, g)\n")
    report = json.loads(prenorm("show", "centred", "--fixtures", good, "--json", "-"))
    assert {key: report[key] for key in ("version", "command", "problem", "signature", "function", "source", "oracle",
                                         "fixture", "reference", "cuda", "notebook", "devices")} == {
        "version": 1, "command": "show", "problem": "centred", "signature": SIGNATURE,
        "function": "int prenorm_centred(const prenorm_call*)", "source": "made up for this test", "oracle": "",
        "fixture": str(good), "reference": None, "cuda": "cuda/centring.cu:1", "notebook": None, "devices": []}
    assert "mistakes/no_bias" in report["solutions"]
    cases = {case["name"]: case for case in report["cases"]}
    assert set(cases) == set(GOOD)
    assert cases["refused"]["error"] == "scale must be above 0" and cases["refused"]["outputs"] == []
    [output] = cases["batch32"]["outputs"]
    assert cases["batch32"] == {
        "name": "batch32", "dtype": "float32", "description": "a case", "error": None, "dims": [],
        "scalars": {"scale": 2.5}, "inputs": [
            {"name": "x", "dtype": "float32", "shape": [3, 8], "draw": "normal(0,1)"},
            {"name": "bias", "dtype": "float32", "shape": [8], "draw": "normal(0,1)"}], "outputs": [output]}
    assert output == {"name": "y", "dtype": "float32", "shape": [3, 8], "atol": 2.0**-19, "rtol": 2.0**-21, "rms": None,
                      "bias": None, "atol_tf32": None, "rtol_tf32": None, "reason": ""}
    assert prenorm("show", good, "--json", "show.json") == prenorm("show", good)
    assert json.loads((tmp_path / "show.json").read_text()) == report


def test_show(prenorm, good, tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/centred.hpp").write_text(
        "// centred(x) in a comment\ntemplate <class T>\nTensor<T> centred(const Tensor<T>& x);\n")
    (tmp_path / "notebooks").mkdir()
    assert "notebook" not in prenorm("show", "centred", "--fixtures", good)
    (tmp_path / "notebooks/centred.ipynb").touch()
    out = prenorm("show", "centred", "--fixtures", good)
    assert re.search(r"^notebook +notebooks/centred.ipynb$", out, re.M)
    assert "x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]" in out
    assert "made up for this test" in out
    assert "reference/centred.hpp:3" in out
    assert "mistakes/no_bias" in out
    for name in GOOD:
        assert name in out
    assert "x[3, 8] bias[8]; scale=2.5 -> y[3, 8]" in out
    assert "must be refused: scale must be above 0" in out
    assert "|y - e| <= " in out
    out = prenorm("show", good, "--case", "batch*")
    assert "batch16" in out and "single64" not in out


def test_doctor(prenorm, good, own_home):
    out = prenorm("doctor", code=1)
    assert "MISSING" in out and "fixtures" in out  # this home ships none
    shipped = own_home / "share/prenorm/fixtures/centred.h5"
    shutil.copy(good, shipped)
    try:
        out = prenorm("doctor")
    finally:
        shipped.unlink()
    for what in ("C++ compiler", "HDF5", "BLAS", "CUDA device", "sandbox", "cores", "memory",
                 "solution reference", "fixtures"):
        assert what in out, what
    assert re.search(r"HDF5 +ok +libhdf5 \d+\.\d+\.\d+\n", out)


def test_doctor_asks_quietly_for_what_is_not_there(prenorm, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    out, error = prenorm("doctor", code=1, both=True, PATH=str(tmp_path / "bin"))
    assert error == "" and re.search(r"nvcc +none", out) and re.search(r"sandbox process +", out)
