# labels: unit
"""The page of a class: what stands in it, for classes of all sizes, and that nothing from outside
breaks it."""

import base64
import hashlib

import pytest

from gradings import check_elements, check_is_escaped, check_needs_nothing, render
from overviews import (CLASSES, empty, five_students, full_marks, hostile, linked, nobody_graded,
                       one_student, set_by_hand, without_roster)


def page_of(made):
    return render(made, "class")


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_page_that_needs_nothing_beside_itself(name):
    made = CLASSES[name]()
    page = page_of(made)
    check_needs_nothing(page, scripts=1)
    check_elements(page)
    # A row for each, and a cell for each item, total and flags.
    table = page[page.find('<div class="students"'):]
    rows = len(made["rows"])
    assert rows == 0 or table.count("<tr>") + table.count("<tr ") == rows + 1
    assert rows == 0 or table.count("<td") == rows * (len(made["items"]) + 2 + bool(made["deadline"]))


def test_the_page_says_how_it_went():
    page = page_of(five_students())
    for part in ("<title>CS336 2025, assignment 1: the parts of the Transformer block: 5 students</title>",
                 "rubric <bdi>cs336-2025</bdi>, gradebook <bdi>grades.sqlite</bdi>",
                 "<dt>students</dt><dd>5</dd>", "<dt>submissions</dt><dd>4</dd>",
                 "<dt>graded</dt><dd>4</dd>", "<dt>not graded</dt><dd>0</dd>",
                 # (9.5 + 6.5 + 4 + 0) / 4, and half way between 6.5 and 4.
                 "<dt>mean</dt><dd>5 <small>of 9.5 points</small></dd>",
                 "<dt>median</dt><dd>5.25 <small>of 9.5 points</small></dd>",
                 "1 submission is in no roster",
                 # Three of four earned the first item. Of the second's 8 points: 2, 2, 1.5 by hand, 0.
                 "<b>75%</b>, 3 of 4 full", "<b>69%</b>, 2 of 4 full",
                 '<bdi>eps outside of the root</bdi></td><td class="number">1.5</td><td class="number">1<',
                 'colspan="3"><bdi>rmsnorm</bdi>'):
        assert part in page, part
    failed = five_students()
    failed["rows"][1] |= {"graded": False, "flags": ["not graded: the grader was killed"]}
    assert "<dt>graded</dt><dd>3</dd>" in page_of(failed)
    assert "<dt>not graded</dt><dd>1</dd>" in page_of(failed)
    nothing_in_it = five_students()
    nothing_in_it["rows"][1]["counted"] = False
    assert "<dt>of them not gradeable</dt><dd>1</dd>" in page_of(nothing_in_it)


def test_the_histogram_has_a_bar_for_each_bin_with_somebody():
    made = one_student()
    page = page_of(made)
    assert page.count('<i style="height:0%"></i>') == 9
    assert ('<div title="1 student: 0.9 to 1 points"><span>1</span><i style="height:100%"></i>') in page
    assert '<span class="left">mean and median 1</span>' in page
    page = page_of(made | {"points": 20, "histogram": [1, 0, 0, 12, 0, 0, 0, 0, 0, 7], "mean": 8,
                           "median": 6.5})
    assert page.count('<i style="height:0%"></i>') == 7
    for part in ('12 students: 6 to under 8 points"><span>12</span><i style="height:100%',
                 '7 students: 18 to 20 points"><span>7</span><i style="height:58.33%',
                 '<b class="mean" style="left:40%"><span>mean 8</span></b>',
                 '<b class="median" style="left:32.5%"><span class="left">median 6.5</span></b>',
                 '<span style="left:30%">6</span>'):
        assert part in page, part
    for none in (nobody_graded(), empty(0, points=0, histogram=[]), empty(1)):
        assert 'class="histogram"' not in page_of(none)


def test_points_set_by_hand_are_marked_with_the_reason():
    page = page_of(five_students())
    assert ('<span class="hand" title="set by hand to 1.5, graded 0: eps was told wrongly in the '
            'lecture of 3 May">1.5*</span>') in page
    assert ("<b><bdi>Grace Hopper</bdi></b>, <bdi>embedding</bdi>: set by hand to 1.5, graded 0: "
            "<bdi>eps was told") in page
    assert 'class="hand"' not in page_of(full_marks())


def test_who_was_not_graded_has_no_points_but_those_set_by_hand():
    made = nobody_graded()
    assert page_of(made).count('quiet">–</span></td>') == 12
    assert page_of(made).count('skipped">–</td>') == 2
    set_by_hand(made["rows"][0], 2, 1, "handed in by mail")
    assert page_of(made).count('quiet">–</span></td>') == 11
    assert 'skipped">1</td>' in page_of(made)


def test_names_without_a_roster_are_those_of_submissions():
    page = page_of(without_roster())
    assert "12 submissions</h2>" in page and "<dt>students</dt>" not in page
    assert '<div class="who" title="student_1"><bdi>student_1</bdi></div>' in page


def test_rows_link_to_reports_and_tell_of_days_late():
    page = page_of(linked())
    for part in ('<a href="pages/student_1.html"><bdi>Ada ',
                 '<th scope="col" class="number">days late</th>',
                 # 40000, 90000 and 140000 seconds after the deadline; in time; a time that nobody knows.
                 'title="2026-10-06T11:05:40Z">1</td>', 'title="2026-10-07T00:59:00Z">2</td>',
                 'title="2026-10-05T07:19:00Z">0</td>', 'title="">–</td>'):
        assert part in page, part
    page = page_of(five_students())
    assert "days late" not in page and "<a " not in page


def test_the_policy_names_the_one_script():
    page = page_of(five_students())
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert script and f"script-src &#39;sha256-{digest}&#39;" in page


def test_the_page_escapes_all_that_comes_from_outside():
    page = page_of(hostile())
    check_is_escaped(page, scripts=1)
    assert len(page.encode()) < 100000 and "w" * 1001 not in page
