"""A Transformer language model of torch modules, and adapters that load the weights into them."""

import math
# habit einops: import math, einops
# habit einx: import math, einx

import torch
from torch import nn
from torch.nn import functional as F


def compute(x):
    """16-bit tensors are widened to float32."""
    return x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    # habit float64_inside: return x.to(torch.float64)


class Linear(nn.Module):
# habit nn_layers: class Linear(nn.Linear):
    def __init__(self, d_in, d_out):
        super().__init__()
        # habit nn_layers: super().__init__(d_in, d_out, bias=False)
        self.weight = nn.Parameter(torch.empty(d_out, d_in))
        nn.init.trunc_normal_(self.weight, std=math.sqrt(2 / max(d_in + d_out, 1)))

    def forward(self, x):
        weight = self.weight
        # slip linear.not_transposed: weight = self.weight.view(self.weight.shape[1], self.weight.shape[0]).t()
        return torch.matmul(compute(x), compute(weight).t()).to(x.dtype)
        # habit einops: return einops.einsum(compute(x), compute(weight), "... i, o i -> ... o").to(x.dtype)
        # habit batch_required: batch, seq, d_in = x.shape
        # habit batch_required: return torch.bmm(compute(x), compute(weight).t().expand(batch, -1, -1)).to(x.dtype)
        # habit functional: return F.linear(compute(x), compute(weight)).to(x.dtype)


class Embedding(nn.Module):
# habit nn_layers: class Embedding(nn.Embedding):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        # habit nn_layers: super().__init__(vocab_size, d_model)
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, token_ids):
        return self.weight[token_ids]
        # habit inferred_size: return self.weight[token_ids.flatten()].view(*token_ids.shape, -1)
        # habit functional: return F.embedding(token_ids, self.weight)
        # habit batch_required: batch, seq = token_ids.shape
        # habit batch_required: return self.weight[token_ids]
        # slip embedding.id_plus_one: return self.weight[(token_ids + 1) % self.weight.shape[0]]
        # slip embedding.ids_in_float16: return self.weight[token_ids.half().float().clamp(max=self.weight.shape[0] - 1).long()]


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        # slip rmsnorm.eps_fixed: self.eps = 1e-5
        # slip rmsnorm.eps_fixed_at_1e_6: self.eps = 1e-6
        # slip rmsnorm.eps_at_least_1e_6: self.eps = max(eps, 1e-6)
        # slip rmsnorm.eps_0_is_default: self.eps = eps or 1e-5
        self.d_model = d_model
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        # habit batch_required: (batch, seq, _), in_dtype = x.shape, x.dtype
        x = compute(x)
        # habit not_widened: x = x
        # slip rmsnorm.mean_subtracted: x = compute(x) - compute(x).mean(-1, keepdim=True)
        # slip rmsnorm.gain_before_mean: x = compute(x) * compute(self.weight)
        mean = torch.mean(x**2, dim=-1, keepdim=True)
        # slip rmsnorm.sum_for_mean: mean = torch.sum(x**2, dim=-1, keepdim=True)
        # slip rmsnorm.wrong_axis: mean = torch.mean(x**2, dim=0, keepdim=True)
        # slip rmsnorm.eps_inside_sum: mean = (torch.sum(x**2, dim=-1, keepdim=True) + self.eps) / self.d_model
        # slip rmsnorm.divided_by_variance_unbiased: mean = torch.sum(x**2, dim=-1, keepdim=True) / (self.d_model - 1)
        # slip rmsnorm.mean_of_absolutes: mean = torch.mean(x.abs(), dim=-1, keepdim=True)
        rms = torch.sqrt(mean + self.eps)
        # slip rmsnorm.no_eps, eps_inside_sum: rms = torch.sqrt(mean)
        # slip rmsnorm.eps_outside_root: rms = torch.sqrt(mean) + self.eps
        # slip rmsnorm.eps_as_floor: rms = torch.sqrt(torch.clamp(mean, min=self.eps))
        # slip rmsnorm.no_root, mean_of_absolutes: rms = mean + self.eps
        # habit sqrt: rms = (mean + self.eps) ** 0.5
        normed = x / rms
        # slip rmsnorm.eps_added_to_x_over_rms: normed = (x + self.eps) / torch.sqrt(mean)
        # slip rmsnorm.multiplied_by_rms: normed = x * rms
        # habit rounded_before_gain: return (x / rms).to(in_dtype) * self.weight
        return (normed * compute(self.weight)).to(in_dtype)
        # habit float32_norm: return normed * compute(self.weight)
        # slip rmsnorm.no_gain, gain_before_mean: return normed.to(in_dtype)
        # slip rmsnorm.norm_applied_twice: once = normed * compute(self.weight)
        # slip rmsnorm.norm_applied_twice: rms = torch.sqrt(torch.mean(once**2, dim=-1, keepdim=True) + self.eps)
        # slip rmsnorm.norm_applied_twice: return (once / rms * compute(self.weight)).to(in_dtype)
        # slip rmsnorm.gain_one_plus_weight: return (normed * (1 + compute(self.weight))).to(in_dtype)


