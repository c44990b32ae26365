# labels: unit emulated
# processors: 2
# slow labels: unit emulated
"""What the launched kernels may ask of memory, at the shapes of `prenorm profile`:

- kernels that memory bounds move at most 1.02 times the least,
- no line of a kernel takes more than twice the sectors that would do,
- no line has a bank conflict: each request of shared memory takes the wavefronts that would do.

A kernel that cannot is an exception below, with the reason. One that is no longer needed fails too.
"""

import json

import pytest

from conftest import not_sanitized

pytestmark = not_sanitized("the counter takes a sanitizer's place")

MOST_MOVED, MOST_SECTORS = 1.02, 2
# Bound by their products. All other kernels are bound by memory.
PRODUCTS = ("linear v", "attention v")

# (limit, kernel): why it may be over the limit.
EXCEPTIONS = {
    ("moved", "rmsnorm v3"): "each block reads the gain, as much as its row, from a cache from the "
                             "second block on; a block of many rows would read it once, but takes "
                             "more registers, and so has fewer rows in flight",
    ("moved", "softmax v3 cluster columns"): "rows that do not fit the 99 KiB of a block here are read "
                                             "twice; all fit the 227 of devices with clusters",
    ("wavefronts", "softmax v3 columns"): "a maximum and its scale are two stores, 8 bytes apart for "
                                          "each column: once a tile",
    ("moved", "embedding v2"): "tokens that come twice have the same row of the weight, which is read "
                               "for each",
}


def over_the_limit(what, value, most):
    return [f"{what}: {value:.3f} times the least, {most} may be"] if value > most else []


def moved(row):
    """Yields (kernel, complaint). Of a problem that is all bound by memory the least is the
    problem's: inputs once, outputs once. Of a part of another one it is what the kernel touches."""
    bound = [kernel for kernel in row["kernels"] if not kernel["kernel"].startswith(PRODUCTS)]
    if len(bound) == len(row["kernels"]):
        for what in ("least_bytes", "sector_bytes"):
            for complaint in over_the_limit(what, row[what] / row["bytes"], MOST_MOVED):
                yield bound[-1]["kernel"], complaint
        return
    for kernel in bound:
        sector_bytes = 32 * (kernel["load"]["sectors"] + kernel["store"]["sectors"])
        for complaint in over_the_limit("sector_bytes", sector_bytes / kernel["least_bytes"],
                                        MOST_MOVED):
            yield kernel["kernel"], complaint


def lines_over(row, space, count, most):
    """Yields (kernel, complaint) for each line that takes more than `most` times the least."""
    for kernel in row["kernels"]:
        for access in kernel["accesses"]:
            if access["space"] == space and access[count] > most * access[f"ideal_{count}"]:
                where = " < ".join(f"{at['file']}:{at['line']}" for at in access["source"][:2])
                yield kernel["kernel"], f"{where}: {access['pattern']}"


def complaints(rows, exceptions):
    """What is over its limit without an exception, and exceptions that nothing needs, a line each."""
    needed = set()
    for row in rows:
        for limit, found in (("moved", moved(row)),
                             ("sectors", lines_over(row, "global", "sectors", MOST_SECTORS)),
                             ("wavefronts", lines_over(row, "shared", "wavefronts", 1))):
            for kernel, complaint in found:
                if (limit, kernel) in exceptions:
                    needed.add((limit, kernel))
                else:
                    yield f"{row['shape']} {row['dtype']}, {kernel}: {limit}: {complaint}"
    for limit, kernel in exceptions.keys() - needed:
        yield f"{kernel} needs no exception from the limit of {limit} any more"


@pytest.mark.slow
def test_launched_kernels_are_within_the_limits(run):
    done = run("profile", "*", "--solution", "cuda-emulated", "--json", "-", code=0)
    rows = json.loads(done.stdout)["rows"]
    assert rows and {row["status"] for row in rows} == {"PASSED"}
    found = list(complaints(rows, EXCEPTIONS))
    assert not found, "\n".join(found)


# ---- the limits themselves ----------------------------------------------------------------------

def row_with(kernel="softmax v3 rows", moved=1000, touched=1000, sectors=2, wavefronts=1, beside=()):
    """A row of one kernel, beside others, for which 1000 bytes, 1 sector and 1 wavefront would do."""
    def access(space, count, value):
        return {"space": space, count: value, f"ideal_{count}": 1, "pattern": "a pattern",
                "source": [{"file": "softmax.cu", "line": 7}]}

    counts = {"kernel": kernel, "least_bytes": 1000, "store": {"sectors": 0},
              "load": {"sectors": moved / 32},
              "accesses": [access("global", "sectors", sectors),
                           access("shared", "wavefronts", wavefronts)]}
    return {"shape": "some", "dtype": "float32", "bytes": 1000, "sector_bytes": moved,
            "least_bytes": touched, "kernels": [*beside, counts]}


PRODUCT = {"kernel": "linear v2", "accesses": []}


def test_a_row_at_the_limits_passes():
    assert not list(complaints([row_with(moved=1020, touched=1020)], {}))
    assert not list(complaints([row_with("attention v2", moved=5000)], {}))  # not bound by memory


@pytest.mark.parametrize("row, complaint", [
    (row_with(moved=1030), "moved: sector_bytes: 1.030 times the least, 1.02 may be"),
    (row_with(touched=1030), "moved: least_bytes: 1.030 times the least, 1.02 may be"),
    (row_with(moved=1030, beside=[PRODUCT]), "moved: sector_bytes: 1.030 times the least"),
    (row_with(sectors=3), "sectors: softmax.cu:7: a pattern"),
    (row_with(wavefronts=2), "wavefronts: softmax.cu:7: a pattern"),
    (row_with("linear v2", wavefronts=2), "wavefronts: softmax.cu:7: a pattern")])
def test_what_is_over_a_limit_is_named(row, complaint):
    found, = complaints([row], {})
    kernel = row["kernels"][-1]["kernel"]
    assert found.startswith(f"some float32, {kernel}: {complaint}")
    limit = complaint.partition(":")[0]
    assert not list(complaints([row], {(limit, kernel): "a reason"}))


def test_an_exception_that_nothing_needs_is_named():
    assert list(complaints([row_with()], {("moved", "softmax v3 rows"): "a reason"})) == [
        "softmax v3 rows needs no exception from the limit of moved any more"]
