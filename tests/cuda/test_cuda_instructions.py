# labels: unit cuda
# slow labels: unit cuda
"""How many instructions the compiled kernels need for an activation function of 16-bit numbers, in the PTX
of this build: such kernels wait for memory only where they compute little for each element."""

import re

import pytest

from test_cuda_accesses import kernels_of
from test_cuda_resources import NVCC, ptx_of_build

pytestmark = pytest.mark.skipif(not NVCC, reason="there is no nvcc")

# For each element: what the unit for special functions computes, which does a quarter of the rest in a
# cycle; and the most instructions of PTX, loads, stores and conversions included.
CEILINGS = {
    "activation_v2<Relu>": (0, 8),
    "activation_v2<Sigmoid>": (2, 12),
    "activation_v2<Silu>": (2, 13),
    "activation_v2<Gelu>": (1, 24),
    "gate_v3<Sigmoid>": (2, 17),
    "gate_v3<Silu>": (2, 17),
}
SPECIAL = re.compile(r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)\.approx")
# Rounded as the standard says: each is ten instructions or more, some of them a subroutine.
COSTLY = re.compile(r"(div|rcp|sqrt)\.r[nzmp]\.")


def instructions(code):
    """The mnemonics, those of inline assembly among them."""
    return re.findall(r"^\s*(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z]\w*(?:\.\w+)*)\s[^;{]*;", code, re.MULTILINE)


def per_element(code):
    """Special functions, costly instructions and all, per number that is rounded to 16 bits."""
    words = instructions(code)
    elements = sum(bool(re.match(r"cvt\.rn\.b?f16\.f32$", word)) for word in words)
    return [count / max(elements, 1) for count in (
        sum(bool(SPECIAL.match(word)) for word in words),
        sum(bool(COSTLY.match(word)) for word in words), len(words))]


def kernel_of(name):
    """"gate_v3<Silu>" of "gate_v3<Silu, 8, bfloat16>"; nothing where elements are wider."""
    found = re.fullmatch(r"(\w+)<(\w+),.*\bb?float16>", name)
    return f"{found[1]}<{found[2]}>" if found else ""


def complaints(ptx):
    """What is wrong, one line per kernel; and the needs of the kernels that were judged."""
    found, judged = [], {}
    for name, code in kernels_of(ptx):
        kernel = kernel_of(name)
        if kernel not in CEILINGS:
            continue
        special, costly, every = per_element(code)
        judged.setdefault(kernel, []).append((special, round(every, 1)))
        wanted, most = CEILINGS[kernel]
        if special != wanted:
            found.append(f"{name} takes {special:.2f} special functions per element, wanted {wanted}")
        if costly:
            found.append(f"{name} divides or takes roots exactly, {costly:.2f} times per element")
        if every > most:
            found.append(f"{name} takes {every:.1f} instructions per element, its ceiling is {most}")
    return found, judged


@pytest.mark.slow
def test_a_16_bit_element_costs_few_instructions():
    found, judged = [], {}
    for text in ptx_of_build().values():
        wrong, needs = complaints(text)
        found += wrong
        judged |= needs
    print(judged)
    assert not found, "\n".join(found)
    assert judged.keys() == CEILINGS.keys()


KERNEL = """
.visible .entry _ZN7prenorm4cuda7gate_v3INS0_4SiluELi8ENS_7float16EEEvPKT1_PS4_l(
)
{
%s
\tret;
}
"""
FAST = """\t// begin inline asm
\tex2.approx.ftz.f32 %f3, %f2;
\t// end inline asm
\trcp.approx.ftz.f32 %f5, %f4;
"""
ROUND = "\t{  cvt.rn.f16.f32 %rs1, %f6;}\n"


@pytest.mark.parametrize("body, complaint", [
    (FAST + ROUND, ""),
    (FAST + ROUND + FAST + ROUND, ""),
    (FAST + FAST + ROUND, "4.00 special functions"),
    (FAST + "\tdiv.rn.f32 \t%f6, %f5, %f4;\n" + ROUND, "exactly, 1.00 times"),
    (FAST + "\tadd.f32 \t%f6, %f5, %f4;\n" * 20 + ROUND, "23.0 instructions")],
    ids=["fast", "two elements", "twice as many", "a quotient", "long"])
def test_a_costly_kernel_is_found(body, complaint):
    found, judged = complaints(KERNEL % body)
    assert judged.keys() == {"gate_v3<Silu>"}
    assert len(found) == bool(complaint) and all(complaint in line for line in found), found
