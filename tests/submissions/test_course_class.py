# labels: grading
# slow processors: 2
# slow labels: grading
"""A class of forty (tests/submissions/class): what each of them deserves is what it earns. A sixteenth
of them each day, or all (shares.py)."""

import json
import os
import re
import subprocess
import sys

import pytest

from grading import grade
from places import ROOT, SUBMISSIONS, program
from submissions import files, folder_of, table

EXPECTED = table("class")
FORBIDDEN = ["torch.nn.functional.*", "torch.softmax", "torch.nn.Linear", "torch.nn.Embedding"]
# Those that a habit makes.
CALLED_BY = {"nn_layers": ["Linear"], "dropout": ["functional.dropout"], "functional": [
    f"functional.{name}" for name in ("embedding", "linear", "silu", "softmax")]}
FULL, NOTHING = 0.9, 0.05


def edition_of(name):
    return EXPECTED[name].get("edition", 2025)


def forbidden_calls(row):
    return {*row.get("forbidden", []), *(f"torch.nn.{name}" for habit in row.get("habits", [])
                                         for name in CALLED_BY.get(habit, []))}


def lacks(python, modules):
    """Those of the modules that the interpreter does not have."""
    code = "import sys, importlib.util as u\n" \
           "print(*(m for m in sys.argv[1:] if u.find_spec(m) is None))"
    done = subprocess.run([python, "-I", "-c", code, *modules], capture_output=True, text=True,
                          check=True)
    return set(done.stdout.split())


def graded(names, python, folder, *words):
    """A student of the gradebook's JSON for each name."""
    found = {}
    rubrics = ROOT / "fixtures/rubrics"
    for edition in sorted({edition_of(name) for name in names}):
        rubric = folder / f"cs336-{edition}.toml"
        rubric.write_text((rubrics / rubric.name).read_text().replace(
            "\nadapters", f"\nforbidden = {json.dumps(FORBIDDEN)}\nadapters", 1))
        adapters = f"adapters-{edition}.toml"
        (folder / adapters).write_bytes((rubrics / adapters).read_bytes())
        book = folder / f"{edition}.sqlite"
        chosen = [folder_of(f"class/{name}") for name in names if edition_of(name) == edition]
        done = subprocess.run(
            [program(), "grade", *chosen, "--rubric", rubric, "--gradebook", book, "--python", python,
             *words], capture_output=True, text=True, timeout=1700)
        assert done.returncode in (0, 1), done.stderr
        told = subprocess.run([program(), "gradebook", book, "--json", "-"], capture_output=True,
                              text=True, check=True).stdout
        found |= {student["submission"]: student for student in json.loads(told)["students"]}
    return found


def unfair(student, expected, missing):
    """What it did not deserve, in words."""
    if not expected.get("gradeable", True):
        return [] if "not gradeable" in student["flags"] else ["gradeable"]
    flags = set(student["flags"])
    called = {match[1] for note in student["notes"]
              if (match := re.match(r"its process says: forbidden call .*?: (\S+) \(.+:\d+\)$", note))}
    complaints = []
    lost = missing and set(expected.get("without", ["*"]))
    if lost and "*" in lost:  # it needs a module that is not here, and cannot be loaded
        flags -= {"not gradeable", "LOAD_ERROR"}
    if flags - {"forbidden calls"} or ("forbidden calls" in flags) != bool(called):
        complaints.append(f"flags {flags}")
    if called != forbidden_calls(expected):
        complaints.append(f"forbidden calls {called}")
    worthless = set(expected.get("none", []))
    shares = {item["name"]: item["earned"] / item["points"] for item in student["items"]}
    for name, share in shares.items():
        if {name, "*"} & worthless:
            if share > NOTHING:
                complaints.append(f"{name} earns {share:.2f} and is wrong")
        elif name in expected.get("loses", []) and share >= FULL:
            complaints.append(f"{name} earns {share:.2f} and is wrong in part")
        elif name not in expected.get("part", {}) and not {name, "*"} & lost and share < FULL:
            groups = [group["name"] for item in student["items"] if item["name"] == name
                      for group in item["groups"] if not group["earned"]]
            complaints.append(f"{name} earns {share:.3f} and is right; lost: {groups}")
    points = sum(item["points"] for item in student["items"])
    right = not worthless and "part" not in expected
    whole = expected.get("total_at_least", 0.95) if right else 0
    if not lost and student["total"] < whole * points - 1e-9:
        groups = [f"{item['name']}: {group['name']}" for item in student["items"]
                  for group in item["groups"] if not group["earned"]]
        complaints.append(f"{student['total']:.2f} of {points} points, not {whole}; lost: {groups}")
    return complaints


@pytest.mark.slow
def test_everybody_gets_what_they_deserve(tmp_path):
    pytest.importorskip("torch")
    names = sorted(EXPECTED)
    python = os.environ.get("PRENORM_TEST_VENV") or sys.executable
    students = graded(names, python, tmp_path, "--seed", "2025", "--timeout", "20",
                      "--budget", "900")  # one is slow, and right
    assert students.keys() == set(names)
    missing = lacks(python, {module for name in names for module in EXPECTED[name].get("needs", [])})
    wrong = {name: complaints for name in names
             if (complaints := unfair(students[name], EXPECTED[name],
                                      missing & set(EXPECTED[name].get("needs", []))))}
    assert not wrong, json.dumps(wrong, indent=1)


def test_another_place_of_eps_costs_the_groups_about_it(tmp_path):
    """The course's tests do not see it: all else is earned, but for what is precise."""
    pytest.importorskip("torch")
    code, report, printed = grade(folder_of("class/eps_outside"), "--no-hidden", "--python",
                                  os.environ.get("PRENORM_TEST_VENV") or sys.executable, tmp=tmp_path)
    assert code == 1
    lost = {(item["name"], group["name"]) for item in report["items"] for group in item["groups"]
            if not group["earned"]}
    about_eps = {("rmsnorm", "eps and scale"),
                 ("transformer_block", "any lengths, with the handout's eps"),
                 ("transformer_lm", "any lengths, with the handout's eps")}
    of_habits = {"empty rows", "far positions"}
    assert about_eps <= lost, printed
    assert {name for name in lost - about_eps if name[1] not in of_habits | {"precise"}} == set(), printed


def test_the_class_is_complete():
    """The folders are those that the table says; no file has a name that a test runner would
    collect."""
    assert len(EXPECTED) == 40
    folders = {path.name for path in (SUBMISSIONS / "class").iterdir() if path.is_dir()}
    assert folders == {name for name, row in EXPECTED.items() if row.get("by_hand")}
    assert not any("habits" in EXPECTED[name] for name in folders)
    paths = [path for name in EXPECTED.keys() - folders for path in files(f"class/{name}")]
    assert not [path for path in paths if re.search(r"(^|/)(test_[^/]*|[^/]*_test)\.py$", path)]
