# labels: unit grading
# slow labels: unit grading
"""Honest Python submissions over every case of every problem that their edition names."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from conftest import slow_but
from grading import grade, python_of, rubric, without_torch
from places import ROOT
from submissions import folder_of

# Which edition, and how many cases pass at least. In python_partial other problems are not done.
HONEST = {"python_torch": (2025, 400), "python_numpy": (2025, 400), "python_2024": (2024, 200),
          "python_repository": (2025, 400), "python_partial": (2025, 100)}


@pytest.mark.parametrize("name", slow_but({"python_numpy"}, HONEST))
def test_every_case_passes(name, tmp_path):
    edition, least = HONEST[name]
    adapters = f"adapters-{edition}.toml"
    shutil.copy(ROOT / "fixtures/rubrics" / adapters, tmp_path)
    problems = tomllib.loads((tmp_path / adapters).read_text())
    (tmp_path / "every.toml").write_text(rubric(
        "Every case", {"all": "errors = true\nhidden = false"}, {each: (each, 1) for each in problems},
        f'adapters = "{adapters}"\n'))
    _, report, printed = grade(folder_of(f"honest/{name}"), "--rubric", tmp_path / "every.toml",
                               "--python", python_of(name, tmp_path), tmp=tmp_path)
    assert report["status"] == "PASSED", printed
    # One mask for all sequences is what the first edition hands over, and what this submission asserts.
    many_masks = [result for result in report["results"] if edition == 2024
                  and result["status"] == "RUNTIME_ERROR" and re.search(r"mask\[\d+, \d+, ", result["shapes"])]
    statuses = Counter(result["status"] for result in report["results"] if result not in many_masks)
    assert statuses.pop("PASSED") >= least, printed
    undone = statuses.pop("NOT_IMPLEMENTED", 0)
    assert not statuses and (undone > 100 if name == "python_partial" else undone == 0), printed
    if name == "python_torch":  # a block or a model with another eps
        assert any(note.startswith("16 cases left out: ") for note in report["notes"]), report["notes"]


WRONG_PART = """
import numpy as np

def run_silu(in_features):
    return in_features / (1 + np.exp(in_features))

def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return (run_silu(in_features @ w1_weight.T) * (in_features @ w3_weight.T)) @ w2_weight.T
"""


def test_a_wrong_part_is_named_though_the_rubric_has_no_points_for_it(tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "adapters.py").write_text(WRONG_PART)
    _, report, printed = grade(folder, "--problem", "ffn_swiglu", "--no-hidden", "--python",
                               without_torch(tmp_path / "venv"), tmp=tmp_path)
    [item] = report["items"]
    [clue] = item["clues"]
    assert clue["law"] == "part" and clue["terms"] == ["silu"], printed
    assert "repair silu first: this is made of it, and it is wrong by itself" in printed


LEAKY = """
import random

calls, kept = 0, {}

def counted(function):
    def call(*given):
        global calls
        calls += 1
        result = function(*given)
        return result * 2 if calls % 7 == 0 else result
    return call

@counted
def run_silu(x):
    return x / (1 + (-x).exp())

@counted
def run_softmax(x, dim):
    return kept.setdefault(tuple(x.shape), x.softmax(dim))

@counted
def run_linear(d_in, d_out, weights, x):
    return x @ weights.T * (1 + random.random())
"""


@pytest.mark.slow
def test_what_is_kept_from_call_to_call_is_judged_alike_each_time(tmp_path):
    """Whatever else the machine does, and on however many threads."""
    (tmp_path / "adapters.py").write_text(LEAKY)
    reports = []
    for jobs in (2, 1, 3):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(jobs - 1)]
        try:
            _, report, printed = grade(tmp_path / "adapters.py", "--problem", "silu", "--problem", "softmax",
                                 "--problem", "linear", "--seed", 5, "--jobs", jobs, tmp=tmp_path)
        finally:
            for each in busy:
                each.kill()
                each.wait()
        for part in (report, *report["results"]):
            part.pop("seconds")
        reports.append(report)
    passed = Counter(result["status"] for result in reports[0]["results"])
    assert passed["PASSED"] > 5 and passed["INCORRECT_NUMERICAL"] > 5
    assert reports[0] == reports[1] == reports[2]
    assert " passes alone in a fresh process: something is kept from call to call" in printed
    assert "gives other numbers in a second call with the same inputs: something is kept from " \
        "call to call, or random (dropout?" in " ".join(printed.split())
    assert "(passes by itself: see above)" in printed
    # Linear loses its point.
    assert printed.index("\nlinear: ") < printed.index("\nsoftmax: ") < printed.index("\nsilu: ")


THREADS = """
import concurrent.futures

import torch

torch.set_num_threads(2)
large = torch.ones(1 << 20)
large.exp()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(int).result()

def run_silu(x):
    large.exp()
    return pool.submit(lambda: (x / (1 + (-x.double()).exp())).to(x.dtype)).result()

def run_softmax(in_features, dim):
    return pool.submit(lambda: in_features.double().softmax(dim).to(in_features.dtype)).result()
"""
NO_COPY = """
import os

os.register_at_fork(before=lambda: os._exit(1))

def run_silu(x):
    return x / (1 + (-x).exp())
"""


@pytest.mark.slow
def test_threads_that_an_import_starts_go_on(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "adapters.py").write_text(THREADS)
    _, report, printed = grade(tmp_path / "adapters.py", "--problem", "silu",
                               "--problem", "softmax", tmp=tmp_path)
    assert {each["status"] for each in report["results"]} == {"PASSED"}, printed


def test_what_cannot_begin_anew_cannot_be_asked(tmp_path):
    (tmp_path / "adapters.py").write_text(NO_COPY)
    _, report, printed = grade(tmp_path / "adapters.py", "--problem", "silu", tmp=tmp_path)
    assert (report["status"], report["message"]) == (
        "LOAD_ERROR", "did not answer after it was loaded"), printed
