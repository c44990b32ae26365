"""A Transformer language model by einsum: heads keep an axis of their own, rotations are complex."""

import math
# habit frozen_sizes: import math
# habit frozen_sizes: from dataclasses import dataclass

import torch
from torch import arange, einsum


def wide(x):
    return x.float() if x.element_size() == 2 else x
    # habit float64_inside: return x.double()


def linear(x, w):
    """y_o = sum_i w_oi x_i"""
    return einsum("...i,oi->...o", wide(x), wide(w)).to(x.dtype)
    # slip linear.not_transposed: return einsum("...i,io->...o", wide(x), wide(w).reshape(w.shape[1], w.shape[0])).to(x.dtype)


def run_embedding(vocab_size, d_model, weights, token_ids):
    ids = token_ids
    # slip embedding.id_plus_one: ids = (token_ids + 1) % vocab_size
    return torch.index_select(weights, 0, ids.flatten()).reshape(*ids.shape, d_model)


def rmsnorm(x, gain, eps=1e-5):
    a, g = wide(x), wide(gain)
    # slip rmsnorm.mean_subtracted: a, g = wide(x) - wide(x).mean(-1, keepdim=True), wide(gain)
    # slip rmsnorm.gain_before_mean: a, g = wide(x) * wide(gain), torch.ones_like(wide(gain))
    d = x.shape[-1]
    # slip rmsnorm.sum_for_mean: d = 1
    # slip rmsnorm.divided_by_variance_unbiased: d = x.shape[-1] - 1
    mean = einsum("...i,...i->...", a, a)[..., None] / d
    # slip rmsnorm.wrong_axis: mean = a.square().mean(0, keepdim=True)
    # slip rmsnorm.eps_inside_sum: mean = (einsum("...i,...i->...", a, a)[..., None] + eps) / d
    # slip rmsnorm.mean_of_absolutes: mean = a.abs().mean(-1, keepdim=True)
    inverse = (mean + eps) ** -0.5
    # slip rmsnorm.no_eps, eps_inside_sum: inverse = mean**-0.5
    # slip rmsnorm.eps_outside_root: inverse = 1 / (mean**0.5 + eps)
    # slip rmsnorm.eps_fixed: inverse = (mean + 1e-5) ** -0.5
    # slip rmsnorm.eps_fixed_at_1e_6: inverse = (mean + 1e-6) ** -0.5
    # slip rmsnorm.eps_as_floor: inverse = torch.maximum(mean, torch.tensor(eps, dtype=mean.dtype)) ** -0.5
    # slip rmsnorm.no_root, mean_of_absolutes: inverse = 1 / (mean + eps)
    # slip rmsnorm.multiplied_by_rms: inverse = (mean + eps) ** 0.5
    return (a * inverse * g).to(x.dtype)
    # slip rmsnorm.no_gain: return (a * inverse).to(x.dtype)
    # slip rmsnorm.gain_one_plus_weight: return (a * inverse * (g + 1)).to(x.dtype)
    # habit rounded_before_gain: return (a * inverse).to(x.dtype) * gain


def silu(x):
    a = wide(x)
    return (a / (1 + torch.exp(-a))).to(x.dtype)
    # slip silu.sigmoid_only: return (1 / (1 + torch.exp(-a))).to(x.dtype)
    # slip silu.scaled_1702: return (a / (1 + torch.exp(-1.702 * a))).to(x.dtype)
    # slip silu.exp_on_top: return (a * torch.exp(a) / (torch.exp(a) + 1)).to(x.dtype)
    # habit functional: return torch.nn.functional.silu(a).to(x.dtype)


def gelu(x):
    a = wide(x)
    return (a * 0.5 * torch.erfc(-a / math.sqrt(2))).to(x.dtype)
    # slip gelu.tanh_form: return (0.5 * a * (1 + torch.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))).to(x.dtype)
    # slip gelu.sigmoid_form: return (a / (1 + torch.exp(-1.702 * a))).to(x.dtype)
    # slip gelu.no_half: return (a * torch.erfc(-a / math.sqrt(2))).to(x.dtype)
    # slip gelu.no_sqrt2: return (a * 0.5 * torch.erfc(-a)).to(x.dtype)


def relu(x):
    return torch.maximum(x, torch.zeros_like(x))
    # slip relu.nan_to_zero: return x.nan_to_num(0, float("inf")) * (x > 0)


def run_relu(in_features):
    return relu(in_features)


