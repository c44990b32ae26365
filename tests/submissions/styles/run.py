#!/usr/bin/env python3
"""Grades submissions with known mistakes, and honest ones, and looks at what they are told.

    PRENORM_PROGRAM=build/release/bin/prenorm python3 tests/submissions/styles/run.py --kind alone --slip rope.halves

`--table docs/diagnosis.md`, of all kinds, writes the page; so does test_styles.py, which grades the same.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

import submissions  # noqa: E402
import unlisted  # noqa: E402
from grading import without_torch  # noqa: E402
from places import ROOT, found_some  # noqa: E402

OTHERS = HERE / "others.toml"
COURSE = "cs336-2025"


def program():
    return Path(os.environ.get("PRENORM_PROGRAM", ROOT / "build/release/bin/prenorm"))


def home():
    return Path(os.environ.get("PRENORM_HOME", program().parent.parent))


# --- What there is to grade -----------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A submission to grade, and what it may be told."""

    kind: str  # "alone", "pair", "unlisted" or "honest"
    style: str  # of submissions.STYLES, or a folder below tests/submissions
    slips: tuple = ()
    habits: tuple = ()
    problems: tuple = ()  # none: all of the rubric
    rubric: str = COURSE
    seed: int | None = None  # of hidden cases; none: the visible ones alone
    allowed: tuple = field(default=(), compare=False)  # mistakes that an honest one has all the same
    mutant: unlisted.Mutant | None = None

    @property
    def text(self):
        """A style's source with what is switched on."""
        return self.mutant.text if self.mutant else submissions.make(self.style, (*self.slips, *self.habits))

    @property
    def name(self):
        parts = [self.kind, self.style, "+".join(self.slips), "+".join(self.habits), self.rubric]
        if self.mutant:
            parts[2:] = [self.mutant.component, self.mutant.after]
        return " ".join(str(part) for part in (*parts, self.seed) if part not in ("", None))


def rubric_of(problems):
    """The rubric that has these problems."""
    others = {item["problems"][0] for item in tomllib.loads(OTHERS.read_text())["items"]}
    return "others" if set(problems) <= others else COURSE


# What many honest submissions have: NaN where a query attends to nothing, and angles in float32, each
# style in the form that it would be written in. (C++ has no NaN of its own there.)
BESIDE = ("empty_rows_nan", "float32_angles")


def beside(style, on):
    """The habits that a submission with the slips `on` has beside them, where lines allow it."""
    return tuple(habit for habit in BESIDE
                 if habit in submissions.names(style, "habit")
                 and all(submissions.compatible(style, slip, habit) for slip in on))


# Slips that the course's points do not see: they are graded by all cases.
SEEN_BY_ALL_CASES = {"embedding.ids_in_float16", "embedding.ids_in_16_bits",
                     "rmsnorm.eps_at_least_1e_6", "rmsnorm.eps_0_is_default"}


def alone(style):
    for slip in submissions.names(style):
        problems = tuple(submissions.problems(slip))
        if style_of(slip) != style:
            continue
        if slip in SEEN_BY_ALL_CASES:
            yield Task("alone", style, (slip,), (), problems[:1], "strict")
            continue
        yield Task("alone", style, (slip,), (), problems, rubric_of(problems))
        habits = beside(style, [slip])
        if habits and set(problems) & CONCERNED:
            yield Task("alone", style, (slip,), habits, problems, rubric_of(problems))


def style_of(slip):
    """The one that a slip is graded in, another for each: what is told comes from numbers, which change little
    from style to style."""
    every = list(dict.fromkeys(name for one in submissions.STYLES for name in submissions.names(one)))
    styles = [one for one in submissions.STYLES if slip in submissions.names(one)]
    return styles[every.index(slip) % len(styles)]


# Problems whose numbers the habits of BESIDE change.
CONCERNED = {"rope", "scaled_dot_product_attention", "multihead_self_attention_with_rope"}

