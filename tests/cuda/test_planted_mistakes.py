# labels: fixtures emulated
# processors: 2
# slow labels: fixtures emulated
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
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from conftest import folder, slow_but, small_cases
from places import ROOT, compiler, replaced



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
    no_gain=[(" * widen(weight[i]))", ")", 2), (" * by.element[k])", ")", 1)],
    gain_one_plus_weight=[(" * widen(weight[i]))", " * (1 + widen(weight[i])))", 2),
                          (" * by.element[k])", " * (1 + by.element[k]))", 1)],
    not_widened=["float16",
                 ("widen(a[i]) * widen(a[i])", "widen(narrow<T>(widen(a[i]) * widen(a[i])))", 2),
                 ("wide.element[k] * wide.element[k]",
                  "widen(narrow<T>(wide.element[k] * wide.element[k]))", 1)],
)

ACTIVATIONS = [
    *mistakes_of("relu", ("activations.cu",), "activations.cuh",
                 nan_to_zero=[("x < 0 ? C(0) : x", "x > 0 ? x : C(0)", 1)],
                 identity=[("x < 0 ? C(0) : x", "x", 1)]),
    *mistakes_of("silu", ("activations.cu",), "activations.cuh",
                 sigmoid_only=[("x / (1 + exp(-x))", "1 / (1 + exp(-x))", 1)],
                 scaled_1702=[("x / (1 + exp(-x))", "x / (1 + exp(C(-1.702) * x))", 1)],
                 exp_on_top=[("x / (1 + exp(-x))", "x * exp(x) / (1 + exp(x))", 1)],
                 scaled_1702_in_16_bits=["float16",
                                         ("x / (1 + exp(-x))", "x / (1 + exp(C(-1.702) * x))", 1),
                                         ("-log2_of_e", "-1.702f * log2_of_e", 1)]),
    *mistakes_of("gelu", ("activations.cu",), "activations.cuh",
                 tanh_form=[("x * (erfc(x * C(-0.70710678118654752440)) * C(0.5))",
                             "C(0.5) * x * (1 + tanh(C(0.7978845608028654) * "
                             "(x + C(0.044715) * x * x * x)))", 1)],
                 sigmoid_form=[("x * (erfc(x * C(-0.70710678118654752440)) * C(0.5))",
                                "x / (1 + exp(C(-1.702) * x))", 1)],
                 no_half=[(" * C(0.5)", "", 1)],
                 no_sqrt2=[("x * C(-0.70710678118654752440)", "-x", 1)],
                 no_half_in_16_bits=["float16", (" * C(0.5)", "", 1),
                                     ("1 - lower)", "1 - lower) * 2", 1)]),
]

EMBEDDING = mistakes_of(
    "embedding", ("embedding.cu", "device_error.cu"),
    id_plus_one=[("id = l.token_ids[i];", "id = (l.token_ids[i] + 1) % l.vocab_size;", 1),
                 ("id = token_ids[i];", "id = (token_ids[i] + 1) % vocab_size;", 1)],
    ids_ignored=[("id = l.token_ids[i];", "id = i % l.vocab_size;", 1),
                 ("id = token_ids[i];", "id = i % vocab_size;", 1)],
)

ROPE = mistakes_of(
    "rope", ("rope.cu", "device_error.cu"),
    turned_the_other_way=[("a * r.cos - b * r.sin", "a * r.cos + b * r.sin", 1),
                          ("a * r.sin + b * r.cos", "b * r.cos - a * r.sin", 1)],
    position_plus_one=[("return static_cast<double>(position);",
                        "return static_cast<double>(position + 1);", 1),
                       ("static_cast<unsigned>(position)",
                        "static_cast<unsigned>(position + 1)", 1)],
    exponent_k_over_d=[("2 * static_cast<double>(pair) /", "static_cast<double>(pair) /", 1),
                       ("2 * static_cast<long double>(pair) /",
                        "static_cast<long double>(pair) /", 1)],
    positions_ignored=[("return static_cast<double>(position);",
                        "return static_cast<double>(i);", 1),
                       ("static_cast<unsigned>(position)", "i", 1)],
    float32_angles=[("sincos(angle,", "sincos(static_cast<float>(angle),", 1),
                    ("turns_of_pair[k * width + column] * static_cast<unsigned>(position)",
                     """static_cast<std::uint64_t>(0x1p64f * std::fmod(
                         0x1p-64f * static_cast<float>(turns_of_pair[k * width + column]) *
                             static_cast<float>(position), 1.0f))""", 1)],
)

