"""The program `prenorm`: its reports as tables and counts."""

import dataclasses
import json
import os
import re
import subprocess

import pandas

from .dtypes import DTYPES
from .fixtures import fixture
from .places import ROOT, home
from .solutions import Error, find

FIXTURES = ROOT / "fixtures"
REJECTED = "to be rejected"  # the row of the cases that a solution must reject


def run(*words, exit_codes=(0, 1, 3)):
    """Runs the program with these arguments; its standard output. Raises Error with its message if
    it ends with another exit code (2: an argument or a file that it cannot use)."""
    done = subprocess.run([str(home() / "bin/prenorm"), *map(str, words)], capture_output=True,
                          text=True, env={**os.environ, "PRENORM_HOME": str(home())})
    if done.returncode not in exit_codes:
        raise Error(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def report(*words, fixtures=FIXTURES):
    """The JSON report of a command."""
    return json.loads(run(*words, "--json", "-", "--fixtures", fixtures))


def verify(problem=None, *solutions, fixtures=None, options=()):
    """`prenorm verify --json`: a table (pandas.DataFrame) with one row per case and solution.

    problem     a name or a glob; None: all
    solutions   names or paths; none: all that ship and can run here
    fixtures    a file or folder; None: those that ship
    options     further options, as on the command line
    """
    rows = []
    for result in _results(problem, solutions, fixtures or FIXTURES, options):
        row = {key: result[key] for key in
               ("problem", "case", "dtype", "solution", "status", "message", "seconds")}
        for output in result["outputs"]:
            row.update({key: _number(output[key]) for key in
                        ("max_abs_error", "max_ulp_error", "mismatches", "elements")})
        rows.append(row)
    return pandas.DataFrame(rows)


def _results(problem, solutions, fixtures=FIXTURES, options=()):
    words = ["--problem", problem] if problem else []
    for solution in solutions:
        words += ["--solution", solution]
    return report("verify", *options, *words, fixtures=fixtures)["results"]


def _number(value):
    """A number of a report, in which NaN and the infinities are strings, and no number is null."""
    return float(value) if value is not None else float("nan")


@dataclasses.dataclass
class Count:
    """How many of how many."""
    passed: int = 0
    given: int = 0

    @property
    def state(self):
        """A class of study.css."""
        return "none" if not self.given else "all" if self.passed == self.given else "some"

    def __str__(self):
        return f"{self.passed}/{self.given}" if self.given else ""


class Verdicts:
    """How many cases pass, from the results of a report. Skipped cases ("large for the emulator")
    are not counted. A row is a dtype, or REJECTED."""

    def __init__(self, results):
        self.results = [each for each in results if each["status"] != "SKIPPED"]
        self._counts = {}
        for each in self.results:
            case = fixture(each["problem"]).cases.get(each["case"])
            row = REJECTED if case is not None and case.error else each["dtype"]
            for key in (row, None):
                count = self._counts.setdefault((each["problem"], key, each["solution"]), Count())
                count.passed += each["status"] == "PASSED"
                count.given += 1

    def cells(self, problem, solutions, row=None):
        """A Count for each solution; of all rows if none is named."""
        return [self._counts.get((problem, row, solution), Count()) for solution in solutions]

    def rows(self, problem, solutions):
        """The rows that have cases: [(row, cells)]."""
        rows = [(row, self.cells(problem, solutions, row)) for row in (*DTYPES, REJECTED)]
        return [(row, cells) for row, cells in rows if any(cell.given for cell in cells)]


def verdicts(problem, *solutions):
    """verify() in short: how many cases pass, one row per dtype, one column per solution.

    Cases that a solution is not given ("large for the emulator") are left out of its count. Cases
    that must be rejected have a row of their own.
    """
    results = _results(problem, solutions)
    columns = list(dict.fromkeys(each["solution"] for each in results))
    rows = Verdicts(results).rows(problem, columns)
    return pandas.DataFrame([list(map(str, cells)) for _, cells in rows], columns=columns,
                            index=[row for row, _ in rows])


def counted(variants):
    """What the report of `prenorm mistakes` says of each: [{problem, name, words, sentence, right,
    wrong, caught: whether a case catches it, first: the first that does, cells: a Count for each
    dtype, None without cases}]."""
    found = []
    for variant in variants:
        dtypes = variant["dtypes"]
        caught = [case for each in dtypes.values() for case in each["caught"]]
        found.append({
            "problem": variant["problem"], "name": variant["variant"], "words": variant["name"],
            "sentence": variant["sentence"], "right": variant["right"], "wrong": variant["wrong"],
            "caught": bool(caught), "first": caught[0] if caught else "no case",
            "cells": [Count(len(dtypes[dtype]["caught"]), len(dtypes[dtype]["tried"]))
                      if dtype in dtypes else None for dtype in DTYPES]})
    return found


def mistakes(problem):
    """The known mistakes of a problem and how many cases of each dtype catch them: a table."""
    return pandas.DataFrame([{
        "mistake": each["name"], **{d: str(c or "-") for d, c in zip(DTYPES, each["cells"])},
        "first case that catches it": each["first"],
    } for each in counted(report("mistakes", problem)["variants"])]).set_index("mistake")


def names_of_mistakes(problem, dtype=None):
    """The known mistakes of a problem, as load() takes them: ["mistakes/no_eps", ...]. With
    float32 or float64 without those of 16-bit types whose names end in "_in_t"."""
    names = _variants("mistakes", problem)
    wide = dtype in ("float32", "float64")
    return [name for name in names if not (wide and name.endswith("_in_t"))]


def names_of_honest(problem):
    """The honest variants of a problem, as load() takes them: ["honest/ascending", ...]."""
    return _variants("honest", problem)


def _variants(library, problem):
    listing = subprocess.run(["nm", "-D", "--defined-only", str(find(library)[0])], check=True,
                             capture_output=True, text=True).stdout
    found = re.findall(rf"\bprenorm_{problem}__(\w+)", listing)
    return [f"{library}/{name}" for name in sorted(found)]
