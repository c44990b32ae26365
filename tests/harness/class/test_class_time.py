# labels: slow grading
# timeout: 3000
"""A class on a busy machine earns what it earns alone; what its time was too short for is graded later."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from attacks import hand_in
from grading import best_sandbox, rubric, write_rubric
from load import busy_machine
from made_up_class import make_class
from places import program
from submissions import folder_of


def run(*words, folder):
    done = subprocess.run([str(program()), *map(str, words)], cwd=folder, capture_output=True,
                          timeout=2400, env={**os.environ, "COLUMNS": ""})
    return done.stdout.decode() + done.stderr.decode()


def students(book):
    return {each["submission"]: each
            for each in json.loads(run("gradebook", book, "--json", "-", folder=book.parent))["students"]}


def test_a_class_goes_on(tmp_path):
    """Two cases of two calls, each of 1.8 s: what two of them need is not enough for the other two."""
    write_rubric(tmp_path, rubric("Two cases", {
        "all": 'hidden = false\ndtypes = ["float32"]\ncases = ["base_float32", "by_hand_float32"]'},
        {"softmax": ("softmax", 2)}))
    hand_in("65_slow", {}, tmp_path / "slow")
    book = tmp_path / "g.sqlite"
    words = ("grade", "slow/65_slow.so", "--gradebook", book, "--rubric", "rubric.toml", "--no-hidden",
             "--sandbox", best_sandbox())
    printed = run(*words, "--budget", 5, folder=tmp_path)
    assert "not graded whole: 65_slow.so; go on with the same command and --budget 20\n" in printed, printed
    assert students(book)["65_slow.so"]["not_asked"] == 1
    assert "1 unchanged" in run(*words, folder=tmp_path)  # the same budget is not enough again
    printed = run(*words, "--budget", 60, folder=tmp_path)
    assert "1 graded, 0 unchanged" in printed and "whole" not in printed, printed
    slow = students(book)["65_slow.so"]
    assert slow["not_asked"] == 0 and slow["total"] == 2


def any_ten(folder):
    """Right and wrong ones, attacks, outputs, nothing at all."""
    make_class(folder, 10)
    return ()


def ten_in_python(folder):
    """Whose limits are a few times what each needs of them."""
    pytest.importorskip("torch")
    for name in ("complex_numbers", "eps_outside", "finite_mask", "flat_modules", "functional_core",
                 "src_layout", "star_imports", "terse", "three_axes", "training_script_beside"):
        shutil.copytree(folder_of(f"class/{name}"), folder / name)
    return "--timeout", 2, "--budget", 40, "--python", sys.executable


@pytest.mark.parametrize("make", [any_ten, ten_in_python])
def test_a_busy_machine_costs_a_class_nothing(make, tmp_path):
    limits = make(tmp_path / "class")

    def points(name):
        book = tmp_path / f"{name}.sqlite"
        run("grade", "--gradebook", book, "--rubric", "cs336-2025", "--seed", 7, "--jobs", 2, *limits, "--",
            *sorted((tmp_path / "class").iterdir()), folder=tmp_path)
        return {name: (student["total"], student["points"], student["flags"],
                       [(case["problem"], case["case"], case["status"]) for case in student["results"]])
                for name, student in students(book).items()}

    alone = points("alone")
    with busy_machine():
        loaded = points("loaded")
    assert len(alone) == 10 and any(total > 0 for total, *_ in alone.values())
    assert loaded == alone
