# labels: fixtures emulated tsan
# processors: 2
# slow labels: fixtures emulated asan tsan
"""The fixtures through all versions of the emulated kernels. In a build with sanitizers these check them; in one
without, the slow tier has them under the checker. Only small cases, since the checks take time.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import small_cases
from places import ROOT


SOURCES = "".join(path.read_text() for path in sorted((ROOT / "cuda").glob("*.cu")))
PROBLEMS = re.findall(r"^PRENORM_CUDA_EXPORT\((\w+),", SOURCES, re.MULTILINE)
VARIANTS = re.findall(r"^PRENORM_CUDA_VARIANT\((\w+), (\w+),", SOURCES, re.MULTILINE)
SANITIZE = os.environ.get("PRENORM_SANITIZE", "")
# The quick tier of a sanitizer has the kernels that others are made of.
QUICK_PROBLEMS = {"linear", "rmsnorm", "scaled_dot_product_attention", "softmax"} if SANITIZE else {*PROBLEMS}
# Elements of a case.
QUICK, SLOW = 1024, 3500 if "thread" in SANITIZE else 5000 if SANITIZE else 65536


def test_all_problems_are_found():
    assert PROBLEMS and VARIANTS and len(set(PROBLEMS)) == len(PROBLEMS)
    assert {problem for problem, _ in VARIANTS} <= set(PROBLEMS)


def replayed(program, home, problem, limit):
    """The fixture's cases of up to so many elements, by all solutions: (how many results there must
    be, results, errors)."""
    fixture = ROOT / "fixtures" / f"{problem}.h5"
    cases = small_cases(fixture, limit)
    if limit == SLOW and "thread" in SANITIZE:  # the quick tier has those below
        cases = sorted(set(cases) - set(small_cases(fixture, QUICK)))
    checked = limit == SLOW and not SANITIZE
    libraries = home / ("tests/checked" if checked else "lib/prenorm")
    kind = "checked" if checked else "emulated"
    launched = f"{libraries}/libprenorm_cuda-{kind}.so"
    # batch_invariant is made of steps of the ladder of linear, which are all here.
    variants = [v for name, v in VARIANTS if name == problem and v != "batch_invariant"]
    solutions = [launched, f"{libraries}/libprenorm_cuda-naive-{kind}.so",
                 *(f"{launched}/{variant}" for variant in variants)]
    words = [program, "verify", "--json", "-", "--timeout", "300", "--fixtures", fixture]
    for solution in solutions:
        words += ["--solution", solution]
    options = {"ASAN_OPTIONS": "handle_segv=0:allow_user_segv_handler=1:detect_leaks=0",
               "TSAN_OPTIONS": "halt_on_error=1"}
    # ThreadSanitizer keeps all address space that it ever had, and a worker may have 8 GiB.
    size = 16 if "thread" in SANITIZE else len(cases)
    assert len(cases) >= 4
    results, errors = [], ""
    for first in range(0, len(cases), size):
        chosen = [word for case in cases[first:first + size] for word in ("--case", case)]
        done = subprocess.run([*words, *chosen], capture_output=True, text=True,
                              env={**os.environ, **options})
        results += json.loads(done.stdout)["results"] if done.stdout else []
        errors += done.stderr
    return len(cases) * len(solutions), results, errors


@pytest.fixture(scope="module")
def replays(program, home, request):
    """{(problem, limit): Future of what replayed() gives} for the tests that were selected, two at a time: one
    command keeps one core busy."""
    asked = [(item.callspec.params["problem"], item.callspec.params["limit"])
             for item in request.session.items
             if getattr(item, "originalname", "") == "test_every_small_case_passes"]
    pool = ThreadPoolExecutor(2)
    yield {each: pool.submit(replayed, program, home, *each) for each in asked}
    pool.shutdown(cancel_futures=True)


# What versions for tensor cores do not take: which cases, and what they say.
REFUSALS = {"v4": (r"(?<!float16)$", "linear v4 takes float16 and bfloat16"),
            "split_keys": (r"^axis_d_[kv]|(?<!float16)$",
                           "split keys take float16 and bfloat16 with d_k and d_v up to 256"),
            "bf16x6": (r"^axis_d_[kv]|^odd_widths|^d_v_257|(?<!float32)$", "bf16x6 takes float32")}


def is_refused(result):
    """Whether a version for tensor cores refused what it does not take."""
    cases, message = REFUSALS.get(result["solution"].rpartition("/")[2], ("(?!)", ""))
    return (result["status"] == "NOT_IMPLEMENTED" and re.search(cases, result["case"])
            and message in result["message"])


@pytest.mark.parametrize("problem, limit", [
    pytest.param(problem, limit, marks=[pytest.mark.slow] * (limit == SLOW or problem not in QUICK_PROBLEMS))
    for problem in PROBLEMS for limit in (QUICK, SLOW)])
def test_every_small_case_passes(replays, problem, limit):
    wanted, results, errors = replays[problem, limit].result()
    wrong = [(r["case"], r["solution"], r["status"], r["message"]) for r in results
             if r["status"] != "PASSED" and not is_refused(r)]
    assert not wrong, errors
    assert len(results) == wanted, errors
