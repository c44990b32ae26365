# labels: fixtures slow
"""docs/extending.md, "Add a problem": the six touches that it lists are enough, also for the page of `prenorm
study`, and a missing one is named."""

import os
import re
import shutil
import subprocess
import sys

import h5py
import pytest

from places import ROOT


TEXT = """\
// Linear layer with a low-rank update.
#pragma once

#include "linear.hpp"

namespace prenorm::reference {

/// LoRA:  y = x Wᵀ + scale (x Aᵀ) Bᵀ
///
/// Source   Hu et al. 2021, arXiv:2106.09685, eq. 3
/// Twins    fixtures/lora.h5  tests/reference/test_lora.cpp
template <class T>
Tensor<T> lora(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& a, const Tensor<T>& b,
               double scale) {
  const Tensor<T> base = linear(x, weight), update = linear(linear(x, a), b);
  require_same_shape(base, update, "lora: x Wᵀ and its update");
  return narrow<T>(widen(base) + widen(update) * static_cast<compute_t<T>>(scale));
}

}  // namespace prenorm::reference
"""

# The touches for a problem `lora`, by the words of the page: files to write, or text to append.
TOUCHES = {
    "reference/X.hpp": TEXT,
    "reference/fast/X.hpp": TEXT.replace("prenorm::reference", "prenorm::fast"),  # it only calls others
    "reference/exports/X.cpp": """\
#include "lora.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_EXPORT(lora, room::lora)
""",
    "fixtures/oracle.py": '''

@problem("lora", "x[..., d_in], weight[d_out, d_in], a[r, d_in], b[d_out, r]; scale: float "
         "-> y[..., d_out]", "y = x Wᵀ + scale (x Aᵀ) Bᵀ; Hu et al. 2021, arXiv:2106.09685, eq. 3")
def lora(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    return x @ weight.T + scale * (x @ a.T) @ b.T
''',
    "fixtures/cases/X.py": '''\
"""Cases of lora."""

from cases import DTYPES, Case, normal


def lora():
    for dtype in DTYPES:
        yield Case("small", dtype, {"x": normal(1, 3, 40), "weight": normal(0.2, 5, 40),
                                    "a": normal(0.2, 2, 40), "b": normal(0.5, 5, 2)},
                   {"scale": 0.5}, description="Rank 2.", dims="d_in")
''',
    "tests/reference/test_X.cpp": """\
#include "lora.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(lora)

BOOST_AUTO_TEST_CASE_TEMPLATE(by_hand, T, AllTypes) {
  const auto x = tensor<T>({1, 2}, {1, 2}), weight = tensor<T>({1, 2}, {3, 4});
  const auto a = tensor<T>({1, 2}, {1, -1}), b = tensor<T>({1, 1}, {8});
  BOOST_TEST(same(room::lora(x, weight, a, b, 0.5), tensor<double>({1, 1}, {7})));
}

BOOST_AUTO_TEST_SUITE_END()
""",
}

PAGE = """\
import sys
from pathlib import Path

import pages

answers = {problem: {"inputs": "", **answer} for problem, answer in pages.ask(["lora"]).items()}
site = pages.Site(Path(sys.argv[1]), pages.Facts(answers, ""), {}, {})
site.add("lora", None, None)
site._write("lora.html", "page.html.j2", **site._page("lora"))
site._write("index.html", "index.html.j2", **site._index())
"""


