# labels: unit grading
# slow labels: unit grading
"""`prenorm gradebook`: what a teacher sees of a class, and hands out.

A few submissions are graded once, by a rubric of two items; each test has a copy of that gradebook.
"""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
from urllib.parse import unquote

import pytest

from elf import with_names
from grading import rubric
from places import program, shipped
from submissions import make

FORMULA = "=cmd|'-C calc'!A1"
LINES = "two\nlines <b>"
SHOWN_LINES = r"two\nlines <b>"
LONG = "a" * 250 + "é2"
SEED = "7316273498716253"

SELECTED = 'dtypes = ["float32"]\nexcept = ["*empty*", "nan_*"]'
RUBRIC = rubric("A small one", {"float32": SELECTED, "hidden": "hidden = true\n" + SELECTED},
                {"norms": ("rmsnorm", 2), "softmax": ("softmax", 3)})


def run(*words, folder=None, expect=0, environment=None):
    """Standard output and standard error of `prenorm`, after its exit code is checked."""
    done = subprocess.run([str(program()), *map(str, words)], capture_output=True, cwd=folder,
                          timeout=300, env={**os.environ, "COLUMNS": "", **(environment or {})})
    out, error = done.stdout.decode("utf-8", "strict"), done.stderr.decode("utf-8", "strict")
    assert done.returncode == expect, (out, error)
    return out, error


def gradebook(*words, **more):
    return run("gradebook", *words, **more)


def shown(*words, **more):
    """Standard output alone."""
    return gradebook(*words, **more)[0]


def refused(*words):
    """The one line that says why."""
    out, error = gradebook(*words, expect=2)
    assert out == "" and error.count("\n") == 1 and error.startswith("prenorm: "), (out, error)
    return error


@pytest.fixture(scope="session")
def graded(tmp_path_factory):
    """A folder with the rubric, submissions and the gradebook of a class."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "small.toml").write_text(RUBRIC)
    right = shipped("plain").read_bytes()
    wrong = with_names(shipped("mistakes").read_bytes(),
                       {"prenorm_rmsnorm__mean_subtracted": "prenorm_rmsnorm"})
    names = {"alice": right, FORMULA: wrong, LINES: right, LONG: b"no library"}
    for name, library in names.items():
        (folder / "in" / name).mkdir(parents=True)
        (folder / "in" / name / "solution.so").write_bytes(library)
    run("grade", *(folder / "in" / name for name in names), "--rubric", "small.toml", "--seed",
        SEED, "--gradebook", "grades.sqlite", "--jobs", "2", folder=folder, expect=1)
    assert not (folder / "grades.sqlite.work").exists()
    return folder


@pytest.fixture()
def book(graded, tmp_path, monkeypatch):
    """A folder with a copy of the gradebook, grades.sqlite; commands are run in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(graded / "grades.sqlite", tmp_path)
    shutil.copy(graded / "small.toml", tmp_path)
    return tmp_path


def change(book, *statements):
    """Executes each (SQL, values...) in the gradebook, as another program would."""
    base = sqlite3.connect(book / "grades.sqlite")
    for sql, *values in statements:
        base.execute(sql, values)
    base.commit()
    base.close()


def rename(book, name, other):
    change(book, ("UPDATE submissions SET name = ? WHERE name = ?", other, name))


def copied(name, other):
    """The statement that adds a submission like another one."""
    columns = ("path, files, changed, exam, limits, failure, regrade, program, graded_at, statuses, "
               "outline, results")
    return (f"INSERT INTO submissions(name, {columns}) SELECT ?, {columns} FROM submissions "
            "WHERE name = ?", other, name)


def store_roster(book, text):
    (book / "roster.csv").write_text(text)
    return shown("roster", "roster.csv")


