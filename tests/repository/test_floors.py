# labels: unit
"""The floors of harness/: which folder may include which, and how long a file may be."""

import re

import pytest

from places import ROOT

HARNESS = ROOT / "harness"
LISTED = re.search(r"set\(PRENORM_FLOORS ([^)]*)\)", (HARNESS / "CMakeLists.txt").read_text())
FLOORS = LISTED.group(1).split()
SOURCES = sorted(p for p in HARNESS.rglob("*") if p.suffix in (".cpp", ".hpp"))
# Libraries that these floors alone include; the first word of an include is compared.
OWNED = {"CLI": "check", "hdf5.h": "hdf5", "H5Cpp.h": "hdf5", "SQLiteCpp": "class", "seccomp.h": "sandbox",
         "toml++": "base", "nlohmann": "base fixture", "kainjow": "report"}
# Longer than 500 lines, and why:
LONG = {
    "harness/bench/peers/pytorch.py": "one file, because it runs by another interpreter",
}


def includes(path, pattern):
    return re.findall(rf"^#include {pattern}", path.read_text(), re.MULTILINE)


def test_every_source_is_on_a_floor():
    assert len(FLOORS) >= 10 and len(SOURCES) > 150
    folders = {p.relative_to(HARNESS).parts[0] for p in SOURCES}
    assert folders == set(FLOORS) | {"include"}
    assert not [p.name for p in HARNESS.iterdir() if p.suffix in (".cpp", ".hpp", ".h", ".py")]


def test_a_test_lies_under_the_floor_that_it_tests():
    folders = {path.parent.name for path in (ROOT / "tests/harness").glob("*/test_*")}
    assert folders and folders <= set(FLOORS)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_includes_only_itself_and_those_above(floor):
    allowed = FLOORS[: FLOORS.index(floor) + 1]
    sources = [p for p in SOURCES if p.relative_to(HARNESS).parts[0] == floor]
    assert sources
    for path in sources:
        for name in includes(path, '"([^"]+)"'):
            assert (HARNESS / name).is_file(), f"{path.name} includes {name}: not a path from harness/"
            assert name.split("/")[0] in allowed, f"{path.relative_to(ROOT)} includes {name}"


@pytest.mark.parametrize("floor", FLOORS)
def test_headers_of_a_floor_do_not_include_each_other_in_a_circle(floor):
    headers = {f"{floor}/{p.name}": includes(p, f'"({floor}/[^"]+)"') for p in (HARNESS / floor).glob("*.hpp")}

    def visit(header, above):
        assert header not in above, " -> ".join([*above, header])
        for name in headers[header]:
            visit(name, [*above, header])

    for header in headers:
        visit(header, [])


@pytest.mark.parametrize("library", OWNED)
def test_a_library_is_included_on_one_floor(library):
    users = {
        p.relative_to(HARNESS).parts[0]
        for p in SOURCES
        if library in {name.split("/")[0] for name in includes(p, "<([^>]+)>")}
    }
    assert users <= set(OWNED[library].split())


@pytest.mark.parametrize("folder", ["harness", "reference", "cuda"])
def test_no_file_is_long(folder):
    endings = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".sh", ".md"}
    paths = [p for p in (ROOT / folder).rglob("*") if p.suffix in endings]
    assert len(paths) > 20
    for path in paths:
        name = str(path.relative_to(ROOT))
        lines = len(path.read_text().splitlines())
        assert lines <= 500 or name in LONG, f"{name} has {lines} lines"
