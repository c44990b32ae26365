# labels: unit cuda
# slow labels: unit cuda
# slow timeout: 3600
"""What the compiled CUDA kernels need: no register spills, and no more registers and shared memory
than cuda/ceilings.json allows, by what ptxas reports: in the quick tier of some sources, in the slow tier
of all, for each architecture that nvcc knows from 8.0 on."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT

IN_ONE_PART = True
LATE = " from sm_100"  # a ceiling of its own, where ptxas needs more for these
CEILINGS = ROOT / "cuda" / "ceilings.json"
BUILD = Path(os.environ["PRENORM_HOME"])
NVCC = os.environ.get("PRENORM_NVCC", "")
# Debian's toolkit brings it, and so does Triton in a virtual environment.
DISASSEMBLER = shutil.which("cuobjdump") or next(map(str, Path(
    os.environ.get("PRENORM_TEST_VENV") or "/nowhere/bin/python").parents[1].glob(
        "lib/python*/site-packages/triton/backends/nvidia/bin/cuobjdump")), None)

pytestmark = pytest.mark.skipif(not NVCC, reason="there is no nvcc")


def architectures():
    """What nvcc compiles for, from 8.0 on: 80, 86 ..."""
    said = subprocess.run([NVCC, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout
    return sorted(number for number in map(int, re.findall(r"sm_(\d+)\n", said)) if number >= 80)


class Kernel:
    """One kernel for one architecture, as ptxas reports it."""

    def __init__(self, symbol, architecture):
        self.symbol, self.architecture = symbol, architecture
        self.stack = self.spilled = self.registers = self.shared = 0


def kernels_of(report):
    """The kernels of what `ptxas -v` printed."""
    kernels = []
    for line in report.splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)' for '(\S+)'", line):
            kernels.append(Kernel(*entry.groups()))
        elif spill := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                                r"(\d+) bytes spill loads", line):
            # A function that was not inlined counts for the kernel before it.
            stack, stores, loads = map(int, spill.groups())
            kernels[-1].stack = max(kernels[-1].stack, stack)
            kernels[-1].spilled = max(kernels[-1].spilled, stores, loads)
        elif used := re.search(r"Used (\d+) registers", line):
            kernels[-1].registers = int(used[1])
            if shared := re.search(r"(\d+) bytes smem", line):
                kernels[-1].shared = int(shared[1])
    return kernels


def demangled(symbols):
    """What the symbols say in C++: "rmsnorm_v2<float>"."""
    text = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True,
                          check=True).stdout
    names = []
    for line in text.splitlines():
        line = line.replace("(anonymous namespace)::", "").replace("prenorm::cuda::", "")
        line = re.sub(r"^void ", "", line).replace("prenorm::", "")
        depth = 0
        for i, letter in enumerate(line):  # up to the list of parameters
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == "(" and depth == 0:
                line = line[:i]
                break
        names.append(line)
    return names


def complaints(report, ceilings):
    """What is wrong, one line per kernel; and the needs of the kernels seen, by whose ceiling they have."""
    kernels = kernels_of(report)
    found, seen = [], {}
    # Such as wgmma made to wait for each other, or setmaxnreg left out: what ptxas says by a number
    # it did because it could not do what was written.
    for remark in re.findall(r"^ptxas .*?(\(C\d+\) .*)", report, re.MULTILINE):
        found.append(f"ptxas: {remark}")
    for kernel, name in zip(kernels, demangled([k.symbol for k in kernels])):
        who = f"{name} for {kernel.architecture}"
        template = name.split("<")[0]
        if int(re.search(r"\d+", kernel.architecture)[0]) >= 100 and template + LATE in ceilings:
            template += LATE
        most = seen.setdefault(template, {"registers": 0, "shared_bytes": 0})
        most["registers"] = max(most["registers"], kernel.registers)
        most["shared_bytes"] = max(most["shared_bytes"], kernel.shared)
        ceiling = ceilings.get(template)
        if ceiling is None:
            found.append(f"{who} has no ceiling in cuda/ceilings.json: "
                         f"{kernel.registers} registers, {kernel.shared} bytes of shared memory")
        # The sine of a large angle in float64 takes some; else an array went where it should not. And from
        # sm_100 on, attend_v2 has no register left for what it needs before and behind its loops only.
        spilled = (ceiling or {}).get("spilled_bytes", 0)
        allowed = (ceiling or {}).get("local_bytes", 0) + spilled
        if kernel.spilled > spilled:
            found.append(f"{who} spills registers: {kernel.spilled} bytes")
        elif kernel.stack > allowed:
            found.append(f"{who} keeps {kernel.stack} bytes in local memory, "
                         f"its ceiling is {allowed}")
        if ceiling is None:
            continue
        if kernel.registers > ceiling["registers"]:
            found.append(f"{who} has grown to {kernel.registers} registers, "
                         f"its ceiling is {ceiling['registers']}")
        if kernel.shared > ceiling["shared_bytes"]:
            found.append(f"{who} has grown to {kernel.shared} bytes of shared memory, "
                         f"its ceiling is {ceiling['shared_bytes']}")
    return found, seen


@pytest.fixture(scope="module")
def build():
    """A build of all kernels, for every architecture at once."""
    folder = BUILD / "tests" / "architectures"
    for command in (["cmake", "--preset", "cuda", "-B", folder, f"-DPRENORM_NVCC={NVCC}",
                     "-DBUILD_TESTING=OFF",
                     f"-DPRENORM_CUDA_ARCHITECTURES={';'.join(f'{number}-real' for number in architectures())}"],
                    ["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target",
                     *(f"prenorm_solution_{name}" for name in ("cuda", "cuda-naive", "cuda-tf32"))]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def commands_of(build):
    """{object: the words that compile it} of what the build compiles now by nvcc."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return {re.search(r" -o (\S+)", entry["command"])[1]: shlex.split(entry["command"]) for entry in commands
            if entry["file"].endswith(".cu")}