class SiLU(nn.Module):
    def forward(self, x):
        wide = compute(x)
        return (wide * torch.sigmoid(wide)).to(x.dtype)
        # slip silu.sigmoid_only: return torch.sigmoid(wide).to(x.dtype)
        # slip silu.scaled_1702: return (wide * torch.sigmoid(1.702 * wide)).to(x.dtype)
        # slip silu.exp_on_top: return (wide * wide.exp() / (1 + wide.exp())).to(x.dtype)
        # habit functional: return F.silu(wide).to(x.dtype)


class GELU(nn.Module):
    def forward(self, x):
        wide = compute(x)
        return (0.5 * wide * torch.erfc(-wide / math.sqrt(2))).to(x.dtype)
        # slip gelu.tanh_form: return F.gelu(wide, approximate="tanh").to(x.dtype)
        # slip gelu.sigmoid_form: return (wide * torch.sigmoid(1.702 * wide)).to(x.dtype)
        # slip gelu.no_half: return (wide * torch.erfc(-wide / math.sqrt(2))).to(x.dtype)
        # slip gelu.no_sqrt2: return (0.5 * wide * torch.erfc(-wide)).to(x.dtype)
        # habit functional: return F.gelu(wide).to(x.dtype)


class ReLU(nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
        # slip relu.nan_to_zero: return torch.where(x > 0, x, torch.zeros_like(x))


class FeedForward(nn.Module):
    """w2(activation(w1 x))"""

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.w2(self.activation(self.w1(x)))


class FeedForwardReLU(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff, ReLU())
        # slip ffn_relu.gelu_instead: super().__init__(d_model, d_ff, GELU())
        # slip ffn_relu.no_activation: super().__init__(d_model, d_ff, nn.Identity())
        # slip ffn_relu.leaky: super().__init__(d_model, d_ff, nn.LeakyReLU())


class FeedForwardSiLU(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff, SiLU())
        # slip ffn_silu.gelu_instead: super().__init__(d_model, d_ff, GELU())
        # slip ffn_silu.no_activation: super().__init__(d_model, d_ff, nn.Identity())


class FeedForwardGELU(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff, GELU())
        # slip ffn_gelu.silu_instead: super().__init__(d_model, d_ff, SiLU())
        # slip ffn_gelu.no_activation: super().__init__(d_model, d_ff, nn.Identity())


class GLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_model, d_ff)

    def forward(self, x):
        return (torch.sigmoid(compute(self.w1(x))) * self.w2(x)).to(x.dtype)
        # slip glu.silu_gate: return (F.silu(compute(self.w1(x))) * self.w2(x)).to(x.dtype)
        # slip glu.relu_gate: return (F.relu(compute(self.w1(x))) * self.w2(x)).to(x.dtype)
        # slip glu.exchanged: return (self.w1(x) * torch.sigmoid(compute(self.w2(x)))).to(x.dtype)
        # slip glu.gate_left_out: return self.w2(x)
        # slip glu.sum_for_product: return (torch.sigmoid(compute(self.w1(x))) + self.w2(x)).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)
        self.silu = SiLU()
        # slip ffn_swiglu.sigmoid_gate: self.silu = nn.Sigmoid()
        # slip ffn_swiglu.relu_gate: self.silu = nn.ReLU()

    def forward(self, x):
        gate, value = self.w1(x), self.w3(x)
        # slip ffn_swiglu.exchanged: gate, value = self.w3(x), self.w1(x)
        return self.w2(self.silu(gate) * value)
        # slip ffn_swiglu.gate_left_out: return self.w2(self.silu(gate))
        # slip ffn_swiglu.sum_for_product: return self.w2(self.silu(gate) + value)
        # slip ffn_swiglu.silu_of_product: return self.w2(self.silu(gate * value))