# Two slips of different steps of one problem, each seen beside the other; for each style some are
# drawn of those that it has.
PAIRS = {
    "rmsnorm": [
        ("rmsnorm.eps_outside_root", "rmsnorm.no_gain"),
        ("rmsnorm.sum_for_mean", "rmsnorm.gain_one_plus_weight"),
        ("rmsnorm.mean_subtracted", "rmsnorm.no_gain"),
        ("rmsnorm.no_eps", "rmsnorm.gain_one_plus_weight"),
        ("rmsnorm.mean_subtracted", "rmsnorm.eps_outside_root"),
        ("rmsnorm.no_root", "rmsnorm.no_gain"),
    ],
    "rope": [
        ("rope.halves", "rope.turned_the_other_way"),
        ("rope.halves", "rope.exponent_k_over_d"),
        ("rope.halves", "rope.position_plus_one"),
        ("rope.exponent_k_over_d", "rope.turned_the_other_way"),
        ("rope.exponent_k_over_d", "rope.position_plus_one"),
        ("rope.written_as_halves", "rope.exponent_k_over_d"),
        ("rope.theta_fixed", "rope.halves"),
        ("rope.positions_ignored", "rope.halves"),
    ],
    "softmax": [
        ("softmax.wrong_axis", "softmax.no_maximum"),
        ("softmax.over_last_axis", "softmax.no_maximum"),
        ("softmax.over_first_axis", "softmax.one_maximum_for_all"),
        ("softmax.over_last_axis", "softmax.logarithm"),
    ],
    "ffn_swiglu": [
        ("ffn_swiglu.exchanged", "ffn_swiglu.sigmoid_gate"),
        ("ffn_swiglu.exchanged", "ffn_swiglu.relu_gate"),
    ],
    "scaled_dot_product_attention": [
        ("attention.mask_inverted", "attention.not_scaled"),
        ("attention.mask_added", "attention.not_scaled"),
        ("attention.mask_inverted", "attention.divided_by_d_k"),
        ("attention.mask_inverted", "attention.softmax_over_queries"),
        ("attention.not_scaled", "attention.softmax_over_queries"),
        ("attention.hidden_scores_zero", "attention.not_scaled"),
        ("attention.mask_ignored", "attention.not_scaled"),
        ("attention.divided_by_sqrt_d_v", "attention.mask_inverted"),
    ],
    "multihead_self_attention": [
        ("heads.not_causal", "heads.heads_without_transpose"),
        ("heads.mask_inverted", "heads.no_output_projection"),
        ("heads.not_causal", "heads.no_output_projection"),
        ("heads.strictly_causal", "heads.heads_without_transpose"),
        ("heads.heads_without_transpose", "attention.not_scaled"),
        ("heads.not_causal", "attention.not_scaled"),
        ("heads.mask_inverted", "attention.not_scaled"),
        ("heads.heads_interleaved", "heads.not_causal"),
    ],
    "multihead_self_attention_with_rope": [
        ("rope.halves", "heads.not_causal"),
        ("rope.exponent_k_over_d", "heads.not_causal"),
        ("rope.halves", "heads.heads_without_transpose"),
        ("rope.halves", "attention.not_scaled"),
        ("heads_with_rope.rope_on_q_alone", "heads.not_causal"),
        ("heads_with_rope.rope_on_v", "rope.halves"),
        ("heads_with_rope.rope_across_d_model", "heads.not_causal"),
        ("heads_with_rope.no_rope", "heads.mask_inverted"),
        ("rope.turned_the_other_way", "heads_with_rope.rope_on_q_alone"),
        ("rope.halves", "heads.no_output_projection"),
    ],
    "transformer_block": [
        ("block.post_norm", "rope.halves"),
        ("block.no_first_residual", "ffn_swiglu.exchanged"),
        ("block.post_norm", "ffn_swiglu.sigmoid_gate"),
        ("block.no_second_residual", "heads.not_causal"),
        ("block.one_norm_for_both", "rope.halves"),
        ("block.no_rope", "ffn_swiglu.exchanged"),
        ("block.ffn_of_x", "heads.not_causal"),
        ("rmsnorm.no_gain", "ffn_swiglu.exchanged"),
    ],
}
PAIRS_PER_STYLE = 8


def pairs(style):
    """Drawn by the style's name: every style has its own."""
    there = set(submissions.names(style))
    possible = [(problem, pair) for problem, several in PAIRS.items() for pair in several
                if there.issuperset(pair) and submissions.compatible(style, *pair)]
    drawn = random.Random(style).sample(possible, min(PAIRS_PER_STYLE, len(possible)))
    for problem, pair in sorted(drawn, key=possible.index):
        yield Task("pair", style, pair, (), (problem,), rubric_of([problem]))
        if problem in CONCERNED and (habits := beside(style, pair)):
            yield Task("pair", style, pair, habits, (problem,), rubric_of([problem]))


