"""A class of made-up students: a folder each, as `prenorm grade` takes it, and what each must get.

    synthetic_class.py DIR --count 500 --seed 1 [--fast]

Writes DIR/<student>/ for every student, and DIR/expected.json: {student: facts}. The facts are

    sort     good, partly, mistake, attack, outputs, damaged, or no_work
    kind     what it is of that sort: "plain", "33_flood", "no_eps"
    points   by the rubric cs336-2025: "full", "some", "none", or "unknown"
    exit     of `prenorm grade`: 0, 1 or 2; absent where several are right
    status   of the whole, where that is not PASSED: "COMPILE_ERROR"
    problem, mistake   of the sort mistake: whose function is wrong, and how
    slow     true: runs into limits of time, or takes a long compilation; left out by --fast

A name is the student's folder; where it is no UTF-8, as Python's surrogateescape has it. The same
words give the same class, byte for byte. Nearly all are libraries that the build has, copied, with
other functions exported; so 500 of them take seconds to write.

Needs PRENORM_HOME and PRENORM_TEST_SUBMISSIONS, as the tests do.
"""

import argparse
import json
import random
import shutil
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Callable

import h5py

import submissions
from attacks import CRAFTED, EVERY, KERNELS, OUTPUTS, hand_in, honest_outputs
from elf import exports, with_names
from places import ROOT, built, home, shipped
from submissions import definitions, make

RUBRIC = ROOT / "fixtures" / "rubrics" / "cs336-2025.toml"
# Of a hundred students, so many are of each sort.
SHARES = {"good": 11, "partly": 9, "mistake": 47, "attack": 22, "outputs": 3, "damaged": 5,
          "no_work": 3}
# Names that somebody's spreadsheet, page, terminal, shell or database may take for something else.
HOSTILE_NAMES = [
    "Anna Maria  de la Cruz", "O'Brien", 'say "hello"', "=cmd|'-C calc'!A1",
    '=HYPERLINK("x")', "+1+1", "@SUM(A1)",
    "<script>document.title='HACKED'", "<img src=x onerror=alert(1)>", "]]>&amp;",
    "-rf", "--help", "--rubric=all", "two\nlines", "tab\there", "carriage\rreturn", "%s%n%99999d",
    "'; DROP TABLE results; --", "Zoë Œuvré", "Zoe\u0308 Œuvre\u0301", "李小龍", "\u202egnp.txet",
    "\u200fעברית", "\x1b[2J\x1b[32mPASSED", "b\udcff\udcfe", "a" * 254 + "1", "a" * 254 + "2",
    "trailing ", "$(touch pwned)", "`id`", "semi;colon,comma", "back\\slash", "NULL", "1e5", "007",
    "adapters.py", "name.so", "*",
]


@dataclass
class Kind:
    """What can be handed in."""

    sort: str
    name: str
    write: Callable  # (folder, random): into the student's folder, which is there and empty
    points: str
    facts: dict = field(default_factory=dict)
    slow: bool = False


# Libraries


@cache
def content(library):
    return library.read_bytes()


def rubric_problems():
    rubric = tomllib.loads(RUBRIC.read_text())
    return sorted({problem for item in rubric["items"] for problem in item["problems"]})


def files(**data):
    """Writes files, {the name, with _ for the dot: a text, or a function that gives bytes}."""
    def write(folder, _):
        for name, value in data.items():
            path = folder / name.replace("_", ".")
            path.write_text(value) if isinstance(value, str) else path.write_bytes(value())

    return write


def library_kind(sort, library, points, **facts):
    return Kind(sort, library.stem.removeprefix("libprenorm_"),
                files(solution_so=lambda: content(library)), points, facts)


def renamed(folder, library, names):
    (folder / "solution.so").write_bytes(with_names(content(shipped(library)), names))


def some_functions(folder, draw):
    """A right library that lacks some functions, and has others still."""
    problems = rubric_problems()
    left_out = draw.sample(problems, draw.randint(1, len(problems) - 1))
    renamed(folder, "plain", {f"prenorm_{problem}": f"Prenorm_{problem}" for problem in left_out})


def mistakes():
    """(problem, mistake) of all known ones."""
    names = exports(shipped("mistakes"))
    return [tuple(name.removeprefix("prenorm_").split("__")) for name in names if "__" in name]


def several_mistakes(folder, draw):
    """A few functions, each with a mistake."""
    known = [pair for pair in mistakes() if pair[0] in rubric_problems()]
    chosen = dict(draw.sample(known, draw.randint(2, 6)))  # one of each problem
    renamed(folder, "mistakes", {f"prenorm_{problem}__{mistake}": f"prenorm_{problem}"
                                 for problem, mistake in chosen.items()})


