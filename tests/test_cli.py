"""The program from outside: every command, its exit codes, messages and reports.

All here is about a problem that the harness has never heard of, `centred`: files written with h5py,
solutions compiled on the spot, in a home of their own beside the real helper programs.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
SIGNATURE = "x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]"

COMMON = """
#include <prenorm/prenorm.hpp>
#include <cmath>
using prenorm::View;
/// y = (x - mean(x)) * scale + bias, the mean over the last axis, summed in Sum.
template <class T, class Sum, bool reversed = false>
void centre(View<const T> x, View<const T> bias, double scale, View<T> y, Sum divide_by = 0) {
  if (!(scale > 0)) throw std::invalid_argument("centred: scale must be above 0");
  const std::int64_t n = bias.size();
  for (std::int64_t row = 0; n > 0 && row < x.size() / n; ++row) {
    Sum sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<Sum>(x[row * n + (reversed ? n - 1 - i : i)]);
    }
    const Sum mean = sum / (divide_by > 0 ? divide_by : static_cast<Sum>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      y[row * n + i] = static_cast<T>((static_cast<Sum>(x[row * n + i]) - mean) *
                                      static_cast<Sum>(scale) + static_cast<Sum>(bias[i]));
    }
  }
}
template <class T> using Wide = std::conditional_t<(sizeof(T) > 4), double, float>;
PRENORM_SOLUTION(kDLCPU)
"""
LIBRARIES = {
    "reference": """
template <class T> void f(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, double>(x, b, s, y);
}
PRENORM_EXPORT(centred, f)
""",
    "plain": """
template <class T> void f(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, Wide<T>>(x, b, s, y);
}
PRENORM_EXPORT(centred, f)
""",
    "mistakes": """
template <class T> void no_bias(View<const T> x, View<const T> b, double s, View<T> y) {
  std::vector<T> none(static_cast<std::size_t>(b.size()), T(0));
  centre<T, double>(x, View<const T>(none.data(), b.shape()), s, y);
}
template <class T> void no_scale(View<const T> x, View<const T> b, double, View<T> y) {
  centre<T, double>(x, b, 1.0, y);
}
template <class T> void sum_for_mean(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, double>(x, b, s, y, 1.0);
}
PRENORM_EXPORT(centred__no_bias, no_bias)
PRENORM_EXPORT(centred__no_scale, no_scale)
PRENORM_EXPORT_FOR(centred__sum_for_mean, sum_for_mean, float, double)
""",
    "honest": """
template <class T> void reversed_sum(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, Wide<T>, true>(x, b, s, y);
}
PRENORM_EXPORT(centred__reversed, reversed_sum)
""",
    # Not shipped: named by its path. One element is wrong, and only in float32.
    "mine": """
template <class T> void f(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, double>(x, b, s, y);
  if constexpr (sizeof(T) == 4) y[5] += 1;
}
PRENORM_EXPORT(centred, f)
""",
    "hostile": """
template <class T> void f(View<const T>, View<const T>, double, View<T>) {
  throw std::runtime_error("\\x1b[31mred\\x07 <b>&\\"bold\\"</b> ]]> \\xff\\nsecond line");
}
PRENORM_EXPORT(centred, f)
""",
    # Sees x as tf32 units do: 10 mantissa bits, the others cut off.
    "tf32": """
#include <bit>
template <class T> void f(View<const T> x, View<const T> b, double s, View<T> y) {
  std::vector<T> cut(x.begin(), x.end());
  if constexpr (std::is_same_v<T, float>) {
    for (T& value : cut) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
    }
  }
  centre<T, Wide<T>>(View<const T>(cut.data(), x.shape()), b, s, y);
}
PRENORM_EXPORT(centred, f)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
""",
    "slow": """
template <class T> void f(View<const T>, View<const T>, double, View<T>) { for (;;) {} }
PRENORM_EXPORT(centred, f)
""",
}


def compile_library(folder, name):
    source = folder / f"{name}.cpp"
    source.write_text("#include <vector>\n" + COMMON + LIBRARIES[name])
    library = folder / f"lib{name}.so"
    subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-ffp-contract=off",
                    "-fvisibility=hidden", "-I", ROOT / "harness/include", source, "-o", library],
                   check=True)
    return library


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    return {name: compile_library(folder, name) for name in LIBRARIES}


@pytest.fixture(scope="session")
def own_home(home, libraries, tmp_path_factory):
    """A home whose shipped solutions are ours, with the real helper programs."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "libexec").mkdir()
    (folder / "libexec/prenorm").symlink_to(home / "libexec/prenorm")
    (folder / "lib/prenorm").mkdir(parents=True)
    for name in ("reference", "plain", "mistakes", "honest"):
        shutil.copy(libraries[name], folder / f"lib/prenorm/libprenorm_{name}.so")
    # The same code under a name that says that it is slow.
    shutil.copy(libraries["plain"], folder / "lib/prenorm/libprenorm_cuda-emulated.so")
    (folder / "share/prenorm/fixtures").mkdir(parents=True)
    return folder


@pytest.fixture
def prenorm(program, own_home, tmp_path):
    """Calls the program in an empty folder: prenorm("verify", ..., code=1) -> standard output."""

    def call(*words, code=0, both=False, **variables):
        environment = {**os.environ, "PRENORM_HOME": str(own_home), "PRENORM_LAUNCHER": "",
                       **variables}
        done = subprocess.run([program, *map(str, words)], capture_output=True, cwd=tmp_path,
                              env=environment, timeout=120)
        out, error = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"{words}: {done.returncode}\n{out}\n{error}"
        if code == 2 and not both and not out:
            assert error.startswith("prenorm: ") and error.count("\n") == 1, error
        return (out, error) if both else out or error

    return call


# fixtures ----------------------------------------------------------------------------------------


def centred(x, bias, scale):
    x, bias = np.asarray(x, np.float64), np.asarray(bias, np.float64)
    return (x - x.mean(-1, keepdims=True)) * scale + bias


