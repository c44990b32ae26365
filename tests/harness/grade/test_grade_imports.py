# labels: unit grading
# slow labels: unit grading
"""`prenorm grade`: what cannot be imported costs only what needs it, and is told before a class is
graded. The interpreter has NumPy and no PyTorch: it starts in a tenth of a second.
"""

import csv
import io
import json
import os
import subprocess
import sys
import textwrap

import pytest

from grading import (SANDBOXES, best_sandbox, grade, in_sandboxes, items, need, results, rubric, without_torch,
                     write_rubric)
from places import ROOT, program

SCRIPT = ROOT / "harness/worker/prenorm_missing.py"
RUBRIC = rubric("Two functions", {"float32": 'dtypes = ["float32"]\ncases = ["batch_of_*", "width_3*"]'},
                {"silu": ("silu", 2), "softmax": ("softmax", 3)})

LAYERS = """
    import numpy as np

    def silu(x):
        x = x.astype(np.float64)
        return (x / (1 + np.exp(-x))).astype(np.float32)
    """
ADAPTERS = """
    import numpy as np
    from basics.layers import silu
    from basics import tokenizer

    def run_silu(in_features):
        return silu(in_features)

    def run_softmax(in_features, dim):
        return tokenizer.softmax(in_features, dim)

    def get_tokenizer(vocab):
        return tokenizer.Tokenizer(vocab)
    """
TOKENIZER = """
    import numpy as np
    from lacking_progress import bar
    with bar("train"): from train import merge; print(bar.__version__)
    import yaml_of_old as yaml

    def softmax(x, dim):
        for _ in bar(range(3)):
            pass
        return np.exp(x)

    class Tokenizer(yaml.Base):
        pass
    """
TRAIN = """
    import lacking_heap
    def merge(): return lacking_heap.heap()
    """
SUBMISSION = {"pyproject.toml": '[project]\nname = "basics"\nversion = "1.0"',
              "basics/__init__.py": "import importlib.metadata as m\n__version__ = m.version('basics')",
              "basics/layers.py": LAYERS, "basics/tokenizer.py": TOKENIZER, "basics/train.py": TRAIN,
              "tests/__init__.py": "", "tests/adapters.py": ADAPTERS}
