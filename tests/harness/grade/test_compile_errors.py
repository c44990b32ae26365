"""The usual slips in C++ submissions meet one sentence, not pages of templates."""

# labels: grading
# timeout: 900
# slow labels: grading

import re

import pytest

from conftest import slow_but
from grading import best_sandbox, grade, need
from places import home
from submissions import PROJECT

EXPORTS = "PRENORM_SOLUTION(kDLCPU)\nPRENORM_EXPORT({0}, mine::{0})\n"
# {scalar}: the type of dim.
SOFTMAX = """#include <prenorm/prenorm.hpp>
#include <cmath>
namespace mine {{
template <class T>
void softmax(prenorm::View<const T> x, {scalar} dim, prenorm::View<T> y) {{
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = T(x[i] * static_cast<float>(dim));
}}
}}
"""
# {body}: of a loop over i.
SILU = """#include <prenorm/prenorm.hpp>
#include <cmath>
namespace mine {{
template <class T>
void silu(prenorm::View<{x}> x, prenorm::View<T> y) {{
  {first}
  for (std::int64_t i = 0; i < x.size(); ++i) {{
    {body}
  }}
}}
}}
"""
INT = "a scalar int of the signature is std::int64_t, a float is double"
STORE = "16-bit types only store: compute in float, then write T(value)"


def softmax(scalar, exports=EXPORTS.format("softmax")):
    return SOFTMAX.format(scalar=scalar) + exports


def silu(body, first="", x="const T"):
    return SILU.format(body=body, first=first, x=x) + EXPORTS.format("silu")


# What was written, the sentence, and the line of it that is named.
COMPILER = {
    "int": (softmax("int"), INT, 10),
    "long_long": (softmax("long long"), INT, 10),
    "float": (softmax("const float&"), INT, 10),
    "raw_pointers": (softmax("const T*"), "a parameter is View<const T> (an input), ", 10),
    "sum_in_16_bits": (silu("sum += x[i]; y[i] = T(x[i] / sum);", "T sum = T(0);"), STORE, 8),
    "sum_from_int": (silu("sum += x[i]; y[i] = T(x[i] / sum);", "T sum = 0;"), STORE, None),
    "const_output": (silu("y[i] = x[i];").replace("View<T> y", "View<const T> y"),
                     "an output is View<T>, without const", None),
    "product": (silu("y[i] = x[i] * x[i];"), STORE, 8),
    "exponential": (silu("y[i] = std::exp(-x[i]);"), STORE, 8),
}


@pytest.fixture
def told(tmp_path):
    """told(source): the status of the whole, and the lines of its message."""

    def call(source, *words):
        need(best_sandbox())
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(PROJECT.format(name="mine"))
        (folder / "solution.cpp").write_text(source)
        _, report, printed = grade(folder, "--sandbox", best_sandbox(), "--rubric", "all",
                                   "--fixtures", home() / "share/prenorm/fixtures", *words,
                                   tmp=tmp_path)
        return report, printed

    return call


# Each is a project that CMake configures: the quick tier has one.
@pytest.mark.parametrize("slip", slow_but({"float"}, COMPILER))
def test_slips_of_the_compiler(told, slip):
    source, sentence, line = COMPILER[slip]
    report, printed = told(source)
    assert report["status"] == "COMPILE_ERROR"
    lines = report["message"].splitlines()
    assert lines[0] == "it does not compile"
    assert sentence in lines[1]
    assert line is None or re.match(rf"solution\.cpp:{line}:\d+: ", lines[1]), lines[1]
    assert len(lines) <= 8 and max(map(len, lines)) < 300
    assert all("solution.cpp:" in line for line in lines[2:])  # nothing of the headers
    assert sentence in "\n".join(printed.splitlines()[:8])


@pytest.mark.slow
def test_a_missing_export(told):
    report, printed = told(softmax("std::int64_t", "PRENORM_SOLUTION(kDLCPU)\n"))
    sentence = "a line PRENORM_EXPORT(problem, function) is missing"
    assert report["status"] == "LOAD_ERROR"
    assert sentence in report["message"] and "\n" not in report["message"]
    assert sentence in "\n".join(printed.splitlines()[:8])


@pytest.mark.slow
def test_an_output_for_an_input(told):
    report, printed = told(silu("y[i] = x[i];", x="T"), "--problem", "silu", "--case", "base*")
    sentence = "View<T> is an output, View<const T> an input"
    assert report["status"] == "PASSED" and "more than 1 outputs: " + sentence in printed


@pytest.mark.slow
def test_other_errors_are_short(told):
    report, _ = told(softmax("std::int64_t").replace("x.size()", "x.length()") + "int last = \"\";\n")
    lines = report["message"].splitlines()
    assert any("no member named" in line and "solution.cpp:6:" in line for line in lines)
    assert any("solution.cpp:11:" in line for line in lines) and len(lines) <= 8


def test_what_16_bit_types_can_do(told):
    """Reading, comparing, sorting, copying: nothing of it is refused."""
    body = """std::vector<T> row(x.begin(), x.end());
    std::sort(row.begin(), row.end());
    std::fill(row.begin(), row.end(), T(0));
    T largest = x[0];
    if (x[i] > largest) largest = std::max(x[i], row[0]);
    const float value = i >= 0 ? x[i] : 0.0f;
    std::swap(largest, row[0]);
    y[i] = {};
    y[i] = T(value / (1 + std::exp(-value)));"""
    source = "#include <algorithm>\n#include <vector>\n" + silu(body)
    report, printed = told(source, "--problem", "silu", "--case", "base*")
    assert report["status"] == "PASSED", report["message"]
    passed = int(re.search(r"(\d+) passed, 0 failed", printed)[1])
    assert passed >= 1
