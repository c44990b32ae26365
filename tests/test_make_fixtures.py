# labels: fixtures
# slow labels: fixtures
"""The shipped fixture files: made again they come out the same, and they cover what they should."""

import functools
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
sys.path.insert(0, str(FIXTURES))

import h5  # noqa: E402
import oracle  # noqa: E402
import signature  # noqa: E402
from cases import DTYPES, SIZES  # noqa: E402
from draw import draw  # noqa: E402

PROBLEMS = list(oracle.PROBLEMS)
# What calibrate adds, and what another PyTorch may change.
NOT_COMPARED = {"atol", "rtol", "atol_tf32", "rtol_tf32", "reason", "oracle"}
all_problems = pytest.mark.parametrize("problem", PROBLEMS)
# Whose files the quick tier makes again: small ones, with draws of each kind and with errors.
QUICK = {"relu", "rmsnorm", "rope"}
made_again = pytest.mark.parametrize("problem", [
    pytest.param(problem, marks=[pytest.mark.slow] * (problem not in QUICK)) for problem in PROBLEMS])


class StoredCase:
    """A case as the file holds it."""

    def __init__(self, problem, group):
        self.contract = signature.parse(oracle.PROBLEMS[problem].signature)
        self.name = group.name.split("/")[-1]
        self.error = group.attrs.get("error")
        self.scalars = {key: group.attrs[key].item() for key in self.contract.scalars
                        if key in group.attrs}
        self.inputs, self.dtypes, self.draws = {}, {}, {}
        for name, dataset in group["inputs"].items():
            self.inputs[name], self.dtypes[name] = h5.read_tensor(dataset)
            self.draws[name] = dataset.attrs.get("draw")
        if self.error is None:
            [dataset] = group["outputs"].values()
            self.expected = dataset[()]
            self.dtype = dataset.attrs["dtype"]
            self.tolerance = ((dataset.attrs["atol"], dataset.attrs["rtol"])
                              if "atol" in dataset.attrs else None)
            self.tolerance_tf32 = ((dataset.attrs["atol_tf32"], dataset.attrs["rtol_tf32"])
                                   if "atol_tf32" in dataset.attrs else None)

    def batch_rank(self, tensor):
        return self.inputs[tensor.name].ndim - len(tensor.dims)

    def sizes(self):
        return self.contract.sizes({name: value.shape for name, value in self.inputs.items()})


@functools.cache
def stored(problem):
    """The cases of a shipped file, which is read once."""
    return cases_of(FIXTURES, problem)


def cases_of(folder, problem):
    with h5py.File(folder / f"{problem}.h5") as file:
        return [StoredCase(problem, group) for group in file["cases"].values()]


def run(*words):
    command = [sys.executable, FIXTURES / "make_fixtures.py", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)


@pytest.fixture(scope="session")
def again(tmp_path_factory, request):
    """A folder with files made anew, without tolerances: those that the chosen tests ask for."""
    folder = tmp_path_factory.mktemp("again")
    wanted = {item.callspec.params["problem"] for item in request.session.items
              if "again" in item.fixturenames and hasattr(item, "callspec")}
    # The slow tier makes all at once, by no word about which.
    words = [word for problem in sorted(wanted | {"rope"}) for word in ("--problem", problem)]
    made = run("--out", folder, "--no-tolerances", *(words if wanted <= QUICK else ()))
    assert made.returncode == 0, made.stderr
    # No progress where nobody watches. (PyTorch complains where there is no /proc.)
    said = [line for line in made.stderr.splitlines() if "/proc/cpuinfo" not in line]
    assert made.stdout == "" and not said
    return folder


# made again --------------------------------------------------------------------------------------


def attributes(item):
    return {key: value for key, value in item.attrs.items() if key not in NOT_COMPARED}


def compare(old, new):
    """Two groups: the same members, attributes, types and inputs; outputs to 1e-12 of their rms."""
    assert attributes(old) == attributes(new), old.name
    if isinstance(old, h5py.Group):
        assert list(old) == list(new), old.name
        for name in old:
            compare(old[name], new[name])
        return
    assert old.id.get_type() == new.id.get_type() and old.shape == new.shape, old.name
    a, b = h5.read_tensor(old)[0], h5.read_tensor(new)[0]
    if "/inputs/" in old.name or a.size == 0:
        np.testing.assert_array_equal(a, b)
        return
    finite = a[np.isfinite(a)]
    rms = np.sqrt(np.mean(finite**2)) if finite.size else 0
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * rms, err_msg=old.name)