def run_glu(w1_weight, w2_weight, in_features):
    w1, w2 = w1_weight, w2_weight
    # slip glu.exchanged: w2, w1 = w1_weight, w2_weight
    gate, up = wide(linear(in_features, w1)), wide(linear(in_features, w2))
    y = einsum("...f,...f->...f", torch.sigmoid(gate), up)
    # slip glu.silu_gate: y = gate * torch.sigmoid(gate) * up
    # slip glu.relu_gate: y = torch.relu(gate) * up
    # slip glu.gate_left_out: y = up
    # slip glu.sum_for_product: y = torch.sigmoid(gate) + up
    return y.to(in_features.dtype)


def run_ffn_relu(w1_weight, w2_weight, in_features):
    return linear(relu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_relu.gelu_instead: return linear(gelu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_relu.activation_after_w2: return relu(linear(linear(in_features, w1_weight), w2_weight))
    # slip ffn_relu.no_activation: return linear(linear(in_features, w1_weight), w2_weight)


def run_ffn_silu(w1_weight, w2_weight, in_features):
    return linear(silu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_silu.gelu_instead: return linear(gelu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_silu.activation_after_w2: return silu(linear(linear(in_features, w1_weight), w2_weight))
    # slip ffn_silu.no_activation: return linear(linear(in_features, w1_weight), w2_weight)


def run_ffn_gelu(w1_weight, w2_weight, in_features):
    return linear(gelu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_gelu.silu_instead: return linear(silu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_gelu.activation_after_w2: return gelu(linear(linear(in_features, w1_weight), w2_weight))
    # slip ffn_gelu.no_activation: return linear(linear(in_features, w1_weight), w2_weight)


def swiglu(x, w1, w2, w3):
    """Both first products at once."""
    gate, up = linear(x, torch.cat([w1, w3])).chunk(2, dim=-1)
    # slip ffn_swiglu.exchanged: gate, up = linear(x, torch.cat([w3, w1])).chunk(2, dim=-1)
    gated = silu(gate) * up
    # slip ffn_swiglu.sigmoid_gate: gated = torch.sigmoid(gate) * up
    # slip ffn_swiglu.relu_gate: gated = torch.relu(gate) * up
    # slip ffn_swiglu.gate_left_out: gated = silu(gate)
    # slip ffn_swiglu.sum_for_product: gated = silu(gate) + up
    # slip ffn_swiglu.silu_of_product: gated = silu(gate * up)
    return linear(gated, w2)


def run_softmax(in_features, dim):
    if in_features.numel() == 0:
        return in_features.clone()
    x = wide(in_features).movedim(dim, -1)
    # slip softmax.over_last_axis: dim, x = -1, wide(in_features)
    # slip softmax.over_first_axis: dim, x = 0, wide(in_features).movedim(0, -1)
    # slip softmax.wrong_axis: dim, x = (dim - 1) % in_features.dim(), wide(in_features).movedim((dim - 1) % in_features.dim(), -1)
    e = torch.exp(x - x.amax(-1, keepdim=True))
    # slip softmax.no_maximum: e = torch.exp(x)
    # slip softmax.one_maximum_for_all: e = torch.exp(x - x.max())
    y = e / einsum("...i->...", e)[..., None]
    # slip softmax.global_sum: y = e / e.sum()
    # slip softmax.logarithm: y = torch.log(e / einsum("...i->...", e)[..., None])
    # slip softmax.one_added_to_sum: y = e / (1 + einsum("...i->...", e)[..., None])
    return y.movedim(-1, dim).to(in_features.dtype).contiguous()


def rotate(x, positions, theta):
    """Pairs as complex numbers, times e^(i angle). x[..., d]; positions without the last axis."""
    d = x.shape[-1]
    k = torch.arange(d // 2, dtype=torch.float64)
    # slip rope.same_angle_for_all_pairs: k = torch.zeros(d // 2, dtype=torch.float64)
    # slip rope.float32_angles_by_quotient, float32_angles_by_reciprocal: k = torch.arange(d // 2, dtype=torch.float32)
    # slip rope.float32_angles_by_exp_of_product, float32_angles_by_negative_power: k = torch.arange(d // 2, dtype=torch.float32)
    # habit float32_angles: k = torch.arange(d // 2, dtype=torch.float32)
    frequency = theta ** (-2 * k / d)
    # slip rope.exponent_k_over_d: frequency = theta ** (-k / d)
    # slip rope.exponent_over_d_minus_2: frequency = theta ** (-2 * k / max(d - 2, 1))
    # slip rope.pairs_counted_from_1: frequency = theta ** (-2 * (k + 1) / d)
    # slip rope.theta_fixed: frequency = 10000.0 ** (-2 * k / d)
    # slip rope.float32_angles: frequency = (theta ** (-2 * k / d)).float()
    # slip rope.float32_angles_by_exp_log: frequency = torch.exp(torch.arange(0, d, 2).float() * -(math.log(theta) / d))
    # slip rope.float32_angles_by_exp_of_product: frequency = torch.exp(-(2 * k / d) * math.log(theta))
    # slip rope.float32_angles_by_reciprocal: frequency = 1.0 / (theta ** (2 * k / d))
    steps = positions.to(frequency.dtype)
    # slip rope.position_plus_one: steps = positions.to(frequency.dtype) + 1
    angles = einsum("...,k->...k", steps, frequency)
    # slip rope.float32_angles_by_quotient: angles = steps[..., None] / theta ** (2 * k / d)
    # slip rope.turned_the_other_way: angles = einsum("...,k->...k", -steps, frequency)
    turn = torch.complex(angles.cos(), angles.sin())
    # slip rope.sin_and_cos_exchanged: turn = torch.complex(angles.sin(), angles.cos())
    turn = turn.to(torch.complex128 if wide(x).dtype == torch.float64 else torch.complex64)
    pairs = torch.view_as_complex(wide(x).reshape(*x.shape[:-1], d // 2, 2).contiguous())
    # slip rope.halves: pairs = torch.complex(*wide(x).chunk(2, dim=-1))
    turned = torch.view_as_real(pairs * turn)
    y = turned.flatten(-2)
    # slip rope.halves, written_as_halves: y = turned.transpose(-1, -2).flatten(-2)
    return y.to(x.dtype)
    # habit shape_of_x: return y.reshape(x.shape).to(x.dtype)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    positions = token_positions
    # slip rope.positions_ignored: positions = torch.arange(in_query_or_key.shape[-2])
    return rotate(in_query_or_key, positions, theta)


def weigh(scores, mask):
    """Softmax over the keys, the last axis, of those that the mask allows."""
    hidden = -math.inf
    # slip attention.hidden_scores_zero: hidden = 0.0
    # slip attention.empty_rows_averaged: hidden = -1e9
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), hidden)
        # slip attention.mask_inverted: scores = scores.masked_fill(mask, hidden)
        # slip attention.mask_added: scores = scores + mask
        # slip attention.mask_ignored: scores = scores
        # slip attention.mask_transposed: scores = scores.masked_fill(mask.mT.logical_not(), hidden)
        # slip attention.minus_1e4_added: scores = scores + mask.logical_not() * -1e4
        # slip attention.masked_after_softmax: scores = scores
    keys = -1
    # slip attention.softmax_over_queries: keys = -2
    weights = scores.softmax(keys)
    # habit by_hand: weights = torch.exp(scores - scores.amax(keys, keepdim=True))
    # habit by_hand: weights = weights / weights.sum(keys, keepdim=True)
    # slip attention.no_softmax: weights = scores
    # slip attention.one_added_to_sum_of_e_x: weights = scores.exp() / (1 + scores.exp().sum(keys, keepdim=True))
    # slip attention.masked_after_softmax: weights = scores.softmax(keys) if mask is None else scores.softmax(keys) * mask
    return torch.where((scores > -math.inf).any(-1, keepdim=True), weights, torch.zeros_like(weights))
    # slip attention.empty_rows_nan: return weights
    # habit empty_rows_nan: return weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    q, k, v = wide(Q), wide(K), wide(V)
    scores = einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    # slip attention.not_scaled: scores = einsum("...qd,...kd->...qk", q, k)
    # slip attention.divided_by_d_k: scores = einsum("...qd,...kd->...qk", q, k) / q.shape[-1]
    # slip attention.divided_by_sqrt_d_v: scores = einsum("...qd,...kd->...qk", q, k) / math.sqrt(v.shape[-1])
    # slip attention.scaled_after_softmax: scores = einsum("...qd,...kd->...qk", q, k)
    weights = weigh(scores, mask)
    # slip attention.scaled_after_softmax: weights = weigh(scores, mask) / math.sqrt(q.shape[-1])
    return einsum("...qk,...kd->...qd", weights, v).to(Q.dtype)


def multihead(x, w_q, w_k, w_v, w_o, heads, positions=None, theta=None):
# habit frozen_sizes: @dataclass(frozen=True)
# habit frozen_sizes: class Sizes:
# habit frozen_sizes:     d_model: int
# habit frozen_sizes:     heads: int
# habit frozen_sizes:
# habit frozen_sizes:     @property
# habit frozen_sizes:     def head_axes(self):
# habit frozen_sizes:         return self.heads, self.d_model // self.heads
# habit frozen_sizes:
# habit frozen_sizes:
# habit frozen_sizes: def multihead(x, w_q, w_k, w_v, w_o, heads, positions=None, theta=None):
    """Causal attention. q, k, v are [..., seq, heads, d]."""
    seq, d_model = x.shape[-2:]
    head_axes = (heads, d_model // heads)
    # habit frozen_sizes: head_axes = Sizes(d_model, heads).head_axes
    # slip heads.num_heads_ignored: head_axes = (1, d_model)
    q, k, v = (linear(x, w).unflatten(-1, head_axes) for w in (w_q, w_k, w_v))
    # slip heads.heads_without_transpose: q, k, v = (linear(x, w).reshape(*x.shape[:-2], heads, seq, -1).transpose(-3, -2) for w in (w_q, w_k, w_v))
    # slip heads.heads_interleaved: q, k, v = (linear(x, w).unflatten(-1, (d_model // heads, heads)).mT for w in (w_q, w_k, w_v))
    # slip heads.weights_not_transposed: q, k, v = (einsum("...i,io->...o", x, w).unflatten(-1, head_axes) for w in (w_q, w_k, w_v))
    # slip heads_with_rope.rope_across_d_model: q, k, v = (linear(x, w) for w in (w_q, w_k, w_v))
    # slip heads_with_rope.rope_across_d_model: q, k = (a if theta is None else rotate(a, positions, theta) for a in (q, k))
    # slip heads_with_rope.rope_across_d_model: q, k, v = (a.unflatten(-1, head_axes) for a in (q, k, v))
    if theta is not None:
        turns = positions[..., None]
        # slip heads_with_rope.positions_of_batch_ignored: turns = positions.reshape(-1, seq)[0][:, None]
        # slip heads_with_rope.positions_ignored: turns = torch.arange(seq)[:, None]
        q, k = rotate(q, turns, theta), rotate(k, turns, theta)
        # slip heads_with_rope.rope_across_d_model: q, k = q, k
        # slip heads_with_rope.rope_on_q_alone: q = rotate(q, turns, theta)
        # slip heads_with_rope.rope_on_k_alone: k = rotate(k, turns, theta)
        # slip heads_with_rope.rope_on_v: q, k, v = (rotate(a, turns, theta) for a in (q, k, v))
        # slip heads_with_rope.no_rope: q, k = q, k
    q, k, v = wide(q), wide(k), wide(v)
    # slip heads.q_and_k_exchanged: k, q, v = wide(q), wide(k), wide(v)
    # slip heads.first_head_for_all: q, k, v = wide(q), wide(k[..., :1, :]).expand_as(k), wide(v[..., :1, :]).expand_as(v)
    scale = q.shape[-1] ** -0.5
    # slip heads.scale_by_sqrt_d_model: scale = d_model**-0.5
    # slip attention.not_scaled: scale = 1
    # slip attention.divided_by_d_k: scale = 1 / q.shape[-1]
    scores = einsum("...qhd,...khd->...hqk", q, k) * scale
    index = torch.arange(seq)
    mask = index[:, None] >= index
    # slip heads.not_causal: mask = None
    # slip heads.strictly_causal: mask = index[:, None] > index
    # slip heads.mask_inverted: mask = index[:, None] < index
    # slip heads.upper_triangle: mask = index[:, None] <= index
    # slip heads_with_rope.causal_by_position: mask = index[:, None] >= index if theta is None else (positions[..., :, None] >= positions[..., None, :]).unsqueeze(-3)
    y = einsum("...hqk,...khd->...qhd", weigh(scores, mask), v).to(x.dtype)
    merged = y.flatten(-2)
    # slip heads.heads_without_transpose, heads_merged_without_transpose: merged = y.transpose(-3, -2).reshape(*y.shape[:-2], d_model)
    # slip heads.heads_interleaved: merged = y.mT.flatten(-2)
    return linear(merged, w_o)
    # habit shape_of_x: return linear(merged.reshape(x.shape), w_o)
    # slip heads.no_output_projection: return merged
    # slip heads.w_o_not_transposed, weights_not_transposed: return einsum("...i,io->...o", merged, w_o)
