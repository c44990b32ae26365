# labels: emulated
# timeout: 1800
# processors: 2
# slow labels: emulated
"""`prenorm emulate`: whole CUDA programs on the CPU (programs/), and those with a bug planted
(programs/bugs.cu), each of which is found in the line marked `// BUG`."""
import ctypes
import json
import os
import platform
import re
import resource
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import not_sanitized, slow_but
from disks import on_small_disk
from places import ROOT


PROGRAMS = ROOT / "tests/emulator/programs"
RIGHT = sorted(path.stem for path in PROGRAMS.glob("*.cu") if path.stem != "bugs")
SOURCE = (PROGRAMS / "bugs.cu").read_text()
# {name: ({check: what is said}, line)}
BUGS = {found[1]: (dict(re.findall(r"// (\w+): (.*)", found[2])), SOURCE[:found.end()].count("\n") + 1)
        for found in re.finditer(
            r"if defined\(BUG_(\w+)\)\n((?:// (?:init|memory|race|none): .*\n)+)(?s:.*?)// BUG", SOURCE)}
# Those whose accesses nvcc and the emulator see alike: no tiles or libraries, no waiting, no constants
# that nvcc keeps in global memory, no atomics of 16 bits, no pointers among the launch's own arguments.
COUNTED = sorted(set(RIGHT) - {"cublas_product", "host_threads", "names_of_both_sides", "random_pi",
                                "random_streams", "ray_tracer", "running_together", "small_atomics",
                                "split_constants", "waiting", "wmma_product"})
CHECKS = ["init", "none", "memory", "race"]

# The quick tier has one of each kind.
QUICK_RIGHT = {"cublas_product", "reductions", "streams_and_events", "thrust_keys", "wmma_product"}
QUICK_BUGS = {"barrier_in_a_branch", "missing_barrier", "off_by_one", "unknown_texture",
              "unwritten_shared"}

pytestmark = not_sanitized("programs have sanitizers of their own")


def emulate(*words, **more):
    program = Path(os.environ["PRENORM_PROGRAM"])
    return subprocess.run([program, "emulate", *words], capture_output=True, text=True, timeout=300,
                          **more)


@pytest.fixture
def emulated(tmp_path):
    """emulated(text, words...): the finished program of this text, which is in emulated.path."""
    def run(text, *words):
        run.path.write_text(text)
        return emulate(run.path, *words)

    run.path = tmp_path / "program.cu"
    return run


def test_there_are_programs():
    assert len(RIGHT) >= 70 and len(BUGS) == SOURCE.count("if defined(BUG_")
    assert sum(len(finders) for finders, _ in BUGS.values()) >= 44


@pytest.mark.parametrize("name, check", [
    pytest.param(name, check, marks=[pytest.mark.slow] * (check != "init" or name not in QUICK_RIGHT))
    for check in CHECKS for name in RIGHT
    # Without a check, which finds nothing, some. ThreadSanitizer has no blocks that run together, and calls what
    # is volatile a race.
    if check != "none" or name in QUICK_RIGHT | {"waiting"}
    if (name, check) != ("waiting", "race")])
def test_nothing_is_found_in_a_right_program(name, check):
    done = emulate(PROGRAMS / f"{name}.cu", "--check", check)
    said = done.stderr
    if name == "waiting" and check != "init":  # its blocks may wait for long, which is told and no finding
        said = re.sub(r"prenorm: kernel backwards, .*: runs after 10 seconds of .*\n", "", said)
    assert (done.returncode, said) == (0, ""), done.stdout + done.stderr
    assert "agree" in done.stdout