@made_again
def test_made_again_the_file_is_the_same(problem, again):
    with h5py.File(FIXTURES / f"{problem}.h5") as old, h5py.File(again / f"{problem}.h5") as new:
        compare(old, new)


def test_the_same_cases_give_the_same_bytes(again, tmp_path):
    assert run("--out", tmp_path, "--problem", "rope", "--no-tolerances").returncode == 0
    assert (tmp_path / "rope.h5").read_bytes() == (again / "rope.h5").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["rope.h5"]


@made_again
def test_tolerances_come_out_the_same(problem, again, program, tmp_path):
    committed = [case for case in stored(problem) if case.error is None]
    copy = shutil.copy(again / f"{problem}.h5", tmp_path)
    subprocess.run([program, "fixtures", "calibrate", copy], check=True, capture_output=True)
    found = {case.name: case for case in cases_of(tmp_path, problem) if not case.error}
    for case in committed:
        # In float64 the truth is as noisy as the loop, and depends on the machine's BLAS.
        most = 4 if case.dtype == "float64" else 2
        for old, new in zip(case.tolerance, found[case.name].tolerance):
            assert old / most <= new <= old * most, case.name
        assert (case.tolerance_tf32 is not None) == (case.dtype == "float32"), case.name
        for old, new in zip(case.tolerance_tf32 or (), found[case.name].tolerance_tf32 or (),
                            strict=True):
            assert old / 2 <= new <= old * 2, case.name


# coverage ----------------------------------------------------------------------------------------


def test_all_files_are_small():
    assert sum((FIXTURES / f"{problem}.h5").stat().st_size for problem in PROBLEMS) < 25e6


@all_problems
def test_coverage(problem):
    cases = stored(problem)
    good = [case for case in cases if case.error is None]
    assert {case.dtype for case in good} == set(DTYPES)
    assert any(case.expected.size == 0 for case in good)
    assert any("by_hand" in case.name and case.expected.size <= 9 for case in good)

    first = good[0].contract.inputs[0]  # the tensor that everything else is applied to
    ranks = {1, 3} if problem == "softmax" else {0, 1, 3}  # softmax's `...` is its whole shape
    for dtype in DTYPES:
        inputs = [case.inputs.values() for case in good if case.dtype == dtype]
        assert ranks <= {case.batch_rank(first) for case in good if case.dtype == dtype}, dtype
        assert any(257 in value.shape for values in inputs for value in values), dtype
    axes = {size for case in good for value in case.inputs.values() for size in value.shape}
    assert set(SIZES) <= axes


@pytest.mark.parametrize("problem, errors", {
    "linear": 1, "embedding": 3, "glu": 1, "ffn_relu": 1, "ffn_silu": 1, "ffn_gelu": 1,
    "ffn_swiglu": 1, "rope": 5, "softmax": 2, "scaled_dot_product_attention": 2,
    "multihead_self_attention": 1, "multihead_self_attention_with_rope": 6,
    "multihead_self_attention_fused_qkv": 3, "transformer_block": 5,
    "transformer_block_post_norm": 5, "transformer_block_gelu": 2, "transformer_lm": 6}.items())
def test_the_oracle_refuses_what_is_an_error(problem, errors):
    cases = [case for case in stored(problem) if case.error]
    assert len(cases) == errors
    for case in cases:
        assert "is_an_error" in case.name
        with pytest.raises(ValueError):
            oracle.evaluate(problem, case.inputs, case.scalars)


