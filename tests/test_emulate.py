# labels: emulated
# timeout: 900
# processors: 2
# slow labels: emulated
"""`prenorm emulate`: whole CUDA programs on the CPU (programs/), and those with a bug planted
(programs/bugs/), each of which is found in the line marked `// BUG`."""
import os
import re
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"
RIGHT = sorted(path.stem for path in PROGRAMS.glob("*.cu"))
BUGS = sorted(path.stem for path in (PROGRAMS / "bugs").glob("*.cu"))
CHECKS = ["none", "memory", "race"]

pytestmark = pytest.mark.skipif(os.environ["PRENORM_SANITIZE"] != "",
                                reason="programs have sanitizers of their own")


def emulate(*words, **more):
    program = Path(os.environ["PRENORM_PROGRAM"])
    return subprocess.run([program, "emulate", *words], capture_output=True, text=True, timeout=300,
                          **more)


def test_there_are_programs():
    assert len(RIGHT) >= 14 and len(BUGS) >= 19


@pytest.mark.parametrize("name", RIGHT)
def test_program(name):
    done = emulate(PROGRAMS / f"{name}.cu")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "agree" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_right_program(name, check):
    done = emulate(PROGRAMS / f"{name}.cu", "--check", check)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PRENORM_NVCC"), reason="no nvcc")
@pytest.mark.parametrize("name", RIGHT)
def test_program_is_cuda(name, tmp_path):
    """nvcc takes the same file: what is emulated is CUDA, and no language of our own."""
    nvcc = os.environ["PRENORM_NVCC"]
    done = subprocess.run([nvcc, "-std=c++20", "-arch=sm_80", "-ptx", PROGRAMS / f"{name}.cu", "-o",
                           tmp_path / "out.ptx"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found_in_its_line(name):
    path = PROGRAMS / "bugs" / f"{name}.cu"
    source = path.read_text()
    [check] = re.findall("^// check: (.*)", source)
    [says] = re.findall("^// says: (.*)", source, re.MULTILINE)
    [line] = [i for i, text in enumerate(source.splitlines(), 1) if "// BUG" in text]
    done = emulate(path, "--check", check)
    refused = name.startswith("unknown_")
    assert done.returncode == (2 if refused else 1), done.stdout + done.stderr
    assert says in done.stderr, done.stderr
    assert f"{path}:{line}" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 or not refused, done.stderr
    if check == "none":
        assert len(done.stderr.splitlines()) == 1


MAIN = "#include <cstdio>\n#include <cstdlib>\n"


def test_arguments_and_exit_code(tmp_path):
    path = tmp_path / "echo.cu"
    path.write_text(MAIN + "int main(int argc, char** argv) {\n  for (int i = 1; i < argc; ++i) "
                    "puts(argv[i]);\n  return argc + VALUE;\n}\n")
    done = emulate(path, "-D", "VALUE=4", "--", "--help", "-x", "a b", "--")
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


def test_output_can_be_kept(tmp_path):
    path = tmp_path / "hello.cu"
    path.write_text(MAIN + '__global__ void hello() { printf("hello %d\\n", threadIdx.x); }\n'
                    "int main() { hello<<<1, 2>>>(); cudaDeviceSynchronize(); }\n")
    done = emulate(path, "-o", tmp_path / "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    run = subprocess.run([tmp_path / "hello"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "hello 0\nhello 1\n")


def test_errors_of_the_compiler_name_the_users_line(tmp_path):
    path = tmp_path / "wrong.cu"
    path.write_text("__global__ void k(int* x) {\n  *x = missing;\n}\nint main() {}\n")
    done = emulate(path)
    assert done.returncode == 2 and f"{path}:2:" in done.stderr, done.stderr
    assert "'missing' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")


def test_a_death_is_told(tmp_path):
    path = tmp_path / "dies.cu"
    path.write_text(MAIN + "int main() { abort(); }\n")
    done = emulate(path)
    assert done.returncode == 134 and "ended by Aborted" in done.stderr


def test_missing_file_and_unknown_check(tmp_path):
    done = emulate(tmp_path / "none.cu")
    assert done.returncode == 2 and "none.cu: no such file" in done.stderr
    done = emulate(tmp_path / "none.cu", "--check", "everything")
    assert done.returncode == 2 and "everything" in done.stderr