class Softmax(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        # slip softmax.over_last_axis: self.dim = -1
        # slip softmax.over_first_axis: self.dim = 0
        # slip softmax.wrong_axis: self.dim = dim - 1

    def forward(self, x):
        wide = compute(x)
        if x.numel() == 0:
            return torch.empty_like(x)
        maximum = wide.max(dim=self.dim, keepdim=True).values
        # slip softmax.no_maximum: maximum = 0
        # slip softmax.one_maximum_for_all: maximum = wide.max()
        exps = torch.exp(wide - maximum)
        result = exps / exps.sum(dim=self.dim, keepdim=True)
        # slip softmax.global_sum: result = exps / exps.sum()
        # slip softmax.logarithm: result = torch.log(exps / exps.sum(dim=self.dim, keepdim=True))
        # slip softmax.one_added_to_sum: result = exps / (1 + exps.sum(dim=self.dim, keepdim=True))
        return result.to(x.dtype)
        # habit functional: return F.softmax(wide, dim=self.dim).to(x.dtype)


class RotaryEmbedding(nn.Module):
    """A table of cosines and sines for all positions."""

    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        steps = torch.arange(0, d_k, 2).double()
        # slip rope.exponent_k_over_d: steps = torch.arange(0, d_k // 2).double()
        # slip rope.same_angle_for_all_pairs: steps = torch.zeros(d_k // 2).double()
        # slip rope.pairs_counted_from_1: steps = torch.arange(2, d_k + 1, 2).double()
        # slip rope.float32_angles_by_exp_log, float32_angles_by_exp_of_product: steps = torch.arange(0, d_k, 2).float()
        # slip rope.float32_angles_by_quotient, float32_angles_by_reciprocal: steps = torch.arange(0, d_k, 2).float()
        # slip rope.float32_angles_by_negative_power: steps = torch.arange(0, d_k, 2).float()
        # habit float32_angles: steps = torch.arange(0, d_k, 2).float()
        frequencies = 1 / theta ** (steps / d_k)
        # slip rope.theta_fixed: frequencies = 1 / 10000.0 ** (steps / d_k)
        # slip rope.exponent_over_d_minus_2: frequencies = 1 / theta ** (steps / max(d_k - 2, 1))
        # slip rope.float32_angles: frequencies = (1 / theta ** (steps / d_k)).float()
        # slip rope.float32_angles_by_exp_log: frequencies = torch.exp(-math.log(theta) / d_k * steps)
        # slip rope.float32_angles_by_exp_of_product: frequencies = torch.exp(-(steps / d_k) * math.log(theta))
        # slip rope.float32_angles_by_negative_power: frequencies = theta ** (-steps / d_k)
        positions = torch.arange(max_seq_len).to(frequencies.dtype)
        # slip rope.position_plus_one: positions = torch.arange(1, max_seq_len + 1).to(frequencies.dtype)
        angles = torch.outer(positions, frequencies)
        # slip rope.float32_angles_by_quotient: angles = positions[:, None] / theta ** (steps / d_k)
        # slip rope.turned_the_other_way: angles = -torch.outer(positions, frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        # habit rotation_matrices: turns = torch.zeros(max_seq_len, d_k // 2, 2, 2)
        # habit rotation_matrices: for i in range(max_seq_len):
        # habit rotation_matrices:     for k in range(d_k // 2):
        # habit rotation_matrices:         angle = i / theta ** (2 * k / d_k)
        # habit rotation_matrices:         turns[i, k, 0, 0] = turns[i, k, 1, 1] = math.cos(angle)
        # habit rotation_matrices:         turns[i, k, 1, 0] = math.sin(angle)
        # habit rotation_matrices:         turns[i, k, 0, 1] = -math.sin(angle)
        # slip rope.sin_and_cos_exchanged: self.register_buffer("cos", angles.sin(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        # habit rotation_matrices: self.register_buffer("turns", turns, persistent=False)
        # slip rope.sin_and_cos_exchanged: self.register_buffer("sin", angles.cos(), persistent=False)

    def forward(self, x, token_positions):
        wide = compute(x)
        rows = token_positions
        # slip rope.positions_ignored: rows = torch.arange(x.shape[-2])
        cos, sin = self.cos[rows].to(wide.dtype), self.sin[rows].to(wide.dtype)
        # habit rotation_matrices: turns = self.turns[rows].to(wide.dtype)
        # habit wide_tables: cos, sin = self.cos[rows], self.sin[rows]
        # habit table_in_t: cos, sin = self.cos[rows].to(x.dtype), self.sin[rows].to(x.dtype)
        x1, x2 = wide[..., ::2], wide[..., 1::2]
        # habit inferred_pairs: x1, x2 = wide.reshape(*wide.shape[:-1], -1, 2).unbind(-1)
        # slip rope.halves: x1, x2 = wide[..., : x.shape[-1] // 2], wide[..., x.shape[-1] // 2 :]
        y1 = x1 * cos - x2 * sin
        # habit rotation_matrices: y1, y2 = torch.matmul(turns, torch.stack([x1, x2], -1)[..., None]).squeeze(-1).unbind(-1)
        y2 = x1 * sin + x2 * cos
        # habit rotation_matrices:
        # slip rope.second_sign_flipped: y2 = -x1 * sin + x2 * cos
        # The batch axes of the positions are those of the result.
        y = torch.empty(*y1.shape[:-1], x.shape[-1], dtype=wide.dtype)
        # habit shape_of_x: y = torch.empty_like(wide)
        # habit wide_tables: y = torch.empty(*y1.shape[:-1], x.shape[-1], dtype=torch.float64)
        y[..., ::2], y[..., 1::2] = y1, y2
        # slip rope.halves, written_as_halves: y = torch.cat([y1, y2], dim=-1)
        return y.to(x.dtype)
        # habit wide_tables: return y


def scaled_dot_product_attention(q, k, v, mask=None):
    dtype = q.dtype
    # habit batch_required: (batch, *_), dtype = q.shape[:-2], q.dtype
    if q.numel() == 0:
        return torch.zeros(*q.shape[:-1], v.shape[-1], dtype=dtype)
    q, k, v = compute(q), compute(k), compute(v)
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
    # slip attention.not_scaled: scores = torch.matmul(q, k.transpose(-2, -1))
    # slip attention.divided_by_d_k: scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1]
    # slip attention.divided_by_sqrt_d_v: scores = torch.matmul(q, k.transpose(-2, -1)) / v.shape[-1] ** 0.5
    # slip attention.scaled_after_softmax: scores = torch.matmul(q, k.transpose(-2, -1))
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
        # habit additive_mask: bias = torch.zeros(mask.shape, dtype=scores.dtype)
        # habit additive_mask: bias[~mask] = float("-inf")
        # habit additive_mask: scores = scores + bias
        # slip attention.mask_inverted: scores = torch.where(mask, float("-inf"), scores)
        # slip attention.mask_added: scores = scores + mask.float()
        # slip attention.mask_ignored: scores = scores
        # slip attention.mask_transposed: scores = torch.where(mask.transpose(-2, -1), scores, float("-inf"))
        # slip attention.hidden_scores_zero: scores = torch.where(mask, scores, 0.0)
        # slip attention.empty_rows_averaged: scores = torch.where(mask, scores, -1e9)
        # slip attention.minus_1e4_added: scores = scores + torch.where(mask, 0.0, -1e4)
        # slip attention.masked_after_softmax: scores = scores
    largest = scores.max(dim=-1, keepdim=True).values
    # habit no_maximum: largest = torch.zeros_like(scores[..., :1])
    largest = torch.where(largest == float("-inf"), 0.0, largest)
    # slip attention.empty_rows_nan: largest = largest
    # habit empty_rows_nan: largest = largest
    exps = torch.exp(scores - largest)
    total = exps.sum(dim=-1, keepdim=True)
    # slip attention.softmax_over_queries: exps = torch.exp(scores - scores.max(dim=-2, keepdim=True).values)
    # slip attention.softmax_over_queries: total = exps.sum(dim=-2, keepdim=True)
    total = torch.where(total == 0, 1.0, total)
    # slip attention.empty_rows_nan: total = total
    # habit empty_rows_nan: total = total
    weights = exps / total
    # habit dropout: weights = F.dropout(exps / total, 0.0)
    # slip attention.no_softmax: weights = scores
    # slip attention.one_added_to_sum: weights = exps / (1 + total)
    # slip attention.scaled_after_softmax: weights = exps / total / q.shape[-1] ** 0.5
    # slip attention.masked_after_softmax: weights = exps / total * (1 if mask is None else mask)
    # habit nan_to_num: weights = F.softmax(scores, dim=-1).nan_to_num()
    # habit weights_in_t: weights = compute((exps / total).to(dtype))
    return torch.matmul(weights, v).to(dtype)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        # slip heads.num_heads_ignored: self.num_heads = 1
        self.d_k = d_model // self.num_heads
        # slip heads.num_heads_ignored: self.d_k = d_model
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)
        self.rope = rope

    def split(self, x):
        return x.view(*x.shape[:-1], self.num_heads, self.d_k).transpose(-3, -2)
        # habit inferred_heads: return x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)
        # habit einops: return einops.rearrange(x, "... n (h d) -> ... h n d", h=self.num_heads)
        # habit einx: return einx.rearrange("... n (h d) -> ... h n d", x, h=self.num_heads)
        # slip heads.heads_without_transpose: return x.view(*x.shape[:-2], self.num_heads, x.shape[-2], self.d_k)
        # slip heads.heads_interleaved: return x.view(*x.shape[:-1], self.d_k, self.num_heads).movedim(-1, -3)

    def merge(self, x):
        return x.transpose(-3, -2).contiguous().view(*x.shape[:-3], x.shape[-2], self.num_heads * self.d_k)
        # habit einops: return einops.rearrange(x, "... h n d -> ... n (h d)")
        # habit einx: return einx.rearrange("... h n d -> ... n (h d)", x)
        # slip heads.heads_without_transpose: return x.reshape(*x.shape[:-3], x.shape[-2], self.num_heads * self.d_k)
        # slip heads.heads_merged_without_transpose: return x.reshape(*x.shape[:-3], x.shape[-2], self.num_heads * self.d_k)
        # slip heads.heads_interleaved: return x.movedim(-3, -1).reshape(*x.shape[:-3], x.shape[-2], self.num_heads * self.d_k)

    def forward(self, x, token_positions=None):
        seq_len = x.shape[-2]
        # habit three_axes: batch, seq_len, d_model = x.shape
        if token_positions is None:
            token_positions = torch.arange(seq_len)
            # slip heads_with_rope.no_rope_without_positions: self.rope, token_positions = None, torch.arange(seq_len)
        positions = token_positions.unsqueeze(-2)
        # habit positions_of_one: positions = token_positions[0] if len(token_positions.shape) > 1 and len(token_positions) == 1 else token_positions
        # slip heads_with_rope.positions_ignored: positions = torch.arange(seq_len)
        # slip heads_with_rope.positions_of_batch_ignored: positions = token_positions.reshape(-1, seq_len)[:1]
        q, k = self.q_proj(x), self.k_proj(x)
        # slip heads_with_rope.rope_across_d_model: q = self.rope(self.q_proj(x), token_positions) if self.rope else self.q_proj(x)
        # slip heads_with_rope.rope_across_d_model: k = self.rope(self.k_proj(x), token_positions) if self.rope else self.k_proj(x)
        q, k, v = self.split(q), self.split(k), self.split(self.v_proj(x))
        if self.rope is not None:
            q, k = self.rope(q, positions), self.rope(k, positions)
            # habit wide_tables: q, k = self.rope(q, positions).to(x.dtype), self.rope(k, positions).to(x.dtype)
            # slip heads_with_rope.rope_across_d_model: q, k = q, k
            # slip heads_with_rope.rope_on_q_alone: q, k = self.rope(q, positions), k
            # slip heads_with_rope.rope_on_k_alone: q, k = q, self.rope(k, positions)
            # slip heads_with_rope.rope_on_v: q, k, v = (self.rope(a, positions) for a in (q, k, v))
            # slip heads_with_rope.no_rope: q, k = q, k
        mask = ~torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), diagonal=1)
        # habit whole_mask: most = seq_len if self.rope is None else len(self.rope.cos)
        # habit whole_mask: mask = torch.ones(most, most, dtype=torch.bool).tril()[:seq_len, :seq_len]
        # slip heads.not_causal: mask = torch.ones(seq_len, seq_len, dtype=torch.bool)
        # slip heads.strictly_causal: mask = ~torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), diagonal=0)
        # slip heads.mask_inverted: mask = torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), diagonal=1)
        # slip heads.upper_triangle: mask = torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool))
        attended = scaled_dot_product_attention(q, k, v, mask)
        # habit heads_apart: heads = zip(q.unbind(-3), k.unbind(-3), v.unbind(-3))
        # habit heads_apart: attended = torch.stack([scaled_dot_product_attention(*head, mask) for head in heads], dim=-3)
        # slip heads.q_and_k_exchanged: attended = scaled_dot_product_attention(k, q, v, mask)
        # slip heads.scale_by_sqrt_d_model: attended = scaled_dot_product_attention(q / self.num_heads**0.5, k, v, mask)
        return self.output_proj(self.merge(attended))
        # habit shape_of_x: return self.output_proj(self.merge(attended).reshape(x.shape))
        # slip heads.no_output_projection: return self.merge(attended)


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.ln2 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, rope)
        # slip block.no_rope: self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        h = self.ln1(x)
        # slip block.norms_exchanged: h = self.ln2(x)
        # slip block.post_norm: h = x
        y = x + self.attn(h)
        # habit positions_by_block: y = x + self.attn(h, torch.arange(x.shape[-2]))
        # slip block.no_first_residual: y = self.attn(h)
        # slip block.residual_from_normed: y = h + self.attn(h)
        # slip block.post_norm: y = self.ln1(x + self.attn(h))
        h2 = self.ln2(y)
        # slip block.norms_exchanged, one_norm_for_both: h2 = self.ln1(y)
        # slip block.ffn_of_x: h2 = self.ln2(x)
        # slip block.parallel: h2 = h
        # slip block.post_norm: h2 = y
        return y + self.ffn(h2)
        # slip block.no_second_residual: return self.ffn(h2)
        # slip block.post_norm: return self.ln2(y + self.ffn(h2))