@all_problems
def test_names_say_the_dtype_and_draws_fit(problem):
    for case in stored(problem):
        floating = {dtype for dtype in case.dtypes.values() if dtype in DTYPES}
        assert len(floating) == 1 and case.name.endswith("_" + floating.pop()), case.name
        assert case.error or case.name.endswith("_" + case.dtype), case.name
        for name, text in case.draws.items():
            values = case.inputs[name]
            if text is None:
                continue
            fresh = draw(text, values.shape, case.sizes(), case.scalars, np.random.default_rng(1))
            assert fresh.shape == values.shape
            if values.size >= 1000 and not text.startswith(("boolean", "permutation")):
                spread = np.std(fresh)  # the file's values are of the distribution that it names
                assert abs(np.mean(fresh) - np.mean(values)) < 0.2 * spread
                assert 0.8 * spread < np.std(values) < 1.25 * spread


@all_problems
def test_outputs_keep_away_from_overflow(problem):
    largest = {"float64": 1.7e308, "float32": 3.4e38, "float16": 65504, "bfloat16": 3.38e38}
    for case in stored(problem):
        if case.error is None:
            finite = case.expected[np.isfinite(case.expected)]
            assert not finite.size or np.abs(finite).max() < 0.5 * largest[case.dtype], case.name


HARD = {
    "softmax": ["shift_1000", "up_to_88", "spike", "minus_infinity", "special_slices"],
    "scaled_dot_product_attention": [
        "scores_near_1000", "scores_to_88", "spike", "keys_at_minus_infinity",
        "mask_rows_of_each_kind", "batched_mask", "random_mask", "narrow_values"],
    "rmsnorm": ["scale_1e_minus_3", "scale_1e_minus_2", "zero_row"],
    "relu": ["hundred", "special_values", "subnormals"],
    "silu": ["hundred", "special_values", "subnormals"],
    "gelu": ["hundred", "special_values", "subnormals", "tail"],
    "rope": ["position_131071", "permuted_positions", "repeated_positions", "batched_positions",
             "theta_500000"],
    "multihead_self_attention_with_rope": ["permuted_positions", "batched_positions"],
    "transformer_block": ["one_head", "many_heads", "one_token"],
    "transformer_block_post_norm": ["one_head", "many_heads", "one_token"],
    "transformer_block_gelu": ["one_head", "many_heads", "one_token"],
}


@pytest.mark.parametrize("problem, names", HARD.items())
def test_hard_values_are_there_in_every_dtype(problem, names):
    there = {case.name for case in stored(problem)}
    assert {f"{name}_{dtype}" for name in names for dtype in DTYPES} <= there


def test_a_few_cases_by_what_they_hold():
    rope = {case.name: case for case in stored("rope")}
    assert rope["position_131071_float64"].inputs["token_positions"].max() == 131071
    norm = {case.name: case for case in stored("rmsnorm")}
    assert np.abs(norm["up_to_60000_float16"].inputs["x"]).max() > 50000
    for case in stored("gelu"):
        if not case.name.startswith(("mixed", "far_negative")):
            x = case.inputs["x"]
            assert not np.any(x[np.isfinite(x)] < -5.5)
    attention = {case.name: case for case in stored("scaled_dot_product_attention")}
    for dtype in DTYPES:
        for exponent in (6, 10):
            of = attention[f"visible_minus_1e{exponent}_{dtype}"].inputs
            scores = of["q"] @ of["k"].T / np.sqrt(of["q"].shape[-1])
            lowest = np.where(of["mask"], scores, np.inf).min(axis=-1)
            assert (lowest <= -10.0**exponent / 2).all() and (lowest <= -10.0**exponent).any()
            assert (np.where(of["mask"], -np.inf, scores) > -1e3).any(axis=-1).all()
    for problem in PROBLEMS:
        if "w_o" in stored(problem)[0].inputs:
            real = [case for case in stored(problem) if case.name.startswith("real_256")]
            assert {case.dtype for case in real} == {"float32", "bfloat16"}
            for case in real:
                assert case.inputs["w_o"].shape[-2:] == (256, 256)
                assert case.scalars["num_heads"] == 4
    for problem, shape in (("ffn_swiglu", (1344, 512)), ("ffn_gelu", (2048, 512))):
        real = [case for case in stored(problem) if case.inputs["w1"].shape == shape]
        assert {case.dtype for case in real} == {"float32", "bfloat16"}
        for case in real:
            for values in case.inputs.values():
                np.testing.assert_array_equal(values, h5.round_to(values, "bfloat16"))