def test_who_watches_launches_does_not_keep_a_program_alive(emulated):
    """It ends with its last thread, which is not that of main()."""
    done = emulated("""#include <pthread.h>
#include <cstdio>
__global__ void k() {}
void* later(void*) { std::puts("ended"); return nullptr; }
int main() {
  k<<<1, 1>>>();
  cudaDeviceSynchronize();
  pthread_t thread;
  pthread_create(&thread, nullptr, later, nullptr);
  pthread_exit(nullptr);
}
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_an_error_beside_blocks_that_wait_for_all_is_the_one_that_is_told(emulated):
    done = emulated("""#include <cooperative_groups.h>
__global__ void k(float* x) {
  if (blockIdx.x == 2) x[4] = 1;
  cooperative_groups::this_grid().sync();
}
int main() {
  float* x;
  cudaMalloc(&x, 16);
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel((void const*)k, dim3(4), dim3(32), arguments, 0, 0);
  cudaDeviceSynchronize();
}
""")
    assert done.returncode == 1 and f"{emulated.path}:3" in done.stderr, done.stderr
    assert "waits for all" not in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PRENORM_NVCC"), reason="there is no nvcc")
@pytest.mark.parametrize("name", sorted(set(RIGHT) - set(COUNTED)))
def test_program_is_cuda(name, tmp_path):
    """nvcc takes the same file: what is emulated is CUDA, and no language of our own. (The others it compiles
    below, where accesses are counted.)"""
    nvcc = os.environ["PRENORM_NVCC"]
    done = subprocess.run([nvcc, "-arch=sm_80", "-ptx", PROGRAMS / f"{name}.cu", "-o",
                           tmp_path / "out.ptx"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", slow_but(QUICK_BUGS, BUGS))
def test_bug_is_found_in_its_line(name):
    path, (finders, line) = PROGRAMS / "bugs.cu", BUGS[name]
    for check, says in finders.items():
        done = emulate(path, "-D", f"BUG_{name}", "--check", check)
        refused = name.startswith(("unknown_", "refused_"))
        assert done.returncode == (2 if refused else 1), done.stdout + done.stderr
        assert says in done.stderr, done.stderr
        assert f"{path}:{line}" in done.stderr, done.stderr
        places = re.findall(rf"{path}:\d+: ", done.stderr)
        assert len(places) == len(set(places)), done.stderr
        assert len(done.stderr.splitlines()) == 1 or not refused, done.stderr
        if check == "none":
            assert len(done.stderr.splitlines()) == 1


MAIN = "#include <cstdio>\n#include <cstdlib>\n"


def test_arguments_and_exit_code(emulated):
    done = emulated(MAIN + "int main(int argc, char** argv) {\n  for (int i = 1; i < argc; ++i) "
                    "puts(argv[i]);\n  return argc + VALUE;\n}\n",
                    "-D", "VALUE=4", "--", "--help", "-x", "a b", "--")
    assert (done.returncode, done.stdout, done.stderr) == (9, "--help\n-x\na b\n--\n", "")


def test_several_files_and_headers(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include/twice.h").write_text("#pragma once\nvoid twice(float* x);\n")
    (tmp_path / "twice.cu").write_text(
        '#include "twice.h"\n__global__ void k(float* x) { *x *= 2; }\n'
        "void twice(float* x) { k<<<1, 1>>>(x); }\n")
    (tmp_path / "main.cu").write_text(
        MAIN + '#include "twice.h"\nint main() {\n  float* x;\n  cudaMallocManaged(&x, 4);\n'
        '  *x = 21;\n  twice(x);\n  cudaDeviceSynchronize();\n  printf("%g\\n", *x);\n}\n')
    done = emulate(tmp_path / "main.cu", tmp_path / "twice.cu", "-I", tmp_path / "include")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_output_can_be_kept(emulated, tmp_path):
    done = emulated(MAIN + '__global__ void hello() { printf("hello %d\\n", threadIdx.x); }\n'
                    "int main() { hello<<<1, 2>>>(); cudaDeviceSynchronize(); }\n", "-o", tmp_path / "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    run = subprocess.run([tmp_path / "hello"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "hello 0\nhello 1\n")


def test_errors_of_the_compiler_name_the_users_line(emulated):
    done = emulated("__global__ void k(int* x) {\n  *x = missing;\n}\nint main() {}\n")
    assert done.returncode == 2 and f"{emulated.path}:2:" in done.stderr, done.stderr
    assert "'missing' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")


DEATHS = {  # {how: (a kernel's body, main's, exit code, what is said)}
    "abort": ("", "abort();", 134, "host code is ended by abort"),
    "raise": ("", "raise(SIGABRT);", 134, "host code is ended by abort"),
    "damaged_lists": ("", "std::thread([] {}).join(); char* at[64]; for (auto& p : at) p = (char*)malloc(2000); "
                      "for (int i = 0; i < 64; i += 2) free(at[i]); memset(at[31], 65, 2064); x = (int*)malloc(9);"
                      " for (auto& p : at) p = (char*)malloc(5000);", 134, "host code is ended"),
    "freed_by_the_host": ("", "cudaMalloc(&x, 4); free(x);", 134, "host code is ended by abort"),
    "null": ("", "*(volatile int*)x = 1;", 139, "host code accesses no memory, at (nil)"),
    "calls": ("", "return main(count + 1, words) + x[count];", 139, "host code calls itself without end"),
    "damage": ("", "char at[9]; cudaMalloc(&x, 1 << 28); cudaMemset(x, 0, 1 << 28); "
               "cudaMemcpy(at, x, 1 << 28, cudaMemcpyDeviceToHost);", 139,
               "by damaged memory perhaps: --check memory may say where|host code accesses no memory, at 0x"),
    "abort_of_a_thread": ("if (threadIdx.x == 3) abort();", "", 134,
                          "kernel k, block (0, 0, 0), thread (3, 0, 0) is ended by abort"),
    "calls_of_a_thread": ("", "if (count > 1) return main(count + 1, words) + x[count]; "
                          "std::thread([&] { main(2, words); }).join();", 139,
                          "host code calls itself without end"),
    "large_array": ("int at[100000]; for (int i = 0; i < n; ++i) at[i % 9] = i; x[0] = at[n];", "", 1,
                    "kernel k, block (0, 0, 0), thread (0, 0, 0): its stack is full"),
}


@pytest.mark.parametrize("how, check", [
    *((how, "init") for how in ("abort", "large_array")),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in [
        *((how, "init") for how in sorted(set(DEATHS) - {"abort", "large_array"})),
        *((how, check) for how in ("abort_of_a_thread", "calls_of_a_thread", "null")
          for check in ("memory", "race"))])])
def test_a_death_is_told(how, check, emulated):
    of_kernel, of_main, code, says = DEATHS[how]
    done = emulated("#include <csignal>\n#include <cstring>\n#include <thread>\n" + MAIN +
                    f"__global__ void k(int* x, int n) {{ {of_kernel} }}\n"
                    f"int main(int count, char** words) {{ int* x = nullptr; {of_main}\n"
                    "  k<<<1, 8>>>(x, 30);\n  cudaDeviceSynchronize();\n}\n", "--check", check)
    assert done.returncode == code and any(each in done.stderr for each in says.split("|")), done.stderr
    place = f"{emulated.path}:{6 if of_kernel else 7}"
    assert place in done.stderr or how.startswith("damage"), done.stderr
    if code > 128:
        assert "the program was ended by" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("check", ["none", "race"])
def test_an_endless_kernel_is_told(check, tmp_path):
    """Where it runs after a while, and where when it is interrupted."""
    path = tmp_path / "endless.cu"
    path.write_text("__global__ void k(int* x, int end) {\n\n  while (*x != end);\n}\nint main() {\n"
                    "  int* x;\n  cudaMalloc(&x, 4);\n  cudaMemset(x, 0, 4);\n  k<<<1, 1>>>(x, 7);\n}\n")
    with subprocess.Popen([os.environ["PRENORM_PROGRAM"], "emulate", path, "--check", check], text=True,
                          stderr=subprocess.PIPE, start_new_session=True) as running:
        said = running.stderr.readline()
        os.killpg(running.pid, signal.SIGINT)
        interrupted = running.stderr.read()
    thread = "prenorm: kernel k, block (0, 0, 0), thread (0, 0, 0): runs"
    assert said == f"{thread} after 10 seconds of processor time, and goes on ({path}:3)\n"
    assert f"{thread} when the program is interrupted ({path}:3)" in interrupted
    assert running.returncode == 130


@pytest.mark.slow
@pytest.mark.parametrize("asks", ["", "  if (cudaGetLastError() != cudaSuccess) puts(\"heard\");\n"])
def test_a_launch_that_was_refused_is_told_where_nobody_asks(emulated, asks):
    done = emulated(MAIN + "__global__ void fill() {}\nint main() {\n  fill<<<1, 2048>>>();\n" + asks
                    + "  cudaDeviceSynchronize();\n}\n")
    assert done.returncode == 0
    told = "a launch was refused, and never asked for its error: kernel fill: a block of (2048, 1, 1)"
    assert (told in done.stderr and f"{emulated.path}:5" in done.stderr) == (asks == ""), done.stderr


@pytest.mark.slow
def test_a_conversion_of_what_does_not_fit_is_told(emulated):
    """In kernels alone, and only what the type has no room for."""
    done = emulated(MAIN + "__global__ void k(float x) {\n  volatile int fits = -1e9f * x;\n"
                    "  volatile int large = 3e9f * x;\n}\nint main(int count, char**) {\n"
                    "  volatile int large = 3e9f * count;\n  k<<<1, 2>>>(1);\n}\n")
    assert (done.returncode, done.stderr) == (
        0, "prenorm: kernel k, block (0, 0, 0), thread (0, 0, 0): converts 3e+09 to 'int', which a device "
        f"saturates and this does not ({emulated.path}:5)\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind, to, start, status", [
    ("HostToDevice", "d", "h", 0), ("DeviceToHost", "h", "d", 0), ("Default", "d", "d", 0),
    ("DeviceToHost", "d", "h", 1), ("HostToDevice", "h", "d", 1), ("DeviceToDevice", "d", "h", 1),
    ("HostToHost", "h", "d", 1), ("HostToDevice", "d", "m", 0), ("DeviceToHost", "m", "d", 0)])
def test_a_copy_s_direction_fits_its_pointers(emulated, kind, to, start, status):
    done = emulated(MAIN + f"""int main() {{
  float *h = (float*)calloc(1, 64), *d, *m;
  cudaMalloc(&d, 64); cudaMallocManaged(&m, 64); cudaMemset(d, 0, 64);
  return cudaMemcpy({to}, {start}, 64, cudaMemcpy{kind});
}}
""")
    assert done.returncode == status


def test_cxx20_where_it_is_asked_for(emulated):
    text = MAIN + "int main() { return __cplusplus / 100 - 2017; }\n"
    assert emulated(text).returncode == 0
    assert emulated(text, "--std", "c++20").returncode == 3


def test_a_full_disk_is_told(tmp_path):
    done, files = on_small_disk(tmp_path, 64, os.environ["PRENORM_PROGRAM"], "emulate", PROGRAMS / "vector_add.cu",
                                TMPDIR=tmp_path / "disk")
    assert done.returncode == 2 and files == {}
    assert done.stderr == (f"{PROGRAMS / 'vector_add.cu'}: nothing can be written in {tmp_path}/disk: "
                           "is the disk full?\n")


def test_folders_whose_names_mean_something(tmp_path):
    """A quote to the sanitizers' options, "note" to what shortens a compiler's words."""
    folder = tmp_path / "it's a note"
    folder.mkdir()
    path = folder / "beyond.cu"
    path.write_text(MAIN + """__global__ void k(int* x) { x[threadIdx.x + 1] = 1; }
int main() { int* x; cudaMalloc(&x, 128); k<<<1, 32>>>(x); return cudaDeviceSynchronize(); }
""")
    done = emulate(path, "--check", "memory", env=os.environ | {"TMPDIR": str(folder)})
    assert done.returncode == 1 and "a write of 4 bytes" in done.stderr, done.stderr
    path.write_text(MAIN + "__global__ void k(cudaTextureObject_t t) {}\n")
    done = emulate(path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "a texture" in done.stderr, done.stderr


def test_missing_file_and_unknown_check(tmp_path):
    done = emulate(tmp_path / "none.cu")
    assert done.returncode == 2 and "none.cu: no such file" in done.stderr
    done = emulate(tmp_path / "none.cu", "--check", "everything")
    assert done.returncode == 2 and "everything" in done.stderr


def test_profile(tmp_path):
    path = tmp_path / "strided.cu"
    path.write_text(MAIN + '''
__global__ void strided(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x * 32];
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  cudaMalloc(&y, 128);
  strided<<<1, 32>>>(x, y);
  puts("its own words");
  return 7;
}
''')
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    done = emulate(path, "--profile", "--html", page, "--svg", picture)
    assert (done.returncode, done.stderr) == (7, "")
    words, kernels, lines, *_ = re.split(r"(?:^|\n)(?=kernel )", done.stdout)
    assert words == "its own words"
    [row] = [line.split() for line in kernels.splitlines() if line.startswith("strided")]
    # blocks, threads, launches; sectors per load and, in brackets, the least; per store; bytes
    assert row[1:10] == ["1", "32", "1", "32", "(4)", "4", "1.12", "KiB", "1.12"], row
    assert "strided.cu:5" in lines and "32 lanes read 4 bytes each, 128 bytes apart" in lines
    for text in (page.read_text(), picture.read_text()):
        assert "strided.cu:5" in text and "32 lanes read 4 bytes each, 128 bytes apart" in text
    # The page has a picture of each of the two accesses, the file one of the worse.
    assert (page.read_text().count("</svg>"), picture.read_text().count("</svg>")) == (2, 1)
    assert "32 lanes write" not in picture.read_text()
    done = emulate(path, "--svg", "-", "--line", "strided.cu:5")
    assert "</svg>" in done.stdout and "sectors" not in done.stdout.split("</svg>")[1]
    done = emulate(path, "--line", "strided.cu:99")
    assert done.returncode == 2 and "no request of line 'strided.cu:99' was counted" in done.stderr


def test_profile_of_a_program_without_kernels(emulated, tmp_path):
    text = "int main() {}\n"
    done = emulated(text, "--profile")
    assert (done.returncode, done.stdout) == (0, "") and "no kernel ran" in done.stderr
    assert emulated(text, "--html", tmp_path / "page.html").returncode == 1
    for words in (["--check", "race"], ["-o", tmp_path / "program"]):
        done = emulated(text, "--html", tmp_path / "page.html", *words)
        assert done.returncode == 2 and "leave out --check and -o" in done.stderr


def compile_by_front_door(source, *options, compiler=("c++",)):
    program = Path(os.environ["PRENORM_PROGRAM"]).resolve()
    front_door = program.parent.parent / "libexec/prenorm/prenorm-cu++"
    return subprocess.run([front_door, *compiler, "-std=c++20", *options, "-c", source],
                          capture_output=True, text=True)


def test_forms_of_the_compilers_command_line(tmp_path):
    path = tmp_path / "empty.cu"
    path.write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    for options in (["-o", tmp_path / "apart.o"], [f"-o{tmp_path}/joined.o"]):
        done = compile_by_front_door(path, *options)
        assert (done.returncode, done.stderr) == (0, "")
    assert {each.name for each in tmp_path.glob("*.o")} == {"apart.o", "joined.o"}
    done = compile_by_front_door(path, "-o", tmp_path / "launched.o", compiler=("env", "c++"))
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "launched.o").exists()
    done = emulate(path, env={**os.environ, "CXX": "env c++"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("check, says", [
    pytest.param("init", "no thread has written", marks=pytest.mark.slow),
    pytest.param("memory", "heap-buffer-overflow", marks=pytest.mark.slow), ("race", "a race")])
def test_a_program_in_a_folder_called_emulator(tmp_path, check, says):
    """Lines of the emulator are no findings'; those of a program whose path looks alike are."""
    folder = tmp_path / "cuda/emulator"
    folder.mkdir(parents=True)
    path = folder / "wrong.cu"
    path.write_text(
        "__global__ void k(float* x) {\n  __shared__ float s[32];\n"
        "  if (threadIdx.x > 0) s[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
        "  const int at = threadIdx.x == 0 ? WHERE : 0;\n"
        "  x[at] = s[threadIdx.x == 0 && WHERE == 1 ? 0 : 1];\n}\n"
        "int main() {\n  float* x;\n  cudaMalloc(&x, 128);\n  cudaMemset(x, 0, 128);\n"
        "  k<<<1, 32>>>(x);\n  cudaDeviceSynchronize();\n}\n")
    where = {"init": 1, "memory": 40, "race": 0}[check]
    done = emulate(path, "--check", check, "-D", f"WHERE={where}")
    assert done.returncode == 1 and says in done.stderr, done.stderr
    assert f"{path}:6" in done.stderr, done.stderr


def test_a_finding_has_the_path_that_was_given(tmp_path):
    """Also of a file that is preprocessed twice, for either side."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/two.cu").write_text(
        "__global__ void k(float* x) {\n  __shared__ float s[32];\n"
        "  if (threadIdx.x > 0) s[threadIdx.x] = 1;\n  x[threadIdx.x] = s[threadIdx.x];\n}\n"
        "int main() {\n  float* x;\n  cudaMalloc(&x, 128);\n  k<<<1, 32>>>(x);\n"
        "#ifndef __CUDA_ARCH__\n  cudaDeviceSynchronize();\n#endif\n}\n")
    done = emulate("kernels/two.cu", cwd=tmp_path)
    assert done.returncode == 1 and "(kernels/two.cu:4)" in done.stderr, done.stderr


def refuse_personality():
    """Has the kernel refuse personality(2) to this process, as containers do."""
    number, audit_number_at, allow, fail = 135, 0, 0x7fff0000, 0x00050000 | 1
    code = [(0x20, 0, 0, audit_number_at), (0x15, 0, 1, number), (0x06, 0, 0, fail),
            (0x06, 0, 0, allow)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    filter_ = ctypes.create_string_buffer(
        struct.pack("H6xQ", len(code), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(filter_)), 0, 0) == 0  # PR_SET_SECCOMP


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a call's number")
def test_races_cannot_be_looked_for_everywhere():
    done = emulate(PROGRAMS / "vector_add.cu", "--check", "race", preexec_fn=refuse_personality)
    assert done.returncode == 2
    assert "--check race: addresses cannot be kept from being random here" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_all_that_is_missing_is_named_in_one_sentence(tmp_path):
    path = tmp_path / "missing.cu"
    path.write_text(MAIN + "struct Own { int cudaGraph; };\n__global__ void k(float* x) { *x = __any(1); }\n"
                    "int main() {\n  cudaGraph_t graph;\n  return cublasCgemm(graph) + __any(2);\n}\n")
    done = compile_by_front_door(path, "-o/dev/null")
    assert (done.returncode, done.stderr) == (
        1, f"{path}:4: __any is not emulated, nor cudaGraph_t (line 6), cublasCgemm (line 7)\n")
    path.write_text('\n#include "helper_cuda.h"\n')
    done = compile_by_front_door(path, "-o/dev/null")
    assert (done.returncode, done.stderr) == (1, f"{path}:2: helper_cuda.h is not found\n")


def test_a_toolkit_is_not_taken_for_the_emulator(emulated, tmp_path):
    (tmp_path / "toolkit/include").mkdir(parents=True)
    for name in ("cuda_runtime.h", "cuda_fp16.h", "cublas_v2.h", "cufft.h"):
        (tmp_path / "toolkit/include" / name).write_text("void hidden;\n")
    done = emulated("#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cublas_v2.h>\n"
                    "int main() { return int(float(__half(7))); }\n", "-I", tmp_path / "toolkit/include")
    assert (done.returncode, done.stderr) == (7, "")
    # A library's header is refused where it is found as well.
    path = tmp_path / "cufft.cu"
    path.write_text("\n#include <cufft.h>\nint main() {}\n")
    done = compile_by_front_door(path, "-isystem", tmp_path / "toolkit/include", "-o/dev/null")
    assert (done.returncode, done.stderr) == (1, f"{path}:2: cufft.h is not emulated\n")


def test_errors_of_the_runtime(emulated):
    done = emulated(MAIN + """
__global__ void k() { extern __shared__ char s[]; s[threadIdx.x] = 1; }
template <class T> __global__ void of(T) { extern __shared__ char s[]; s[threadIdx.x] = 1; }
#define SAYS(error, call) \\
  if (cudaError_t is = (call); is != error) return printf("%d: %s\\n", __LINE__, cudaGetErrorName(is))
#define LAST(error) SAYS(error, cudaGetLastError())
int main() {
  char host[200], *x;
  SAYS(cudaSuccess, cudaMalloc(&x, 100));
  SAYS(cudaErrorInvalidValue, cudaMemcpy(x, host, 101, cudaMemcpyHostToDevice));
  SAYS(cudaErrorInvalidValue, cudaMemcpy(host, x + 50, 51, cudaMemcpyDeviceToHost));
  SAYS(cudaSuccess, cudaMemcpy(host, x + 50, 50, cudaMemcpyDeviceToHost));
  SAYS(cudaErrorInvalidValue, cudaMemset(x, 0, 101));
  SAYS(cudaErrorInvalidValue, cudaMemset2D(x, 20, 0, 10, 6));
  SAYS(cudaErrorInvalidValue, cudaFree(x + 1));
  SAYS(cudaSuccess, cudaFree(x));
  SAYS(cudaErrorInvalidValue, cudaFree(x));
  SAYS(cudaSuccess, cudaFree(nullptr));
  LAST(cudaErrorInvalidValue);
  k<<<1, 32, 48 << 10>>>();
  LAST(cudaSuccess);
  k<<<1, 32, (48 << 10) + 1>>>();
  LAST(cudaErrorInvalidValue);
  const auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  SAYS(cudaSuccess, cudaFuncSetAttribute(of<int>, most, 99 << 10));
  of<<<1, 32, 99 << 10>>>(1);
  LAST(cudaSuccess);
  of<<<1, 32, 99 << 10>>>(1.0f);
  LAST(cudaErrorInvalidValue);
  k<<<1, 32, 99 << 10>>>();
  LAST(cudaErrorInvalidValue);
  SAYS(cudaErrorInvalidValue, cudaFuncSetAttribute(k, most, (99 << 10) + 1));
  SAYS(cudaSuccess, cudaFuncSetAttribute((const void*)k, most, 64 << 10));
  k<<<1, 32, 64 << 10>>>();
  SAYS(cudaErrorInvalidValue, cudaGetLastError());  // of cudaFuncSetAttribute
  k<<<1, 32, 65 << 10>>>();
  LAST(cudaErrorInvalidValue);
}
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_program_of_200_lines_compiles_in_time(emulated):
    """Processor time: the machine may be busy."""
    lines = [MAIN, "#include <vector>"]
    for i in range(20):
        lines += [f"template <class T> __global__ void k{i}(const T* x, T* y, int n) {{",
                  "  __shared__ T s[64];", "  const int t = threadIdx.x;",
                  "  s[t] = t < n ? x[t] : T(0);", "  __syncthreads();",
                  "  for (int d = 32; d > 0; d /= 2) {", f"    if (t < d) s[t] += s[t + d] * {i};",
                  "    __syncthreads();", "  }", "  if (t == 0) *y = s[0];", "}",]
    lines += ["int main() {", "  float* x;", "  cudaMalloc(&x, 256);", "  cudaMemset(x, 0, 256);"]
    lines += [f"  k{i}<<<1, 64>>>(x, x, 64);" for i in range(20)] + ["}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = emulated("\n".join(lines))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    assert after.ru_utime - before.ru_utime < 10


def widths_in_ptx(text):
    """{kernel: {(load or store, bytes of an access of global memory)}}"""
    widths, kernel = {}, None
    for line in text.splitlines():
        if entry := re.search(r"\.entry (\w+)\(", line):
            kernel = widths.setdefault(entry[1], set())
        if access := re.search(r"\b(ld|st)\.[\w.]*global[\w.]*?(?:\.v(\d))?\.[bfsu](\d+)", line):
            kernel.add(({"ld": "load", "st": "store"}[access[1]],
                        int(access[2] or 1) * int(access[3]) // 8))
    return widths


def counted_widths(path, folder):
    """Likewise, as a program's run is counted."""
    library = Path(os.environ["PRENORM_PROGRAM"]).resolve().parent.parent / "lib/prenorm"
    archive = library / "libprenorm-emulator-profile"
    done = compile_by_front_door(path, f"@{archive}.options", "-std=c++17", "-w", "-o",
                                 folder / "counted.o")
    assert done.returncode == 0, done.stderr
    subprocess.run(["c++", folder / "counted.o", "-Wl,--whole-archive", f"{archive}.a",
                    "-Wl,--no-whole-archive", "-lboost_context", "-pthread", "-o", folder / "counted"],
                   check=True)
    counts = folder / "counts.json"
    subprocess.run([folder / "counted"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PRENORM_COUNTS": counts})
    widths = {}
    for launch in json.loads(counts.read_text())["kernels"]:
        widths.setdefault(re.sub("<.*", "", launch["kernel"]), set()).update(
            (place["kind"], place["width"]) for place in launch["places"]
            if place["space"] == "global" and place["kind"] in ("load", "store"))
    return widths


# What nvcc makes of it: neighbours joined into a vector, structures taken apart; and variables, which
# are not counted.
OTHER_WIDTHS = {"centre": ({("load", 4)}, {("load", 16)}), "look_up": (set(), {("load", 4)}),
                "evaluate": (set(), {("load", 8)}), "fill": (set(), {("load", 8)}),
                "sum_row": (set(), {("load", 4)}), "read_by_reference": (set(), {("load", 4)}),
                "functions": (set(), {("load", 16)}), "copied": (set(), {("load", 1)}),
                "stockham": ({("store", 16)}, {("store", 8)}), "gpu_insert": ({("load", 8)}, {("load", 4)}),
                "gpu_iterate": ({("store", 8)}, {("store", 4)})}


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PRENORM_NVCC"), reason="there is no nvcc")
@pytest.mark.parametrize("name", COUNTED)
def test_global_accesses_are_as_wide_as_nvccs(name, tmp_path):
    ptx = tmp_path / "program.ptx"
    subprocess.run([os.environ["PRENORM_NVCC"], "-arch=sm_80", "-w", "-ptx", PROGRAMS / f"{name}.cu",
                    "-o", ptx], check=True)
    compiled = widths_in_ptx(ptx.read_text())
    for kernel, counted in counted_widths(PROGRAMS / f"{name}.cu", tmp_path).items():
        # A template's instances are one here; their names in PTX are mangled.
        instances = [widths for mangled, widths in compiled.items()
                     if f"{len(kernel)}{kernel}" in mangled]
        ours, nvccs = OTHER_WIDTHS.get(kernel, (set(), set()))
        if instances:  # none of what a pointer points to
            assert counted - ours == set().union(*instances) - nvccs, kernel


CUDA = ROOT / "cuda"
# The file and the word that the message names: instructions of Hopper, a library of NVIDIA's.
ONLY_FOR_DEVICES = {"attention_wgmma.cu": ("wgmma.cuh", "cuda/ptx"),
                    "linear_wgmma.cu": ("wgmma.cuh", "cuda/ptx"),
                    "cublaslt.cu": ("cublaslt.cu", r"cublasLtGetStatusString \(cuBLASLt\)")}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.name for path in CUDA.glob("*.cu")} - set(ONLY_FOR_DEVICES)))
def test_our_own_kernels_go_through_the_front_door(name):
    done = compile_by_front_door(CUDA / name, "-I", CUDA, "-fsyntax-only", "-Wall", "-Wextra",
                                 "-Werror")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ONLY_FOR_DEVICES)
def test_what_is_only_for_devices_is_refused_in_one_message(name):
    done = compile_by_front_door(CUDA / name, "-I", CUDA, "-fsyntax-only")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    place, word = ONLY_FOR_DEVICES[name]
    assert re.search(rf"{place}:\d+: {word} is not emulated", done.stderr), done.stderr
