# labels: unit grading
"""Rosters, and what Canvas, Moodle and Gradescope export: how they are read, and filled with grades.

Tables of (the file, the submissions in the gradebook, what comes of it); each is a row of a gradebook
that is written here, so nothing is graded but one submission, which makes the tables of the file.
"""

import json
import shutil
import sqlite3
import subprocess
from datetime import datetime

import pytest

from gradebooks import Course, write_course
from places import program

CANVAS = ("\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Homework 1 (11111),Homework 2 (12345),"
          "Final Score\r\n"
          ",,,,,Manual Posting,,\r\n"
          "    Points Possible,,,,,10,21,(read only)\r\n"
          '"Lovelace, Ada",4711,u100,ada,"CS 336, A",9,,90\r\n'
          '"Turing, Alan",4712,u101,alan@example.edu,"CS 336, A",,,\r\n'
          '"Noether, Emmy",4713,u102,emmy,"CS 336, B",8,7,80\r\n'
          '"Student, Test",9999,,0a1b2c3d,"CS 336, A",,,\r\n')
MOODLE = ('Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
          '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
          '"Participant 501","Ada Lovelace",ada@example.edu,"Submitted for grading",,21.00,Yes,'
          '"Monday, 5 October 2026, 11:58 PM",-,\n'
          '"Participant 502","Alan Turing",alan@example.edu,"No submission",,21.00,Yes,-,-,\n')
GRADESCOPE = ("First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,"
              "Submission Time,Lateness (H:M:S),View Count,Submission Count\n"
              "Ada,Lovelace,100,ada@example.edu,A,,21.0,Graded,7001,2026-10-05 23:59:30 -0700,"
              "00:00:00,0,1\n"
              "Alan,Turing,101,alan@example.edu,A,,21.0,Missing,,,,,\n")
TOGETHER = ("First Name,Last Name,SID,Email,Submission ID,Total Score\n"
            "Ann,A,1,a@x,501,\nBen,B,2,b@x,501,\nCy,C,3,c@x,502,\nDee,D,4,d@x,,\n")
QUIZ = "Student,ID,Section,Quiz (1)\n"
LOGINS = ("Student,ID,SIS User ID,SIS Login ID,Section,Quiz (1)\n"
          "A,1,u1,ann,x,\nB,2,u2,ben,x,\nC,3,u3,cy,x,\nD,4,u4,dee,x,\n")
SUBMITTED = "submission,submitted\n"
NFC, NFD, BJORK, BJORK_NFD = "Jos\u00e9", "Jose\u0301", "Bj\u00f6rk", "Bjo\u0308rk"
ACCENTS = f"submission\n{NFC}\n{BJORK_NFD}\nann\n"


def table(names, rows):
    """A test for each row, which is called by its number."""
    return pytest.mark.parametrize(names, rows, ids=map(str, range(1, len(rows) + 1)))


