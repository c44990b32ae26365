# labels: grading
# slow processors: 2
# slow labels: grading
# slow timeout: 3600
"""A wrong submission is told its mistake by name, and an honest one none (tests/submissions/styles)."""

import ast
import re
import sys
import tomllib

import pytest

from elf import exports
from places import SUBMISSIONS

STYLES = SUBMISSIONS / "styles"
sys.path.insert(0, str(STYLES))

import run  # noqa: E402
import submissions  # noqa: E402
import unlisted  # noqa: E402

PAGE = run.ROOT / "docs" / "diagnosis.md"
PYTHON_STYLES = [style for style in submissions.STYLES if style != "cpp"]

# What people get wrong most; of one style with torch and one without.
FEW_STYLES = ["modules", "numpy"]
COMMON = [
    "rope.halves", "rope.exponent_k_over_d", "rope.float32_angles_by_reciprocal",
    "rmsnorm.eps_outside_root", "rmsnorm.no_gain", "softmax.over_last_axis",
    "attention.mask_inverted", "attention.not_scaled", "heads.not_causal",
    "heads_with_rope.rope_across_d_model", "ffn_swiglu.exchanged", "block.post_norm",
]
COMMON_PAIRS = [
    ("rmsnorm", ("rmsnorm.eps_outside_root", "rmsnorm.no_gain")),
    ("rope", ("rope.halves", "rope.exponent_k_over_d")),
    ("scaled_dot_product_attention", ("attention.mask_inverted", "attention.not_scaled")),
    ("multihead_self_attention_with_rope", ("rope.halves", "heads.not_causal")),
]


def judged(tasks):
    results = run.grade_all(tasks)
    return {task: run.judge(task, results[task]) for task in tasks}, results


def missed(verdicts, results):
    """What a message shows of those that were not named right."""
    return "\n".join(f"{task.name}: told {results[task]['problems']}" for task, verdict in verdicts.items()
                     if verdict.seen and not verdict.right)


def check_named(verdicts, results, least):
    right, tried = run.count(verdicts.values())
    assert tried and right >= least * tried, f"{run.share(right, tried)}\n{missed(verdicts, results)}"


def check_unlisted(verdicts, results, least, most_false):
    seen = [verdict for verdict in verdicts.values() if verdict.seen]
    false = {task.name: sorted(verdict.wrong) for task, verdict in verdicts.items() if verdict.wrong}
    assert len(false) <= most_false * len(seen), false
    check_named(verdicts, results, least)


def check_honest(verdicts, results):
    accused = {task.name: sorted(verdict.wrong) for task, verdict in verdicts.items() if verdict.wrong}
    assert not accused
    broken = {task.name: results[task]["message"] for task in verdicts
              if results[task]["status"] != "PASSED"}
    assert not broken


# --- The sources ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("style", PYTHON_STYLES)
def test_every_slip_is_python(style):
    for name in [*submissions.names(style), *submissions.names(style, "habit")]:
        ast.parse(submissions.make(style, [name]), name)


@pytest.mark.parametrize("style", submissions.STYLES)
def test_every_slip_changes_what_its_style_does(style):
    right = submissions.make(style)
    assert not any(submissions.MARK.match(line) for line in right.splitlines())
    for name in [*submissions.names(style), *submissions.names(style, "habit")]:
        assert submissions.make(style, [name]) != right, name


def test_two_slips_of_one_line_are_an_error():
    assert not submissions.compatible("functions", "rmsnorm.no_eps", "rmsnorm.no_root")
    with pytest.raises(ValueError, match="change the same line"):
        submissions.make("functions", ["rmsnorm.no_eps", "rmsnorm.no_root"])
    with pytest.raises(ValueError, match="functions has no rope.nothing"):
        submissions.make("functions", ["rope.nothing"])


def test_every_slip_is_a_known_mistake(home):
    """Of a problem that it concerns."""
    names = " ".join(exports(home / "lib/prenorm/libprenorm_mistakes.so"))
    known = set(re.findall(r"\bprenorm_(\w+?)__(\w+)", names))
    unknown = {slip for style in submissions.STYLES for slip in submissions.names(style)
               if not any((problem, submissions.mistake(slip)) in known for problem in submissions.problems(slip))}
    assert not unknown


def test_the_commonest_slips_are_in_every_style():
    for style in submissions.STYLES:
        assert set(COMMON) <= set(submissions.names(style)), style
        assert len(submissions.names(style)) >= 100, style
    assert sum(len({task.slips for task in run.pairs(style)}) for style in submissions.STYLES) == 40
    assert len(run.HONEST) + len(run.HONEST_FOLDERS) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("style", submissions.STYLES)
def test_a_style_without_slips_is_right(style):
    for rubric in (run.COURSE, "others"):
        told = run.grade(run.Task("honest", style, rubric=rubric))
        assert told["status"] == "PASSED", told["message"]
        assert not told["problems"]