def add_case(file, name, dtype, shape, *, scale=None, seed=0, atol=None, rtol=None, wrong=None,
             draw=True, error=None, description="a case"):
    rng = np.random.default_rng(seed)
    case = file.create_group(f"cases/{name}")
    if description:
        case.attrs["description"] = description
    x = rng.normal(size=shape).astype(dtype)
    bias = rng.normal(size=shape[-1]).astype(dtype)
    if scale is not None:
        case.attrs["scale"] = float(scale)
    for tensor, value in (("x", x), ("bias", bias)):
        data = case.create_dataset(f"inputs/{tensor}", data=value)
        if draw:
            data.attrs["draw"] = "normal(0,1)"
    if error is not None:
        case.attrs["error"] = error
        return
    y = centred(x, bias, 1.5 if scale is None else scale)
    if wrong is not None:
        y[wrong] += 1
    epsilon = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}[dtype]
    data = case.create_dataset("outputs/y", data=y)
    data.attrs["dtype"] = dtype
    if atol is not False:
        data.attrs["atol"] = 16 * epsilon if atol is None else atol
        data.attrs["rtol"] = 4 * epsilon if rtol is None else rtol


def make_file(path, cases, problem="centred", signature=SIGNATURE):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "prenorm-fixture"
        file.attrs["version"] = 1
        file.attrs["problem"] = problem
        file.attrs["signature"] = signature
        file.attrs["source"] = "made up for this test"
        file.create_group("cases")
        for name, options in cases.items():
            add_case(file, name, **options)
    return path


GOOD = {
    "single64": dict(dtype="float64", shape=(5,)),
    "batch32": dict(dtype="float32", shape=(3, 8), scale=2.5, seed=1),
    "batch16": dict(dtype="float16", shape=(2, 2, 3, 31), seed=2),
    "refused": dict(dtype="float32", shape=(4,), scale=-1, error="scale must be above 0"),
}


@pytest.fixture
def good(tmp_path):
    return make_file(tmp_path / "good.h5", GOOD)


@pytest.fixture
def wrong(tmp_path):
    """One element of the expected values is off by 1."""
    return make_file(tmp_path / "wrong.h5", {**GOOD, "off": dict(
        dtype="float64", shape=(2, 3, 4), wrong=(1, 2, 3))})


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.h5"
    path.write_bytes(b"this is no HDF5 file")
    return path


def results_of(text):
    report = json.loads(text)
    assert list(report) == ["version", "command", "environment", "results", "summary"]
    assert report["version"] == 1
    assert sum(report["summary"].values()) == len(report["results"])
    return report["results"]


# verify ------------------------------------------------------------------------------------------


def test_verify_shows_a_row_a_problem_and_a_column_a_solution(prenorm, good):
    out = prenorm("verify", "--fixtures", good)
    head, rule, row = out.splitlines()[:3]
    assert head.split() == ["problem", "reference", "cuda-emulated", "plain"]
    assert set(rule) == {"-", " "}
    assert re.fullmatch(r"centred +PASSED 4/4 +PASSED 4/4 +PASSED 4/4", row)
    # The columns stand under their titles.
    assert row.index("PASSED") == head.index("reference")
    assert re.search(r"^12 passed, 0 failed, 0 skipped in ", out, re.M)
    assert "\x1b" not in out


def test_a_wrong_element_fails_with_its_index(prenorm, wrong):
    out = prenorm("verify", "--fixtures", wrong, "--solution", "reference", code=1)
    assert "FAILED 4/5" in out
    assert "INCORRECT_NUMERICAL  centred / off (float64)  by reference" in out
    assert "1 of 24 elements" in out and "[1, 2, 3]" in out
    repeat = re.search(r"repeat: (.*)", out).group(1)
    assert repeat == f"prenorm verify --fixtures {wrong} --case off --solution reference"
    again = prenorm(*repeat.split()[1:], code=1)
    assert "FAILED 0/1" in again and "[1, 2, 3]" in again


def test_the_repeat_line_names_the_launcher(prenorm, wrong):
    words = ["verify", "--fixtures", wrong, "--solution", "reference"]
    assert "repeat: prenorm verify" in prenorm(*words, code=1)
    assert "repeat: ./prenorm verify" in prenorm(*words, code=1, PRENORM_LAUNCHER="./prenorm")


def test_the_repeat_line_is_quoted_for_a_shell(prenorm, tmp_path):
    path = make_file(tmp_path / "it's a file.h5", {"off": dict(
        dtype="float64", shape=(3,), wrong=(0,))})
    out = prenorm("verify", "--fixtures", path, "--solution", "reference", code=1)
    quoted = str(path).replace("'", "'\\''")
    assert f"--fixtures '{quoted}' --case off" in out


def test_a_bad_file_costs_only_itself(prenorm, good, bad):
    out = prenorm("verify", "--fixtures", bad, "--fixtures", good, "--json", "-", code=2)
    results = results_of(out)
    assert [r["status"] for r in results].count("BAD_FIXTURE") == 1
    damaged = results[0]
    assert damaged["fixture"] == str(bad) and damaged["case"] is None
    assert damaged["problem"] is None and damaged["solution"] is None
    assert str(bad) in damaged["message"]
    assert {r["status"] for r in results[1:]} == {"PASSED"} and len(results) == 1 + 3 * 4
    table = prenorm("verify", "--fixtures", bad, "--fixtures", good, code=2)
    assert re.search(r"bad\.h5 +BAD_FIXTURE", table) and "PASSED 4/4" in table


def later_version(path, problem):
    """A file that says whose it is, and cannot be used."""
    make_file(path, GOOD, problem=problem)
    with h5py.File(path, "a") as file:
        file.attrs["version"] = 2
    return path


def test_a_bad_file_of_another_problem_is_left_out(prenorm, good, bad, tmp_path):
    other = later_version(tmp_path / "other.h5", "other")
    files = ("--fixtures", good, "--fixtures", other)
    assert "other.h5" in prenorm("verify", *files, code=2)
    assert "other.h5" not in prenorm("verify", *files, "--problem", "centred")
    assert "version is 2" in prenorm("verify", *files, "--problem", "other", code=2)
    assert "did you mean 'other'" in prenorm("verify", *files, "--problem", "othr", code=2)
    # What does not say its problem may be the one that is meant.
    assert "bad.h5" in prenorm("verify", *files, "--fixtures", bad, "--problem", "other", code=2)
    assert "version is 2" in prenorm("show", "other", *files, code=2)
    assert str(bad) in prenorm("show", "missing", "--fixtures", bad, code=2)


