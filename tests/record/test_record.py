# labels: unit cuda
# slow labels: unit cuda
# slow timeout: 3000
# lock: relocatable
"""cuda/record.sh without a device: the kit for one, and rehearsals of the record that it brings."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import make_home
from places import ROOT, found_some

IN_ONE_PART = True


def record(*words, code=0, **variables):
    """Runs cuda/record.sh; returns what it printed."""
    done = subprocess.run(["sh", ROOT / "cuda/record.sh", *map(str, words)], capture_output=True,
                          text=True, env={**os.environ, **variables}, timeout=2700)
    text = done.stdout + done.stderr
    assert done.returncode == code, f"{words}: {done.returncode}\n{text}"
    return text


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A packed kit; and where it is unpacked."""
    path = tmp_path_factory.mktemp("kit") / "kit.tar.xz"
    said = record("--pack", path)
    print(said)
    with tarfile.open(path) as tar:
        tar.extractall(path.parent / "unpacked")
    return path


@pytest.fixture
def rehearse(kit, home, tmp_path):
    """rehearse(option..., only=steps, code=0) -> the lines of the summary by their first word, and
    the texts of the archive by their paths."""
    def call(*options, only="", code=0, **variables):
        out = tmp_path / "out"
        print(record("--rehearse", "--out", out, *options, kit, *(["--", "--only", only] if only else []),
                     code=code, PRENORM_REHEARSAL_BUILD=str(home), **variables))
        lines = (out / "summary.txt").read_text().splitlines()
        with tarfile.open(out / "record.tar.gz") as tar:
            texts = {member.name.removeprefix("record/"): tar.extractfile(member).read().decode()
                     for member in tar if member.isfile()}
        return {line.split()[0]: line.partition(" ")[2].strip() for line in lines}, texts
    return call


@pytest.fixture
def prenorm_home(run, home, tmp_path):
    """prenorm_home(records): what `prenorm doctor` says of them, where there is no device."""
    def call(records):
        own = make_home(tmp_path / "home", home)
        (own / "share/prenorm/records").symlink_to(records)
        (own / "lib/prenorm/cuda.absent").write_text("not built: a test\n0000\n")
        return run("doctor", "--no-color", PRENORM_HOME=own, PRENORM_CUDA_DRIVER="/none").stdout
    return call


def functions_of(library, kind):
    """cuBLASLt's functions in a library: defined (T) or undefined (U)."""
    listing = subprocess.run(["nm", "-D", library], check=True, capture_output=True,
                             text=True).stdout
    return set(re.findall(rf" {kind} (cublasLt\w+)", listing))


@pytest.mark.slow
def test_the_kit_has_what_a_record_needs(kit):
    assert kit.stat().st_size < 60e6
    unpacked = kit.parent / "unpacked"
    # Beside a checkout, whose fixtures it then uses, both travel together.
    alone = subprocess.run("tar -c --sort=name --exclude=./share/prenorm/fixtures . | xz -9 | wc -c", shell=True, cwd=unpacked,
                           capture_output=True, check=True).stdout
    tracked = subprocess.run("git ls-files -z | xargs -0 cat | wc -c", shell=True, cwd=ROOT,
                             capture_output=True, check=True).stdout
    assert 1 << 20 < int(tracked) <= (60 << 20) - int(alone)
    for path in ("bin/prenorm", "share/prenorm/cuda/record.sh", "share/prenorm/bench/shapes.json",
                 "lib/prenorm/libprenorm_reference.so", "lib/prenorm/libprenorm_cuda.so",
                 "lib/prenorm/libprenorm_cuda-naive.so", "lib/prenorm/libprenorm_cuda-tf32.so"):
        assert (unpacked / path).exists(), path
    assert len(list(unpacked.rglob("*.h5"))) == len(found_some((ROOT / "fixtures").glob("*.h5")))
    # It runs from there, with the libraries that it brings.
    done = subprocess.run([unpacked / "bin/prenorm", "verify", "--solution", "reference",
                           "--problem", "relu"], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]})
    assert " 0 failed" in done.stdout, done.stdout + done.stderr
    wanted = functions_of(unpacked / "lib/prenorm/libprenorm_cuda.so", "U")
    stand_in = unpacked / "libexec/record/stand-in/libcublasLt.so.13"
    assert wanted and wanted <= functions_of(stand_in, "T")