def test_every_label_is_of_a_statement():
    """Of one that is changed into a mistake that is not on the list."""
    labels = {(component, function, name) for component, functions in unlisted.LABELS.items()
              for function, of in functions.items() for name in of}
    assert labels == {(component, function, unlisted.assigned(statement)) for style in unlisted.STYLES
                      for component, function, _, statement, *_ in unlisted.labelled(style)}


def test_laws_and_labels_speak_of_the_same_terms():
    declared = {}
    for path in sorted((run.ROOT / "harness/explain/laws").glob("*.toml")):
        laws = tomllib.loads(path.read_text())
        used = {term for kind in ("law", "right_where", "wrong_where") for one in laws.get(kind, {}).values()
                for term in one["terms"]}
        assert used <= set(laws["terms"]), path.name
        declared |= {problem: set(laws["terms"]) for problem in laws["problems"]}
    assert set(declared) == {path.stem for path in (run.ROOT / "fixtures").glob("*.h5")}
    for component, functions in unlisted.LABELS.items():
        labels = {term for of in functions.values() for terms in of.values() for one in [terms]
                  for term in (one if isinstance(one, str) else " ".join(one)).split()}
        known = set().union(*(declared[problem] for problem in unlisted.PROBLEMS[component].split()))
        assert labels <= known, (component, labels - known)


CLUE = {"eps": ["eps"], "gain": ["gain"], "a part": ["rmsnorm"], "another part": ["residual1"]}


@pytest.mark.parametrize("problem, clues, mistake, expected", [
    ("rmsnorm", [], None, "silent"),
    ("rmsnorm", ["eps"], None, "right"),
    ("rmsnorm", ["gain"], None, "false"),
    ("rmsnorm", ["eps", "gain"], None, "false"),
    ("rmsnorm", [], "eps_outside_root", "right"),
    ("rmsnorm", [], "no_gain", "false"),
    ("transformer_block", ["a part"], None, "right"),
    ("transformer_block", ["another part"], None, "false"),
    ("transformer_block", ["a part", "another part"], None, "right"),
    ("transformer_block", [], "no_eps", "right"),
    ("transformer_block", [], "no_gain", "false"),
    ("transformer_block", [], "no_first_residual", "false"),
])
def test_what_is_told_of_an_unlisted_mistake_is_judged(problem, clues, mistake, expected):
    mutant = unlisted.Mutant("functions", "rmsnorm", "rmsnorm", "operator", ("eps", "root"), 0, "", "", "",
                             ("rmsnorm",), ("rmsnorm", "transformer_block"))
    told = {"failed": {"INCORRECT_NUMERICAL": 2}, "properties": [],
            "clues": [{"terms": CLUE[clue]} for clue in clues],
            "diagnoses": [{"mistake": mistake, "agrees": 1, "of": 2}] * bool(mistake)}
    verdict = run.judge(run.Task("unlisted", "functions", mutant=mutant), {"problems": {problem: told}})
    assert ("false" if verdict.wrong else "right" if verdict.right else "silent") == expected


# --- What is told ---------------------------------------------------------------------------------


ALONE = [run.Task("alone", style, (slip,), (), tuple(submissions.problems(slip)), run.COURSE)
         for style in FEW_STYLES for slip in COMMON][::7]
PAIRS = [run.Task("pair", FEW_STYLES[i % 2], pair, (), (problem,), run.COURSE)
         for i, (problem, pair) in enumerate(COMMON_PAIRS)]


def test_common_mistakes_are_named():
    """Some; the others are among all of it, below."""
    check_named(*judged(ALONE), 0.97)


@pytest.mark.parametrize("tasks", [
    pytest.param(PAIRS[:1], id="few"), pytest.param(PAIRS[1:], id="all", marks=pytest.mark.slow)])
def test_two_mistakes_are_both_named(tasks):
    check_named(*judged(tasks), 0.8)


@pytest.mark.slow
def test_an_honest_submission_is_told_no_mistake():
    check_honest(*judged([run.Task("honest", "numpy", (), run.BESIDE, (), run.COURSE, 1)]))


@pytest.mark.slow
def test_all_of_it():
    """And the page in docs/ says so."""
    verdicts, results = judged([task for kind in run.KINDS for task in run.tasks(kind)])

    def of(kind):
        return {task: verdict for task, verdict in verdicts.items() if task.kind == kind}

    check_named(of("alone"), results, 0.97)
    check_named(of("pair"), results, 0.8)
    check_unlisted(of("unlisted"), results, 0.85, 0.01)
    check_honest(of("honest"), results)
    made = run.home() / "diagnosis.md"
    made.write_text(run.table(verdicts))
    assert made.read_text() == PAGE.read_text(), f"it is {made}"