def reports_of(build):
    """What ptxas said of these objects; an old tree may hold reports of other files."""
    return sorted(path for path in (build / f"{each}.resources" for each in commands_of(build))
                  if path.exists())


def ptx_of_build():
    """{object's name: its PTX} of what the build compiles now."""
    found = {}
    for path in reports_of(BUILD):
        data = path.with_suffix("").read_bytes()
        found[str(path)] = b"\n".join(re.findall(rb"\.version \d[^\0]*", data)).decode()
    assert any(found.values()), "no PTX: were the device solutions built?"
    return found


# For 12.0 those with the most threads per multiprocessor.
@pytest.mark.parametrize("source, architecture", [("embedding.cu", None), ("rmsnorm.cu", None),
                                                  ("rope.cu", 120), ("softmax_rows.cu", 120)])
def test_a_source_is_under_its_ceilings(source, architecture, tmp_path):
    """Compiled as in this build, or for another architecture."""
    if architecture and architecture not in architectures():
        pytest.skip(f"nvcc does not know sm_{architecture}")
    [words] = [words for path, words in commands_of(BUILD).items()
               if path.endswith(f"/prenorm_device_kernels.dir/{source}.o")]
    words[words.index("-o") + 1] = str(tmp_path / "it.o")
    if architecture:
        words = [word for word in words if not word.startswith("--generate-code")]
        words[words.index("-c")] = "-cubin"  # without the host's part
        words.append(f"--generate-code=arch=compute_{architecture},code=sm_{architecture}")
    done = subprocess.run(words, cwd=BUILD, check=True, capture_output=True, text=True)
    found, seen = complaints(done.stderr, json.loads(CEILINGS.read_text()))
    assert seen and not found, "\n".join(found)


@pytest.mark.slow
def test_every_kernel_is_under_its_ceiling(build):
    ceilings = json.loads(CEILINGS.read_text())
    reports = reports_of(build)
    assert reports, f"no report under {build}/cuda: were the device solutions built?"
    found, seen, compiled_for = [], {}, set()
    for path in reports:
        report = path.read_text()
        wrong, kernels = complaints(report, ceilings)
        compiled_for |= {kernel.architecture for kernel in kernels_of(report)}
        found += [f"{path.parent.name.removesuffix('.dir')}: {line}" for line in wrong]
        for name, most in kernels.items():
            for what, value in most.items():
                before = seen.setdefault(name, {"registers": 0, "shared_bytes": 0})
                before[what] = max(before[what], value)
    assert not found, "\n".join(found)
    assert compiled_for | {"sm_90a"} == {f"sm_{number}" for number in architectures()} | {"sm_90a"}
    # Of old CUDA, there are none that are only for sm_90a, and none for sm_100.
    missing = {name for name, ceiling in ceilings.items()
               if name not in seen and ceiling.get("only_for") in (None, *compiled_for)
               and ("sm_100" in compiled_for or not name.endswith(LATE))}
    assert not missing, "cuda/ceilings.json names kernels that do not exist"
    # A ceiling far above what is needed would let a kernel grow unnoticed.
    loose = [f"{name}: {seen[name]['registers']} registers, ceiling {ceiling['registers']}"
             for name, ceiling in ceilings.items()
             if ceiling["registers"] > seen[name]["registers"] + 16
             or ceiling["shared_bytes"] > seen[name]["shared_bytes"]]
    assert not loose, "\n".join(loose)


BOUNDS = """
#include "architecture.cuh"
using prenorm::cuda::multiprocessor_threads;
__global__ void __launch_bounds__(256, multiprocessor_threads / 256) fits() {}
__global__ void __launch_bounds__(256, multiprocessor_threads / 256 + 1) does_not() {}
"""


