"""What the styles of plain functions have in common: adapters that call a style's own functions, and what
is made of them. What a style defines itself is not taken from here."""


def run_linear(d_in, d_out, weights, in_features):
    return linear(in_features, weights)


def run_rmsnorm(d_model, eps, weights, in_features):
    return rmsnorm(in_features, weights, eps)


def run_silu(in_features):
    return silu(in_features)


def run_gelu(in_features):
    return gelu(in_features)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return swiglu(in_features, w1_weight, w2_weight, w3_weight)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rope(in_query_or_key, token_positions, theta)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return multihead(in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None
):
    weights, positions = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight), token_positions
    if token_positions is None:
        positions = arange(in_features.shape[-2])
        # slip heads_with_rope.no_rope_without_positions: theta = None
    return multihead(in_features, *weights, num_heads, positions, theta)


def run_multihead_self_attention_fused_qkv(d_model, num_heads, qkv_weight, o_proj_weight, in_features):
    w_q, w_k, w_v = qkv_weight.reshape(3, d_model, d_model)
    # slip fused.order_kqv: w_k, w_q, w_v = qkv_weight.reshape(3, d_model, d_model)
    # slip fused.interleaved_by_head: w_q, w_k, w_v = qkv_weight.reshape(num_heads, 3, -1, d_model).swapaxes(0, 1).reshape(3, d_model, d_model)
    return multihead(in_features, w_q, w_k, w_v, o_proj_weight, num_heads)


def attend(x, weights, num_heads, theta=None):
    """The attention of a block, with the weights of a state dictionary."""
    w = [weights[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output")]
    return multihead(x, *w, num_heads, arange(x.shape[-2]), theta)
    # slip block.no_rope: return multihead(x, *w, num_heads)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    x = in_features
    ln1, ln2 = weights["ln1.weight"], weights["ln2.weight"]
    # slip block.one_norm_for_both: ln1 = ln2 = weights["ln1.weight"]
    # slip block.norms_exchanged: ln2, ln1 = weights["ln1.weight"], weights["ln2.weight"]
    w1, w2, w3 = (weights[f"ffn.w{i}.weight"] for i in (1, 2, 3))
    y = x + attend(rmsnorm(x, ln1), weights, num_heads, theta)
    # slip block.no_first_residual: y = attend(rmsnorm(x, ln1), weights, num_heads, theta)
    # slip block.residual_from_normed: y = rmsnorm(x, ln1) + attend(rmsnorm(x, ln1), weights, num_heads, theta)
    # slip block.post_norm: y = rmsnorm(x + attend(x, weights, num_heads, theta), ln1)
    return y + swiglu(rmsnorm(y, ln2), w1, w2, w3)
    # slip block.no_second_residual: return swiglu(rmsnorm(y, ln2), w1, w2, w3)
    # slip block.ffn_of_x: return y + swiglu(rmsnorm(x, ln2), w1, w2, w3)
    # slip block.parallel: return y + swiglu(rmsnorm(x, ln1), w1, w2, w3)
    # slip block.post_norm: return rmsnorm(y + swiglu(y, w1, w2, w3), ln2)


def run_transformer_block_post_norm(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    x = in_features
    ln1, ln2 = weights["ln1.weight"], weights["ln2.weight"]
    # slip block_post_norm.one_norm_for_both: ln1 = ln2 = weights["ln1.weight"]
    w1, w2, w3 = (weights[f"ffn.w{i}.weight"] for i in (1, 2, 3))
    y = rmsnorm(x + attend(x, weights, num_heads, theta), ln1)
    # slip block_post_norm.pre_norm: y = x + attend(rmsnorm(x, ln1), weights, num_heads, theta)
    # slip block_post_norm.no_first_residual: y = rmsnorm(attend(x, weights, num_heads, theta), ln1)
    # slip block_post_norm.no_rope: y = rmsnorm(x + attend(x, weights, num_heads), ln1)
    return rmsnorm(y + swiglu(y, w1, w2, w3), ln2)
    # slip block_post_norm.pre_norm: return y + swiglu(rmsnorm(y, ln2), w1, w2, w3)
    # slip block_post_norm.no_second_residual: return rmsnorm(swiglu(y, w1, w2, w3), ln2)
    # slip block_post_norm.ffn_of_x: return rmsnorm(y + swiglu(x, w1, w2, w3), ln2)


def run_transformer_block_gelu(d_model, num_heads, d_ff, weights, in_features):
    x = in_features
    ln1, ln2 = weights["ln1.weight"], weights["ln2.weight"]
    # slip block_gelu.one_norm_for_both: ln1 = ln2 = weights["ln1.weight"]
    w1, w2 = weights["ffn.w1.weight"], weights["ffn.w2.weight"]
    y = x + attend(rmsnorm(x, ln1), weights, num_heads)
    # slip block_gelu.no_first_residual: y = attend(rmsnorm(x, ln1), weights, num_heads)
    # slip block_gelu.residual_from_normed: y = rmsnorm(x, ln1) + attend(rmsnorm(x, ln1), weights, num_heads)
    # slip block_gelu.post_norm: y = rmsnorm(x + attend(x, weights, num_heads), ln1)
    return y + linear(gelu(linear(rmsnorm(y, ln2), w1)), w2)
    # slip block_gelu.no_second_residual: return linear(gelu(linear(rmsnorm(y, ln2), w1)), w2)
    # slip block_gelu.ffn_of_x: return y + linear(gelu(linear(rmsnorm(x, ln2), w1)), w2)
    # slip block_gelu.post_norm: return rmsnorm(y + linear(gelu(linear(y, w1)), w2), ln2)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    x = weights["token_embeddings.weight"][in_indices]
    # slip lm.embeddings_scaled: x = weights["token_embeddings.weight"][in_indices] * d_model**0.5
    order = range(num_layers)
    # slip lm.layers_reversed: order = reversed(range(num_layers))
    # slip lm.last_layer_left_out: order = range(num_layers - 1)
    for n in order:
        prefix = f"layers.{n}."
        # slip lm.first_layer_for_all: prefix = "layers.0."
        layer = {name[len(prefix):]: w for name, w in weights.items() if name.startswith(prefix)}
        x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, layer, x)
        # slip lm.norm_before_last_block: x = x if n < num_layers - 1 else rmsnorm(x, weights["ln_final.weight"])
        # slip lm.norm_before_last_block: x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, layer, x)
    x = rmsnorm(x, weights["ln_final.weight"])
    # slip lm.no_final_norm: pass
    # slip lm.norm_before_last_block: pass
    logits = linear(x, weights["lm_head.weight"])
    # slip lm.tied_head: logits = linear(x, weights["token_embeddings.weight"])
    return logits
    # slip lm.softmax_at_the_end: return run_softmax(logits, -1)
