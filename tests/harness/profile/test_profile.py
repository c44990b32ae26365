# labels: unit emulated
# timeout: 1200
# processors: 2
# slow labels: unit emulated
"""`prenorm profile`: the command, its JSON, and cuda/profiles.json, which it must reproduce exactly.

To write that file anew, and the ladders that tell of it (cuda/ladders.py):
PRENORM_WRITE_PROFILES=1 ./prenorm test --all -R '^profile(_slow)?$'
"""

import json
import os
import re
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import h5py
import pytest

import ladders
from conftest import not_sanitized, slow_but
from places import ROOT

RECORD = ROOT / "cuda/profiles.json"

pytestmark = not_sanitized("the counter takes a sanitizer's place")


def rows_of(profile, *words, **variables):
    return json.loads(profile(*words, "--json", "-", **variables).stdout)["rows"]


def test_relu_has_the_promised_numbers(profile):
    rows = rows_of(profile, "relu", "--solution", "cuda-naive-emulated", "--dtype", "float32")
    assert [row["solution"] for row in rows] == ["cuda-naive-emulated"]
    kernel, = rows[0]["kernels"]
    # 256 x 1024 floats: 8192 warps, each of which reads and writes 128 bytes.
    for kind in ("load", "store"):
        assert kernel[kind] == {"requests": 8192, "bytes": 1 << 20, "sectors": 1 << 15,
                                "lines": 8192, "ideal_sectors": 1 << 15,
                                "sectors_per_request": 4, "ideal_sectors_per_request": 4,
                                "lanes_per_request": 32}
    assert kernel["shared"]["requests"] == 0 and kernel["shared"]["wavefronts_per_request"] == 0
    assert kernel["barriers"] == 0 and kernel["launches"] == 1
    assert rows[0]["least_bytes"] == rows[0]["sector_bytes"] == rows[0]["bytes"] == 2 << 20
    assert rows[0]["bound"] == {"seconds": pytest.approx((2 << 20) / 3.35e12), "by": "bytes"}


def test_lines_name_the_source(profile):
    rows = rows_of(profile, "rmsnorm", "--shape", "rmsnorm", "--dtype", "float32")
    assert [row["solution"] for row in rows] == ["cuda-naive-emulated", "cuda-emulated/v2",
                                                "cuda-emulated"]
    v1, v2, v3 = (row["kernels"][0] for row in rows)
    assert v1["load"]["sectors_per_request"] > 20  # each lane has a row of its own
    assert v2["load"]["sectors_per_request"] == 4
    assert v3["load"]["sectors_per_request"] == 16 == v3["load"]["ideal_sectors_per_request"]
    sources = (ROOT / "cuda/rmsnorm.cu").read_text().splitlines()
    access = next(a for a in v1["accesses"] if a["kind"] == "store")
    assert "y[" in sources[access["source"][0]["line"] - 1]
    assert access["pattern"] == "32 lanes write 4 bytes each, 4096 bytes apart: 32 sectors, 4 would do"
    assert access["request"] == [4096 * lane for lane in range(32)]


def test_what_nvcc_gave_a_kernel(profile, home):
    if not (home / "lib/prenorm/cuda.resources").exists():
        pytest.skip("nvcc has not built the kernels")
    words = ("rmsnorm", "--shape", "rmsnorm", "--dtype", "float32")
    ceilings = json.loads((ROOT / "cuda/ceilings.json").read_text())
    built = [row["kernels"][0] for row in rows_of(profile, *words)]
    if built[0]["resources"] is None:
        pytest.skip("nvcc built for other devices than an H100")
    for kernel, version in zip(built, ("rmsnorm_v1", "rmsnorm_v2", "rmsnorm_v3")):
        assert 0 < kernel["resources"]["registers"] <= ceilings[version]["registers"]
        assert kernel["resources"]["static_shared_bytes"] <= ceilings[version]["shared_bytes"]
        assert kernel["resources"]["architecture"] == "sm_90"
        # v3 has 64 registers a thread, for half as many threads as fit.
        assert kernel["resources"]["occupancy"] == (0.5 if version == "rmsnorm_v3" else 1)
    assert "rmsnorm v3                128" in profile(*words).stdout  # threads; in the second table
    assert "occupancy" not in profile(*words, "--device", "a100").stdout


def test_the_table_and_the_lines(profile):
    out = profile("rmsnorm", "--shape", "rmsnorm", "--dtype", "float32", "--lines", "--device",
                  "a100").stdout
    assert "cuda-emulated/v2" in out and "bound on a100" in out and "The bound is not a time" in out
    assert "32 lanes write 4 bytes each, 4096 bytes apart: 32 sectors, 4 would do" in out


def test_a_case_of_the_fixture(profile, home):
    fixture = home / "share/prenorm/fixtures/relu.h5"
    with h5py.File(fixture) as file:
        name = next(name for name, case in file["cases"].items() if case.get("outputs"))
    row, = rows_of(profile, "relu", "--case", name, "--solution", "cuda-emulated")
    assert row["shape"] == name and row["status"] == "PASSED"