# Habits of honest code, a submission each; what such code has in common with known mistakes.
HONEST = [
    ("modules", ()), ("modules", BESIDE), ("modules", ("functional", "nan_to_num")), ("modules", ("sqrt",)),
    ("modules", ("weights_in_t", "table_in_t")), ("modules", ("heads_apart", "inferred_heads")),
    ("functions", ()), ("functions", BESIDE), ("functions", ("functional",)),
    ("functions", ("float64_inside",)), ("functions", ("sqrt", "by_hand", "fused")),
    ("functions", ("pairwise", "log_sum_exp", "nan_to_num")),
    ("functions", ("rounded_before_gain", "weights_in_t")), ("functions", ("torch_2",)),
    ("einsum", ()), ("einsum", BESIDE), ("einsum", ("float64_inside",)),
    ("einsum", ("functional", "empty_rows_nan")), ("einsum", ("frozen_sizes", "by_hand")),
    ("numpy", ()), ("numpy", BESIDE), ("numpy", ("float64_inside",)), ("numpy", ("pairwise",)),
    ("cpp", ()), ("cpp", BESIDE), ("cpp", ("float64_inside",)), ("cpp", ("pairwise",)),
]
ALLOWED_BY_HABIT = {
    "empty_rows_nan": ["empty_rows_nan"],
    "float32_angles": ["float32_angles"],
    "rounded_before_gain": ["rounded_before_gain"],
    "weights_in_t": ["exponentials_in_t"],
    "table_in_t": ["table_in_t", "float32_angles"],
    "log_sum_exp": ["log_sum_exp_subtracted"],
    "torch_2": ["empty_rows_nan"],  # what is called there gives NaN in some versions
}
# Whole submissions of the tests: the rubric, and what they have in common with known mistakes.
EMPTY_ROWS, FAR = ["empty_rows_nan", "empty_rows_averaged"], ["float32_angles"]
HONEST_FOLDERS = {
    "honest/python_torch": (COURSE, []),
    "honest/python_numpy": (COURSE, []),
    "honest/python_2024": ("cs336-2024", []),
    "honest/python_course": (COURSE, EMPTY_ROWS + FAR),
    "class/functional_core": (COURSE, EMPTY_ROWS + FAR),
    "class/src_layout": (COURSE, EMPTY_ROWS + FAR),
    "class/three_axes": (COURSE, EMPTY_ROWS + FAR),
    "class/complex_numbers": (COURSE, EMPTY_ROWS + FAR),
    "class/newer_syntax_tokenizer": (COURSE, EMPTY_ROWS + FAR),
    "class/flat_modules": (COURSE, EMPTY_ROWS + FAR),
    "class/float_mask": (COURSE, EMPTY_ROWS + FAR + ["rounded_before_gain", "positions_of_batch_ignored"]),
    "class/finite_mask": (COURSE, EMPTY_ROWS + FAR + ["sentinel_minus_1e9"]),
    "class/terse": (COURSE, []),
}


def honest():
    """Each submission by the course's rubric; one of each style also by all cases and in 16 bits, where more is
    lost."""
    for style, habits in HONEST:
        allowed = tuple(name for habit in habits for name in ALLOWED_BY_HABIT.get(habit, []))
        for seed, rubric in ((1, COURSE), (2, "strict"))[:1 + (habits == BESIDE)]:
            yield Task("honest", style, (), habits, (), rubric, seed, allowed)
    for folder, (rubric, allowed) in HONEST_FOLDERS.items():
        yield Task("honest", folder, (), (), (), rubric, 1, tuple(allowed))