def rows(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def exported(*words):
    """The rows of the CSV by the submissions' names."""
    text = shown("--csv", "-", *words)
    return {row["submission"].removeprefix("'"): row for row in rows(text)}


def test_the_table_and_the_summary(book):
    text = shown()
    lines = text.splitlines()
    assert lines[0] == "grades.sqlite by small: A small one"
    assert lines[2].split() == ["student", "norms", "softmax", "total", "flags"]
    assert any(line.split() == ["alice", "2", "3", "5"] for line in lines)
    assert any(line.split()[-3:] == ["0", "0", "0"] for line in lines if FORMULA in line)
    assert SHOWN_LINES in text and "LOAD_ERROR" in text
    assert "4 students, 4 graded\nof 5 points the mean is 2.5, the median 2.5" in text
    assert any(line.split()[:5] == ["norms", "50%", "2", "of", "4"] for line in lines)
    assert any(line.split() == ["1", "the", "mean", "subtracted", "first", "rmsnorm"] for line in lines)
    assert any(line.split() == ["submissions", "known", "mistake", "problem"] for line in lines)
    summary = shown("grades.sqlite", "--summary")
    assert text.endswith(summary) and "alice" not in summary


@pytest.mark.parametrize("columns", [30, 60, 80, 200])
def test_the_table_fits_the_terminal(book, columns):
    change(book, ("UPDATE course SET items = replace(items, 'norms', 'transformer_block_one')",))
    text = shown(environment={"COLUMNS": str(columns)})
    if columns >= 60:
        assert all(len(line) <= columns for line in text.splitlines()), text
    assert "alice" in text and "softmax" in text


def test_csv(book):
    text = shown("--csv", "-")
    assert text.count("\r\n") == 5
    found = rows(text)
    assert list(found[0]) == ["submission", "name", "id", "email", "norms", "softmax", "total",
                              "out of", "flags", "set by hand"]
    students = exported()
    assert students["alice"]["norms"] == "2" and students["alice"]["total"] == "5"
    assert students[FORMULA]["submission"] == "'" + FORMULA
    assert students[SHOWN_LINES]["total"] == "5"
    gradebook("--csv", "out.csv")
    assert (book / "out.csv").read_bytes().decode() == text


def test_csv_has_no_points_for_what_could_not_be_graded(book):
    """And 0 for who handed nothing in; but those that were set by hand."""
    change(book, ("UPDATE submissions SET files = '', failure = 'the grader was killed' "
                  "WHERE name = 'alice'",))
    store_roster(book, "submission,name\nalice,A\nnobody,N\n")

    def points(name):
        row = exported()[name]
        return row["norms"], row["softmax"], row["total"]

    assert points("alice") == ("", "", "") and points("nobody") == ("0", "0", "0")
    gradebook("set", "alice", "norms", "1.5", "--why", "by mail")
    assert points("alice") == ("1.5", "", "")
    gradebook("set", "alice", "softmax", "2", "--why", "by mail")
    assert points("alice") == ("1.5", "2", "3.5")


def test_what_is_not_graded_whole_is_no_grade(book):
    change(book, ("UPDATE submissions SET outline = json_set(outline, '$.not_asked', 321, '$.budget', "
                  "300.0) WHERE name = 'alice'",))
    flag = "not graded whole: 321 cases were not run"
    text = shown()
    [alice] = [line for line in text.splitlines() if line.startswith("alice")]
    assert alice.split()[1:4] == ["2", "3", "5"] and flag in alice  # those so far
    assert "mean is 1.67" in text and "4 students, 4 graded, 1 of them not whole" in text
    [go_on] = [line for line in text.splitlines() if line.startswith("not graded whole; go on with: ")]
    assert go_on.endswith("in/alice --gradebook grades.sqlite --budget 1200")
    for words in (("--csv", "-"), ("--fill", "export.csv", "--out", "filled.csv")):
        error = refused(*words)
        assert error.startswith("prenorm: not graded whole: alice; go on with: ")
        assert error.endswith("; or export the points so far with --incomplete\n")
    alice = exported("--incomplete")["alice"]
    assert alice["total"] == "5" and alice["flags"] == flag
    assert "--incomplete is for --csv" in refused("--incomplete")
    report = json.loads(shown("--json", "-"))
    [student] = [each for each in report["students"] if each["submission"] == "alice"]
    assert student["not_asked"] == 321 and student["gradeable"]
    assert go_on.endswith(report["go_on"])
    page = shown("--html", "-")
    assert flag in page and "--budget 1200</code>" in page and flag in shown("--student", "alice", "--html", "-")
    assert "5 of 5 points, not graded whole" in shown("--student", "alice")
    assert json.loads(shown("--student", "alice", "--json", "-"))["not_asked"] == 321
    for item in ("norms", "softmax"):  # somebody has decided
        gradebook("set", "alice", item, "1", "--why", "by hand")
    assert exported()["alice"]["total"] == "2"


def test_json(book):
    text = shown("--json", "-")
    report = json.loads(text)
    students = {student["submission"]: student for student in report["students"]}
    assert students["alice"]["total"] == 5 and report["seed"] == int(SEED)
    cases = students[FORMULA]["results"]
    assert {"INCORRECT_NUMERICAL", "NOT_IMPLEMENTED"} <= {case["status"] for case in cases}
    assert any(case["hidden"] for case in cases)
    assert not any("seconds" in case or "repeat" in case for case in cases)
    assert "environment" not in report and str(book) not in text
    gradebook("--json", "out.json")
    assert (book / "out.json").read_text() == text


@pytest.mark.slow
def test_points_set_by_hand(book, graded):
    out = shown("grades.sqlite", "set", "--why", "=late, but\nright", "--", FORMULA, "rmsnorm",
                "1.5")
    assert "norms: 1.5 of 2 points, in place of 0" in out
    out = shown("set", LINES, "softmax", "4", "--why", "bonus")
    assert "more points than the item has" in out
    text = shown()
    assert "*1.5" in text and "norms: 1.5 set by hand in place of 0: =late, but\\nright" in text
    row = exported()[FORMULA]
    assert row["norms"] == "1.5" and "=late" in row["set by hand"]
    assert "set by hand" in row["flags"]
    report = json.loads(shown("--json", "-"))
    [student] = [each for each in report["students"] if each["submission"] == SHOWN_LINES]
    assert student["points"][1] == {"item": "softmax", "earned": 4, "set_by_hand": True,
                                    "graded": 3, "why": "bonus"}
    one = shown("--student=" + LINES)
    assert "softmax: 4 points set by hand in place of 3: bonus" in one and "6 of 5 points" in one
    # Graded again, they stay.
    run("grade", graded / "in" / FORMULA, "--rubric", "small.toml", "--seed", SEED,
        "--gradebook", "grades.sqlite", "--regrade", expect=1)
    assert exported()[FORMULA]["norms"] == "1.5"
    gradebook("unset", LINES, "softmax")
    assert "no points were set by hand" in refused("unset", LINES, "softmax")
    assert exported()[SHOWN_LINES]["softmax"] == "3"


@pytest.mark.parametrize("words, why", [
    (("alise", "norms", "1", "--why", "x"), "did you mean 'alice'"),
    (("alice", "norm", "1", "--why", "x"), "did you mean 'norms'"),
    (("alice", "norms", "nan", "--why", "x"), "wanted a number, 0 or more"),
    (("alice", "norms", "inf", "--why", "x"), "wanted a number, 0 or more"),
    (("alice", "norms", "1x", "--why", "x"), "wanted a number, 0 or more"),
    (("--why", "x", "--", "alice", "norms", "-1"), "wanted a number, 0 or more"),
    (("alice", "norms", "1", "--why", " "), "--why is empty"),
    (("alice", "norms", "1"), "--why is required"),
])
def test_wrong_points_are_refused(book, words, why):
    before = shown()
    assert why in refused("set", *words)
    assert shown() == before


def test_a_roster(book):
    out = store_roster(
        book, 'Email,submission,name,id\na@x,alice,"Müller, Anna",+1\n,nobody,Nob Ody,2\n')
    assert "2 students in the roster; 1 handed something in" in out
    assert SHOWN_LINES in out and "not in the roster" in out
    found = rows(shown("--csv", "-"))
    assert [row["submission"] for row in found[:2]] == ["alice", "nobody"] and len(found) == 5
    assert found[0]["name"] == "Müller, Anna" and found[0]["id"] == "'+1"
    assert found[1]["total"] == "0" and found[1]["flags"] == "nothing handed in"
    for who in ("Müller, Anna", "+1", "A@X"):
        assert "5 of 5 points" in shown("--student", who)
    assert "nothing was handed in" in refused("--student", "Nob Ody")


def test_one_student(book):
    text = shown("--student", "alice")
    assert text.startswith("alice (library) by small: A small one") and "5 of 5 points" in text
    text = shown("--student", "alice", "--html", "a.html", "--json", "a.json", "--junit", "a.xml",
                 "--instructor", "secret.json")
    assert sorted(text.splitlines()) == [
        "wrote a.html", "wrote a.json", "wrote a.xml", "wrote secret.json"]
    for name in ("a.html", "a.json", "a.xml"):
        assert SEED not in (book / name).read_text(), name
    assert SEED in (book / "secret.json").read_text()
    assert json.loads((book / "a.json").read_text())["earned"] == 5
    assert "did you mean 'alice'" in refused("--student", "alic")
    assert "--student" in refused("--instructor", "s.json")
    assert not (book / "s.json").exists()


def test_what_holds_the_seed_is_for_its_owner_alone(book):
    (book / "class.json").write_text("")
    (book / "class.json").chmod(0o644)
    gradebook("--json", "class.json")
    gradebook("--student", "alice", "--instructor", "secret.json")
    for name in ("class.json", "secret.json"):
        assert SEED in (book / name).read_text()
        assert (book / name).stat().st_mode & 0o777 == 0o600, name


def test_feedback(book):
    out = shown("--feedback", "new/pages")
    assert out.startswith("4 pages in ")
    names = sorted(path.name for path in (book / "new" / "pages").iterdir())
    assert len(names) == 4 and "alice.html" in names
    for name in names:
        assert len(name.encode()) <= 255 and name.endswith(".html")
        assert not set(name) & set("/\\'|!\n")
        assert SEED not in (book / "new" / "pages" / name).read_text()
    assert sorted(path.name for path in book.iterdir()) == ["grades.sqlite", "new", "small.toml"]
    (book / "new/pages/nobody-now.html").write_text("")  # of a submission that is gone
    out = shown("--feedback", "new/pages")
    assert "not written now, of an earlier time: nobody-now.html\n" in out
    (book / "new/pages/nobody-now.html").unlink()
    assert names == sorted(path.name for path in (book / "new" / "pages").iterdir())


@pytest.mark.parametrize("words", [
    ("--csv", "x"), ("--json", "x"), ("--junit", "x"), ("--instructor", "x"),
    ("--student", "alice"), ("--summary",)])
def test_feedback_goes_with_nothing_else(book, words):
    error = refused("--feedback", "pages", *words)
    assert f"without it: {words[0]}\n" in error
    assert not (book / "pages").exists() and not (book / "x").exists()


def test_rows_of_the_class_link_to_pages_that_are_there(book):
    gradebook("--html", "plain.html")
    assert "<a " not in (book / "plain.html").read_text()
    (book / "teacher").mkdir()
    out = shown("--feedback", "new pages", "--html", "teacher/class.html")
    assert "4 pages in new pages\n" in out and "wrote teacher/class.html\n" in out
    links = re.findall(r'<a href="([^"]+)"', (book / "teacher/class.html").read_text())
    assert len(set(links)) == 4 and all(link.startswith("../new%20pages/") for link in links)
    for link in links:
        assert (book / "teacher" / unquote(link)).is_file(), link
    out, error = gradebook("--feedback", "new pages", "--html", "-")
    assert out.startswith("<!DOCTYPE html>") and error == ""
    assert 'href="new%20pages/alice.html"' in out


def test_exports_say_what_they_wrote_and_no_table(book):
    out = shown("--csv", "g.csv", "--html", "g.html", "--json", "g.json")
    assert out == "wrote g.csv\nwrote g.html\nwrote g.json\n"
    out, error = gradebook("--csv", "-", "--html", "g.html")
    assert out.startswith('"submission"') and "wrote" not in out and error == "wrote g.html\n"
    out = shown("--csv", "g.csv", "--summary")
    assert out.startswith("wrote g.csv\n4 students, 4 graded")


def test_a_submission_is_removed(book):
    gradebook("set", "alice", "norms", "1", "--why", "by mail")
    assert "did you mean 'alice'" in refused("remove", "alise")
    out = shown("remove", "alice")
    assert "alice: removed from the gradebook, with points that were set by hand" in out
    left = exported()
    assert len(left) == 3 and "alice" not in left
    assert "no student 'alice'" in refused("remove", "alice")
    with sqlite3.connect(book / "grades.sqlite") as base:
        for table in ("items", "cases", "set_points"):
            assert base.execute(f"SELECT count(*) FROM {table} WHERE submission = 'alice'"
                                ).fetchone() == (0,), table
    base.close()


def test_days_late(book):
    assert "late" not in shown()
    store_roster(book, "submission,name,submitted\n"
                       "alice,A,2026-10-07T00:00:00Z\nnobody,N,\n")
    before = exported()
    late = exported("--deadline", "2026-10-05T23:59Z")
    assert late["alice"]["days late"] == "2"
    assert late["alice"]["handed in"] == "2026-10-07T00:00:00Z"
    # Without a time in the roster it is that of the files as they were graded: just now.
    assert (late[FORMULA]["days late"] == "0") == (time.time() < 1791244740)
    assert late["nobody"]["days late"] == "" and late["nobody"]["handed in"] == ""
    for name, row in before.items():  # points are as before
        assert row.items() <= late[name].items()
    text = shown("--deadline", "2026-10-05 23:59", environment={"TZ": "UTC"}).splitlines()
    assert text[2].split()[-4:] == ["total", "days", "late", "flags"]
    assert any(line.split() == ["A", "2", "3", "5", "2"] for line in text)
    report = json.loads(shown("--json", "-", "--deadline", "2026-10-05T23:59Z"))
    assert report["students"][0]["days_late"] == 2 and "days_late" not in report["students"][1]
    # A date is to its end.
    assert shown("--deadline", "2026-10-05", environment={"TZ": "UTC"}).splitlines() == text
    assert "wanted a time like" in refused("--deadline", "tomorrow")
    assert "--deadline is of the whole class" in refused(
        "--student", "alice", "--deadline", "2026-10-05T23:59")


CANVAS = ("Student,ID,SIS User ID,SIS Login ID,Section,Homework (77)\n"
          "    Points Possible,,,,,5\n"
          '"Doe, Jo",1,900,nobody,A,4\n'
          '"Lid, Al",2,901,alice,A,\n')


def test_grades_go_into_a_platforms_export(book):
    (book / "canvas.csv").write_text(CANVAS)
    out = shown("--fill", "canvas.csv", "--out", "filled.csv", expect=1)
    assert "wrote filled.csv\n1 grade in the column 'Homework (77)' of Canvas's export\n" in out
    assert "in the export, but matching none, or several, in the gradebook: Doe, Jo (900)\n" in out
    assert "in the gradebook, and not in the export: " in out and SHOWN_LINES in out
    assert "note" not in out  # of 5 points the column is, and the rubric
    filled = (book / "filled.csv").read_text()
    assert filled.splitlines()[2:] == ['"Doe, Jo",1,900,nobody,A,4', '"Lid, Al",2,901,alice,A,5']
    assert (book / "canvas.csv").read_text() == CANVAS
    # The same export as the roster.
    gradebook("roster", "canvas.csv")
    out, error = gradebook("--fill", "canvas.csv", "--column", "Homework (77)", "--out", "-",
                           expect=1)
    assert out.startswith("Student,ID,") and "in the gradebook, and not in the export: " in error


GRADESCOPE = ("First Name,Last Name,SID,Email,Total Score,Max Points,Submission ID\n"
              "Jo,Doe,900,jo@x,,5,501\n"
              "Al,Lid,901,al@x,,5,501\n"
              "Cy,Dee,902,cy@x,,5,\n")


def test_students_hand_in_together(book):
    """As Gradescope has it: one submission, a row for each of its students."""
    rename(book, "alice", "submission_501")
    (book / "gradescope.csv").write_text(GRADESCOPE)
    out = shown("roster", "gradescope.csv")
    assert "3 students in the roster; 2 handed something in" in out
    table = rows(shown("--csv", "-"))
    assert [(row["name"], row["submission"], row["total"]) for row in table[:2]] == [
        ("Jo Doe", "submission_501", "5"), ("Al Lid", "submission_501", "5")]
    assert table[2]["flags"] == "nothing handed in"
    students = json.loads(shown("--json", "-"))["students"]
    assert [each["total"] for each in students[:3]] == [5, 5, 0]
    # One page, for both.
    gradebook("--feedback", "pages")
    assert len(list((book / "pages").glob("submission_501*"))) == 1
    out = shown("set", "Al Lid", "norms", "1", "--why", "late")
    shared = "note: this holds for all students of submission_501: Jo Doe, Al Lid\n"
    assert out.endswith(shared)
    table = rows(shown("--csv", "-"))
    assert [row["total"] for row in table[:2]] == ["4", "4"]
    assert shown("unset", "901", "norms").endswith(shared)
    # It is compared with others, and not with itself.
    alike = shown("similar")
    assert not re.search(r"submission_501.*submission_501", alike)


def test_partners_with_one_name(book):
    store_roster(book, "submission,name,id\nalice,Kim Lee,1\nalice,Kim Lee,2\n")
    out = shown("set", "Kim Lee", "norms", "1", "--why", "x")
    assert out.startswith("alice, norms: 1 of 2 points")
    assert "note: this holds for all students of alice: Kim Lee, Kim Lee\n" in out
    assert "note" not in shown("set", LINES, "norms", "1", "--why", "x")


def test_accents_may_be_written_otherwise(book):
    """In what is typed, and in an export; a name of the roster, or of a folder."""
    composed, decomposed = "Jos\u00e9", "Jose\u0301"
    rename(book, "alice", decomposed)
    for typed in (composed, decomposed):
        assert "5 of 5 points" in shown("--student", typed)
    (book / "canvas.csv").write_text(CANVAS.replace("alice", composed))
    out = shown("--fill", "canvas.csv", "--out", "filled.csv", expect=1)
    assert "1 grade in the column" in out
    store_roster(book, f"submission,name\n{decomposed},Zoe\u0308\n")
    for typed in ("Zo\u00eb", "Zoe\u0308"):
        assert "5 of 5 points" in shown("--student", typed)


def test_a_fill_that_cannot_be_is_refused(book):
    (book / "canvas.csv").write_text(CANVAS)
    for words, why in [
            (("--fill", "canvas.csv"), "--fill EXPORT and --out FILE go together"),
            (("--out", "x.csv"), "--fill EXPORT and --out FILE go together"),
            (("--column", "x"), "--column is for --fill"),
            (("--fill", "canvas.csv", "--out", "canvas.csv"), "is the export itself"),
            (("--fill", "none.csv", "--out", "x.csv"), "cannot read none.csv"),
            (("--fill", ".", "--out", "x.csv"), "cannot read .")]:
        assert why in refused(*words), words
        assert not (book / "x.csv").exists() and (book / "canvas.csv").read_text() == CANVAS


def test_similar_submissions_are_listed(book):
    sources = make("functions")
    renamed = "# Mine.\n" + re.sub(r"\bx\b", "given", sources)
    other = "".join(f"def own_{i}(a, b):\n    return [a, {i}, b][a + b - {i}] + {{a: b}}[{i}](b)\n"
                    for i in range(40))
    for name, text in {"alice": sources, "bob": renamed, "carol": other}.items():
        (book / "in" / name).mkdir(parents=True)
        (book / "in" / name / "adapters.py").write_text(text)
    (book / "in/bob/notes.ipynb").write_text("{}")
    change(book, *(copied("alice", name) for name in ("bob", "carol", "dan")),
           ("DELETE FROM submissions WHERE name NOT IN ('alice', 'bob', 'carol', 'dan')",),
           ("UPDATE submissions SET path = CAST('in/' || name AS BLOB)",))
    out = shown("grades.sqlite", "similar")
    lines = out.splitlines()
    assert lines[0].startswith("3 submissions, 1 pair that share 50 % or more")
    assert any(line.split() == ["100", "%", "alice", "bob", "adapters.py"] for line in lines), out
    assert "not compared: dan (not at in/dan)" in out and "not a verdict" in out
    out = shown("grades.sqlite", "similar", "--given", "in/alice")
    assert out.startswith("3 submissions, 0 pairs") and "share  " not in out
    assert "not compared: dan (not at in/dan); alice (too little code of its own); bob (too" in out
    assert "files not compared, as they are no sources: .ipynb of 1 submission" in out
    assert "--given nowhere" in refused("similar", "--given", "nowhere")
    assert "no sources in it" in refused("similar", "--given", "small.toml")
    assert "--share" in refused("similar", "--share", "101")


def test_feedback_of_names_that_lead_elsewhere(book):
    change(book, *(copied("alice", name)
                   for name in ("../up", "/tmp/x", "..", "Alice", "a/b", "a_b")))
    gradebook("--feedback", "pages")
    names = {path.name.lower() for path in (book / "pages").iterdir()}
    assert len(names) == 10
    assert sorted(path.name for path in book.iterdir()) == ["grades.sqlite", "pages", "small.toml"]


def foreign(path):
    path.unlink()
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE mine(x)")
    base.commit()
    base.close()


@pytest.mark.parametrize("make, why", [
    (lambda path: path.write_bytes(path.read_bytes()[:len(path.read_bytes()) // 2]), "damaged"),
    (foreign, "something else"), (lambda path: path.unlink(), "no such gradebook")])
def test_an_unsound_gradebook_is_refused_by_each_command_and_left_as_it_is(book, graded, make, why):
    """What all is unsound: test_gradebook.cpp."""
    path = book / "grades.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    (book / "roster.csv").write_text("submission,name\nalice,Anna\n")
    for words in ([], ["--csv", "-"], ["set", "alice", "norms", "1", "--why", "x"],
                  ["roster", "roster.csv"]):
        assert why in refused(*words)
        assert (path.read_bytes() if path.is_file() else None) == before
    if before:
        run("grade", graded / "in" / "alice", "--gradebook", "grades.sqlite", expect=2)
        assert path.read_bytes() == before
    assert not (book / "grades.sqlite.lock").exists()
