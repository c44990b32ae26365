"""`prenorm fixtures`: calibrate, make, check."""

import math
import re

import h5
import h5py
import numpy as np
import oracle
import pytest

from centred import GOOD, centred, make_file
from conftest import folder


@pytest.fixture
def loops():
    """Solutions of `centred` that do not work in float32, a variant each."""
    return folder("PRENORM_TEST_SOLUTIONS") / "libloops.so"


def test_calibrate_writes_tolerances(prenorm, tmp_path):
    cases = {name: {**options, "atol": False} for name, options in GOOD.items()}
    path = make_file(tmp_path / "new.h5", cases)
    before = path.read_bytes()
    assert ("outputs/y: has no tolerance: prenorm fixtures calibrate FILE derives atol and rtol" in
            prenorm("verify", "--fixtures", path, "--solution", "reference", code=2))
    assert "no tolerance" in prenorm("fixtures", "calibrate", path, "--dry-run")
    assert path.read_bytes() == before
    out = prenorm("fixtures", "calibrate", path)
    assert "3 tolerances written" in out
    with h5py.File(path) as file:
        assert "atol" not in file["cases/refused"].attrs
        y = file["cases/batch32/outputs/y"]
        rms = np.sqrt(np.mean(y[...] ** 2))
        ulp = float(np.spacing(np.float32(rms)))
        assert y.attrs["rtol"] == 4 * 2.0**-23
        assert 4 * ulp <= y.attrs["atol"] < 32 * ulp
        assert "E = " in y.attrs["reason"] and "16 draws" in y.attrs["reason"]
    prenorm("fixtures", "calibrate", path)
    with h5py.File(path) as file:
        assert file["cases/batch32/outputs/y"].attrs["rtol"] == 4 * 2.0**-23
    prenorm("verify", "--fixtures", path)  # they hold for every solution that is right


def test_calibrate_finds_what_numpy_finds(prenorm, tmp_path):
    """E over the stored values alone, by hand: the float32 loop against float64."""
    path = make_file(tmp_path / "one.h5", {"one": dict(
        dtype="float32", shape=(40, 257), atol=False, scale=3.25)})
    prenorm("fixtures", "calibrate", path, "--redraws", "0")
    with h5py.File(path) as file:
        case = file["cases/one"]
        x, bias = case["inputs/x"][...], case["inputs/bias"][...]
        sums = np.zeros(40, np.float32)
        for column in range(257):
            sums += x[:, column]
        mean = sums / np.float32(257)
        textbook = (x - mean[:, None]) * np.float32(3.25) + bias
        y = case["outputs/y"]
        error = np.abs(textbook.astype(np.float64) - y[...]).max()
        floor = 4 * float(np.spacing(np.float32(np.sqrt(np.mean(y[...] ** 2)))))
        assert y.attrs["atol"] == max(2 * error, floor)
        assert "1 draw" in y.attrs["reason"]


def test_calibrate_derives_tf32_tolerances(prenorm, tmp_path, libraries):
    cases = {name: {**options, "atol": False} for name, options in GOOD.items()}
    path = make_file(tmp_path / "new.h5", cases)
    prenorm("fixtures", "calibrate", path)  # there is no plain-tf32 here
    with h5py.File(path) as file:
        assert "atol_tf32" not in file["cases/batch32/outputs/y"].attrs
        before = file["cases/batch32/outputs/y"].attrs["atol"]
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"])
    assert "1 passed, 0 failed, 3 skipped" in out and "no tf32 tolerance" in out

    out = prenorm("fixtures", "calibrate", path, "--textbook-tf32", libraries["tf32"], "--verbose")
    assert re.search(r"derived +\|y - e\| .*; tf32: \|y - e\|", out)
    with h5py.File(path) as file:
        y = file["cases/batch32/outputs/y"]
        assert y.attrs["atol"] == before
        assert 2.0**-14 < y.attrs["atol_tf32"] < 2.0**-6  # x ~ N(0,1) cut to 10 bits, times 2.5
        assert y.attrs["rtol_tf32"] == 2.0**-8
        assert re.search(r"; tf32: E = .*, atol = 2 E$", y.attrs["reason"])
        for name in ("single64", "batch16"):  # tf32 is about float32 alone
            assert "atol_tf32" not in file[f"cases/{name}/outputs/y"].attrs
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"])
    assert "2 passed, 0 failed, 2 skipped" in out
    prenorm("fixtures", "check", path)

    # Where tf32 changes nothing, the tolerance is the ordinary one.
    prenorm("fixtures", "calibrate", path, "--textbook-tf32", "plain")
    with h5py.File(path) as file:
        y = file["cases/batch32/outputs/y"].attrs
        assert (y["atol_tf32"], y["rtol_tf32"]) == (y["atol"], y["rtol"])
        assert y["reason"].endswith("; tf32: no larger error, the same tolerance")
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"], code=1)
    assert "INCORRECT_NUMERICAL  batch32" in out


