# labels: grading
# processors: 2
# slow labels: grading
"""Time is the submission's own: its processor time is limited, so its points do not depend on what else
the machine does. What ran out of time is asked again, alone; what was not asked is no zero."""

import re

import pytest

from attacks import hand_in
from grading import best_sandbox, grade, items, results, unavailable
from load import busy_machine
from places import built

SOFTMAX = ("--problem", "softmax", "--problem", "embedding")
OVER = "not run: the time for visible cases, of 5.00 s for all, was over"


def graded(*words, tmp, sandbox=None):
    return grade(*words, "--sandbox", sandbox or best_sandbox(), "--rubric", "all", tmp=tmp)


def in_python(tmp_path, body):
    """An adapter of softmax. `called(TEXT)` appends a line to `calls`, which outlives its process:
    that needs no sandbox."""
    (tmp_path / "adapters.py").write_text(
        "import os, signal, time\nimport torch\n"
        f"CALLS = {str(tmp_path / 'calls')!r}\n"
        "def called(text):\n"
        "    with open(CALLS, 'a') as file:\n        file.write(text + '\\n')\n"
        f"def run_softmax(in_features, dim):\n{body}\n")
    return tmp_path / "adapters.py"


@pytest.mark.slow
def test_slow_answers_end_in_a_grade(tmp_path):
    """No call is too slow (1.8 s), all of them are; the other problem is asked all the same."""
    page, tests = tmp_path / "page.html", tmp_path / "results.json"
    code, report, printed = graded(hand_in("65_slow", {}, tmp_path / "submission"), *SOFTMAX, "--timeout",
                                   "5", "--budget", "5", "--html", page, "--gradescope", tests,
                                   tmp=tmp_path)
    assert code == 1
    slow, quick = items(report)["softmax"], items(report)["embedding"]
    assert slow["earned"] == 0 and quick["earned"] == quick["points"] > 0, printed
    late = [result for result in results(report, "softmax") if result["status"] == "TIMEOUT"]
    assert len(late) > len(results(report, "softmax")) - 5
    assert OVER in {result["message"] for result in late if not result["hidden"]}
    assert "--budget 5" in late[0]["repeat"] or late[0]["hidden"]
    # What was not asked is no zero.
    count = report["not_asked"]
    assert count == len(late)
    note = (f"not graded whole: {count} cases were not run, as the time for all, 5.00 s of processor "
            "time, was over; go on with: ")
    assert report["notes"][0].startswith(note) and " --budget 20" in report["notes"][0]
    assert note in printed and ", not graded whole; " in printed.splitlines()[-1]
    assert f"not graded whole: {count} cases were not run</p>" in page.read_text()
    assert f"NOT GRADED WHOLE: tell the staff. {count} cases not run" in tests.read_text()


@pytest.mark.slow
def test_slow_exceptions_are_no_timeouts(tmp_path):
    """They end their problem as timeouts do, and have all of the limit."""
    body = ("    end = time.process_time() + 1.2\n"
            "    while time.process_time() < end:\n        pass\n    raise ValueError")
    _, report, printed = graded(in_python(tmp_path, body), "--problem", "softmax", "--timeout", "4",
                                tmp=tmp_path)
    assert "TIMEOUT" not in {result["status"] for result in report["results"]}, printed
    told = {result["message"] for result in report["results"]}
    assert "not run: 3 cases of this problem were slow or did not end" in told, told
    assert report["not_asked"] == 0


@pytest.mark.slow
def test_loading_counts(tmp_path):
    """A worker that takes seconds to start, and ends at each call, starts no more than there is time
    for."""
    pytest.importorskip("torch")
    (tmp_path / "adapters.py").write_text(
        "import os, time\nend = time.process_time() + 2\nwhile time.process_time() < end:\n    pass\n"
        "def run_softmax(in_features, dim):\n    os._exit(0)\n"
        "def run_embedding(vocab_size, d_model, weights, token_ids):\n    os._exit(0)\n")
    code, report, printed = graded(tmp_path / "adapters.py", *SOFTMAX, "--budget", "9", tmp=tmp_path)
    assert code == 1 and report["earned"] == 0 and report["gradeable"], printed
    assert report["not_asked"] > 0, printed