def seconds(text):
    return int(datetime.fromisoformat(text).timestamp())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A gradebook of one item of 21 points, without submissions."""
    folder = tmp_path_factory.mktemp("course")
    write_course(folder)
    course = Course(folder)
    course.grade(submissions=["subs/dee"])
    items = [{"name": "all", "problems": ["all"], "points": 21.0, "groups": []}]
    with sqlite3.connect(course.book) as book:
        [(outline,)] = book.execute("SELECT outline FROM submissions")
        book.execute("UPDATE course SET items = ?", [json.dumps(items)])
        book.execute("UPDATE submissions SET name = '', statuses = '{}', results = '[[]]'")
    book.close()
    return course.book, json.loads(outline)


class Book:
    def __init__(self, made, folder):
        self.path, self.outline, self.folder = folder / "g.sqlite", made[1], folder
        shutil.copy(made[0], self.path)
        self.base = sqlite3.connect(self.path)

    def add(self, name, total=None, id="", called="", absent=False):
        """A submission; without a total it could not be graded. With an id or a name in the roster."""
        if id or called or absent:
            self.base.execute("INSERT INTO students VALUES (NULL, ?, ?, ?, '', NULL, 0)",
                              [name, called, id])
        if absent or self.base.execute("SELECT 1 FROM submissions WHERE name = ?", [name]).fetchone():
            return
        item = {"name": "all", "problems": ["all"], "points": 21.0, "earned": total or 0.0,
                "groups": [], "cases": [], "diagnoses": [], "properties": [], "undiagnosed": [],
                "clues": []}
        outline = json.dumps({**self.outline, "status": "PASSED", "items": [item]})
        self.base.execute(
            "INSERT INTO submissions(name, path, files, exam, limits, failure, regrade, statuses, "
            "outline, results) SELECT ?, path, files, exam, limits, '', 0, statuses, ?, results FROM "
            "submissions WHERE name = ''", [name, outline])
        if total is None:
            self.base.execute("UPDATE submissions SET files = '', failure = 'killed' WHERE name = ?",
                              [name])

    def run(self, *words):
        self.base.execute("DELETE FROM submissions WHERE name = ''")
        self.base.commit()
        done = subprocess.run([program(), "gradebook", self.path, *words], capture_output=True,
                              text=True, cwd=self.folder)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def book(made, tmp_path):
    opened = Book(made, tmp_path)
    yield opened
    opened.base.close()


def read(book, text, submissions=(), encoding="utf-8"):
    """The exit code of storing that roster, what it printed, and the students."""
    (book.folder / "r.csv").write_bytes(text.encode(encoding))
    for name in submissions:
        book.add(name, 1)
    code, printed = book.run("roster", "r.csv")
    return code, printed, book.base.execute(
        "SELECT submission, name, id, email, handed_in FROM students ORDER BY number").fetchall()


@table("text, submissions, expected", [
    # A name of a file or folder may be what any column says that identifies a student.
    (CANVAS, [], ["ada", "alan@example.edu", "emmy"]),
    (CANVAS, ["4711", "4713"], ["4711", "4712", "4713"]),
    (CANVAS, ["U100.so", "u101.so"], ["U100.so", "u101.so", "u102"]),
    (CANVAS, ["alan"], ["ada", "alan", "emmy"]),
    # As Canvas, Moodle and Gradescope name what one downloads.
    (CANVAS, ["lovelaceada_LATE_4711_88_hw", "turingalan_4712_89_hw"],
     ["lovelaceada_LATE_4711_88_hw", "turingalan_4712_89_hw", "emmy"]),
    (MOODLE, ["Alan Turing_502_assignsubmission_file"],
     ["ada@example.edu", "Alan Turing_502_assignsubmission_file"]),
    (GRADESCOPE, ["submission_7001"], ["submission_7001", "101"]),
    # Canvas's own number of one is the student number of the other: whose most are.
    ("Student,ID,SIS User ID,Section\nA,200,100,x\nB,300,200,x\nC,400,300,x\n",
     ["100", "200", "300"], ["100", "200", "300"]),
    # A part of a name finds a student where it is an ending, or a number that a platform puts there.
    (CANVAS, ["ada.zip"], ["ada.zip", "alan@example.edu", "emmy"]),
    (CANVAS, ["u100.py"], ["u100.py", "u101", "u102"]),
    (CANVAS, ["lovelaceada_4711_88_hw.zip"], ["lovelaceada_4711_88_hw.zip", "alan@example.edu", "emmy"]),
    # The whole name comes first.
    ("Student,ID,SIS Login ID,Section\nA,1,ann.so,x\nB,2,ann,x\n", ["ann.so"], ["ann.so", "ann"]),
    # Who is not there has a name that nobody else has.
    ("Name,SID,Email,Total Score\nA,1,ann@a.edu,\nB,2,ann@b.edu,\nC,3,cy@a.edu,\n", ["cy"],
     ["1", "2", "cy"]),
    ("Name,SID,Email,Total Score\n,,,\nA,1,,\n", [], ["1"]),
    # A column `submission` makes it the teacher's own table, whatever else is in it.
    ("Student,ID,Section,submission\nA,1,x,ann\n", [], ["ann"]),
    # Spreadsheets in some languages write these, and read them.
    ("sep=;\r\nsubmission;name\r\nann;Ann\r\n", [], ["ann"]),
    ("submission\tname\nann\tAnn, B\n", [], ["ann"]),
    # Canvas by what is always there.
    ("Student,ID,SIS Login ID,Quiz (1)\n    Points Possible,,,5\nA,1,ann,\n", [], ["ann"]),
    ("LastName;FirstName;ID;SIS Login ID;Section;Quiz (1)\n    Points Possible;;;;;5,5\nA;B;1;ann;x;\n",
     [], ["ann"]),
    ("id,last_name,first_name,email\nbitdiddle,Bitdiddle,Ben,\n", [], ["bitdiddle"]),
    ("id,name,Exam (2024)\nann,Ann,3\nben,Ben,\n", ["ann"], ["ann", "ben"]),  # not Canvas's
    # Accents may be characters of their own.
    (ACCENTS, [NFD, "ann"], [NFD, BJORK, "ann"]),
    (ACCENTS, [NFC, NFD], [NFC, BJORK, "ann"]),
    (ACCENTS, [BJORK_NFD, "ann"], [NFC, BJORK_NFD, "ann"]),
    (ACCENTS, [BJORK], [NFC, BJORK, "ann"]),
    # Students may have one submission together.
    ("submission,name\nsubmission_501,A\nsubmission_501,B\n", ["submission_501"],
     ["submission_501", "submission_501"]),
    (TOGETHER, ["submission_501", "submission_502"],
     ["submission_501", "submission_501", "submission_502", "4"]),
])
def test_whose_submissions_are(text, submissions, expected, book):
    code, printed, students = read(book, text, submissions)
    assert code == 0 and "note: " not in printed
    assert [student[0] for student in students] == expected


@table("text, expected", [
    ("\ufeffE-Mail,Section,Student ID,Last_Name,first_name,SUBMISSION\r\n"
     'a@x,1,007,"de la Cruz",Anna,alice/\r\nb@x,1,8,,Bob,"two\nlines"\r\n',
     [("alice", "Anna de la Cruz", "007", "a@x", None), (r"two\nlines", "Bob", "8", "b@x", None)]),
    (CANVAS, [("ada", "Lovelace, Ada", "u100", "", None),
              ("alan@example.edu", "Turing, Alan", "u101", "", None),
              ("emmy", "Noether, Emmy", "u102", "", None)]),
    (MOODLE, [("ada@example.edu", "Ada Lovelace", "Participant 501", "ada@example.edu",
               seconds("2026-10-05T23:58")),
              ("alan@example.edu", "Alan Turing", "Participant 502", "alan@example.edu", None)]),
    (GRADESCOPE, [("100", "Ada Lovelace", "100", "ada@example.edu", seconds("2026-10-06T06:59:30+00:00")),
                  ("101", "Alan Turing", "101", "alan@example.edu", None)]),
    ("First name,Last name,ID number,Institution,Department,Email address,Quiz (Real)\n"
     "Ada,Lovelace,100,,,ada@example.edu,-\n",
     [("ada@example.edu", "Ada Lovelace", "100", "ada@example.edu", None)]),
    (SUBMITTED + "ann,2026-10-05T23:59Z\nben,\ncy,2026-10-05 23:59:01+02:00\n",
     [("ann", "", "", "", seconds("2026-10-05T23:59:00+00:00")), ("ben", "", "", "", None),
      ("cy", "", "", "", seconds("2026-10-05T21:59:01+00:00"))]),
])
def test_who_students_are(text, expected, book):
    assert read(book, text)[2] == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_roster_in_utf_16(encoding, book):
    text = "submission\tname\nann\tZo\u00eb \U0001f642\n"
    text = text if encoding == "utf-16" else "\ufeff" + text
    assert [each[:2] for each in read(book, text, encoding=encoding)[2]] == [("ann", "Zo\u00eb \U0001f642")]


def test_a_time_in_another_language_is_noted(book):
    german = MOODLE.replace("Monday, 5 October", "Montag, 5. Oktober")
    code, printed, students = read(book, german)
    assert "note: 1 time not understood, as 'Montag, 5. Oktober 2026, 11:58 PM'" in printed
    assert code == 0 and students[0][4] is None


@table("text, submissions, why", [
    ("", [], "line 1: is empty"),
    ("name,email\nA,a@x\n", [], "line 1: no column 'submission'"),
    ("Student,Section\nA,B\n", [], "line 1: no column 'submission'"),
    ("submission,name\n", [], "line 1: no student"),
    ("submission,name,Full Name\na,b,c\n", [], "line 1: the columns 'name' and 'Full Name' say the same"),
    ("submission,name\na,A\n\nb,B\na,A\n", [], "line 5: the submission 'a' is that of line 2 already"),
    ("submission,name,id\na,A,1\na,C,1\n", [], "line 3: the submission 'a' is that of line 2 already"),
    ("id,name\n1,A\n1,C\n", [], "line 3: the submission '1' is that of line 2 already"),
    ('submission,name\na,"A\nB"\n,C\n', [], "line 4: the field of the submission's name is empty"),
    ("submission,name\na\n", [], "line 2: has 1 field"),
    ("submission,name\na,b,c\n", [], "line 2: has 3 fields"),
    ('submission,name\na,"A\nb,B\n', [], "line 2: a quote that begins here has no end"),
    ('submission,name\na,A"x"\n', [], "line 2: a quote stands where none may"),
    ("submission,name\na,A\nb,\u00ff\n", [], "line 3: is not UTF-8 text; save the table as CSV in UTF-8"),
    ("submission,name\na,A\0\n", [], "line 2: is not UTF-8"),
    (SUBMITTED + "ann,yesterday\n", [], "line 2: 'yesterday' is not a time"),
    ("Teilnehmer,ID,Abschnitt,Aufgabe 1 (123)\n    Punkte,,,5\nA,1,x,\n", [],
     "line 1: looks like an export of Canvas with other column names"),
    ("Student,ID,Section\nA,,B\n", [], "line 2: Canvas's columns that say who that is are empty"),
    ("submission,name\nann,Ann\n", ["ben"], "line 1: none of the 1 submission ('ben') is a student's"),
    (CANVAS, ["octocat", "zoe"], "line 1: none of the 2 submissions ('octocat', ...) is a student's; "
     "the first student's would be 'ada'"),
    *((CANVAS, [name], "none of the 1 submission") for name in ("ada.lovelace", "hw_4711",
                                                              "team_4711_hw", "x/ada")),
])
def test_a_wrong_roster_is_refused_with_the_line(text, submissions, why, book):
    book.add("old", absent=True)
    encoding = "latin-1" if "\xff" in text else "utf-8"
    code, printed, students = read(book, text, submissions, encoding)
    assert code == 2 and "r.csv, " in printed and why in printed, printed
    assert printed.count("\n") == 1
    assert students == [("old", "", "", "", None)]  # the roster from before


def fill(book, text, column, rows):
    """The exit code of filling that export, what it printed, and the copy."""
    (book.folder / "export.csv").write_bytes(text.encode())
    for row in rows:
        book.add(**row)
    words = ["--fill", "export.csv", "--out", "filled.csv", *(["--column", column] if column else [])]
    code, printed = book.run(*words)
    filled = book.folder / "filled.csv"
    return code, printed, filled.read_bytes().decode() if filled.exists() else None


def row(name, total=None, **more):
    return {"name": name, "total": total, **more}


@table("text, column, rows, changes", [
    # In another order than the export's. Blanks at the begin are kept, in quotes.
    (CANVAS, "Homework 2 (12345)", [row("emmy", 8.5, id="u102"), row("ada", 1 / 3, id="u100"),
                                    row("alan", 4, id="u101")],
     {'"CS 336, A",9,,90': '"CS 336, A",9,0.3333,90', '"CS 336, A",,,\r\n"No': '"CS 336, A",,4,\r\n"No',
      '"CS 336, B",8,7,80': '"CS 336, B",8,8.5,80', "    Points Possible": '"    Points Possible"'}),
    # The roster's id comes before the submission's name: of two folders the names are swapped.
    (LOGINS, "", [row("ann", 1, id="u2"), row("ben", 2, id="u1"), row("cy", 3), row("dee", 4)],
     {"ann,x,": "ann,x,2", "ben,x,": "ben,x,1", "cy,x,": "cy,x,3", "dee,x,": "dee,x,4"}),
    (MOODLE, "", [row("ada", 20), row("alan", 3)],
     {"Submitted for grading\",": "Submitted for grading\",20", "No submission\",": "No submission\",3"}),
    (MOODLE.replace(",", ";"), "", [row("ada", 20), row("alan", 3)],
     {"Submitted for grading\";": "Submitted for grading\";20", "No submission\";": "No submission\";3"}),
    ("sep=;\n" + QUIZ.replace(",", ";") + "A;ada;x;\n", "", [row("ada", 20)], {";x;": ";x;20"}),
    (GRADESCOPE, "", [row("101", 3), row("100", 20)],
     {"ada@example.edu,A,": "ada@example.edu,A,20", "alan@example.edu,A,": "alan@example.edu,A,3"}),
    # Who handed nothing in has 0, and a grade takes the place of a remark.
    (QUIZ + "A,ada,x,-\n", "", [row("ada", absent=True)], {",-": ",0"}),
    (QUIZ + "A,ada,x,9\n", "", [row("ada", absent=True)], {",9": ",0"}),
    (QUIZ + "A,ada,x,EX\n", "", [row("ada", 5)], {",EX": ",5"}),
])
def test_grades_go_to_whom_they_belong(text, column, rows, changes, book):
    code, printed, filled = fill(book, text, column, rows)
    for before, after in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    assert code == 0 and filled.replace('"', "") == text.replace('"', ""), printed
    assert '"    Points Possible"' in filled or text.count("    Points Possible") == 0


UNKNOWN = "in the export, but matching none, or several, in the gradebook: "
MISSING = "in the gradebook, and not in the export: "


@table("text, column, rows, lines, kept", [
    (CANVAS, "Homework 2 (12345)", [row("emmy", 8.5, id="u102"), row("ada", 3, id="u100")],
     ["2 grades in the column 'Homework 2 (12345)' of Canvas's export", UNKNOWN + "Turing, Alan (u101)"],
     []),
    (CANVAS, "Homework 1 (11111)",
     [row("emmy"), row("alan", absent=True), row("octocat", 3), row("4711", 4)],
     ["note: the column is of 10 points, the rubric of 21", "2 grades in", MISSING + "octocat",
      "not graded, left as they were: emmy"],
     ['"CS 336, A",4,,90', '"CS 336, A",0,,', '"CS 336, B",8,7,80']),
    # Two that cannot be told apart get nothing.
    (QUIZ + "A,1,x,\nA,1,y,\nB,2,x,\n", "", [row("1", 5), row("2", 6)],
     ["1 grade in", UNKNOWN + "A (1); A (1)", MISSING + "1"], ["A,1,x,\nA,1,y,\nB,2,x,6\n"]),
    # Two rows are A by their ids: neither is, nor anybody else by its name.
    (LOGINS, "", [row("x", 1, id="u1"), row("ben", 2, id="u1")], ["0 grades in", MISSING + "x; ben"], []),
    # Who handed in after the roster was stored has not 0.
    *((CANVAS, "Homework 1 (11111)", [row("ada", id="u100", absent=True), row(late, 20)],
       [UNKNOWN + "Lovelace, Ada (u100)"], ['"CS 336, A",9,,90'])
      for late in ("lovelaceada_LATE_4711_88_hw", "4711")),
    (QUIZ + "A,ada,x,EX\n", "", [row("ada", absent=True)],
     ["nothing handed in, left as they were: ada: EX"], [",EX\n"]),
    (MOODLE.replace("21.00", '"100,00"', 1), "", [row("ada", 20)],
     ["note: the column is of 100,00 points, the rubric of 21"], []),
    # Partners are found by the number of their submission, without a roster, and whatever it says
    # of them.
    *((TOGETHER, "", [row("submission_501", 5, **student) for student in students], ["2 grades in"],
       ["a@x,501,5\nBen,B,2,b@x,501,5\n"])
      for students in ([{}], [{"called": "Ben B"}, {"called": "ANN A"}],
                       [{"called": "Ben"}, {"called": "Ann"}],
                       [{"called": "Ben B"}, {"called": "Ann A", "id": "1"}],
                       [{"called": "Ann A", "id": "1"}])),
    # But not where the roster says that it is somebody else's.
    (TOGETHER, "", [row("submission_501", 5, called="Dee D", id="4")],
     ["1 grade in", UNKNOWN + "Ann A (1); Ben B (2); Cy C (3)"], ["Dee,D,4,d@x,,5\n"]),
])
def test_who_is_left_out_is_named(text, column, rows, lines, kept, book):
    code, printed, filled = fill(book, text, column, rows)
    assert code == 1
    for line in lines:
        assert line in printed, printed
    for part in kept:
        assert part in filled


@table("text, column, why", [
    ("a,b\n1,2\n", "", "line 1: is not an export of Canvas, Moodle or Gradescope"),
    ("", "", "line 1: is empty"),
    (CANVAS, "", "2 columns for grades; --column NAME"),
    (CANVAS, "Homework 2 (12346)", "did you mean 'Homework 2 (12345)'"),
    (CANVAS, "Homework 3", "Homework 1 (11111), Homework 2 (12345)"),
    *((CANVAS, name, f"no grades go into the column '{name}'")
      for name in ("SIS User ID", "Section", "Final Score")),
    *((MOODLE, name, f"no grades go into the column '{name}'")
      for name in ("Full name", "Email address", "Identifier", "Maximum Grade")),
])
def test_a_wrong_export_or_column_is_refused(text, column, why, book):
    code, printed, filled = fill(book, text, column, [row("ada", 1)])
    assert code == 2 and "export.csv, line 1: " in printed and why in printed, printed
    assert filled is None


def test_another_column_of_moodle_takes_grades(book):
    assert fill(book, MOODLE, "Feedback comments", [row("ada", 1), row("alan", 2)])[0] == 0
