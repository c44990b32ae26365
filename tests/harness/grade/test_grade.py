# labels: unit grading
# slow processors: 2
# slow labels: fixtures grading
"""`prenorm grade`: scores, hidden cases, known mistakes.

Work that is right keeps its points and is accused of nothing; work that is wrong gets none for what
is wrong, and a known mistake is told by its name.
"""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path

import h5py
import numpy as np
import pytest

from elf import exports
from grading import rubric, write_rubric
from places import ROOT
from shares import share
from submissions import RELU, RIGHT_RELU, folder_of

SLOW_SHARES = 6  # shares.py

FIXTURES = ROOT / "fixtures"
PROBLEMS = sorted(path.stem for path in FIXTURES.glob("*.h5"))
EARNED = 1e-9


@pytest.fixture(scope="session")
def raw(program):
    """raw(words...): the finished `prenorm grade`."""

    def run(*words, timeout=300):
        return subprocess.run([program, "grade", *map(str, words)], capture_output=True, text=True,
                              cwd=FIXTURES.parent, timeout=timeout)

    return run


@pytest.fixture(scope="session")
def grade(raw):
    """grade(words...): the report in JSON, with the exit code beside it."""

    def run(*words, jobs=2):
        done = raw(*words, "--json", "-", "--jobs", jobs)
        assert done.stdout, done.stderr
        return json.loads(done.stdout) | {"exit": done.returncode}

    return run


@pytest.fixture(scope="session")
def library(home):
    return lambda name: home / "lib" / "prenorm" / f"libprenorm_{name}.so"


@pytest.fixture(scope="session")
def worthless():
    return Path(os.environ["PRENORM_TEST_SOLUTIONS"]) / "libworthless.so"


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


def variants(path):
    """{variant: problems that the collection has it for}"""
    found = defaultdict(set)
    for problem, variant in re.findall(r"\bprenorm_(\w+?)__(\w+)", " ".join(exports(path))):
        found[variant].add(problem)
    return found


def of_problems(names):
    return [word for name in sorted(names) for word in ("--problem", name)]


def side_by_side(work, items):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))


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
    pytest.param("cs336-2024", 17, marks=pytest.mark.slow), ("cs336-2025", 24),
    pytest.param("cs336-2026", 25, marks=pytest.mark.slow),
    pytest.param("strict", 25, marks=pytest.mark.slow)])
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
                    assert all(re.match("batch_of|base_|three_batch|empty_mask", name) for name in others), others


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


