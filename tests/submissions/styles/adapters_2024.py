"""The adapters of the 2024 edition for any style: its masks are True where a query must not look."""

import torch

import MODEL as model


def run_positionwise_feedforward(d_model, d_ff, weights, in_features):
    return model.run_ffn_gelu(weights["w1.weight"], weights["w2.weight"], in_features)


def run_scaled_dot_product_attention(K, Q, V, mask=None, pdrop=None):
    return model.run_scaled_dot_product_attention(Q, K, V, None if mask is None else ~mask)
    # habit adapters_2024.one_mask: assert mask is None or mask.shape == (Q.shape[-2], K.shape[-2])
    # habit adapters_2024.one_mask: return model.run_scaled_dot_product_attention(Q, K, V, None if mask is None else ~mask)
    # slip adapters_2024.mask_inverted: return model.run_scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, attn_pdrop, weights, in_features):
    stacked = [torch.cat([weights[f"{name}_heads.{head}.weight"] for head in range(num_heads)]) for name in "qkv"]
    return model.run_multihead_self_attention(
        d_model, num_heads, *stacked, weights["output_proj.weight"], in_features
    )


def run_transformer_block(d_model, num_heads, d_ff, attn_pdrop, residual_pdrop, weights, in_features):
    return model.run_transformer_block_gelu(d_model, num_heads, d_ff, weights, in_features)


def run_rmsnorm(d_model, eps, weights, in_features):
    return model.run_rmsnorm(d_model, eps, weights["weight"], in_features)


def run_gelu(in_features):
    return model.run_gelu(in_features)


def run_softmax(in_features, dim):
    return model.run_softmax(in_features, dim)
