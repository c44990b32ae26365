# labels: unit grading
# slow processors: 2
# slow labels: fixtures grading
"""`prenorm grade`: what work earns. What is right keeps its points and is accused of nothing; what is
wrong gets none for what is wrong.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from functools import cache, partial

import h5py
import pytest

from grading import of_problems, rubric, side_by_side, variants, write_rubric
from places import ROOT
from submissions import RELU, RIGHT_RELU, folder_of

FIXTURES = ROOT / "fixtures"
PROBLEMS = sorted(path.stem for path in FIXTURES.glob("*.h5"))
EARNED = 1e-9
pytest_plugins = "graded"


@pytest.mark.slow
def test_a_group_that_is_lost_by_one_case_alone_names_it(raw, grade, home, tmp_path):
    source, path = tmp_path / "relu.cpp", tmp_path / "relu.so"
    for end, lost_by in ((131072, "elements_131101_float32"), (65536, None)):  # one case; two
        source.write_text(RELU % f"if (i < {end}) {RIGHT_RELU}")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", source, "-o", path,
                        "-I", home / "include"], check=True)
        words = (path, "--rubric", "all", "--problem", "relu", "--dtype", "float32")
        [item] = grade(*words)["items"]
        assert {group["name"]: group.get("lost_by") for group in item["groups"]} == {
            "float32": lost_by, "empty tensors": None}
    assert ", all but" not in raw(*words).stdout


# Right answers


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference", "plain"])
def test_right_answers_earn_everything(grade, library, name):
    report = grade(library(name), "--rubric", "all", "--seed", 6)
    assert report["exit"] == 0
    assert [r for r in report["results"] if r["status"] != "PASSED"] == []
    assert report["earned"] == report["points"] == 46
    assert sum(r["hidden"] for r in report["results"]) > 600
    assert all(item["diagnoses"] == item["undiagnosed"] == [] for item in report["items"])


@pytest.mark.parametrize("rubric, points", [
    ("cs336-2024", 17), *(pytest.param(rubric, points, marks=pytest.mark.slow) for rubric, points in [
        ("cs336-2025", 24), ("cs336-2026", 25), ("strict", 25)])])
def test_every_rubric_s_points_can_be_earned(grade, library, rubric, points):
    report = grade(library("plain"), "--rubric", rubric)
    assert report["exit"] == 0
    assert report["earned"] == report["points"] == points


@cache
def without_elements(problem):
    """{case: whether an output has no elements}, of the cases that need not be refused."""
    with h5py.File(FIXTURES / f"{problem}.h5") as file:
        return {name: any(y.size == 0 for y in case["outputs"].values())
                for name, case in file["cases"].items() if "error" not in case.attrs}


def test_tensors_without_elements_are_a_group_of_their_own_in_every_rubric():
    guide = re.search(r"```toml\n(title.*?)```", (ROOT / "docs/teaching.md").read_text(), re.S)[1]
    texts = [path.read_text() for path in (FIXTURES / "rubrics").glob("*.toml")]
    rubrics = [tomllib.loads(text) for text in (*texts, guide) if "[[items]]" in text]
    assert len(rubrics) == 7
    for made in rubrics:
        for item in made["items"]:
            for group in item.get("groups", made.get("groups")):
                chosen = [(name, is_empty) for problem in item["problems"]
                          for name, is_empty in without_elements(problem).items()
                          if any(map(partial(fnmatch, name), group.get("cases", ["*"])))
                          and not any(map(partial(fnmatch, name), group.get("except", [])))
                          and name.endswith(tuple(group["dtypes"]))]
                if any(is_empty for _, is_empty in chosen):
                    assert group["name"] in ("empty tensors", "an empty batch"), (made["title"], item["name"], group)
                    others = {name for name, is_empty in chosen if not is_empty}
                    assert all(re.match("batch_of|base_|three_batch|one_mask|empty_mask", name) for name in others), others


@pytest.mark.slow
@pytest.mark.parametrize("seed, chosen", [
    pytest.param(None, set(PROBLEMS), id="all problems"),
    pytest.param(2**64 - 1, set(PROBLEMS[::3]), id="a third, with a seed")])
def test_honest_variants_keep_their_points(grade, library, seed, chosen):
    """Other orders of summation, rsqrt, exp2, float64 inside: never accused, and with a seed they
    pass the hidden cases that it draws."""
    names = variants(library("honest"))
    assert len(names) >= 11
    names = {name: problems & chosen for name, problems in names.items() if problems & chosen}
    assert len(names) >= 5
    words = ["--no-hidden"] if seed is None else ["--seed", seed]

    def check(name):
        return name, grade(f"{library('honest')}/{name}", "--rubric", "all", *words,
                           *of_problems(names[name]), jobs=1)

    hidden = 0
    for name, report in side_by_side(check, names):
        hidden += sum(r["hidden"] for r in report["results"])
        assert not [note for note in report["notes"] if "could not be drawn" in note]
        for item in report["items"]:
            assert item["diagnoses"] == item["undiagnosed"] == [], name
            results = [r for r in report["results"] if r["item"] == item["name"]
                       and "must refuse" not in r["message"]]
            statuses = {r["status"] for r in results}
            assert statuses <= {"PASSED", "NOT_IMPLEMENTED"}, name  # not written for every type
            for group in item["groups"]:
                of_group = [r for r in report["results"] if group["name"] in r["groups"]
                            and r["item"] == item["name"]]
                assert group["passed"] + group["hidden_passed"] == \
                    sum(r["status"] == "PASSED" for r in of_group)
                assert group["earned"] == all(r["status"] == "PASSED" for r in of_group)
    assert hidden == 0 if seed is None else hidden > 1500


@pytest.mark.slow
@pytest.mark.parametrize("seed", [17, 18])
def test_the_handout_s_code_loses_only_what_it_does_not_do(grade, seed):
    """Float32 code as most have it: each thing that it leaves out costs its own group."""
    pytest.importorskip("torch")
    report = grade(folder_of("honest/python_course"), "--python", sys.executable,
                   "--seed", seed)
    lost = {(item["name"], group["name"]) for item in report["items"]
            for group in item["groups"] if not group["earned"]}
    assert lost == {
        ("rope", "far positions"), ("scaled_dot_product_attention", "empty rows"),
        ("multihead_self_attention", "positions of each sequence, repeated"),
        ("multihead_self_attention", "far positions"),
    }
    assert report["earned"] > 0.98 * report["points"]
    named = {d["mistake"] for item in report["items"] for d in item["diagnoses"]}
    # Which form of float32 angles is nearest depends on how the torch of the day rounds a power.
    assert "empty_rows_nan" in named
    assert all(name.startswith("float32_angles") for name in named - {"empty_rows_nan"})


# Wrong answers


# Hidden cases are drawn for one of them. The quick tier has one that is fast.
@pytest.mark.parametrize("variant, rubric", [
    pytest.param(variant, rubric, marks=[pytest.mark.slow] * (
        (variant, rubric) != ("zeros", "cs336-2024")))
    for variant in ("zeros", "constant", "refuses", "nothing", "not_implemented")
    for rubric in ("all", "cs336-2025", "cs336-2024", "cs336-2026", "strict")])
def test_worthless_work_earns_nothing(grade, worthless, variant, rubric):
    hidden = [] if rubric == "cs336-2025" else ["--no-hidden"]
    report = grade(f"{worthless}/{variant}", "--rubric", rubric, *hidden)
    assert report["exit"] == 1
    assert report["earned"] == 0
    for item in report["items"]:
        assert item["earned"] == 0
        assert not any(group["earned"] for group in item["groups"]), item["name"]


@pytest.mark.slow
def test_a_hanging_submission_costs_three_cases_a_problem(raw, worthless):
    done = raw(f"{worthless}/hangs", "--problem", "rmsnorm", "--timeout", "0.3", "--no-hidden",
               "--json", "-")
    results = json.loads(done.stdout)["results"]
    assert {r["status"] for r in results} == {"TIMEOUT"}
    assert sum("not run" not in r["message"] for r in results) == 3
    assert sum("not run" in r["message"] for r in results) == len(results) - 3 > 10


SLOW_AT_LARGE = """
import time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def run_softmax(in_features, dim):
    if float(in_features.max()) > 900:
        compute(60)
    if in_features.ndim == 1:
        compute(0.8)
    return in_features.softmax(dim)
