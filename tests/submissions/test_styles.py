# labels: grading
# processors: 2
# slow labels: grading
# slow timeout: 3600
"""A wrong submission is told its mistake by name, and an honest one none (tests/styles)."""

import ast
import re
import sys

import pytest

from places import ROOT

STYLES = ROOT / "tests/styles"
sys.path.insert(0, str(STYLES))

import run  # noqa: E402
import slips  # noqa: E402

PAGE = run.ROOT / "docs" / "diagnosis.md"
PYTHON_STYLES = [style for style in slips.STYLES if style != "cpp"]

# What people get wrong most, for the quick tier: of one style with torch and one without.
QUICK_STYLES = ["modules", "numpy"]
QUICK = [
    "rope.halves", "rope.exponent_k_over_d", "rope.float32_angles_by_reciprocal",
    "rmsnorm.eps_outside_root", "rmsnorm.no_gain", "softmax.over_last_axis",
    "attention.mask_inverted", "attention.not_scaled", "heads.not_causal",
    "heads_with_rope.rope_across_d_model", "ffn_swiglu.exchanged", "block.post_norm",
]
QUICK_PAIRS = [
    ("rmsnorm", ("rmsnorm.eps_outside_root", "rmsnorm.no_gain")),
    ("rope", ("rope.halves", "rope.exponent_k_over_d")),
    ("scaled_dot_product_attention", ("attention.mask_inverted", "attention.not_scaled")),
    ("multihead_self_attention_with_rope", ("rope.halves", "heads.not_causal")),
]
QUICK_HONEST = [("modules", run.BESIDE), ("numpy", run.BESIDE), ("numpy", ())]


def judged(tasks, state=None):
    results = run.grade_all(tasks, run.State(state))
    return {task: run.judge(task, results[task]) for task in tasks}, results


def missed(verdicts, results):
    """What a message shows of those that were not named right."""
    return "\n".join(f"{task.name}: told {results[task]['problems']}" for task, verdict in verdicts.items()
                     if verdict.seen and not verdict.right)


def check_named(verdicts, results, least):
    right, tried = run.count(verdicts.values())
    assert tried and right >= least * tried, f"{run.share(right, tried)}\n{missed(verdicts, results)}"


def check_honest(verdicts, results):
    accused = {task.name: sorted(verdict.wrong) for task, verdict in verdicts.items() if verdict.wrong}
    assert not accused
    broken = {task.name: results[task]["message"] for task in verdicts
              if results[task]["status"] != "PASSED"}
    assert not broken


# --- The sources ----------------------------------------------------------------------------------


@pytest.mark.parametrize("style", PYTHON_STYLES)
def test_every_slip_is_python(style):
    for name in [*slips.names(style), *slips.names(style, "habit")]:
        ast.parse(slips.make(style, [name]), name)


@pytest.mark.parametrize("style", slips.STYLES)
def test_every_slip_changes_what_its_style_does(style):
    right = slips.make(style)
    assert not any(slips.MARK.match(line) for line in right.splitlines())
    for name in [*slips.names(style), *slips.names(style, "habit")]:
        assert slips.make(style, [name]) != right, name


def test_two_slips_of_one_line_are_an_error():
    assert not slips.compatible("functions", "rmsnorm.no_eps", "rmsnorm.no_root")
    with pytest.raises(ValueError, match="change the same line"):
        slips.make("functions", ["rmsnorm.no_eps", "rmsnorm.no_root"])
    with pytest.raises(ValueError, match="functions has no rope.nothing"):
        slips.make("functions", ["rope.nothing"])


def test_every_slip_is_a_known_mistake():
    """Of a problem that it concerns."""
    known = set()
    for path in (run.ROOT / "reference/mistakes").glob("*.cpp"):
        known |= set(re.findall(r"EXPORT_MISTAKE\(\s*(\w+),\s*(\w+)", path.read_text()))
    unknown = {slip for style in slips.STYLES for slip in slips.names(style)
               if not any((problem, slips.mistake(slip)) in known for problem in slips.problems(slip))}
    assert not unknown


def test_the_commonest_slips_are_in_every_style():
    for style in slips.STYLES:
        assert set(QUICK) <= set(slips.names(style)), style
        assert len(slips.names(style)) >= 100, style
    assert sum(len({task.slips for task in run.pairs(style)}) for style in slips.STYLES) == 60
    assert len(run.HONEST) + len(run.HONEST_FOLDERS) >= 30


@pytest.mark.parametrize("style", [pytest.param(style, marks=[pytest.mark.slow] * (style not in QUICK_STYLES))
                                   for style in slips.STYLES])
def test_a_style_without_slips_is_right(style):
    for rubric in (run.COURSE, "others"):
        told = run.grade(run.Task("honest", style, rubric=rubric))
        assert told["status"] == "PASSED", told["message"]
        assert not told["problems"]


# --- What is told ---------------------------------------------------------------------------------


def test_common_mistakes_are_named():
    tasks = [run.Task("alone", style, (slip,), (), tuple(slips.problems(slip)), run.COURSE)
             for style in QUICK_STYLES for slip in QUICK]
    check_named(*judged(tasks), 0.97)


def test_two_mistakes_are_both_named():
    tasks = [run.Task("pair", QUICK_STYLES[i % 2], pair, (), (problem,), run.COURSE)
             for i, (problem, pair) in enumerate(QUICK_PAIRS)]
    check_named(*judged(tasks), 0.8)


def test_honest_submissions_are_told_no_mistake():
    tasks = [run.Task("honest", style, (), habits, (), run.COURSE, 1) for style, habits in QUICK_HONEST]
    check_honest(*judged(tasks))


@pytest.mark.slow
def test_all_of_it():
    """Everything, and the page in docs/ says so. What is graded is kept in the build tree."""
    state = run.home() / "styles.jsonl"
    run.keep_libraries(state)
    verdicts, results = judged([task for kind in ("alone", "pair", "honest") for task in run.tasks(kind)], state)

    def of(kind):
        return {task: verdict for task, verdict in verdicts.items() if task.kind == kind}

    check_named(of("alone"), results, 0.97)
    check_named(of("pair"), results, 0.8)
    check_honest(of("honest"), results)
    assert run.table(verdicts) == PAGE.read_text(), \
        f"write it again: tests/styles/run.py --state {state} --table docs/diagnosis.md"
