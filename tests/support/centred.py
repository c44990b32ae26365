"""`centred`, a problem that the harness has never heard of: its fixture files, and a home of its own
whose shipped solutions are those of solutions/centred, beside the real helper programs.

Its fixtures are those of all tests of commands (conftest.py).
"""

import json

import h5py
import numpy as np
import pytest

from conftest import folder, make_home

SIGNATURE = "x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]"
GOOD = {
    "single64": dict(dtype="float64", shape=(5,)),
    "batch32": dict(dtype="float32", shape=(3, 8), scale=2.5, seed=1),
    "batch16": dict(dtype="float16", shape=(2, 2, 3, 31), seed=2),
    "refused": dict(dtype="float32", shape=(4,), scale=-1, error="scale must be above 0"),
}


@pytest.fixture(scope="session")
def libraries():
    built = folder("PRENORM_TEST_SOLUTIONS") / "centred"
    return {path.stem.removeprefix("lib"): path for path in built.glob("*.so")}


@pytest.fixture(scope="session")
def own_home(home, libraries, tmp_path_factory):
    shipped = {name: libraries[name] for name in ("reference", "plain", "mistakes", "honest")}
    # The same code under other names, one of which says that it is slow.
    shipped["fast"] = libraries["reference"]
    shipped["cuda-emulated"] = libraries["plain"]
    made = make_home(tmp_path_factory.mktemp("home"), home, **shipped)
    (made / "share/prenorm/fixtures").mkdir()
    return made


@pytest.fixture
def prenorm(run, own_home):
    """prenorm("verify", ..., code=1) -> standard output, in an empty folder."""

    def call(*words, code=0, both=False, **variables):
        done = run(*words, code=code, **{"PRENORM_HOME": own_home, "PRENORM_LAUNCHER": "",
                                         **variables})
        out, error = done.stdout, done.stderr
        if code == 2 and not both and not out:
            assert error.startswith("prenorm: ") and error.count("\n") == 1, error
        return (out, error) if both else out or error

    return call


def centred(x, bias, scale):
    x, bias = np.asarray(x, np.float64), np.asarray(bias, np.float64)
    return (x - x.mean(-1, keepdims=True)) * scale + bias


def add_case(file, name, dtype, shape, *, scale=None, seed=0, atol=None, rtol=None, wrong=None,
             draw=True, error=None, description="a case"):
    rng = np.random.default_rng(seed)
    case = file.create_group(f"cases/{name}")
    if description:
        case.attrs["description"] = description
    x = rng.normal(size=shape).astype(dtype)
    bias = rng.normal(size=shape[-1]).astype(dtype)
    if scale is not None:
        case.attrs["scale"] = float(scale)
    for tensor, value in (("x", x), ("bias", bias)):
        data = case.create_dataset(f"inputs/{tensor}", data=value)
        if draw:
            data.attrs["draw"] = "normal(0,1)"
    if error is not None:
        case.attrs["error"] = error
        return
    y = centred(x, bias, 1.5 if scale is None else scale)
    if wrong is not None:
        y[wrong] += 1
    epsilon = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}[dtype]
    data = case.create_dataset("outputs/y", data=y)
    data.attrs["dtype"] = dtype
    if atol is not False:
        data.attrs["atol"] = 16 * epsilon if atol is None else atol
        data.attrs["rtol"] = 4 * epsilon if rtol is None else rtol


def make_file(path, cases, problem="centred"):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "prenorm-fixture"
        file.attrs["version"] = 1
        file.attrs["problem"] = problem
        file.attrs["signature"] = SIGNATURE
        file.attrs["source"] = "made up for this test"
        file.create_group("cases")
        for name, options in cases.items():
            add_case(file, name, **options)
    return path


@pytest.fixture
def good(tmp_path):
    return make_file(tmp_path / "good.h5", GOOD)


@pytest.fixture
def wrong(tmp_path):
    """One element of the expected values is off by 1."""
    return make_file(tmp_path / "wrong.h5", {**GOOD, "off": dict(
        dtype="float64", shape=(2, 3, 4), wrong=(1, 2, 3))})


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.h5"
    path.write_bytes(b"this is no HDF5 file")
    return path


def results_of(text):
    report = json.loads(text)
    assert list(report) == ["version", "command", "environment", "results", "summary"]
    assert report["version"] == 1
    assert sum(report["summary"].values()) == len(report["results"])
    return report["results"]
