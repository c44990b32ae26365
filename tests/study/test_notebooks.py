# labels: unit notebooks
# slow labels: unit notebooks
"""The notebooks' modules, from the C interface to the colours of the sources, and the notebooks."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from places import ROOT, found_some

for package in ("pandas", "pygments"):
    pytest.importorskip(package)
import prenorm  # noqa: E402
from prenorm import cpp, panes, sources  # noqa: E402
import h5  # noqa: E402
from conftest import folder, slow_but  # noqa: E402

PROBLEMS = prenorm.problems()
COMPONENTS = sorted({sources.component_of(problem) for problem in PROBLEMS})
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


pytestmark = pytest.mark.usefixtures("home")  # a built program
each_problem = pytest.mark.parametrize("problem", PROBLEMS)
# Each reads all cases of a fixture: the quick tier calls one problem.
each_call = pytest.mark.parametrize("problem", slow_but({"softmax"}, PROBLEMS))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


# ---- calls

@each_call
def test_every_case_is_called_as_the_harness_calls_it(problem):
    function = getattr(prenorm.load("reference"), problem)
    told = prenorm.verify(problem, "reference").set_index("case")
    for case in prenorm.fixture(problem).cases.values():
        assert told.status[case.name] == "PASSED"
        if case.error:
            with pytest.raises((prenorm.Error, ValueError)):
                function(**case.arguments)
            continue
        before = {name: array.copy() for name, array in case.inputs.items()}
        compared = prenorm.compare(function(**case.arguments), case)
        assert compared.passes.all(), case.name
        finite = compared.ulps[np.isfinite(case.y)]
        if finite.size:
            assert finite.max() == pytest.approx(told.max_ulp_error[case.name])
        for name, array in case.inputs.items():
            np.testing.assert_array_equal(array, before[name])


@each_call
def test_a_mistake_is_as_wrong_as_verify_says(problem):
    mistake = next(name for name in prenorm.names_of_mistakes(problem)
                   if not name.endswith("_in_t"))  # which float32 shows
    function = getattr(prenorm.load(mistake), problem)
    told = prenorm.verify(problem, mistake).set_index("case")
    wrong = 0
    for case in prenorm.fixture(problem).of_dtype("float32"):
        if told.status[case.name] not in ("PASSED", "INCORRECT_NUMERICAL") or not case.y.size:
            continue
        compared = prenorm.compare(function(**case.arguments), case)
        assert (~compared.passes).sum() == told.mismatches[case.name], case.name
        wrong += (~compared.passes).sum()
    assert wrong > 0


def test_kernels_run_by_name_and_by_step():
    case = prenorm.fixture("softmax").of_dtype("float32")[0]
    for name in ("cuda-naive-emulated", "cuda-emulated", "cuda-emulated/v2"):
        assert prenorm.compare(prenorm.load(name).softmax(**case.arguments), case).passes.all()


def test_arguments_go_by_order_or_by_name_and_have_defaults():
    reference = prenorm.load("reference")
    x, weight = np.array([[3.0, 4.0]]), np.array([1.0, 2.0])
    y = reference.rmsnorm(x, weight, eps=12.5)
    np.testing.assert_allclose(y, [[0.6, 1.6]])
    np.testing.assert_array_equal(reference.rmsnorm(weight=weight, x=x, eps=12.5), y)
    np.testing.assert_array_equal(reference.rmsnorm(x, weight),
                                  reference.rmsnorm(x, weight, 1e-5))
    np.testing.assert_array_equal(reference.relu([-1, 2]), [0.0, 2.0])
    view = np.asfortranarray(np.arange(12.0).reshape(3, 4))[:, ::2]
    np.testing.assert_array_equal(reference.relu(view - 5), np.maximum(view - 5, 0))
    assert reference.embedding([], np.ones((3, 2))).shape == (0, 2)
    assert reference.relu(-1.0).shape == ()


@pytest.mark.parametrize("call, kind, words", [
    (lambda r: r.rmsnorm(np.ones((2, 3)), np.ones(2)), ValueError, "d_model is 2 here and 3 in x"),
    (lambda r: r.rmsnorm(np.ones(3), np.ones(3, np.float32)), ValueError,
     "input weight is float32, wanted float64"),
    (lambda r: r.rmsnorm(np.ones(3)), ValueError, "input weight is missing"),
    (lambda r: r.rmsnorm(np.ones(3), np.ones(3), epsilon=1), TypeError, "epsilon is not one of its"),
    (lambda r: r.rmsnorm(np.ones(3), np.ones(3), x=1), TypeError, "x is given twice"),
    (lambda r: r.rmsnorm(1, 2, 3, 4), TypeError, "4 arguments were given"),
    (lambda r: r.rmsnorm(np.ones(3, "c8"), np.ones(3)), ValueError, "complex64"),
    (lambda r: r.softmax(np.ones(3)), TypeError, "scalar dim is missing"),
    (lambda r: r.softmax(np.ones(3), dim=0.5), TypeError, "wanted a 64-bit integer"),
    (lambda r: r.softmax(np.ones(3), dim=2**64), TypeError, "wanted a 64-bit integer"),
    (lambda r: r.softmax(np.ones(3), dim=True), TypeError, "wanted a 64-bit integer"),
    (lambda r: r.rmsnorm(np.ones(3), np.ones(3), eps="1"), TypeError, "eps is '1', wanted a number"),
    (lambda r: prenorm.load("cuda-emulated/v99").rmsnorm, AttributeError, "no function for"),
    (lambda r: prenorm.fixture("nothing"), ValueError, "no problem nothing: embedding,"),
    (lambda r: prenorm.spacing(1, "float8"), ValueError, "no dtype 'float8'"),
    (lambda r: prenorm.grade("relu", np.abs, "float8"), ValueError, "no dtype 'float8'"),
    (lambda r: prenorm.catches("relu", "nope", x=[1.0]), ValueError, "no known mistake nope: nan"),
    (lambda r: prenorm.catches("relu", "nan_to_zero", y=1), TypeError, "y is not one of its"),
    (lambda r: prenorm.side_by_side("relu", rights=["cuda"] * 7), ValueError, "wanted 6 at most"),
    (lambda r: r.softmax(np.ones(3), dim=7), prenorm.Error, "dim"),
    (lambda r: r.embedding(np.uint64([2**63]), np.ones((3, 2))), ValueError,
     "token_ids: 9223372036854775808 cannot be stored exactly as int64"),
    (lambda r: r.rope(np.ones((1, 3)), [0], max_seq_len=4), prenorm.Error, "d_k"),
    (lambda r: r.nothing, AttributeError, "no problem nothing: embedding,"),
    (lambda r: prenorm.load("mistakes/no_eps").softmax, AttributeError, "no function for softmax"),
    (lambda r: prenorm.load("nobody"), FileNotFoundError, "no solution nobody: "),
    (lambda r: prenorm.load("./nobody.so"), FileNotFoundError, "no library nobody.so"),
    (lambda r: prenorm.to([1], "float8"), ValueError, "no dtype 'float8'"),
    (lambda r: prenorm.run("verify", "--problem"), prenorm.Error, "--problem"),
])
def test_errors_say_what_is_wrong(call, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        call(prenorm.load("reference"))


def test_a_call_is_rejected_with_the_harness_s_message(run, tmp_path):
    """The same inputs in a file: `verify` prints what the call raises."""
    with h5.create(tmp_path / "bad.h5", "rmsnorm", prenorm.fixture("rmsnorm").signature) as file:
        case = h5.add_case(file, "bad")
        h5.add_input(case, "x", np.ones((2, 3)), "float32")
        h5.add_input(case, "weight", np.ones(2), "float32")
        h5.add_output(case, "y", np.ones((2, 3)), "float32", atol=1, rtol=0)
    done = run("verify", "--fixtures", tmp_path / "bad.h5", code=2)
    with pytest.raises(ValueError) as raised:
        prenorm.load("reference").rmsnorm(np.ones((2, 3), "f4"), np.ones(2, "f4"))
    assert str(raised.value) in done.stdout + done.stderr


@pytest.mark.parametrize("name, words", [
    ("wrong_abi", "interface"), ("no_abi", "prenorm_abi"), ("other_device", "device's memory")])
def test_a_library_that_cannot_be_called_is_an_error(name, words):
    library = folder("PRENORM_TEST_SOLUTIONS") / f"lib{name}.so"
    with pytest.raises(ValueError, match=words):
        prenorm.load(library)


def test_a_rebuilt_library_is_an_error(tmp_path):
    """A process keeps the library that it loaded first."""
    library = tmp_path / "libmine.so"
    library.write_bytes((folder("PRENORM_TEST_SOLUTIONS") / "libpair.so").read_bytes())
    prenorm.load(library)
    prenorm.load(library)
    os.utime(library, ns=(1, 1))
    with pytest.raises(prenorm.Error, match="restart the kernel"):
        prenorm.load(library)


def test_a_library_that_was_left_out_of_the_build_is_an_error(home):
    name = next(iter((home / "lib/prenorm").glob("*.absent")), None)
    if name is None or (home / f"lib/prenorm/libprenorm_{name.stem}.so").exists():
        pytest.skip("nothing was left out of this build")
    with pytest.raises(ValueError, match=re.escape(name.read_text().splitlines()[0])):
        prenorm.load(name.stem)


def test_an_incomplete_build_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setenv("PRENORM_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="run ./prenorm study"):
        prenorm.home()
    for name in ("bin/prenorm", "libexec/prenorm/prenorm_python.so", "build.ninja"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match="mistakes: ; ./prenorm study builds all"):
        prenorm.load("mistakes/no_eps")


# ---- numbers

def test_bfloat16_is_rounded_once_to_even():
    spacing = 2.0**-7
    values = [1, 1 + spacing / 2, 1 + 1.5 * spacing, 1 + spacing / 2 + 2.0**-30, 3.4e38, np.inf,
              -0.0, 1e-40]
    rounded = prenorm.widen(prenorm.to(values, "bfloat16"))
    np.testing.assert_array_equal(rounded[:6], [1, 1, 1 + 2 * spacing, 1 + spacing, np.inf, np.inf])
    assert np.signbit(rounded[6]) and rounded[7] == pytest.approx(1e-40, rel=0.01)
    assert np.isnan(prenorm.widen(prenorm.to(np.nan, "bfloat16")))
    assert prenorm.to(1.5, "bfloat16").shape == ()


def test_spacing_is_that_of_the_type():
    assert prenorm.spacing(1.0, "float32") == 2.0**-23
    assert prenorm.spacing([1.0, 2.0, 0.0], "bfloat16").tolist() == [2.0**-7, 2.0**-6, 2.0**-133]


def test_arrays_of_ml_dtypes_give_results_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([[1.0, 2.0]]).astype(ml_dtypes.bfloat16)
    y = prenorm.load("reference").relu(x)
    assert y.dtype == x.dtype and (y == x).all()


def test_compare_wants_the_shape_and_the_type():
    case = prenorm.fixture("rmsnorm").cases["by_hand_float32"]
    with pytest.raises(ValueError, match="y is float64"):
        prenorm.compare(case.y, case)
    with pytest.raises(ValueError, match=re.escape("float32 [4], wanted float32 [2, 2]")):
        prenorm.compare(case.y.astype("f4").ravel(), case)
    wrong = case.y.astype("f4")
    wrong[0, 1] = np.nan
    assert prenorm.compare(wrong, case).passes.tolist() == [[True, False], [True, True]]


# ---- exercises

def rmsnorm(x, weight, eps):
    x = prenorm.widen(x)
    root = np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    return x / root * prenorm.widen(weight)


def test_a_right_answer_is_graded_right(capsys):
    assert prenorm.grade("rmsnorm", rmsnorm) == 1
    printed = capsys.readouterr().out
    assert "86 passed, 0 failed" in printed and "points" not in printed


def test_a_mistake_is_named(capsys):
    share = prenorm.grade("rmsnorm", lambda x, weight, eps: rmsnorm(x, weight, 0))
    assert 0 < share < 1
    assert "no eps" in capsys.readouterr().out


@pytest.mark.slow
def test_hints_come_one_by_one(capsys):
    prenorm.grade("rmsnorm", lambda x, weight, eps: rmsnorm(x, weight, 0))
    assert capsys.readouterr().out.rstrip().endswith("prenorm.hint() gives a hint.")
    formula = "The formula: " + prenorm.fixture("rmsnorm").source.split(";")[0]
    shown = []
    for _ in range(4):
        prenorm.hint()
        shown.append(capsys.readouterr().out.splitlines())
    assert [len(lines) for lines in shown] == [2, 3, 4, 5]  # the case, and the hints
    assert shown[3] == [*shown[2], "  there is no further hint"]
    assert shown[0][0] == shown[2][0] and "hint 1 of 3" in shown[0][1]
    assert "Your code " in shown[1][2]
    assert formula in shown[2][3] and not any(formula in line for line in shown[1])
    prenorm.grade("rmsnorm", rmsnorm)
    assert "hint" not in capsys.readouterr().out
    prenorm.hint()
    assert capsys.readouterr().out == "no case failed\n"


def test_a_hint_needs_results(capsys):
    prenorm.grade("rmsnorm", lambda **_: None)
    capsys.readouterr()
    prenorm.hint()
    assert "call prenorm.grade first" in capsys.readouterr().out


def test_a_function_that_raises_earns_nothing(capsys):
    def unwritten(**_):
        raise NotImplementedError("yours to write")

    assert prenorm.grade("rmsnorm", unwritten) == 0
    assert "yours to write" in capsys.readouterr().out
    assert prenorm.grade("rmsnorm", lambda **_: None) == 0
    half = prenorm.grade("rmsnorm", lambda x, weight, eps: rmsnorm(x, weight, eps)
                         if x.dtype == "f8" else unwritten(), ["float64", "float32"])
    assert 0 < half < 1


def test_what_a_function_raises_is_shown_with_its_lines(capsys):
    def inner(x, weight):
        return x @ weight.reshape(7, -1)  # fails for every size but 7

    def mine(x, weight, eps):
        if x.dtype == "f4":
            raise KeyError("eps")
        return inner(x, weight)

    assert prenorm.grade("rmsnorm", mine, ["float64", "float32"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("KeyError: 'eps'") == 1 and " more:\n" in printed
    assert 'raise KeyError("eps")' in printed and "in mine" in printed
    assert "return x @ weight.reshape(7, -1)" in printed and "in inner" in printed
    assert "exercises.py" not in printed  # only the caller's own lines


def test_the_package_is_found_from_any_folder(run, tmp_path):
    line = re.search(r"^Python package +ok +import prenorm after: export PYTHONPATH=(.+)$",
                     run("doctor", "--no-color", code=None).stdout, re.M)
    assert line
    [path] = shlex.split(line[1])
    assert Path(path) == ROOT / "notebooks"
    script = "import prenorm; print(prenorm.load('reference').relu([-1.0, 2.0]))"
    done = subprocess.run([sys.executable, "-B", "-c", script], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout == "[0. 2.]\n", done.stderr


def test_cases_cannot_be_changed():
    case = prenorm.fixture("rmsnorm").cases["by_hand_float32"]
    for array in (*case.inputs.values(), case.y):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    refused = next(each for each in prenorm.fixture("rope").cases.values() if each.error)
    with pytest.raises(ValueError, match="must reject"):
        prenorm.compare(np.ones(3), refused)


def test_zeros_are_graded_wrong():
    assert prenorm.grade("softmax", lambda x, dim: np.zeros(x.shape)) < 0.2


def test_a_case_catches_a_mistake_or_does_not(capsys):
    ones = np.ones(32)
    assert prenorm.catches("rmsnorm", "no_eps", "bfloat16", x=[ones * 1e-3], weight=ones)
    assert not prenorm.catches("rmsnorm", "no_eps", "bfloat16", x=[ones], weight=ones)
    told = capsys.readouterr().out
    assert "INCORRECT_NUMERICAL" in told and told.count("reference") == 2


# ---- sources

@pytest.mark.parametrize("solution", ["reference", "cuda-naive", "cuda"])
@each_problem
def test_the_code_that_is_shown_is_the_code_that_is_compiled(problem, solution):
    source = prenorm.source(problem, solution)
    for piece in source.pieces:
        lines = piece.path.read_text().splitlines()
        numbers = piece.numbers or range(piece.first, piece.first + len(piece.lines))
        assert list(piece.lines) == [lines[number - 1] for number in numbers]
    component = sources.component_of(problem)
    folder = solution.split("-")[0]
    assert any(piece.path.stem == component and piece.path.parent.name == folder
               for piece in source.pieces)
    for opened, closed in ("{}", "()", "[]"):
        for piece in source.pieces:
            assert piece.code.count(opened) == piece.code.count(closed), piece.names


@pytest.mark.slow
@each_problem
def test_every_mistake_has_its_own_code(problem):
    texts = [prenorm.source(problem, name).text for name in prenorm.names_of_mistakes(problem)]
    assert len(set(texts)) == len(texts) > 0


# Changes of a part of a part, whose lines a pane does not show: these eight and no others.
UNLIT = {
    **dict.fromkeys(("multihead_self_attention", "multihead_self_attention_fused_qkv",
                     "multihead_self_attention_with_rope"), {"scale_by_sqrt_d_model"}),
    **dict.fromkeys(("transformer_block", "transformer_block_gelu", "transformer_block_post_norm"),
                    {"sums_in_t"}),
    "transformer_lm": {"relu_gate", "sigmoid_gate"},
}


@pytest.mark.slow
@each_problem
def test_the_step_that_a_mistake_changes_lights_up(problem):
    right, unlit = set(prenorm.source(problem).steps), set()
    for name in prenorm.names_of_mistakes(problem):
        source = prenorm.source(problem, name)
        shown = panes.pane(source, source.steps)
        lit = re.findall(r'<span data-step="[^"]*" class="s\d changed"', shown)
        if not lit:
            unlit.add(name.split("/")[1])
        formula = re.search("right: <code>(.*?)</code><br>wrong: <code>(.*?)</code>", shown)
        assert formula and formula[1] != formula[2], name
        assert right & set(source.steps), name
    assert unlit == UNLIT.get(problem, set())
    assert "changed" not in panes.pane(prenorm.source(problem), [])


@each_problem
def test_steps_have_one_name_on_both_sides(problem):
    steps = set(prenorm.source(problem, "reference").steps)
    assert steps, "the reference names no steps"
    for solution in ("cuda-naive", "cuda"):
        assert set(prenorm.source(problem, solution).steps) == steps, solution


def test_an_emulated_solution_has_the_kernels_code():
    assert prenorm.source("rope", "cuda-naive-emulated").text == prenorm.source(
        "rope", "cuda-naive").text
    assert prenorm.source("rmsnorm", "cuda/v2").text != prenorm.source("rmsnorm", "cuda").text
    for unknown in ("honest/pairwise", "cuda/v99", "mistakes/none"):
        with pytest.raises(ValueError):
            prenorm.source("rmsnorm", unknown)


def test_which_lines_a_step_covers():
    lines = """void f() {
  // step: sum
  for (;;) {
    // step: square
    a();
#pragma unroll
    b();

    c();
  }
  // step: root, gain
  d();  // step: gain
}
e();""".splitlines()
    assert cpp.steps_of_lines(lines) == [
        [], ["sum"], ["sum"], ["sum", "square"], ["sum", "square"], ["sum", "square"],
        ["sum", "square"], [], [], [], ["root", "gain"], ["root", "gain"], [], []]


def test_a_file_is_cut_into_definitions(tmp_path):
    path = tmp_path / "x.cuh"
    path.write_text("""// A file.
