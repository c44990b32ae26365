# labels: grading
# processors: 2
# slow labels: grading
"""One budget of time for all cases of a submission: it ends in a grade, what did not run has failed,
and what is quick earns its points beside what is slow."""

import time

import pytest

from attacks import hand_in
from grading import best_sandbox, grade, items, results
from places import built

SOFTMAX = ("--problem", "softmax", "--problem", "embedding")


def timed(*words, tmp):
    start = time.monotonic()
    code, report, printed = grade(*words, "--sandbox", best_sandbox(), "--rubric", "all", tmp=tmp)
    return code, report, printed, time.monotonic() - start


def test_slow_answers_end_in_a_grade(tmp_path):
    """No call is too slow (1.8 s), all of them are; the other problem is asked all the same."""
    code, report, printed, seconds = timed(hand_in("65_slow", {}, tmp_path / "submission"), *SOFTMAX,
                                           "--timeout", "5", "--budget", "8", tmp=tmp_path)
    assert code == 1 and 8 <= seconds < 20, seconds
    slow, quick = items(report)["softmax"], items(report)["embedding"]
    assert slow["earned"] == 0 and quick["earned"] == quick["points"] > 0, printed
    late = [result for result in results(report, "softmax") if result["status"] == "TIMEOUT"]
    assert len(late) > len(results(report, "softmax")) - 5
    told = {result["message"] for result in late if not result["hidden"]}
    assert "not run: the time for visible cases, of 8.00 s for all, was over" in told, told
    [note] = [note for note in report["notes"] if "time for all cases" in note]
    assert note == (f"the time for all cases, 8.00 s, was over before {len(late)} cases had run: not "
                    "run is failed (--budget)")
    assert "--budget 8" in late[0]["repeat"] or late[0]["hidden"]


@pytest.mark.slow
def test_slow_exceptions_are_no_timeouts(tmp_path):
    """They end their problem as timeouts do, and have all of the limit."""
    (tmp_path / "adapters.py").write_text(
        "import time\ndef run_softmax(x, dim):\n    time.sleep(1.2)\n    raise ValueError\n")
    _, report, printed, _ = timed(tmp_path / "adapters.py", "--problem", "softmax",
                                  "--timeout", "4", tmp=tmp_path)
    assert "TIMEOUT" not in {result["status"] for result in report["results"]}, printed
    told = {result["message"] for result in report["results"]}
    assert "not run: 3 cases of this problem were slow or did not end" in told, told


@pytest.mark.slow
def test_loading_counts(tmp_path):
    """A worker that takes seconds to start, and ends at each call, starts no more than there is time
    for."""
    pytest.importorskip("torch")
    (tmp_path / "adapters.py").write_text(
        "import os, time\ntime.sleep(2)\n"
        "def run_softmax(in_features, dim):\n    os._exit(0)\n"
        "def run_embedding(vocab_size, d_model, weights, token_ids):\n    os._exit(0)\n")
    code, report, printed, seconds = timed(tmp_path / "adapters.py", *SOFTMAX, "--budget", "9",
                                           tmp=tmp_path)
    assert code == 1 and seconds < 25, seconds
    assert report["earned"] == 0 and report["gradeable"], printed
    assert any("time for all cases" in note for note in report["notes"]), report["notes"]


def test_what_never_loads_in_time_is_told(tmp_path):
    (tmp_path / "adapters.py").write_text("import time\ntime.sleep(600)\n")
    _, report, printed, seconds = timed(tmp_path / "adapters.py", *SOFTMAX, "--budget", "2",
                                        tmp=tmp_path)
    assert seconds < 15
    assert report["status"] == "TIMEOUT" and report["earned"] == 0
    assert report["message"] == "did not load: the time for all cases was over", printed


def test_an_honest_submission_needs_little_of_it(tmp_path):
    _, report, printed, _ = timed(built("honest") / "cpp_complete.so", *SOFTMAX, "--budget", "30",
                                  tmp=tmp_path)
    assert report["earned"] == report["points"] > 0, printed
    assert not any("time for all" in note for note in report["notes"])
    assert {result["status"] for result in results(report, "softmax")} == {"PASSED"}