# PyTorch, judged by the files --------------------------------------------------------------------

TORCH = {
    "linear": lambda x, weight: F.linear(x, weight),
    "embedding": lambda token_ids, weight: F.embedding(token_ids, weight),
    "relu": lambda x: F.relu(x),
    "silu": lambda x: F.silu(x),
    "gelu": lambda x: F.gelu(x),
    "softmax": lambda x, dim: F.softmax(x, dim),
}


def passes(actual, case):
    atol, rtol = case.tolerance
    same = np.isnan(case.expected) & np.isnan(actual) | (actual == case.expected)
    with np.errstate(invalid="ignore"):
        return same | (np.abs(actual - case.expected) <= atol + rtol * np.abs(case.expected))


def in_pytorch(problem, dtype):
    """Whether this PyTorch has the function in this type on the CPU."""
    if problem in ("gelu", "silu") and dtype == "bfloat16":
        return False  # PyTorch 1.13 rounds to bfloat16 within it
    case = next(case for case in stored(problem) if case.error is None and case.dtype == dtype)
    try:
        by_pytorch(problem, case)
    except RuntimeError as error:
        if "not implemented for 'Half'" in str(error):
            return False
        raise
    return True


def by_pytorch(problem, case):
    inputs = {name: torch.as_tensor(values) for name, values in case.inputs.items()}
    inputs = {name: value.to(getattr(torch, case.dtype)) if value.is_floating_point() else value
              for name, value in inputs.items()}
    # Without oneDNN, whose erf is good to 2.6e-7 only and which flushes subnormals to 0.
    with torch.backends.mkldnn.flags(enabled=False):
        return TORCH[problem](**inputs, **case.scalars).double().numpy()


@pytest.mark.parametrize("problem, dtype", [(problem, dtype) for problem in TORCH for dtype in DTYPES
                                            if in_pytorch(problem, dtype)])
def test_pytorch_passes(problem, dtype):
    cases = [case for case in stored(problem) if case.error is None and case.dtype == dtype]
    for case in cases:
        assert passes(by_pytorch(problem, case), case).all(), case.name


# tf32 --------------------------------------------------------------------------------------------