def test_many_files(program, own_home, tmp_path):
    """More than the usual limit of open files allows at two descriptors each."""
    make_file(tmp_path / "f0.h5", {"a": dict(dtype="float32", shape=(2,))})
    for i in range(1, 60):
        shutil.copy(tmp_path / "f0.h5", tmp_path / f"f{i}.h5")
    words = ["sh", "-c", 'ulimit -S -n 64 && exec "$@"', "sh", program, "verify", "--fixtures",
             tmp_path, "--solution", "reference"]
    done = subprocess.run(words, capture_output=True, text=True,
                          env={**os.environ, "PRENORM_HOME": str(own_home)})
    assert done.returncode == 0 and "60 passed" in done.stdout, done.stdout + done.stderr


def test_a_report_that_cannot_be_written_is_told_before_the_work(prenorm, good, libraries):
    words = ("verify", "--fixtures", good, "--solution", libraries["slow"], "--json", "no/such/r")
    start = time.monotonic()
    assert "cannot write" in prenorm(*words, code=2)
    assert time.monotonic() - start < 0.5


def test_the_repeat_line_repeats_the_options_that_matter(prenorm, good, libraries):
    out = prenorm("verify", "--fixtures", good, "--case", "single64", "--solution",
                  libraries["slow"], "--timeout", "0.25", "--seed", "7", code=1)
    assert re.search(r"repeat: .*--case single64 .* --seed 7 --timeout 0.25\n", out)


def test_a_library_given_by_its_path(prenorm, good, libraries):
    out = prenorm("verify", "--fixtures", good, "--solution", libraries["mine"], code=1)
    assert "FAILED 3/4" in out and "batch32" in out and "[0, 5]" in out
    assert prenorm("verify", "--fixtures", good, "--solution", libraries["mine"],
                   "--dtype", "float64").count("PASSED 1/1") == 1


def test_a_variant_of_a_collection(prenorm, good):
    out = prenorm("verify", "--fixtures", good, "--solution", "mistakes/no_bias", code=1)
    assert "FAILED 1/4" in out  # the case that must be refused
    # A type that the variant is not written for is skipped, and said to be.
    out = prenorm("verify", "--fixtures", good, "--solution", "mistakes/sum_for_mean",
                  "--dtype", "float16", code=3)
    assert "NOT_IMPLEMENTED" in out and "nothing ran" in out
    out = prenorm("verify", "--fixtures", good, "--solution", "mistakes/no_bais", code=3)
    assert "no function prenorm_centred__no_bais; there are the variants no_bias, no_scale" in out
    assert "no case is selected" in prenorm(
        "verify", "--fixtures", good, "--case", "single64", "--dtype", "float16", code=3)


def test_what_is_not_there_is_not_implemented(prenorm, tmp_path):
    path = make_file(tmp_path / "other.h5", GOOD, problem="unheard_of")
    out = prenorm("verify", "--fixtures", path, "--solution", "reference", code=3)
    assert "NOT_IMPLEMENTED" in out and "0 passed, 0 failed, 4 skipped" in out


def test_a_library_that_cannot_be_loaded(prenorm, good, tmp_path):
    broken = tmp_path / "libbroken.so"
    broken.write_text("no library")
    out = prenorm("verify", "--fixtures", good, "--solution", broken, "--solution", "reference",
                  code=1)
    assert re.search(r"centred +LOAD_ERROR +PASSED 4/4", out)
    assert out.count("LOAD_ERROR") == 2, "the table, and once below it for all four cases"
    assert "4 passed, 4 failed" in out


def test_large_cases_are_not_for_the_emulator(prenorm, tmp_path):
    path = make_file(tmp_path / "large.h5", {
        "large": dict(dtype="float32", shape=(256, 257), atol=1e-5),
        "small": dict(dtype="float32", shape=(7,))})
    results = results_of(prenorm("verify", "--fixtures", path, "--json", "-"))
    emulated = {r["case"]: r for r in results if r["solution"] == "cuda-emulated"}
    assert emulated["large"]["status"] == "SKIPPED"
    assert emulated["large"]["message"] == "large for the emulator"
    assert emulated["small"]["status"] == "PASSED"
    assert "cuda-emulated: 1 case SKIPPED: large for the emulator" in prenorm(
        "verify", "--fixtures", path)
    named = results_of(prenorm("verify", "--fixtures", path, "--solution", "cuda-emulated",
                               "--json", "-"))
    assert {r["status"] for r in named} == {"PASSED"}


def test_json_has_the_promised_fields(prenorm, wrong):
    results = results_of(prenorm("verify", "--fixtures", wrong, "--solution", "reference",
                                 "--json", "-", code=1))
    assert [r["case"] for r in results] == ["batch16", "batch32", "off", "refused", "single64"]
    for result in results:
        assert set(result) == {"fixture", "problem", "case", "solution", "status", "message",
                               "dtype", "seconds", "repeat", "outputs", "batch_invariant"}
        for output in result["outputs"]:
            assert set(output) == {
                "name", "max_abs_error", "max_rel_error", "max_ulp_error", "relative_l2_error",
                "mismatches", "elements", "worst_index", "worst_actual", "worst_expected", "atol",
                "rtol"}
    off = results[2]
    assert off["status"] == "INCORRECT_NUMERICAL" and off["solution"] == "reference"
    output = off["outputs"][0]
    assert output["worst_index"] == [1, 2, 3] and output["mismatches"] == 1
    assert output["elements"] == 24 and output["name"] == "y"
    assert output["max_abs_error"] == pytest.approx(1)
    assert output["worst_expected"] - output["worst_actual"] == pytest.approx(1)


def test_json_writes_what_is_not_finite_as_text(prenorm, tmp_path):
    path = make_file(tmp_path / "nan.h5", {"nan": dict(dtype="float64", shape=(2, 3), draw=False)})
    with h5py.File(path, "r+") as file:
        file["cases/nan/inputs/x"][0, 1] = np.nan
        expected = file["cases/nan/outputs/y"]
        expected[0] = [np.nan, np.inf, np.nan]
    results = results_of(prenorm("verify", "--fixtures", path, "--solution", "reference",
                                 "--json", "-", code=1))
    output = results[0]["outputs"][0]
    assert output["worst_expected"] == "Infinity" and output["worst_actual"] == "NaN"
    assert output["mismatches"] == 1 and output["worst_index"] == [0, 1]