NOTHING = {"adapters.py": "from lacking_everything import run_silu, run_softmax"}
NEWER = {"adapters.py": "def run_silu(in_features) return in_features"}


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A rubric, and words for the program."""
    folder = tmp_path_factory.mktemp("course")
    return ["--rubric", write_rubric(folder, RUBRIC), "--python", without_torch(folder / "venv"), "--seed", 5]


@in_sandboxes(["it"])
def test_only_what_needs_it_is_lost(name, sandbox, course, tmp_path):
    need(sandbox)
    submission = write(tmp_path / "ann", SUBMISSION)
    code, report, printed = grade(submission, *course, "--sandbox", sandbox, tmp=tmp_path)
    assert code == 1 and report["status"] == "PASSED" and report["gradeable"] is True, printed
    assert items(report)["silu"]["earned"] == 2 and items(report)["softmax"]["earned"] == 0, printed
    why = ("No module named 'lacking_progress', which basics/tokenizer.py imports in line 3 "
           "(basics/tokenizer.py:8)")
    lost = results(report, "softmax")
    assert {result["status"] for result in lost} == {"LOAD_ERROR"}
    assert {result["message"] for result in lost if not result["hidden"]} == {why}
    assert [note for note in report["notes"] if "stand-in" in note] == [
        "its process says: lacking_progress is not installed: stand-in (basics/tokenizer.py:3)",
        "its process says: lacking_heap is not installed: stand-in (basics/train.py:2)",
        "its process says: yaml_of_old is not installed: stand-in (basics/tokenizer.py:5)"]
    assert (f"Python is {course[3]}; `--python PATH` names another, as that of a virtual environment"
            in report["notes"])
    for note in (why, *report["notes"]):
        assert note in printed
    assert "2 of 5 points" in printed


@pytest.mark.parametrize("files, why", [
    (NOTHING, "No module named 'lacking_everything', which adapters.py imports in line 1"),
    (NEWER, "SyntaxError: expected ':' (adapters.py:1)"),
    ({"adapters.py": "import torch\ndef run_silu(x): return x"},
     "imports in line 1: install it for /"),
    ({"adapters.py": "def run_silu(x):\n    from model import silu\n    return silu(x)",
      "model.py": "match = = 3"}, "model.py cannot be parsed by Python 3."),
], ids=["imports", "syntax", "torch", "in functions"])
def test_what_cannot_be_loaded_is_not_gradeable(files, why, course, tmp_path):
    submission = write(tmp_path / "ann", files)
    code, report, printed = grade(submission, *course, tmp=tmp_path)
    assert code == 1 and report["status"] == "LOAD_ERROR" and report["gradeable"] is False
    assert report["earned"] == 0 and why in report["message"]
    assert printed.splitlines()[-1].startswith("not gradeable; 0 passed"), printed


def test_wrong_work_is_gradeable(course, tmp_path):
    files = {"adapters.py": "from lacking import run_softmax\ndef run_silu(in_features): return in_features"}
    _, report, printed = grade(write(tmp_path / "ann", files), *course, tmp=tmp_path)
    assert report["status"] == "PASSED" and report["gradeable"] and "0 of 5 points" in printed


# A class

CLASS = {
    "ann": SUBMISSION, "ben": SUBMISSION, "cy": NOTHING, "dee": NEWER,
    # With a module of her own by the name of a package that two others lack.
    "eve": {"adapters.py": "import basics, lacking_heap, lacking_progress, cv2, os, json\n"
                           "try: import lacking_fallback\nexcept ImportError: pass\n"
                           "def run_silu(in_features): return in_features",
            "lacking_progress.py": ""},
    "fay": {"README.md": "I was ill."},
}


def run(*words, cwd):
    done = subprocess.run([str(program()), *map(str, words)], cwd=cwd, capture_output=True,
                          timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def graded(course, tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for name, files in CLASS.items():
        write(folder / name, files)
    words = ["grade", *course, "--no-hidden", "--gradebook", "g.sqlite", "--", *CLASS]
    return folder, words, *run(*words, cwd=folder)


def test_what_is_missing_is_told_before_a_class_is_graded(graded, course):
    folder, words, _, out, err = graded
    lines = [line for line in err.splitlines() if not line.startswith("prenorm: sandbox: ")]
    assert lines[0] == (
        f"prenorm: 4 of 6 submissions import packages that {course[3]} does not have, and what uses "
        "them fails: lacking_heap (3), lacking_progress (2), yaml_of_old (2), basics (1), cv2 (1), "
        "lacking_everything (1)")
    # basics is somebody's own, and not handed in by eve.
    assert lines[1] == (
        "prenorm: Read the names, as anybody can publish a package; then install them: "
        f"{course[3]} -m pip install lacking-heap lacking-progress yaml-of-old opencv-python "
        "lacking-everything")
    assert lines[2].startswith("prenorm: nothing can be loaded of 2 submissions: dee (adapters.py "
                               "cannot be parsed by Python 3.")
    assert "fay (nothing in it that can be graded: " in lines[2]
    assert "lacking_heap" not in out
    # What is graded is not looked at again; what could not be loaded is.
    code, out, err = run(*words, cwd=folder)
    assert "2 graded, 4 unchanged" in out
    assert "lacking_everything (1)" in err and "lacking_heap" not in err


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_what_is_missing_is_told_in_each_sandbox(sandbox, course, tmp_path):
    need(sandbox)
    write(tmp_path / "cy", NOTHING)
    _, _, err = run("grade", *course, "--no-hidden", "--sandbox", sandbox, "--gradebook", "g.sqlite", "cy",
                    cwd=tmp_path)
    assert "lacking_everything (1)" in err


def test_what_is_installed_later_is_found(course, tmp_path):
    python = without_torch(tmp_path / "venv")
    words = ["grade", *course[:3], python, "--no-hidden", "--gradebook", "g.sqlite", "cy"]
    write(tmp_path / "cy", NOTHING)
    _, out, err = run(*words, cwd=tmp_path)
    assert "1 graded" in out and "cy: not gradeable" in err
    packages = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    write(packages, {"lacking_everything.py": LAYERS + "run_silu = run_softmax = silu\n"})
    _, out, err = run(*words, cwd=tmp_path)
    assert "1 graded" in out and "cy: 2.00 of 5 points" in err
    _, out, _ = run(*words, cwd=tmp_path)
    assert "0 graded, 1 unchanged" in out


def test_a_gradebook_keeps_what_is_not_gradeable_apart(graded):
    folder, _, code, out, err = graded
    assert code == 1 and "cy: not gradeable: No module named 'lacking_everything'" in err
    code, table, _ = run("gradebook", "g.sqlite", cwd=folder)
    assert code == 0 and "6 graded, 3 of them not gradeable" in table and table.count("not gradeable") == 4
    run("gradebook", "g.sqlite", "--csv", "g.csv", "--json", "g.json", cwd=folder)
    rows = {row["submission"]: row for row in csv.DictReader(io.StringIO((folder / "g.csv").read_text()))}
    assert (rows["ann"]["total"], rows["eve"]["total"]) == ("2", "0")
    for name in ("cy", "dee", "fay"):
        assert [rows[name][key] for key in ("silu", "softmax", "total")] == ["", "", ""]
        assert rows[name]["flags"].startswith("not gradeable")
    report = json.loads((folder / "g.json").read_text())
    told = {student["submission"]: student for student in report["students"]}
    assert [told[name]["gradeable"] for name in CLASS] == [True, True, False, False, True, False]
    assert told["cy"]["message"].startswith("No module named 'lacking_everything'")
    assert report["summary"]["mean"] == pytest.approx(4 / 3)  # of ann, ben and eve


def test_somebody_decides(graded):
    folder = graded[0]
    code, _, err = run("gradebook", "g.sqlite", "set", "dee", "silu", "1.5", "--why", "by eye",
                       cwd=folder)
    assert code == 0, err
    _, table, _ = run("gradebook", "g.sqlite", "--csv", "-", cwd=folder)
    [row] = [row for row in csv.DictReader(io.StringIO(table)) if row["submission"] == "dee"]
    assert (row["silu"], row["softmax"], row["total"]) == ("1.5", "0", "1.5")
    assert "not gradeable" not in row["flags"]
    code, shown, _ = run("gradebook", "g.sqlite", "--student", "dee", cwd=folder)
    assert "1.5 of 5 points" in shown and "not gradeable" not in shown


# The pass itself, which reads and runs nothing

HOSTILE = {
    "its own failure": ({"adapters.py": "raise SystemExit\nopen('ran', 'w')"}, {}, None),
    "deep": ({"adapters.py": "import a", "a.py": "(" * 100000}, {}, None),
    "deep adapters": ({"adapters.py": "x = " + "(" * 100000}, {}, "adapters.py cannot be parsed"),
    "nested": ({"adapters.py": "import a", "a.py": "-" * 200000 + "1"}, {}, None),
    "zero bytes": ({"adapters.py": "import a", "a.py": b"\0\0"}, {}, None),
    "no encoding": ({"adapters.py": "import a", "a.py": b"# coding: no-such\nimport b"}, {}, None),
    "large": ({"adapters.py": "import a", "a.py": b"#" * (3 << 20)}, {}, None),
    "two": ({"a/adapters.py": "", "b/adapters.py": ""}, {}, "there are several adapters.py"),
    "circles": ({"adapters.py": "import a", "a.py": "import b\nimport a", "b.py": "from a import b"},
                {}, None),
    "names": ({"adapters.py": "import lacking_Ünicode, Lacking__Name"},
              {"lacking_Ünicode": "lacking-ünicode", "Lacking__Name": "lacking-name"}, None),
    "other Pythons": ({"adapters.py": "import imp2, telnetlib2, annotationlib"},
                      {"imp2": "imp2", "telnetlib2": "telnetlib2", "annotationlib": ""}, None),
    "never run": ({"adapters.py": "import typing\nif typing.TYPE_CHECKING: import lacking\n"
                                  "if __name__ == '__main__': import lacking"}, {}, None),
    "not reached": ({"adapters.py": "", "train.py": "import lacking"}, {}, None),
    "in a function": ({"adapters.py": "def f():\n    if 1:\n        import lacking.deep"},
                      {"lacking": "lacking"}, None),
    "relative": ({"tests/__init__.py": "", "tests/adapters.py": "from .a.b import c\nfrom .. import x",
                  "tests/a/b.py": "import lacking"}, {"lacking": "lacking"}, None),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_reading_imports(kind, tmp_path):
    files, missing, failure = HOSTILE[kind]
    write(tmp_path, files)
    before = sorted(tmp_path.rglob("*"))
    read, send = os.pipe()
    done = subprocess.run(["/bin/bash", "-c", f'exec "$@" 3>&{send}', "bash", sys.executable, "-I",
                           "-B", SCRIPT, tmp_path], pass_fds=[send], capture_output=True, timeout=60)
    os.close(send)
    with os.fdopen(read, "rb") as out:
        data = out.read()
    assert done.returncode == 0, done.stderr
    assert len(data) == 20 + int(data[:20])
    answer = json.loads(data[20:])
    assert {name: what[0] for name, what in answer["missing"].items()} == missing
    assert (answer["failure"] or "").startswith(failure or "") and bool(failure) == bool(answer["failure"])
    assert sorted(tmp_path.rglob("*")) == before


def test_links_lead_nowhere(tmp_path):
    """What a link out of the submission names is not read, nor is a submission that is one."""
    write(tmp_path / "outside", {"secret.py": "import lacking_secret"})
    write(tmp_path / "sub", {"adapters.py": "import secret, part.secret"})
    (tmp_path / "sub/secret.py").symlink_to(tmp_path / "outside/secret.py")
    (tmp_path / "sub/part").symlink_to(tmp_path / "outside")
    (tmp_path / "other").symlink_to(tmp_path / "sub")
    write_rubric(tmp_path, RUBRIC)
    _, _, err = run("grade", "--rubric", "rubric.toml", "--no-hidden", "--gradebook", "g.sqlite",
                    "--sandbox", best_sandbox(), "sub", "other", cwd=tmp_path)
    assert "lacking_secret" not in err
