from __future__ import annotations

import torch
from torch import Tensor

from cs336_basics.nn_utils import (
    Embedding,
    Linear,
    RMSNorm,
    SwiGLU,
    scaled_dot_product_attention,
    softmax,
)
from cs336_basics.rope import RotaryPositionalEmbedding
from cs336_basics.transformer import MultiHeadSelfAttention, TransformerBlock, TransformerLM


@torch.no_grad()
def run_linear(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    linear = Linear(d_in, d_out)
    linear.W.copy_(weights)
    return linear(in_features)


@torch.no_grad()
def run_embedding(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    embedding = Embedding(vocab_size, d_model)
    embedding.embedding_matrix.copy_(weights)
    return embedding(token_ids)


@torch.no_grad()
def run_swiglu(
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    swiglu = SwiGLU(d_model, d_ff)
    swiglu.linear1.W.copy_(w1_weight)
    swiglu.linear2.W.copy_(w2_weight)
    swiglu.linear3.W.copy_(w3_weight)
    return swiglu(in_features)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    mhsa = MultiHeadSelfAttention(d_model, num_heads)
    mhsa.set_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mhsa(in_features)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    mhsa = MultiHeadSelfAttention(d_model, num_heads, rope)
    mhsa.set_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mhsa(in_features, token_positions)


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    return RotaryPositionalEmbedding(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    block = TransformerBlock(d_model, num_heads, d_ff, rope)
    block.set_weights(weights)
    return block(in_features)


@torch.no_grad()
def run_transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    lm = TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    lm.embedding.embedding_matrix.copy_(weights["token_embeddings.weight"])
    lm.norm.gain.copy_(weights["ln_final.weight"])
    lm.output.W.copy_(weights["lm_head.weight"])
    for n, block in enumerate(lm.blocks):
        block.set_weights(weights, f"layers.{n}.")
    return lm(in_indices)


@torch.no_grad()
def run_rmsnorm(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    norm = RMSNorm(d_model, eps)
    norm.gain.copy_(weights)
    return norm(in_features)


def run_silu(in_features: Tensor) -> Tensor:
    return SwiGLU.silu(in_features)


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return softmax(in_features, dim)
