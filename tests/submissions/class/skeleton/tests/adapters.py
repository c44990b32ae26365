from __future__ import annotations


def run_linear(d_in, d_out, weights, in_features):
    raise NotImplementedError


def run_embedding(vocab_size, d_model, weights, token_ids):
    raise NotImplementedError


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    raise NotImplementedError


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    raise NotImplementedError


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features,
):
    raise NotImplementedError


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    raise NotImplementedError


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    raise NotImplementedError


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    raise NotImplementedError


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights,
    in_indices,
):
    raise NotImplementedError


def run_rmsnorm(d_model, eps, weights, in_features):
    raise NotImplementedError


def run_silu(in_features):
    raise NotImplementedError


def run_get_batch(dataset, batch_size, context_length, device):
    raise NotImplementedError


def run_softmax(in_features, dim):
    raise NotImplementedError


def run_cross_entropy(inputs, targets):
    raise NotImplementedError


def run_gradient_clipping(parameters, max_l2_norm):
    raise NotImplementedError


def get_adamw_cls():
    raise NotImplementedError


def run_save_checkpoint(model, optimizer, iteration, out):
    raise NotImplementedError


def get_tokenizer(vocab, merges, special_tokens=None):
    raise NotImplementedError


def run_train_bpe(input_path, vocab_size, special_tokens, **kwargs):
    raise NotImplementedError