#pragma once

namespace a {

/// Adds } and {.
template <class T>
__global__ void __launch_bounds__(256)
    add(T* x) {  // }
  const char* brace = "}";
  x[0] = '}';
}

constexpr int two = 2, three = 3;
struct Pair {
  int first, second;
};

#define MACRO(x) \\
  x

void declared(int);

}  // namespace a
""")
    assert [(piece.names, piece.first, len(piece.lines)) for piece in cpp.pieces_of(path)] == [
        (("add",), 6, 7), (("two", "three"), 14, 1), (("Pair",), 15, 3), (("MACRO",), 19, 2),
        (("declared",), 22, 1)]


def test_two_panes_hold_both_codes_and_escape_them():
    view = prenorm.side_by_side("rmsnorm")._repr_html_()
    assert view.count('class="pane"') == 4 and view.count('type="radio"') == 3
    shown = re.sub(r"<[^>]+>", "", view)
    assert "xt::mean" in shown and "rmsnorm_v1" in shown and "rmsnorm_v3" in shown
    assert not re.search(r"<(class|T|float)\b", view)


def test_the_contract_and_the_ladder_are_those_of_the_files():
    for problem in PROBLEMS:
        contract = prenorm.contract(problem)
        assert "Source" in contract and "Twins" not in contract and ".ipynb" not in contract
        assert "launched" in prenorm.ladder(problem)


# ---- the notebooks

@functools.lru_cache(maxsize=None)
def text_of(path):
    """All cells of a notebook, but exercises in C++, which have the reference's signatures."""
    texts = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    return "\n".join(text for text in texts if not text.startswith("%%cpp"))


