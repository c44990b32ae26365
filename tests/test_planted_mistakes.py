"""Known mistakes, planted in the kernels by text, are caught through the emulated column.

A copy of cuda/ is changed in one place of each version of a kernel, compiled for the emulator, and
must fail by its numbers, every version of it. A text that is no longer found, as often as is said
here, is an error: so the table keeps up with the kernels.
"""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import folder, small_cases

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mistake:
    """changes: (old text, new text, how often the old one occurs), in `changed`, or with the name of
    another file at their end."""

    problem: str
    name: str
    sources: tuple  # what is compiled; the first is changed unless `changed` says another
    changes: tuple
    changed: str = ""
    dtype: str = "float32"

    def __str__(self):
        return f"{self.problem}-{self.name}"


def mistakes_of(problem, sources, changed="", **mistakes):
    """Each mistake's changes; with its element type first where that is not float32."""
    for name, changes in mistakes.items():
        dtype = "float32"
        if isinstance(changes[0], str):
            dtype, *changes = changes
        yield Mistake(problem, name, sources, tuple(changes), changed or sources[0], dtype)


RMS = "sqrt(sum / static_cast<C>(d_model) + eps)"
RMSNORM = mistakes_of(
    "rmsnorm", ("rmsnorm.cu",),
    no_eps=[(RMS, "sqrt(sum / static_cast<C>(d_model))", 3)],
    eps_outside_root=[(RMS, "(sqrt(sum / static_cast<C>(d_model)) + eps)", 3)],
    sum_for_mean=[(RMS, "sqrt(sum + eps)", 3)],
    no_root=[(RMS, "(sum / static_cast<C>(d_model) + eps)", 3)],
    no_gain=[(" * widen(weight[i]))", ")", 2), (" * widen(gain[v].element[k]))", ")", 1)],
    gain_one_plus_weight=[(" * widen(weight[i]))", " * (1 + widen(weight[i])))", 2),
                          (" * widen(gain[v].element[k]))",
                           " * (1 + widen(gain[v].element[k])))", 1)],
    not_widened=["float16",
                 ("widen(a[i]) * widen(a[i])", "widen(narrow<T>(widen(a[i]) * widen(a[i])))", 2),
                 ("widen(a[v].element[k]) * widen(a[v].element[k])",
                  "widen(narrow<T>(widen(a[v].element[k]) * widen(a[v].element[k])))", 1)],
)

ACTIVATIONS = [
    *mistakes_of("relu", ("activations.cu",), "activations.cuh",
                 nan_to_zero=[("x < 0 ? C(0) : x", "x > 0 ? x : C(0)", 1)],
                 identity=[("x < 0 ? C(0) : x", "x", 1)]),
    *mistakes_of("silu", ("activations.cu",), "activations.cuh",
                 sigmoid_only=[("x / (1 + exp(-x))", "1 / (1 + exp(-x))", 1)],
                 scaled_1702=[("x / (1 + exp(-x))", "x / (1 + exp(C(-1.702) * x))", 1)],
                 exp_on_top=[("x / (1 + exp(-x))", "x * exp(x) / (1 + exp(x))", 1)]),
    *mistakes_of("gelu", ("activations.cu",), "activations.cuh",
                 tanh_form=[("x * (erfc(x * C(-0.70710678118654752440)) * C(0.5))",
                             "C(0.5) * x * (1 + tanh(C(0.7978845608028654) * "
                             "(x + C(0.044715) * x * x * x)))", 1)],
                 sigmoid_form=[("x * (erfc(x * C(-0.70710678118654752440)) * C(0.5))",
                                "x / (1 + exp(C(-1.702) * x))", 1)],
                 no_half=[(" * C(0.5)", "", 1)],
                 no_sqrt2=[("x * C(-0.70710678118654752440)", "-x", 1)]),
]

