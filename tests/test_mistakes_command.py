"""`prenorm mistakes` of a made-up problem; test_mistakes.py is about the shipped ones."""

import json
import re

from centred import GOOD, make_file


def test_mistakes(prenorm, good):
    out = prenorm("mistakes", "centred", "--fixtures", good)
    assert re.search(r"^  no_bias +1/1 +1/1 +1/1 +- +batch16 and 2 more$", out, re.M)
    # Not written for float16.
    assert re.search(r"^  sum_for_mean +1/1 +1/1 +- +- ", out, re.M)
    assert "3 of 3 mistakes caught (mutation score 100.0 %)" in out


def test_mistakes_of_a_problem_by_option(prenorm, good, tmp_path):
    other = make_file(tmp_path / "other.h5", GOOD, problem="other")
    files = ("--fixtures", good, "--fixtures", other)
    by_option = prenorm("mistakes", "--problem", "centred", *files)
    assert by_option == prenorm("mistakes", "centred", *files) and "no_bias" in by_option


def test_a_mistake_that_no_case_catches(prenorm, tmp_path):
    path = make_file(tmp_path / "weak.h5", {"weak": dict(dtype="float64", shape=(2, 5), scale=1.0)})
    out = prenorm("mistakes", "--fixtures", path, code=1)
    assert re.search(r"no_scale +0/1 .*no case", out) and "2 of 3 mistakes" in out


def test_honest_variants_must_pass(prenorm, good, wrong):
    words = ["mistakes", "--solution", "honest", "--expect-pass", "--fixtures"]
    assert "1 of 1 variant pass" in prenorm(*words, good)
    assert re.search(r"reversed +1/2", prenorm(*words, wrong, code=1))


def test_mistakes_as_json(prenorm, good):
    report = json.loads(prenorm("mistakes", "--fixtures", good, "--json", "-"))
    assert report["command"] == "mistakes"
    assert sum(report["summary"].values()) == len(report["results"])
    variants = {v["name"]: v["dtypes"] for v in report["variants"]}
    assert variants["no_bias"]["float32"] == {"tried": ["batch32"], "caught": ["batch32"]}
    assert {r["solution"] for r in report["results"]} == {
        "mistakes/no_bias", "mistakes/no_scale", "mistakes/sum_for_mean"}
