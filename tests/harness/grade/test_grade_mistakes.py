# labels: unit grading
# slow processors: 2
# slow labels: fixtures grading
"""`prenorm grade` tells a known mistake by its name."""

import itertools
import tomllib
from functools import cache

import h5py
import numpy as np
import pytest

from grading import of_problems, rubric, side_by_side, variants
from places import ROOT, found_some

pytest_plugins = "graded"


@cache
def forms():
    """{mistake: the one that it is a form of}"""
    return {name.split("__")[-1]: words["form_of"]
            for path in found_some((ROOT / "reference/mistakes").glob("*.toml"))
            for name, words in tomllib.loads(path.read_text()).items()
            if isinstance(words, dict) and "form_of" in words}


def form_of(mistake):
    return forms().get(mistake, mistake)


# All that fails is NaN throughout, which is nobody's mistake.
ONLY_NAN = {("ffn_gelu", "nan_far_below"), ("rope", "nan_fills_the_row"),
            ("scaled_dot_product_attention", "maximum_of_first_tile"), ("softmax", "maximum_from_minus_1e4")}


# Cases that no mistake is tried in: diagnosis.cpp bounds the work.
TOO_LARGE = {"ids_beyond_2_24_float16", "seq_65539_float32"}


def nobodys(run, solution, problem, folder):
    """How many cases that a solution answers wrongly no mistake explains: all NaN, or too large."""
    run("verify", "--solution", solution, "--problem", problem, "--save", folder, "--only-failing", code=1)
    [path] = folder.iterdir()
    with h5py.File(path) as file:
        return sum(name in TOO_LARGE
                   or all(np.isnan(y[()].astype(float)).all() for y in case["outputs"].values())
                   for name, case in file["cases"].items() if "outputs" in case)


@pytest.mark.slow
def test_every_known_mistake_is_told_by_its_name(grade, library, run, tmp_path):
    names = variants(library("mistakes"))
    assert sum(len(problems) for problems in names.values()) >= 113

    def diagnose(name):
        return name, grade(f"{library('mistakes')}/{name}", "--rubric", "all", "--no-hidden",
                           *of_problems(names[name]), jobs=1)

    unnamed, partly = [], []
    for name, report in side_by_side(diagnose, names):
        solution = f"{library('mistakes')}/{name}"
        for item in report["items"]:
            [problem] = item["problems"]
            assert item["earned"] < item["points"], f"{problem}: {name} earned everything"
            found = {d["mistake"]: d for d in item["diagnoses"]}
            # By itself, in another form, or beside one that gives the same numbers.
            if form_of(name) not in map(form_of, itertools.chain(found, *(d.get("also", [])
                                                                          for d in found.values()))):
                unnamed.append((problem, name, sorted(found)))
            explained = sum(d["agrees"] for d in found.values())
            of = max((d["of"] for d in found.values()), default=0)
            if explained < of:
                others = nobodys(run, solution, problem, tmp_path / f"{problem}-{name}")
                partly += [(problem, name, explained, others, of)] * (explained + others != of)
    wanted = {(problem, name) for problem, name in ONLY_NAN if name in names}
    assert {(problem, name) for problem, name, _ in unnamed} == wanted, unnamed
    assert not partly, partly


def test_a_mistake_is_told_in_hidden_cases_too(grade, library):
    report = grade(f"{library('mistakes')}/halves", "--rubric", "all", "--problem", "rope",
                   "--seed", 3)
    [item] = report["items"]
    failed = [r for r in report["results"] if r["status"] == "INCORRECT_NUMERICAL"
              and "must refuse" not in r["message"]]
    assert any(r["hidden"] for r in failed)
    [diagnosis] = [d for d in item["diagnoses"] if d["mistake"] == "halves"]
    assert diagnosis["agrees"] == diagnosis["of"] == len(failed)


@pytest.mark.slow
def test_quick_explains_the_first_problem_with_wrong_numbers_alone(grade, library):
    def diagnosed(name, *problems, quick):
        report = grade(f"{library('mistakes')}/{name}", "--rubric", "all", "--no-hidden",
                       *of_problems(problems), *(["--quick"] if quick else []))
        assert all(item["earned"] < item["points"] for item in report["items"])
        # What was not looked for is not said to be unknown.
        assert not quick or all(item["undiagnosed"] == [] for item in report["items"])
        return [(d["problem"], d["mistake"]) for item in report["items"] for d in item["diagnoses"]]

    attention, block = "multihead_self_attention", "transformer_block"
    both = [(attention, "not_causal"), (block, "not_causal")]
    assert diagnosed("not_causal", attention, block, quick=False) == both
    assert diagnosed("not_causal", attention, block, quick=True) == both[:1]


