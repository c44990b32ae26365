# labels: cuda slow
"""Fences, arrivals and waits in the machine code of the kernels for Hopper, as the disassembler of the
toolkit shows it: what the model of these instructions (hopper/) takes as written, ptxas must keep."""

import re
import shutil
import subprocess

import pytest

from places import ROOT, replaced
from test_cuda_resources import BUILD, DISASSEMBLER, NVCC, commands_of

OBJECTS = BUILD / "cuda/CMakeFiles/prenorm_hopper_kernels.dir"
# The kernel of each file that has products, and how many instances it has.
FILES = {"attention_wgmma": ("9attend_v4", 4), "linear_wgmma": ("9linear_v5", 8),
         "linear_bf16x6_wgmma": ("19linear_bf16x6_wgmma", 1)}

pytestmark = [pytest.mark.skipif(not NVCC, reason="there is no nvcc"),
              pytest.mark.skipif(not DISASSEMBLER, reason="there is no cuobjdump")]


@pytest.fixture(autouse=True)
def hopper():
    if not any("/prenorm_hopper_kernels.dir/" in path for path in commands_of(BUILD)):
        pytest.skip("there is no code for 9.0, or no cuobjdump")


PRODUCT, TURN = r"HGMMA\.", r"WARPGROUP\.ARRIVE"
LOAD, STORE, SHARED = r"UTMALDG", r"UTMASTG", r"STS|STSM"
EXPECT, RELEASE, WAIT = r"SYNCS\.ARRIVE\.TRANS64 ", r"SYNCS\.ARRIVE\.TRANS64\.A1T0", r"SYNCS\.PHASECHK"
DONE, FENCE, STORED = r"WARPGROUP\.DEPBAR", r"FENCE\.VIEW\.ASYNC", r"DEPBAR\.LE SB0"
GIVES, TAKES = r"USETMAXREG\.DEALLOC\.\w+ (0x\w+)", r"USETMAXREG\.TRY_ALLOC\.\w+ UP\d, (0x\w+)"
# (instruction, what must stand before it, since the last): what goes wrong without.
RULES = [
    (PRODUCT, TURN, r"gsb0", "a product reads registers that are not fenced"),
    (RELEASE, DONE, PRODUCT, "a stage is released while a product reads it"),
    (LOAD, EXPECT, WAIT, "a copy is begun whose bytes nobody expects"),
    (STORE, FENCE, SHARED, "a copy from shared memory may miss what was stored there"),
    ("EXIT", STORED, STORE, "a block ends while its memory is copied"),
]


def kernels_of(code):
    """{name: its instructions, in their order}."""
    found = {}
    for part in code.split("Function : ")[1:]:
        name, text = part.split("\n", 1)
        found[name] = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+([^;]*;)", text, re.MULTILINE)
    return found


def complaints(instructions):
    """What is wrong with a kernel that has products, one line each."""
    found = []
    for instruction, before, since, why in RULES:
        stands = seen = since != r"gsb0"  # nothing to stand before, at the beginning
        for text in instructions:
            if re.search(instruction, text):
                seen = True
                # Threads other than the one that copies end at once.
                if not stands and not (instruction == "EXIT" and text.startswith("@")):
                    found.append(f"{why}: {text}")
            if re.search(since, text):
                stands = False
            if re.search(before, text):
                stands = True
        if not seen:
            found.append(f"there is no {instruction}")
    given, taken = (re.search(words, "\n".join(instructions)) for words in (GIVES, TAKES))
    if not given or not taken:
        return [*found, "its warps do not share registers out"]
    first = next(i for i, text in enumerate(instructions) if re.search(GIVES, text))
    last = max(i for i, text in enumerate(instructions) if re.search(LOAD, text))
    highest = 1 + max(int(n) for text in instructions[first:last] for n in re.findall(r"\bR(\d+)\b", text))
    if highest > int(given[1], 16):
        found.append(f"the producer uses {highest} registers and keeps {int(given[1], 16)}")
    return found


def disassembled(path):
    return kernels_of(subprocess.run([DISASSEMBLER, "-sass", path], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("file", FILES)
def test_fences_arrivals_and_waits_are_where_they_belong(file):
    kernels = {name: code for name, code in disassembled(OBJECTS / f"{file}.cu.o").items()
               if FILES[file][0] in name}
    assert len(kernels) == FILES[file][1]
    assert {name: wrong for name, code in kernels.items() if (wrong := complaints(code))} == {}
    for name, code in kernels.items():
        copies = any(re.search(STORE, text) for text in code)  # or its threads store
        for instruction, before, since, why in RULES:  # what is left out is missed
            if STORE in (instruction, since) and not copies:
                continue
            without = [text for text in code if not re.search(before, text)]
            assert any(line.startswith(why) for line in complaints(without)), (name, why)


# (A missing wgmma.fence ptxas adds itself, and says so: test_cuda_resources.py.)
PLANTED = {"attention_wgmma_producer.cuh": ("arrive_expecting(full, sizeof(to));", RULES[2][3]),
           "attention_wgmma_consumer.cuh": ("::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);",
                                            RULES[3][3])}


@pytest.mark.parametrize("file", PLANTED)
def test_what_the_source_lacks_is_missed(file, tmp_path):
    text, why = PLANTED[file]
    shutil.copytree(ROOT / "cuda", tmp_path / "cuda")
    source = tmp_path / "cuda" / file
    source.write_text(replaced(source.read_text(), text, ""))
    compiled, = (words for path, words in commands_of(BUILD).items()
                 if path.endswith("/prenorm_hopper_kernels.dir/attention_wgmma.cu.o"))
    words = [word.replace(str(ROOT / "cuda"), str(tmp_path / "cuda")) for word in compiled]
    words[words.index("-o") + 1] = str(tmp_path / "planted.o")
    subprocess.run(words, cwd=BUILD, check=True, capture_output=True)
    found = [line for code in disassembled(tmp_path / "planted.o").values() for line in complaints(code)]
    assert any(line.startswith(why) for line in found), found
