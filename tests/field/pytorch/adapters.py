"""The course's assignment by PyTorch's own functions, for the editions of 2024 and later. PyTorch 1.13 has
neither rms_norm nor scaled_dot_product_attention: there they are a line of torch each. What PyTorch has an answer
for, and the contract has not, is refused."""

import torch
import torch.nn.functional as F


def refuse(condition):
    if condition:
        raise ValueError("the contract has no answer to this")


def run_linear(d_in, d_out, weights, in_features):
    refuse(d_in == 0)
    return F.linear(in_features, weights)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return F.embedding(token_ids, weights)


def rms_norm(x, weight, eps=1e-5):
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, x.shape[-1:], weight, eps)
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps) * weight).type_as(x)


def run_rmsnorm(d_model, eps, weights, in_features):
    return rms_norm(in_features, weights["weight"] if isinstance(weights, dict) else weights, eps)


def run_silu(in_features):
    return F.silu(in_features)


def run_gelu(in_features):
    return F.gelu(in_features)


def run_softmax(in_features, dim):
    return F.softmax(in_features, dim)


def run_positionwise_feedforward(d_model, d_ff, weights, in_features):
    return F.linear(F.gelu(F.linear(in_features, weights["w1.weight"])), weights["w2.weight"])


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    refuse(d_ff == 0)
    return F.linear(F.silu(F.linear(in_features, w1_weight)) * F.linear(in_features, w3_weight), w2_weight)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key
    refuse(d_k % 2 or theta <= 0)
    refuse(bool(((token_positions < 0) | (token_positions >= max_seq_len)).any()))
    frequency = 1 / theta ** (torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    angle = token_positions.double()[..., None] * frequency
    wide = x if x.dtype == torch.float64 else x.float()
    cos, sin = angle.cos().type_as(wide), angle.sin().type_as(wide)
    even, odd = wide[..., ::2], wide[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).type_as(x)


def attention(q, k, v, mask=None, is_causal=False):
    refuse(q.shape[-1] == 0 or (k.shape[-2] == 0 and q.shape[-2] > 0))
    if hasattr(F, "scaled_dot_product_attention"):
        batch = torch.broadcast_shapes(*(t.shape[:-2] for t in (q, k, v) if t is not None),
                                       () if mask is None else mask.shape[:-2])
        q, k, v = (t.expand(*batch, *t.shape[-2:]) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
    if is_causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return F.softmax(scores, -1).masked_fill(torch.isneginf(scores).all(-1, keepdim=True), 0) @ v


def run_scaled_dot_product_attention(Q, K, V, mask=None, pdrop=None):
    """In 2024, which passes a pdrop, the mask says which keys are left out."""
    return attention(Q, K, V, mask if mask is None or pdrop is None else ~mask)


def heads(x, q, k, v, out, num_heads, turn=lambda t: t):
    q, k, v = (F.linear(x, w).unflatten(-1, (num_heads, -1)).transpose(-2, -3) for w in (q, k, v))
    y = attention(turn(q), turn(k), v, is_causal=True)
    return F.linear(y.transpose(-2, -3).flatten(-2), out)


def run_multihead_self_attention(d_model, num_heads, in_features, q_proj_weight=None, k_proj_weight=None,
                                 v_proj_weight=None, o_proj_weight=None, attn_pdrop=None, weights=None):
    """In 2024 a head's projections come by themselves."""
    if weights is not None:
        q_proj_weight, k_proj_weight, v_proj_weight = (
            torch.cat([weights[f"{name}_heads.{head}.weight"] for head in range(num_heads)]) for name in "qkv")
        o_proj_weight = weights["output_proj.weight"]
    return heads(in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)


def turning(d_k, theta, max_seq_len, seq, positions=None):
    positions = torch.arange(seq) if positions is None else positions
    positions = positions if positions.ndim < 2 else positions[..., None, :]
    return lambda t: run_rope(d_k, theta, max_seq_len, t, positions)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight,
                                           v_proj_weight, o_proj_weight, in_features, token_positions=None):
    turn = turning(d_model // num_heads, theta, max_seq_len, in_features.shape[-2], token_positions)
    return heads(in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads, turn)


def run_transformer_block(d_model, num_heads, d_ff, weights, in_features, max_seq_len=None, theta=None,
                          attn_pdrop=None, residual_pdrop=None, prefix=""):
    """In 2024, which has no theta, without RoPE and with GELU."""
    w = {name[len(prefix):]: value for name, value in weights.items() if name.startswith(prefix)}
    x = in_features
    turn = (lambda t: t) if theta is None else turning(d_model // num_heads, theta, max_seq_len, x.shape[-2])
    attn = (w[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output"))
    x = x + heads(rms_norm(x, w["ln1.weight"]), *attn, num_heads, turn)
    y = rms_norm(x, w["ln2.weight"])
    if theta is None:
        return x + run_positionwise_feedforward(d_model, d_ff, {f"w{i}.weight": w[f"ffn.w{i}.weight"] for i in (1, 2)}, y)
    return x + run_swiglu(d_model, d_ff, w["ffn.w1.weight"], w["ffn.w2.weight"], w["ffn.w3.weight"], y)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights,
                       in_indices):
    x = F.embedding(in_indices, weights["token_embeddings.weight"])
    for i in range(num_layers):
        x = run_transformer_block(d_model, num_heads, d_ff, weights, x, context_length, rope_theta,
                                  prefix=f"layers.{i}.")
    return F.linear(rms_norm(x, weights["ln_final.weight"]), weights["lm_head.weight"])
