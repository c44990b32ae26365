"""`prenorm fixtures export`: what NumPy, torch and JSON readers find is what the fixture holds."""

# labels: unit fixtures

import json

import h5py
import numpy as np
import pytest
import torch

DTYPES = ("float64", "float32", "float16", "bfloat16")
CHOSEN = [("rmsnorm", f"nan_and_infinity_{dtype}") for dtype in DTYPES] + [
    ("relu", "no_axis_float32"),  # a tensor without axes
    ("relu", "no_axis_bfloat16"),
    ("rmsnorm", "d_model_0_float32"),  # no elements
    ("rope", "base_float32"),  # int64; a float and an int beside it
    ("scaled_dot_product_attention", "base_float32"),  # bool
    ("scaled_dot_product_attention", "d_k_0_is_an_error_float32"),
    ("softmax", "dim_minus_3_is_an_error_float32"),  # a negative int
]


@pytest.fixture(scope="session")
def fixtures(home):
    return home / "share/prenorm/fixtures"


@pytest.fixture
def export(run, fixtures, tmp_path):
    """export(problem, case, ending): the new file's path, and what was printed."""

    def call(problem, case, ending):
        path = tmp_path / f"case{ending}"
        done = run("fixtures", "export", problem, "--case", case, "--to", path, "--fixtures",
                   fixtures, code=0)
        return path, done.stdout

    return call


@pytest.fixture
def stored(fixtures):
    """stored(problem, case): what the fixture holds, under the names that the export gives."""

    def call(problem, case):
        with h5py.File(fixtures / f"{problem}.h5") as file:
            group = file["cases"][case]
            values = {name: tensor[()] for name, tensor in group["inputs"].items()}
            for name, tensor in group.get("outputs", {}).items():
                values["expected_" + name] = tensor[()]
                values["atol_" + name] = tensor.attrs["atol"]
                values["rtol_" + name] = tensor.attrs["rtol"]
            values |= {name: value for name, value in group.attrs.items()
                       if name not in ("description", "dims", "dtype")}
        return values

    return call