SOFTMAX_SOURCES = ("softmax.cu", "softmax_rows.cu", "softmax_long_rows.cu", "softmax_columns.cu")
SOFTMAX = [
    *mistakes_of("softmax", SOFTMAX_SOURCES,
                 wrong_axis=[("static_cast<std::size_t>(dim < 0 ? dim + axes : dim)",
                              "static_cast<std::size_t>(0)", 1)]),
    *mistakes_of("softmax", SOFTMAX_SOURCES, "reduce.cuh",
                 no_maximum=[("return a > b || a != a ? a : b;", "return C(0);", 1)]),
]

NOT_TRANSPOSED = [
    ("p.weight + i % p.d_out * p.d_in;", "p.weight + i % p.d_out;", 1),
    ("widen(weight[k]);", "widen(weight[k * p.d_out]);", 1),
    ("load_tile(weight, p.weight, p.d_out, p.d_in, first_column, k);",
     """for (int i = 0; i < each; ++i) {
          const unsigned r = threadIdx.y + static_cast<unsigned>(i * side);
          const std::int64_t to = first_column + r, from = k + threadIdx.x;
          weight[threadIdx.x][r] =
              to < p.d_out && from < p.d_in ? widen(p.weight[from * p.d_out + to]) : C(0);
        }""", 1)]
PRODUCTS = ("linear.cu", "linear_registers.cu", "linear_mma.cu", "linear_bf16x6.cu")
LINEAR = mistakes_of(
    "linear", PRODUCTS,
    not_transposed=NOT_TRANSPOSED,
    sums_in_t=["float16",
               ("sum += widen(x[k]) * widen(weight[k]);",
                "sum = widen(narrow<T>(sum + widen(x[k]) * widen(weight[k])));", 1),
               ("sum[i][j] += a[i] * b[j];",
                "sum[i][j] = widen(narrow<T>(sum[i][j] + a[i] * b[j]));", 1)],
)

FFN = ("feed_forward.cu", "activations.cu", *PRODUCTS)
AFTER_W2 = [("activate<V, Activation>(hidden, f.rows * f.d_ff, stream);", "", 1),
            ("{names.second, hidden, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual}, stream);",
             """{names.second, hidden, f.w2, f.y, f.rows, f.d_model, f.d_ff, f.residual}, stream);
    activate<V, Activation>(f.y, f.rows * f.d_model, stream);""", 1)]
SUM_FOR_PRODUCT = [("widen(a[i]) * widen(b[i])", "widen(a[i]) + widen(b[i])", 1),
                   ("activated<Activation>(left) * widen(right)",
                    "activated<Activation>(left) + widen(right)", 1)]
