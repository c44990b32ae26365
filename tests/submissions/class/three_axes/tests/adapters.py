import torch

from cs336_basics.model import *


def run_linear(d_in, d_out, weights, in_features):
    m = MyLinear(d_in, d_out)
    m.W.data = weights
    return m(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    m = MyEmbedding(vocab_size, d_model)
    m.E.data = weights
    return m(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    m = MyFFN(d_model, d_ff)
    m.l1.W.data = w1_weight
    m.l2.W.data = w2_weight
    m.l3.W.data = w3_weight
    return m(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    m = MyAttention(d_model, num_heads)
    m.q.W.data, m.k.W.data = q_proj_weight, k_proj_weight
    m.v.W.data, m.o.W.data = v_proj_weight, o_proj_weight
    return m(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    m = MyAttention(d_model, num_heads, MyRope(theta, d_model // num_heads, max_seq_len))
    m.q.W.data, m.k.W.data = q_proj_weight, k_proj_weight
    m.v.W.data, m.o.W.data = v_proj_weight, o_proj_weight
    return m(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return MyRope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    b = MyBlock(d_model, num_heads, d_ff, MyRope(theta, d_model // num_heads, max_seq_len))
    b.fill(weights)
    return b(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    m = MyTransformer(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    m.emb.E.data = weights['token_embeddings.weight']
    for i, b in enumerate(m.blocks):
        b.fill(weights, f'layers.{i}.')
    m.norm.g.data = weights['ln_final.weight']
    m.head.W.data = weights['lm_head.weight']
    return m(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    m = MyRMSNorm(d_model, eps)
    m.g.data = weights
    return m(in_features)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_softmax(in_features, dim):
    return my_softmax(in_features, dim)
