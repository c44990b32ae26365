"""What a submission prints while a case fails is shown: cut, escaped, never of hidden cases."""

# labels: grading
# slow labels: grading
# timeout: 900

import json
import subprocess
import time

import pytest

from grading import best_sandbox, grade, need
from places import home

SOURCE = r"""
#include <prenorm/prenorm.hpp>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <unistd.h>

using prenorm::View;
struct Loading { Loading() { std::puts("printed while loading"); } } loading;

void copy(View<const float> x, View<float> y, float more) {
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = (x[i] < 0 ? 0 : x[i]) + more;
}
template <class T> void wrong(View<const T> x, View<T> y) {
  std::printf("size %d", static_cast<int>(x.size()));
  std::cerr << "to error\n";
  copy(x, y, 1);
}
template <class T> void right(View<const T> x, View<T> y) {
  std::puts("all is well");
  copy(x, y, 0);
}
template <class T> void chatty(View<const T> x, View<T> y) {
  for (int i = 0; i < 1000000; ++i) std::cout << "line " << i << '\n';
  copy(x, y, 1);
}
template <class T> void crash(View<const T>, View<T>) {
  std::puts("before the crash");
  *reinterpret_cast<volatile int*>(8) = 1;
}
template <class T> void ends(View<const T>, View<T>) {
  std::puts("to output");
  std::fputs("last words\n", stderr);
  std::exit(3);
}
template <class T> void hostile(View<const T> x, View<T> y) {
  std::fputs("\x1b[31mred\x07 \xff\n<b>bold</b>\r\n", stdout);
  copy(x, y, 1);
}
template <class T> void thread(View<const T> x, View<T> y) {
  static std::atomic<bool> begun = false;
  if (!begun.exchange(true)) {
    std::thread([] { while (true) std::puts("for ever and ever"); }).detach();
  }
  copy(x, y, 1);
}
template <class T> void closed(View<const T> x, View<T> y) {
  ::close(1);
  ::close(2);
  std::puts("to nobody");
  copy(x, y, 1);
}
template <class T> void hangs(View<const T>, View<T>) {
  std::cerr << "for ever\n";
  while (::getppid() > 0) {
  }
}

PRENORM_SOLUTION(kDLCPU)
#define EXPORT(name) PRENORM_EXPORT_FOR(relu__##name, name, float)
EXPORT(wrong) EXPORT(right) EXPORT(chatty) EXPORT(crash) EXPORT(ends) EXPORT(hostile)
EXPORT(thread) EXPORT(closed) EXPORT(hangs)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printing")
    (folder / "printing.cpp").write_text(SOURCE)
    path = folder / "libprinting.so"
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{home() / 'include'}",
                    folder / "printing.cpp", "-o", path, "-pthread"], check=True)
    return path


@pytest.fixture
def printed(run, library):
    """printed(variant, words...): what a case printed, its message, and the whole output."""

    def call(variant, *words, code=1):
        words = ["verify", "--problem", "relu", "--case", "by_hand_float32", "--solution",
                 f"{library}/{variant}", "--fixtures", home() / "share/prenorm/fixtures", *words]
        shown = run(*words, code=code).stdout
        result, = json.loads(run(*words, "--json", "-", code=code).stdout)["results"]
        # What a thread prints between two calls belongs to none.
        assert variant == "thread" or ("it printed:" in shown) == ("printed" in result)
        return result.get("printed"), result["message"], shown

    return call


def test_a_failing_case_shows_what_it_printed(printed, tmp_path):
    text, _, shown = printed("wrong", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'It printed:</p><pre class="numbers">size ' in page and "\nto error\n</pre>" in page
    assert text.startswith("size ") and text.endswith("\nto error")
    assert "    it printed:\n      size " in shown and "\n      to error\n    repeat: " in shown


def test_a_passing_case_shows_nothing(printed):
    assert printed("right", code=0)[0] is None


@pytest.mark.slow
def test_much_is_cut(printed):
    text, _, _ = printed("chatty")
    lines = text.split("\n")
    assert lines[0] == "..." and lines[-1] == "line 999999" and len(lines) == 20


def test_a_crash_loses_no_line(printed):
    text, message, _ = printed("crash")
    assert text == "before the crash" and "SIGSEGV" in message


@pytest.mark.slow
def test_nothing_is_told_twice(printed):
    text, message, _ = printed("ends")
    assert text == "to output" and message == "ended its process: exit code 3: last words"


@pytest.mark.slow
def test_a_timeout_tells_what_came_before(printed):
    text, message, _ = printed("hangs", "--timeout", "1")
    assert text == "for ever" and "no answer" in message


@pytest.mark.slow
def test_it_is_escaped(printed):
    text, _, shown = printed("hostile")
    assert text == "\\x1b[31mred\\x07 \\xff\n<b>bold</b>\\r"
    assert "\x1b" not in shown and "\x07" not in shown


@pytest.mark.slow
def test_who_prints_for_ever_or_nothing_does_no_harm(printed):
    begin = time.monotonic()
    printed("thread")
    assert time.monotonic() - begin < 30
    assert printed("closed")[0] is None


PYTHON = """
import sys
seen = []

def run_rmsnorm(d_model, eps, weights, in_features):
    seen.append(str(in_features))
    print("call", len(seen), "of", tuple(in_features.shape))
    print(*seen, sep="\\n", file=sys.stderr)
    print("no newline \\u2192 \\ud800", end="")
    return in_features * 2
"""


def test_python_in_a_sandbox(tmp_path):
    """Visible cases show the end of what they printed, hidden ones nothing."""
    need(best_sandbox())
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapters.py").write_text(PYTHON)
    _, report, shown = grade(folder, "--sandbox", best_sandbox(), "--rubric", "cs336-2025",
                             "--fixtures", home() / "share/prenorm/fixtures", "--problem", "rmsnorm",
                             "--verbose", tmp=tmp_path)
    text = json.dumps(report)
    cases = report["results"]
    visible = [case for case in cases if not case["hidden"]]
    hidden = [case for case in cases if case["hidden"]]
    failed = [case for case in visible if case["status"] == "INCORRECT_NUMERICAL"]
    assert failed and hidden
    assert all("no newline \u2192 " in case["printed"] for case in failed)
    assert all(len(case["printed"].encode()) < 5000 for case in failed)
    assert not any("printed" in case for case in hidden)
    assert shown.count("it printed:") == len(failed)
    assert "call 1 of (" in text


@pytest.mark.slow
def test_a_chatty_submission_fills_nothing(tmp_path):
    need(best_sandbox())
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapters.py").write_text(PYTHON.replace("return in_features * 2", """
    for i in range(2000):
        print("x" * 1000)
    return in_features * 2"""))
    _, report, _ = grade(folder, "--sandbox", best_sandbox(), "--rubric", "all", "--fixtures",
                         home() / "share/prenorm/fixtures", "--problem", "rmsnorm", tmp=tmp_path)
    kept = [case.get("printed", "") for case in report["results"]]
    assert 2000 < sum(len(text.encode()) for text in kept) <= 64 << 10
