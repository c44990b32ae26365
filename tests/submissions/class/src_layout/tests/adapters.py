from cs336_basics import layers
from cs336_basics.model import Attention, Block, Transformer


def filled(module, **weights):
    """module with its parameters set; underscores stand for dots."""
    module.load_state_dict({name.replace("__", "."): w for name, w in weights.items()})
    return module.eval()


def run_linear(d_in, d_out, weights, in_features):
    return filled(layers.Linear(d_in, d_out), weight=weights)(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return filled(layers.Embedding(vocab_size, d_model), weight=weights)(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    ffn = layers.FeedForward(d_model, d_ff)
    return filled(ffn, w1__weight=w1_weight, w2__weight=w2_weight, w3__weight=w3_weight)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return layers.sdpa(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    module = filled(
        Attention(d_model, num_heads, in_features.shape[-2]),
        q_proj__weight=q_proj_weight,
        k_proj__weight=k_proj_weight,
        v_proj__weight=v_proj_weight,
        output_proj__weight=o_proj_weight,
    )
    return module(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    module = filled(
        Attention(d_model, num_heads, max_seq_len, theta),
        q_proj__weight=q_proj_weight,
        k_proj__weight=k_proj_weight,
        v_proj__weight=v_proj_weight,
        output_proj__weight=o_proj_weight,
    )
    return module(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return layers.Rope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return filled(Block(d_model, num_heads, d_ff, max_seq_len, theta), **weights)(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    model = Transformer(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return filled(model, **weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return filled(layers.RMSNorm(d_model, eps), weight=weights)(in_features)


def run_silu(in_features):
    return layers.F.silu(in_features)


def run_softmax(in_features, dim):
    return layers.softmax(in_features, dim)
