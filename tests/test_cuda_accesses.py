# labels: unit cuda
"""How wide the compiled kernels' accesses to global memory are, in the PTX of this build: where the
elements of a vector fill 16 bytes, each load and store of a tensor is one of 16 bytes."""

import re
from pathlib import Path

import pytest

from test_cuda_resources import BUILD, NVCC, demangled, reports_of

pytestmark = pytest.mark.skipif(not NVCC, reason="there is no nvcc")

SIZES = {"double": 8, "float": 4, "float16": 2, "bfloat16": 2}
# Kernels that move vectors, and what else they load and store in global memory: elements behind the last
# whole vector ("element"), ids and positions of 8 bytes.
KERNELS = {
    "activation_v2": ({"element"}, {"element"}),
    "embedding_v2": ({8}, {"element"}),  # an id; rows of NaN for a wrong one
    "gate_v3": ({"element"}, {"element"}),
    "rmsnorm_v3": (set(), set()),
    "rope_v2": ({8}, set()),  # positions, and the table's pairs of float
    "softmax_columns": (set(), set()),
    "softmax_long_columns": (set(), set()),
    "softmax_long_rows": (set(), set()),
    "softmax_rows": (set(), set()),
}


def widths(code, what):
    """Bytes of each kind of access: `what` is "ld" or "st"."""
    found = re.findall(what + r"\.global(?:\.\w+)*?(?:\.v([24]))?\.[bfsu](\d+)\s", code)
    return {int(count or 1) * int(bits) // 8 for count, bits in found}


def kernels_of(ptx):
    """(name with its template arguments, its PTX) of each kernel."""
    found = re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.DOTALL)
    return list(zip(demangled([symbol for symbol, _ in found]), (code for _, code in found)))


def vector_of(name):
    """The size of an element, and bytes of a vector, of "rmsnorm_v3<float16, 8, 4>"."""
    words = re.findall(r"\w+", name.partition("<")[2])
    element = next((SIZES[word] for word in words if word in SIZES), 0)
    count = next((int(word) for word in words if word.isdigit()), 16 // element if element else 0)
    return element, element * count


def complaints(ptx):
    """What is wrong, one line per kernel; and the names of the kernels that were judged."""
    found, judged = [], set()
    for name, code in kernels_of(ptx):
        template = name.partition("<")[0]
        element, vector = vector_of(name)
        if template not in KERNELS or vector != 16:
            continue
        judged.add(template)
        for what, others in zip(("ld", "st"), KERNELS[template]):
            allowed = {16} | {element if other == "element" else other for other in others}
            seen = widths(code, what)
            if 16 not in seen or not seen <= allowed:
                verb = {"ld": "loads", "st": "stores"}[what]
                found.append(f"{name} {verb} {sorted(seen)} bytes at a time, wanted {sorted(allowed)}")
    return found, judged


def test_every_vector_moves_at_once():
    paths = [path.with_suffix(".ptx") for path in reports_of(BUILD)]
    paths = [path for path in paths if path.exists()]
    assert paths, "no PTX: were the device solutions built?"
    found, judged = [], set()
    for path in paths:
        wrong, names = complaints(Path(path).read_text())
        found += wrong
        judged |= names
    assert not found, "\n".join(found)
    assert judged == KERNELS.keys()


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
