# slow labels: unit
"""prenorm new: what it writes builds, and solves nothing yet."""

import ast
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import h5
from disks import on_small_disk
from elf import exports
from places import ROOT

PROBLEMS = sorted(path.stem for path in (ROOT / "fixtures").glob("*.h5"))


@pytest.fixture(scope="module")
def new(program, tmp_path_factory):
    """Runs `prenorm new`; gives the folder and what was printed."""

    def run(language, *options, code=0, folder=None):
        folder = folder or tmp_path_factory.mktemp("new") / "mine"
        words = ["new", folder, "--language", language, *options]
        if "--fixtures" not in options:
            words += ["--fixtures", ROOT / "fixtures"]
        done = subprocess.run([str(word) for word in (program, *words)], capture_output=True,
                              text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return folder, done.stdout + done.stderr
    return run


def build(folder, prefix, *options):
    for words in (["-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *options],
                  ["--build", folder / "build"]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in (done.stdout + done.stderr).lower()
    return folder / "build/libmine.so"


def verdicts(run, library, *options, fixtures=ROOT / "fixtures"):
    done = run("verify", "--fixtures", fixtures, "--solution", library, "--json", "-", *options)
    return done.returncode, json.loads(done.stdout)["results"]


# Every function is compiled, which takes its time; the quick tier builds smaller ones, below.
@pytest.mark.slow
@pytest.mark.parametrize("from_where", ["installation", "build tree"])
def test_a_start_in_cpp_builds_and_solves_nothing(new, run, home, prefix, from_where):
    folder, told = new("cpp")
    library = build(folder, prefix if from_where == "installation" else home,
                    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    code, results = verdicts(run, library)
    assert code == 3  # nothing ran
    assert {each["problem"] for each in results} == set(PROBLEMS)
    assert {each["status"] for each in results} == {"NOT_IMPLEMENTED"}
    # Implemented, or else the message would be that there is no function.
    assert {each["message"] for each in results} == {"not implemented"}
    assert "verify --solution" in told and "grade" in told and str(home) in told


@pytest.mark.slow
@pytest.mark.parametrize("language", ["cpp", "python"])
def test_a_start_grades_at_0_points(new, run, language):
    rubric = ROOT / "fixtures/rubrics/cs336-2025.toml"
    folder, _ = new(language, "--rubric", rubric)
    report = json.loads(run("grade", folder, "--rubric", rubric, "--fixtures", ROOT / "fixtures",
                            "--json", "-", code=1).stdout)
    assert report["status"] == "PASSED", report["message"]  # it was built, and could be loaded
    assert report["earned"] == 0 and report["points"] > 0
    others = [(each["problem"], each["status"], each["message"]) for each in report["results"]
              if each["status"] != "NOT_IMPLEMENTED"]
    assert others == []


def test_a_start_in_cpp_can_be_gone_on_with(new, run, prefix):
    """The README's example, put into one of the functions."""
    folder, _ = new("cpp", "--problem", "relu")
    source = folder / "solution.cpp"
    text = source.read_text()
    assert text.count("throw prenorm::not_implemented();") == 2  # one in the words above
    body = "  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] < 0 ? T(0) : x[i];\n"
    source.write_text(text.replace("  throw prenorm::not_implemented();\n", body))
    code, results = verdicts(run, build(folder, prefix), "--problem", "relu")
    assert code == 0 and {each["status"] for each in results} == {"PASSED"}


def test_files_and_the_selection_of_problems(new):
    folder, told = new("cpp", "--problem", "ffn_*", "--problem", "softmax")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore", "CMakeLists.txt", "README.md", "solution.cpp"]
    source = (folder / "solution.cpp").read_text()
    exports = [line.split("(")[1].split(",")[0] for line in source.splitlines()
               if line.startswith("PRENORM_EXPORT(")]
    assert sorted(exports) == ["ffn_gelu", "ffn_relu", "ffn_silu", "ffn_swiglu", "softmax"]
    assert "5 functions" in told
    # What templates leave open is filled in.
    for path in folder.iterdir():
        for word in ("FUNCTIONS", "EXPORTS", "PREFIX", "FIRST", "LIST", "RUBRIC"):
            assert f"@{word}@" not in path.read_text(), path.name
    assert max(len(line) for line in source.splitlines()) <= 100
    # A rubric selects too.
    folder, _ = new("cpp", "--rubric", ROOT / "fixtures/rubrics/cs336-2024.toml")
    source = (folder / "solution.cpp").read_text()
    assert "PRENORM_EXPORT(ffn_gelu," in source and "ffn_swiglu" not in source


def test_nothing_is_written_over(new, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("kept")
    _, told = new("cpp", folder=tmp_path / "full", code=2)
    assert "not empty" in told
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    _, told = new("python", folder=tmp_path / "full/mine.txt", code=2)
    assert "is a file" in told and (tmp_path / "full/mine.txt").read_text() == "kept"
    (tmp_path / "empty").mkdir()
    new("cpp", folder=tmp_path / "empty")


def test_on_a_full_disk_nothing_is_left(program, tmp_path):
    done, files = on_small_disk(tmp_path, 8, program, "new", "disk/mine", "--language", "cpp", "--fixtures",
                                ROOT / "fixtures")
    assert (done.returncode, files) == (2, {})
    assert re.fullmatch(r"prenorm: cannot write disk/mine/\S+: No space left on device\n", done.stderr)


def test_words_that_mean_nothing(new, tmp_path):
    for language, options, wanted in [
            ("rust", [], "rust"), ("cpp", ["--problem", "softmx"], "softmax"),
            ("python", ["--rubric", "cs336-2023"], "cs336-2024"),
            ("python", ["--problem", "relu"], "no problem")]:
        folder, told = new(language, *options, code=2, folder=tmp_path / "none")
        assert wanted in told and not folder.exists(), told


def functions_of(folder):
    return [node for node in ast.parse((folder / "adapters.py").read_text()).body
            if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("edition", ["2025", "2024"])
def test_a_start_in_python_imports_and_raises(new, edition):
    folder, told = new("python", "--rubric", f"cs336-{edition}")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore", "README.md", "adapters.py"]
    names = [node.name for node in functions_of(folder)]
    assert len(names) == len(set(names)) >= 7
    assert ("run_swiglu" in names) == (edition == "2025")
    assert ("run_positionwise_feedforward" in names) == (edition == "2024")
    for node in functions_of(folder):
        arguments = [argument.arg for argument in node.args.args]
        words = ast.get_docstring(node)
        assert arguments and all(f"{name}: " in words for name in arguments), node.name
        assert "Returns a tensor [" in words
    script = ("import adapters, inspect\n"
              f"for name in {names}:\n"
              "    function = getattr(adapters, name)\n"
              "    try:\n"
              "        function(*[None] * len(inspect.signature(function).parameters))\n"
              "    except NotImplementedError:\n"
              "        print(name)\n")
    done = subprocess.run(["/usr/bin/python3", "-W", "error", "-c", script], cwd=folder,
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.stdout.split() == names, done.stderr
    assert f"--rubric cs336-{edition}" in told
    assert max(len(line) for line in (folder / "adapters.py").read_text().splitlines()) <= 100


def test_the_readme_s_commands_run_in_the_folder(new, tmp_path):
    (tmp_path / "mine.toml").write_text(
        (ROOT / "fixtures/rubrics/cs336-2024.toml").read_text())
    shutil.copy(ROOT / "fixtures/rubrics/adapters-2024.toml", tmp_path)
    folder, told = new("python", "--rubric", tmp_path / "mine.toml")
    assert f"--rubric {tmp_path / 'mine.toml'}" in told
    named = re.search(r"--rubric (\S+)", (folder / "README.md").read_text()).group(1)
    assert (folder / named).resolve() == tmp_path / "mine.toml"


@pytest.mark.slow
def test_a_rubric_s_functions_only(new, tmp_path):
    """The adapters name more than the rubric grades: run_silu."""
    everything, _ = new("python")
    graded, told = new("python", "--rubric", "cs336-2025")
    names = {node.name for node in functions_of(graded)}
    assert names < {node.name for node in functions_of(everything)}
    assert "run_silu" not in names and "run_rmsnorm" in names
    assert "no points" not in (graded / "README.md").read_text()
    folder, told = new("python", "--rubric", "cs336-2025", "--problem", "silu", code=2,
                       folder=tmp_path / "none")
    assert "rubric cs336-2025 grades none of silu" in told and not folder.exists()


def test_docstrings_tell_shapes(new):
    folder, _ = new("python")
    words = {node.name: ast.get_docstring(node) for node in functions_of(folder)}
    rmsnorm = words["run_rmsnorm"]
    assert "weights: tensor [d_model]" in rmsnorm and "in_features: tensor [..., d_model]" in rmsnorm
    assert "eps: float" in rmsnorm and "Returns a tensor [..., d_model]." in rmsnorm
    assert "token_ids: int64 tensor [...]" in words["run_embedding"]
    assert "mask: bool tensor [..., n, m], or None" in words["run_scaled_dot_product_attention"]
    assert "'attn.q_proj.weight': tensor [d_model, d_model]" in words["run_transformer_block"]
    assert ("'layers.{N}.ffn.w1.weight': tensor [d_ff, d_model]; {N}: 0 to num_layers - 1"
            in words["run_transformer_lm"])


@pytest.mark.slow
def test_a_fixture_with_a_hostile_source_stays_in_its_comment(new, prefix, run, tmp_path):
    signature = "x[...], new[n]; class: int -> y[...]"
    with h5.create(tmp_path / "twice.h5", "template", signature) as file:
        file.attrs["source"] = "ends \\\n\"\"\" #error no */ ??/\n @FUNCTIONS@ \\"
        case = h5.add_case(file, "one", {"class": 1})
        h5.add_input(case, "x", np.ones(3), "float64")
        h5.add_input(case, "new", np.ones(2), "float64")
        h5.add_output(case, "y", np.ones(3), "float64", 0.0, 0.0)
    # The names, too, are words that C++ keeps for itself.
    folder, _ = new("cpp", "--fixtures", tmp_path / "twice.h5")
    library = build(folder, prefix, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    _, results = verdicts(run, library, fixtures=tmp_path / "twice.h5")
    assert [each["message"] for each in results] == ["not implemented"]


@pytest.mark.slow
def test_a_start_in_cuda_builds(new, prefix):
    if not (shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()):
        pytest.skip("there is no nvcc")
    folder, _ = new("cuda", "--problem", "rmsnorm", "--problem", "scaled_dot_product_attention")
    library = build(folder, prefix, "-DCMAKE_CUDA_ARCHITECTURES=90")
    assert set(exports(library)) >= {
        "prenorm_abi", "prenorm_device", "prenorm_rmsnorm", "prenorm_scaled_dot_product_attention"}