def test_what_is_no_known_mistake_says_so(grade, worthless):
    report = grade(f"{worthless}/constant", "--problem", "softmax", "--no-hidden")
    [item] = report["items"]
    assert item["diagnoses"] == []
    assert item["undiagnosed"] == ["softmax"]


def test_an_accepted_mistake_costs_nothing_in_16_bits_either(grade, library, tmp_path):
    text = rubric("One problem", {}, {"rope": ("rope", 2)})
    for dtype in ("float16", "bfloat16"):
        text += f'[[items.groups]]\nname = "{dtype}"\ndtypes = ["{dtype}"]\n'
        text += 'accepts = ["rope/float32_angles*"]\n' if dtype == "float16" else ""
    (tmp_path / "mine.toml").write_text(text)
    report = grade(f"{library('mistakes')}/float32_angles", "--rubric", tmp_path / "mine.toml")
    [item] = report["items"]
    assert {g["name"]: g["earned"] for g in item["groups"]} == {"float16": True, "bfloat16": False}
    assert {(d["mistake"], d["wrong"]) for d in item["diagnoses"]} == {
        ("float32_angles", "angle = float32(position) * float32(theta^(-2k/d)), in float32")}


def test_what_a_course_allows_costs_the_precise_group_alone(grade, library, tmp_path):
    """Another place of eps is 5e-6 off: beyond the derived tolerance, and within a course's."""
    def graded(bound, *words):
        text = rubric("One problem", {}, {"rmsnorm": ("rmsnorm", 10)}) + bound
        for name, share, more in (("course", 8, ""), ("precise", 1, "within = 1\n"),
                                  ("eps", 1, 'within = 4\ncases = ["eps_one_tenth_*"]\n')):
            text += f'[[items.groups]]\nname = "{name}"\nshare = {share}\ndtypes = ["float32"]\n'
            text += more if "cases" in more else more + 'cases = ["batch_of_*", "three_batch_*"]\n'
        (tmp_path / "mine.toml").write_text(text)
        report = grade(f"{library('mistakes')}/eps_outside_root", "--rubric", tmp_path / "mine.toml", *words)
        [item] = report["items"]
        lost = {group["name"] for group in item["groups"] if not group["earned"]}
        return item, lost, [note for note in report["notes"] if "more than rounding" in note]

    item, lost, [note] = graded("atol = 1e-6\nrtol = 1e-4\n", "--seed", "4")
    assert lost == {"precise", "eps"} and item["earned"] == 8
    assert note.startswith("rmsnorm: in ") and " beyond rounding, by " in note, note
    assert [d["mistake"] for d in item["diagnoses"]] == ["eps_outside_root"]
    assert graded("atol = 1e-6\n", "--no-hidden")[1:] == ({"course", "precise", "eps"}, [])
    assert graded("", "--no-hidden")[1:] == ({"course", "precise", "eps"}, [])


def test_a_group_may_allow_rounding_and_no_mistake(grade, library, tmp_path):
    """`within = 4` counts what is hardly beyond the tolerance, and nothing else."""
    def lost(*groups):
        text = rubric("One problem", {}, {"rmsnorm": ("rmsnorm", 10)}) + "atol = 1e-2\n"
        for name, more in groups:
            text += f'[[items.groups]]\nname = "{name}"\ndtypes = ["float32"]\ncases = ["batch_of_*"]\n{more}\n'
        (tmp_path / "mine.toml").write_text(text)
        report = grade(f"{library('mistakes')}/eps_outside_root", "--rubric", tmp_path / "mine.toml", "--no-hidden")
        return {group["name"] for item in report["items"] for group in item["groups"] if not group["earned"]}

    within = [(f"{times}", f"within = {times}") for times in (1, 4, 50)]
    assert {"1"} <= lost(*within) <= {"1", "4"}
    assert lost(within[0], ("course", "")) == {"1"}