@functools.lru_cache(maxsize=None)
def long_lines():
    """{line of a source: its file}, of 30 characters or more."""
    files = [*found_some((ROOT / "reference").rglob("*.hpp")), *found_some((ROOT / "cuda").glob("*.cu*"))]
    return {line.strip(): path.name for path in files for line in path.read_text().splitlines()
            if len(line.strip()) >= 30 and not line.startswith("#include")}


def test_every_component_has_its_notebook():
    names = {path.stem for path in NOTEBOOKS}
    assert set(COMPONENTS) <= names and "00_start_here" in names
    assert {problem for each in COMPONENTS for problem in sources.problems_of(each)} == set(PROBLEMS)


@each_notebook
def test_a_notebook_is_committed_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None, cell["source"]


@pytest.mark.slow
@each_notebook
def test_a_notebook_repeats_nothing_of_the_sources(path):
    text = text_of(path)
    if path.stem not in ("cuda_without_a_gpu", "puzzles"):  # which write kernels
        assert not re.search(r"__global__|template\s*<|PRENORM_EXPORT", text)
    assert [(name, line) for line, name in long_lines().items() if line in text] == []
    packed = text.replace(" ", "")
    for problem in PROBLEMS:
        assert prenorm.fixture(problem).signature.replace(" ", "") not in packed, problem


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_notebook_shows_every_problem_of_its_component(component):
    text = text_of(ROOT / f"notebooks/{component}.ipynb")
    for problem in sources.problems_of(component):
        assert re.search(rf"\b{problem}\b", text), problem
    for word in ("prenorm.contract", "side_by_side", "gallery", "prenorm.grade", "## Known mistakes"):
        assert word in text, word


