# labels: unit cuda
# slow labels: unit cuda
"""How wide the compiled kernels' accesses to global memory are, in the PTX of this build: where the
elements of a vector fill 16 bytes, each load and store of a tensor is one of 16 bytes."""

import re
from pathlib import Path

import pytest

from places import ROOT
from test_cuda_resources import NVCC, demangled, ptx_of_build

pytestmark = pytest.mark.skipif(not NVCC, reason="there is no nvcc")

SIZES = {"double": 8, "float": 4, "float16": 2, "bfloat16": 2}

# Every kernel that is compiled is here or below. Those that memory bounds move vectors of 16 bytes; what
# else they load and store in global memory is named, in bytes, or as "element".
KERNELS = {
    "activation_v2": ({"element"}, {"element"}),  # elements behind the last whole vector
    "embedding_v2": ({8}, {"element"}),  # an id; rows of NaN for a wrong one
    "gate_v3": ({"element"}, {"element"}),  # elements behind the last whole vector
    "rmsnorm_v3": (set(), set()),
    "rope_v2": ({8}, set()),  # positions, and the table's pairs of float
    "rope_v3": ({8}, set()),  # positions
    "softmax_long": (set(), set()),
    "softmax_rows_ahead": (set(), set()),
    "softmax_short_rows": (set(), set()),
    "softmax_tiles": (set(), set()),
}
# Instances for rows that are not aligned, by their last argument: elements at both ends of a row are
# stored one by one.
UNALIGNED = {"softmax_long": ", false>", "softmax_rows_ahead": ", false>"}
# Generic accesses may go to any memory: only these kernels have some, loads from the shared memory of
# other blocks of their cluster, of numbers that they compute with.
CLUSTERS = {"softmax_long", "softmax_tiles"}
# Whose accesses are narrower, and why.
FIRST = "a first version: the formula as a loop, an element at a time"
NARROW = {
    **dict.fromkeys(("activation_v1", "add_v1", "embedding_v1", "linear_v1", "multiply_v1",
                     "probabilities_v1", "rmsnorm_v1", "rope_v1", "scores_v1", "softmax_v1",
                     "values_v1"), FIRST),
    "rmsnorm_v2": "the step with one block per row, an element at a time",
    "softmax_v2": "the step with one block per slice, an element at a time",
    "linear_v2": "bound by its products",
    "linear_v3": "bound by its products",
    "linear_v4": "bound by its products",
    "linear_bf16x6": "bound by its products",
    "linear_bf16x6_wgmma": "bound by its products",
    "split_row": "vectors of float32 become three of bfloat16, in words",
    "attend_part": "one for rows that are aligned, by cp.async, and others",
    "combine_parts": "neighbouring threads have neighbouring outputs",
    "linear_v5": "bound by its products; the copy engine moves its tiles",
    "attend_v2": "bound by its products",
    "attend_bf16x6": "bound by its products",
    "attend_mma": "bound by its products",
    "attend_v4": "bound by its products; the copy engine moves its tiles",
    "pack_mask_tiles": "a lane votes on one key, a byte of the mask",
    "pack_mask_vectors": "loads 16 bytes at a time, and stores the bits of 16 keys",
}


