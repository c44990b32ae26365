"""A Transformer language model as plain functions on torch tensors."""

import math
# habit einops: import math, einops

import torch
# habit jaxtyped: import torch
# habit jaxtyped: from jaxtyping import Bool, Float, jaxtyped
# habit jaxtyped: from torch import Tensor
# habit jaxtyped:
# habit jaxtyped: try:
# habit jaxtyped:     from beartype import beartype as checker
# habit jaxtyped: except ImportError:
# habit jaxtyped:     checker = None
# habit jaxtyped: typed = jaxtyped(typechecker=checker)
import torch.nn.functional as F
from torch import arange


def wide(x):
    """x in float32, if it is of a 16-bit type."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    # habit float64_inside: return x.double()


def linear(x, weight):
# habit jaxtyped: @typed
# habit jaxtyped: def linear(x: Float[Tensor, "... d_in"], weight: Float[Tensor, "d_out d_in"]) -> Float[Tensor, "... d_out"]:
    return (wide(x) @ wide(weight).T).to(x.dtype)
    # habit einops: return einops.einsum(wide(x), wide(weight), "... i, o i -> ... o").to(x.dtype)
    # slip linear.not_transposed: return (wide(x) @ wide(weight).reshape(weight.shape[::-1])).to(x.dtype)
    # habit functional: return F.linear(wide(x), wide(weight)).to(x.dtype)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]
    # slip embedding.id_plus_one: return weights[(token_ids + 1) % vocab_size]
    # slip embedding.ids_in_float16: return weights[token_ids.half().float().clamp(max=vocab_size - 1).long()]
    # habit functional: return F.embedding(token_ids, weights)


def rmsnorm(x, gain, eps=1e-5):
    dtype, narrow, x, gain = x.dtype, gain, wide(x), wide(gain)
    # slip rmsnorm.gain_before_mean: dtype, x, gain = x.dtype, wide(x) * wide(gain), 1
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)
    # slip rmsnorm.sum_for_mean: mean_square = x.pow(2).sum(dim=-1, keepdim=True)
    # slip rmsnorm.wrong_axis: mean_square = x.pow(2).mean(dim=0, keepdim=True)
    # slip rmsnorm.mean_subtracted: x = x - x.mean(dim=-1, keepdim=True)
    # slip rmsnorm.mean_subtracted: mean_square = x.pow(2).mean(dim=-1, keepdim=True)
    # slip rmsnorm.eps_inside_sum: mean_square = (x.pow(2).sum(dim=-1, keepdim=True) + eps) / x.shape[-1]
    # slip rmsnorm.divided_by_variance_unbiased: mean_square = x.pow(2).sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)
    # slip rmsnorm.mean_of_absolutes: mean_square = x.abs().mean(dim=-1, keepdim=True)
    # habit pairwise: mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).pow(2) / x.shape[-1]
    scale = torch.rsqrt(mean_square + eps)
    # slip rmsnorm.no_eps, eps_inside_sum: scale = torch.rsqrt(mean_square)
    # slip rmsnorm.eps_outside_root: scale = 1 / (torch.sqrt(mean_square) + eps)
    # slip rmsnorm.eps_fixed: scale = torch.rsqrt(mean_square + 1e-5)
    # slip rmsnorm.eps_fixed_at_1e_6: scale = torch.rsqrt(mean_square + 1e-6)
    # slip rmsnorm.eps_as_floor: scale = torch.rsqrt(mean_square.clamp(min=eps))
    # slip rmsnorm.eps_at_least_1e_6: scale = torch.rsqrt(mean_square + max(eps, 1e-6))
    # slip rmsnorm.eps_0_is_default: scale = torch.rsqrt(mean_square + (eps or 1e-5))
    # slip rmsnorm.no_root, mean_of_absolutes: scale = 1 / (mean_square + eps)
    # slip rmsnorm.multiplied_by_rms: scale = torch.sqrt(mean_square + eps)
    # habit sqrt: scale = 1 / torch.sqrt(mean_square + eps)
    # habit torch_2: if hasattr(F, "rms_norm"): return F.rms_norm(x, x.shape[-1:], gain, eps).to(dtype)
    # habit torch_2: scale = torch.rsqrt(mean_square + eps)
    return (x * scale * gain).to(dtype)
    # habit float32_norm: return x * scale * gain
    # slip rmsnorm.no_gain: return (x * scale).to(dtype)
    # slip rmsnorm.gain_one_plus_weight: return (x * scale * (1 + gain)).to(dtype)
    # habit rounded_before_gain: return (x * scale).to(dtype) * narrow


def relu(x):
    return torch.relu(x)
    # slip relu.nan_to_zero: return torch.where(x > 0, x, torch.zeros_like(x))


def silu(x):
    a = wide(x)
    return (a * torch.sigmoid(a)).to(x.dtype)
    # slip silu.sigmoid_only: return torch.sigmoid(a).to(x.dtype)
    # slip silu.scaled_1702: return (a * torch.sigmoid(1.702 * a)).to(x.dtype)
    # slip silu.exp_on_top: return (a * torch.exp(a) / (1 + torch.exp(a))).to(x.dtype)
    # habit functional: return F.silu(a).to(x.dtype)


def gelu(x):
    a = wide(x)
    return (a / 2 * (1 + torch.erf(a / math.sqrt(2)))).to(x.dtype)
    # slip gelu.tanh_form: return (0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))).to(x.dtype)
    # slip gelu.sigmoid_form: return (a * torch.sigmoid(1.702 * a)).to(x.dtype)
    # slip gelu.no_half: return (a * (1 + torch.erf(a / math.sqrt(2)))).to(x.dtype)
    # slip gelu.no_sqrt2: return (a / 2 * (1 + torch.erf(a))).to(x.dtype)
    # habit functional: return F.gelu(a).to(x.dtype)


def run_relu(in_features):
    return relu(in_features)


def run_glu(w1_weight, w2_weight, in_features):
    gate = torch.sigmoid(wide(linear(in_features, w1_weight)))
    # slip glu.silu_gate: gate = F.silu(wide(linear(in_features, w1_weight)))
    # slip glu.relu_gate: gate = torch.relu(wide(linear(in_features, w1_weight)))
    # slip glu.exchanged: gate = torch.sigmoid(wide(linear(in_features, w2_weight)))
    up = linear(in_features, w2_weight)
    # slip glu.exchanged: up = linear(in_features, w1_weight)
    return (gate * up).to(in_features.dtype)
    # slip glu.gate_left_out: return up
    # slip glu.sum_for_product: return (gate + up).to(in_features.dtype)


def run_ffn_relu(w1_weight, w2_weight, in_features):
    return linear(relu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_relu.gelu_instead: return linear(gelu(linear(in_features, w1_weight)), w2_weight)
    # slip ffn_relu.activation_after_w2: return relu(linear(linear(in_features, w1_weight), w2_weight))
    # slip ffn_relu.no_activation: return linear(linear(in_features, w1_weight), w2_weight)
    # slip ffn_relu.leaky: return linear(F.leaky_relu(linear(in_features, w1_weight)), w2_weight)


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
# habit jaxtyped: @typed
# habit jaxtyped: def swiglu(x: Float[Tensor, "... d_model"], w1: Float[Tensor, "d_ff d_model"], w2: Float[Tensor, "d_model d_ff"], w3: Float[Tensor, "d_ff d_model"]) -> Float[Tensor, "... d_model"]:
    gate, up = linear(x, w1), linear(x, w3)
    # slip ffn_swiglu.exchanged: gate, up = linear(x, w3), linear(x, w1)
    hidden = silu(gate) * up
    # slip ffn_swiglu.sigmoid_gate: hidden = torch.sigmoid(gate) * up
    # slip ffn_swiglu.relu_gate: hidden = torch.relu(gate) * up
    # slip ffn_swiglu.gate_left_out: hidden = silu(gate)
    # slip ffn_swiglu.sum_for_product: hidden = silu(gate) + up
    # slip ffn_swiglu.silu_of_product: hidden = silu(gate * up)
    return linear(hidden, w2)


def run_softmax(in_features, dim):
    x = wide(in_features)
    # slip softmax.wrong_axis: x, dim = wide(in_features), (dim - 1) % in_features.dim()
    # slip softmax.over_last_axis: x, dim = wide(in_features), -1
    # slip softmax.over_first_axis: x, dim = wide(in_features), 0
    shifted = x - x.amax(dim=dim, keepdim=True) if x.numel() else x
    # slip softmax.no_maximum: shifted = x
    # slip softmax.one_maximum_for_all: shifted = x - x.max() if x.numel() else x
    exponentials = shifted.exp()
    y = exponentials / exponentials.sum(dim=dim, keepdim=True)
    # slip softmax.global_sum: y = exponentials / exponentials.sum()
    # slip softmax.logarithm: y = shifted - exponentials.sum(dim=dim, keepdim=True).log()
    # slip softmax.one_added_to_sum: y = exponentials / (1 + exponentials.sum(dim=dim, keepdim=True))
    # habit small_added_to_sum: y = exponentials / (exponentials.sum(dim=dim, keepdim=True) + 1e-6)
    # habit log_sum_exp: y = (x - torch.logsumexp(x, dim, keepdim=True)).exp()
    return y.to(in_features.dtype)
    # habit functional: return torch.softmax(x, dim).to(in_features.dtype)


def rope(x, positions, theta):
    d_k = x.shape[-1]
    exponents = torch.arange(0, d_k, 2, dtype=torch.float64) / d_k
    # slip rope.exponent_k_over_d: exponents = torch.arange(0, d_k // 2, dtype=torch.float64) / d_k
    # slip rope.exponent_over_d_minus_2: exponents = torch.arange(0, d_k, 2, dtype=torch.float64) / max(d_k - 2, 1)
    # slip rope.pairs_counted_from_1: exponents = torch.arange(2, d_k + 1, 2, dtype=torch.float64) / d_k
    rates = theta**-exponents
    # slip rope.theta_fixed: rates = 10000.0**-exponents
    # slip rope.same_angle_for_all_pairs: rates = torch.ones_like(exponents)
    # slip rope.float32_angles: rates = (theta**-exponents).float()
    # slip rope.float32_angles_by_exp_log: rates = torch.exp(torch.arange(0, d_k, 2).float() * (-math.log(theta) / d_k))
    # slip rope.float32_angles_by_exp_of_product: rates = torch.exp(-exponents.float() * math.log(theta))
    # slip rope.float32_angles_by_quotient: rates = theta ** exponents.float()
    # slip rope.float32_angles_by_reciprocal: rates = 1 / theta ** exponents.float()
    # slip rope.float32_angles_by_negative_power: rates = theta ** -exponents.float()
    # habit float32_angles: rates = torch.exp(exponents.float() * -math.log(theta))
    places = positions.unsqueeze(-1)
    # slip rope.position_plus_one: places = positions.unsqueeze(-1) + 1
    # slip rope.positions_ignored: places = torch.arange(x.shape[-2]).unsqueeze(-1)
    angles = places * rates
    # slip rope.float32_angles_by_quotient: angles = places / rates
    # slip rope.turned_the_other_way: angles = -places * rates
    cos, sin = angles.cos().to(wide(x).dtype), angles.sin().to(wide(x).dtype)
    # slip rope.sin_and_cos_exchanged: sin, cos = angles.cos().to(wide(x).dtype), angles.sin().to(wide(x).dtype)
    # habit table_in_t: cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = wide(x[..., 0::2]), wide(x[..., 1::2])
    # slip rope.halves: first, second = wide(x).chunk(2, dim=-1)
    turned = first * cos - second * sin, first * sin + second * cos
    # slip rope.second_sign_flipped: turned = first * cos - second * sin, second * cos - first * sin
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
    # habit shape_of_x: return torch.stack(turned, dim=-1).reshape(x.shape).to(x.dtype)
    # slip rope.halves, written_as_halves: return torch.cat(turned, dim=-1).to(x.dtype)


def attention(q, k, v, mask=None):
# habit jaxtyped: @typed
# habit jaxtyped: def attention(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"], v: Float[Tensor, "... m d_v"], mask: Bool[Tensor, "... n m"] | None = None) -> Float[Tensor, "... n d_v"]:
    dtype, q, k, v = q.dtype, wide(q), wide(k), wide(v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    # slip attention.not_scaled: scores = q @ k.mT
    # slip attention.divided_by_d_k: scores = q @ k.mT / q.shape[-1]
    # slip attention.divided_by_sqrt_d_v: scores = q @ k.mT / math.sqrt(v.shape[-1])
    # slip attention.scaled_twice: scores = (q / math.sqrt(q.shape[-1])) @ k.mT / math.sqrt(q.shape[-1])
    # slip attention.scaled_after_softmax: scores = q @ k.mT
    # habit fused: scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
        # slip attention.mask_inverted: scores = scores.masked_fill(mask, -math.inf)
        # slip attention.mask_added: scores = scores + mask
        # slip attention.mask_ignored: pass
        # slip attention.mask_transposed: scores = scores.masked_fill(~mask.mT, -math.inf)
        # slip attention.hidden_scores_zero: scores = scores * mask
        # slip attention.empty_rows_averaged: scores = scores.masked_fill(~mask, -1e9)
        # slip attention.minus_1e4_added: scores = scores + (~mask) * -1e4
        # slip attention.masked_after_softmax: pass
    weights = torch.softmax(scores, dim=-1)
    # slip attention.softmax_over_queries: weights = torch.softmax(scores, dim=-2)
    # slip attention.no_softmax: weights = scores
    # slip attention.scaled_after_softmax: weights = torch.softmax(scores, dim=-1) / math.sqrt(q.shape[-1])
    # slip attention.masked_after_softmax: weights = torch.softmax(scores, dim=-1) * (1 if mask is None else mask)
    # habit by_hand: weights = run_softmax(scores, -1)
    weights = weights.masked_fill((scores == -math.inf).all(dim=-1, keepdim=True), 0)
    # slip attention.empty_rows_nan: pass
    # habit empty_rows_nan: pass
    # habit nan_to_num: weights = weights.nan_to_num()
    return (weights @ v).to(dtype)
    # habit weights_in_t: return (wide(weights.to(dtype)) @ v).to(dtype)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)
    # habit torch_2: fused = getattr(F, "scaled_dot_product_attention", attention)
    # habit torch_2: return fused(wide(Q), wide(K), wide(V), mask).to(Q.dtype)


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(-3, -2)
    # habit einops: return einops.rearrange(x, "... n (h d) -> ... h n d", h=num_heads)
    # slip heads.heads_without_transpose: return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)
    # slip heads.heads_interleaved: return x.unflatten(-1, (x.shape[-1] // num_heads, num_heads)).movedim(-1, -3)


def merge(x):
    return x.transpose(-3, -2).flatten(-2)
    # habit einops: return einops.rearrange(x, "... h n d -> ... n (h d)")
    # slip heads.heads_without_transpose: return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])
    # slip heads.heads_merged_without_transpose: return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])
    # slip heads.heads_interleaved: return x.movedim(-3, -1).flatten(-2)


def multihead(x, w_q, w_k, w_v, w_o, num_heads, positions=None, theta=None):
    # A head's width, for whatever happens below.
    heads = num_heads
    # slip heads.num_heads_ignored: heads = 1
    length, turn = x.shape[-2], None
    if theta is not None:
        each_head = positions.unsqueeze(-2)
        # habit positions_of_one: each_head = positions
        # slip heads_with_rope.positions_ignored: each_head = arange(length)
        # slip heads_with_rope.positions_of_batch_ignored: each_head = positions.reshape(-1, length)[:1]
        turn = lambda x: rope(x, each_head, theta)
    q, k, v = (split(linear(x, w), heads) for w in (w_q, w_k, w_v))
    # slip heads.weights_not_transposed: q, k, v = (split(linear(x, w.T), heads) for w in (w_q, w_k, w_v))
    # slip heads_with_rope.rope_across_d_model: q, k, v = (linear(x, w) for w in (w_q, w_k, w_v))
    # slip heads_with_rope.rope_across_d_model: q, k = (turn(a.unsqueeze(-3)).squeeze(-3) if turn else a for a in (q, k))
    # slip heads_with_rope.rope_across_d_model: q, k, v = (split(a, heads) for a in (q, k, v))
    if turn:
        q, k = turn(q), turn(k)
        # slip heads_with_rope.rope_across_d_model: pass
        # slip heads_with_rope.rope_on_q_alone: q = turn(q)
        # slip heads_with_rope.rope_on_k_alone: k = turn(k)
        # slip heads_with_rope.rope_on_v: q, k, v = turn(q), turn(k), turn(v)
        # slip heads_with_rope.no_rope: pass
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    # slip heads.not_causal: mask = None
    # slip heads.strictly_causal: mask = torch.ones(length, length, dtype=torch.bool).tril(-1)
    # slip heads.mask_inverted: mask = torch.ones(length, length, dtype=torch.bool).triu(1)
    # slip heads.upper_triangle: mask = torch.ones(length, length, dtype=torch.bool).triu()
    y = attention(q, k, v, mask)
    # slip heads.q_and_k_exchanged: y = attention(k, q, v, mask)
    # slip heads.first_head_for_all: y = attention(q, k[..., :1, :, :], v[..., :1, :, :], mask)
    return linear(merge(y), w_o)
    # habit shape_of_x: return linear(merge(y).reshape(x.shape), w_o)
    # slip heads.no_output_projection: return merge(y)
    # slip heads.w_o_not_transposed, weights_not_transposed: return linear(merge(y), w_o.T)