"""
MAIN_AND_LARGE = rubric("One problem", {
    "large": 'dtypes = ["float32", "float64", "bfloat16"]\ncases = ["batch_of_*", "shift_1000_*"]',
    "main": 'share = 9\ndtypes = ["float32"]\ncases = ["batch_of_*", "last_axis_*", "one_axis_*"]'},
    {"softmax": ("softmax", 1)})


@pytest.mark.slow
def test_what_hangs_elsewhere_keeps_what_is_worth_the_most(grade, tmp_path):
    """Time-outs end a problem and come sooner after the first, but for its main group, which may be
    slow."""
    pytest.importorskip("torch")
    (tmp_path / "adapters.py").write_text(SLOW_AT_LARGE)
    report = grade(tmp_path / "adapters.py", "--rubric", write_rubric(tmp_path, MAIN_AND_LARGE), "--python",
                   sys.executable, "--timeout", "2", "--seed", 1, jobs=1)
    [item] = report["items"]
    assert {group["name"]: group["earned"] for group in item["groups"]} == {
        "main": True, "large": False}
    # Those of the main group come after a time-out, and one takes more than a quarter of the limit.
    assert [r["status"] for r in report["results"] if r["hidden"]].count("PASSED") == 3
    late = [r["message"] for r in report["results"] if r["status"] == "TIMEOUT" and not r["hidden"]]
    whole = [message for message in late if message == "no answer within 2 s"]
    shorter = [message for message in late if message.startswith("no answer within 0.5 s, a quarter")]
    assert len(whole) == 1 and len(shorter) == len(late) - 1 > 0


# Rubrics and words


RUBRIC = rubric("One problem", {}, {"softmax": ("softmax", 1)}) + '[[items.groups]]\nname = "group"\n'


@pytest.mark.parametrize("words, complaint", [
    ('cases = ["empty_batch_*"]', "outputs of zeros"),
    ('errors = true\nhidden = false\ncases = ["*_is_an_error_*"]', "outputs of zeros"),
    ('cases = ["withd_7_float32"]', "no case 'withd_7_float32' (did you mean 'width_7_float32'?)"),
    ('cases = ["by_hand_*"]', "none of its cases can be drawn anew"),
    # The one shows zeros, the other can be drawn: neither does both.
    ('cases = ["spike_*", "empty_batch_*"]', "outputs of zeros"),
    ('cases = ["batch_of_*"]\naccepts = ["softmax/log_sum_exp_subtractet"]',
     "no known mistake 'softmax/log_sum_exp_subtractet' (did you mean "
     "'softmax/log_sum_exp_subtracted'?)"),
    ('dtypes = ["float64"]\ncases = ["width_7_*"]', "no case belongs to it"),
])
def test_a_rubric_that_does_not_fit_is_refused(raw, library, tmp_path, words, complaint):
    (tmp_path / "mine.toml").write_text(RUBRIC + words + "\n")
    done = raw(library("plain"), "--rubric", tmp_path / "mine.toml")
    assert done.returncode == 2
    assert complaint in done.stderr and "mine.toml" in done.stderr and "'softmax'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_a_rubric_forbids_is_a_violation(grade, library, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(RUBRIC.replace("[[items]]", 'forbidden = ["exp*", "no_such_*"]\n[[items]]', 1))
    report = grade(library("plain"), "--rubric", path)
    assert report["status"] == "SANDBOX_VIOLATION"
    assert "exp" in report["message"] and report["message"] in report["notes"]
    assert {r["status"] for r in report["results"]} == {"SANDBOX_VIOLATION"}
    assert report["earned"] == 0


FORBIDS = rubric("Two problems", {"float32": 'dtypes = ["float32"]\ncases = ["batch_of_*"]'},
                 {"softmax": ("softmax", 1), "linear": ("linear", 1)},
                 'forbidden = ["torch.softmax", "torch.nn.functional.*", "torch.nn.SiLU"]\n')
WORK = """
import concurrent.futures
import torch
import layers
activation = torch.nn.SiLU()
{}
def run_linear(d_in, d_out, weights, in_features):
    return in_features @ weights.T