@cache
def drawn(count=100, seed=1):
    """Mistakes that are not on the list: {"mutants": [...], "raised": {component: number}}."""
    command = [python(), "-W", "ignore", HERE / "unlisted.py", "--json", str(count), "--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return found | {"mutants": [unlisted.Mutant.read(each) for each in found["mutants"]]}


def planted(mutant):
    """By the rubric that has its own problem, all that fails there."""
    rubric = rubric_of(mutant.own)
    problems = tuple(problem for problem in mutant.failing if rubric_of([problem]) == rubric)
    return Task("unlisted", mutant.style, problems=problems, rubric=rubric, mutant=mutant)


KINDS = ("alone", "pair", "unlisted", "honest")


def tasks(kind, *count_and_seed):
    if kind == "honest":
        return list(honest())
    if kind == "unlisted":
        return [planted(mutant) for mutant in drawn(*count_and_seed)["mutants"]]
    return [task for style in submissions.STYLES for task in (alone if kind == "alone" else pairs)(style)]


# --- Grading --------------------------------------------------------------------------------------


def python():
    return os.environ.get("PRENORM_TEST_PYTHON", sys.executable)


@cache
def interpreter_without_torch():
    return without_torch(submissions.made() / "without_torch")


def interpreter(task):
    return interpreter_without_torch() if task.style in ("numpy", "honest/python_numpy") else python()


def build(text, folder):
    """A library of the one source of a C++ submission, not optimized: to compile it takes longer than
    to run it."""
    source, library = folder / "solution.cpp", folder / "solution.so"
    source.write_text(text)
    includes = [f"-I{path}" for path in (home() / "include", ROOT / "harness/include") if path.is_dir()]
    subprocess.run(["c++", "-std=c++20", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", *includes,
                    source, "-o", library], check=True)
    return library


def submission(task, folder):
    if task.style not in submissions.STYLES:
        return submissions.folder_of(task.style)
    if task.style == "cpp":
        return build(task.text, folder)
    (folder / "adapters.py").write_text(task.text)
    return folder


def grade(task):
    """What a task's submission was told: {"problems": {problem: ...}}."""
    with tempfile.TemporaryDirectory(prefix="styles-") as scratch:
        scratch = Path(scratch)
        (scratch / "made").mkdir()
        report = scratch / "report.json"
        rubric = str(OTHERS) if task.rubric == "others" else task.rubric
        command = [program(), "grade", submission(task, scratch / "made"), "--no-color", "--rubric", rubric,
                   "--python", interpreter(task), "--jobs", "1", "--json", report]
        command += ["--no-hidden"] if task.seed is None else ["--seed", task.seed]
        command += [word for problem in task.problems for word in ("--problem", problem)]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=900, env={**os.environ, "TMPDIR": str(scratch)})
        if not report.exists():
            raise RuntimeError(f"{task.name}: {done.stdout}{done.stderr}")
        return told(json.loads(report.read_text()))


def told(report):
    """The part of a report that is judged."""
    failed = defaultdict(lambda: defaultdict(int))
    for result in report["results"]:
        if result["status"] not in ("PASSED", "NOT_IMPLEMENTED"):
            failed[result["problem"]][result["status"]] += 1
    of = defaultdict(lambda: {"failed": {}, "diagnoses": [], "properties": [], "clues": []})
    for problem, statuses in failed.items():
        of[problem]["failed"] = dict(statuses)
    for item in report["items"]:
        for key in ("diagnoses", "properties", "clues"):
            for one in item.get(key, []):
                of[one["problem"]][key].append(one)
    return {"status": report["status"], "message": report["message"], "problems": dict(of)}


def grade_all(wanted, jobs=2, progress=None):
    """{task: what it was told}"""
    for task in wanted:
        interpreter(task)  # made once, and not by two threads
    results = {}
    with ThreadPoolExecutor(jobs) as pool:
        for task, result in zip(wanted, pool.map(grade, wanted)):
            results[task] = result
            if progress:
                progress(len(results), len(wanted), task)
    return results


# --- Judging --------------------------------------------------------------------------------------


def words_folder():
    shipped = home() / "share/prenorm/mistakes"
    return shipped if shipped.is_dir() else ROOT / "reference/mistakes"


@cache
def forms():
    """{mistake: the one that it is a form of}"""
    found = {}
    for path in found_some(words_folder().glob("*.toml")):
        for name, words in tomllib.loads(path.read_text()).items():
            if isinstance(words, dict) and "form_of" in words:
                found[name.split("__")[-1]] = words["form_of"]
    return found


def root(name):
    """The mistake itself, whatever its form."""
    return forms().get(name, name)


def named(diagnoses):
    """All mistakes that these name, each by its root."""
    return {root(part) for one in diagnoses for name in (one["mistake"], *one.get("also", []))
            for part in name.split("+")}


def first_named(diagnoses):
    """Those that are shown: without the ones with the same numbers."""
    return {root(part) for one in diagnoses for part in one["mistake"].split("+")}