def same(actual, wanted):
    actual, wanted = np.asarray(actual), np.asarray(wanted)
    assert actual.shape == wanted.shape
    if wanted.dtype.kind in "US" or wanted.dtype == object:
        assert str(actual) == str(wanted)
    else:  # widened, nothing is lost
        assert np.array_equal(actual.astype(np.float64), wanted.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("problem, case", CHOSEN)
def test_npz(export, stored, problem, case):
    path, told = export(problem, case, ".npz")
    wanted = stored(problem, case)
    with np.load(path, allow_pickle=False) as file:
        # Scalars with a default need not be stored.
        assert set(wanted) <= set(file) <= set(wanted) | {"eps", "theta"}
        for name, value in wanted.items():
            same(file[name], value)
        dtype = case.rsplit("_", 1)[1]
        x = file["q" if "q" in file else "x"]
        assert x.dtype == ("float32" if dtype == "bfloat16" else dtype)
        if problem == "rope":
            assert file["token_positions"].dtype == file["max_seq_len"].dtype == np.int64
            assert file["theta"] == 10000
        if problem == "scaled_dot_product_attention" and "mask" in file:
            assert file["mask"].dtype == bool
        assert all(name in told for name in file)
    assert ("bfloat16 as float32" in told) == (dtype == "bfloat16")


@pytest.mark.parametrize("problem, case", CHOSEN)
def test_pt(export, stored, problem, case):
    path, _ = export(problem, case, ".pt")
    wanted = stored(problem, case)
    values = torch.load(path, weights_only=True)
    assert set(wanted) <= set(values)
    for name, value in wanted.items():
        found = values[name]
        if isinstance(found, torch.Tensor):
            assert found.is_contiguous()
            found = found.double() if found.is_floating_point() else found
        same(found, value)
    x = values["q" if "q" in values else "x"]
    assert str(x.dtype) == "torch." + case.rsplit("_", 1)[1]
    if problem == "rope":
        assert values["token_positions"].dtype == torch.int64
        assert type(values["max_seq_len"]) is int
        assert values["theta"].dtype == torch.float64 and values["theta"].shape == ()
    x.add_(1)  # it is the reader's own


@pytest.mark.parametrize("problem, case", CHOSEN)
def test_json(export, stored, problem, case):
    path, told = export(problem, case, ".json")
    told = json.loads(path.read_text())
    wanted = stored(problem, case)
    assert (told["problem"], told["case"]) == (problem, case)
    assert ("error" in told) == ("error" in wanted) == ("expected" not in told)
    assert told.get("error") == wanted.get("error")
    found = {name: tensor for name, tensor in told["inputs"].items() if tensor is not None}
    found |= {"expected_" + name: tensor for name, tensor in told.get("expected", {}).items()}
    for name, tensor in found.items():
        assert tensor["shape"] == list(wanted[name].shape)
        values = np.array(tensor["values"], dtype=object).reshape(tensor["shape"])
        same(values.astype(wanted[name].dtype), wanted[name])  # "NaN" too; shortest digits
        if name.startswith("expected_"):
            assert tensor["dtype"] == case.rsplit("_", 1)[1]
            assert tensor["atol"] == wanted["atol" + name[8:]]
    for name, value in told["scalars"].items():
        assert value == wanted.get(name, value)


def test_an_absent_input(export, fixtures):
    problem = "scaled_dot_product_attention"
    with h5py.File(fixtures / f"{problem}.h5") as file:
        case = next(name for name, case in file["cases"].items() if "mask" not in case["inputs"])
    with np.load(export(problem, case, ".npz")[0]) as file:
        assert "mask" not in file and "q" in file
    assert torch.load(export(problem, case, ".pt")[0], weights_only=True)["mask"] is None
    assert json.loads(export(problem, case, ".json")[0].read_text())["inputs"]["mask"] is None


def test_tensors_are_not_mixed_up(export, stored):
    """Every small case of a problem with many inputs."""
    problem = "multihead_self_attention_with_rope"
    path, _ = export(problem, "base_float32", ".pt")
    values = torch.load(path, weights_only=True)
    wanted = stored(problem, "base_float32")
    assert len([value for value in values.values() if isinstance(value, torch.Tensor)]) > 6
    for name, value in wanted.items():
        same(values[name], value)


def test_large_integers(run, tmp_path):
    """A scalar beyond 32 bits."""
    path = tmp_path / "wide.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update(problem="wide", signature="x[n]; k: int, flag: bool -> y[n]",
                          source="a test", oracle="a test", format="prenorm-fixture", version=1)
        case = file.create_group("cases/one")
        case.attrs.update(description="One.", k=-(2**40), flag=True)
        case.create_dataset("inputs/x", data=np.ones(2, np.float32))
        y = case.create_dataset("outputs/y", data=np.ones(2))
        y.attrs.update(dtype="float32", atol=0.0, rtol=0.0, reason="exact")
    run("fixtures", "export", path, "--case", "one", "--to", "one.pt", code=0)
    values = torch.load(tmp_path / "one.pt", weights_only=True)
    assert values["k"] == -(2**40) and values["flag"] is True
    run("fixtures", "export", path, "--case", "one", "--to", "one.npz", code=0)
    with np.load(tmp_path / "one.npz") as file:
        assert file["k"] == -(2**40) and file["flag"].dtype == bool and file["flag"]


def test_errors(run, fixtures, tmp_path):
    def refused(*words):
        done = run("fixtures", "export", *words, "--fixtures", fixtures, code=2)
        assert done.stderr.startswith("prenorm: ") and done.stderr.count("\n") == 1
        assert not list(tmp_path.glob("case*"))
        return done.stderr

    assert "did you mean 'by_hand_float32'" in refused("rmsnorm", "--case", "by_hand_float3", "--to",
                                                       "case.pt")
    assert "did you mean 'rmsnorm'" in refused("rmsnrm", "--case", "x", "--to", "case.pt")
    assert ".npz, .pt, .json" in refused("rmsnorm", "--case", "by_hand_float32", "--to", "case.csv")
    assert "wanted one: eps_0_bfloat16, " in refused("rmsnorm", "--case", "eps_0_*", "--to",
                                                     "case.pt")
    assert "no/where" in refused("rmsnorm", "--case", "by_hand_float32", "--to", "no/where.pt")


def test_help(run):
    told = run("fixtures", "export", "--help", code=0).stdout
    assert all(word in told for word in ("--case", "--to", ".npz", ".pt", ".json", "weights_only"))
    assert "export" in run("fixtures", "--help", code=0).stdout