ID = "const std::int64_t id = token_ids[i];"
EMBEDDING = mistakes_of(
    "embedding", ("embedding.cu",),
    id_plus_one=[(ID, "const std::int64_t id = (token_ids[i] + 1) % vocab_size;", 2)],
    ids_ignored=[(ID, "const std::int64_t id = i % vocab_size;", 2)],
)

ROPE = mistakes_of(
    "rope", ("rope.cu",),
    turned_the_other_way=[("a * r.cos - b * r.sin", "a * r.cos + b * r.sin", 1),
                          ("a * r.sin + b * r.cos", "b * r.cos - a * r.sin", 1)],
    position_plus_one=[("return static_cast<double>(position);",
                        "return static_cast<double>(position + 1);", 1)],
    exponent_k_over_d=[("2 * static_cast<double>(pair) /", "static_cast<double>(pair) /", 1)],
    positions_ignored=[("return static_cast<double>(position);",
                        "return static_cast<double>(i);", 1)],
    float32_angles=[("sincos(angle,", "sincos(static_cast<float>(angle),", 1)],
)

SOFTMAX = [
    *mistakes_of("softmax", ("softmax.cu",),
                 wrong_axis=[("static_cast<std::size_t>(dim < 0 ? dim + axes : dim)",
                              "static_cast<std::size_t>(0)", 1)]),
    *mistakes_of("softmax", ("softmax.cu",), "reduce.cuh",
                 no_maximum=[("return a > b || a != a ? a : b;", "return C(0);", 1)]),
]

LINEAR = mistakes_of(
    "linear", ("linear.cu",),
    not_transposed=[
        ("p.weight + i % p.d_out * p.d_in;", "p.weight + i % p.d_out;", 1),
        ("widen(weight[k]);", "widen(weight[k * p.d_out]);", 1),
        ("load_tile(weight, p.weight, p.d_out, p.d_in, first_column, k);",
         """for (int i = 0; i < each; ++i) {
              const unsigned r = threadIdx.y + static_cast<unsigned>(i * side);
              const std::int64_t to = first_column + r, from = k + threadIdx.x;
              weight[threadIdx.x][r] =
                  to < p.d_out && from < p.d_in ? widen(p.weight[from * p.d_out + to]) : C(0);
            }""", 1)],
    sums_in_t=["float16",
               ("sum += widen(x[k]) * widen(weight[k]);",
                "sum = widen(narrow<T>(sum + widen(x[k]) * widen(weight[k])));", 1),
               ("sum[i][j] += a[i] * b[j];",
                "sum[i][j] = widen(narrow<T>(sum[i][j] + a[i] * b[j]));", 1)],
)

FFN = ("feed_forward.cu", "linear.cu")
AFTER_W2 = [("    V::template activate<Activation>(hidden, f.rows * f.d_ff, stream);\n", "", 1),
            ("{names.second, hidden, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual}, stream);",
             """{names.second, hidden, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual}, stream);
    V::template activate<Activation>(f.y, f.rows * f.d_model, stream);""", 1)]
SUM_FOR_PRODUCT = [("widen(a[i]) * widen(b[i])", "widen(a[i]) + widen(b[i])", 1),
                   ("Activation()(widen(left)) * widen(right)",
                    "Activation()(widen(left)) + widen(right)", 1)]
