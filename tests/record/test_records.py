"""Solutions of a device on the command line, and device records.

The device is a driver on host memory (fake_cuda_driver.cpp), the problem y = 2 x, the solutions
those of tests/support/solutions: `host` is misbehaving.cpp, `device` is on_device.cpp.
"""

import json
import re

import h5py
import numpy as np
import pytest

from conftest import folder, make_home

DIGEST = "00ff"  # what on_device.cpp says of its sources


@pytest.fixture
def own_home(home, tmp_path):
    """A home whose shipped solutions are `host`, `device` and `other`, which was not built."""
    solutions = folder("PRENORM_TEST_SOLUTIONS")
    own = make_home(tmp_path / "home", home, host=solutions / "libmisbehaving.so",
                    device=solutions / "libon_device.so")
    (own / "lib/prenorm/other.absent").write_text("not built: no compiler\nab12\n")
    return own


@pytest.fixture
def fixture(tmp_path):
    """Two cases of y = 2 x in float32, and one in float64, which the device does not do."""
    path = tmp_path / "fixtures/twice.h5"
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": "prenorm-fixture", "version": 1, "problem": "twice",
                           "signature": "x[...] -> y[...]"})
        for name, dtype, shape in (("one", "float32", (3,)), ("two", "float32", (2, 5)),
                                   ("wide", "float64", (4,))):
            x = np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape)
            file.create_dataset(f"cases/{name}/inputs/x", data=x, chunks=shape, fletcher32=True)
            y = file.create_dataset(f"cases/{name}/outputs/y", data=2 * x.astype(np.float64))
            y.attrs.update({"dtype": dtype, "atol": 0.0, "rtol": 1e-6})
    return path


@pytest.fixture
def prenorm(run, own_home, fixture):
    """prenorm("verify", ..., device=True) -> standard output, in an empty folder."""
    driver = folder("PRENORM_TEST_SOLUTIONS") / "libfake_cuda.so"

    def call(*words, code=0, device=True, **variables):
        done = run(*words, code=code, **{
            "PRENORM_HOME": own_home, "PRENORM_LAUNCHER": "", "COLUMNS": None,
            "PRENORM_CUDA_DRIVER": driver if device else "/no/such/driver.so", **variables})
        return done.stdout or done.stderr

    def verify(*words, **options):
        return call("verify", "--fixtures", fixture, *words, **options)

    call.verify = verify
    return call


def cells(out):
    """The row of `twice`: a dictionary by column."""
    lines = out.splitlines()
    head = next(line for line in lines if line.startswith("problem"))
    row = next(line for line in lines if line.startswith("twice"))
    return dict(zip(re.split("  +", head), re.split("  +", row)))


@pytest.fixture
def recorded(prenorm, own_home):
    """A record among the shipped ones."""
    prenorm.verify("--record", own_home / "share/prenorm/records")
    return own_home / "share/prenorm/records/fake-device-1/device.json"


def test_with_a_device_its_solution_runs(prenorm):
    row = cells(prenorm.verify())
    assert row == {"problem": "twice", "host": "PASSED 3/3", "device": "PASSED 2/2"}


def test_results_stand_in_the_order_of_cases_then_columns(prenorm):
    results = json.loads(prenorm.verify("--json", "-"))["results"]
    assert [(r["case"], r["solution"]) for r in results] == [
        (case, solution) for case in ("one", "two", "wide")
        for solution in ("device", "host", "other")]
    named = json.loads(prenorm.verify("--json", "-", "--solution", "host", "--solution", "device"))
    assert [r["solution"] for r in named["results"]] == ["host", "device"] * 3


def test_a_damaged_case_is_told_once(prenorm, fixture):
    with h5py.File(fixture) as file:
        at = file["cases/two/inputs/x"].id.get_chunk_info(0).byte_offset
    data = bytearray(fixture.read_bytes())
    data[at] ^= 0xFF
    fixture.write_bytes(data)
    results = json.loads(prenorm.verify("--json", "-", code=2))["results"]
    assert [(r["case"], r["solution"]) for r in results if r["status"] == "BAD_FIXTURE"] == [
        ("two", None)]
    assert len(results) == 1 + 2 * 3


