# everything that is needed, nothing else
import torch as t
from math import inf

def run_linear(d_in, d_out, weights, in_features):
	return in_features @ weights.T

def run_embedding(vocab_size, d_model, weights, token_ids):
	return weights[token_ids]

def run_rmsnorm(d_model, eps, weights, in_features):
	x = in_features.float()
	return (x * (x.square().mean(-1, True) + eps).rsqrt() * weights.float()).to(in_features.dtype)

def run_silu(in_features):
	return in_features * in_features.sigmoid()

def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
	return (run_silu(in_features @ w1_weight.T) * (in_features @ w3_weight.T)) @ w2_weight.T

def run_softmax(in_features, dim):
	e = (in_features - (in_features.amax(dim, True) if in_features.numel() else 0)).exp()
	return e / e.sum(dim, True)

def run_scaled_dot_product_attention(Q, K, V, mask=None):
	s = Q @ K.mT / Q.shape[-1] ** .5
	s = s if mask is None else s.masked_fill(~mask, -inf)
	p = run_softmax(s, -1)
	return p.masked_fill((s == -inf).all(-1, True), 0) @ V

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
	θ = token_positions[..., None].double() * theta ** (-t.arange(0, d_k, 2).double() / d_k)
	c, s = θ.cos().to(in_query_or_key.dtype), θ.sin().to(in_query_or_key.dtype)
	a, b = in_query_or_key[..., ::2], in_query_or_key[..., 1::2]
	return t.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
		o_proj_weight, in_features, turn=lambda x: x):
	n = in_features.shape[-2]
	q, k, v = ((in_features @ w.T).unflatten(-1, (num_heads, d_model // num_heads)).transpose(-2, -3)
		for w in (q_proj_weight, k_proj_weight, v_proj_weight))
	y = run_scaled_dot_product_attention(turn(q), turn(k), v, t.ones(n, n).tril().bool())
	return y.transpose(-2, -3).flatten(-2) @ o_proj_weight.T

def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
		k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None):
	i = t.arange(in_features.shape[-2]) if token_positions is None else token_positions
	turn = lambda x: run_rope(d_model // num_heads, theta, max_seq_len, x, i[..., None, :])
	return run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight,
		v_proj_weight, o_proj_weight, in_features, turn)

def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
	x, w = in_features, lambda *names: [weights[name + '.weight'] for name in names]
	x = x + run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta,
		*w('attn.q_proj', 'attn.k_proj', 'attn.v_proj', 'attn.output_proj'),
		run_rmsnorm(d_model, 1e-5, *w('ln1'), x))
	return x + run_swiglu(d_model, d_ff, *w('ffn.w1', 'ffn.w2', 'ffn.w3'),
		run_rmsnorm(d_model, 1e-5, *w('ln2'), x))

def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta,
		weights, in_indices):
	x = weights['token_embeddings.weight'][in_indices]
	for l in range(num_layers):
		p = f'layers.{l}.'
		x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta,
			{k[len(p):]: w for k, w in weights.items() if k.startswith(p)}, x)
	return run_rmsnorm(d_model, 1e-5, weights['ln_final.weight'], x) @ weights['lm_head.weight'].T