def cut(values):
    """float32 values as tf32 units read them: 10 of the 23 mantissa bits."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return (bits & np.uint32(0xffffe000)).view(np.float32)


def linear_file(path, x, weight):
    """One float32 case, `one`, exact in float64 and without tolerances."""
    with h5.create(path, "linear", oracle.PROBLEMS["linear"].signature) as file:
        case = h5.add_case(file, "one")
        x = h5.add_input(case, "x", x, "float32")
        weight = h5.add_input(case, "weight", weight, "float32")
        h5.add_output(case, "y", x @ weight.T, "float32")
    return path


def attributes_of_one(path):
    with h5py.File(path) as file:
        return dict(file["cases/one/outputs/y"].attrs)


def change_attributes(path, **values):
    with h5py.File(path, "r+") as file:
        file["cases/one/outputs/y"].attrs.update(values)


def status(program, path, solution):
    done = subprocess.run([program, "verify", "--fixtures", path, "--solution", solution, "--json",
                           "-"], capture_output=True, text=True, check=False)
    [result] = json.loads(done.stdout)["results"]
    return result["status"]


def test_a_tf32_tolerance_by_hand(program, tmp_path):
    # 1 + 2^-11 is cut to 1: of its product with 1 just 2^-11 is lost, and of 3 times it 3 * 2^-11.
    # In float32 both are exact.
    path = linear_file(tmp_path / "one.h5", [[1 + 2**-11]], [[1], [3]])
    subprocess.run([program, "fixtures", "calibrate", path, "--redraws", "0"], check=True)
    found = attributes_of_one(path)
    assert (found["atol"], found["rtol"]) == (4 * 2.0**-22, 4 * 2.0**-23)  # 4 ulp, rms sqrt(5)
    assert (found["atol_tf32"], found["rtol_tf32"]) == (2 * 3 * 2.0**-11, 4 * 2.0**-10)
    assert found["reason"] == (
        "E = 0, the largest error of the textbook loop in 1 draw; atol = 4 ulp at rms 2.24, more "
        "than 2 E; tf32: E = 0.00146, atol = 2 E")
    assert status(program, path, "plain-tf32") == "PASSED"
    assert status(program, path, "plain") == "PASSED"
    # By the ordinary tolerance the tf32 product is wrong.
    change_attributes(path, atol_tf32=found["atol"], rtol_tf32=found["rtol"])
    assert status(program, path, "plain-tf32") == "INCORRECT_NUMERICAL"


def test_a_wrong_answer_is_wrong_by_the_tf32_tolerance_too(program, tmp_path):
    path = linear_file(tmp_path / "one.h5", [[1 + 2**-11, 1]], [[1, 2], [3, 4]])
    subprocess.run([program, "fixtures", "calibrate", path, "--redraws", "0"], check=True)
    found = attributes_of_one(path)
    assert found["atol_tf32"] == 2 * 3 * 2.0**-11
    change_attributes(path, atol=found["atol_tf32"], rtol=found["rtol_tf32"])
    assert status(program, path, "reference") == "PASSED"
    assert status(program, path, "mistakes/not_transposed") == "INCORRECT_NUMERICAL"


def test_calibrate_finds_the_error_of_tf32_that_numpy_finds(program, tmp_path):
    random = np.random.default_rng(0)
    x, weight = (random.normal(size=(n, 300)).astype(np.float32) for n in (7, 5))
    path = linear_file(tmp_path / "one.h5", x, weight)
    subprocess.run([program, "fixtures", "calibrate", path, "--redraws", "0"], check=True)
    y = np.zeros((7, 5), np.float32)
    for i in range(300):
        y += cut(x[:, None, i]) * cut(weight[:, i])
    error = np.abs(y.astype(np.float64) - x.astype(np.float64) @ weight.astype(np.float64).T).max()
    assert attributes_of_one(path)["atol_tf32"] == pytest.approx(2 * error, rel=1e-9)


def test_whole_numbers_are_exact_in_tf32_as_far_as_its_bits_go(program, tmp_path):
    for number, atol_tf32 in ((2047, 0), (2049, 2)):  # 11 bits; and 12, of which the last is lost
        path = linear_file(tmp_path / "one.h5", [[number]], [[1]])
        change_attributes(path, atol=0.0, rtol=0.0)
        subprocess.run([program, "fixtures", "calibrate", path, "--redraws", "0"], check=True)
        found = attributes_of_one(path)
        assert (found["atol"], found["rtol"], found["atol_tf32"]) == (0, 0, atol_tf32)


ROUNDED_ONCE = {"rmsnorm", "softmax", "rope", "silu", "gelu"}


@all_problems
def test_16_bit_outputs_that_are_rounded_once_are_held_to_that(problem):
    for case in stored(problem):
        if case.error or case.tolerance == (0, 0):
            continue
        eps = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10,
               "bfloat16": 2.0**-7}[case.dtype]
        once = problem in ROUNDED_ONCE and case.dtype in ("float16", "bfloat16")
        if not case.expected.any():
            continue  # zeros do not tell whether there is a product
        assert case.tolerance[1] == (0.75 if once else 4) * eps, case.name


def outputs_by(program, problem, solution, folder):
    """{case: output} of a problem's cases; all have a tf32 tolerance, so that all run."""
    folder.mkdir()
    path = shutil.copy(FIXTURES / f"{problem}.h5", folder)
    with h5py.File(path, "r+") as file:
        for case in file["cases"].values():
            for output in case.get("outputs", {}).values():
                output.attrs["atol_tf32"] = output.attrs["rtol_tf32"] = 1.0
    subprocess.run([program, "verify", "--fixtures", path, "--solution", solution, "--save",
                    folder / "out"], check=True, capture_output=True)
    with h5py.File(folder / "out" / f"{problem}.{solution}.h5") as file:
        return {name: h5.read_tensor(case["outputs/y"])[0]
                for name, case in file["cases"].items()}


@pytest.mark.parametrize("problem, products", {
    "scaled_dot_product_attention": True, "ffn_swiglu": True, "transformer_block": True,
    "softmax": False, "rmsnorm": False, "rope": False}.items())