def test_make_derives_tf32_tolerances(prenorm, good, tmp_path, libraries):
    prenorm("fixtures", "make", good, "--seed", "5", "--out", "fresh", "--textbook-tf32",
            libraries["tf32"])
    with h5py.File(tmp_path / "fresh/centred.h5") as file:
        assert file["cases/batch32/outputs/y"].attrs["rtol_tf32"] == 2.0**-8
        assert "rtol_tf32" not in file["cases/batch16/outputs/y"].attrs
    # Without one who could say, a tf32 tolerance that was found for other values is not kept.
    prenorm("fixtures", "make", tmp_path / "fresh/centred.h5", "--seed", "6", "--out", "other")
    with h5py.File(tmp_path / "other/centred.h5") as file:
        assert "rtol_tf32" not in file["cases/batch32/outputs/y"].attrs


def test_calibrate_keeps_exact_cases_exact_and_refuses_inexact_ones(prenorm, tmp_path):
    path = make_file(tmp_path / "exact.h5", {"one": dict(
        dtype="float32", shape=(3, 7), atol=0.0, rtol=0.0)})
    out = prenorm("fixtures", "calibrate", path, code=1)
    assert "case one, output y: stored as exact" in out and "unchanged" in out


def test_calibrate_names_the_case_whose_infinities_disagree(prenorm, tmp_path):
    path = make_file(tmp_path / "nan.h5", {"one": dict(dtype="float64", shape=(3,))})
    with h5py.File(path, "r+") as file:
        file["cases/one/outputs/y"][1] = np.nan
    out = prenorm("fixtures", "calibrate", path, code=1)
    assert "case one, the stored inputs: the stored answer and that of reference" in out
    assert re.search(r"element \[1\] is .* and should be NaN", out)


def test_calibrate_does_not_widen_a_tolerance_for_a_wrong_answer(prenorm, wrong):
    out = prenorm("fixtures", "calibrate", wrong, code=1)
    assert "case off, the stored inputs: the stored answer and that of reference in float64 " \
        "differ: by 1" in out


@pytest.mark.parametrize("how, said", [
    ("throws", "refuses: no float32 today (the truth answers)"),
    ("crashes", "fails: RUNTIME_ERROR, killed by SIGABRT")])
def test_calibrate_stops_where_the_loop_fails_in_float32_alone(prenorm, tmp_path, loops, how, said):
    """For float64, the loop is asked in float32 too."""
    path = make_file(tmp_path / "new.h5", {name: dict(dtype="float64", shape=(5,), atol=False)
                                           for name in ("one", "two")})
    before = path.read_bytes()
    loop = f"{loops}/{how}"
    assert prenorm("fixtures", "calibrate", path, "--textbook", loop, code=1) == (
        f"{path}: case one, the stored inputs: {loop}, asked for centred__{how}, {said}\n"
        f"{path}: unchanged\n")
    assert path.read_bytes() == before


def test_calibrate_goes_on_where_float32_has_no_such_values(prenorm, tmp_path, loops):
    path = make_file(tmp_path / "new.h5", {
        "usual": dict(dtype="float64", shape=(5,), atol=False),
        "vanishes": dict(dtype="float64", shape=(5,), atol=False, scale=1e-60)})
    prenorm("fixtures", "calibrate", path, "--redraws", "0", "--textbook",
            f"{loops}/refuses_what_vanishes")
    with h5py.File(path) as file:
        reasons = {name: file[f"cases/{name}/outputs/y"].attrs["reason"] for name in file["cases"]}
    assert "; in float32, times 2^-29" in reasons["usual"]
    assert "in float32" not in reasons["vanishes"]