def mistake_kind(problem, mistake):
    def write(folder, _):
        renamed(folder, "mistakes", {f"prenorm_{problem}__{mistake}": f"prenorm_{problem}"})

    points = "unknown" if problem in rubric_problems() else "none"
    return Kind("mistake", mistake, write, points,
                {"problem": problem, "mistake": mistake, "exit": 1})


def library_kinds():
    full = [shipped("plain"), shipped("reference"), built("honest") / "cpp_complete.so"]
    part = [built("honest") / f"{name}.so" for name in
            ("c_plain", "cpp_partial", "cpp_slow", "cpp_float64", "cpp_orders", "cpp_threads")]
    return [*(library_kind("good", library, "full", exit=0) for library in full),
            *(library_kind("partly", library, "some", exit=1) for library in part),
            Kind("partly", "some functions", some_functions, "some", {"exit": 1}),
            Kind("partly", "several mistakes", several_mistakes, "unknown", {"exit": 1}),
            *(mistake_kind(*pair) for pair in mistakes())]


# Python and CMake


# The sample takes NumPy's arrays; where the interpreter has PyTorch, functions get its tensors.
TENSORS_TOO = """

try:
    import torch
except ImportError:
    torch = None


def as_arrays(value):
    if isinstance(value, dict):
        return {name: as_arrays(each) for name, each in value.items()}
    if isinstance(value, torch.Tensor):
        return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    return value


def taking_tensors(function):
    def call(*values, **named):
        tensors = [each for value in (*values, *named.values())
                   for each in (value.values() if isinstance(value, dict) else [value])
                   if isinstance(each, torch.Tensor) and each.is_floating_point()]
        named = {name: as_arrays(value) for name, value in named.items()}
        y = function(*map(as_arrays, values), **named)
        if not tensors:  # called from another function here
            return y
        return torch.from_numpy(np.array(y)).to(tensors[0].dtype)

    return call


if torch is not None:
    for name in [name for name in globals() if name.startswith("run_")]:
        globals()[name] = taking_tensors(globals()[name])
"""


def write_python(folder, text):
    (folder / "adapters.py").write_text(text + TENSORS_TOO)


def python_numpy(folder, _):
    write_python(folder, make("numpy"))


def some_python(folder, draw):
    """As the handout's file is while the work goes on: what is not done raises."""
    text = make("numpy")
    adapters = tomllib.loads((RUBRIC.parent / "adapters-2025.toml").read_text()).values()
    possible = {row["function"] for row in adapters} - {"run_linear", "run_silu", "run_softmax"}
    functions = [each for each in definitions(text) if each.names & possible]
    for each in draw.sample(functions, draw.randint(1, 5)):
        text = text.replace(each.text, each.undone)
    write_python(folder, text)


def wrong_python(folder, draw):
    """One slip in the same file."""
    slips = ["rmsnorm.no_eps", "heads.strictly_causal", "rope.second_sign_flipped", "block.no_second_residual"]
    write_python(folder, make("numpy", [draw.choice(slips)]))


def project(name, spoil=False):
    def write(folder, _):
        submissions.write(f"honest/{name}", folder)
        if spoil:
            source = next(folder.glob("solution.*"))
            source.write_text(source.read_text() + "\nint unfinished( {\n")

    return write


def source_kinds():
    return [
        Kind("good", "python_numpy", python_numpy, "full", {"exit": 0}),
        Kind("good", "project cpp_complete", project("cpp_complete"), "full", {"exit": 0}, True),
        Kind("partly", "some Python", some_python, "some", {"exit": 1}),
        Kind("partly", "wrong Python", wrong_python, "some", {"exit": 1}),
        Kind("partly", "project c_plain", project("c_plain"), "some", {"exit": 1}),
        Kind("damaged", "does not compile", project("c_plain", spoil=True), "none",
             {"exit": 1, "status": "COMPILE_ERROR"}),
        Kind("damaged", "Python that does not parse", files(adapters_py="def run_linear(:\n"), "none",
             {"exit": 1, "status": "LOAD_ERROR"}),
        Kind("damaged", "Python without its package",
             files(adapters_py="import no_such_package_of_mine\n"), "none",
             {"exit": 1, "status": "NOT_IMPLEMENTED"}),
        Kind("damaged", "Python that never loads", files(adapters_py="while True:\n    pass\n"), "none",
             {"exit": 1}, True),
    ]


# Attacks


def known():
    """What the attacks know; nobody listens, or is a victim, and nothing is at OUTSIDE."""
    return {"HOME": str(home()), "SOURCE": str(ROOT), "OUTSIDE": "/tmp/prenorm-attack-outside",
            "PORT": "9", "MARKER": "pn-class", "VICTIM": str(1 << 22)}  # above every process's


