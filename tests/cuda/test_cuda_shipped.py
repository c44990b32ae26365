# labels: emulated slow
# timeout: 1800
# processors: 2
"""The shipped CUDA solution is a submission like any other: its sources, unchanged, are built by
`prenorm_add_solution` for the emulator of submissions, and nothing is found in them."""
import json
import subprocess

from conftest import not_sanitized
from places import ROOT, home, program

CUDA = ROOT / "cuda"
# They need what only devices have: Hopper's instructions, cuBLASLt (test_emulate.py has the messages).
ONLY_FOR_DEVICES = {"attention_wgmma.cu", "cublaslt.cu", "linear_wgmma.cu", "linear_bf16x6_wgmma.cu"}

pytestmark = not_sanitized("there is no emulator for submissions")


def test_the_shipped_solution_goes_through_the_front_door(tmp_path):
    sources = sorted(str(path) for path in CUDA.glob("*.cu") if path.name not in ONLY_FOR_DEVICES)
    assert len(sources) >= 18
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.25)
project(shipped LANGUAGES CXX)
find_package(prenorm REQUIRED COMPONENTS CUDA)
prenorm_add_solution(shipped {' '.join(sources)})
target_include_directories(shipped PRIVATE {CUDA})
""")
    package = home() / "share/cmake/prenorm"
    for command in (["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Release",
                     "-DPRENORM_EMULATE=ON", f"-Dprenorm_DIR={package}"],
                    ["cmake", "--build", tmp_path / "build", "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    report = tmp_path / "report.json"
    done = subprocess.run([program(), "verify", "--solution", tmp_path / "build/libshipped.so",
                           "--case", "base_*", "--case", "by_hand_*", "--json", report],
                          capture_output=True, text=True)
    results = json.loads(report.read_text())["results"]
    assert done.returncode == 0, [each["message"] for each in results if each["status"] != "PASSED"]
    assert {each["status"] for each in results} == {"PASSED"}
    fixtures = {path.stem for path in (CUDA.parent / "fixtures").glob("*.h5")}
    assert {each["problem"] for each in results} == fixtures
