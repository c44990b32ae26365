"""A class of twenty made-up students, as graders meet them."""

import shutil

from attacks import hand_in, honest_outputs
from elf import with_names
from places import ROOT, built, home, shipped
from submissions import make


def known():
    """What the attacks know; nobody listens, or is a victim, and nothing is at OUTSIDE."""
    return {"HOME": str(home()), "SOURCE": str(ROOT), "OUTSIDE": "/tmp/prenorm-attack-outside",
            "PORT": "9", "MARKER": "pn-class", "VICTIM": str(1 << 22)}  # above every process's


def attack(folder, name):
    making = folder.parent / ".making"
    made = hand_in(name, known(), making)
    made.rename(folder / ("adapters.py" if made.suffix == ".py" else made.name))
    making.rmdir()


def wrong_library(folder, problem, mistake):
    """One with this function alone, which has a mistake."""
    data = with_names(shipped("mistakes").read_bytes(), {f"prenorm_{problem}__{mistake}": f"prenorm_{problem}"})
    (folder / "solution.so").write_bytes(data)


def half_a_library(folder):
    data = shipped("plain").read_bytes()
    (folder / "solution.so").write_bytes(data[:len(data) // 2])


def link(folder):
    folder.rmdir()
    folder.symlink_to("/etc")


# {folder: what fills it}. The first ten are of all sorts. Of names, some mean something to a shell, a spreadsheet,
# a terminal or a database.
STUDENTS = {
    "O'Brien": lambda to: shutil.copy(shipped("plain"), to),
    "two\nlines": lambda to: shutil.copy(built("honest") / "cpp_partial.so", to),
    "student_03": lambda to: wrong_library(to, "rmsnorm", "no_eps"),
    "attack_04": lambda to: attack(to, "02_inputs_overwritten"),
    "Zoe\u0308 Œuvre\u0301": lambda to: (to / "adapters.py").write_text(make("numpy")),
    "=cmd|'-C calc'!A1": lambda to: honest_outputs(to / "softmax.h5", "softmax"),
    "-rf": half_a_library,
    "student_08": lambda to: None,
    "attack_09": lambda to: attack(to, "06_constant"),
    "student_10": lambda to: wrong_library(to, "rope", "halves"),
    "student_11": lambda to: shutil.copy(shipped("reference"), to),
    "student_12": lambda to: shutil.copy(built("honest") / "c_plain.so", to),
    "student_13": lambda to: wrong_library(to, "softmax", "no_maximum"),
    "student_14": lambda to: wrong_library(to, "transformer_block", "post_norm"),
    "attack_15": lambda to: attack(to, "12_past_the_end"),
    "attack_16": lambda to: attack(to, "36_signals"),
    "attack_17": lambda to: attack(to, "21_hooks"),
    "b\udcff\udcfe": lambda to: (to / "adapters.py").write_text("def run_linear(:\n"),
    "\x1b[2J\x1b[32mPASSED": lambda to: (to / "README.md").write_text("Sorry, I was ill.\n"),
    "student_20": link,
}


def make_class(folder, count=len(STUDENTS)):
    """Writes the first of them."""
    for name, fill in list(STUDENTS.items())[:count]:
        (folder / name).mkdir(parents=True)
        fill(folder / name)