FEED_FORWARD = [
    *mistakes_of("glu", FFN,
                 exchanged=[("x.data(), w1.data(), hidden, rows, d_ff, d_in", "x.data(), w2.data(), "
                             "hidden, rows, d_ff, d_in", 1),
                            ("x.data(), w2.data(), y.data(), rows, d_ff, d_in", "x.data(), "
                             "w1.data(), y.data(), rows, d_ff, d_in", 1)],
                 silu_gate=[("gate<Sigmoid>", "gate<Silu>", 1)],
                 relu_gate=[("gate<Sigmoid>", "gate<Relu>", 1)],
                 sum_for_product=SUM_FOR_PRODUCT),
    *mistakes_of("ffn_relu", FFN, gelu_instead=[("network<Relu>", "network<Gelu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_silu", FFN, gelu_instead=[("network<Silu>", "network<Gelu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_gelu", FFN, silu_instead=[("network<Gelu>", "network<Silu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_swiglu", FFN,
                 sigmoid_gate=[("gate<Silu>", "gate<Sigmoid>", 1)],
                 exchanged=[('with w1", f.x, f.w1,', 'with w1", f.x, f.w3,', 1),
                            ('with w3", f.x, f.w3,', 'with w3", f.x, f.w1,', 1)],
                 sum_for_product=SUM_FOR_PRODUCT),
]

ATTENDS = "if (key >= end_of_row || (attended >> key & 1) == 0) score[i][j] = -INFINITY;"
INVERTED = ("there && mask[(first + query) * m + key]", "there && !mask[(first + query) * m + key]",
            1, "mask_tiles.cu")
SCALE = "static_cast<compute_t<T>>(1 / std::sqrt(static_cast<double>(a.d_k)))"
ATTENTION = mistakes_of(
    "scaled_dot_product_attention", ("attention.cu", "mask_tiles.cu"),
    mask_inverted=[INVERTED, ("attends && a.mask[", "attends && !a.mask[", 1)],
    not_scaled=[(SCALE, "1", 1)],
    divided_by_d_k=[(SCALE, "static_cast<compute_t<T>>(1 / static_cast<double>(a.d_k))", 1)],
    divided_by_sqrt_d_v=[(SCALE, SCALE.replace("a.d_k", "a.d_v"), 1)],
    mask_added=[("scores[i] = attends ? sum * scale : -INFINITY",
                 "scores[i] = sum * scale + (attends ? 1 : 0)", 1),
                (ATTENDS, "if (key >= end_of_row) score[i][j] = -INFINITY;"
                          " else score[i][j] += C(attended >> key & 1) / scale;", 1)],
    masked_after_softmax=[
        ("scores[i] = attends ? sum * scale : -INFINITY", "scores[i] = sum * scale", 1),
        ("sum += probability[j] * widen(v[j * a.v_stride]);",
         "if (a.mask == nullptr || a.mask[(a.batch.part(a.of_mask, b) * a.n + query) * a.m + j])"
         " sum += probability[j] * widen(v[j * a.v_stride]);", 1),
        (ATTENDS, "if (key >= end_of_row) score[i][j] = -INFINITY;", 1),
        ("shared.p[4 * y + i][4 * x + j] = p;",
         "shared.p[4 * y + i][4 * x + j] = attended >> (4 * x + j) & 1 ? p : C(0);", 1)],
    empty_rows_averaged=[
        ("attends ? sum * scale : -INFINITY", "attends ? sum * scale : -5e4f", 1),
        (ATTENDS, ATTENDS.replace("-INFINITY", "-5e4f"), 1)],
    empty_rows_nan=[("if (largest == -INFINITY) largest = 0;", "", 1),
                    ("now == -INFINITY ? C(0) : now", "now", 1)],
    mixed_taken_for_full=[("!any ? TileKind::empty : all ? TileKind::full : TileKind::mixed",
                           "!any ? TileKind::empty : TileKind::full", 1, "mask_tiles.cu"),
                          ("attends = attends && a.mask[", "attends = attends || a.mask[", 1)],
    sums_in_t=["float16",
               ("sum += probability[j] * widen(v[j * a.v_stride]);",
                "sum = widen(narrow<T>(sum + probability[j] * widen(v[j * a.v_stride])));", 1),
               ("out[i][4 * n + c] += p[i][of_four] * values[c];",
                "out[i][4 * n + c] = widen(narrow<T>(out[i][4 * n + c] +"
                " p[i][of_four] * values[c]));", 1)],
)

MISTAKES = [*RMSNORM, *ACTIVATIONS, *EMBEDDING, *ROPE, *SOFTMAX, *LINEAR, *FEED_FORWARD,
            *ATTENTION]
PROBLEMS = {mistake.problem: mistake.sources for mistake in MISTAKES}


def replaced(text, old, new, count):
    assert text.count(old) == count, f"'{old}' occurs {text.count(old)} times, not {count}"
    return text.replace(old, new)


def build(copy, sources, changed="", changes=(), dtype="float32"):
    """A library of the changed sources that has every version of its problems."""
    shutil.copytree(ROOT / "cuda", copy)
    for old, new, count, *named in changes:
        path = copy / (named[0] if named else changed)
        path.write_text(replaced(path.read_text(), old, new, count))
    # One element type compiles in a quarter of the time; the first version beside the launched one.
    element = {"float16": "::prenorm::float16"}.get(dtype, "float")
    export = (copy / "export.cuh").read_text()
    export = replaced(export, "run<double, float, ::prenorm::float16, ::prenorm::bfloat16>",
                      f"run<{element}>", 1)
    export = replaced(export, "PRENORM_CUDA_FUNCTION(problem, launched)",
                      "PRENORM_CUDA_FUNCTION(problem, launched) "
                      "PRENORM_CUDA_FUNCTION(problem##__v1, naive)", 1)
    (copy / "export.cuh").write_text(export)
    library = copy / "solution.so"
    done = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w", "-fPIC", "-shared",
         "-fvisibility=hidden", "-ffp-contract=off", "-o", library, f"-I{copy}",
         f"-I{ROOT}/harness/include", "-xc++", *(copy / source for source in sources),
         copy / "solution.cu", "-xnone", *str(folder("PRENORM_EMULATOR")).split(":"),
         "-lboost_context"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory, request):
    """Libraries, compiled side by side: of mistakes, and of problems as they are."""
    room = tmp_path_factory.mktemp("planted")
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")
              and item.module is request.module]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {}
        for parameters in wanted:
            for what in parameters.values():
                arguments = ((PROBLEMS[what],) if isinstance(what, str) else
                             (what.sources, what.changed, what.changes, what.dtype))
                futures[what] = pool.submit(build, room / str(what), *arguments)
        yield futures


def verify(program, library, problem, dtype):
    """{version: {case: status}}."""
    sources = "".join((ROOT / "cuda" / name).read_text() for name in PROBLEMS[problem])
    variants = re.findall(rf"^PRENORM_CUDA_VARIANT\({problem}, (\w+),", sources, re.MULTILINE)
    fixture = ROOT / "fixtures" / f"{problem}.h5"
    words = [program, "verify", "--json", "-", "--fixtures", fixture, "--dtype", dtype]
    for version in ["", "/v1", *(f"/{variant}" for variant in variants)]:
        words += ["--solution", f"{library}{version}"]
    for case in small_cases(fixture, 65536):
        words += ["--case", case]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout, done.stderr
    versions = {}
    for result in json.loads(done.stdout)["results"]:
        version = result["solution"].removeprefix(str(library)) or "launched"
        versions.setdefault(version, {})[result["case"]] = result["status"]
    assert len(versions) == 2 + len(variants)
    return versions


@pytest.mark.parametrize("problem", PROBLEMS)
def test_unplanted_kernels_pass(program, libraries, problem):
    for version, cases in verify(program, libraries[problem].result(), problem, "float32").items():
        assert set(cases.values()) == {"PASSED"}, (version, cases)


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_planted_mistake_is_caught(program, libraries, mistake):
    versions = verify(program, libraries[mistake].result(), mistake.problem, mistake.dtype)
    for version, cases in versions.items():
        assert "INCORRECT_NUMERICAL" in cases.values(), f"{version} passes"
        assert set(cases.values()) <= {"PASSED", "INCORRECT_NUMERICAL"}, (version, cases)