@functools.lru_cache(maxsize=None)
def words_of_the_sources():
    """All identifiers of code, of the notebooks' cells and modules, and of the fixtures."""
    files = [path for folder in ("reference", "cuda", "harness", "fixtures", "notebooks")
             for path in found_some((ROOT / folder).rglob("*")) if path.suffix in (".hpp", ".h", ".cpp", ".cu", ".cuh", ".py")]
    codes = ["".join(cell["source"]) for path in NOTEBOOKS for cell in json.loads(path.read_text())["cells"]
             if cell["cell_type"] == "code"]
    texts = [*codes, *(path.read_text() for path in files), *(prenorm.fixture(p).signature for p in PROBLEMS)]
    return {word for text in texts for word in re.findall(r"\w+", text)}


def unknown_words(prose):
    """Identifiers in backticks that no source has: those that are no plain word, option or path."""
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"```.*?```", "", prose, flags=re.S))
    words = {word for span in spans if not re.search(r"(^|\s)(-|\./)", span) for word in re.findall(r"\b[a-z]\w+", span)}
    return sorted(words - words_of_the_sources())


def typed_counts(prose):
    """Counts of what the suite has, which change with it: a notebook computes and prints them."""
    number = r"(?:\d+|(?:twen|thir|for|fif)ty|three|four|five|six|seven|eight|nine|ten|\w+teen|a dozen)"
    return re.findall(rf"\b{number} (?:of (?:the )?\d+|of {number}|known mistakes|cases|honest variants)\b", prose)


@pytest.mark.slow
@each_notebook
def test_prose_names_what_exists_and_types_no_counts(path):
    prose = "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]
                      if cell["cell_type"] == "markdown")
    assert unknown_words(prose) == [] and typed_counts(prose) == []


@pytest.mark.slow
def test_a_stale_name_or_count_would_be_seen():
    assert unknown_words("`residual` is passed to `multihead_lunched`") == ["multihead_lunched"]
    assert typed_counts("The test finds four of nine, and 114 known mistakes.") == ["four of nine", "114 known mistakes"]
