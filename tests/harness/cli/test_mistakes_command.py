"""`prenorm mistakes` of a made-up problem; test_mistakes.py is about the shipped ones."""

import json
import re

import pytest
from centred import GOOD, make_file


def test_mistakes(prenorm, good):
    out = prenorm("mistakes", "centred", "--fixtures", good)
    row = r"^  no_bias +1/1 +1/1 +1/1 +-\n    no bias\n    caught by batch16 and 2 more$"
    assert re.search(row, out, re.M)
    # Not written for float16.
    assert re.search(r"^  sum_for_mean +1/1 +1/1 +- +-$", out, re.M)
    assert "3 of 3 mistakes caught (mutation score 100.0 %)" in out
    verbose = prenorm("mistakes", "centred", "--fixtures", good, "--verbose")
    assert re.search("^    caught by batch16, batch32, single64$", verbose, re.M)


@pytest.fixture
def shipped(run):
    """shipped(words..., width=80): what is said of shipped mistakes on a terminal of that width."""

    def call(*words, width=80):
        said = run("mistakes", "--dtype", "float16", *words, COLUMNS=width).stdout
        assert max(map(len, said.splitlines())) <= width
        return said

    return call


@pytest.mark.parametrize("width", [60, 80])
def test_mistakes_of_several_problems(shipped, width):
    """One line each, or two where the name is long."""
    out = shipped("rmsnorm", "softmax", width=width)
    assert re.search(r"^mistake +caught  looks like$", out, re.M)
    assert re.search(r"^rmsnorm$", out, re.M) and re.search(r"^softmax$", out, re.M)
    assert re.search(r"^  no_eps +\d+/\d+ +no eps$", out, re.M)
    assert re.search(r" wrong_axis \d+/\d+ the mean over the first axis ", " ".join(out.split()))
    assert re.search(r"^  log_sum_exp_subtracted +- +exp\(x - logsumexp\)$", out, re.M), "not in float16"
    assert "Your code" not in out and "caught by" not in out


@pytest.mark.parametrize("width", [80, 100])
def test_the_mistakes_of_one_problem_are_explained(shipped, width):
    out = " ".join(shipped("rmsnorm", width=width).split())
    assert re.search(r" no_eps - - \d+/\d+ - no eps Your code leaves eps out: it", out)
    assert re.search(r"It should divide by sqrt\(mean\(x\^2\) \+ eps\)\. right: x / sqrt\(mean\(x\^2\) \+ eps\) \* weight "
                     r"wrong: x / sqrt\(mean\(x\^2\)\) \* weight caught by \w+ and \d+ more ", out)
    verbose = " ".join(shipped("rmsnorm", "softmax", "--verbose", width=width).split())
    assert re.search(r"What is the result for a row of zeros\? caught by \w+, \w+, ", verbose)


def test_mistakes_of_a_problem_by_option(prenorm, good, tmp_path):
    other = make_file(tmp_path / "other.h5", GOOD, problem="other")
    files = ("--fixtures", good, "--fixtures", other)
    by_option = prenorm("mistakes", "--problem", "centred", *files)
    assert by_option == prenorm("mistakes", "centred", *files) and "no_bias" in by_option


def test_a_mistake_that_no_case_catches(prenorm, tmp_path):
    path = make_file(tmp_path / "weak.h5", {"weak": dict(dtype="float64", shape=(2, 5), scale=1.0)})
    out = prenorm("mistakes", "--fixtures", path, code=1)
    assert re.search(r"no_scale +0/1 .*\n    no scale\n    no case catches it$", out, re.M) and "2 of 3 mistakes" in out


def test_honest_variants_must_pass(prenorm, good, wrong):
    words = ["mistakes", "--solution", "honest", "--expect-pass", "--fixtures"]
    assert "1 of 1 variant pass" in prenorm(*words, good)
    assert re.search(r"reversed +1/2", prenorm(*words, wrong, code=1))


def test_mistakes_as_json(prenorm, good):
    report = json.loads(prenorm("mistakes", "--fixtures", good, "--json", "-"))
    assert report["command"] == "mistakes"
    assert sum(report["summary"].values()) == len(report["results"])
    variants = {v["variant"]: v["dtypes"] for v in report["variants"]}
    assert variants["no_bias"]["float32"] == {"tried": ["batch32"], "caught": ["batch32"]}
    assert {r["solution"] for r in report["results"]} == {
        "mistakes/no_bias", "mistakes/no_scale", "mistakes/sum_for_mean"}
    assert {v["name"] for v in report["variants"]} == {"no bias", "no scale", "sum for mean"}


def test_words_as_json(run):
    told = run("mistakes", "rmsnorm", "--dtype", "float16", "--json", "-").stdout
    words = {v["variant"]: v for v in json.loads(told)["variants"]}["no_eps"]
    assert words["problem"] == "rmsnorm" and words["name"] == "no eps"
    assert words["sentence"].startswith("Your code leaves eps out") and words["hint"].endswith("zeros?")
    assert "eps" in words["right"] and "eps" not in words["wrong"]