def test_json_into_a_file_leaves_the_table(prenorm, good, tmp_path):
    out = prenorm("verify", "--fixtures", good, "--json", tmp_path / "report.json")
    assert "PASSED 4/4" in out
    assert len(results_of((tmp_path / "report.json").read_text())) == 12


def test_a_message_from_a_solution_does_no_harm(prenorm, good, libraries, tmp_path):
    words = ["verify", "--fixtures", good, "--solution", libraries["hostile"],
             "--junit", tmp_path / "junit.xml", "--html", tmp_path / "page.html",
             "--json", tmp_path / "report.json"]
    out = prenorm(*words, code=1)
    assert "\x1b" not in out and "\x07" not in out and "RUNTIME_ERROR" in out
    page = (tmp_path / "page.html").read_text()
    assert "<b>&\"bold\"" not in page and "&lt;b&gt;&amp;" in page
    suites = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert suites.tag == "testsuites" and suites.get("failures") == "3"
    assert len(suites.findall("./testsuite/testcase")) == 4
    assert all("RUNTIME_ERROR" in failure.get("message") for failure in suites.iter("failure"))
    results_of((tmp_path / "report.json").read_text())


def test_html_needs_nothing_beside_itself(prenorm, wrong, tmp_path):
    prenorm("verify", "--fixtures", wrong, "--html", tmp_path / "page.html", code=1)
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "FAILED 4/5" in page and "[1, 2, 3]" in page
    assert not re.search(r"(src|href)=(?!\"(data:,|#))", page)


def test_a_time_limit(prenorm, good, libraries):
    out = prenorm("verify", "--fixtures", good, "--case", "single64", "--solution",
                  libraries["slow"], "--timeout", "0.3", code=1)
    assert "TIMEOUT" in out


def test_in_process(prenorm, good):
    assert "PASSED 4/4" in prenorm("verify", "--fixtures", good, "--in-process",
                                   "--solution", "reference")


def test_verbose_has_a_line_for_every_case(prenorm, good):
    out = prenorm("verify", "--fixtures", good, "--verbose", "--solution", "reference")
    for name in GOOD:
        assert re.search(rf"^PASSED +centred / {name} +float", out, re.M)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_stand_in_the_same_order_however_many_jobs(prenorm, tmp_path, jobs):
    for number in range(6):
        make_file(tmp_path / f"part{number}.h5", GOOD, problem="centred")
    results = results_of(prenorm("verify", "--fixtures", tmp_path, "--jobs", jobs, "--json", "-"))
    keys = [(r["fixture"], r["case"]) for r in results]
    assert keys == sorted(keys) and len(keys) == 6 * 4 * 3


def test_the_same_problem_in_two_files_has_two_rows(prenorm, tmp_path):
    for name in "ab":
        make_file(tmp_path / f"{name}.h5", GOOD)
    out = prenorm("verify", "--fixtures", tmp_path)
    assert re.search(r"centred \(.*a\.h5\) +PASSED", out)
    assert re.search(r"centred \(.*b\.h5\) +PASSED", out)


def test_default_fixtures_are_those_of_the_folder(prenorm, tmp_path):
    (tmp_path / "fixtures").mkdir()
    make_file(tmp_path / "fixtures/centred.h5", GOOD)
    out = prenorm("verify")
    assert "PASSED 4/4" in out
    results = results_of(prenorm("verify", "--json", "-"))
    assert results[0]["fixture"] == "fixtures/centred.h5"


def test_problems_and_cases_by_globs(prenorm, tmp_path):
    make_file(tmp_path / "a.h5", GOOD)
    make_file(tmp_path / "b.h5", GOOD, problem="unheard_of")
    found = results_of(prenorm("verify", "--fixtures", tmp_path, "--problem", "cent*",
                               "--case", "batch*", "--solution", "reference", "--json", "-"))
    assert [(r["problem"], r["case"]) for r in found] == [("centred", "batch16"),
                                                          ("centred", "batch32")]


def test_fresh_values_by_seed(prenorm, good):
    out = prenorm("verify", "--fixtures", good, "--seed", "3")
    assert "PASSED 4/4" in out
    # A mistake is still one with fresh values, and the repeat line keeps the seed.
    out = prenorm("verify", "--fixtures", good, "--seed", "3", "--solution", "mistakes/no_bias",
                  code=1)
    assert "--solution mistakes/no_bias --seed 3" in out


# terminal ----------------------------------------------------------------------------------------


def on_a_terminal(program, home, words, cwd, **variables):
    """What the program writes where standard output and error are one terminal."""
    try:
        leader, follower = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be made here: {error}")
    environment = {**os.environ, "PRENORM_HOME": str(home), "TERM": "xterm", **variables}
    environment = {k: v for k, v in environment.items() if k != "NO_COLOR" or k in variables}
    process = subprocess.Popen([program, *map(str, words)], stdout=follower, stderr=follower,
                               stdin=subprocess.DEVNULL, cwd=cwd, env=environment)
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    process.wait(timeout=60)
    os.close(leader)
    return text.decode()


def test_colour_and_progress_on_a_terminal_only(program, own_home, prenorm, good, tmp_path):
    words = ["verify", "--fixtures", good]
    shown = on_a_terminal(program, own_home, words, tmp_path)
    assert "\x1b[32mPASSED 4/4\x1b[0m" in shown and "[0/1]" in shown
    assert "\x1b[32m" not in on_a_terminal(program, own_home, words + ["--no-color"], tmp_path)
    assert "\x1b[32m" not in on_a_terminal(program, own_home, words, tmp_path, NO_COLOR="1")
    out, error = prenorm(*words, both=True)
    assert error == "" and "\x1b" not in out and "\r" not in out