@pytest.mark.slow
def test_a_kit_for_an_earlier_device_skips_what_it_has_no_code_for(tmp_path):
    subprocess.run(["cmake", "--preset", "kit", "-B", tmp_path, "-DPRENORM_CUDA_ARCHITECTURES=80-real;86"],
                   cwd=ROOT, capture_output=True, check=True)
    skipped = {path.name: path.read_text() for path in (tmp_path / "libexec/record/skipped").iterdir()}
    wanted = dict.fromkeys(("test_hopper_attention", "test_hopper_product"), "built for sm_80, sm_86\n")
    if not v4_is_launched(tmp_path):
        wanted["fixtures_cuda_v3"] = "attention v3 is what cuda launches\n"
    assert skipped == wanted


@pytest.mark.slow
def test_a_kit_that_is_too_large_is_refused(kit, tmp_path):
    said = record("--pack", tmp_path / "kit.tar.xz", code=1, PRENORM_KIT_BYTES="1000000")
    assert "that is too large" in said and ".so" in said
    assert not (tmp_path / "kit.tar.xz").exists()


@pytest.mark.slow
def test_a_rehearsal_brings_a_record_that_unpacks(rehearse, prenorm_home, tmp_path):
    summary, texts = rehearse(PRENORM_RECORD_SECONDS="1800")
    assert summary["PyTorch"] == "rehearsed"
    for step, line in summary.items():
        if step not in ("libcublasLt", "device", "PyTorch"):
            assert line.startswith(("passed", "not for this device", "skipped: ")), (step, line)
    assert [step for step, line in summary.items() if line.startswith("skipped")] == (
        [] if v4_is_launched(tmp_path) else ["fixtures_cuda_v3"])
    assert {path for path in texts if path.startswith("records/")} >= {
        f"records/fake-device-1/{name}.json" for name in ("cuda", "cuda-naive", "cuda-tf32")}
    rows = [json.loads(line) for path, text in texts.items() if path.endswith(".jsonl")
            and path.startswith("bench/") for line in text.splitlines()]
    rows = [row for row in rows if "contestant" in row]
    assert {"cuda", "cuda-naive", "cuda/v2", "cuda-tf32"} <= {row["contestant"] for row in rows}
    assert any(row["peer"] and row["status"] == "OK" for row in rows)
    assert any(row["ratios"] for row in rows)

    # Into a copy of what it is written to, twice: the second time changes nothing.
    root = copy_of_pages(tmp_path / "root")
    pages = []
    for _ in range(2):
        said = record("--unpack", tmp_path / "out/record.tar.gz", "--root", root)
        assert "0 cases failed" in said and "ladders: activations.cu, " in said
        pages.append({path: path.read_text() for path in root.rglob("*") if path.is_file()})
    assert pages[0] == pages[1]
    assert re.search(r"- Fake Device 1, [-\d]+: (\d{4}) of \1 cases of `cuda` passed, \[times\]",
                     (root / "README.md").read_text())
    page = (root / "docs/performance.md").read_text()
    assert "Fake Device 1" in page and "| rmsnorm_8192x4096 | bfloat16 | cuda | " in page
    kernel = (root / "cuda/rmsnorm.cu").read_text()
    assert re.search(r"^// Measured on Fake Device 1: v2 [\d.e+-]+ times as fast as v1, ", kernel, re.M)
    assert all(len(line) <= 100 for line in kernel.splitlines())
    # The harness reads it.
    doctor = prenorm_home(root / "cuda/records")
    assert re.search(r"^record of cuda +ok +\d{4} of \d{4} cases passed .* on Fake Device 1",
                     doctor, re.M), doctor


@pytest.mark.slow
def test_what_is_missing_or_fails_costs_only_itself(rehearse):
    without = [word for thing in ("libcublasLt", "PyTorch", "compute-sanitizer", "ncu")
               for word in ("--without", thing)]
    summary, texts = rehearse(
        *without, "--hang", "first_cuda-naive.jsonl", "--crash", "first_cuda-tf32.jsonl",
        "--skip", "test_hopper_attention",
        only="first_cuda first_cuda-naive first_cuda-tf32 first_cuda_v2 test_hopper_attention "
             "bench_ladders_16", code=1)
    assert summary["libcublasLt"] == "not here: products fail"
    assert summary["PyTorch"] == "not here: no rival measured"
    assert summary["compute-sanitizer"] == summary["ncu"] == "not here: not run"
    assert summary["first_cuda"].startswith("passed")
    assert summary["first_cuda-naive"].startswith("cut off")
    assert summary["first_cuda-tf32"].startswith("FAILED")
    assert summary["first_cuda_v2"].startswith("passed")
    assert summary["test_hopper_attention"] == "skipped: built for a rehearsal"
    assert summary["bench_ladders_16"].startswith("passed")
    assert "records/fake-device-1/cuda.json" in texts


