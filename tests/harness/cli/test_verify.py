"""`prenorm verify`: what it runs, how it says it, and its reports."""

import fcntl
import json
import os
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree

import h5py
import numpy as np
import pytest

from centred import GOOD, make_file, results_of
from conftest import make_home
from disks import on_small_disk


@pytest.fixture
def verify(prenorm):
    """verify(fixtures, words..., code=0): standard output."""
    return lambda file, *words, **more: prenorm("verify", "--fixtures", file, *words, **more)


@pytest.fixture
def verified(verify):
    """The results of the same in JSON."""
    return lambda *words, **more: results_of(verify(*words, "--json", "-", **more))


def test_verify_shows_a_row_a_problem_and_a_column_a_solution(verify, good):
    out = verify(good)
    head, rule, row = out.splitlines()[:3]
    assert head.split() == ["problem", "reference", "fast", "cuda-emulated"]
    assert set(rule) == {"-", " "}
    assert re.fullmatch(r"centred +PASSED 4/4 +PASSED 4/4 +PASSED 4/4", row)
    # The columns stand under their titles.
    assert row.index("PASSED") == head.index("reference")
    assert re.search(r"^12 passed, 0 failed, 0 skipped in ", out, re.M)
    assert "\x1b" not in out


def test_a_wrong_element_fails_with_its_index(verify, prenorm, wrong):
    out = verify(wrong, "--solution", "reference", code=1)
    assert "FAILED 4/5" in out
    assert "centred by reference: 1 of 5 cases failed" in out
    assert "INCORRECT_NUMERICAL  off  float64" in out
    assert "1 of 24 elements" in out and "[1, 2, 3]" in out
    repeat = re.search(r"repeat: (.*)", out).group(1)
    assert repeat == f"prenorm verify --fixtures {wrong} --case off --solution reference"
    again = prenorm(*repeat.split()[1:], code=1)
    assert "FAILED 0/1" in again and "[1, 2, 3]" in again


