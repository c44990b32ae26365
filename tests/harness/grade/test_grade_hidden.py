# labels: unit grading
# slow labels: unit grading
"""`prenorm grade`: hidden cases, of which students see little."""

import json
import re
import shutil

import pytest

from conftest import make_home

pytest_plugins = "graded"


def test_students_see_the_status_of_hidden_cases_only(raw, library, tmp_path):
    student, secret = tmp_path / "student.json", tmp_path / "secret.json"
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    seed = 8123456789012345678
    done = raw(f"{library('mistakes')}/no_eps", "--problem", "rmsnorm", "--seed", seed,
               "--json", student, "--instructor", secret, "--html", page, "--junit", junit)
    assert done.returncode == 1
    told = [r for r in json.loads(student.read_text())["results"] if r["hidden"]]
    known = [r for r in json.loads(secret.read_text())["results"] if r["hidden"]]
    assert len(told) == len(known) > 15
    assert {r["status"] for r in told} == {"PASSED", "INCORRECT_NUMERICAL"}
    for result in told:
        assert result["message"] == "" and result["outputs"] == []
        assert result["dtype"] is result["repeat"] is result["seconds"] is result["shapes"] is None
        assert "drawn_from" not in result
        assert re.fullmatch(r"hidden_\d+", result["case"])
    for result in known:
        assert result["shapes"] and result["drawn_from"] and result["outputs"]
    assert json.loads(secret.read_text())["seed"] == seed
    shown = json.loads(student.read_text())["results"]
    visible = {r["message"] for r in shown}
    # Of values that are kept, not drawn, a hidden case has the same as a visible one.
    values = {str(output["worst_actual"]) for r in known for output in r["outputs"]
              if isinstance(output["worst_actual"], float)}
    values -= {str(output["worst_actual"]) for r in shown for output in r["outputs"]}
    assert len(values) > 10
    messages = {r["message"] for r in known} - visible
    assert len(messages) >= 3
    for text in (student.read_text(), page.read_text(), junit.read_text(), done.stdout):
        assert str(seed) not in text
        assert not [value for value in values if len(value) > 8 and value in text]
        assert not [message for message in messages if message in text]


@pytest.mark.slow
def test_the_seed_and_the_name_alone_decide(raw, library, tmp_path):
    """Two submissions share the sizes; their values are their own."""
    def hidden(seed, jobs, name, submission=library("plain")):
        path = tmp_path / name
        raw(submission, "--problem", "softmax", "--problem", "rope", "--seed", seed,
            "--jobs", jobs, "--instructor", path)
        results = [r for r in json.loads(path.read_text())["results"] if r["hidden"]]
        return ([(r["problem"], r["case"], r["drawn_from"], r["shapes"]) for r in results],
                [[o["worst_expected"] for o in r["outputs"]] for r in results])

    first = hidden(41, 2, "a")
    assert first == hidden(41, 1, "b")
    assert first[0] != hidden(42, 2, "c")[0]
    shared, values = hidden(41, 2, "d", shutil.copy(library("plain"), tmp_path / "neighbour.so"))
    assert shared == first[0]
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / library("plain").name
    again.write_bytes(library("plain").read_bytes() + b"\0")
    assert hidden(41, 2, "e", again)[0] == first[0]
    # Answers that anybody knows, as that to a row of -inf, are everybody's.
    for others in (values, hidden(41, 2, "e", again)[1]):
        alike = sum(own == other for own, other in zip(first[1], others))
        assert alike < len(values) / 10, (alike, len(values))


def test_hidden_cases_have_stored_and_other_sizes(raw, library, tmp_path):
    path = tmp_path / "secret.json"
    raw(library("plain"), "--problem", "linear", "--problem", "embedding", "--problem",
        "transformer_block", "--seed", 9, "--instructor", path)
    results = json.loads(path.read_text())["results"]
    stored = {(r["problem"], r["case"]): r["shapes"] for r in results if not r["hidden"]}
    hidden = [r for r in results if r["hidden"]]
    assert len({r["drawn_from"] for r in hidden if r["problem"] == "linear"}) == \
        sum(r["problem"] == "linear" for r in hidden)
    same = sum(stored[(r["problem"], r["drawn_from"])] == r["shapes"] for r in hidden)
    assert 0 < same < len(hidden)


def test_no_grading_where_a_yardstick_fails(run, home, library, tmp_path):
    """Without their hidden cases, answers that others have would earn points."""
    shipped = {name: library(name) for name in ("reference", "fast", "mistakes")}
    own = make_home(tmp_path / "home", home, **shipped, plain=library("mistakes"))
    (own / "share/prenorm").rmdir()
    (own / "share/prenorm").symlink_to(home / "share/prenorm")
    done = run("grade", library("plain"), "--problem", "relu", "--seed", "1", code=1,
               PRENORM_HOME=own)
    assert not done.stdout
    assert re.search(r"^prenorm: hidden cases cannot be drawn: case \w+, the stored inputs: plain "
                     r"has no function for relu\n\Z", done.stderr, re.M), done.stderr