# Hidden cases are drawn for one of them. The slow tier has the others.
@pytest.mark.parametrize("variant, rubric", [
    pytest.param(variant, rubric, marks=[pytest.mark.slow] * (
        (variant, rubric) not in (("zeros", "cs336-2025"), ("nothing", "cs336-2024"))))
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


def test_a_hanging_submission_costs_three_cases_a_problem(raw, worthless):
    done = raw(f"{worthless}/hangs", "--problem", "rmsnorm", "--timeout", "0.3", "--no-hidden",
               "--json", "-")
    results = json.loads(done.stdout)["results"]
    assert {r["status"] for r in results} == {"TIMEOUT"}
    assert sum("not run" not in r["message"] for r in results) == 3
    assert sum("not run" in r["message"] for r in results) == len(results) - 3 > 10


SLOW_AT_LARGE = """
import time
def run_softmax(in_features, dim):
    if float(in_features.max()) > 900:
        time.sleep(60)
    return in_features.softmax(dim)
"""
MAIN_AND_LARGE = rubric("One problem", {
    "large": 'dtypes = ["float32", "float64", "bfloat16"]\ncases = ["batch_of_*", "shift_1000_*"]',
    "main": 'share = 9\ndtypes = ["float32"]\ncases = ["batch_of_*", "last_axis_*", "one_axis_*"]'},
    {"softmax": ("softmax", 1)})


@pytest.mark.slow
def test_what_hangs_elsewhere_keeps_what_is_worth_the_most(grade, tmp_path):
    """Time-outs end a problem, but for its main group; after the first they come sooner."""
    pytest.importorskip("torch")
    (tmp_path / "adapters.py").write_text(SLOW_AT_LARGE)
    report = grade(tmp_path / "adapters.py", "--rubric", write_rubric(tmp_path, MAIN_AND_LARGE), "--python",
                   sys.executable, "--timeout", "2", "--seed", 1, jobs=1)
    [item] = report["items"]
    assert {group["name"]: group["earned"] for group in item["groups"]} == {
        "main": True, "large": False}
    late = [r["message"] for r in report["results"] if r["status"] == "TIMEOUT" and not r["hidden"]]
    whole = [message for message in late if message == "no answer within 2 s"]
    shorter = [message for message in late if message.startswith("no answer within 0.5 s, a quarter")]
    assert len(whole) == 1 and len(shorter) == len(late) - 1 > 0


@cache
def forms():
    """{mistake: the one that it is a form of}"""
    return {name.split("__")[-1]: words["form_of"]
            for path in (FIXTURES.parent / "reference/mistakes").glob("*.toml")
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
    names = dict(share(sorted(names.items()), SLOW_SHARES))

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


# Hidden cases


def test_students_see_the_status_of_hidden_cases_only(raw, library, tmp_path):
    student, secret = tmp_path / "student.json", tmp_path / "secret.json"
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    seed = 8123456789012345678
    done = raw(f"{library('mistakes')}/no_eps", "--problem", "rmsnorm", "--seed", seed,
               "--json", student, "--instructor", secret, "--html", page, "--junit", junit)
    assert done.returncode == 1
    told = [r for r in json.loads(student.read_text())["results"] if r["hidden"]]
    known = [r for r in json.loads(secret.read_text())["results"] if r["hidden"]]
    assert len(told) == len(known) > 15
    assert {r["status"] for r in told} == {"PASSED", "INCORRECT_NUMERICAL"}
    for result in told:
        assert result["message"] == "" and result["outputs"] == []
        assert result["dtype"] is result["repeat"] is result["seconds"] is result["shapes"] is None
        assert "drawn_from" not in result
        assert re.fullmatch(r"hidden_\d+", result["case"])
    for result in known:
        assert result["shapes"] and result["drawn_from"] and result["outputs"]
    assert json.loads(secret.read_text())["seed"] == seed
    shown = json.loads(student.read_text())["results"]
    visible = {r["message"] for r in shown}
    # Of values that are kept, not drawn, a hidden case has the same as a visible one.
    values = {str(output["worst_actual"]) for r in known for output in r["outputs"]
              if isinstance(output["worst_actual"], float)}
    values -= {str(output["worst_actual"]) for r in shown for output in r["outputs"]}
    assert len(values) > 10
    messages = {r["message"] for r in known} - visible
    assert len(messages) > 5
    for text in (student.read_text(), page.read_text(), junit.read_text(), done.stdout):
        assert str(seed) not in text
        assert not [value for value in values if len(value) > 8 and value in text]
        assert not [message for message in messages if message in text]


def test_the_seed_and_the_name_alone_decide(raw, library, tmp_path):
    """Two submissions share the sizes; their values are their own."""
    def hidden(seed, jobs, name, submission=library("plain")):
        path = tmp_path / name
        raw(submission, "--problem", "softmax", "--problem", "rope", "--seed", seed,
            "--jobs", jobs, "--instructor", path)
        results = [r for r in json.loads(path.read_text())["results"] if r["hidden"]]
        return ([(r["problem"], r["case"], r["drawn_from"], r["shapes"]) for r in results],
                [[o["worst_expected"] for o in r["outputs"]] for r in results])

    first = hidden(41, 2, "a")
    assert first == hidden(41, 1, "b")
    assert first[0] != hidden(42, 2, "c")[0]
    shared, values = hidden(41, 2, "d", shutil.copy(library("plain"), tmp_path / "neighbour.so"))
    assert shared == first[0]
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / library("plain").name
    again.write_bytes(library("plain").read_bytes() + b"\0")
    assert hidden(41, 2, "e", again)[0] == first[0]
    # Answers that anybody knows, as that to a row of -inf, are everybody's.
    for others in (values, hidden(41, 2, "e", again)[1]):
        alike = sum(own == other for own, other in zip(first[1], others))
        assert alike < len(values) / 10, (alike, len(values))


def test_hidden_cases_have_stored_and_other_sizes(raw, library, tmp_path):
    path = tmp_path / "secret.json"
    raw(library("plain"), "--problem", "linear", "--problem", "embedding", "--problem",
        "transformer_block", "--seed", 9, "--instructor", path)
    results = json.loads(path.read_text())["results"]
    stored = {(r["problem"], r["case"]): r["shapes"] for r in results if not r["hidden"]}
    hidden = [r for r in results if r["hidden"]]
    assert len({r["drawn_from"] for r in hidden if r["problem"] == "linear"}) == \
        sum(r["problem"] == "linear" for r in hidden)
    same = sum(stored[(r["problem"], r["drawn_from"])] == r["shapes"] for r in hidden)
    assert 0 < same < len(hidden)


# Outputs


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
    assert earned == {"as the course calls it": True, "same result twice": True,
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
    *itertools.product(["by a line", "in a thread"], [True, False]), ("by no line", False)])
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