def attack_kind(name):
    attack = EVERY[name]

    def write(folder, _):
        making = folder.parent / ".making"
        made = hand_in(name, known(), making)
        if made.is_dir():
            shutil.rmtree(folder)
            made.rename(folder)
        else:
            made.rename(folder / ("adapters.py" if made.suffix == ".py" else made.name))
        making.rmdir()

    # The embedding beside the attack is right; kernels have a problem that this rubric does not ask for.
    points = "some" if attack["honest"] and name not in KERNELS else "none"
    if name == "56_other_story":
        points = "unknown"  # the story changes with time: before that, the embedding is asked
    slow = attack.get("slow", False) or bool(attack["cases"]) or name == "30_endless"
    facts = {"exit": 1}
    if attack["statuses"] == ["COMPILE_ERROR"]:
        facts["status"] = "COMPILE_ERROR"
    return Kind("attack", name, write, points, facts, slow)


def outputs_attack(attack):
    def write(folder, _):
        with h5py.File(folder / "softmax.h5", "w", track_order=False) as file:
            file.attrs["problem"] = "softmax"
            attack(file)

    return Kind("attack", attack.__name__, write, "none", {"status": "BAD_FIXTURE"})


def crafted(path):
    def write(folder, _):
        shutil.copy(path, folder / "softmax.h5")

    return Kind("attack", path.name, write, "none", {"status": "BAD_FIXTURE"},
                path.stem.startswith("hang"))


def attack_kinds():
    return [*map(attack_kind, EVERY), *map(outputs_attack, OUTPUTS), *map(crafted, CRAFTED)]


# The rest


def outputs_of(*problems):
    def write(folder, _):
        for problem in problems:
            honest_outputs(folder / f"{problem}.h5", problem)

    # Copies of public answers earn nothing.
    return Kind("outputs", " ".join(problems), write, "none", {"exit": 1})


def plain(share=1):
    """The first part of a library."""
    data = content(shipped("plain"))
    return data[:int(len(data) * share)]


def cut_library(share):
    return Kind("damaged", f"{share:.1%} of a library", files(solution_so=lambda: plain(share)), "none",
                {"exit": 1, "status": "LOAD_ERROR"})


def link(folder, _):
    folder.rmdir()
    folder.symlink_to("/etc")


def other_kinds():
    refused = {"exit": 2}
    return [
        outputs_of("softmax"), outputs_of("embedding", "linear", "rmsnorm"),
        *map(cut_library, (0, 0.001, 0.1, 0.5)),
        Kind("damaged", "text for a library", files(solution_so="this is no library\n"), "none",
             {"exit": 1, "status": "LOAD_ERROR"}),
        Kind("no_work", "empty", files(), "none", refused),
        Kind("no_work", "README only", files(README_md="# Assignment 1\n\nSorry, I was ill.\n"), "none",
             refused),
        Kind("no_work", "two libraries", files(one_so=plain, two_so=plain), "none", refused),
        Kind("no_work", "symbolic link", link, "none", refused),
    ]


# The class


def all_kinds(fast):
    kinds = [*library_kinds(), *source_kinds(), *attack_kinds(), *other_kinds()]
    return [kind for kind in kinds if not (fast and kind.slow)]


def quotas(count):
    """How many of each sort; of a class of at least seven, one of each."""
    shares = {sort: max(1, count * share // 100) for sort, share in SHARES.items()}
    over = sum(shares.values()) - count
    if over > 0:  # of a small class, for what is there at least once
        shares["mistake"] = max(1, shares["mistake"] - over)
    shares["good"] += max(0, -over)
    return shares


def chosen(kinds, count, draw):
    """Of each sort as many as its share, and no kind twice before all of its sort are there."""
    found = []
    for sort, share in quotas(count).items():
        of_sort = [kind for kind in kinds if kind.sort == sort]
        while share > 0:
            turn = draw.sample(of_sort, min(share, len(of_sort)))
            found += turn
            share -= len(turn)
    draw.shuffle(found)
    return found[:count]


def student_names(count, draw):
    hostile = draw.sample(HOSTILE_NAMES, min(len(HOSTILE_NAMES), count // 4))
    names = [f"student_{i + 1:04}" for i in range(count - len(hostile))] + hostile
    draw.shuffle(names)
    return names


def make_class(folder, count=500, seed=1, fast=False):
    """Writes the class into a folder that is new or empty; returns {student: facts}."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    draw = random.Random(f"{seed}/{count}")
    expected = {}
    everyone = chosen(all_kinds(fast), count, draw)
    for name, kind in zip(student_names(count, draw), everyone, strict=True):
        student = folder / name
        student.mkdir()
        kind.write(student, draw)
        expected[name] = {"sort": kind.sort, "kind": kind.name, "points": kind.points,
                          **kind.facts, **({"slow": True} if kind.slow else {})}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    return expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fast", action="store_true",
                        help="without what hangs, floods or takes long to compile")
    words = parser.parse_args()
    expected = make_class(words.folder, words.count, words.seed, words.fast)
    for sort in SHARES:
        print(f"{sort:8} {sum(facts['sort'] == sort for facts in expected.values()):5}")


if __name__ == "__main__":
    main()