def widths(code, what):
    """Bytes of each kind of access: `what` is "ld" or "st". cp.async is a load."""
    found = re.findall(what + r"\.global(?:\.\w+)*?(?:\.v([24]))?\.[bfsu](\d+)\s", code)
    copied = re.findall(r"cp\.async\.c[ag]\.shared\.global(?:\.\w+)* \[.*?\], (?:\[.*?\]), (\d+)", code)
    return ({int(count or 1) * int(bits) // 8 for count, bits in found} |
            (set(map(int, copied)) if what == "ld" else set()))


def generic_widths(code, what):
    """Bytes of each access whose instruction names no kind of memory."""
    found = re.findall(rf"\b{what}((?:\.\w+(?:::\w+)?)+)\s", code)
    named = [words for words in found
             if not re.search(r"\.(global|shared|local|param|const)\b", words)]
    return {int(count or 1) * int(bits) // 8 for words in named
            for count, bits in re.findall(r"(?:\.v([248]))?\.[bfsu](\d+)$", words)}


def kernels_of(ptx):
    """(name with its template arguments, its PTX) of each kernel."""
    found = re.findall(r"\.entry (\w+)\((.*?)(?=\n\.(?:version|visible|weak|entry|func|extern|global)\b|\Z)",
                       ptx, re.DOTALL)
    return list(zip(demangled([symbol for symbol, _ in found]), (code for _, code in found)))


def vector_of(name):
    """The size of an element, and bytes of a vector, of "rmsnorm_v3<float16, 8, 4>"."""
    words = re.findall(r"\w+", name.partition("<")[2])
    element = next((SIZES[word] for word in words if word in SIZES), 0)
    count = next((int(word) for word in words if word.isdigit()), 16 // element if element else 0)
    return element, element * count


def early_kernels():
    """Those that may begin before the kernel before them has ended (cuda/dependent_launch.cuh)."""
    texts = [path.read_text() for path in (ROOT / "cuda").glob("*.cu")]
    return {name for text in texts for name in re.findall(r"early\(\{[^}]*\}\),\s*(\w+)", text)}


EARLY = early_kernels()


def hastes(template, code):
    """Whether a kernel that may begin early uses memory before it has waited."""
    before, waits, _ = code.partition("griddepcontrol.wait;")
    used = re.search(r"\b(ld|st|atom|red|prefetch)[.\w:]*\.global|\bcp\.async", before)
    return template in EARLY and bool(used or not waits)


def complaints(ptx):
    """What is wrong, one line per kernel; and the names of the kernels that were seen: of those with
    vectors, that were judged."""
    found, seen = [], set()
    target = "".join(re.findall(r"^\.target (\w+)", ptx, re.M)[:1])
    for name, code in kernels_of(ptx):
        template = name.partition("<")[0]
        if int(re.sub(r"\D", "", target) or 0) >= 90 and hastes(template, code):
            found.append(f"{name} uses memory before it has waited for the kernel before it")
        if template in NARROW:
            seen.add(template)
            continue
        if template not in KERNELS:
            found.append(f"{name} is not listed in {Path(__file__).name}")
            continue
        element, vector = vector_of(name)
        if vector != 16:
            continue
        seen.add(template)
        unaligned = template in UNALIGNED and name.endswith(UNALIGNED[template])
        for what, others in zip(("ld", "st"), KERNELS[template]):
            if unaligned and what == "st":
                others = others | {"element"}
            allowed = {16} | {element if other == "element" else other for other in others}
            widths_seen = widths(code, what)
            if 16 not in widths_seen or not widths_seen <= allowed:
                verb = {"ld": "loads", "st": "stores"}[what]
                found.append(f"{name} {verb} {sorted(widths_seen)} bytes at a time, "
                             f"wanted {sorted(allowed)}")
            of_peers = {max(element, 4)} if template in CLUSTERS and what == "ld" else set()
            if generic := generic_widths(code, what) - of_peers:
                found.append(f"{name} has {what} of {sorted(generic)} bytes in memory of no named kind")
    return found, seen


@pytest.mark.slow
def test_every_vector_moves_at_once():
    texts = ptx_of_build()
    found, seen = [], set()
    for text in texts.values():
        wrong, names = complaints(text)
        found += wrong
        seen |= names
    assert not found, "\n".join(found)
    listed = KERNELS.keys() | NARROW.keys()
    hopper = {"attend_v4", "linear_v5", "linear_bf16x6_wgmma", "split_row"}
    assert seen == listed - (set() if any("wgmma" in name for name in texts) else hopper)


KERNEL = """
.visible .entry _Z10rmsnorm_v3IfLi4ELi1EEvPKfPf(
)
{
%s
\tret;
}
"""


@pytest.mark.parametrize("lines, complaint", [
    ("\tld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
     "\tst.global.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};", ""),
    ("\tld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
     "\tst.global.f32 \t[%rd2], %f1;\n\tst.global.f32 \t[%rd2+4], %f2;", "stores [4] bytes"),
    ("\tld.global.v2.f32 \t{%f1, %f2}, [%rd1];\n"
     "\tst.global.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};", "loads [8] bytes")])
def test_a_narrow_access_is_found(lines, complaint):
    found, judged = complaints(KERNEL % lines)
    assert judged == {"rmsnorm_v3"}
    assert len(found) == bool(complaint) and all(complaint in line for line in found), found


WIDE = ("\tld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
        "\tst.global.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};\n")


@pytest.mark.parametrize("line, wrong", [
    ("ld.param.u64 \t%rd1, [x];", False), ("ld.shared.f32 \t%f1, [%r1];", False),
    ("ld.shared::cluster.f32 \t%f1, [%r1];", False), ("st.local.u32 \t[%rd1], %r1;", False),
    ("ld.f32 \t%f1, [%rd1];", True), ("ld.v2.f32 \t{%f1, %f2}, [%rd1];", True),
    ("ld.volatile.f32 \t%f1, [%rd1];", True), ("st.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};", True)])
def test_accesses_to_memory_of_no_named_kind_are_found(line, wrong):
    found, _ = complaints(KERNEL % (WIDE + "\t" + line))
    assert len(found) == wrong, found
    # Clusters load their numbers so, and nothing else.
    of_cluster = KERNEL.replace("10rmsnorm_v3IfLi4ELi1E", "12softmax_longIfLb1E") % (WIDE + "\t" + line)
    assert len(complaints(of_cluster)[0]) == (wrong and not line.startswith(("ld.f", "ld.vol")))


@pytest.mark.parametrize("lines, wrong", [
    ("\tgriddepcontrol.wait;\n" + WIDE, False), (WIDE, True), (WIDE + "\tgriddepcontrol.wait;\n", True)])
def test_a_kernel_that_does_not_wait_is_found(lines, wrong):
    assert "rmsnorm_v3" in EARLY and "rmsnorm_v2" not in EARLY
    found, _ = complaints(".target sm_90\n" + KERNEL % lines)
    assert len(found) == wrong and all("before it has waited" in line for line in found), found
    assert not complaints(".target sm_80\n" + KERNEL % lines)[0]


def test_a_copy_is_a_load():
    ptx = KERNEL.replace("10rmsnorm_v3IfLi4ELi1E", "18softmax_rows_aheadIfLb1E") % (
        "\tcp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\n"
        "\tst.global.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};")
    assert complaints(ptx) == ([], {"softmax_rows_ahead"})
    ptx = ptx.replace("%r4};", "%r4};\n\tst.global.f32 \t[%rd2], %f1;")
    assert len(complaints(ptx)[0]) == 1
    assert complaints(ptx.replace("Lb1E", "Lb0E"))[0] == []


def test_a_kernel_that_nobody_listed_is_found():
    found, seen = complaints(KERNEL.replace("10rmsnorm_v3", "10rmsnorm_v9") % "")
    assert len(found) == 1 and "rmsnorm_v9<float, 4, 1> is not listed" in found[0] and not seen
