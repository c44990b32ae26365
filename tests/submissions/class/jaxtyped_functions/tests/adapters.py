from cs336_basics import ops
from cs336_basics.types import Float, Int, Tensor


def run_linear(
    d_in: int, d_out: int, weights: Float[Tensor, "d_out d_in"], in_features: Float[Tensor, "... d_in"]
) -> Float[Tensor, "... d_out"]:
    return ops.linear(in_features, weights)


def run_embedding(
    vocab_size: int,
    d_model: int,
    weights: Float[Tensor, "vocab_size d_model"],
    token_ids: Int[Tensor, "..."],
) -> Float[Tensor, "... d_model"]:
    return ops.embed(token_ids, weights)


def run_swiglu(d_model: int, d_ff: int, w1_weight, w2_weight, w3_weight, in_features):
    return ops.swiglu(in_features, w1_weight, w2_weight, w3_weight)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return ops.attention(Q, K, V, mask)


def _weights(q, k, v, o):
    return {"q_proj": q, "k_proj": k, "v_proj": v, "output_proj": o}


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_k d_in"],
    k_proj_weight: Float[Tensor, "d_k d_in"],
    v_proj_weight: Float[Tensor, "d_v d_in"],
    o_proj_weight: Float[Tensor, "d_model d_v"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    weights = _weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return ops.self_attention(in_features, weights, num_heads)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, "d_k d_in"],
    k_proj_weight: Float[Tensor, "d_k d_in"],
    v_proj_weight: Float[Tensor, "d_v d_in"],
    o_proj_weight: Float[Tensor, "d_model d_v"],
    in_features: Float[Tensor, "... seq d_in"],
    token_positions: Int[Tensor, "... seq"] | None = None,
) -> Float[Tensor, "... seq d_out"]:
    weights = _weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return ops.self_attention(in_features, weights, num_heads, theta, token_positions)


def run_rope(d_k: int, theta: float, max_seq_len: int, in_query_or_key, token_positions):
    return ops.rope(in_query_or_key, token_positions, theta)


def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, "batch seq d_model"],
) -> Float[Tensor, "batch seq d_model"]:
    return ops.block(in_features, weights, num_heads, theta)


def run_transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Int[Tensor, "batch seq"],
) -> Float[Tensor, "batch seq vocab_size"]:
    return ops.language_model(in_indices, weights, num_layers, num_heads, rope_theta)


def run_rmsnorm(d_model: int, eps: float, weights, in_features):
    return ops.rms_norm(in_features, weights, eps)


def run_silu(in_features: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return ops.silu(in_features)


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return ops.softmax(in_features, dim)
