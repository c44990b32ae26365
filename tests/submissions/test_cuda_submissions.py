# labels: grading
# timeout: 1200
# slow processors: 2
# slow labels: grading
"""CUDA submissions without a device: `prenorm new --language cuda`, written in part, is verified and
graded in the emulator; what its kernels do wrong is told with its line."""
import json
import re
import subprocess
import time

import pytest
from conftest import not_sanitized, slow_but
from grading import grade, in_sandboxes, items, need, results
from places import ROOT, SUBMISSIONS, program, replaced


pytestmark = not_sanitized("there is no emulator for submissions")
KERNELS = (SUBMISSIONS / "cuda/kernels.cuh").read_text()
WRITTEN = {"relu": "RELU", "rmsnorm": "RMSNORM", "softmax": "SOFTMAX"}


def line_of(path, text):
    [line] = [i for i, each in enumerate(path.read_text().splitlines(), 1) if text in each]
    return f"{path.name}:{line}"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """What `prenorm new` writes for the rubric cuda-intro."""
    folder = tmp_path_factory.mktemp("new") / "mine"
    done = subprocess.run([program(), "new", folder, "--language", "cuda", "--rubric", "cuda-intro"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def write(start, tmp_path):
    """Writes functions into the start: gives solution.cu, in a folder with its CMakeLists.txt."""
    def run(*problems, kernels=KERNELS, **bodies):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        text = (start / "solution.cu").read_text()
        text = replaced(text, "namespace mine {\n", kernels + "\nnamespace mine {\n")
        for problem in problems:
            bodies[problem] = WRITTEN[problem]
        for problem, body in bodies.items():
            text, count = re.subn(r"(\nvoid %s\([^{]*\{\n) *throw prenorm::not_implemented\(\);" % problem,
                                  r"\1  " + body, text)
            assert count == 1
        for name in ("CMakeLists.txt", "README.md"):
            (folder / name).write_text((start / name).read_text())
        (folder / "solution.cu").write_text(text)
        return folder / "solution.cu"
    return run


@pytest.fixture
def verify(tmp_path):
    """Verifies a source: the exit code, the results, and what it printed."""
    def run(source, *words):
        report = tmp_path / "report.json"
        done = subprocess.run([program(), "verify", "--solution", source, "--json", report, *words],
                              capture_output=True, text=True, timeout=600)
        found = json.loads(report.read_text())["results"] if report.exists() else None
        return done.returncode, found, done.stdout + done.stderr
    return run


def test_verify_compiles_and_runs_in_one_step(write, verify):
    source = write("softmax")
    code, found, said = verify(source, "--problem", "softmax", "--case", "width_*_float32", "--case",
                               "height_*_float32")
    assert code == 0, said
    assert len(found) >= 9 and {result["status"] for result in found} == {"PASSED"}


# What is wrong: the problem whose kernel has it, what is replaced by what, the status, what the message
# says, and the text of the line that it names.
MISTAKES = {
    "no barrier": (
        "rmsnorm", "    __syncthreads();  // after each step\n", "",
        "RUNTIME_ERROR", "with no barrier between them", "parts[threadIdx.x] += parts"),
    "a part not written": (
        "rmsnorm", "  parts[threadIdx.x] = value;\n  __syncthreads();\n"
        "  for (unsigned half = threads / 2; half > 0; half /= 2) {\n    if (threadIdx.x < half) parts",
        "  if (threadIdx.x > 0) parts[threadIdx.x] = value;\n  __syncthreads();\n"
        "  for (unsigned half = threads / 2; half > 0; half /= 2) {\n    if (threadIdx.x < half) parts",
        "RUNTIME_ERROR", "that no thread has written", "parts[threadIdx.x] += parts"),
    "a step past the end": (
        "relu", "if (i < n) y[i]", "if (i <= n) y[i]",
        "OUT_OF_BOUNDS", "reads 4 bytes out of bounds, 4 bytes past the end of x",
        "if (i <= n) y[i]"),
    "a write past the end": (
        "relu", "if (i < n) y[i]", "if (i == 0) y[n + 2] = 0;\n  if (i < n) y[i]",
        "OUT_OF_BOUNDS", "writes 4 bytes out of bounds, 12 bytes past the end of y", "y[n + 2] = 0"),
    "an exception": (
        "relu", "if (i < n) y[i]", "if (i == 3) throw 3;\n  if (i < n) y[i]",
        "RUNTIME_ERROR", "thread (3, 0, 0): throws an exception", ""),
    "threads that return before a barrier": (
        "rmsnorm", "  const std::int64_t row = blockIdx.x * d_model;\n",
        "  const std::int64_t row = blockIdx.x * d_model;\n  if (threadIdx.x >= 40) return;\n",
        "RUNTIME_ERROR", "__syncthreads is reached by 40 of 128 threads", ""),
}


# Each is compiled for the emulator: the quick tier has one.
@pytest.mark.parametrize("name", slow_but({"no barrier"}, MISTAKES))
def test_a_kernel_s_mistake_is_told_with_its_line(write, verify, name):
    problem, old, new, status, says, line = MISTAKES[name]
    source = write(problem, kernels=replaced(KERNELS, old, new))
    _, found, said = verify(source, "--problem", problem, "--case", "base_float32")
    [result] = found
    assert result["status"] == status and says in result["message"], said
    if line:
        place = f"({source.parent}/{line_of(source, line)})"
        assert result["message"].endswith(place), result["message"]
        assert re.match(rf"kernel {problem}_kernel.*, block \(0, 0, 0\), thread \(",
                        result["message"])


@pytest.mark.slow
def test_a_barrier_that_nothing_needs_is_not_missed(write, verify):
    """The one before the next use of block_max's parts: block_sum has its own."""
    source = write("softmax", kernels=replaced(KERNELS, "  __syncthreads();\n  return largest;",
                                               "  return largest;"))
    _, found, said = verify(source, "--problem", "softmax", "--case", "base_float32")
    assert [each["status"] for each in found] == ["PASSED"], said


@pytest.fixture
def plain(tmp_path):
    """The guide's function that is no template: plain(old, new) writes it with something replaced."""
    [text] = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs/cuda-submissions.md").read_text(), re.S)

    def run(old="", new=""):
        (tmp_path / "mine.cu").write_text(replaced(text, old, new) if old else text)
        return tmp_path / "mine.cu"
    return run


@pytest.mark.slow
def test_a_function_that_is_no_template(plain, verify):
    code, found, said = verify(plain(), "--problem", "relu", "--dtype", "float32")
    assert code == 0 and sum(each["status"] == "PASSED" for each in found) > 20, said


EXPORT = "PRENORM_EXPORT_FUNCTION(relu, relu)"


@pytest.mark.slow
@pytest.mark.parametrize("old, new, says", [
    (EXPORT, "PRENORM_EXPORT(relu, relu)",
     "a function that is no template is exported by PRENORM_EXPORT_FUNCTION(problem, function)"),
    ("PRENORM_SOLUTION(kDLCUDA)\n" + EXPORT, "", "are the lines PRENORM_SOLUTION(kDLCUDA) and")])
def test_what_is_wrong_with_an_export(plain, tmp_path, old, new, says):
    _, report, _ = grade(plain(old, new), "--rubric", "all", "--problem", "relu", tmp=tmp_path)
    assert report["status"] == "COMPILE_ERROR" and says in report["message"], report["message"]


RIGHT = "y[i] = x[i] < T(0) ? T(0) : x[i]"
# Races on global memory, between threads of one block and of two: what stands for the right statement, and
# what is said. `None`: what several threads write is the same, or one of them has counted the others.
GLOBAL = {
    "neighbours": ("y[i / 2] += x[i]", "bytes of y that thread (0, 0, 0) wrote in the same line, with"),
    "blocks": ("y[threadIdx.x % n] += x[i]", "bytes of y that block (0, 0, 0), thread"),
    "a variable": ("{ y[i] = x[i] < T(0) ? T(0) : x[i]; arrived += 1; }",
                   "bytes of a __device__ variable that thread (0, 0, 0) wrote"),
    "the same value": ("{ y[i] = x[i] < T(0) ? T(0) : x[i]; y[0] = x[0] < T(0) ? T(0) : x[0]; }", None),
    "the last block": ("y[i] = -T(1);\n  __shared__ bool last;\n  __syncthreads();\n"
                       "  if (threadIdx.x == 0) {\n    __threadfence();\n"
                       "    last = atomicAdd(&arrived, 1u) == gridDim.x - 1;\n"
                       "    if (last) arrived = 0;\n  }\n"
                       "  __syncthreads();\n  if (!last) return;\n"
                       "  for (std::int64_t k = threadIdx.x; k < n; k += blockDim.x)\n"
                       "    y[k] = y[k] != -T(1) || x[k] < T(0) ? T(0) : x[k]", None),
}


@pytest.mark.parametrize("name", slow_but(set(), GLOBAL))
def test_races_on_global_memory_are_told(write, verify, name):
    new, says = GLOBAL[name]
    kernels = KERNELS.replace("template <class T>\n__global__ void relu_kernel",
                              "__device__ unsigned arrived;\n\ntemplate <class T>\n"
                              "__global__ void relu_kernel")
    source = write("relu", kernels=replaced(kernels, RIGHT, new))
    _, found, said = verify(source, "--problem", "relu", "--case", "elements_8209_float32")
    [result] = found
    if says is None:
        assert result["status"] == "PASSED", said
        return
    assert result["status"] == "RUNTIME_ERROR" and says in result["message"], said
    place = f"({source.parent}/{line_of(source, new)})"
    assert result["message"].endswith(place), result["message"]


@pytest.mark.slow
def test_verify_leaves_out_what_is_too_large(write, verify):
    source = write("relu")
    _, found, said = verify(source, "--problem", "relu", "--dtype", "float32")
    skipped = [each for each in found if each["status"] == "SKIPPED"]
    why = "large for the emulator: more than 65536 elements (--emulator-limit)"
    assert {each["message"] for each in skipped} == {why}
    assert f"{len(skipped)} cases SKIPPED: {why}" in said


@pytest.mark.slow
def test_the_limit_of_the_emulator_can_be_set(write, verify):
    _, found, said = verify(write("relu"), "--problem", "relu", "--case", "elements_*_float32",
                            "--emulator-limit", "140000")
    status = {each["case"]: each["status"] for each in found}
    assert status["elements_65539_float32"] == "PASSED", said
    assert status["elements_131101_float32"] == "SKIPPED", said
    assert "1 case SKIPPED: large for the emulator: more than 140000 elements" in said


@pytest.mark.slow
def test_profile_takes_a_source(write, tmp_path):
    source = write("relu")
    done = subprocess.run([program(), "profile", "relu", "--shape", "relu", "--dtype", "float32",
                           "--solution", source, "--json", tmp_path / "report.json", "--lines"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    [row] = json.loads((tmp_path / "report.json").read_text())["rows"]
    [kernel] = row["kernels"]
    assert kernel["load"]["sectors_per_request"] == 4
    assert f"{line_of(source, 'y[i] = x[i] <')} " in done.stdout


@pytest.mark.slow
def test_what_is_far_out_of_bounds_is_told_by_the_signal_and_the_line(write, verify):
    source = write("relu", kernels=replaced(KERNELS, "if (i < n) y[i] =", "if (i < n) y[i << 36] ="))
    _, [result], said = verify(source, "--problem", "relu", "--case", "base_float32")
    # SIGBUS for an address that no process can have, on some ways to it.
    assert result["status"] == "RUNTIME_ERROR" and re.search("SIG(SEGV|BUS)", result["message"])
    assert f"accesses no memory" in said and line_of(source, "y[i << 36]") in said, said


def test_what_does_not_compile_is_said_at_once(write, verify):
    """An error that each of four types has, in one line."""
    source = write("relu", kernels=replaced(KERNELS, "if (i < n) y[i] =", "if (i < n) y[i] = &y, y[i] ="))
    code, _, said = verify(source)
    first, second = said.splitlines()
    assert code == 2 and f"{line_of(source, '&y')}:" in first and ": error: " in first, said
    assert "does not compile" in second


def test_an_unsupported_word_is_said_in_one_message(write, verify):
    source = write("relu", kernels=replaced(KERNELS, "  if (i < n) y[i] =",
                                            '  asm("trap;");\n  if (i < n) y[i] ='))
    start = time.monotonic()
    code, _, said = verify(source)
    assert time.monotonic() - start < 10
    assert code == 2 and len(said.splitlines()) == 2, said
    assert f"{line_of(source, 'asm(')}: " in said and "asm" in said


@in_sandboxes(["folder", "file", "files in a folder"], slow=["file", "files in a folder"])
def test_three_written_functions_earn_exactly_their_points(write, tmp_path, name, sandbox):
    need(sandbox)
    source = write(*WRITTEN)
    if name == "files in a folder":  # as a class hands them in
        (source.parent / "CMakeLists.txt").unlink()
        (source.parent / "more.cu").write_text("int more() { return 1; }\n")
        source.write_text("int more();\nconst int used = more();\n" + source.read_text())
    code, report, said = grade(source if name == "file" else source.parent, "--rubric",
                               "cuda-intro", "--seed", 1, "--emulate", "--sandbox", sandbox,
                               "--html", tmp_path / "page.html", tmp=tmp_path)
    assert code == 1, said  # the other problems have failed
    earned = {each: item["earned"] for each, item in items(report).items()}
    assert earned == {"relu": 1, "embedding": 0, "rmsnorm": 3, "softmax": 3, "linear": 0,
                      "attention": 0}, said
    assert report["emulated"] and report["kind"].endswith(", emulated")
    assert ", emulated) by cuda-intro" in said
    page = (tmp_path / "page.html").read_text()
    assert ", emulated" in page
    # What the kernels do to memory is advice, of each problem with one: coalesced, but for softmax
    # over the first axis.
    profiles = {each["problem"]: each for each in report["profiles"]}
    assert set(profiles) == set(WRITTEN)
    for problem, profile in profiles.items():
        [kernel] = profile["kernels"]
        assert kernel["kernel"].startswith(f"{problem}_kernel")
        assert kernel["requests"] > 0 and kernel["sectors"] >= kernel["ideal_sectors"] > 0
        assert profile["moved_bytes"] == 32 * kernel["sectors"] >= profile["least_bytes"] > 0
        assert profile["case"] in said and f"{problem}_kernel" in page
        shared = kernel["shared_requests"]
        assert shared == 0 if problem == "relu" else kernel["wavefronts"] >= shared > 0
    assert profiles["relu"]["moved_bytes"] <= 1.1 * profiles["relu"]["least_bytes"]
    assert "Advice, without points" in said and "Advice, without points" in page
    assert "\\n" not in page.split('id="kernels"')[1]


@in_sandboxes(["no barrier", "a step past the end"], slow=["no barrier", "a step past the end"])
def test_the_grade_names_the_line(write, tmp_path, name, sandbox):
    need(sandbox)
    problem, old, new, status, says, line = MISTAKES[name]
    source = write(*WRITTEN, kernels=replaced(KERNELS, old, new))
    _, report, said = grade(source.parent, "--rubric", "cuda-intro", "--seed", 1, "--problem",
                            problem, "--sandbox", sandbox, tmp=tmp_path)
    failed = [each for each in results(report, problem) if each["status"] == status]
    place = f"({line_of(source, line)})"
    assert any(each["message"].endswith(place) for each in failed if not each["hidden"]), said
    assert says in said and place in said
    # Of hidden cases nothing is told but the status.
    assert {each["message"] for each in failed if each["hidden"]} <= {""}


ON_HOST = """std::vector<T> all(x.size());
  cudaMemcpy(all.data(), x.data(), all.size() * sizeof(T), cudaMemcpyDeviceToHost);
  for (T& each : all) each = float(each) < 0 ? T(0) : each;
  cudaMemcpy(y.data(), all.data(), all.size() * sizeof(T), cudaMemcpyHostToDevice);
"""


@pytest.mark.slow
def test_what_computes_on_the_host_has_no_kernel(write, tmp_path):
    source = write(relu=ON_HOST)
    _, report, said = grade(source, "--rubric", "cuda-intro", "--seed", 1, "--problem", "relu",
                            tmp=tmp_path)
    assert items(report)["relu"]["earned"] == 0
    assert "launches no kernel, which this rubric requires" in said
    # By a rubric that does not ask for kernels it is right.
    _, report, said = grade(source, "--rubric", "all", "--seed", 1, "--case", "base_float32",
                            "--problem", "relu", tmp=tmp_path)
    assert {each["status"] for each in results(report, "relu")} == {"PASSED"}, said


@pytest.mark.slow
def test_what_does_not_compile_is_a_compile_error(write, tmp_path):
    source = write("relu", kernels=replaced(KERNELS, "if (i < n) y[i] =", "if (i < n) z[i] ="))
    code, report, said = grade(source.parent, "--rubric", "cuda-intro", "--seed", 1, tmp=tmp_path)
    assert code == 1 and report["status"] == "COMPILE_ERROR" and report["earned"] == 0
    assert line_of(source, "z[i] =") in report["message"] and "z" in report["message"], said


@pytest.mark.slow
@pytest.mark.parametrize("name, device, body, says", [
    ("loop", "kDLCUDA", "for (int i = 0; i < x.size(); ++i) y[i] = x[i];", "x"),
    ("copy", "kDLCUDA", "std::memcpy(y.data(), x.data(), x.size() * sizeof(T));", "[xy]"),
    ("own", "kDLCUDA", "float* own; cudaMalloc(&own, 400); own[99] = 1; " + "RELU",
     "an allocation of 400 bytes"),
    ("pinned", "kDLCUDA", "float* own; cudaMallocHost(&own, 400); own[99] = 1; " + "RELU", None),
    ("managed", "kDLCUDA", "float* own; cudaMallocManaged(&own, 400); own[99] = 1; " + "RELU",
     None),
    ("host", "kDLCPU",
     "for (int i = 0; i < x.size(); ++i) y[i] = float(x[i]) < 0 ? T(0) : x[i];", None)])
def test_the_host_cannot_read_what_lies_on_the_device(write, verify, name, device, body, says):
    source = write(relu=body)
    source.write_text(replaced(source.read_text(), "PRENORM_SOLUTION(kDLCUDA)",
                               f"PRENORM_SOLUTION({device})"))
    code, found, said = verify(source, "--problem", "relu", "--dtype", "float32")
    if says is None:
        assert code == 0, said
        return
    told = f"host code accesses {says}, which lies on the device"
    wrong = [each for each in found if each["status"] == "RUNTIME_ERROR"]
    assert code == 1 and wrong and all(re.match(told, each["message"]) for each in wrong), said
    if name != "copy":  # which is the C library's
        assert line_of(source, body.split(";")[0]) in said, said


LARGE = "x.size() > 60000"


@pytest.mark.slow
@pytest.mark.parametrize("body, status", [
    ("", "PASSED"),
    # A kernel that is launched is no excuse for what the host gets wrong in large cases.
    ("relu_kernel<<<1, 1>>>(x.data(), y.data(), 0);\n" +
     ON_HOST.replace("all(x.size())", f"all({LARGE} ? 1 : x.size())"), "INCORRECT_NUMERICAL"),
    (f"if ({LARGE}) endless<<<1, 1>>>();\n", None)], ids=["kernel", "host", "endless"])
def test_large_cases_are_left_out_only_if_they_take_too_long(write, tmp_path, body, status):
    kernels = KERNELS + """
__global__ void endless() { for (volatile unsigned long i = 1; i != 0; ++i) {} }
"""
    source = write(kernels=kernels, relu=body if "cudaMemcpy" in body else body + WRITTEN["relu"])
    _, report, said = grade(source, "--rubric", "all", "--seed", 1, "--problem", "relu", "--dtype",
                            "float32", "--emulator-limit", "60000", tmp=tmp_path)
    why = "2 cases left out: the emulator takes too long for more than 60000 elements"
    assert (why in said) == (status is None), said
    large = [each for each in results(report, "relu") if re.search("65539|131101", each["case"])]
    assert {each["status"] for each in large} == ({status} if status else set()), said