def test_counts_do_not_depend_on_threads(profile):
    words = ("softmax", "--shape", "softmax", "--dtype", "bfloat16", "--json", "-", "--threads")
    assert profile(*words, 1).stdout == profile(*words, 3).stdout


@pytest.mark.parametrize("words, message", [
    (["relu", "--device", "h10"], "no device 'h10' (did you mean 'h100'?)"),
    (["relu", "--solution", "reference"], "reference: counts nothing"),
    (["relu", "--solution", "refrence"], "did you mean 'reference'"),
    (["rellu"], "no problem 'rellu' among the shapes (did you mean 'relu'?)"),
    (["relu", "--shape", "rellu"], "no shape 'rellu' among the shapes (did you mean 'relu'?)"),
    (["relu", "--shape", "softmax"], "no shape is selected"),
    ([], "PROBLEM"),
])
def test_a_wrong_word_is_told(profile, words, message):
    assert message in profile(*words, code=2).stderr


def test_an_absent_version_is_no_failure(profile):
    out = profile("relu", "--solution", "cuda-emulated/v7", code=3).stdout
    assert "NOT_IMPLEMENTED" in out and "nothing was profiled" in out


# ---- pictures -----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
NAIVE = ("rmsnorm", "--shape", "rmsnorm", "--dtype", "float32", "--solution", "cuda-naive-emulated")


def line_of(text):
    """"rmsnorm.cu:28", of the one line of the kernel file that has the text."""
    lines = (ROOT / "cuda/rmsnorm.cu").read_text().splitlines()
    number, = (i for i, line in enumerate(lines, 1) if text in line)
    return f"rmsnorm.cu:{number}"


def boxes(picture, css):
    """How many boxes of that class a picture has."""
    return sum(path.get("d").count("M") for path in picture.iter(f"{SVG}path")
               if path.get("class") == css)


def test_a_picture_of_the_costliest_line(profile):
    picture = xml.etree.ElementTree.fromstring(profile(*NAIVE, "--svg", "-").stdout)
    assert picture.get("role") == "img" and picture.find(f"{SVG}style") is not None
    assert picture.findtext(f"{SVG}title").startswith("rmsnorm v1, rmsnorm.cu:")
    assert picture.findtext(f"{SVG}desc") == (
        "32 lanes read 4 bytes each, 4096 bytes apart: 32 sectors, 4 would do. "
        "32 sectors = 1024 bytes, 128 asked for.")
    # 32 rows of four sectors, one of which moves; each quarter has 8 lanes, above and in memory.
    assert boxes(picture, "waste") == 32 + 1 and boxes(picture, "ground") == 96
    assert [boxes(picture, f"q{quarter}") for quarter in range(4)] == [16] * 4


def test_a_picture_of_a_line(profile, tmp_path):
    line = line_of("narrow<T>(widen(a[i]) / rms")
    out = profile(*NAIVE, "--svg", tmp_path / "a.svg", "--line", line, "--lines").stdout
    picture = xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot()
    assert f"{line}: global " in picture.findtext(f"{SVG}title")
    assert line in out and line_of("++i) sum += widen(a[i]) * widen(a[i]);") not in out


def test_a_picture_of_shared_memory(profile):
    words = ("softmax", "--shape", "softmax_axis_0", "--dtype", "float32", "--solution",
             "cuda-emulated", "--memory", "shared")
    picture = xml.etree.ElementTree.fromstring(profile(*words, "--svg", "-").stdout)
    assert ": shared " in picture.findtext(f"{SVG}title")
    assert "wavefront" in picture.findtext(f"{SVG}desc")
    out = profile(*words, "--lines").stdout.split("The bound")[1]
    assert "shared load" in out and "global" not in out


@pytest.mark.parametrize("words, message", [
    (["--svg", "a.svg", "--line", "rmsnorm.cu:1"], "no request of line 'rmsnorm.cu:1' was counted"),
    (["--html", "a.html", "--line", "rmsnorm.cu"], "no request of line 'rmsnorm.cu' was counted"),
    (["--svg", "a.svg", "--memory", "shared"], "no request of shared memory was counted"),
    (["--svg", "a.svg", "--memory", "local"], "--memory"),
    (["--svg", "/nowhere/a.svg"], "/nowhere/a.svg"),
])
def test_a_picture_that_there_is_not(profile, words, message):
    assert message in profile(*NAIVE, *words, code=2).stderr


LOOKS = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 360, "height": 800},
         "narrow_dark": {"width": 360, "height": 800, "dark": True}}