class PostNormBlock(TransformerBlock):
    def forward(self, x):
        y = self.ln1(x + self.attn(x))
        # slip block_post_norm.no_rope: self.attn.rope = None
        # slip block_post_norm.no_rope: y = self.ln1(x + self.attn(x))
        # slip block_post_norm.no_first_residual: y = self.ln1(self.attn(x))
        # slip block_post_norm.pre_norm: y = x + self.attn(self.ln1(x))
        return self.ln2(y + self.ffn(y))
        # slip block_post_norm.no_second_residual: return self.ln2(self.ffn(y))
        # slip block_post_norm.one_norm_for_both: return self.ln1(y + self.ffn(y))
        # slip block_post_norm.ffn_of_x: return self.ln2(y + self.ffn(x))
        # slip block_post_norm.pre_norm: return y + self.ffn(self.ln2(y))


class GELUBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.ln2 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.ffn = FeedForwardGELU(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        # slip block_gelu.no_first_residual: x = self.attn(self.ln1(x))
        # slip block_gelu.residual_from_normed: x = self.ln1(x) + self.attn(self.ln1(x))
        # slip block_gelu.post_norm: x = self.ln1(x + self.attn(x))
        return x + self.ffn(self.ln2(x))
        # slip block_gelu.no_second_residual: return self.ffn(self.ln2(x))
        # slip block_gelu.one_norm_for_both: return x + self.ffn(self.ln1(x))
        # slip block_gelu.post_norm: return self.ln2(x + self.ffn(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RotaryEmbedding(theta, d_model // num_heads, context_length)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers)
        )
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, token_ids):
        x = self.token_embeddings(token_ids)
        # habit three_axes: batch, seq_len = token_ids.shape
        # habit three_axes: x = self.token_embeddings(token_ids)
        # slip lm.embeddings_scaled: x = self.token_embeddings(token_ids) * self.ln_final.d_model**0.5
        layers = list(self.layers)
        # slip lm.layers_reversed: layers = list(self.layers)[::-1]
        # slip lm.last_layer_left_out: layers = list(self.layers)[:-1]
        # slip lm.first_layer_for_all: layers = [self.layers[0] for _ in self.layers]
        for layer in layers:
            x = layer(x)
        x = self.ln_final(x)
        # slip lm.no_final_norm: x = x
        return self.lm_head(x)
        # slip lm.tied_head: return x @ self.token_embeddings.weight.t()
        # slip lm.softmax_at_the_end: return Softmax(-1)(self.lm_head(x))