def test_make(prenorm, good, tmp_path):
    out = prenorm("fixtures", "make", good, "--seed", "5", "--out", "fresh")
    assert "fresh/centred.h5: 4 cases" in out
    with h5py.File(good) as old, h5py.File(tmp_path / "fresh/centred.h5") as new:
        assert set(new["cases"]) == set(old["cases"])
        assert new.attrs["problem"] == "centred"
        case = new["cases/batch32"]
        x, bias = case["inputs/x"][...], case["inputs/bias"][...]
        assert x.dtype == np.float32 and x.shape == (3, 8)
        assert not np.array_equal(x, old["cases/batch32/inputs/x"][...])
        np.testing.assert_allclose(case["outputs/y"][...], centred(x, bias, 2.5), rtol=1e-12,
                                   atol=1e-12)
        assert case["inputs/x"].attrs["draw"] == "normal(0,1)"
        assert new["cases/refused"].attrs["error"]
    first = (tmp_path / "fresh/centred.h5")
    prenorm("verify", "--fixtures", first)
    prenorm("fixtures", "make", good, "--seed", "5", "--out", "again")
    prenorm("fixtures", "make", good, "--seed", "6", "--out", "other")
    with h5py.File(first) as a, h5py.File(tmp_path / "again/centred.h5") as b, \
            h5py.File(tmp_path / "other/centred.h5") as c:
        name = "cases/batch16/inputs/x"
        assert np.array_equal(a[name], b[name]) and not np.array_equal(a[name], c[name])


def test_make_resizes_what_a_case_names(prenorm, tmp_path):
    path = make_file(tmp_path / "dims.h5", {"one": dict(dtype="float64", shape=(2, 50))})
    with h5py.File(path, "r+") as file:
        file["cases/one"].attrs["dims"] = ["n"]
    sizes = set()
    for seed in range(4):
        prenorm("fixtures", "make", path, "--seed", seed, "--out", f"out{seed}", "--resize")
        made = tmp_path / f"out{seed}/centred.h5"
        with h5py.File(made) as file:
            batch, n = file["cases/one/inputs/x"].shape
            assert batch == 2 and 1 <= n <= 100
            assert file["cases/one/inputs/bias"].shape == (n,)
            sizes.add(n)
        prenorm("verify", "--fixtures", made, "--solution", "reference", "--solution", "plain")
    assert len(sizes) > 1


def test_make_does_not_overwrite_its_source(prenorm, tmp_path):
    path = make_file(tmp_path / "centred.h5", GOOD)
    assert "overwrite" in prenorm("fixtures", "make", path, "--seed", "1", "--out", tmp_path, code=2)


def test_check_finds_nothing_wrong_with_a_good_file(prenorm, good):
    out = prenorm("fixtures", "check", good)
    assert "no defect" in out and "  defect  " not in out
    assert "no case in bfloat16" in out and "no axis of size 1, 32, 33" in out
    assert "never the only difference between two cases: x, bias, scale\n" in out
    # Hints cost nothing and can be left out.
    assert "hint" not in prenorm("fixtures", "check", good, "--no-hints")


@pytest.mark.parametrize("options, message", [
    (dict(atol=100.0), "zeros pass"),
    (dict(atol=1e-2), "an answer rounded to float16 passes as float32"),
    (dict(atol=0.0, rtol=0.0), "does not pass: the tolerance is too small"),
    (dict(atol=False), "no atol and rtol"),
    (dict(atol=-1.0), "negative"),
    (dict(wrong=(0, 0)), "reference: INCORRECT_NUMERICAL"),
])
def test_check_finds_defects(prenorm, tmp_path, options, message):
    path = make_file(tmp_path / "poor.h5", {
        "poor": dict(dtype="float32", shape=(3, 9), **options),
        "fine": dict(dtype="float64", shape=(3, 9))})
    out, error = prenorm("fixtures", "check", path, code=2 if message == "negative" else 1,
                         both=True)
    assert re.search(rf"^  defect  .*{message}", out, re.M), out
    assert "poor" in out


@pytest.mark.parametrize("atol, message", [
    (100.0, "zeros pass: the tolerance is too large"),
    (0.0, "does not pass: the tolerance is too small"),
    (1e-2, None)])  # under which float16's answers pass, as they may
def test_check_looks_at_tf32_tolerances(prenorm, tmp_path, atol, message):
    path = make_file(tmp_path / "poor.h5", {"poor": dict(dtype="float32", shape=(3, 9)),
                                            "fine": dict(dtype="float64", shape=(3, 9))})
    with h5py.File(path, "r+") as file:
        y = file["cases/poor/outputs/y"]
        y.attrs["atol_tf32"], y.attrs["rtol_tf32"] = atol, 0.0
    out = prenorm("fixtures", "check", path, code=1 if message else 0)
    assert len(re.findall("^  defect  ", out, re.M)) == (1 if message else 0), out
    assert message is None or re.search(f"case poor, output y: by the tf32 .*{message}", out)
    assert re.search(r"y: \|y - e\| <= .*; tf32: ", prenorm("show", path))


