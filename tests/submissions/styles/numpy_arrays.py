"""A Transformer language model in NumPy: attention head by head, tables computed where needed."""

import numpy as np
from math import erfc, sqrt
from numpy import arange

erfc = np.vectorize(erfc, otypes=[np.float64])


def up(x):
    """16-bit types are widened to float32."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x
    # habit float64_inside: return x.astype(np.float64)


def linear(x, weight):
    return (up(x) @ up(weight).T).astype(x.dtype)
    # slip linear.not_transposed: return (up(x) @ up(weight).reshape(weight.shape[::-1])).astype(x.dtype)
    # habit pairwise: return np.stack([(up(x) * row).sum(axis=-1) for row in up(weight)], axis=-1).astype(x.dtype)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]
    # slip embedding.id_plus_one: return weights[(token_ids + 1) % vocab_size]
    # slip embedding.ids_in_16_bits: return weights[token_ids.astype(np.uint16)]


def rmsnorm(x, gain, eps=1e-5):
    a = up(x)
    # slip rmsnorm.not_widened: a = x
    # slip rmsnorm.mean_subtracted: a = up(x) - up(x).mean(axis=-1, keepdims=True)
    # slip rmsnorm.gain_before_mean: a, gain = up(x) * up(gain), np.ones_like(gain)
    n, eps = x.shape[-1], a.dtype.type(eps)
    # slip rmsnorm.divided_by_variance_unbiased: n, eps = x.shape[-1] - 1, a.dtype.type(eps)
    # slip rmsnorm.sum_for_mean: n, eps = 1, a.dtype.type(eps)
    # slip rmsnorm.eps_fixed: n, eps = x.shape[-1], a.dtype.type(1e-5)
    # slip rmsnorm.eps_fixed_at_1e_6: n, eps = x.shape[-1], a.dtype.type(1e-6)
    # slip rmsnorm.eps_at_least_1e_6: n, eps = x.shape[-1], a.dtype.type(max(eps, 1e-6))
    squares = np.sum(a * a, axis=-1, keepdims=True) / a.dtype.type(n)
    # slip rmsnorm.wrong_axis: squares = np.mean(a * a, axis=0, keepdims=True)
    # slip rmsnorm.eps_inside_sum: squares = (np.sum(a * a, axis=-1, keepdims=True) + eps) / a.dtype.type(n)
    # slip rmsnorm.mean_of_absolutes: squares = np.mean(np.abs(a), axis=-1, keepdims=True)
    rms = np.sqrt(squares + eps)
    # slip rmsnorm.no_eps, eps_inside_sum: rms = np.sqrt(squares)
    # slip rmsnorm.eps_outside_root: rms = np.sqrt(squares) + eps
    # slip rmsnorm.eps_as_floor: rms = np.sqrt(np.maximum(squares, eps))
    # slip rmsnorm.no_root, mean_of_absolutes: rms = squares + eps
    y = a / rms * up(gain)
    # slip rmsnorm.no_gain: y = a / rms
    # slip rmsnorm.gain_one_plus_weight: y = a / rms * (1 + up(gain))
    # slip rmsnorm.multiplied_by_rms: y = a * rms * up(gain)
    # slip rmsnorm.norm_applied_twice: y = a / rms * up(gain)
    # slip rmsnorm.norm_applied_twice: y = y / np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + eps) * up(gain)
    # habit rounded_before_gain: y = (a / rms).astype(x.dtype) * gain
    return y.astype(x.dtype)


def sigmoid(a):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-a))


def silu(x):
    a = up(x)
    return (a * sigmoid(a)).astype(x.dtype)
    # slip silu.sigmoid_only: return sigmoid(a).astype(x.dtype)
    # slip silu.scaled_1702: return (a * sigmoid(np.float32(1.702) * a)).astype(x.dtype)
    # slip silu.exp_on_top: return (a * np.exp(a) / (1 + np.exp(a))).astype(x.dtype)


def gelu(x):
    a = up(x)
    return (a * erfc(-a / sqrt(2)) / 2).astype(x.dtype)
    # slip gelu.tanh_form: return (a / 2 * (1 + np.tanh(sqrt(2 / np.pi) * (a + 0.044715 * a**3)))).astype(x.dtype)
    # slip gelu.sigmoid_form: return (a * sigmoid(1.702 * a)).astype(x.dtype)
    # slip gelu.no_half: return (a * erfc(-a / sqrt(2))).astype(x.dtype)
    # slip gelu.no_sqrt2: return (a * erfc(-a) / 2).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)
    # slip relu.nan_to_zero: return np.fmax(x, 0)


def run_relu(in_features):
    return relu(in_features).astype(in_features.dtype)


def run_glu(w1_weight, w2_weight, in_features):
    gate = sigmoid(up(linear(in_features, w1_weight)))
    # slip glu.silu_gate: gate = silu(up(linear(in_features, w1_weight)))
    # slip glu.relu_gate: gate = relu(up(linear(in_features, w1_weight)))
    # slip glu.exchanged: gate = sigmoid(up(linear(in_features, w2_weight)))
    value = up(linear(in_features, w2_weight))
    # slip glu.exchanged: value = up(linear(in_features, w1_weight))
    y = gate * value
    # slip glu.gate_left_out: y = value
    # slip glu.sum_for_product: y = gate + value
    return y.astype(in_features.dtype)


def run_ffn_relu(w1_weight, w2_weight, in_features):
    hidden = relu(linear(in_features, w1_weight))
    # slip ffn_relu.gelu_instead: hidden = gelu(linear(in_features, w1_weight))
    # slip ffn_relu.no_activation: hidden = linear(in_features, w1_weight)
    # slip ffn_relu.leaky: hidden = np.where(linear(in_features, w1_weight) < 0, np.float32(0.01), np.float32(1)) * linear(in_features, w1_weight)
    return linear(hidden, w2_weight)


def run_ffn_silu(w1_weight, w2_weight, in_features):
    hidden = silu(linear(in_features, w1_weight))
    # slip ffn_silu.gelu_instead: hidden = gelu(linear(in_features, w1_weight))
    # slip ffn_silu.no_activation: hidden = linear(in_features, w1_weight)
    return linear(hidden, w2_weight)


def run_ffn_gelu(w1_weight, w2_weight, in_features):
    hidden = gelu(linear(in_features, w1_weight))
    # slip ffn_gelu.silu_instead: hidden = silu(linear(in_features, w1_weight))
    # slip ffn_gelu.no_activation: hidden = linear(in_features, w1_weight)
    return linear(hidden, w2_weight)


def swiglu(x, w1, w2, w3):
    gate, value = linear(x, w1), linear(x, w3)
    # slip ffn_swiglu.exchanged: value, gate = linear(x, w1), linear(x, w3)
    hidden = silu(gate) * value
    # slip ffn_swiglu.sigmoid_gate: hidden = sigmoid(gate) * value
    # slip ffn_swiglu.relu_gate: hidden = relu(gate) * value
    # slip ffn_swiglu.gate_left_out: hidden = silu(gate)
    # slip ffn_swiglu.sum_for_product: hidden = silu(gate) + value
    # slip ffn_swiglu.silu_of_product: hidden = silu(gate * value)
    return linear(hidden, w2)


def softmax(x, axis):
    if x.size == 0:
        return x
    top = np.max(x, axis=axis, keepdims=True)
    # slip softmax.no_maximum: top = 0
    # slip softmax.one_maximum_for_all: top = np.max(x)
    e = np.exp(x - top)
    return e / np.sum(e, axis=axis, keepdims=True)
    # slip softmax.global_sum: return e / np.sum(e)
    # slip softmax.logarithm: return np.log(e / np.sum(e, axis=axis, keepdims=True))
    # slip softmax.one_added_to_sum: return e / (1 + np.sum(e, axis=axis, keepdims=True))
    # slip softmax.one_added_to_sum_of_e_x: return e / (np.exp(-top) + np.sum(e, axis=axis, keepdims=True))


def run_softmax(in_features, dim):
    axis = dim
    # slip softmax.over_last_axis: axis = -1
    # slip softmax.over_first_axis: axis = 0
    # slip softmax.wrong_axis: axis = dim - 1
    return softmax(up(in_features), axis).astype(in_features.dtype)


def rope(x, positions, theta):
    a, d = up(x), x.shape[-1]
    i = np.arange(0, d, 2, dtype=np.float64)
    # slip rope.exponent_k_over_d: i = np.arange(0, d // 2, dtype=np.float64)
    # slip rope.same_angle_for_all_pairs: i = np.zeros(d // 2)
    # slip rope.pairs_counted_from_1: i = np.arange(2, d + 1, 2, dtype=np.float64)
    # slip rope.float32_angles_by_exp_of_product, float32_angles_by_quotient: i = np.arange(0, d, 2, dtype=np.float32)
    # slip rope.float32_angles_by_reciprocal, float32_angles_by_negative_power: i = np.arange(0, d, 2, dtype=np.float32)
    # habit float32_angles: i = np.arange(0, d, 2, dtype=np.float32)
    rate = 1.0 / np.power(i.dtype.type(theta), i / i.dtype.type(max(d, 1)))
    # slip rope.theta_fixed: rate = 1.0 / np.power(10000.0, i / d)
    # slip rope.exponent_over_d_minus_2: rate = 1.0 / np.power(theta, i / max(d - 2, 1))
    # slip rope.float32_angles: rate = (1.0 / theta ** (i / d)).astype(np.float32)
    # slip rope.float32_angles_by_exp_log: rate = np.exp(np.arange(0, d, 2, dtype=np.float32) * np.float32(-np.log(theta) / d))
    # slip rope.float32_angles_by_exp_of_product: rate = np.exp(-(i / np.float32(d)) * np.log(np.float32(theta)))
    # slip rope.float32_angles_by_negative_power: rate = np.power(np.float32(theta), -i / np.float32(d))
    place = positions[..., np.newaxis].astype(rate.dtype)
    # slip rope.position_plus_one: place = (positions[..., np.newaxis] + 1).astype(rate.dtype)
    # slip rope.positions_ignored: place = np.arange(x.shape[-2])[:, np.newaxis].astype(rate.dtype)
    angle = place * rate
    # slip rope.float32_angles_by_quotient: angle = place / np.power(np.float32(theta), i / np.float32(d))
    # slip rope.turned_the_other_way: angle = -place * rate
    c, s = np.cos(angle).astype(a.dtype), np.sin(angle).astype(a.dtype)
    # slip rope.sin_and_cos_exchanged: s, c = np.cos(angle).astype(a.dtype), np.sin(angle).astype(a.dtype)
    # habit table_in_t: c, s = up(np.cos(angle).astype(x.dtype)), up(np.sin(angle).astype(x.dtype))
    first, second = a[..., 0::2], a[..., 1::2]
    # slip rope.halves: first, second = np.split(a, 2, axis=-1)
    turned = first * c - second * s, first * s + second * c
    # slip rope.second_sign_flipped: turned = first * c - second * s, second * c - first * s
    y = np.stack(turned, axis=-1).reshape(*turned[0].shape[:-1], d)
    # slip rope.halves, written_as_halves: y = np.concatenate(turned, axis=-1)
    return y.astype(x.dtype)


def attention(q, k, v, mask=None):
    dtype, q, k, v = q.dtype, up(q), up(k), up(v)
    scores = (q @ np.swapaxes(k, -1, -2)) / q.dtype.type(sqrt(q.shape[-1]))
    # slip attention.not_scaled: scores = q @ np.swapaxes(k, -1, -2)
    # slip attention.divided_by_d_k: scores = (q @ np.swapaxes(k, -1, -2)) / q.dtype.type(q.shape[-1])
    # slip attention.divided_by_sqrt_d_v: scores = (q @ np.swapaxes(k, -1, -2)) / q.dtype.type(sqrt(v.shape[-1]))
    # slip attention.scaled_after_softmax: scores = q @ np.swapaxes(k, -1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf).astype(scores.dtype)
        # slip attention.mask_inverted: scores = np.where(mask, -np.inf, scores).astype(scores.dtype)
        # slip attention.mask_added: scores = scores + mask.astype(scores.dtype)
        # slip attention.mask_ignored: pass
        # slip attention.mask_transposed: scores = np.where(np.swapaxes(mask, -1, -2), scores, -np.inf).astype(scores.dtype)
        # slip attention.hidden_scores_zero: scores = scores * mask
        # slip attention.empty_rows_averaged: scores = np.where(mask, scores, -1e9).astype(scores.dtype)
        # slip attention.minus_1e4_added: scores = scores + np.where(mask, 0, -1e4).astype(scores.dtype)
        # slip attention.masked_after_softmax: pass
    axis = -1
    # slip attention.softmax_over_queries: axis = -2
    with np.errstate(invalid="ignore"):
        weights = softmax(scores, axis)
        # slip attention.no_softmax: weights = scores
        # slip attention.scaled_after_softmax: weights = softmax(scores, axis) / q.dtype.type(sqrt(q.shape[-1]))
        # slip attention.masked_after_softmax: weights = softmax(scores, axis) * (1 if mask is None else mask)
    weights = np.where(np.all(np.isneginf(scores), axis=-1, keepdims=True), 0, weights).astype(v.dtype)
    # slip attention.empty_rows_nan: weights = weights.astype(v.dtype)
    # habit empty_rows_nan: weights = weights.astype(v.dtype)
    return (weights @ v).astype(dtype)


def columns(h, d_k, num_heads):
    """The columns of head h."""
    return slice(h * d_k, (h + 1) * d_k)
    # slip heads.heads_interleaved: return slice(h, None, num_heads)


def multihead(x, w_q, w_k, w_v, w_o, num_heads, positions=None, theta=None):
    heads = num_heads
    # slip heads.num_heads_ignored: heads = 1
    places = positions
    # slip heads_with_rope.positions_ignored: places = arange(x.shape[-2])
    # slip heads_with_rope.positions_of_batch_ignored: places = positions if positions is None else positions.reshape(-1, x.shape[-2])[0]
    turn = None if theta is None else lambda a: rope(a, places, theta)
    seq, d_k = x.shape[-2], x.shape[-1] // heads
    q, k, v = linear(x, w_q), linear(x, w_k), linear(x, w_v)
    # slip heads.weights_not_transposed: q, k, v = linear(x, w_q.T), linear(x, w_k.T), linear(x, w_v.T)
    # slip heads_with_rope.rope_across_d_model: q, k, v = linear(x, w_q), linear(x, w_k), linear(x, w_v)
    # slip heads_with_rope.rope_across_d_model: q, k = (turn(q), turn(k)) if turn else (q, k)
    mask = np.tri(seq, dtype=bool)
    # slip heads.not_causal: mask = np.ones((seq, seq), dtype=bool)
    # slip heads.strictly_causal: mask = np.tri(seq, k=-1, dtype=bool)
    # slip heads.mask_inverted: mask = ~np.tri(seq, dtype=bool)
    # slip heads.upper_triangle: mask = np.tri(seq, dtype=bool).T
    together = []
    for h in range(heads):
        mine = columns(h, d_k, heads)
        others = mine
        # slip heads.first_head_for_all: others = columns(0, d_k, heads)
        q_h, k_h, v_h = q[..., mine], k[..., others], v[..., others]
        if turn is not None:
            q_h, k_h = turn(q_h), turn(k_h)
            # slip heads_with_rope.rope_across_d_model: pass
            # slip heads_with_rope.rope_on_q_alone: q_h = turn(q_h)
            # slip heads_with_rope.rope_on_k_alone: k_h = turn(k_h)
            # slip heads_with_rope.rope_on_v: q_h, k_h, v_h = turn(q_h), turn(k_h), turn(v_h)
            # slip heads_with_rope.no_rope: pass
        together.append(attention(q_h, k_h, v_h, mask))
        # slip heads.q_and_k_exchanged: together.append(attention(k_h, q_h, v_h, mask))
        # slip heads.scale_by_sqrt_d_model: together.append(attention(q_h / np.sqrt(heads).astype(q_h.dtype), k_h, v_h, mask))
    y = np.concatenate(together, axis=-1)
    # slip heads.heads_merged_without_transpose: y = np.stack(together, axis=-3).reshape(x.shape)
    # slip heads.heads_interleaved: y = np.stack(together, axis=-1).reshape(x.shape)
    return linear(y, w_o)
    # slip heads.no_output_projection: return y
    # slip heads.w_o_not_transposed, weights_not_transposed: return linear(y, w_o.T)
