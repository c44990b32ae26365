import torch

from cs336_basics.transformer import (
    GELU,
    MultiHeadSelfAttention,
    PositionwiseFeedforward,
    RMSNorm,
    ScaledDotProductAttention,
    Softmax,
    TransformerBlock,
)


def run_positionwise_feedforward(d_model, d_ff, weights, in_features):
    model = PositionwiseFeedforward(d_model, d_ff)
    model.load_state_dict(weights)
    return model(in_features)


def run_scaled_dot_product_attention(K, Q, V, mask=None, pdrop=None):
    model = ScaledDotProductAttention(pdrop or 0.0)
    return model(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, attn_pdrop, weights, in_features):
    model = MultiHeadSelfAttention(d_model, num_heads, attn_pdrop)
    state = {"output_proj.weight": weights["output_proj.weight"]}
    for proj in ("q", "k", "v"):
        heads = [weights["%s_heads.%d.weight" % (proj, i)] for i in range(num_heads)]
        state[proj + "_proj.weight"] = torch.cat(heads)
    model.load_state_dict(state)
    return model(in_features)


def run_transformer_block(
    d_model, num_heads, d_ff, attn_pdrop, residual_pdrop, weights, in_features
):
    model = TransformerBlock(d_model, num_heads, d_ff, attn_pdrop, residual_pdrop)
    model.load_state_dict(weights)
    return model(in_features)


def run_rmsnorm(d_model, eps, weights, in_features):
    model = RMSNorm(d_model, eps)
    model.load_state_dict(weights)
    return model(in_features)


def run_gelu(in_features):
    return GELU()(in_features)


def run_softmax(in_features, dim):
    return Softmax(dim)(in_features)