@pytest.mark.parametrize("path, what", [
    ("x.py", "is a Python submission: ./prenorm grade x.py"),
    ("sub/x.py", "is a Python submission: ./prenorm grade sub/x.py"),
    ("mine", "is a Python submission: ./prenorm grade mine"),
    ("course", "is a Python submission: ./prenorm grade course"),
    ("project/", "is a CMake project: ./prenorm grade project/; or build it, and name its library"),
    ("of two words", "is a folder, not a library: ./prenorm grade 'of two words'"),
    ("out.h5", "is a file of outputs: ./prenorm grade out.h5"),
    ("mine/kernel.cpp", "is a source file: build a library (.so) of it; ./prenorm new shows how"),
])
def test_what_is_no_library_is_sent_to_grade(verify, good, tmp_path, path, what):
    for name in ("x.py", "sub/x.py", "mine/adapters.py", "course/tests/adapters.py", "out.h5",
                 "mine/kernel.cpp", "project/CMakeLists.txt", "of two words/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    told = verify(good, "--solution", path, code=2, PRENORM_LAUNCHER="./prenorm")
    assert told.startswith(f"prenorm: {path} {what}")


def test_a_shipped_name_is_not_a_folder(verify, good, tmp_path):
    (tmp_path / "reference").mkdir()
    assert "PASSED 4/4" in verify(good, "--solution", "reference")


def test_on_a_full_disk_a_report_is_not_there_and_that_is_said(program, good, own_home, tmp_path):
    done, files = on_small_disk(tmp_path, 4, program, "verify", "--fixtures", good, "--json", "disk/r.json",
                                PRENORM_HOME=own_home)
    assert done.returncode == 2 and "12 passed" in done.stdout
    assert done.stderr == "prenorm: cannot write disk/r.json: No space left on device\n" and files == {}


def test_on_a_full_disk_outputs_are_not_there_and_that_is_said(program, good, own_home, tmp_path):
    done, files = on_small_disk(tmp_path, 4, program, "verify", "--fixtures", good, "--save", "disk",
                                PRENORM_HOME=own_home)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and files == {} and line.count(".h5") == 1
    assert line.endswith("(HDF5: No space left on device)")


def test_a_report_replaces_a_file_and_keeps_its_mode_and_the_link_to_it(verify, good, tmp_path):
    (tmp_path / "r.json").write_text("old")
    (tmp_path / "r.json").chmod(0o640)
    (tmp_path / "link").symlink_to("r.json")
    verify(good, "--json", "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "r.json").stat().st_mode & 0o777 == 0o640
    assert json.loads((tmp_path / "r.json").read_text())["command"] == "verify"


def test_a_descriptor_s_file_goes_on_where_it_is(program, good, own_home, tmp_path):
    """`--json /dev/stdout > file`: what stands there stays, and what comes later follows."""
    os.symlink("/dev/stdout", tmp_path / "link")
    script = '{ echo before; "$@" 3>&1; echo after; } > out'
    done = subprocess.run(["sh", "-c", script, "sh", program, "verify", "--fixtures", good, "--json", "link",
                           "--json-lines", "/dev/fd/3"], cwd=tmp_path, timeout=60,
                          env={**os.environ, "PRENORM_HOME": str(own_home)})
    lines = (tmp_path / "out").read_text().splitlines()
    assert done.returncode == 0 and (lines[0], lines[-1]) == ("before", "after")
    first = lines.index("{")  # of the report, which comes after the table
    assert len(results_of("\n".join(lines[first:-1]))) == 12
    assert sum(line.startswith('{"') for line in lines[:first]) == 12 and "12 passed" in "\n".join(lines)


def test_on_a_full_disk_lines_end_whole(program, good, own_home, tmp_path):
    done, files = on_small_disk(tmp_path, 4, program, "verify", "--fixtures", good, "--json-lines", "disk/r.jsonl",
                                PRENORM_HOME=own_home)
    lines = files["r.jsonl"].decode().splitlines()
    assert lines and all(json.loads(line) for line in lines)
    assert done.returncode == 2 and done.stderr == (
        f"prenorm: cannot write disk/r.jsonl: No space left on device; it ends after {len(lines)} lines\n")


def test_the_repeat_line_names_the_launcher(prenorm, wrong):
    words = ["verify", "--fixtures", wrong, "--solution", "reference"]
    assert "repeat: prenorm verify" in prenorm(*words, code=1)
    assert "repeat: ./prenorm verify" in prenorm(*words, code=1, PRENORM_LAUNCHER="./prenorm")


def test_the_repeat_line_is_quoted_for_a_shell(verify, tmp_path):
    path = make_file(tmp_path / "it's a file.h5", {"off": dict(
        dtype="float64", shape=(3,), wrong=(0,))})
    out = verify(path, "--solution", "reference", code=1)
    quoted = str(path).replace("'", "'\\''")
    assert f"--fixtures '{quoted}' --case off" in out


def test_a_bad_file_costs_only_itself(verify, good, bad):
    out = verify(bad, "--fixtures", good, "--json", "-", code=2)
    results = results_of(out)
    assert [r["status"] for r in results].count("BAD_FIXTURE") == 1
    damaged = results[0]
    assert damaged["fixture"] == str(bad) and damaged["case"] is None
    assert damaged["problem"] is None and damaged["solution"] is None
    assert str(bad) in damaged["message"]
    assert {r["status"] for r in results[1:]} == {"PASSED"} and len(results) == 1 + 3 * 4
    table = verify(bad, "--fixtures", good, code=2)
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


def test_a_report_that_cannot_be_written_is_told_before_the_work(verify, good, libraries):
    """With a solution that never returns, in more time than the fixture `prenorm` waits."""
    assert "cannot write" in verify(good, "--solution", libraries["slow"], "--timeout", "1000",
                                    "--json", "no/such/r", code=2)


def test_the_repeat_line_of_a_time_out_has_the_options_that_matter(verify, good, libraries):
    out = verify(good, "--case", "single64", "--solution", libraries["slow"], "--timeout", "0.25",
                 "--seed", "7", code=1)
    assert "TIMEOUT" in out
    assert re.search(r"repeat: .*--case single64 .* --seed 7 --timeout 0.25\n", out)


def test_a_library_given_by_its_path(verify, good, libraries):
    out = verify(good, "--solution", libraries["mine"], code=1)
    assert "FAILED 3/4" in out and "batch32" in out and "[0, 5]" in out
    out = verify(good, "--solution", libraries["mine"], "--dtype", "float64")
    assert out.count("PASSED 1/1") == 1


def test_a_variant_of_a_collection(verify, good):
    out = verify(good, "--solution", "mistakes/no_bias", code=1)
    assert "FAILED 1/4" in out  # the case that must be refused
    # A type that the variant is not written for is skipped, and said to be.
    out = verify(good, "--solution", "mistakes/sum_for_mean", "--dtype", "float16", code=3)
    assert "NOT_IMPLEMENTED" in out and "nothing ran" in out
    out = verify(good, "--solution", "mistakes/no_bais", code=3)
    assert "no function prenorm_centred__no_bais; its variants are no_bias, no_scale" in out
    # Several at once: the library must be able to combine them.
    out = verify(good, "--solution", "mistakes/no_bias+no_scale", code=3)
    assert "no function prenorm_combination" in out
    assert "no case is selected" in verify(good, "--case", "single64", "--dtype", "float16", code=3)


def test_what_is_not_there_is_not_implemented(verify, tmp_path):
    path = make_file(tmp_path / "other.h5", GOOD, problem="unheard_of")
    out = verify(path, "--solution", "reference", code=3)
    assert "NOT_IMPLEMENTED" in out and "0 passed, 0 failed, 4 skipped" in out


def test_a_library_that_cannot_be_loaded(verify, good, tmp_path):
    broken = tmp_path / "libbroken.so"
    broken.write_text("no library")
    out = verify(good, "--solution", broken, "--solution", "reference", code=1)
    assert re.search(r"centred +LOAD_ERROR +PASSED 4/4", out)
    assert out.count("LOAD_ERROR") == 2, "the table, and once below it for all four cases"
    assert "4 passed, 4 failed" in out


def test_large_cases_are_not_for_the_emulator(verify, verified, tmp_path):
    path = make_file(tmp_path / "large.h5", {
        "large": dict(dtype="float32", shape=(256, 257), atol=1e-5),
        "small": dict(dtype="float32", shape=(7,))})
    results = verified(path)
    emulated = {r["case"]: r for r in results if r["solution"] == "cuda-emulated"}
    assert emulated["large"]["status"] == "SKIPPED"
    assert emulated["large"]["message"] == "large for the emulator"
    assert emulated["small"]["status"] == "PASSED"
    assert "cuda-emulated: 1 case SKIPPED: large for the emulator" in verify(path)
    named = verified(path, "--solution", "cuda-emulated")
    assert {r["status"] for r in named} == {"PASSED"}


def test_json_has_the_promised_fields(verified, wrong):
    results = verified(wrong, "--solution", "reference", code=1)
    assert [r["case"] for r in results] == ["batch16", "batch32", "off", "refused", "single64"]
    for result in results:
        assert set(result) == {"fixture", "problem", "case", "solution", "status", "message",
                               "dtype", "seconds", "repeat", "outputs", "batch_invariant"}
        for output in result["outputs"]:
            assert set(output) == {
                "name", "max_abs_error", "max_rel_error", "max_ulp_error", "relative_l2_error",
                "mismatches", "elements", "worst_index", "worst_actual", "worst_expected", "atol",
                "rtol", "rms", "bias", "rms_allowed", "bias_allowed"}
    off = results[2]
    assert off["status"] == "INCORRECT_NUMERICAL" and off["solution"] == "reference"
    output = off["outputs"][0]
    assert output["worst_index"] == [1, 2, 3] and output["mismatches"] == 1
    assert output["elements"] == 24 and output["name"] == "y"
    assert output["max_abs_error"] == pytest.approx(1)
    assert output["worst_expected"] - output["worst_actual"] == pytest.approx(1)


def test_json_into_a_file_leaves_the_table(verify, good, tmp_path):
    out = verify(good, "--json", tmp_path / "report.json")
    assert "PASSED 4/4" in out
    assert len(results_of((tmp_path / "report.json").read_text())) == 12


def test_json_lines_are_the_results(verify, good, wrong, tmp_path):
    report, lines = tmp_path / "report.json", tmp_path / "lines.jsonl"
    verify(good, "--fixtures", wrong, "--json", report, "--json-lines", lines, code=1)
    results = json.loads(report.read_text())["results"]
    written = [json.loads(line) for line in lines.read_text().splitlines()]
    assert sorted(written, key=str) == sorted(results, key=str) and len(results) > 10
    told = verify(good, "--json-lines", "-", code=2)
    assert "--json-lines needs a file" in told
    verify(good, "--json-lines", lines, "--solution", "nobody", code=2)
    with lines.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "lines.jsonl: another command writes there now" in verify(good, "--json-lines", lines, code=2)
    assert len(lines.read_text().splitlines()) == len(results)  # what is refused leaves them


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


def test_the_table_of_a_narrow_page_scrolls(verify, good, chromium, tmp_path):
    verify(good, "--html", tmp_path / "page.html")
    chromium.look(width=400)
    chromium.open((tmp_path / "page.html").as_uri())
    assert chromium.value("document.documentElement.scrollWidth <= innerWidth")
    assert chromium.value("document.querySelector('.scroll').scrollWidth") > 400
    assert chromium.value("document.querySelector('td').offsetHeight") < 50  # names are one line


def test_html_needs_nothing_beside_itself(verify, wrong, tmp_path):
    verify(wrong, "--html", tmp_path / "page.html", code=1)
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "FAILED 4/5" in page and "[1, 2, 3]" in page
    assert not re.search(r"(src|href)=(?!\"(data:,|#))", page)


def test_in_process(verify, good):
    assert "PASSED 4/4" in verify(good, "--in-process", "--solution", "reference")


def test_what_was_left_out_fits_the_terminal(run):
    out = run("verify", "--problem", "silu", "--case", "base_float32", COLUMNS=80).stdout
    assert "by name only" in out and max(map(len, out.splitlines())) <= 80, out


def test_verbose_has_a_line_for_every_case(verify, good):
    out = verify(good, "--verbose", "--solution", "reference")
    for name in GOOD:
        assert re.search(rf"^PASSED +centred / {name} +float", out, re.M)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_stand_in_the_same_order_however_many_jobs(verified, tmp_path, jobs):
    for number in range(6):
        make_file(tmp_path / f"part{number}.h5", GOOD, problem="centred")
    results = verified(tmp_path, "--jobs", jobs)
    keys = [(r["fixture"], r["case"]) for r in results]
    assert keys == sorted(keys) and len(keys) == 6 * 4 * 3


def test_default_fixtures_are_those_of_the_folder(prenorm, tmp_path):
    (tmp_path / "fixtures").mkdir()
    make_file(tmp_path / "fixtures/centred.h5", GOOD)
    out = prenorm("verify")
    assert "PASSED 4/4" in out
    results = results_of(prenorm("verify", "--json", "-"))
    assert results[0]["fixture"] == "fixtures/centred.h5"


def test_problems_and_cases_by_globs(verified, tmp_path):
    make_file(tmp_path / "a.h5", GOOD)
    make_file(tmp_path / "b.h5", GOOD, problem="unheard_of")
    found = verified(tmp_path, "--problem", "cent*", "--case", "batch*", "--solution", "reference")
    assert [(r["problem"], r["case"]) for r in found] == [("centred", "batch16"),
                                                          ("centred", "batch32")]


def test_fresh_values_by_seed(verify, good):
    out = verify(good, "--seed", "3")
    assert "PASSED 4/4" in out
    # A mistake is still one with fresh values, and the repeat line keeps the seed.
    out = verify(good, "--seed", "3", "--solution", "mistakes/no_bias", code=1)
    assert "--solution mistakes/no_bias --seed 3" in out


def test_no_fresh_values_without_the_loop(prenorm, good, libraries, own_home, tmp_path):
    shipped = {"reference": libraries["reference"], "plain": libraries["mistakes"]}
    home = make_home(tmp_path / "home", own_home, **shipped)
    assert prenorm("verify", "--fixtures", good, "--case", "single64", "--solution", "reference",
                   "--seed", "3", code=1, PRENORM_HOME=home) == (
        "prenorm: case single64, the stored inputs: plain has no function for centred\n")


def test_the_reference_is_no_judge_of_itself(verified, good, libraries, own_home, tmp_path):
    shipped = {name: libraries[name] for name in ("reference", "plain")}
    home = make_home(tmp_path / "home", own_home, fast=libraries["off"], **shipped)
    results = verified(good, "--case", "batch32", "--seed", "3", "--solution", "reference",
                       "--solution", "plain", PRENORM_HOME=home)
    error = {r["solution"]: r["outputs"][0]["max_abs_error"] for r in results}
    assert error["reference"] > 100 * error["plain"]  # by `fast`, which is off here; plain is not


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


# --save


def test_save_only_what_fails(verify, good, libraries, tmp_path):
    verify(good, "--solution", libraries["mine"], "--save", "out", "--only-failing", code=1)
    with h5py.File(tmp_path / "out/good.libmine.h5") as file:
        assert set(file["cases"]) == {"batch32"}


def test_saved_files_never_overwrite_each_other(verify, libraries, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        make_file(tmp_path / folder / "same.h5", GOOD)
        shutil.copy(libraries["plain"], tmp_path / folder / "libsame.so")
    verify("a", "--fixtures", "b", "--solution", "a/libsame.so", "--solution", "b/libsame.so",
           "--save", "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "same-2.libsame-2.h5", "same-2.libsame.h5", "same.libsame-2.h5", "same.libsame.h5"]


# `prenorm diff`, of outputs that `prenorm verify --save` wrote.


def test_save_and_diff(verify, prenorm, good, libraries, tmp_path):
    verify(good, "--solution", "reference", "--solution", "plain", "--solution", libraries["mine"],
           "--save", "out", code=1)
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
