from cs336_basics.model import *


def copy_block(block, weights, start=""):
    block.attention.Q.W.data = weights[start + "attn.q_proj.weight"]
    block.attention.K.W.data = weights[start + "attn.k_proj.weight"]
    block.attention.V.W.data = weights[start + "attn.v_proj.weight"]
    block.attention.O.W.data = weights[start + "attn.output_proj.weight"]
    block.norm1.g.data = weights[start + "ln1.weight"]
    block.norm2.g.data = weights[start + "ln2.weight"]
    block.ffn.W1.W.data = weights[start + "ffn.w1.weight"]
    block.ffn.W2.W.data = weights[start + "ffn.w2.weight"]
    block.ffn.W3.W.data = weights[start + "ffn.w3.weight"]


def run_linear(d_in, d_out, weights, in_features):
    linear = Linear(d_in, d_out)
    linear.W.data = weights
    return linear(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    embedding = Embedding(vocab_size, d_model)
    embedding.W.data = weights
    return embedding(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    swiglu = SwiGLU(d_model, d_ff)
    swiglu.W1.W.data, swiglu.W2.W.data, swiglu.W3.W.data = w1_weight, w2_weight, w3_weight
    return swiglu(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    mha = MultiheadSelfAttention(d_model, num_heads)
    mha.Q.W.data, mha.K.W.data = q_proj_weight, k_proj_weight
    mha.V.W.data, mha.O.W.data = v_proj_weight, o_proj_weight
    return mha(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    mha = MultiheadSelfAttention(d_model, num_heads, RoPE(theta, d_model // num_heads, max_seq_len))
    mha.Q.W.data, mha.K.W.data = q_proj_weight, k_proj_weight
    mha.V.W.data, mha.O.W.data = v_proj_weight, o_proj_weight
    return mha(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = RoPE(theta, d_model // num_heads, max_seq_len)
    block = TransformerBlock(d_model, num_heads, d_ff, rope)
    copy_block(block, weights)
    return block(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = TransformerLM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    lm.embedding.W.data = weights["token_embeddings.weight"]
    lm.norm.g.data = weights["ln_final.weight"]
    lm.linear.W.data = weights["lm_head.weight"]
    for i in range(num_layers):
        copy_block(lm.blocks[i], weights, f"layers.{i}.")
    return lm(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    norm = RMSNorm(d_model, eps)
    norm.g.data = weights
    return norm(in_features)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)
