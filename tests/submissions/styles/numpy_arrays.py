"""A Transformer language model in NumPy: attention head by head, tables computed where needed."""

import numpy as np
from math import erfc, sqrt

erfc = np.vectorize(erfc, otypes=[np.float64])


def up(x):
    """16-bit types are widened to float32."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x
    # habit float64_inside: return x.astype(np.float64)


def matmul(x, weight):
    return (up(x) @ up(weight).T).astype(x.dtype)
    # slip linear.not_transposed: return (up(x) @ up(weight).reshape(weight.shape[::-1])).astype(x.dtype)
    # habit pairwise: return np.stack([(up(x) * row).sum(axis=-1) for row in up(weight)], axis=-1).astype(x.dtype)


def run_linear(d_in, d_out, weights, in_features):
    return matmul(in_features, weights)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]
    # slip embedding.id_plus_one: return weights[(token_ids + 1) % vocab_size]
    # slip embedding.ids_in_16_bits: return weights[token_ids.astype(np.uint16)]


def rms_norm(x, gain, eps=1e-5):
    a = up(x)
    # slip rmsnorm.not_widened: a = x
    # slip rmsnorm.mean_subtracted: a = up(x) - up(x).mean(axis=-1, keepdims=True)
    # slip rmsnorm.gain_before_mean: a, gain = up(x) * up(gain), np.ones_like(gain)
    n, eps = x.shape[-1], a.dtype.type(eps)
    # slip rmsnorm.divided_by_variance_unbiased: n, eps = x.shape[-1] - 1, a.dtype.type(eps)
    # slip rmsnorm.sum_for_mean: n, eps = 1, a.dtype.type(eps)
    # slip rmsnorm.eps_fixed: n, eps = x.shape[-1], a.dtype.type(1e-5)
    # slip rmsnorm.eps_at_least_1e_6: n, eps = x.shape[-1], a.dtype.type(max(eps, 1e-6))
    squares = np.sum(a * a, axis=-1, keepdims=True) / a.dtype.type(n)
    # slip rmsnorm.wrong_axis: squares = np.mean(a * a, axis=0, keepdims=True)
    # slip rmsnorm.eps_inside_sum: squares = (np.sum(a * a, axis=-1, keepdims=True) + eps) / a.dtype.type(n)
    # slip rmsnorm.mean_of_absolutes: squares = np.mean(np.abs(a), axis=-1, keepdims=True)
    rms = np.sqrt(squares + eps)
    # slip rmsnorm.no_eps: rms = np.sqrt(squares)
    # slip rmsnorm.eps_inside_sum: rms = np.sqrt(squares)
    # slip rmsnorm.eps_outside_root: rms = np.sqrt(squares) + eps
    # slip rmsnorm.eps_as_floor: rms = np.sqrt(np.maximum(squares, eps))
    # slip rmsnorm.no_root: rms = squares + eps
    # slip rmsnorm.mean_of_absolutes: rms = squares + eps
    y = a / rms * up(gain)
    # slip rmsnorm.no_gain: y = a / rms
    # slip rmsnorm.gain_one_plus_weight: y = a / rms * (1 + up(gain))
    # habit rounded_before_gain: y = (a / rms).astype(x.dtype) * gain
    return y.astype(x.dtype)


def run_rmsnorm(d_model, eps, weights, in_features):
    return rms_norm(in_features, weights, eps)


def logistic(a):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-a))


def silu(x):
    a = up(x)
    return (a * logistic(a)).astype(x.dtype)
    # slip silu.sigmoid_only: return logistic(a).astype(x.dtype)
    # slip silu.scaled_1702: return (a * logistic(np.float32(1.702) * a)).astype(x.dtype)
    # slip silu.exp_on_top: return (a * np.exp(a) / (1 + np.exp(a))).astype(x.dtype)


def gelu(x):
    a = up(x)
    return (a * erfc(-a / sqrt(2)) / 2).astype(x.dtype)
    # slip gelu.tanh_form: return (a / 2 * (1 + np.tanh(sqrt(2 / np.pi) * (a + 0.044715 * a**3)))).astype(x.dtype)
    # slip gelu.sigmoid_form: return (a * logistic(1.702 * a)).astype(x.dtype)
    # slip gelu.no_half: return (a * erfc(-a / sqrt(2))).astype(x.dtype)
    # slip gelu.no_sqrt2: return (a * erfc(-a) / 2).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)
    # slip relu.nan_to_zero: return np.fmax(x, 0)


def run_relu(in_features):
    return relu(in_features).astype(in_features.dtype)


def run_silu(in_features):
    return silu(in_features)


def run_gelu(in_features):
    return gelu(in_features)


def run_glu(w1_weight, w2_weight, in_features):
    gate = logistic(up(matmul(in_features, w1_weight)))
    # slip glu.silu_gate: gate = silu(up(matmul(in_features, w1_weight)))
    # slip glu.relu_gate: gate = relu(up(matmul(in_features, w1_weight)))
    # slip glu.exchanged: gate = logistic(up(matmul(in_features, w2_weight)))
    value = up(matmul(in_features, w2_weight))
    # slip glu.exchanged: value = up(matmul(in_features, w1_weight))
    y = gate * value
    # slip glu.gate_left_out: y = value
    # slip glu.sum_for_product: y = gate + value
    return y.astype(in_features.dtype)


def run_ffn_relu(w1_weight, w2_weight, in_features):
    hidden = relu(matmul(in_features, w1_weight))
    # slip ffn_relu.gelu_instead: hidden = gelu(matmul(in_features, w1_weight))
    # slip ffn_relu.no_activation: hidden = matmul(in_features, w1_weight)
    # slip ffn_relu.leaky: hidden = np.where(matmul(in_features, w1_weight) < 0, np.float32(0.01), np.float32(1)) * matmul(in_features, w1_weight)
    return matmul(hidden, w2_weight)


def run_ffn_silu(w1_weight, w2_weight, in_features):
    hidden = silu(matmul(in_features, w1_weight))
    # slip ffn_silu.gelu_instead: hidden = gelu(matmul(in_features, w1_weight))
    # slip ffn_silu.no_activation: hidden = matmul(in_features, w1_weight)
    return matmul(hidden, w2_weight)


def run_ffn_gelu(w1_weight, w2_weight, in_features):
    hidden = gelu(matmul(in_features, w1_weight))
    # slip ffn_gelu.silu_instead: hidden = silu(matmul(in_features, w1_weight))
    # slip ffn_gelu.no_activation: hidden = matmul(in_features, w1_weight)
    return matmul(hidden, w2_weight)


def swiglu(x, w1, w2, w3):
    gate, value = matmul(x, w1), matmul(x, w3)
    # slip ffn_swiglu.exchanged: value, gate = matmul(x, w1), matmul(x, w3)
    hidden = silu(gate) * value
    # slip ffn_swiglu.sigmoid_gate: hidden = logistic(gate) * value
    # slip ffn_swiglu.relu_gate: hidden = relu(gate) * value
    # slip ffn_swiglu.gate_left_out: hidden = silu(gate)
    # slip ffn_swiglu.sum_for_product: hidden = silu(gate) + value
    # slip ffn_swiglu.silu_of_product: hidden = silu(gate * value)
    return matmul(hidden, w2)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return swiglu(in_features, w1_weight, w2_weight, w3_weight)


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
    # slip rope.float32_angles_by_exp_of_product: i = np.arange(0, d, 2, dtype=np.float32)
    # slip rope.float32_angles_by_quotient: i = np.arange(0, d, 2, dtype=np.float32)
    # slip rope.float32_angles_by_reciprocal: i = np.arange(0, d, 2, dtype=np.float32)
    # slip rope.float32_angles_by_negative_power: i = np.arange(0, d, 2, dtype=np.float32)
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
    # slip rope.halves: y = np.concatenate(turned, axis=-1)
    # slip rope.written_as_halves: y = np.concatenate(turned, axis=-1)
    return y.astype(x.dtype)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rope(in_query_or_key, token_positions, theta)


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


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def columns(h, d_k, num_heads):
    """The columns of head h."""
    return slice(h * d_k, (h + 1) * d_k)
    # slip heads.heads_interleaved: return slice(h, None, num_heads)


def multihead(x, w_q, w_k, w_v, w_o, num_heads, turn=None):
    heads = num_heads
    # slip heads.num_heads_ignored: heads = 1
    seq, d_k = x.shape[-2], x.shape[-1] // heads
    q, k, v = matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)
    # slip heads.weights_not_transposed: q, k, v = matmul(x, w_q.T), matmul(x, w_k.T), matmul(x, w_v.T)
    # slip heads_with_rope.rope_across_d_model: q, k, v = matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)
    # slip heads_with_rope.rope_across_d_model: q, k = (turn(q), turn(k)) if turn else (q, k)
    mask = np.tri(seq, dtype=bool)
    # slip heads.not_causal: mask = np.ones((seq, seq), dtype=bool)
    # slip heads.strictly_causal: mask = np.tri(seq, k=-1, dtype=bool)
    # slip heads.mask_inverted: mask = ~np.tri(seq, dtype=bool)
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
    return matmul(y, w_o)
    # slip heads.no_output_projection: return y
    # slip heads.w_o_not_transposed: return matmul(y, w_o.T)
    # slip heads.weights_not_transposed: return matmul(y, w_o.T)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return multihead(in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    if token_positions is None:
        token_positions = np.arange(in_features.shape[-2])
        # slip heads_with_rope.no_rope_without_positions: return multihead(in_features, *weights, num_heads)
    positions = token_positions
    # slip heads_with_rope.positions_ignored: positions = np.arange(in_features.shape[-2])
    # slip heads_with_rope.positions_of_batch_ignored: positions = token_positions.reshape(-1, in_features.shape[-2])[0]
    return multihead(in_features, *weights, num_heads, lambda x: rope(x, positions, theta))


def run_multihead_self_attention_fused_qkv(d_model, num_heads, qkv_weight, o_proj_weight, in_features):
    w_q, w_k, w_v = np.split(qkv_weight, 3)
    # slip fused.order_kqv: w_k, w_q, w_v = np.split(qkv_weight, 3)
    # slip fused.interleaved_by_head: w_q, w_k, w_v = qkv_weight.reshape(num_heads, 3, -1, d_model).swapaxes(0, 1).reshape(3, d_model, d_model)
    return multihead(in_features, w_q, w_k, w_v, o_proj_weight, num_heads)


class Block:
    """The parts of a block, with the weights of a state dictionary."""

    def __init__(self, weights, num_heads, theta=None):
        self.weights, self.num_heads, self.theta = weights, num_heads, theta

    def norm1(self, x):
        return rms_norm(x, self.weights["ln1.weight"])
        # slip block.norms_exchanged: return rms_norm(x, self.weights["ln2.weight"])

    def norm2(self, x):
        return rms_norm(x, self.weights["ln2.weight"])
        # slip block.norms_exchanged: return rms_norm(x, self.weights["ln1.weight"])
        # slip block.one_norm_for_both: return rms_norm(x, self.weights["ln1.weight"])
        # slip block_post_norm.one_norm_for_both: return rms_norm(x, self.weights["ln1.weight"])
        # slip block_gelu.one_norm_for_both: return rms_norm(x, self.weights["ln1.weight"])

    def attention(self, x):
        turn = None
        if self.theta is not None:
            turn = lambda a: rope(a, np.arange(x.shape[-2]), self.theta)
            # slip block.no_rope: pass
            # slip block_post_norm.no_rope: pass
        w = [self.weights[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output")]
        return multihead(x, *w, self.num_heads, turn)

    def network(self, x):
        w = [self.weights[f"ffn.w{i}.weight"] for i in (1, 2, 3) if f"ffn.w{i}.weight" in self.weights]
        return swiglu(x, *w) if len(w) == 3 else matmul(gelu(matmul(x, w[0])), w[1])


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    x, block = in_features, Block(weights, num_heads, theta)
    y = x + block.attention(block.norm1(x))
    # slip block.no_first_residual: y = block.attention(block.norm1(x))
    # slip block.residual_from_normed: y = block.norm1(x) + block.attention(block.norm1(x))
    # slip block.post_norm: y = block.norm1(x + block.attention(x))
    return y + block.network(block.norm2(y))
    # slip block.no_second_residual: return block.network(block.norm2(y))
    # slip block.ffn_of_x: return y + block.network(block.norm2(x))
    # slip block.parallel: return y + block.network(block.norm1(x))
    # slip block.post_norm: return block.norm2(y + block.network(y))


def run_transformer_block_post_norm(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    x, block = in_features, Block(weights, num_heads, theta)
    y = block.norm1(x + block.attention(x))
    # slip block_post_norm.pre_norm: y = x + block.attention(block.norm1(x))
    # slip block_post_norm.no_first_residual: y = block.norm1(block.attention(x))
    return block.norm2(y + block.network(y))
    # slip block_post_norm.pre_norm: return y + block.network(block.norm2(y))
    # slip block_post_norm.no_second_residual: return block.norm2(block.network(y))
    # slip block_post_norm.ffn_of_x: return block.norm2(y + block.network(x))


def run_transformer_block_gelu(d_model, num_heads, d_ff, weights, in_features):
    x, block = in_features, Block(weights, num_heads)
    y = x + block.attention(block.norm1(x))
    # slip block_gelu.no_first_residual: y = block.attention(block.norm1(x))
    # slip block_gelu.residual_from_normed: y = block.norm1(x) + block.attention(block.norm1(x))
    # slip block_gelu.post_norm: y = block.norm1(x + block.attention(x))
    return y + block.network(block.norm2(y))
    # slip block_gelu.no_second_residual: return block.network(block.norm2(y))
    # slip block_gelu.ffn_of_x: return y + block.network(block.norm2(x))
    # slip block_gelu.post_norm: return block.norm2(y + block.network(y))


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    x = weights["token_embeddings.weight"][in_indices]
    # slip lm.embeddings_scaled: x = weights["token_embeddings.weight"][in_indices] * np.float32(sqrt(d_model))
    layers = list(range(num_layers))
    # slip lm.layers_reversed: layers = list(reversed(range(num_layers)))
    # slip lm.last_layer_left_out: layers = list(range(num_layers - 1))
    # slip lm.first_layer_for_all: layers = [0 for _ in range(num_layers)]
    for n in layers:
        own = {name.split(".", 2)[2]: w for name, w in weights.items() if name.startswith(f"layers.{n}.")}
        x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, own, x)
    x = rms_norm(x, weights["ln_final.weight"])
    # slip lm.no_final_norm: pass
    logits = matmul(x, weights["lm_head.weight"])
    # slip lm.tied_head: logits = matmul(x, weights["token_embeddings.weight"])
    return logits
    # slip lm.softmax_at_the_end: return softmax(logits, -1)