def test_tf32_changes_products_of_float32_and_nothing_else(problem, products, program, tmp_path):
    plain = outputs_by(program, problem, "plain", tmp_path / "plain")
    tf32 = outputs_by(program, problem, "plain-tf32", tmp_path / "tf32")
    assert set(plain) == set(tf32)
    changed = {name for name in plain if not np.array_equal(plain[name], tf32[name],
                                                            equal_nan=True)}
    assert all(name.endswith("_float32") for name in changed)
    assert bool(changed) == products


def test_fresh_values_have_tf32_tolerances(program):
    done = subprocess.run([program, "verify", "--fixtures", FIXTURES / "linear.h5", "--dtype",
                           "float32", "--solution", "plain-tf32", "--seed", "3"],
                          capture_output=True, text=True, check=True)
    assert "0 failed, 0 skipped" in done.stdout


# h5, draw, the program ---------------------------------------------------------------------------


def test_every_bfloat16_survives_a_file(tmp_path):
    bits = np.arange(65536, dtype=np.uint16)
    values = h5.from_bfloat16(bits)
    with h5.create(tmp_path / "all.h5", "all", "x[...] -> y[...]") as file:
        h5.add_input(h5.add_case(file, "all"), "x", values, "bfloat16")
    with h5py.File(tmp_path / "all.h5") as file:
        dataset = file["cases/all/inputs/x"]
        back, dtype = h5.read_tensor(dataset)
        assert dtype == "bfloat16" and dataset.id.get_type().get_size() == 2
        np.testing.assert_array_equal(back, values)
        np.testing.assert_array_equal(dataset[()], values)  # HDF5's own conversion reads them too
    number = ~np.isnan(values)
    np.testing.assert_array_equal(h5.to_bfloat16(values)[number], bits[number])


def test_rounding_to_bfloat16():
    one = [1, 1 + 2**-8, 1 + 2**-8 + 2**-50, 1 + 3 * 2**-8, -1 - 2**-7]
    assert h5.round_to(one, "bfloat16").tolist() == [1, 1, 1 + 2**-7, 1 + 2**-6, -1 - 2**-7]
    assert h5.round_to([3.4e38, -3.4e38, 3.39e38], "bfloat16").tolist()[:2] == [np.inf, -np.inf]
    assert h5.round_to([2.0**-134, 1.5 * 2.0**-133], "bfloat16").tolist() == [0, 2.0**-132]
    assert np.signbit(h5.round_to(-0.0, "bfloat16"))
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    expected = torch.from_numpy(x).bfloat16().double().numpy()
    np.testing.assert_array_equal(h5.round_to(x, "bfloat16"), expected)


def test_tensors_of_every_type_and_shape(tmp_path):
    tensors = {"scalar": (1.5, "bfloat16"), "empty": (np.zeros((0, 3)), "float16"),
               "ids": ([[1, -2**62]], "int64"), "mask": ([True, False], "bool"),
               "large": (np.arange(40000.0).reshape(200, 200), "float32")}
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        for name, (values, dtype) in tensors.items():
            h5.write_tensor(file["cases"], name, values, dtype)
        with pytest.raises(ValueError, match="int32"):
            h5.write_tensor(file, "wrong", [1], "int32")
    with h5py.File(tmp_path / "some.h5") as file:
        for name, (values, dtype) in tensors.items():
            back, found = h5.read_tensor(file["cases"][name])
            assert found == dtype
            np.testing.assert_array_equal(back, values)
        large = file["cases/large"]
        assert large.shuffle and large.compression == "gzip"
        assert file["cases/scalar"].shape == ()


def test_tolerances_are_written(tmp_path):
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        case = h5.add_case(file, "some")
        h5.add_output(case, "y", [1.0], "float32", 0.5, 0.25, "a reason", atol_tf32=2, rtol_tf32=1)
    with h5py.File(tmp_path / "some.h5") as file:
        assert dict(file["cases/some/outputs/y"].attrs) == {
            "dtype": "float32", "atol": 0.5, "rtol": 0.25, "atol_tf32": 2.0, "rtol_tf32": 1.0,
            "reason": "a reason"}


