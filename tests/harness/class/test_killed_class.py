# labels: grading slow
# timeout: 3600
# processors: 2
"""A class of 20 whose grader is killed 10 times."""

import os
import random
import time

from gradebooks import Course, difference, dump, none_left
from made_up_class import STUDENTS, make_class

KILLS = 10


class WholeCourse(Course):
    """By the shipped rubric, hidden cases too."""

    def __init__(self, folder, *words):
        super().__init__(folder)
        self.words = ["--rubric", "cs336-2025", "--seed", 7, *words]


def same_every_time(path):
    """What stands in a gradebook, but for the numbers of attacks: some hand back what lay in memory,
    and addresses with it."""
    found = dump(path)
    attacks = {os.fsencode(f"subs/{name}") for name in STUDENTS if name.startswith("attack")}
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


def test_nothing_is_lost_and_nothing_doubled(tmp_path):
    """The gradebook is that of a run that nobody killed."""
    make_class(tmp_path / "course/subs")
    course = WholeCourse(tmp_path / "course")
    start = time.monotonic()
    code, printed = course.grade()
    seconds = time.monotonic() - start
    assert code == 1 and "20 submissions: 20 graded, 0 unchanged, 0 not graded" in printed
    once = same_every_time(course.book)
    for path in course.folder.glob("g.sqlite*"):
        path.unlink()

    counts = kill_at_random(course, seconds / 20, random.Random(20))
    left = 20 - taken(course)
    print(f"{seconds:.0f} s in one; killed after {counts}; {left} left for the last run")
    assert sum(counts) + left == 20 and 0 < left
    code, printed = course.grade()
    assert code == 1 and "20 submissions: " in printed and " 0 not graded" in printed
    unlike = difference(same_every_time(course.book), once)
    assert not unlike, unlike
    assert {os.fsdecode(path).removeprefix("subs/")
            for path, in course.ask("SELECT path FROM submissions")} == set(STUDENTS)
