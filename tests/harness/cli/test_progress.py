# labels: unit grading
"""What long work says where standard error is no terminal: a line about once a minute, by PRENORM_PROGRESS_SECONDS
with 0 every line, and nothing in a shorter time. `bench` has its own in test_bench_program.py."""

import re
import sys
import threading

from places import ROOT, shipped

sys.path.insert(0, str(ROOT / "notebooks/study"))
import build  # noqa: E402


def test_verify(prenorm, good):
    out, error = prenorm("verify", "--fixtures", good, both=True)
    assert error == ""
    again, error = prenorm("verify", "--fixtures", good, both=True, PRENORM_PROGRESS_SECONDS=0)
    assert error.splitlines()[0] == f"prenorm: [0/1] {good}"
    assert re.sub(r" in .*", "", again) == re.sub(r" in .*", "", out)


def test_grade(run):
    words = ["grade", shipped("reference"), "--rubric", "all", "--problem", "relu", "--no-hidden"]
    assert run(*words, code=0).stderr == ""
    error = run(*words, code=0, PRENORM_PROGRESS_SECONDS=0).stderr
    assert f"prenorm: making {shipped('reference')} ready\n" in error
    assert re.search(r"^prenorm: \[1/\d+\] relu$", error, re.M)


def test_study(monkeypatch, capsys):
    monkeypatch.setattr(build, "EVERY", 0.001)
    told = threading.Event()
    with build.saying(lambda: told.set() or "notebooks executed: 1 of 2"):
        assert told.wait(60)
    assert capsys.readouterr().err.startswith("notebooks executed: 1 of 2\n")
    monkeypatch.setattr(build, "EVERY", 60)
    with build.saying(lambda: "notebooks executed: 2 of 2"):
        pass
    assert capsys.readouterr().err == ""
