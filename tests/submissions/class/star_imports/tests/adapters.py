from __future__ import annotations

from cs336_basics.tokenizer import *
from cs336_basics.transformer import *

# -- the adapters of our group fill the parameters in the order in which they were made

def fill(module, *tensors):
    parameters = list(module.parameters())
    assert len(parameters) == len(tensors)
    for p, t in zip(parameters, tensors):
        p.data = t
    return module

def of_block(w, at=""):
    """in the order of TransformerBlock.__init__"""
    names = ["ln1", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj", "ln2",
             "ffn.w1", "ffn.w2", "ffn.w3"]
    return [w[at + name + ".weight"] for name in names]

def run_linear(d_in, d_out, weights, in_features):
    return fill(Linear(d_in, d_out), weights)(in_features)

def run_embedding(vocab_size, d_model, weights, token_ids):
    return fill(Embedding(vocab_size, d_model), weights)(token_ids)

def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return fill(SwiGLU(d_model, d_ff), w1_weight, w2_weight, w3_weight)(in_features)

def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)

def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    mha = MultiHeadAttention(d_model, num_heads)
    return fill(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)(in_features)

def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    mha = MultiHeadAttention(d_model, num_heads, RoPE(theta, d_model // num_heads, max_seq_len))
    fill(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, token_positions)

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)

def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = RoPE(theta, d_model // num_heads, max_seq_len)
    return fill(TransformerBlock(d_model, num_heads, d_ff, rope), *of_block(weights))(in_features)

def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = TransformerLM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    tensors = [weights["token_embeddings.weight"]]
    for n in range(num_layers):
        tensors += of_block(weights, f"layers.{n}.")
    tensors += [weights["ln_final.weight"], weights["lm_head.weight"]]
    return fill(lm, *tensors)(in_indices)

def run_rmsnorm(d_model, eps, weights, in_features):
    return fill(RMSNorm(d_model, eps), weights)(in_features)

def run_silu(in_features):
    return silu(in_features)

def run_softmax(in_features, dim):
    return softmax(in_features, dim)

def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer(vocab)