@pytest.mark.slow
def test_a_sanitizer_that_finds_nothing_counts_as_not_run(rehearse):
    summary, _ = rehearse("--blind", only="memcheck")
    assert summary["memcheck"] == "did not find a planted bug (exit code 0): not run"


def copy_of_pages(root):
    """What --unpack writes to."""
    for name in ("README.md", "docs/performance.md", "harness/bench/README.md", "cuda/records/README.md",
                 "cuda/records/kernels.csv",
                 *(f"cuda/{path.name}" for path in found_some((ROOT / "cuda").glob("*.cu")))):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    return root


def archive(path, device, rows, results):
    """An archive as record.sh brings it."""
    folder = path.parent / device
    for name, text in {
            f"records/{device}/cuda.json": json.dumps({
                "solution": "cuda", "date": "2026-11-24",
                "device": {"name": device.upper(), "compute_capability": "9.0"},
                "problems": {"rmsnorm": {"one": {"status": "PASSED"}}}}),
            "summary.txt": "first_cuda passed\n",
            "bench/bench_ladders.jsonl": "\n".join(['{"version": 1}', *map(json.dumps, rows)])
                                         + '\n{"shape": "cut o',
            "verify/fixtures_cuda.jsonl": "".join(json.dumps(each) + "\n" for each in results)
    }.items():
        (folder / "record" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "record" / name).write_text(text)
    subprocess.run(["tar", "-C", folder, "-czf", path, "record"], check=True)
    return path


def row(contestant, shape, milliseconds, **changes):
    return {"shape": shape, "problem": "rmsnorm", "dtype": "float32", "contestant": contestant,
            "peer": False, "place": "device", "status": "OK", "ceiling": "copy", "share": 0.5,
            "seconds": {"median": milliseconds * 1e-3}, "bytes_per_second": 2e12,
            "flops_per_second": 1e12, "ratios": {}, **changes}


def result(case, **changes):
    return {"problem": "rmsnorm", "case": case, "solution": "cuda", "status": "PASSED",
            "message": "", "dtype": "float32", "seconds": 1e-5,
            "outputs": [{"max_abs_error": 0.5, "max_ulp_error": 3},
                        {"max_abs_error": 0.25, "max_ulp_error": "Infinity"}], **changes}


def test_an_archive_fills_tables_and_ladders(tmp_path):
    root = copy_of_pages(tmp_path / "root")
    rows = [row("cuda-naive", "cpu_rmsnorm", 6), row("cuda/v2", "cpu_rmsnorm", 2),
            row("cuda", "cpu_rmsnorm", 1), row("cuda", "cpu_rmsnorm", 0, seconds=None),
            row("cuda", "rmsnorm_8x8", 3, ratios={"pytorch 2 eager": 0.5, "pytorch 2 flash": 0.8}),
            row("pytorch 2 eager", "rmsnorm_8x8", 6, peer=True)]
    results = [result("one"), result("two", status="NOT_IMPLEMENTED"),
               result("three", status="INCORRECT_NUMERICAL", message="1 of 2"),
               result("four", solution="cuda-naive")]
    said = record("--unpack", archive(tmp_path / "a.tar.gz", "first-device", rows, results),
                  "--root", root)
    assert "5 rows of bench, 1 cases failed" in said and "ladders: rmsnorm.cu\n" in said
    assert "a line was cut off" in said and "cuda/transformer_lm.cu:" in said  # of what is left
    folder = root / "cuda/records/first-device"
    assert sorted(path.name for path in folder.iterdir()) == [
        "bench.jsonl", "cuda.json", "failures.jsonl", "summary.txt"]
    first = (root / "README.md").read_text()
    assert "- FIRST-DEVICE, 2026-11-24: 1 of 2 cases of `cuda` passed, [times]" in first
    assert "No kernel has run" not in first
    # The record has also what a step had before it was cut off; what has no function is left out.
    cases = json.loads((folder / "cuda.json").read_text())["problems"]["rmsnorm"]
    assert {name: case["status"] for name, case in cases.items()} == {
        "one": "PASSED", "three": "INCORRECT_NUMERICAL"}
    assert cases["three"] == {"status": "INCORRECT_NUMERICAL", "dtype": "float32", "seconds": 1e-5,
                              "message": "1 of 2", "max_abs_error": 0.5, "max_ulp_error": None}
    table = "| rmsnorm_8x8 | float32 | cuda | 3 | 2 TB/s | 50% | 0.50 | 0.80 |"
    for page in ("docs/performance.md", "harness/bench/README.md"):
        text = (root / page).read_text()
        assert table in text and "cpu_rmsnorm | float32" not in text
    ladder = ("// Measured on FIRST-DEVICE: v2 3 times as fast as v1, what is launched 2 times as fast as v2\n"
              "// (cpu_rmsnorm, float32).\n#include")
    kernel = root / "cuda/rmsnorm.cu"
    assert ladder in kernel.read_text()
    # A second device stands beside the first one; again the same is the same.
    for _ in range(2):
        record("--unpack", archive(tmp_path / "b.tar.gz", "second-device", rows[:2], []),
               "--root", root)
        text = " ".join(kernel.read_text().split("#include")[0].replace("\n//", "").split())
        assert "one write of x <- launched Counts of" in text and text.count("Measured on") == 2
        assert text.endswith(
            "Measured on FIRST-DEVICE: v2 3 times as fast as v1, what is launched 2 times as fast as v2 "
            "(cpu_rmsnorm, float32). Measured on SECOND-DEVICE: v2 3 times as fast as v1 "
            "(cpu_rmsnorm, float32).")
    assert (root / "docs/performance.md").read_text().count(table) == 1