def test_check_finds_mistakes_that_nobody_catches(prenorm, tmp_path):
    path = make_file(tmp_path / "weak.h5", {"weak": dict(dtype="float64", shape=(2, 5), scale=1.0)})
    out = prenorm("fixtures", "check", path, code=1)
    assert "defect  no case catches the mistake no_scale" in out
    assert "no_bias" not in out


QKV = dict.fromkeys("qkv", [[1.0], [1.0]])
WEIGHTS = dict.fromkeys(["w_q", "w_k", "w_v", "w_o"], [[1.0]])


@pytest.mark.parametrize("inputs, y, message", [
    (QKV | {"k": [[1], [math.inf]], "mask": [[1, 1], [1, 0]]}, [math.nan, 1],
     "input k: row 1 is not finite, and mask hides it: what comes out is not specified"),
    (QKV | {"v": [[math.nan], [1]], "mask": [[0, 1], [1, 1]]}, [1, math.nan],
     "input v: row 0 is not finite, and mask hides it"),
    (QKV | {"v": [[math.nan], [1]], "mask": [[1, 1], [1, 1]]}, [math.nan, math.nan], None),
    (WEIGHTS | {"x": [[1], [math.nan]]}, [1, math.nan], "reference: .* no case may ask for it"),
    (WEIGHTS | {"x": [[1], [math.nan]]}, [math.nan, math.nan], "fast: .* no case may ask for it"),
    (WEIGHTS | {"x": [[math.nan], [1]]}, [math.nan, math.nan], None)])
def test_check_refuses_what_is_hidden_and_not_finite(run, tmp_path, inputs, y, message):
    problem = "multihead_self_attention" if "x" in inputs else "scaled_dot_product_attention"
    with h5.create(tmp_path / "one.h5", problem, oracle.PROBLEMS[problem].signature) as file:
        case = h5.add_case(file, "hidden", {"num_heads": 1} if "x" in inputs else {})
        for name, values in inputs.items():
            h5.add_input(case, name, values, "bool" if name == "mask" else "float32")
        h5.add_output(case, "y", np.transpose([y]), "float32", 1e-6, 0)
    out = run("fixtures", "check", tmp_path / "one.h5").stdout
    said = re.search(f"  defect  case hidden, {message}", out)
    assert said if message else "case hidden" not in out, out


def test_check_finds_values_near_overflow(prenorm, tmp_path):
    path = make_file(tmp_path / "edge.h5", {"edge": dict(dtype="float16", shape=(2, 4), draw=False,
                                                         atol=20.0)})
    with h5py.File(path, "r+") as file:
        file["cases/edge/outputs/y"][1, 2] = 65510.0
    out = prenorm("fixtures", "check", path, code=1)
    assert "expected[1, 2] = 6.55e+04 is within its tolerance of the value at which float16 overflows" in out


def test_a_file_without_a_case(prenorm, tmp_path):
    empty = make_file(tmp_path / "empty.h5", {})
    assert "no file has a case" in prenorm("fixtures", "check", empty, code=3)
    assert "no case is selected" in prenorm("fixtures", "calibrate", empty, code=3)


def test_check_of_a_bad_file(prenorm, good, bad):
    out, _ = prenorm("fixtures", "check", bad, good, code=2, both=True)
    assert "bad.h5" in out and "no defect" in out


def test_an_input_or_scalar_that_changes_alone_is_seen(prenorm, tmp_path):
    """Two cases are the same but for what `other` changes in the second."""
    for other, left in ((dict(scale=2.0), "x, bias"), (dict(x=1.0), "bias, scale"),
                        ({}, "x, bias, scale")):
        path = make_file(tmp_path / "two.h5", {
            name: dict(dtype="float32", shape=(2, 3), scale=4.0) for name in ("one", "two")})
        with h5py.File(path, "r+") as file:
            for name in ("x", "bias"):
                file["cases/two/inputs"][name][...] = file["cases/one/inputs"][name][...]
            if "scale" in other:
                file["cases/two"].attrs["scale"] = other["scale"]
            if "x" in other:
                file["cases/two/inputs/x"][...] += other["x"]
        out = prenorm("fixtures", "check", path, code=None)
        assert f"never the only difference between two cases: {left}\n" in out, out