# words that are wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("words, message", [
    (["verfy"], "did you mean 'verify'"),
    (["verify", "--nonsense"], "--nonsense"),
    (["verify", "--fixtures", "nowhere.h5"], "no file or folder nowhere.h5"),
    (["verify", "--fixtures", "good.h5", "--problem", "centered"], "did you mean 'centred'"),
    (["verify", "--fixtures", "good.h5", "--case", "batch23"], "did you mean 'batch32'"),
    (["verify", "--fixtures", "good.h5", "--dtype", "float23"], "did you mean 'float32'"),
    (["verify", "--fixtures", "good.h5", "--solution", "refrence"], "did you mean 'reference'"),
    (["verify", "--fixtures", "good.h5", "--solution", "./absent.so"], "absent.so"),
    (["verify", "--fixtures", "good.h5", "--jobs", "0"], "--jobs"),
    (["verify", "--fixtures", "good.h5", "--timeout", "0"], "'0' is no number above 0"),
    (["verify", "--fixtures", "good.h5", "--timeout", "nan"], "'nan' is no number above 0"),
    (["verify", "--fixtures", "good.h5", "--seed", "-1"], "'-1' is no whole number"),
    (["verify", "--fixtures", "good.h5", "--json", "-", "--html", "-"], "one report only"),
    (["verify", "--fixtures", "good.h5", "--only-failing"], "--save"),
    (["verify", "--fixtures", "good.h5", "--json", "no/such/folder.json"], "cannot write"),
    (["show", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["show"], "PROBLEM"),
    (["diff", "good.h5"], "B"),
    (["diff", "nowhere.h5", "good.h5"], "no file nowhere.h5"),
    (["fixtures"], "subcommand"),
    (["fixtures", "chek"], "did you mean 'check'"),
    (["mistakes", "--problem", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["fixtures", "check", "nowhere.h5"], "nowhere.h5"),
    (["fixtures", "make", "good.h5", "--out", "fresh"], "--seed"),
    (["mistakes", "centered", "--fixtures", "good.h5"], "did you mean 'centred'"),
    (["mistakes", "--fixtures", "good.h5", "--solution", "mistake"], "did you mean 'mistakes'"),
    (["test"], "./prenorm"),
])
def test_a_wrong_word_is_told_in_one_line(prenorm, good, words, message):
    assert message in prenorm(*words, code=2)


def test_no_command_shows_help(program):
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 2 and "verify" in done.stderr