@dataclass
class Verdict:
    seen: bool  # whether any case failed
    right: bool  # whether all slips are named for one problem
    by_problem: dict  # {problem: whether its slips are named}, those that failed
    wrong: set = field(default_factory=set)  # what else is named


def judge(task, result):
    if task.mutant:
        problems = result["problems"]
        right, wrong = unlisted.judge(task.mutant, problems, words_folder())
        failed = {problem: problem in right for problem, one in problems.items() if one["failed"]}
        counts = set(failed) & set(task.mutant.own) and not unlisted.listed(task.mutant, problems)
        return Verdict(bool(counts), bool(right) and not wrong, failed, wrong)
    wanted = {root(submissions.mistake(slip)) for slip in task.slips}
    by_problem, others = {}, set()
    allowed = {root(name) for name in (*task.allowed, *task.habits)} | wanted
    for problem, one in sorted(result["problems"].items()):
        found = named(one["diagnoses"])
        if one["failed"]:
            by_problem[problem] = wanted <= found
        for diagnosis in one["diagnoses"]:
            if not named([diagnosis]) & allowed:
                others |= first_named([diagnosis])
        if task.kind == "honest":
            others |= {clue["law"] for clue in one.get("clues", [])}
    return Verdict(bool(by_problem), any(by_problem.values()), by_problem, others)


# --- The table ------------------------------------------------------------------------------------

INTRODUCTION = """\
# What a wrong submission is told

`prenorm grade` names the known mistake that a submission's wrong numbers look like, and if it looks like
none, the term of the formula that breaks a law. This page says how often it is right, of mistakes that are
on the list and, at the end, of such that are not. `tests/submissions/styles/run.py` writes it;
`tests/submissions/test_styles.py` holds the bounds.

There are complete submissions in five styles that people write: PyTorch modules, PyTorch functions,
PyTorch with `einsum`, NumPy, and C++. One of them, in turn, is graded with one known mistake switched
on. Only visible cases are used: those of the rubric `cs336-2025`, or all cases where that rubric lacks
the problem or cannot catch the mistake. A mistake is *named right* if the report names it for a
problem that it concerns: as itself, as another form of it, or among those that give the same numbers.
If attention or RoPE is involved, it is also tried beside two habits of honest
code: NaN where a query attends to nothing, and angles in float32. A mistake that fails no case cannot
be named and is not counted.
"""


def share(right, tried):
    return f"{right} of {tried}" + (f" ({100 * right / tried:.1f} %)" if tried else "")


def count(verdicts):
    seen = [verdict for verdict in verdicts if verdict.seen]
    return sum(verdict.right for verdict in seen), len(seen)


def rows(header, lines):
    widths = [max(len(str(line[i])) for line in [header, *lines]) for i in range(len(header))]
    def row(cells):
        return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([row(header), "|" + "|".join("-" * (width + 2) for width in widths) + "|",
                      *(row(line) for line in lines)])


def cell(verdicts):
    right, tried = count(verdicts)
    return f"{right}/{tried}" if tried else "unseen"


UNLISTED = """\
## Mistakes that are not on the list

`tests/submissions/styles/unlisted.py` plants them in the three styles with PyTorch: an operator, an axis, a
constant, an order or a layer is another. A seed draws them, in turn from each component. What has the
numbers of a known mistake is not counted; nor is what raises an exception or gives another shape, which
says enough (the last column).

*Term*: what is told of the component's own problem names a term of the formula that is in the changed
statement. *Part*: nothing does, but what is told of a problem that uses the component names it.
*Silent*: neither. *False*: what is told names another term or part.
"""