def run(*words, fails=False, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def touch(tree, name):
    path = tree / name.replace("X", "lora")
    with path.open("a") as file:
        file.write(TOUCHES[name])


def make_fixture(tree, program, home=None, **options):
    environment = {**os.environ, "PRENORM_HOME": str(home)} if home else None
    return run(sys.executable, tree / "fixtures" / "make_fixtures.py", "--problem", "lora", "--prenorm",
               program, env=environment, **options)


def copied(tree):
    ignored = shutil.ignore_patterns("build", ".*", "__pycache__", "cuda", "notebooks", "docs")
    shutil.copytree(ROOT, tree, ignore=ignored)
    return tree


def contents(tree):
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def build(tree, tmp_path):
    """The three solutions that a new problem needs. Built without the other problems, to be quick."""
    sources, folder = tmp_path / "sources", tmp_path / "build"
    shutil.copytree(tree, sources)
    for path in (sources / "reference" / "exports").glob("*.cpp"):
        if path.stem != "lora":
            path.unlink()
    names = ["reference", "plain", "plain-tf32"]
    run("cmake", "-S", sources, "-B", folder, "-G", "Ninja", "-DBUILD_TESTING=OFF", "-DPRENORM_CUDA=OFF",
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")
    run("cmake", "--build", folder, "--target", *(f"prenorm_solution_{name}" for name in names))
    return folder / "lib" / "prenorm"


def test_the_page_lists_six_touches():
    section = (ROOT / "docs/extending.md").read_text().split("## Add a problem")[1].split("\n## ")[0]
    listed = re.findall(r"^\d\. `([^`]+)`", section, re.M)
    assert listed == list(TOUCHES)


def test_six_touches_add_a_problem(program, home, tmp_path):
    tree = copied(tmp_path / "tree")
    before = contents(tree)
    for name in TOUCHES:
        touch(tree, name)
    touched = {name.replace("X", "lora") for name in TOUCHES}
    changed = {name for name, text in contents(tree).items() if before.get(name) != text}
    assert changed == touched

    # The program and its helpers of this build, with solutions and fixtures of the copy.
    own = tmp_path / "home"
    libraries = build(tree, tmp_path)
    (own / "lib").mkdir(parents=True)
    (own / "share" / "prenorm").mkdir(parents=True)
    (own / "lib" / "prenorm").symlink_to(libraries)
    mistakes = "lib/prenorm/libprenorm_mistakes.so"  # of the other problems: the new one has none
    (own / mistakes).symlink_to(home / mistakes)
    (own / "libexec").symlink_to(home / "libexec")
    (own / "share" / "prenorm" / "fixtures").symlink_to(tree / "fixtures")
    environment = {**os.environ, "PRENORM_HOME": str(own)}

    make_fixture(tree, program, own)
    changed = {name for name, text in contents(tree).items() if before.get(name) != text}
    assert changed == touched | {"fixtures/lora.h5", "fixtures/rubrics/all.toml"}
    with h5py.File(tree / "fixtures" / "lora.h5") as file:
        y = file["cases/small_float32/outputs/y"].attrs
        # Products in tf32 have a larger error, so they have a larger tolerance of their own.
        assert y["atol_tf32"] > 10 * y["atol"] > 0 and y["rtol_tf32"] == 4 * 2**-10

    printed = run(program, "verify", "--solution", "reference", "--solution", "plain", "--problem",
                  "lora", "--fixtures", tree / "fixtures", env=environment)
    assert len(re.findall(r"PASSED 4/4", printed)) == 2, printed
    printed = run(program, "grade", libraries / "libprenorm_plain.so", "--rubric", "all", "--problem",
                  "lora", "--no-hidden", "--sandbox", "none", env=environment)
    assert "lora" in printed

    # Its page has what there is: no kernels, no known mistakes.
    for folder in ("notebooks", "cuda"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "records"))
    (own / "bin").symlink_to(home / "bin")
    run(sys.executable, "-c", PAGE, tmp_path, env={**environment, "PYTHONPATH": f"{tree}/notebooks:{tree}/notebooks/study"})
    page = (tmp_path / "lora.html").read_text()
    assert 'id="code-lora"' in page and "reference/lora.hpp" in page
    assert "4/4 cases pass" in page and "mistakes caught" not in page and "no CUDA code" in page
    assert 'href="lora.html#code-lora"' in (tmp_path / "index.html").read_text()

    # Its own tests, which tests/CMakeLists.txt would find, in both rooms.
    for room, folder in (("TEXT", "reference"), ("FAST", "reference/fast")):
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-fopenmp", "-DBOOST_TEST_DYN_LINK",
            f"-DPRENORM_{room}", f"-I{tree}/{folder}", f"-I{tree}/tests/reference",
            f"-I{tree}/harness/include", tree / "tests/support/main.cpp", tree / "tests/reference/test_lora.cpp",
            "-o", tmp_path / f"test_{room}", "-lboost_unit_test_framework", "-lopenblas")
        run(tmp_path / f"test_{room}")


@pytest.mark.parametrize("missing, words", [
    ("fixtures/cases/X.py", r"fixtures/cases/lora\.py is missing"),
    ("reference/X.hpp", r"reference/lora\.hpp is missing"),
    ("reference/fast/X.hpp", r"reference/fast/lora\.hpp is missing"),
    ("reference/exports/X.cpp", r"reference/exports/lora\.cpp is missing"),
])
def test_a_missing_touch_is_named(program, tmp_path, missing, words):
    tree = tmp_path / "tree"
    for folder in ("fixtures/cases", "reference/exports", "reference/fast"):
        (tree / folder).mkdir(parents=True)
    for path in (ROOT / "fixtures").glob("*.py"):
        shutil.copy(path, tree / "fixtures")
    shutil.copy(ROOT / "fixtures/cases/__init__.py", tree / "fixtures/cases")
    for name in TOUCHES:
        if name != missing and not name.startswith("tests/"):
            touch(tree, name)
    printed = make_fixture(tree, program, fails=True)
    assert re.search(words, printed), printed
    assert not (tree / "fixtures" / "lora.h5").exists()
