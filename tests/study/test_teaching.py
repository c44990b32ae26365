# labels: grading
# slow labels: grading
# slow timeout: 1200
"""docs/teaching.md: every command in it runs, in its order, and says what the guide shows."""

import csv
import os
import re
import shlex
import shutil
import subprocess

import pytest

import guide
from guide import plain
from places import ROOT, program
from slurm_cluster import Cluster, unavailable

GUIDE = ROOT / "docs" / "teaching.md"
FILES = ("toml", "csv", "yaml")  # blocks that are saved under the name that stands before them
# What a reader's text and cells say of options that are not prenorm's.
OTHERS_OPTIONS = {"no-install-recommends"}
REPORT_OPTIONS = ("html", "csv", "json", "junit", "markdown", "gradescope", "instructor")


def blocks():
    return guide.blocks(GUIDE)


def terminal(folder):
    return guide.terminal(folder, folder / "prenorm", ("tests", "fixtures"))


def expected_codes(command):
    """Of grading, 1: something failed."""
    return (0, 1) if command.startswith("prenorm grade ") else (0,)


def check_reports(shell, command):
    """What the command was told to write is there."""
    words = shlex.split(command)
    for option, value in zip(words, words[1:]):
        if option.removeprefix("--") in REPORT_OPTIONS and option.startswith("--"):
            path = os.path.join(shell.folder, value)
            assert os.path.getsize(path) > 0, f"{command}: {value} is empty"


def walk(shell, until=None):
    """Follows the guide up to a block, or to its end."""
    said = ""
    for block in blocks():
        if block == until:
            break
        if block.language in FILES:
            path = os.path.join(shell.folder, block.file_name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(block.text)
        elif block.language == "sh":
            said = ""
            for line, command in block.commands:
                code, told = shell.run(command)
                said += told
                assert code in expected_codes(command), f"line {line}: {command}: {code}\n{told}"
                check_reports(shell, command)
        elif block.language == "text":
            real = [plain(line) for line in said.splitlines()]
            for line in block.text.splitlines():
                assert any(plain(line) in each for each in real), (
                    f"line {block.line}: the guide shows {line!r}; what came is\n{said}")


@pytest.mark.slow
def test_every_command_runs_and_says_what_is_shown(tmp_path):
    walk(terminal(tmp_path))
    with open(tmp_path / "course/grades.csv", newline="") as file:
        head = next(csv.reader(file))
    told = ["submission", "name", "id", "email", "total", "out of", "flags", "set by hand"]
    assert [name for name in head if name not in ("rmsnorm", "softmax", "attention")] == told
    words = plain(GUIDE.read_text())
    assert all(f"`{name}`" in words for name in told)


def test_blocks_are_of_the_known_kinds():
    for block in blocks():
        assert block.language in ("sh", "text", "console", *FILES), f"line {block.line}"
    assert [block.language for block in blocks()].count("console") == 1, "Slurm alone is not run"


@pytest.mark.slow
def test_the_command_for_slurm_runs(tmp_path):
    if why := unavailable():
        pytest.skip(why)
    [console] = [block for block in blocks() if block.language == "console"]
    [(line, command)] = console.commands
    more = "PartitionName=short Nodes=ALL MaxTime=120 State=UP\n"
    with Cluster(tmp_path / "slurm", nodes=2, cpus=1, more=more) as cluster:
        shell = terminal(tmp_path / "home")
        shell.environment["SLURM_CONF"] = cluster.environment()["SLURM_CONF"]
        first = next(block for block in blocks() if "--gradebook" in block.text)
        walk(shell, until=first)
        for _, each in first.commands:
            if not each.startswith("prenorm"):
                shell.run(each)
        code, told = shell.run(command)
        assert code == 1, f"line {line}: {told}{cluster.logs()}"
        assert "5 submissions: 5 graded, 0 unchanged, 0 not graded" in told
        assert "Slurm's job" in told


def test_options_are_those_of_the_program():
    """Of text and tables, too."""
    known = set(OTHERS_OPTIONS)
    for words in ("grade", "gradebook", "gradebook set", "gradebook similar", "new", "show", "fixtures make",
                  "gradescope"):
        told = subprocess.run([program(), *words.split(), "--help"], capture_output=True, text=True,
                              check=True).stdout
        known.update(re.findall(r"--([a-z-]+)", told))
    for number, line in enumerate(GUIDE.read_text().splitlines(), 1):
        for option in re.findall(r"(?<![\w=-])--([a-z][a-z-]*)", line):
            assert option in known, f"line {number}: --{option}"


def test_every_verdict_and_flag_is_explained():
    text = GUIDE.read_text()
    source = (ROOT / "harness/fixture/verdict.cpp").read_text()
    verdicts = re.findall(r"\"([A-Z_]+)\"", source)
    assert len(verdicts) == 16
    for verdict in verdicts:
        assert re.search(rf"^\|.*`{verdict}`", text, re.M), verdict
    source = (ROOT / "harness/class/class_overview.cpp").read_text()
    flags = re.findall(r'all\.emplace_back\("([^"]+)"\)|"(not graded[a-z ]*): "', source)
    assert len(flags) >= 6
    for flag in (first or second for first, second in flags):
        assert re.search(rf"^\|.*`{flag}", text, re.M), flag


def test_the_workflow_grades(tmp_path):
    yaml = pytest.importorskip("yaml")
    [block] = [block for block in blocks() if block.language == "yaml"]
    assert block.file_name.startswith(".github/workflows/")
    workflow = yaml.safe_load(block.text)
    assert workflow["name"] == "grade" and workflow[True] == ["push"]  # YAML's `on` is true
    [job] = workflow["jobs"].values()
    assert job["runs-on"] and job["container"] == "debian:12"
    checkouts = [step["with"]["path"] for step in job["steps"] if "uses" in step]
    assert checkouts == ["submission", "prenorm"]
    [run] = [step["run"] for step in job["steps"] if step.get("name") == "grade"]

    shell = terminal(tmp_path)
    shutil.copytree(ROOT / "tests/submissions/honest/python_partial", tmp_path / "submission")
    [rubric] = [block for block in blocks() if block.language == "toml"]
    (tmp_path / "prenorm" / rubric.file_name).write_text(rubric.text)
    shutil.copy(ROOT / "fixtures/rubrics/adapters-2025.toml", tmp_path / "prenorm")
    shell.environment |= {"GITHUB_ACTIONS": "true",
                          "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    code, told = shell.run(run)
    assert code == 1, told
    assert "::error" in told
    assert "rmsnorm" in (tmp_path / "summary.md").read_text()
    assert "<testsuite" in (tmp_path / "grade.xml").read_text()
