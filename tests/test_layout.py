"""The arrangement of the sources: what stands where, and who may know whom."""

import re
import subprocess
from pathlib import Path

import h5py
import pytest

ROOT = Path(__file__).resolve().parent.parent
COMPONENTS = [
    "linear", "embedding", "rmsnorm", "activations", "feed_forward", "rope", "softmax",
    "attention", "multihead_self_attention", "transformer_block",
]
FIXTURES = sorted((ROOT / "fixtures").glob("*.h5"))
PROBLEMS = [path.stem for path in FIXTURES]


def sources(folder, *endings):
    return [p for p in (ROOT / folder).rglob("*") if p.suffix in endings and p.is_file()]


def test_all_problems_have_a_fixture():
    assert len(PROBLEMS) == 20


@pytest.mark.parametrize("problem", PROBLEMS)
def test_no_problem_is_named_in_the_harness(problem):
    # Documentation and comments may give an example; code may not.
    word = re.compile(rf"\b{problem}\b")
    for path in sources("harness", ".cpp", ".hpp", ".h"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = re.sub(r"^\s*(//|/?\*).*|//.*", "", line)
            assert not word.search(code), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_same_name_stands_in_every_folder(component):
    assert (ROOT / "reference" / f"{component}.hpp").exists()
    assert (ROOT / "reference" / "exports" / f"{component}.cpp").exists()
    assert (ROOT / "tests" / f"test_{component}.cpp").exists()
    assert (ROOT / "reference" / "mistakes" / f"{component}.hpp").exists()
    assert (ROOT / "notebooks" / f"{component}.ipynb").exists()
    assert f"notebooks/{component}.ipynb" in (ROOT / "reference" / f"{component}.hpp").read_text()


@pytest.mark.parametrize("source", sorted((ROOT / "cuda").glob("*.cu")), ids=lambda p: p.stem)
def test_every_cuda_file_has_its_reference(source):
    if source.stem in ("solution", "cublaslt", "mask_tiles"):  # parts that several files share
        return
    text = source.read_text()
    component = next((c for c in COMPONENTS if source.stem.startswith(f"{c}_")), source.stem)
    if component != source.stem:  # a later step of a ladder, in a file of its own
        ladder = (ROOT / "cuda" / f"{component}.cu").read_text()
        assert source.name in ladder and f"{component}.cu" in text, "they do not name each other"
        return
    reference = ROOT / "reference" / f"{source.stem}.hpp"
    assert f"cuda/{source.name}" in reference.read_text(), "the reference does not name its twin"
    assert f"reference/{source.stem}.hpp" in text, "the kernels do not name their twin"
    assert re.search(r"<-\s+(//\s+)?launched", text), "the ladder does not say which version is launched"
    for problem in re.findall(r"PRENORM_CUDA_EXPORT\((\w+),", text):
        assert problem in PROBLEMS


@pytest.mark.parametrize("path", FIXTURES, ids=PROBLEMS)
def test_file_problem_and_reference_agree(path):
    with h5py.File(path) as file:
        problem = file.attrs["problem"]
    assert problem == path.stem
    exports = "".join(p.read_text() for p in (ROOT / "reference" / "exports").glob("*.cpp"))
    assert re.search(rf"PRENORM_EXPORT\({problem},", exports)


def test_tf32_has_every_export():
    text = (ROOT / "reference/tf32/solution.cpp").read_text()
    for path in (ROOT / "reference/exports").glob("*.cpp"):
        assert f'#include "../exports/{path.name}"' in text


def test_who_includes_whom():
    for path in sources("harness", ".cpp", ".hpp", ".h"):
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            assert not include.startswith(("reference/", "cuda/", "xtensor")), path
    for path in sources("cuda", ".cu", ".cuh", ".cpp", ".hpp"):
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            assert not include.startswith(("../", "reference/", "xtensor")), path
    for path in sources("reference", ".cpp", ".hpp"):
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            assert not include.startswith("../harness"), path
            if include.startswith(("xtensor", "xsimd")):
                assert path.name == "tensor.hpp", f"{path}: only tensor.hpp includes {include}"


def test_the_program_never_links_libhdf5(program, home):
    for name in [program, home / "libexec/prenorm/prenorm-worker"]:
        needed = subprocess.run(["readelf", "-d", name], check=True, capture_output=True, text=True)
        assert "libhdf5" not in needed.stdout


def test_a_solution_exports_the_interface_and_nothing_else(home):
    for library in (home / "lib/prenorm").glob("*.so"):
        listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                                 capture_output=True, text=True).stdout
        # W and V are weak template instantiations of the C++ library and the like.
        strong = [line.split()[-1] for line in listing.splitlines() if line.split()[-2] == "T"]
        assert strong and all(name.startswith("prenorm_") for name in strong), library