def test_of_several_runs_the_last_word_counts(tmp_path):
    root = copy_of_pages(tmp_path / "root")
    (tmp_path / "second").mkdir()
    record("--unpack",
           archive(tmp_path / "a.tar.gz", "device", [row("cuda", "one", 4), row("cuda", "two", 5)],
                   [result("one", status="CRASH"), result("two")]),
           archive(tmp_path / "second/a.tar.gz", "device", [row("cuda", "one", 3)], [result("one")]),
           "--root", root)
    folder = root / "cuda/records/device"
    rows = [json.loads(line) for line in (folder / "bench.jsonl").read_text().splitlines()]
    assert {each["shape"]: each["seconds"]["median"] for each in rows} == {"one": 3e-3, "two": 5e-3}
    assert (folder / "failures.jsonl").read_text() == ""
    assert (folder / "summary.txt").read_text() == "first_cuda passed\n\nfirst_cuda passed\n"
    other = archive(tmp_path / "b.tar.gz", "another", [], [])
    assert "of different devices" in record(
        "--unpack", tmp_path / "a.tar.gz", other, "--root", root, code=1)


def test_a_ladder_names_what_is_launched_where_it_is_a_version(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "cuda/record")
    import unpack

    def told(*names):
        rows = [row(name, "one", 2 ** (4 - i)) for i, name in enumerate(names)]
        return unpack.gains(SimpleNamespace(times=lambda: rows), ["rmsnorm"])

    assert told("cuda-naive", "cuda", "cuda/v4") == "v4 4 times as fast as v1 (one, float32)"
    assert told("cuda-naive", "cuda/v3", "cuda/v4", "cuda") == (
        "v3 2 times as fast as v1, v4 2 times as fast as v3 (one, float32)")
    assert told("cuda", "cuda/v4") == ""


def v4_archive(path, device, test, fixtures, *statuses):
    """An archive with steps and cases of v4, whose sources have the digest 0a."""
    archive(path, device, [row("cuda", "rmsnorm_8x8", 1)], [])
    record = path.parent / device / "record"
    cases = {f"case {i}": {"status": status} for i, status in enumerate(statuses)}
    ran = json.loads((record / f"records/{device}/cuda.json").read_text())
    (record / f"records/{device}/cuda-v4.json").write_text(json.dumps(
        {**ran, "solution": "cuda/v4", "problems": {"scaled_dot_product_attention": cases}}))
    (record / "kernels.csv").write_text("attention_wgmma,0a\n")
    (record / "summary.txt").write_text(
        f"{'fixtures_cuda_v4':28} {fixtures:20}   20 s  14 passed\n"
        f"{'test_hopper_attention':28} {test:20}   12 s  \n")
    subprocess.run(["tar", "-C", path.parent / device, "-czf", path, "record"], check=True)
    return path


def by_cmake(tmp_path, command):
    """What a command of kernels.cmake returns in `it`."""
    script = tmp_path / "script.cmake"
    script.write_text("cmake_minimum_required(VERSION 3.25)\n"
                      f"include([[{ROOT}/cuda/record/kernels.cmake]])\n{command}\nmessage(NOTICE \"${{it}}\")\n")
    return subprocess.run(["cmake", "-P", script], capture_output=True, text=True,
                          check=True).stderr.strip()


def launched(root, tmp_path, digest="0a"):
    """Whether CMake would launch v4 of these sources."""
    table = root / "cuda/records/kernels.csv"
    said = by_cmake(tmp_path, f"prenorm_passed(it {table} attention_wgmma {digest})")
    return {"TRUE": True, "FALSE": False}[said]