def test_what_never_loads_in_time_is_told(tmp_path):
    (tmp_path / "adapters.py").write_text("while True:\n    pass\n")
    _, report, printed = graded(tmp_path / "adapters.py", *SOFTMAX, "--budget", "2", tmp=tmp_path)
    assert report["status"] == "TIMEOUT" and report["earned"] == 0
    assert report["message"] == "did not load: the time for all cases was over", printed
    assert report["not_asked"] == len(report["results"]) > 0


def test_an_honest_submission_needs_little_of_it(tmp_path):
    _, report, printed = graded(built("honest") / "cpp_complete.so", *SOFTMAX, "--budget", "30",
                                tmp=tmp_path)
    assert report["earned"] == report["points"] > 0 and report["not_asked"] == 0, printed
    assert {result["status"] for result in results(report, "softmax")} == {"PASSED"}


def test_what_ran_out_of_time_is_asked_again(tmp_path):
    """The first call is stopped, as on a machine that has no time for it."""
    pytest.importorskip("torch")
    body = ("    if not os.path.exists(CALLS):\n        called('first')\n"
            "        os.kill(os.getpid(), signal.SIGSTOP)\n"
            "    return torch.softmax(in_features.double(), dim).to(in_features.dtype)")
    _, report, printed = graded(in_python(tmp_path, body), "--problem", "softmax", "--dtype", "float32",
                                "--timeout", "0.4", tmp=tmp_path, sandbox="none")
    assert (tmp_path / "calls").read_text() == "first\n"
    assert report["earned"] == report["points"] > 0, printed


@pytest.mark.slow
def test_what_never_ends_costs_three_timeouts(tmp_path):
    """And one more where the machine was busy: then the first one is asked again."""
    pytest.importorskip("torch")
    body = "    called('call')\n    while True:\n        pass"
    _, report, printed = graded(in_python(tmp_path, body), "--problem", "softmax", "--no-hidden",
                                "--timeout", "1", tmp=tmp_path, sandbox="none")
    assert (tmp_path / "calls").read_text().count("call") in (3, 4), printed
    assert report["earned"] == 0 and report["not_asked"] == 0
    told = {result["message"] for result in report["results"]}
    assert "not run: 3 cases of this problem were slow or did not end" in told, told


def spinning(seconds):
    """An adapter's answer that takes that much processor time."""
    return (f"    end = time.process_time() + {seconds}\n"
            "    while time.process_time() < end:\n        pass\n"
            "    return torch.softmax(in_features.double(), dim).to(in_features.dtype)")


def test_a_busy_machine_costs_nothing(tmp_path):
    """Calls that need three tenths of their limit, while others keep the processors busy."""
    pytest.importorskip("torch")
    words = (in_python(tmp_path, spinning(0.3)), "--problem", "softmax", "--case", "one_axis_float32",
             "--timeout", "1", "--budget", "20")
    with busy_machine():
        _, report, printed = graded(*words, tmp=tmp_path)
    assert report["earned"] == report["points"] > 0 and report["not_asked"] == 0, printed


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "process"])
def test_children_s_time_counts(tmp_path, sandbox):
    """Also that of children who have left their parent's session."""
    if unavailable(sandbox):
        pytest.skip(f"{sandbox} does not work here")
    body = ("    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
            "            while True:\n                pass\n        os._exit(0)\n"
            "    time.sleep(1000)")
    _, report, printed = graded(in_python(tmp_path, body), "--problem", "softmax", "--timeout", "2",
                                tmp=tmp_path, sandbox=sandbox)
    assert re.search(r"no answer within 2 s", printed), printed
    assert report["earned"] == 0