def test_a_multiprocessor_holds_the_threads_of_the_table(tmp_path):
    table = re.findall(r"\{(\d+)0, \d+\}", (ROOT / "cuda/architecture.cuh").read_text())
    known = [number for number in architectures() if str(number) in table]
    assert len(known) >= 5
    (tmp_path / "bounds.cu").write_text(BOUNDS)
    done = subprocess.run([NVCC, "-std=c++20", f"-I{ROOT}/cuda", "-c", "bounds.cu",
                           *(f"-gencode=arch=compute_{number},code=sm_{number}" for number in known)],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.findall("Value of threads per SM for entry (\\w+) is out of range", done.stderr) == [
        "_Z8does_notv"] * len(known)


def compiled(tmp_path, source, architecture="90"):
    """What ptxas says of a source."""
    (tmp_path / "planted.cu").write_text(source)
    return subprocess.run(
        [NVCC, "-std=c++20", "-O3", "-gencode",
         f"arch=compute_{architecture},code=sm_{architecture}", "-Xptxas", "-v",
         "-c", "planted.cu", "-o", "planted.o"],
        cwd=tmp_path, capture_output=True, text=True, check=True).stderr


SPILLING = """
__global__ void __launch_bounds__(1024, 2) planted(const float* x, float* y) {
  float a[64];
  #pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 64; ++i) y[i * 1024 + threadIdx.x] = a[63 - i] * a[(i * 7) % 64];
}
"""


def test_a_planted_spill_is_found(tmp_path):
    report = compiled(tmp_path, SPILLING)
    found, _ = complaints(report, {"planted": {"registers": 255, "shared_bytes": 0}})
    assert len(found) == 1 and "planted for sm_90 spills registers" in found[0], (found, report)


def test_a_kernel_that_grows_is_named(tmp_path):
    report = compiled(tmp_path, "template <class T> __global__ void grown(T* y) {"
                                " __shared__ T a[64]; a[threadIdx.x] = y[threadIdx.x];"
                                " __syncthreads(); y[threadIdx.x] = a[63 - threadIdx.x]; }"
                                " template __global__ void grown<float>(float*);")
    found, seen = complaints(report, {"grown": {"registers": 1, "shared_bytes": 128}})
    registers = seen["grown"]["registers"]
    assert found == [
        f"grown<float> for sm_90 has grown to {registers} registers, its ceiling is 1",
        "grown<float> for sm_90 has grown to 256 bytes of shared memory, its ceiling is 128"]
    found, _ = complaints(report, {})
    assert len(found) == 1 and "grown<float> for sm_90 has no ceiling" in found[0]


# One wgmma that nothing fences or waits for; a setmaxnreg where nothing bounds the registers.
UNFENCED = """
__global__ void planted(float* y) {
  float d[4] = {y[0], y[1], y[2], y[3]};
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
               "{%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(0ull));
  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
"""
UNBOUNDED = """
__global__ void planted(float* y) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  y[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize("source, remark", [(UNFENCED, "(C7519)"), (UNBOUNDED, "(C7508)")],
                         ids=["wgmma", "setmaxnreg"])
def test_what_ptxas_did_not_do_is_found(tmp_path, source, remark):
    report = compiled(tmp_path, source, "90a")
    found, _ = complaints(report, {"planted": {"registers": 255, "shared_bytes": 0}})
    assert found and found[0].startswith(f"ptxas: {remark}"), report


@pytest.mark.slow
def test_hopper_attention_uses_hopper(build):
    """Its products by the warpgroups' tensor cores, its copies by the copy engine."""
    objects = list((build / "cuda").rglob("attention_wgmma.cu.o"))
    if not objects or not DISASSEMBLER:
        pytest.skip("there is no code for 9.0, or no cuobjdump")
    code = subprocess.run([DISASSEMBLER, "-sass", objects[0]], capture_output=True, text=True,
                          check=True).stdout
    kernels = code.split("Function : ")[1:]
    assert len(kernels) == 4  # two types, two d_k
    for kernel in kernels:
        counts = {word: kernel.count(word) for word in
                  ("HGMMA", ".tnspB", "UTMALDG", "UTMASTG", "USETMAXREG", " HMMA", " LDL", " STL")}
        assert counts["HGMMA"] > counts[".tnspB"] > 0 and counts["UTMALDG"] and counts["UTMASTG"]
        assert counts["USETMAXREG"] == 2
        assert counts[" HMMA"] + counts[" LDL"] + counts[" STL"] == 0
        # While values are summed the next tile's softmax is computed: 64 exponentials a thread.
        overlapped = kernel.split("WARPGROUP.DEPBAR.LE gsb0, 0x1")[1]
        overlapped = overlapped.split("WARPGROUP.DEPBAR.LE gsb0, 0x0")[0]
        assert overlapped.count("MUFU.EX2") >= 64