@pytest.fixture(scope="module")
def page(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "page.html"
    subprocess.run([program, "profile", "rmsnorm", "softmax", "--shape", "rmsnorm", "--shape",
                    "softmax_axis_0", "--dtype", "float32", "--html", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_opens_without_complaint(chromium, page, look):
    chromium.look(**LOOKS[look])
    chromium.open(page.as_uri())
    assert chromium.complaints == [] and chromium.requests == [page.as_uri()]
    assert chromium.value("document.documentElement.scrollWidth <= innerWidth")
    figures = chromium.value("document.querySelectorAll('figure > svg[role=img] > title').length")
    assert figures > 10 and chromium.value("document.querySelectorAll('figure').length") == figures
    # Numbers of lanes can be read, and a picture is as wide as it may be.
    assert chromium.value("[...document.querySelectorAll('figure')].every(f =>"
                          " f.querySelector('svg').getBoundingClientRect().width >="
                          " Math.min(f.getBoundingClientRect().width, 500))")
    if folder := os.environ.get("PRENORM_PAGE_DIR"):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / f"profile_{look}.png").write_bytes(chromium.screenshot())


def test_light_and_dark_differ(chromium, page):
    seen = []
    for dark in (False, True):
        chromium.look(dark=dark)
        chromium.open(page.as_uri())
        seen.append(chromium.value("getComputedStyle(document.querySelector('.request .waste')).fill"))
    assert len(set(seen)) == 2


@pytest.mark.parametrize("component", slow_but({"rope"}, ladders.TOLD))
def test_the_pictures_of_the_site_are_reproduced(profile, component):
    """Those of cuda/pictures, without the numbers of lines, which any change above them moves."""
    profiles = ladders.Profiles(ROOT / "cuda")
    shape, dtype = ladders.TOLD[component][0].split()
    for version, path in profiles.pictures(component):
        text = profile(profiles.shapes[f"{shape} {dtype}"]["problem"], "--shape", shape, "--dtype",
                       dtype, "--solution", version.solution, "--memory", "global", "--svg", "-").stdout
        text = re.sub(r"(\.[a-z]+):\d+", r"\1", text)
        if os.environ.get("PRENORM_WRITE_PROFILES"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.read_text() == text, f"{path.name}: PRENORM_WRITE_PROFILES=1 writes it anew"


# ---- the record ---------------------------------------------------------------------------------

def summary(row):
    """What is kept of a row: counts that a compiler of another version does not change."""
    kernels = []
    for kernel in row["kernels"]:
        kept = {key: kernel[key] for key in ("kernel", "launches", "barriers", "shuffles",
                                             "tensor_flops", "least_bytes")}
        for kind in ("load", "store"):
            for count in ("requests", "bytes", "sectors", "ideal_sectors"):
                kept[f"{kind}_{count}"] = kernel[kind][count]
        for count in ("requests", "wavefronts", "ideal_wavefronts"):
            kept[f"shared_{count}"] = kernel["shared"][count]
        kept["atomic_requests"] = kernel["atomics"]["requests"]
        kernels.append(kept)
    return kernels


def shapes_of(rows):
    """What the problem is at each shape, and what it must move."""
    listed = json.loads((ROOT / "harness/profile/shapes.json").read_text())["shapes"]
    words = {shape["name"]: shape["model"] for shape in listed}
    return {f"{row['shape']} {row['dtype']}": {"problem": row["problem"], "bytes": round(row["bytes"]),
                                               "what": words[row["shape"]]} for row in rows}


def differences(recorded, measured):
    """What grew or shrank, a line each: "rmsnorm bfloat16 cuda-emulated, rmsnorm v3: load_sectors"."""
    for name in recorded.keys() ^ measured.keys():
        yield f"{name}: {'is new' if name in measured else 'is gone'}"
    for name in recorded.keys() & measured.keys():
        before, now = ({k["kernel"] + f" {i}": k for i, k in enumerate(of[name])}
                       for of in (recorded, measured))
        for kernel in sorted(before.keys() ^ now.keys()):
            yield f"{name}: kernel {kernel} {'is new' if kernel in now else 'is gone'}"
        for kernel in sorted(before.keys() & now.keys()):
            for count, value in now[kernel].items():
                old = before[kernel][count]
                if value != old:
                    yield f"{name}, {kernel}: {count} {old} -> {value}"


@pytest.mark.slow
def test_profiles_are_reproduced(profile):
    rows = rows_of(profile, "*")
    absent = {(row["problem"], row["dtype"], row["solution"].partition("/")[2]) for row in rows
              if row["status"] == "NOT_IMPLEMENTED"}
    assert absent == {("linear", "float32", "v4")}
    rows = [row for row in rows if row["status"] != "NOT_IMPLEMENTED"]
    assert {row["status"] for row in rows} == {"PASSED"}
    measured = {f"{row['shape']} {row['dtype']} {row['solution']}": summary(row) for row in rows}
    shapes = shapes_of(rows)
    if os.environ.get("PRENORM_WRITE_PROFILES"):
        lines = [f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, kernels)) + "]"
                 for name, kernels in sorted(measured.items())]
        told = [f"  {json.dumps(name)}: {json.dumps(shape)}" for name, shape in shapes.items()]
        RECORD.write_text('{\n "shapes": {\n' + ",\n".join(told) + "},\n" + ",\n".join(lines) + "\n}\n")
        ladders.write(ROOT)
    recorded = json.loads(RECORD.read_text())
    assert recorded.pop("shapes") == shapes
    changes = sorted(differences(recorded, measured))
    assert not changes, "\n".join(changes)