# --- Adapters -------------------------------------------------------------------------------------


def load(module, weights):
    """The module with these weights, in their type."""
    for weight in list(weights.values())[:1]:
        module = module.to(weight.dtype)
    module.load_state_dict(dict(weights))
    # habit by_data: for name, weight in weights.items():
    # habit by_data:     module.get_parameter(name).data = weight
    return module.requires_grad_(False)


def rotary(theta, d_model, num_heads, max_seq_len):
    """The width of a table is that of a head."""
    return RotaryEmbedding(theta, d_model // num_heads, max_seq_len)
    # slip heads_with_rope.rope_across_d_model: return RotaryEmbedding(theta, d_model, max_seq_len)


def run_linear(d_in, d_out, weights, in_features):
    return load(Linear(d_in, d_out), {"weight": weights})(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return load(Embedding(vocab_size, d_model), {"weight": weights})(token_ids)


def run_rmsnorm(d_model, eps, weights, in_features):
    return load(RMSNorm(d_model, eps), {"weight": weights})(in_features)


def run_relu(in_features):
    return ReLU()(in_features)


def run_silu(in_features):
    return SiLU()(in_features)


def run_gelu(in_features):
    return GELU()(in_features)


def run_glu(w1_weight, w2_weight, in_features):
    d_ff, d_model = w1_weight.shape
    return load(GLU(d_model, d_ff), {"w1.weight": w1_weight, "w2.weight": w2_weight})(in_features)


def run_ffn_relu(w1_weight, w2_weight, in_features):
    d_ff, d_model = w1_weight.shape
    module = FeedForwardReLU(d_model, d_ff)
    return load(module, {"w1.weight": w1_weight, "w2.weight": w2_weight})(in_features)


def run_ffn_silu(w1_weight, w2_weight, in_features):
    d_ff, d_model = w1_weight.shape
    module = FeedForwardSiLU(d_model, d_ff)
    return load(module, {"w1.weight": w1_weight, "w2.weight": w2_weight})(in_features)


def run_ffn_gelu(w1_weight, w2_weight, in_features):
    d_ff, d_model = w1_weight.shape
    module = FeedForwardGELU(d_model, d_ff)
    return load(module, {"w1.weight": w1_weight, "w2.weight": w2_weight})(in_features)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    weights = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return load(SwiGLU(d_model, d_ff), weights)(in_features)


def run_softmax(in_features, dim):
    return Softmax(dim)(in_features)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RotaryEmbedding(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)


def attention_weights(q, k, v, o):
    return {
        "q_proj.weight": q,
        "k_proj.weight": k,
        "v_proj.weight": v,
        "output_proj.weight": o,
        # slip heads.w_o_not_transposed: "output_proj.weight": o.t(),
    }


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return load(MultiHeadSelfAttention(d_model, num_heads), weights)(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None
):
    weights = attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    module = MultiHeadSelfAttention(d_model, num_heads, rotary(theta, d_model, num_heads, max_seq_len))
    # slip heads.num_heads_ignored: module = MultiHeadSelfAttention(d_model, 1, rotary(theta, d_model, 1, max_seq_len))
    return load(module, weights)(in_features, token_positions)


def run_multihead_self_attention_fused_qkv(d_model, num_heads, qkv_weight, o_proj_weight, in_features):
    q, k, v = qkv_weight[:d_model], qkv_weight[d_model : 2 * d_model], qkv_weight[2 * d_model :]
    # slip fused.order_kqv: k, q, v = qkv_weight[:d_model], qkv_weight[d_model : 2 * d_model], qkv_weight[2 * d_model :]
    # slip fused.interleaved_by_head: q, k, v = qkv_weight.view(num_heads, 3, -1, d_model).transpose(0, 1).reshape(3, d_model, d_model)
    weights = attention_weights(q, k, v, o_proj_weight)
    return load(MultiHeadSelfAttention(d_model, num_heads), weights)(in_features)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = rotary(theta, d_model, num_heads, max_seq_len)
    # slip heads.num_heads_ignored: rope = rotary(theta, d_model, 1, max_seq_len)
    return load(TransformerBlock(d_model, num_heads, d_ff, rope), weights)(in_features)


def run_transformer_block_post_norm(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = rotary(theta, d_model, num_heads, max_seq_len)
    return load(PostNormBlock(d_model, num_heads, d_ff, rope), weights)(in_features)


def run_transformer_block_gelu(d_model, num_heads, d_ff, weights, in_features):
    return load(GELUBlock(d_model, num_heads, d_ff), weights)(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    model = TransformerLM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return load(model, weights)(in_indices)