def table(judged, raised=None):
    """The page: {task: verdict} of all kinds; and how many mistakes raise exceptions, by component."""
    raised = drawn()["raised"] if raised is None else raised
    of = defaultdict(list)
    for task, verdict in judged.items():
        of[task.kind].append((task, verdict))
    page = [INTRODUCTION]

    page.append("## In short\n")
    lines = [[words, share(*count([v for t, v in of["alone"] if bool(t.habits) == habits]))]
             for words, habits in (("one mistake", False), ("one mistake, with both habits beside", True))]
    lines += [[words, share(*count([v for t, v in of["pair"] if bool(t.habits) == habits]))]
              for words, habits in (("two mistakes, both named", False),
                                    ("two mistakes, with both habits beside", True))]
    lines.append(["one mistake that is not on the list: its term or part",
                  share(*count([verdict for _, verdict in of["unlisted"]]))])
    accused = [(task, verdict) for task, verdict in of["honest"] if verdict.wrong]
    codes = len({(task.style, task.habits) for task, _ in of["honest"]})
    lines.append(["honest submissions told of a mistake",
                  f"{len({(t.style, t.habits) for t, _ in accused})} of {codes}"])
    page.append(rows(["submissions", "named right"], lines) + "\n")

    page.append("## By mistake\n\nNamed right / tried, alone and beside the habits together.\n")
    every = list(dict.fromkeys(task.slips[0] for task, _ in of["alone"]))
    every.sort(key=lambda slip: list(submissions.PROBLEMS).index(submissions.part(slip)))
    lines = []
    for slip in every:
        mine = [verdict for task, verdict in of["alone"] if task.slips == (slip,)]
        lines.append([submissions.part(slip), f"`{submissions.mistake(slip)}`", cell(mine)])
    page.append(rows(["part", "mistake", "named"], lines) + "\n")

    page.append("## By problem\n\nProblems in which cases failed, and for which the mistake was named.\n")
    by = defaultdict(list)
    for task, verdict in of["alone"]:
        for problem, right in verdict.by_problem.items():
            by[problem].append(right)
    page.append(rows(["problem", "named right"],
                     [[problem, share(sum(by[problem]), len(by[problem]))] for problem in sorted(by)]) + "\n")

    page.append("## Two mistakes\n")
    lines = []
    for pair in dict.fromkeys(task.slips for task, _ in of["pair"]):
        mine = {task: verdict for task, verdict in of["pair"] if task.slips == pair}
        lines.append([next(iter(mine)).problems[0], " and ".join(f"`{slip}`" for slip in pair), cell(mine.values())])
    lines.sort(key=lambda line: list(PAIRS).index(line[0]))
    page.append(rows(["problem", "mistakes", "named"], lines) + "\n")

    page.append(UNLISTED)
    lines = []
    for component in unlisted.LABELS:
        mine = [(task.mutant, verdict) for task, verdict in of["unlisted"]
                if task.mutant.component == component and verdict.seen]
        wrong, right = sum(bool(verdict.wrong) for _, verdict in mine), sum(verdict.right for _, verdict in mine)
        term = sum(verdict.right and any(map(verdict.by_problem.get, mutant.own)) for mutant, verdict in mine)
        lines.append([component, len(mine), term, right - term, len(mine) - right - wrong, wrong,
                      raised.get(component, 0)])
    lines.append(["all", *(sum(column) for column in zip(*(line[1:] for line in lines)))])
    page.append(rows(["component", "mistakes", "term", "part", "silent", "false", "exceptions"], lines) + "\n")
    return "\n".join(page)


def not_named(judged, results):
    """For people: what was told where the slips were not."""
    for task, verdict in judged.items():
        if task.kind != "honest" and verdict.seen and not verdict.right or verdict.wrong:
            print(f"{task.name}")
            for problem, one in sorted(results[task]["problems"].items()):
                if not one["failed"] and not one["diagnoses"]:
                    continue
                said = [f"{d['mistake']} {d['agrees']}/{d['of']}" for d in one["diagnoses"]]
                print(f"    {problem}: {one['failed']} told {said} {[p['property'] for p in one['properties']]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--style", action="append", choices=list(submissions.STYLES))
    parser.add_argument("--slip", action="append", help="only these (PART.NAME)")
    parser.add_argument("--unlisted", type=int, default=100, metavar="COUNT", help="how many of that kind")
    parser.add_argument("--seed", type=int, default=1, help="that draws them")
    parser.add_argument("--table", type=Path, help="write the page")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wanted = [task for kind in options.kind or KINDS
              for task in tasks(kind, *((options.unlisted, options.seed) if kind == "unlisted" else ()))
              if (not options.style or task.style in options.style)
              and (not options.slip or set(options.slip) & set(task.slips))]

    def progress(done, total, task):
        if done % 20 == 0 or done == total:
            print(f"{done}/{total} {task.name}", file=sys.stderr, flush=True)

    results = grade_all(wanted, options.jobs, progress)
    judged = {task: judge(task, result) for task, result in results.items()}
    if options.table:
        options.table.write_text(table(judged))
    else:
        print(table(judged).split("## By mistake")[0].split("## In short")[1])
    not_named(judged, results)


if __name__ == "__main__":
    main()