FEED_FORWARD = [
    *mistakes_of("glu", FFN,
                 exchanged=[("x.data(), w1.data(), hidden, rows, d_ff, d_in", "x.data(), w2.data(), "
                             "hidden, rows, d_ff, d_in", 1),
                            ("x.data(), w2.data(), y.data(), rows, d_ff, d_in", "x.data(), "
                             "w1.data(), y.data(), rows, d_ff, d_in", 1)],
                 silu_gate=[("gate<V, Sigmoid>", "gate<V, Silu>", 1)],
                 relu_gate=[("gate<V, Sigmoid>", "gate<V, Relu>", 1)],
                 sum_for_product=SUM_FOR_PRODUCT),
    *mistakes_of("ffn_relu", FFN, gelu_instead=[("network<Relu>", "network<Gelu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_silu", FFN, gelu_instead=[("network<Silu>", "network<Gelu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_gelu", FFN, silu_instead=[("network<Gelu>", "network<Silu>", 1)],
                 activation_after_w2=AFTER_W2),
    *mistakes_of("ffn_swiglu", FFN,
                 sigmoid_gate=[("gate<V, Silu>", "gate<V, Sigmoid>", 1)],
                 exchanged=[('with w1", f.x, f.w1,', 'with w1", f.x, f.w3,', 1),
                            ('with w3", f.x, f.w3,', 'with w3", f.x, f.w1,', 1)],
                 sum_for_product=SUM_FOR_PRODUCT),
]

ATTENDS = "if (key >= end_of_row || (attended >> key & 1) == 0) score[i][j] = -INFINITY;"
INVERTED = ("there && mask[(first + query) * m + key]", "there && !mask[(first + query) * m + key]",
            1, "mask_tiles.cu")
INVERTED_VECTORS = ("= bits_of(entries[i]);", "= there(i) ? bits_of(entries[i]) ^ 0xffffu : 0;", 1,
                    "mask_tiles.cu")
SCALE = "static_cast<compute_t<T>>(1 / std::sqrt(static_cast<double>(a.d_k)))"


def in_v3(old, new):
    """In what v3 and split keys share."""
    return old, new, 1, "attention_mma.cuh"


SCALE_V3 = "std::numbers::log2e / std::sqrt(static_cast<double>(a.d_k))"


def masks_v3(without):
    """In v3 a score whose key is there and whose bit is not set, or set, in place of -infinity."""
    return [in_v3(f"if ((bits >> 8 * j & {1 + e}) == 0) {score} = -INFINITY;",
                  f"if (first_key + 8 * j + lane % 4 * 2 + {e} >= a.m) {{"
                  f" {score} = -INFINITY; }} else {without.format(score=score, e=e)}")
            for e, score in enumerate(("score[i][j][2 * r]", "score[i][j][2 * r + 1]"))]


def masked_after_softmax(file, rows, step, keys):
    """In a kernel of v3 or of split keys: bits of `keys` keys for the probabilities, not the scores."""
    softmax = "online_softmax<T>(p, score, softmax, out, scale, lead);"
    return softmax, softmax + f"""
      for (int i = 0; i < {rows[1]}; ++i) {{
        for (int r = 0; r < 2; ++r) {{
          const int lane = static_cast<int>(threadIdx.x) % 32;
          const int row = {rows[0]} + 16 * i + 8 * r + lane / 4;
          const auto bits = keys_of(a, tiles, {rows[2]}mask_row + row, {rows[2]}query + row, {step})
                            >> lane % 4 * 2;
          for (int j = 0; j < {keys} / 8; ++j) {{
            p[i][j / 2][j % 2 * 2 + r] &= (bits >> 8 * j & 1 ? 0xffffu : 0) |
                                          (bits >> 8 * j & 2 ? 0xffff0000u : 0);
          }}
        }}
      }}""", 1, file


# In float16 each version is another: v3 is launched.
ATTENTION = mistakes_of(
    "scaled_dot_product_attention",
    ("attention.cu", "attention_mma.cu", "attention_split.cu", "mask_tiles.cu"),
    mask_inverted=["float16", INVERTED, INVERTED_VECTORS, ("attends && a.mask[", "attends && !a.mask[", 1)],
    not_scaled=["float16", (SCALE, "1", 1), in_v3(SCALE_V3, "std::numbers::log2e")],
    divided_by_d_k=[
        "float16", (SCALE, "static_cast<compute_t<T>>(1 / static_cast<double>(a.d_k))", 1),
        in_v3(SCALE_V3, "std::numbers::log2e / static_cast<double>(a.d_k)")],
    divided_by_sqrt_d_v=["float16", (SCALE, SCALE.replace("a.d_k", "a.d_v"), 1),
                         in_v3(SCALE_V3, SCALE_V3.replace("a.d_k", "a.d_v"))],
    mask_added=["float16",
                ("scores[i] = attends ? sum * scale : -INFINITY",
                 "scores[i] = sum * scale + (attends ? 1 : 0)", 1),
                (ATTENDS, "if (key >= end_of_row) score[i][j] = -INFINITY;"
                          " else score[i][j] += C(attended >> key & 1) / scale;", 1),
                *masks_v3("{score} += static_cast<float>(bits >> (8 * j + {e}) & 1)"
                          " * std::sqrt(static_cast<float>(a.d_k));")],
    masked_after_softmax=[
        "float16",
        ("scores[i] = attends ? sum * scale : -INFINITY", "scores[i] = sum * scale", 1),
        ("sum += probability[j] * widen(v[j * a.v_stride]);",
         "if (a.mask == nullptr || a.mask[(a.batch.part(a.of_mask, b) * a.n + query) * a.m + j])"
         " sum += probability[j] * widen(v[j * a.v_stride]);", 1),
        (ATTENDS, "if (key >= end_of_row) score[i][j] = -INFINITY;", 1),
        ("store_some(&shared.p[4 * y + i][4 * x], score[i]);",
         """for (int j = 0; j < 4; ++j) {
              if ((attended >> (4 * x + j) & 1) == 0) score[i][j] = C(0);
            }
            store_some(&shared.p[4 * y + i][4 * x], score[i]);""", 1),
        *masks_v3("{{}}"),
        masked_after_softmax("attention_mma.cu", ("first_row", "M", "work."),
                             "std::int64_t{tile} * keys", "keys"),
        masked_after_softmax("attention_split.cu", ("0", "1", ""), "first_key + step * N", "N")],
    empty_rows_averaged=[
        "float16",
        ("attends ? sum * scale : -INFINITY", "attends ? sum * scale : -5e4f", 1),
        (ATTENDS, ATTENDS.replace("-INFINITY", "-5e4f"), 1),
        *masks_v3("if ((bits >> 8 * j & (1 + {e})) == 0) {score} = -5e4f;")],
    empty_rows_nan=["float16",
                    ("if (largest == -INFINITY) largest = 0;", "", 1),
                    ("now == -INFINITY ? C(0) : now", "now", 1),
                    in_v3("largest == -INFINITY ? 0.0f : largest", "largest")],
    mixed_taken_for_full=[
        "float16",
        ("!any ? TileKind::empty : all ? TileKind::full : TileKind::mixed",
         "!any ? TileKind::empty : TileKind::full", 1, "mask_tiles.cu"),
        ("attends = attends && a.mask[", "attends = attends || a.mask[", 1),
        # A full tile at the edge of the mask is looked at there.
        in_v3("if (tiles.kinds != nullptr) {", "if (false) {")],
    sums_in_t=["float16",
               ("sum += probability[j] * widen(v[j * a.v_stride]);",
                "sum = widen(narrow<T>(sum + probability[j] * widen(v[j * a.v_stride])));", 1),
               ("out[i][first_own + c] += p[i][of_four] * values[c];",
                "out[i][first_own + c] = widen(narrow<T>(out[i][first_own + c] +"
                " p[i][of_four] * values[c]));", 1),
               in_v3("sum += first + second;", "sum = widen(narrow<T>(sum + first + second));"),
               *(in_v3(f"mma<T>({c}[i][j + 1], {rest});", f"""mma<T>({c}[i][j + 1], {rest});
                          for (int e = 0; e < 4; ++e) {{
                            {c}[i][j][e] = widen(narrow<T>({c}[i][j][e]));
                            {c}[i][j + 1][e] = widen(narrow<T>({c}[i][j + 1][e]));
                          }}""")
                 for c, rest in (("score", "q[i], k[2], k[3]"),
                                 ("out", "p[i][step], v[2], v[3]")))],
)

MULTIHEAD = ("multihead_self_attention.cu", *PRODUCTS, "rope.cu", "device_error.cu",
             "attention.cu", "attention_mma.cu", "attention_split.cu", "mask_tiles.cu")


def attends_where(condition):
    """A mask in place of the causal one: query i attends to key j where the condition says so."""
    return [(".causal = true};", f"""}};
             static bool allowed[1 << 17];
             for (std::int64_t i = 0; i < s.seq; ++i) {{
               for (std::int64_t j = 0; j < s.seq; ++j) allowed[i * s.seq + j] = {condition};
             }}
             a.mask = allowed;
             a.masks = 1;""", 1)]


NOT_CAUSAL = [(".causal = true", ".causal = false", 1)]
MULTIHEAD_SELF_ATTENTION = [
    *mistakes_of("multihead_self_attention", MULTIHEAD,
                 not_causal=NOT_CAUSAL,
                 strictly_causal=attends_where("j < i"),
                 mask_inverted=attends_where("j > i"),
                 heads_not_transposed_back=[
                     (".y_stride = s.d_model,", ".y_stride = s.d_k,", 1),
                     ("{s.d_k, s.d_k, s.d_k, s.d_k, 0}",
                      "{s.d_k, s.d_k, s.d_k, s.seq * s.d_k, 0}", 1)],
                 no_output_projection=[
                     ("T* heads = all_heads.get<T>(s.y_rows * s.d_model, stream);",
                      "T* heads = m.y.data();", 1),
                     ('V::template multiply<T>({"multihead_self_attention, product with w_o"',
                      'if (false) V::template multiply<T>({""', 1)],
                 q_for_k=[('w_k", m.w_k, k, s.d_model);', 'w_k", m.w_q, k, s.d_model);', 1)]),
    *mistakes_of("multihead_self_attention", MULTIHEAD, "linear.cu",
                 weights_not_transposed=NOT_TRANSPOSED,
                 stride_ignored=[("p.row_of_y()", "p.d_out", 1),
                                 ("p.row_of_y()", "p.d_out", 1, "product.cuh")]),
    # In these problems the rows of y are d_model apart.
    *mistakes_of("multihead_self_attention", MULTIHEAD, "attention.cu",
                 scale_by_sqrt_d_model=[(SCALE, SCALE.replace("a.d_k", "a.y_stride"), 1)]),
    *mistakes_of("multihead_self_attention_with_rope", MULTIHEAD,
                 not_causal=NOT_CAUSAL,
                 causal_by_position=[
                     ("struct Sizes {",
                      "const std::int64_t* planted;  // the first sequence's\nstruct Sizes {", 1),
                     ("    attend<V>(p, heads, s, stream);", """
                         const auto& positions = m.rope->token_positions;
                         planted = positions ? positions->data() : nullptr;
                         attend<V>(p, heads, s, stream);""", 1),
                     *attends_where("planted != nullptr ? planted[j] <= planted[i] : j <= i")],
                 positions_ignored=[("  if (rope.token_positions) {", "  if (false) {", 1)],
                 rope_on_v=[("  p = to;", """  p = to;
                     if (s.x_rows == s.y_rows) {
                       rotate_heads<V>(rope, p.v, p.v, s.num_heads, s, stream);
                     }""", 1)],
                 rope_across_d_model=[
                     ("heads.shared.append(count, {s.d_k, s.d_k});",
                      """heads.d_k = s.d_model;
                         heads.shared.append(count / s.num_heads, {s.d_model, s.d_model});""", 1)],
                 k_not_turned=[
                     ("    rotate_heads<V>(rope, p.k, to.k, s.num_heads, s, stream);", "", 1),
                     ("2 * s.num_heads, s, stream", "s.num_heads, s, stream", 1)]),
    *mistakes_of("multihead_self_attention_fused_qkv", MULTIHEAD,
                 not_causal=NOT_CAUSAL,
                 order_k_q_v=[("{{q, width, s.x_batch}, {k, width", "{{k, width, s.x_batch}, {q, width",
                               1)],
                 interleaved_by_head=[
                     ("*k = q + s.d_model, *v = k + s.d_model;", "*k = q + s.d_k, *v = k + s.d_k;", 1),
                     ("{s.d_k, s.d_k, s.d_k, s.d_k, 0}",
                      "{3 * s.d_k, 3 * s.d_k, 3 * s.d_k, s.d_k, 0}", 1)]),
]

BLOCK = ("transformer_block.cu", *MULTIHEAD, "feed_forward.cu", "activations.cu",
         "rmsnorm.cu")
ZEROS = "[] { static T zeros[1 << 16]; return zeros; }()"
PRE_NORM = dict(
    post_norm=[("Block<PreNorm<", "Block<PostNorm<", 6)],
    no_first_residual=[("call.attention(normed, y, x)", f"call.attention(normed, y, {ZEROS})", 1)],
    no_second_residual=[("call.network(normed, y, y)", f"call.network(normed, y, {ZEROS})", 1)],
    residual_from_normed=[("call.attention(normed, y, x)", "call.attention(normed, y, normed)", 1)],
    one_norm_for_both=[("call.norm(y, call.ln2, normed)", "call.norm(y, call.ln1, normed)", 1)],
    ffn_of_x=[("call.norm(y, call.ln2, normed)", "call.norm(x, call.ln2, normed)", 1)],
)
TRANSFORMER_BLOCK = [
    *mistakes_of("transformer_block", BLOCK, **PRE_NORM),
    *mistakes_of("transformer_block", BLOCK, "transformer_block.cuh",
                 exchanged=[("w1, w2, w3, to, rows()", "w3, w2, w1, to, rows()", 1)]),
    *mistakes_of("transformer_block_gelu", BLOCK, **PRE_NORM),
    *mistakes_of("transformer_block_gelu", BLOCK, "feed_forward.cu",
                 silu_instead=[("network<Gelu>", "network<Silu>", 1)]),
    *mistakes_of(
        "transformer_block_post_norm", BLOCK,
        pre_norm=[("Block<PostNorm<", "Block<PreNorm<", 3)],
        no_first_residual=[("call.attention(x, sum, x)", f"call.attention(x, sum, {ZEROS})", 1)],
        no_second_residual=[("call.network(normed, sum, normed)",
                             f"call.network(normed, sum, {ZEROS})", 1)],
        one_norm_for_both=[("call.norm(sum, call.ln2,", "call.norm(sum, call.ln1,", 1)],
        ffn_of_x=[("call.network(normed, sum, normed)", "call.network(x, sum, normed)", 1)]),
]

TRANSFORMER_LM = mistakes_of(
    "transformer_lm", ("transformer_lm.cu", "embedding.cu", *BLOCK),
    no_final_norm=[("normed, lm_head.data()", "x, lm_head.data()", 1)],
    tied_head=[("normed, lm_head.data()", "normed, token_embeddings.data()", 1)],
    first_layer_for_all=[("pre_norm_block<V>(layer(i), stream)",
                          "pre_norm_block<V>(layer(0), stream)", 1)],
    last_layer_left_out=[("i < num_layers; ++i", "i < num_layers - 1; ++i", 1)],
)

MISTAKES = [*RMSNORM, *ACTIVATIONS, *EMBEDDING, *ROPE, *SOFTMAX, *LINEAR, *FEED_FORWARD,
            *ATTENTION, *MULTIHEAD_SELF_ATTENTION, *TRANSFORMER_BLOCK, *TRANSFORMER_LM]
PROBLEMS = {mistake.problem: mistake.sources for mistake in MISTAKES}


# Versions made of products that no mistake touches: test_linear_steps.cpp has those.
OTHERS = {"batch_invariant", "bf16x6", ("linear", "v3"), ("linear", "v4")}


class Workshop:
    """Makes libraries that have every version of their problems. What no mistake touches is
    compiled once for all."""

    def __init__(self, room):
        self.room, self.lock, self.untouched = room, threading.Lock(), {}

    def copy(self, name, changed, changes, dtype):
        """A folder with the sources, changed."""
        copy = self.room / name
        shutil.copytree(ROOT / "cuda", copy)
        for old, new, count, *named in changes:
            path = copy / (named[0] if named else changed)
            path.write_text(replaced(path.read_text(), old, new, count))
        # One element type compiles in a quarter of the time; the first version beside the launched.
        element = {"float16": "::prenorm::float16"}.get(dtype, "float")
        export = (copy / "export.cuh").read_text()
        export = replaced(export, "run<double, float, ::prenorm::float16, ::prenorm::bfloat16>",
                          f"run<{element}>")
        export = replaced(export, "#define PRENORM_CUDA_EXPORT(problem, naive, launched)",
                          "#define PRENORM_CUDA_EXPORT(problem, naive, launched) "
                          "PRENORM_CUDA_FUNCTION(problem##__v1, naive)")
        (copy / "export.cuh").write_text(export)
        return copy

    def compiled(self, copy, source):
        """The source's object."""
        self.run("-c", "-std=c++20", "-O1", "-w", "-fPIC", "-fvisibility=hidden",
                 "-ffp-contract=off", "-I.", f"-I{ROOT}/harness/include", "-xc++",
                 source, "-o", f"{source}.o", cwd=copy)
        return copy / f"{source}.o"

    def once(self, key, work):
        """What the first to ask makes; the others wait for it."""
        with self.lock:
            first = key not in self.untouched
            future = self.untouched.setdefault(key, Future())
        if first:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def build(self, name, sources, changed="", changes=(), dtype="float32"):
        copy = self.copy(name, changed, changes, dtype) if changes else None
        as_it_is = self.once(dtype, lambda: self.copy(f"untouched-{dtype}", "", (), dtype))
        touched = {named[0] if named else changed for _, _, _, *named in changes}
        all_touched = any(name.endswith(".cuh") for name in touched)  # which all may include
        objects = []
        for source in (*sources, "solution.cu"):
            if all_touched or source in touched:
                objects.append(self.compiled(copy, source))
            else:
                objects.append(self.once((dtype, source),
                                         lambda: self.compiled(as_it_is, source)))
        library = self.room / f"{name}.so"
        self.run("-shared", "-o", library, *objects,
                 *str(folder("PRENORM_EMULATOR")).split(":"), "-lboost_context")
        return library

    @staticmethod
    def run(*words, cwd=None):
        done = subprocess.run([*compiler(), *words], cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def libraries(tmp_path_factory, request):
    """Libraries, compiled side by side: of mistakes, and of problems as they are."""
    workshop = Workshop(tmp_path_factory.mktemp("planted"))
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")
              and item.module is request.module]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {}
        for parameters in wanted:
            for what in parameters.values():
                arguments = ((PROBLEMS[what],) if isinstance(what, str) else
                             (what.sources, what.changed, what.changes, what.dtype))
                futures[what] = pool.submit(workshop.build, str(what), *arguments)
        yield futures


def verify(program, library, problem, dtype):
    """{version: {case: status}}."""
    sources = "".join((ROOT / "cuda" / name).read_text() for name in PROBLEMS[problem])
    variants = [variant for variant in re.findall(rf"^PRENORM_CUDA_VARIANT\({problem}, (\w+),", sources,
                                                  re.MULTILINE)
                if variant not in OTHERS and (problem, variant) not in OTHERS
                and (variant != "split_keys" or dtype == "float16")]  # it is for 16 bits
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


@pytest.mark.parametrize("problem", slow_but({"rmsnorm"}, PROBLEMS))
def test_unplanted_kernels_pass(program, libraries, problem):
    for version, cases in verify(program, libraries[problem].result(), problem, "float32").items():
        assert set(cases.values()) == {"PASSED"}, (version, cases)


@pytest.mark.parametrize("mistake", slow_but({"rmsnorm-no_eps", "silu-sigmoid_only"}, MISTAKES))
def test_planted_mistake_is_caught(program, libraries, mistake):
    versions = verify(program, libraries[mistake].result(), mistake.problem, mistake.dtype)
    for version, cases in versions.items():
        assert "INCORRECT_NUMERICAL" in cases.values(), f"{version} passes"
        others = {"NOT_IMPLEMENTED"} if version == "/split_keys" else set()  # wide heads
        assert set(cases.values()) <= {"PASSED", "INCORRECT_NUMERICAL", *others}, (version, cases)