def test_without_a_device_it_is_skipped_with_the_reason(prenorm):
    out = prenorm.verify(device=False)
    assert cells(out) == {"problem": "twice", "host": "PASSED 3/3"}
    assert "device: SKIPPED: no CUDA device; not yet run on a device\n" in out
    assert "other: SKIPPED: not built: no compiler; not yet run on a device\n" in out
    assert "3 passed, 0 failed, 0 skipped, 6 not for this machine in " in out
    assert "nothing ran: no CUDA device" in prenorm.verify("--solution", "device", device=False,
                                                           code=3)


def test_variants_of_what_is_not_here_are_told(prenorm, own_home):
    with (own_home / "lib/prenorm/other.absent").open("a") as file:
        file.write("twice\ntwice__v2\nthrice__v3\n")
    note = "other/v2, other/v3: by name only (--solution); not yet run on a device\n"
    assert note in prenorm.verify()
    assert "by name only" not in prenorm.verify("--solution", "host", "--solution", "other")
    assert cells(prenorm.verify("--solution", "other", "--solution", "other/v2", code=3))[
        "other/v2"] == "not yet run"
    shown = prenorm("show", "twice", "--fixtures", "fixtures")
    assert "other: not yet run on a device" in shown
    assert "other/v2: not yet run on a device" in shown and "v3" not in shown


def test_a_variants_record_is_told(prenorm, recorded, own_home):
    record = json.loads(recorded.read_text())
    for solution, sources in (("other/v2", "ab12"), ("other/v3", "0100")):
        path = recorded.with_name(solution.replace("/", "-") + ".json")
        path.write_text(json.dumps({**record, "solution": solution, "sources": sources}))
    with (own_home / "lib/prenorm/other.absent").open("a") as file:
        file.write("twice\ntwice__v2\ntwice__v3\n")
    out = prenorm.verify(device=False)
    assert re.search(r"^other/v2, other/v3 \*: by name only \(--solution\); recorded on Fake", out,
                     re.M), out


def test_a_record_has_what_the_device_said(prenorm, recorded):
    record = json.loads(recorded.read_text())
    assert record["solution"] == "device" and record["sources"] == DIGEST
    assert record["device"]["name"] == "Fake Device 1"
    assert record["device"]["compute_capability"] == "9.0"
    assert record["device"]["driver"].endswith("CUDA 13.2")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    cases = record["problems"]["twice"]
    assert {name: case["status"] for name, case in cases.items()} == {
        "one": "PASSED", "two": "PASSED", "wide": "NOT_IMPLEMENTED"}
    assert cases["two"]["max_abs_error"] == 0 and cases["two"]["seconds"] > 0
    assert [path.name for path in recorded.parent.parent.rglob("*.json")] == ["device.json"]


def test_a_record_is_shown_as_such(prenorm, recorded, tmp_path):
    out = prenorm.verify(device=False)
    assert cells(out)["device"] == "recorded 2/2"
    assert re.search(r"^device: SKIPPED: no CUDA device; recorded on Fake Device 1, [\d-]+$", out,
                     re.M)
    assert "3 passed, 0 failed, 0 skipped, 6 not for this machine in " in out
    report = json.loads(prenorm.verify("--json", "-", "--html", "r.html", device=False))
    assert {r["status"] for r in report["results"] if r["solution"] == "device"} == {"SKIPPED"}
    page = (tmp_path / "r.html").read_text()
    assert "recorded 2/2" in page and "recorded on Fake Device 1" in page
    # With the device the table is about this run.
    assert cells(prenorm.verify())["device"] == "PASSED 2/2"


def test_other_sources_are_changed_since(prenorm, recorded, own_home):
    library = own_home / "lib/prenorm/libprenorm_device.so"
    library.unlink()
    absent = own_home / "lib/prenorm/device.absent"
    absent.write_text(f"not built: no device\n{DIGEST}\n")
    out = prenorm.verify()
    assert cells(out)["device"] == "recorded 2/2" and "changed since" not in out
    absent.write_text("not built: no device\n0100\n")
    out = prenorm.verify()
    assert cells(out)["device"] == "recorded 2/2 *"
    assert re.search(r"^\*: the sources have changed since last device run$", out, re.M)
    assert "changed since last device run" in prenorm("doctor")


def test_a_new_case_is_not_in_the_record(prenorm, recorded, fixture):
    with h5py.File(fixture, "a") as file:
        file.copy("cases/one", "cases/new")
    assert cells(prenorm.verify(device=False))["device"] == "recorded 2/3"