def test_scalars_are_stored_exactly(tmp_path):
    scalars = {"a": np.float32(0.1), "b": np.int32(-3), "c": True, "d": 0.1, "e": 2**62,
               "f": np.array([0.5]), "g": math.nan}
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        attributes = h5.add_case(file, "some", scalars).attrs
        stored = {key: attributes[key] for key in scalars}
    assert {key: value.dtype.name for key, value in stored.items()} == {
        "a": "float64", "b": "int64", "c": "int64", "d": "float64", "e": "int64", "f": "float64",
        "g": "float64"}
    assert math.isnan(stored.pop("g"))
    assert stored == {key: scalars[key] for key in stored}


@pytest.mark.parametrize("value", [2**63, np.uint64(2**63), "0.5", [1, 2], None,
                                   np.longdouble(1) / 3])
def test_a_scalar_that_would_change_is_an_error_that_names_it(tmp_path, value):
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        with pytest.raises(ValueError, match="attribute num_heads"):
            h5.add_case(file, "some", {"num_heads": value})


def test_a_tolerance_that_would_change_is_an_error_that_names_it(tmp_path):
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        with pytest.raises(ValueError, match="attribute atol"):
            h5.add_output(h5.add_case(file, "some"), "y", [1.0], "float32", atol=2**53 + 1)


@pytest.mark.parametrize("values, dtype", [
    ([1, 1.7], "int64"), (math.nan, "int64"), (2.0**63, "int64"), (np.uint64(2**63), "int64"),
    ([2], "bool"), ([0.5], "bool"), (["1"], "int64")])
def test_a_tensor_that_would_change_is_an_error_that_names_it(tmp_path, values, dtype):
    with h5.create(tmp_path / "some.h5", "some", "x[...] -> y[...]") as file:
        with pytest.raises(ValueError, match="tensor token_ids"):
            h5.add_input(h5.add_case(file, "some"), "token_ids", values, dtype)


@pytest.mark.parametrize("text, low, high", [
    ("uniform(-2, 3)", -2, 3), ("integer(0,n)", 0, 4), ("integer(-1.5, most)", -1, 8),
    ("permutation", 0, 4), ("boolean(1)", 1, 1), ("boolean(0)", 0, 0), ("normal(5,0)", 5, 5)])
def test_draw(text, low, high):
    values = draw(text, (100, 5), {"n": 5}, {"most": 9}, np.random.default_rng(0))
    assert values.shape == (100, 5)
    assert values.min() >= low and values.max() <= high
    if text.startswith("integer"):
        assert set(np.unique(values)) == set(range(low, high + 1))
    if text == "permutation":
        assert (np.sort(values, axis=-1) == np.arange(5)).all()
        assert len(np.unique(values, axis=0)) > 9  # the rows differ


@pytest.mark.parametrize("text", ["normal(0)", "uniform(0,wrong)", "poisson(1)", "normal", "x y",
                                  "permutation(3)", "normal(0,-1)", "integer(3,3)",
                                  "integer(0,1e300)", "uniform(0,inf)", "normal(nan,1)"])
def test_draw_refuses(text):
    with pytest.raises(ValueError, match=re.escape(f"draw '{text}'")):
        draw(text, (3,), {}, {}, np.random.default_rng(0))


def test_a_permutation_needs_an_axis():
    with pytest.raises(ValueError, match="draw 'permutation'.*an axis"):
        draw("permutation", (), {}, {}, np.random.default_rng(0))


def test_the_program_s_errors(tmp_path):
    assert run("--help").returncode == 0
    for words in (["--problem", "sofmax"], ["--prenorm", tmp_path / "missing"], ["--wrong"],
                  ["--out", __file__, "--no-tolerances"]):
        failed = run("--out", tmp_path, *words)
        assert failed.returncode == 2 and failed.stderr.strip()
        assert "Traceback" not in failed.stderr
    calibrate = tmp_path / "calibrate"
    calibrate.write_text("#!/bin/sh\nexit 1\n")
    calibrate.chmod(0o755)
    failed = run("--out", tmp_path, "--problem", "relu", "--prenorm", calibrate)
    assert failed.returncode == 1 and "calibrate" in failed.stderr