def v4_is_launched(tmp_path):
    """Of the sources that are here."""
    sources = f"[[{ROOT}/cuda/attention_wgmma.cu]] [[{ROOT}/cuda/mask_tiles.cu]]"
    return launched(ROOT, tmp_path, by_cmake(
        tmp_path, f"prenorm_with_included(them {sources})\nprenorm_digest(it ${{them}})"))


def test_what_a_kernel_includes_belongs_to_its_sources(tmp_path):
    def sources(*names):
        quoted = " ".join(f"[[{name}]]" for name in names)
        return by_cmake(tmp_path, f"prenorm_with_included(it {quoted})").split(";")

    # The includes of the compiler itself, for the one kernel that this is for.
    made = subprocess.run(["c++", "-MM", "-std=c++20", "-xc++", f"-I{ROOT}/tests/cuda/hopper",
                           f"-I{ROOT}/harness/include", ROOT / "cuda/attention_wgmma.cu"],
                          capture_output=True, text=True, check=True).stdout
    wanted = {str(path) for name in shlex.split(made)
              if (path := Path(name).resolve()).parent == ROOT / "cuda"}
    assert {f"{ROOT}/cuda/{name}.cuh" for name in ("launch", "types", "broadcast", "attention")} < wanted
    found = sources(ROOT / "cuda/attention_wgmma.cu")
    assert len(found) == len(set(found)) and set(found) == wanted

    for name, text in {"a.cu": '#include "b.cuh"\n', "b.cuh": '#include "c.cuh"\n#include "b.cuh"\n',
                       "c.cuh": '#include "d/e.cuh"\n#include <f.cuh>\nint one;\n'}.items():
        (tmp_path / name).write_text(text)
    assert sources(tmp_path / "a.cu") == [str(tmp_path / name) for name in ("a.cu", "b.cuh", "c.cuh")]
    digest = f"prenorm_with_included(them {tmp_path}/a.cu)\nprenorm_digest(it ${{them}})"
    before = by_cmake(tmp_path, digest)
    (tmp_path / "c.cuh").write_text("int two;\n")
    assert by_cmake(tmp_path, digest) != before


def test_v4_is_launched_once_a_record_says_that_it_passed(tmp_path):
    root = copy_of_pages(tmp_path / "root")
    table = root / "cuda/records/kernels.csv"
    empty = "kernel,sources,result,architecture,date,record\n"
    table.write_text(empty)
    assert not launched(root, tmp_path)
    line = "attention_wgmma,0a,{},9.0,2026-11-24,{}\n"

    def unpack(*words):
        record("--unpack", v4_archive(tmp_path / "a.tar.gz", *words), "--root", root)
        return table.read_text().removeprefix(empty)

    for test, fixtures, *statuses in [  # v4 did not run, or not to the end
            ("passed", "not for this device", "NOT_IMPLEMENTED"), ("FAILED", "passed", "SKIPPED"),
            ("cut off", "passed", "PASSED"), ("passed", "cut off", "PASSED")]:
        assert unpack("one", test, fixtures, *statuses) == ""
    for test, fixtures, *statuses in [("FAILED", "passed", "PASSED"),
                                      ("passed", "FAILED", "PASSED", "INCORRECT_NUMERICAL"),
                                      ("passed", "cut off", "PASSED", "CRASHED")]:
        assert unpack("one", test, fixtures, *statuses) == line.format("failed", "one")
        assert not launched(root, tmp_path)
    # A new record of the same device replaces the old one.
    assert unpack("one", "passed", "passed", "PASSED", "NOT_IMPLEMENTED") == line.format("passed", "one")
    assert launched(root, tmp_path) and not launched(root, tmp_path, "0b")
    # Both devices must say so.
    assert unpack("two", "FAILED", "passed", "PASSED") == line.format("passed", "one") + line.format(
        "failed", "two")
    assert not launched(root, tmp_path)


@pytest.mark.parametrize("words", [[], ["--pack"], ["--rehearse"], ["--unpack"]])
def test_help_is_no_error(words):
    assert "record.sh" in record(*words, "--help")


def test_every_function_that_is_called_has_a_stand_in():
    called = set(re.findall(r"\b(cublasLt[A-Z]\w+)\(", (ROOT / "cuda/cublaslt.cu").read_text()))
    text = (ROOT / "cuda/record/cublaslt_stand_in.cpp").read_text()
    there = set(re.findall(r"\b(cublasLt[A-Z]\w+?)(?:_internal)?\(?[)(]", text))
    assert called and called <= there