COMMANDS = ["verify", "list", "show", "mistakes", "diff", "doctor", "gradescope", "fixtures",
            "fixtures make", "fixtures check", "fixtures calibrate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(prenorm, command):
    out = prenorm(*command.split(), "--help")
    assert "Example" in out and f"prenorm {command}" in out
    assert all(len(line) <= 110 for line in out.splitlines()), out


def test_help_lists_what_there_is(prenorm):
    out = prenorm("--help")
    for command in COMMANDS[:8]:
        assert re.search(rf"^  {command} ", out, re.M)
    assert prenorm("--version").startswith("prenorm ")


# list, show, doctor ------------------------------------------------------------------------------


def test_list(prenorm, good):
    out = prenorm("list", "--fixtures", good)
    assert re.search(r"^centred +4 +f64 f32 f16 +- +reference, cuda-emulated, honest \(1\), "
                     r"mistakes \(3\), plain$", out, re.M)


def test_list_with_a_bad_file(prenorm, good, bad):
    out = prenorm("list", "--fixtures", good, "--fixtures", bad, code=2)
    assert "BAD_FIXTURE" in out and "centred" in out
    assert "1 problem, 4 cases" in out


def test_show(prenorm, good, tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/centred.hpp").write_text(
        "// centred(x) in a comment\ntemplate <class T>\nTensor<T> centred(const Tensor<T>& x);\n")
    (tmp_path / "notebooks").mkdir()
    assert "notebook" not in prenorm("show", "centred", "--fixtures", good)
    (tmp_path / "notebooks/centred.ipynb").touch()
    out = prenorm("show", "centred", "--fixtures", good)
    assert re.search(r"^notebook +notebooks/centred.ipynb$", out, re.M)
    assert "x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]" in out
    assert "made up for this test" in out
    assert "reference/centred.hpp:3" in out
    assert "mistakes/no_bias" in out
    for name in GOOD:
        assert name in out
    assert "x[3, 8] bias[8]; scale=2.5 -> y[3, 8]" in out
    assert "must be refused: scale must be above 0" in out
    assert "|y - e| <= " in out
    out = prenorm("show", good, "--case", "batch*")
    assert "batch16" in out and "single64" not in out


def test_doctor(prenorm, good, own_home):
    out = prenorm("doctor", code=1)
    assert "MISSING" in out and "fixtures" in out  # this home ships none
    shipped = own_home / "share/prenorm/fixtures/centred.h5"
    shutil.copy(good, shipped)
    try:
        out = prenorm("doctor")
    finally:
        shipped.unlink()
    for what in ("C++ compiler", "HDF5", "BLAS", "CUDA device", "sandbox", "cores", "memory",
                 "solution reference", "fixtures"):
        assert what in out, what
    assert re.search(r"HDF5 +ok +libhdf5 \d+\.\d+\.\d+\n", out)


def test_doctor_asks_quietly_for_what_is_not_there(prenorm, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    out, error = prenorm("doctor", code=1, both=True, PATH=str(tmp_path / "bin"))
    assert error == "" and re.search(r"nvcc +none", out) and re.search(r"sandbox process +", out)


def test_the_version_is_the_projects(prenorm):
    version = re.search(r"project\(prenorm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert prenorm("--version") == f"prenorm {version[1]}\n"


def test_a_home_that_cannot_be_found(program, own_home, good, tmp_path):
    """Without /proc the program cannot see where it stands; told by PRENORM_HOME, it works."""
    if not shutil.which("bwrap"):
        pytest.skip("no bwrap")
    sandbox = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/proc", "--tmpfs", "/dev/shm"]
    if subprocess.run([*sandbox, "true"], capture_output=True).returncode != 0:
        pytest.skip("bwrap may not make user namespaces")
    words = [program, "verify", "--fixtures", good, "--solution", "reference"]
    environment = {k: v for k, v in os.environ.items() if k != "PRENORM_HOME"}
    lost = subprocess.run(sandbox + words, capture_output=True, text=True, env=environment)
    assert lost.returncode == 2 and "set PRENORM_HOME" in lost.stderr
    told = subprocess.run(sandbox + words, capture_output=True, text=True,
                          env={**environment, "PRENORM_HOME": str(own_home)})
    assert told.returncode == 0 and "PASSED 4/4" in told.stdout, told.stderr


# fixtures ----------------------------------------------------------------------------------------


def test_calibrate_writes_tolerances(prenorm, tmp_path):
    cases = {name: {**options, "atol": False} for name, options in GOOD.items()}
    path = make_file(tmp_path / "new.h5", cases)
    before = path.read_bytes()
    assert "no tolerance" in prenorm("fixtures", "calibrate", path, "--dry-run")
    assert path.read_bytes() == before
    out = prenorm("fixtures", "calibrate", path)
    assert "3 tolerances written" in out
    with h5py.File(path) as file:
        assert "atol" not in file["cases/refused"].attrs
        y = file["cases/batch32/outputs/y"]
        rms = np.sqrt(np.mean(y[...] ** 2))
        ulp = float(np.spacing(np.float32(rms)))
        assert y.attrs["rtol"] == 4 * 2.0**-23
        assert y.attrs["atol"] >= 4 * ulp
        assert y.attrs["atol"] < 32 * ulp
        assert "E = " in y.attrs["reason"] and "16 draws" in y.attrs["reason"]
    first = path.read_bytes()
    prenorm("fixtures", "calibrate", path)
    with h5py.File(path) as file:
        assert file["cases/batch32/outputs/y"].attrs["rtol"] == 4 * 2.0**-23
    prenorm("verify", "--fixtures", path)
    assert first  # and the tolerances hold for every solution that is right


def test_calibrate_finds_what_numpy_finds(prenorm, tmp_path):
    """E over the stored values alone, by hand: the float32 loop against float64."""
    path = make_file(tmp_path / "one.h5", {"one": dict(
        dtype="float32", shape=(40, 257), atol=False, scale=3.25)})
    prenorm("fixtures", "calibrate", path, "--redraws", "0")
    with h5py.File(path) as file:
        case = file["cases/one"]
        x, bias = case["inputs/x"][...], case["inputs/bias"][...]
        sums = np.zeros(40, np.float32)
        for column in range(257):
            sums += x[:, column]
        mean = sums / np.float32(257)
        textbook = (x - mean[:, None]) * np.float32(3.25) + bias
        y = case["outputs/y"]
        error = np.abs(textbook.astype(np.float64) - y[...]).max()
        floor = 4 * float(np.spacing(np.float32(np.sqrt(np.mean(y[...] ** 2)))))
        assert y.attrs["atol"] == max(2 * error, floor)
        assert "1 draw" in y.attrs["reason"]


def test_calibrate_derives_tf32_tolerances(prenorm, tmp_path, libraries):
    cases = {name: {**options, "atol": False} for name, options in GOOD.items()}
    path = make_file(tmp_path / "new.h5", cases)
    prenorm("fixtures", "calibrate", path)  # there is no plain-tf32 here
    with h5py.File(path) as file:
        assert "atol_tf32" not in file["cases/batch32/outputs/y"].attrs
        before = file["cases/batch32/outputs/y"].attrs["atol"]
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"])
    assert "1 passed, 0 failed, 3 skipped" in out and "no tf32 tolerance" in out

    out = prenorm("fixtures", "calibrate", path, "--textbook-tf32", libraries["tf32"], "--verbose")
    assert re.search(r"derived +\|y - e\| .*; tf32: \|y - e\|", out)
    with h5py.File(path) as file:
        y = file["cases/batch32/outputs/y"]
        assert y.attrs["atol"] == before
        assert 2.0**-14 < y.attrs["atol_tf32"] < 2.0**-6  # x ~ N(0,1) cut to 10 bits, times 2.5
        assert y.attrs["rtol_tf32"] == 2.0**-8
        assert re.search(r"; tf32: E = .*, atol = 2 E$", y.attrs["reason"])
        for name in ("single64", "batch16"):  # tf32 is about float32 alone
            assert "atol_tf32" not in file[f"cases/{name}/outputs/y"].attrs
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"])
    assert "2 passed, 0 failed, 2 skipped" in out
    prenorm("fixtures", "check", path)

    # Where tf32 changes nothing, the tolerance is the ordinary one.
    prenorm("fixtures", "calibrate", path, "--textbook-tf32", "plain")
    with h5py.File(path) as file:
        y = file["cases/batch32/outputs/y"].attrs
        assert (y["atol_tf32"], y["rtol_tf32"]) == (y["atol"], y["rtol"])
        assert y["reason"].endswith("; tf32: no larger error, the same tolerance")
    out = prenorm("verify", "--fixtures", path, "--solution", libraries["tf32"], code=1)
    assert "INCORRECT_NUMERICAL  centred / batch32" in out


def test_make_derives_tf32_tolerances(prenorm, good, tmp_path, libraries):
    prenorm("fixtures", "make", good, "--seed", "5", "--out", "fresh", "--textbook-tf32",
            libraries["tf32"])
    with h5py.File(tmp_path / "fresh/centred.h5") as file:
        assert file["cases/batch32/outputs/y"].attrs["rtol_tf32"] == 2.0**-8
        assert "rtol_tf32" not in file["cases/batch16/outputs/y"].attrs
    # Without one who could say, a tf32 tolerance that was found for other values is not kept.
    prenorm("fixtures", "make", tmp_path / "fresh/centred.h5", "--seed", "6", "--out", "other")
    with h5py.File(tmp_path / "other/centred.h5") as file:
        assert "rtol_tf32" not in file["cases/batch32/outputs/y"].attrs


def test_calibrate_keeps_exact_cases_exact_and_refuses_inexact_ones(prenorm, tmp_path):
    path = make_file(tmp_path / "exact.h5", {"one": dict(
        dtype="float32", shape=(3, 7), atol=0.0, rtol=0.0)})
    out = prenorm("fixtures", "calibrate", path, code=1)
    assert "case one, output y: stored as exact" in out and "left as it is" in out


def test_calibrate_names_the_case_whose_infinities_disagree(prenorm, tmp_path):
    path = make_file(tmp_path / "nan.h5", {"one": dict(dtype="float64", shape=(3,))})
    with h5py.File(path, "r+") as file:
        file["cases/one/outputs/y"][1] = np.nan
    out = prenorm("fixtures", "calibrate", path, code=1)
    assert "case one, the stored inputs: the stored answer and that of reference" in out
    assert re.search(r"element \[1\] is .* and should be NaN", out)


def test_calibrate_does_not_widen_a_tolerance_for_a_wrong_answer(prenorm, wrong):
    out = prenorm("fixtures", "calibrate", wrong, code=1)
    assert "case off, the stored inputs: the stored answer and that of reference in float64 " \
        "differ: by 1" in out


def test_make(prenorm, good, tmp_path):
    out = prenorm("fixtures", "make", good, "--seed", "5", "--out", "fresh")
    assert "fresh/centred.h5: 4 cases" in out
    with h5py.File(good) as old, h5py.File(tmp_path / "fresh/centred.h5") as new:
        assert set(new["cases"]) == set(old["cases"])
        assert new.attrs["problem"] == "centred"
        case = new["cases/batch32"]
        x, bias = case["inputs/x"][...], case["inputs/bias"][...]
        assert x.dtype == np.float32 and x.shape == (3, 8)
        assert not np.array_equal(x, old["cases/batch32/inputs/x"][...])
        np.testing.assert_allclose(case["outputs/y"][...], centred(x, bias, 2.5), rtol=1e-12,
                                   atol=1e-12)
        assert case["inputs/x"].attrs["draw"] == "normal(0,1)"
        assert new["cases/refused"].attrs["error"]
    first = (tmp_path / "fresh/centred.h5")
    prenorm("verify", "--fixtures", first)
    prenorm("fixtures", "make", good, "--seed", "5", "--out", "again")
    prenorm("fixtures", "make", good, "--seed", "6", "--out", "other")
    with h5py.File(first) as a, h5py.File(tmp_path / "again/centred.h5") as b, \
            h5py.File(tmp_path / "other/centred.h5") as c:
        name = "cases/batch16/inputs/x"
        assert np.array_equal(a[name], b[name]) and not np.array_equal(a[name], c[name])


def test_make_resizes_what_a_case_names(prenorm, tmp_path):
    path = make_file(tmp_path / "dims.h5", {"one": dict(dtype="float64", shape=(2, 50))})
    with h5py.File(path, "r+") as file:
        file["cases/one"].attrs["dims"] = ["n"]
    sizes = set()
    for seed in range(4):
        prenorm("fixtures", "make", path, "--seed", seed, "--out", f"out{seed}", "--resize")
        made = tmp_path / f"out{seed}/centred.h5"
        with h5py.File(made) as file:
            batch, n = file["cases/one/inputs/x"].shape
            assert batch == 2 and 1 <= n <= 100
            assert file["cases/one/inputs/bias"].shape == (n,)
            sizes.add(n)
        prenorm("verify", "--fixtures", made, "--solution", "reference", "--solution", "plain")
    assert len(sizes) > 1


def test_make_does_not_overwrite_its_source(prenorm, tmp_path):
    path = make_file(tmp_path / "centred.h5", GOOD)
    assert "overwrite" in prenorm("fixtures", "make", path, "--seed", "1", "--out", tmp_path, code=2)


def test_check_finds_nothing_wrong_with_a_good_file(prenorm, good):
    out = prenorm("fixtures", "check", good)
    assert "no defect" in out and "  defect  " not in out
    assert "no case in bfloat16" in out and "no axis of size 1, 32, 33" in out
    # Hints cost nothing and can be left out.
    assert "hint" not in prenorm("fixtures", "check", good, "--no-hints")


@pytest.mark.parametrize("options, message", [
    (dict(atol=100.0), "zeros pass"),
    (dict(atol=1e-2), "an answer rounded to float16 passes as float32"),
    (dict(atol=0.0, rtol=0.0), "does not pass: the tolerance is too small"),
    (dict(atol=False), "no atol and rtol"),
    (dict(atol=-1.0), "negative"),
    (dict(wrong=(0, 0)), "reference: INCORRECT_NUMERICAL"),
])
def test_check_finds_defects(prenorm, tmp_path, options, message):
    path = make_file(tmp_path / "poor.h5", {
        "poor": dict(dtype="float32", shape=(3, 9), **options),
        "fine": dict(dtype="float64", shape=(3, 9))})
    out, error = prenorm("fixtures", "check", path, code=2 if message == "negative" else 1,
                         both=True)
    assert re.search(rf"^  defect  .*{message}", out, re.M), out
    assert "poor" in out


@pytest.mark.parametrize("atol, message", [
    (100.0, "zeros pass: the tolerance is too large"),
    (0.0, "does not pass: the tolerance is too small"),
    (1e-2, None)])  # under which float16's answers pass, as they may
def test_check_looks_at_tf32_tolerances(prenorm, tmp_path, atol, message):
    path = make_file(tmp_path / "poor.h5", {"poor": dict(dtype="float32", shape=(3, 9)),
                                            "fine": dict(dtype="float64", shape=(3, 9))})
    with h5py.File(path, "r+") as file:
        y = file["cases/poor/outputs/y"]
        y.attrs["atol_tf32"], y.attrs["rtol_tf32"] = atol, 0.0
    out = prenorm("fixtures", "check", path, code=1 if message else 0)
    assert len(re.findall("^  defect  ", out, re.M)) == (1 if message else 0), out
    assert message is None or re.search(f"case poor, output y: by the tf32 .*{message}", out)
    assert re.search(r"y: \|y - e\| <= .*; tf32: ", prenorm("show", path))


def test_check_finds_mistakes_that_nobody_catches(prenorm, tmp_path):
    path = make_file(tmp_path / "weak.h5", {"weak": dict(dtype="float64", shape=(2, 5), scale=1.0)})
    out = prenorm("fixtures", "check", path, code=1)
    assert "defect  no case catches the mistake no_scale" in out
    assert "no_bias" not in out


def test_check_finds_values_near_overflow(prenorm, tmp_path):
    path = make_file(tmp_path / "edge.h5", {"edge": dict(dtype="float16", shape=(2, 4), draw=False,
                                                         atol=20.0)})
    with h5py.File(path, "r+") as file:
        file["cases/edge/outputs/y"][1, 2] = 65510.0
    out = prenorm("fixtures", "check", path, code=1)
    assert "expected[1, 2] = 6.55e+04 lies within its tolerance of where float16 overflows" in out


def test_a_file_without_a_case(prenorm, tmp_path):
    empty = make_file(tmp_path / "empty.h5", {})
    assert "no file with a case" in prenorm("fixtures", "check", empty, code=3)
    assert "no case is selected" in prenorm("fixtures", "calibrate", empty, code=3)


def test_check_of_a_bad_file(prenorm, good, bad):
    out, _ = prenorm("fixtures", "check", bad, good, code=2, both=True)
    assert "bad.h5" in out and "no defect" in out


# mistakes ----------------------------------------------------------------------------------------


def test_mistakes(prenorm, good):
    out = prenorm("mistakes", "centred", "--fixtures", good)
    assert re.search(r"^  no_bias +1/1 +1/1 +1/1 +- +batch16 and 2 more$", out, re.M)
    # Not written for float16.
    assert re.search(r"^  sum_for_mean +1/1 +1/1 +- +- ", out, re.M)
    assert "3 of 3 mistakes caught (mutation score 100.0 %)" in out


def test_mistakes_of_a_problem_by_option(prenorm, good, tmp_path):
    other = make_file(tmp_path / "other.h5", GOOD, problem="other")
    files = ("--fixtures", good, "--fixtures", other)
    by_option = prenorm("mistakes", "--problem", "centred", *files)
    assert by_option == prenorm("mistakes", "centred", *files) and "no_bias" in by_option


def test_a_mistake_that_no_case_catches(prenorm, tmp_path):
    path = make_file(tmp_path / "weak.h5", {"weak": dict(dtype="float64", shape=(2, 5), scale=1.0)})
    out = prenorm("mistakes", "--fixtures", path, code=1)
    assert re.search(r"no_scale +0/1 .*no case", out) and "2 of 3 mistakes" in out


def test_honest_variants_must_pass(prenorm, good, wrong):
    words = ["mistakes", "--solution", "honest", "--expect-pass", "--fixtures"]
    assert "1 of 1 variant pass" in prenorm(*words, good)
    assert re.search(r"reversed +1/2", prenorm(*words, wrong, code=1))


def test_mistakes_as_json(prenorm, good):
    report = json.loads(prenorm("mistakes", "--fixtures", good, "--json", "-"))
    assert report["command"] == "mistakes"
    assert sum(report["summary"].values()) == len(report["results"])
    variants = {v["name"]: v["dtypes"] for v in report["variants"]}
    assert variants["no_bias"]["float32"] == {"tried": ["batch32"], "caught": ["batch32"]}
    assert {r["solution"] for r in report["results"]} == {
        "mistakes/no_bias", "mistakes/no_scale", "mistakes/sum_for_mean"}


# save and diff -----------------------------------------------------------------------------------


def test_save_and_diff(prenorm, good, libraries, tmp_path):
    prenorm("verify", "--fixtures", good, "--solution", "reference", "--solution", "plain",
            "--solution", libraries["mine"], "--save", "out", code=1)
    saved = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert saved == ["good.libmine.h5", "good.plain.h5", "good.reference.h5"]
    with h5py.File(tmp_path / "out/good.reference.h5") as file:
        assert file["cases/batch32/outputs/y"].dtype == np.float32
        assert set(file["cases"]) == {"batch16", "batch32", "single64"}
    assert "0 of 3 outputs differ" in prenorm("diff", "out/good.reference.h5",
                                              "out/good.reference.h5")
    out = prenorm("diff", "out/good.reference.h5", "out/good.libmine.h5", code=1)
    assert "batch32/y: 1 of 24 elements differ, most at [0, 5]" in out and "1 of 3" in out
    assert prenorm("diff", "out/good.reference.h5", "out/good.libmine.h5", "--atol", "1.1")
    assert prenorm("diff", "out/good.reference.h5", "out/good.plain.h5", "--rtol", "1e-2",
                   "--atol", "1e-2")


def test_save_only_what_fails(prenorm, good, libraries, tmp_path):
    prenorm("verify", "--fixtures", good, "--solution", libraries["mine"], "--save", "out",
            "--only-failing", code=1)
    with h5py.File(tmp_path / "out/good.libmine.h5") as file:
        assert set(file["cases"]) == {"batch32"}


def test_saved_files_never_overwrite_each_other(prenorm, libraries, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        make_file(tmp_path / folder / "same.h5", GOOD)
        shutil.copy(libraries["plain"], tmp_path / folder / "libsame.so")
    prenorm("verify", "--fixtures", "a", "--fixtures", "b", "--solution", "a/libsame.so",
            "--solution", "b/libsame.so", "--save", "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "same-2.libsame-2.h5", "same-2.libsame.h5", "same.libsame-2.h5", "same.libsame.h5"]


def test_diff_of_shapes_types_and_missing_cases(prenorm, tmp_path):
    def outputs(name, **cases):
        with h5py.File(tmp_path / name, "w") as file:
            for case, value in cases.items():
                file[f"cases/{case}/outputs/y"] = value
        return name

    a = outputs("a.h5", one=np.zeros((2, 3)), two=np.zeros(3, np.float32), three=np.ones(2))
    b = outputs("b.h5", one=np.zeros((3, 2)), two=np.zeros(3), four=np.ones(2))
    out = prenorm("diff", a, b, code=1)
    assert "one/y: shape [2, 3] and [3, 2]" in out and "two/y: type float32 and float64" in out
    assert "three/y: only in a.h5" in out and "four/y: only in b.h5" in out
    nan = outputs("nan.h5", one=np.array([np.nan, np.inf, -0.0]))
    same = outputs("same.h5", one=np.array([np.nan, np.inf, 0.0]))
    other = outputs("other.h5", one=np.array([np.nan, -np.inf, 0.0]))
    prenorm("diff", nan, same)
    assert "[1]: inf and -inf" in prenorm("diff", nan, other, "--atol", "1e9", code=1)
    (tmp_path / "text.h5").write_text("no HDF5")
    assert "text.h5" in prenorm("diff", nan, "text.h5", code=2)