def test_a_record_of_some_cases_keeps_the_others(prenorm, recorded):
    before = json.loads(recorded.read_text())["problems"]["twice"]
    records = recorded.parent.parent
    prenorm.verify("--record", records, "--case", "one")
    assert json.loads(recorded.read_text())["problems"]["twice"].keys() == before.keys()
    # Not those of other sources.
    stale = json.loads(recorded.read_text())
    recorded.write_text(json.dumps({**stale, "sources": "0100"}))
    prenorm.verify("--record", records, "--case", "one")
    assert json.loads(recorded.read_text())["problems"]["twice"].keys() == {"one"}


def test_nothing_is_recorded_without_a_device(prenorm, tmp_path):
    assert "nothing recorded" in prenorm.verify("--record", "out", device=False)
    assert not list((tmp_path / "out").iterdir())
    assert "cannot be used with --seed" in prenorm.verify("--record", "out", "--seed", "1", code=2)
    assert "recorded in out/fake-device-1/device.json" in prenorm.verify("--record", "out")


def test_a_record_that_cannot_be_read_costs_nothing(prenorm, recorded):
    recorded.write_text("{")
    assert "device" not in cells(prenorm.verify(device=False))
    out = prenorm("doctor")
    assert "cannot be read" in out and str(recorded) in out


def test_the_doctor_tells_device_and_records(prenorm, recorded):
    out = prenorm("doctor")
    assert re.search(r"^CUDA device +ok +Fake Device 1, compute capability 9.0, 0.2 GiB, 1.0 MiB",
                     out, re.M)
    assert re.search(r"^record of device +ok +2 of 3 cases passed in 1 problem on Fake Device 1",
                     out, re.M)
    assert re.search(r"^solution other +none +not built: no compiler$", out, re.M)
    assert "changed since" not in out


def test_show_tells_what_a_device_said(prenorm, fixture, recorded, tmp_path):
    out = prenorm("show", "twice", "--fixtures", fixture, device=False)
    assert re.search(r"^device +device: recorded 2/3 passed on Fake Device 1, [\d-]+$", out, re.M)
    assert re.search(r"^ +other: not yet run on a device$", out, re.M)
    assert "no sources in cuda/ here" in out
    report = json.loads(prenorm("show", "twice", "--fixtures", fixture, "--json", "-", device=False))
    devices = {each["solution"]: each for each in report["devices"]}
    assert devices["device"].pop("message").startswith("recorded 2/3 passed on Fake Device 1, ")
    assert devices["device"] == {"solution": "device", "passed": 2, "cases": 3, "changed": False}
    assert devices["other"] == {"solution": "other", "passed": None, "cases": None, "changed": False,
                                "message": "not yet run on a device"}
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda/doubling.cu").write_text(
        "// twice(x)\nPRENORM_CUDA_VARIANT(twice, v2, f)\nPRENORM_CUDA_EXPORT(twice, f, g)\n")
    out = prenorm("show", "twice", "--fixtures", fixture)
    assert re.search(r"^CUDA +cuda/doubling.cu:3$", out, re.M)
    record = json.loads(recorded.read_text())
    recorded.write_text(json.dumps({**record, "sources": "0100"}))
    assert "; changed since last device run" in prenorm("show", "twice", "--fixtures", fixture)


def test_many_columns_go_into_blocks(prenorm, recorded):
    wide = prenorm.verify("--no-color")
    narrow = prenorm.verify("--no-color", COLUMNS="30")
    assert wide.count("problem ") == 1 and narrow.count("problem ") == 2
    assert all(len(line) <= 30 for line in narrow.split("\n\n")[0].splitlines())
    assert re.search(r"^problem +host\n-+  -+\ntwice +PASSED 3/3$", narrow, re.M)


def test_saved_outputs_come_from_the_device_too(prenorm, tmp_path):
    prenorm.verify("--save", "out", "--solution", "device", "--solution", "host")
    assert "0 of 2 outputs differ" in prenorm("diff", "out/twice.device.h5", "out/twice.device.h5")
    with h5py.File(tmp_path / "out/twice.device.h5") as file:
        assert file["cases/one/outputs/y"][...].tolist() == [2, 4, 6]
    assert (tmp_path / "out/twice.host.h5").exists()
