from __future__ import annotations

from student import model
from student.tokenizer import words


def loaded(module, weights):
    module.load_state_dict(dict(weights))
    return module


def run_positionwise_feedforward(d_model, d_ff, weights, in_features):
    return loaded(model.Mlp(model.Config(d_model, 1, d_ff)), weights)(in_features)


def run_scaled_dot_product_attention(K, Q, V, mask=None, pdrop=None):
    return model.attention(K, Q, V, mask, 0.0 if pdrop is None else pdrop)


def run_multihead_self_attention(d_model, num_heads, attn_pdrop, weights, in_features):
    config = model.Config(d_model, num_heads, attn_pdrop=attn_pdrop)
    return loaded(model.Attention(config), weights)(in_features)


def run_transformer_block(
    d_model, num_heads, d_ff, attn_pdrop, residual_pdrop, weights, in_features
):
    config = model.Config(d_model, num_heads, d_ff, attn_pdrop, residual_pdrop)
    return loaded(model.Block(config), weights)(in_features)


def run_rmsnorm(d_model, eps, weights, in_features):
    return loaded(model.Norm(d_model, eps), weights)(in_features)


def run_gelu(in_features):
    return model.gelu(in_features)


def run_softmax(in_features, dim):
    return model.softmax(in_features, dim)


def count_words(text):
    return len(words(text))
