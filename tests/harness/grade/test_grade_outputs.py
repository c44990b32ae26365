# labels: unit grading
# slow labels: fixtures grading
"""`prenorm grade` of outputs without code: right by one's own fixtures, worth nothing by public ones."""

import shutil

import h5py
import pytest

from places import ROOT

FIXTURES = ROOT / "fixtures"
pytest_plugins = "graded"


def save_outputs(path, problem, dtype=None, leave_out=(), value=lambda name, y: y, fixtures=None):
    """An outputs file with the right answers of the problem's float32 cases."""
    with h5py.File(fixtures or FIXTURES / f"{problem}.h5") as file, h5py.File(path, "w") as out:
        out.attrs["problem"] = problem
        for name, case in file["cases"].items():
            if "outputs" not in case or name in leave_out or not name.endswith("_float32"):
                continue
            for tensor, y in case["outputs"].items():
                out[f"cases/{name}/outputs/{tensor}"] = value(name, y[()]).astype(dtype or "f4")


@pytest.mark.parametrize("dtype", ["f4", "f8"])  # the course's rubric rounds float64
def test_outputs_are_graded_without_code(grade, tmp_path, dtype):
    def spoilt(name, y):
        return y.T if name == "eps_one_tenth_float32" else y + (name == "no_batch_float32")

    save_outputs(tmp_path / "rmsnorm.h5", "rmsnorm", dtype, ["three_batch_axes_float32"], spoilt)
    report = grade(tmp_path / "rmsnorm.h5", "--problem", "rmsnorm")
    status = {r["case"]: r["status"] for r in report["results"]}
    assert status.pop("three_batch_axes_float32") == "NOT_IMPLEMENTED"
    assert status.pop("eps_one_tenth_float32") == "INCORRECT_SHAPE"
    assert status.pop("no_batch_float32") == "INCORRECT_NUMERICAL"
    assert not any(r["hidden"] for r in report["results"])
    assert {status[c] for c in status if c.endswith("_float32")} == {"PASSED"}
    # Everybody has these answers.
    assert report["earned"] == 0
    assert any(note.startswith("outputs earn nothing on public fixtures") for note in report["notes"])


def test_outputs_earn_on_fixtures_of_one_s_own(grade, run, tmp_path):
    run("fixtures", "make", "rmsnorm", "--seed", "8", "--out", tmp_path, code=0)
    own = tmp_path / "rmsnorm.h5"
    save_outputs(tmp_path / "handed_in.h5", "rmsnorm", fixtures=own)
    report = grade(tmp_path / "handed_in.h5", "--problem", "rmsnorm", "--fixtures", own)
    [item] = report["items"]
    earned = {group["name"]: group["earned"] for group in item["groups"]}
    assert earned == {"as the course calls it": True, "same result twice": True, "precise": True,
                      "any batch axes": True, "an empty batch": True, "eps and scale": True,
                      "16 bits, widened to float32": False}
    assert 0 < report["earned"] < item["points"]


@pytest.mark.slow
def test_public_answers_earn_nothing_beside_one_s_own(grade, run, tmp_path):
    """Of an item with two problems, one by own fixtures and one by the shipped ones: groups that ask
    for both are not earned by copying; nor are public answers right for own cases."""
    own, others = "multihead_self_attention", "multihead_self_attention_with_rope"
    run("fixtures", "make", own, "--seed", "8", "--out", tmp_path / "own", code=0)
    fixtures = ["--fixtures", tmp_path / "own" / f"{own}.h5", "--fixtures", FIXTURES / f"{others}.h5"]
    handed_in = tmp_path / "handed_in"
    handed_in.mkdir()
    save_outputs(handed_in / f"{others}.h5", others)

    def earned():
        report = grade(handed_in, "--problem", "multihead_self_attention*", *fixtures)
        [item] = report["items"]
        right = {r["problem"] for r in report["results"] if r["status"] == "PASSED"}
        return {group["name"] for group in item["groups"] if group["earned"]}, right

    save_outputs(handed_in / f"{own}.h5", own, fixtures=tmp_path / "own" / f"{own}.h5")
    assert earned() == ({"as the course calls it"}, {own, others})
    save_outputs(handed_in / f"{own}.h5", own)
    assert earned()[0] == set()


def test_outputs_of_another_type(grade, tmp_path):
    save_outputs(tmp_path / "rmsnorm.h5", "rmsnorm", dtype="f8")
    report = grade(tmp_path / "rmsnorm.h5", "--problem", "rmsnorm", "--dtype", "float32",
                   "--no-hidden", "--rubric", "strict")
    assert {r["status"] for r in report["results"]} == {"INCORRECT_DTYPE"}


@pytest.mark.parametrize("changed", [False, True])
def test_answers_of_a_shipped_fixture_are_public_in_any_file(grade, tmp_path, changed):
    own = tmp_path / "copied.h5"
    shutil.copy(FIXTURES / "rmsnorm.h5", own)
    if changed:  # the same answers in another file
        with h5py.File(own, "r+") as file:
            file["cases/by_hand_float32"].attrs["description"] = "changed"
    save_outputs(tmp_path / "handed_in.h5", "rmsnorm")
    report = grade(tmp_path / "handed_in.h5", "--problem", "rmsnorm", "--fixtures", own)
    assert report["earned"] == 0
    assert any(note.startswith("outputs earn nothing on public fixtures") for note in report["notes"])