"""
BY_LINES = ["torch.nn.functional.silu (layers.py:4)", "torch.softmax (layers.py:5)"]
# {how: (run_softmax, the forbidden calls that are told)}
CALLS = {
    "by a line": ("""
def run_softmax(in_features, dim):
    return layers.softmax(in_features, dim)
""", BY_LINES),
    "in a thread": ("""
def run_softmax(in_features, dim):
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        return threads.submit(layers.softmax, in_features, dim).result()
""", BY_LINES),
    "by no line": ("run_softmax = torch.softmax", ["torch.softmax (by code that has no line here)"]),
}


@pytest.mark.parametrize("how, earns", [
    ("by a line", False), *(pytest.param(*each, marks=pytest.mark.slow) for each in [
        ("by a line", True), ("in a thread", True), ("in a thread", False), ("by no line", False)])])
def test_forbidden_calls_are_told_and_cost_what_the_rubric_says(grade, tmp_path, how, earns):
    pytest.importorskip("torch")
    path = write_rubric(tmp_path, ("" if earns else "forbidden_calls_earn = false\n") + FORBIDS)
    work = tmp_path / "ann"
    work.mkdir()
    softmax, told = CALLS[how]
    (work / "adapters.py").write_text(WORK.format(softmax))
    (work / "layers.py").write_text(
        "import torch\ndef softmax(x, axis):\n    activate = torch.nn.functional.silu\n"
        "    activate(x)\n    return torch.softmax(x, axis)\n")
    report = grade(work, "--rubric", path, "--python", sys.executable, "--seed", 5)
    assert {r["status"] for r in report["results"]} == {"PASSED"}
    assert [note for note in report["notes"] if "forbidden" in note] == [
        *(f"its process says: forbidden call in softmax: {call}" for call in told),
        *["softmax: earns nothing, for it makes forbidden calls"] * (not earns)]
    assert {item["name"]: item["earned"] for item in report["items"]} == {
        "softmax": float(earns), "linear": 1}


@pytest.mark.parametrize("words, complaint", [
    (["nowhere.so"], "nowhere.so"),
    (["x.so", "--rubric", "cs336-20225"], "did you mean 'cs336-2025'?"),
    (["x.so", "--problem", "sofmax"], "did you mean 'softmax'?"),
    (["x.so", "--sandbox", "jail"], "jail"),
    (["x.so", "--json", "-", "--html", "-"], "one report only"),
])
def test_words_that_mean_nothing(raw, words, complaint):
    done = raw(*words)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_the_table_says_what_is_wrong_and_how_to_repeat_it(raw, library):
    done = raw(f"{library('mistakes')}/no_gain", "--problem", "rmsnorm", "--seed", 5)
    assert done.returncode == 1
    named = r"looks like no gain \(all \d+ failing cases\)"
    assert re.search(named, done.stdout)
    assert re.search(r"^rmsnorm +[\d.]+ / 1 ", done.stdout, re.M)
    repeat = shlex.split(re.search(r"repeat: (.+ grade .*--case \S+)", done.stdout).group(1))
    again = raw(*repeat[2:], "--json", "-")
    results = json.loads(again.stdout)["results"]
    assert again.returncode == 1
    assert len(results) == 1 and results[0]["status"] == "INCORRECT_NUMERICAL"


def test_the_report_adds_up(grade, library):
    report = grade(f"{library('mistakes')}/no_gain", "--problem", "rmsnorm", "--seed", 5)
    assert report["command"] == "grade" and report["version"] == 1
    assert sum(report["summary"].values()) == len(report["results"])
    assert report["sandbox"] in ("bubblewrap", "process")
    assert report["kind"] == "library" and report["rubric"] == "cs336-2025"
    [item] = report["items"]
    shares = sum(g["share"] for g in item["groups"])
    earned = sum(g["share"] for g in item["groups"] if g["earned"])
    assert abs(item["earned"] - item["points"] * earned / shares) < EARNED
    for group in item["groups"]:
        for total, passed, hidden in (("total", "passed", False),
                                      ("hidden_total", "hidden_passed", True)):
            cases = [r for r in report["results"]
                     if group["name"] in r["groups"] and r["hidden"] == hidden]
            assert group[total] == len(cases) > 0
            assert group[passed] == sum(r["status"] == "PASSED" for r in cases)
