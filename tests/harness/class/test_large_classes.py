# labels: grading slow
# timeout: 3600
# processors: 2
"""A class of 20 whose grader is killed 10 times, and one of 60 with everything in it."""

import json
import os
import random
import subprocess
import time
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from gradebooks import Course, children, difference, dump, none_left
from places import program
from synthetic_class import RUBRIC, make_class, rubric_problems

KILLS = 10
GIB = 1 << 30


class WholeCourse(Course):
    """By the shipped rubric, hidden cases too."""

    def __init__(self, folder, *words):
        super().__init__(folder)
        self.words = ["--rubric", "cs336-2025", "--seed", 7, *words]

    def names(self):
        return sorted(f"subs/{each.name}" for each in (self.folder / "subs").iterdir()
                      if each.name != "expected.json")


def same_every_time(path, expected):
    """What stands in a gradebook, but for the numbers of attacks: some hand back what lay in memory,
    and addresses with it."""
    found = dump(path)
    attacks = {os.fsencode(f"subs/{name}") for name, facts in expected.items()
               if facts["sort"] == "attack"}
    rows = [dict(row) for row in found["submissions"]]
    names = {row["name"] for row in rows if row["path"] in attacks}
    assert names
    found["submissions"] = [tuple((key, value) for key, value in row.items()
                                  if key != "results" or row["name"] not in names) for row in rows]
    return found


def taken(course):
    return course.ask("SELECT count(*) FROM submissions")[0][0] if course.book.exists() else 0


def kill_at_random(course, seconds_each, draw):
    """How many submissions each of the killed runs got, and what they printed."""
    counts = []
    for kill in range(KILLS):
        before = taken(course)
        # So that it is not done before the last.
        scarce = 20 - before < 3 * (KILLS - kill) / 2 + 5
        with open(course.folder / "log", "wb") as log:
            process = course.start(stderr=log)
        wanted = before + (0 if scarce else draw.choice((0, 1, 1, 2)))
        while wanted > before and taken(course) < wanted:
            assert process.poll() is None, (course.folder / "log").read_text()
            time.sleep(0.02)
        time.sleep(draw.uniform(0, seconds_each / 2 if scarce else 1.5 * seconds_each))
        assert process.poll() is None, "it was done before the last kill"
        process.kill()
        process.wait()
        none_left()
        counts.append(taken(course) - before)
    return counts


def killed_at_10_moments(tmp_path):
    """Nothing is lost and nothing doubled: the gradebook is that of a run that nobody killed."""
    subs = tmp_path / "course/subs"
    expected = make_class(subs, 20, 3, fast=True)
    course = WholeCourse(tmp_path / "course")
    start = time.monotonic()
    code, printed = course.grade()
    seconds = time.monotonic() - start
    assert code == 1 and "20 submissions: 20 graded, 0 unchanged, 0 not graded" in printed
    once = same_every_time(course.book, expected)
    for path in course.folder.glob("g.sqlite*"):
        path.unlink()

    counts = kill_at_random(course, seconds / 20, random.Random(20))
    left = 20 - taken(course)
    print(f"{seconds:.0f} s in one; killed after {counts}; {left} left for the last run")
    assert sum(counts) + left == 20 and 0 < left
    code, printed = course.grade()
    assert code == 1 and "20 submissions: " in printed and " 0 not graded" in printed
    unlike = difference(same_every_time(course.book, expected), once)
    assert not unlike, unlike
    assert {os.fsdecode(path).removeprefix("subs/")
            for path, in course.ask("SELECT path FROM submissions")} == set(expected)


# 60 of every sort


def memory_of(pid):
    """What a process and its descendants have together; what they share counts for each."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        pages = 0
    return pages * os.sysconf("SC_PAGESIZE") + sum(map(memory_of, children(pid)))


def unmet(name, facts, course):
    """What an expectation says that the gradebook does not; empty: all is met."""
    rows = course.ask("SELECT name, status FROM submissions WHERE path = ?",
                      os.fsencode(f"subs/{name}"))
    if len(rows) != 1:
        return f"{len(rows)} rows"
    [(known, status)] = rows
    items = course.ask("SELECT item, problems, points, earned FROM items WHERE submission = ?",
                       known)
    points, earned = sum(row[2] for row in items), sum(row[3] for row in items)
    if len(items) != len(rubric_items(course)):
        return f"{len(items)} items"
    full = abs(earned - points) < 1e-9
    fits = {"full": full, "none": earned == 0, "some": 0 < earned and not full, "unknown": True}
    if not fits[facts["points"]]:
        return f"{earned} of {points} points"
    if facts["sort"] == "no_work" and status != "LOAD_ERROR":
        return status
    if "status" in facts and facts["sort"] != "no_work":
        statuses = {status, *(row[0] for row in course.ask(
            "SELECT DISTINCT status FROM cases WHERE submission = ?", known))}
        if facts["status"] not in statuses:
            return str(statuses)
    if facts["sort"] == "mistake" and (facts["problem"], facts["mistake"]) in seen_by_the_rubric():
        [(_, _, points, earned)] = [row for row in items if f'"{facts["problem"]}"' in row[1]]
        if earned == points:
            return f"all points of {facts['problem']}"
    return ""


@cache
def seen_by_the_rubric():
    """(problem, mistake) of those that fail a visible case of its groups."""
    done = subprocess.run([program(), "mistakes", "--json", "-"], stdout=subprocess.PIPE, check=True)
    caught = {(variant["problem"], variant["variant"]): variant["dtypes"]
              for variant in json.loads(done.stdout)["variants"]}
    return {(problem, mistake)
            for item in tomllib.loads(RUBRIC.read_text())["items"] for group in item["groups"]
            for problem, mistake in caught
            if problem in group.get("problems", item["problems"])
            and any(fnmatchcase(case, pattern) for dtype in group["dtypes"]
                    for case in caught[problem, mistake].get(dtype, {"caught": []})["caught"]
                    for pattern in group["cases"])}


def rubric_items(course):
    return course.ask("SELECT DISTINCT item FROM items")


def of_60_sorts(tmp_path):
    """With what hangs, floods and forks, by shorter limits than the usual ones."""
    expected = make_class(tmp_path / "course/subs", 60, 2)
    course = WholeCourse(tmp_path / "course", "--timeout", 4, "--build-timeout", 60)
    start = time.monotonic()
    with open(course.folder / "log", "wb") as log:
        process = course.start(stderr=log)
    most = 0
    while process.poll() is None and time.monotonic() < start + 5400:
        most = max(most, memory_of(process.pid))
        time.sleep(1)
    code, printed = course.finish(process)
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s, {seconds / 60:.2f} s a submission, {most / GIB:.2f} GiB")
    assert code == 1 and "60 submissions: 60 graded, 0 unchanged, 0 not graded" in printed
    assert course.ask("SELECT count(*) FROM submissions") == [(60,)]
    wrong = {name: (facts, why) for name, facts in expected.items()
             if (why := unmet(name, facts, course))}
    assert not wrong, wrong
    diagnosed = set(course.ask(
        "SELECT DISTINCT value ->> 0, value ->> 1 FROM items, json_each(items.diagnoses)"))
    asked = {(facts["problem"], facts["mistake"]) for facts in expected.values()
             if facts["sort"] == "mistake" and facts["problem"] in rubric_problems()}
    print(f"{len(asked & diagnosed)} of {len(asked)} mistakes told by name")
    assert len(asked & diagnosed) > len(asked) / 2
    assert most < 24 * GIB


@pytest.mark.parametrize("check", [killed_at_10_moments, of_60_sorts])
def test_a_large_class(check, tmp_path):
    check(tmp_path)
