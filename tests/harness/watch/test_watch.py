# labels: grading
# slow labels: grading
"""`prenorm watch`: a save is answered, what broke and what passes is told, hints come one by one."""

import os
import select
import signal
import subprocess
import time

import pytest

RIGHT = """import torch
def run_silu(in_features):
    return in_features / (1 + torch.exp(-in_features))
def run_softmax(in_features, dim):
    x = in_features.double()
    x = (x - x.max(dim, keepdim=True).values).exp()
    return (x / x.sum(dim, keepdim=True)).to(in_features.dtype)
"""
WRONG = RIGHT.replace("x = (x - x.max(dim, keepdim=True).values).exp()", "x = x.float().exp()").replace(
    "x = in_features.double()", "x = in_features")


class Watched:
    """A running `prenorm watch`."""

    def __init__(self, program, folder, *words):
        self.process = subprocess.Popen(
            [str(program), "watch", str(folder), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.text = ""

    def until(self, *parts):
        """Reads until all of these are in the text since the last call; returns that text."""
        end = time.monotonic() + 120
        while not all(part in self.text for part in parts):
            left = end - time.monotonic()
            assert left > 0, f"waited for {parts}; so far:\n{self.text}"
            if select.select([self.process.stdout], [], [], left)[0]:
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                assert piece, f"it ended: {self.text}{self.process.stderr.read().decode()}"
                self.text += piece.decode()
        text, self.text = self.text, ""
        return text

    def press(self, key):
        self.process.stdin.write(key.encode())
        self.process.stdin.flush()


@pytest.fixture
def watched(program, tmp_path):
    started = []

    def start(text, *words):
        (tmp_path / "adapters.py").write_text(text)
        started.append(Watched(program, tmp_path, "--problem", "softmax", "--problem", "silu", *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_a_save_that_breaks_and_one_that_mends(watched, tmp_path):
    watch = watched(WRONG)
    first = watch.until("answered in")
    assert "✗ softmax" in first and "first failure: softmax" in first and "elements wrong" in first
    assert "looks like" in first and "hint 1" not in first
    watch.press("h")
    assert "hint 1 of" in watch.until("q: quit")
    watch.press("h")
    assert "hint 2 of" in watch.until("q: quit")
    (tmp_path / "adapters.py").write_text(RIGHT)
    mended = watch.until("saved adapters.py", "✓ softmax", "answered in")
    assert "passes now" in mended and "broke" not in mended
    (tmp_path / "adapters.py").write_text(WRONG)
    assert "broke (" in watch.until("✗ softmax", "answered in")
    watch.press("q")
    assert watch.process.wait(20) == 0


@pytest.mark.slow
def test_what_breaks_is_explained_although_something_failed_before(watched, tmp_path):
    watch = watched(WRONG)
    watch.until("✗ softmax", "answered in")
    # The grader explains softmax, the first in the rubric; the screen shows silu.
    (tmp_path / "adapters.py").write_text(WRONG.replace("in_features / (1 +", "1 / (1 +"))
    shown = watch.until("looking for the mistake", "looks like the sigmoid", "answered in")
    assert "first failure: silu" in shown.rsplit("✗ silu", 1)[1]


@pytest.mark.slow
def test_a_file_that_cannot_be_read_says_so_and_the_next_save_is_answered(watched, tmp_path):
    watch = watched(RIGHT.replace("def run_silu(in_features):", "def run_silu(in_features:"))
    assert "SyntaxError" in watch.until("answered in")
    (tmp_path / "adapters.py").write_text(RIGHT)
    watch.until("✓ softmax")


def test_ctrl_c_ends_it_and_leaves_no_process(watched):
    watch = watched(RIGHT)
    watch.until("running all cases")
    children = subprocess.run(["pgrep", "-P", str(watch.process.pid)], capture_output=True,
                              text=True).stdout.split()
    assert children
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(20) == 130
    assert not [child for child in children if os.path.exists(f"/proc/{child}")]


def test_what_cannot_be_watched_is_a_usage_error(run):
    assert "no file or folder /no/such/folder" in run("watch", "/no/such/folder", code=2).stderr


@pytest.mark.slow
def test_a_report_gives_the_hints_that_the_screen_gives(watched, run, tmp_path):
    watch = watched(WRONG)
    watch.until("answered in")
    watch.press("h")
    watch.press("h")
    screen = " ".join(watch.until("hint 2 of", "q: quit").split())
    report = tmp_path / "report.json"
    run("grade", tmp_path, "--problem", "softmax", "--no-hidden", "--json", report, code=1)
    first = run("hint", report, code=0).stdout.splitlines()
    both = run("hint", report, "--number", "2", code=0).stdout.splitlines()
    assert first[0].startswith("softmax, ") and both[:2] == first and len(both) == 3
    assert all(" ".join(line.split()) in screen for line in both[1:]), (both, screen)


@pytest.mark.parametrize("text", ["", "[]", '{"submission": 1}', "\0"])
def test_a_file_that_is_no_report_gives_no_hint(run, tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    assert "is no report of one submission" in run("hint", tmp_path / "report.json", code=2).stderr


def test_a_file_without_end_is_no_report(run):
    assert "/dev/zero is larger than 64 MiB" in run("hint", "/dev/zero", code=2).stderr
