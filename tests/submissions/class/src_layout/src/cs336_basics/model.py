import torch
import torch.nn as nn

from .layers import Embedding, FeedForward, Linear, RMSNorm, Rope, sdpa


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len, theta=None):
        super().__init__()
        self.h, self.d_k = num_heads, d_model // num_heads
        self.q_proj, self.k_proj = Linear(d_model, d_model), Linear(d_model, d_model)
        self.v_proj, self.output_proj = Linear(d_model, d_model), Linear(d_model, d_model)
        self.rope = Rope(theta, self.d_k, max_seq_len) if theta else None
        # the whole triangle, cut to size in forward
        tril = torch.ones(max_seq_len, max_seq_len, dtype=torch.bool).tril()
        self.register_buffer("causal", tril, persistent=False)

    def forward(self, x, positions=None):
        n = x.shape[-2]
        q = self.q_proj(x).unflatten(-1, (self.h, self.d_k)).transpose(-3, -2)
        k = self.k_proj(x).unflatten(-1, (self.h, self.d_k)).transpose(-3, -2)
        v = self.v_proj(x).unflatten(-1, (self.h, self.d_k)).transpose(-3, -2)
        if self.rope is not None:
            positions = torch.arange(n) if positions is None else positions
            q = self.rope(q, positions[..., None, :])
            k = self.rope(k, positions[..., None, :])
        y = sdpa(q, k, v, self.causal[:n, :n])
        return self.output_proj(y.transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, max_seq_len, theta):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = Attention(d_model, num_heads, max_seq_len, theta)
        self.ffn = FeedForward(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, vocab, context, d_model, layers, heads, d_ff, theta):
        super().__init__()
        self.token_embeddings = Embedding(vocab, d_model)
        self.layers = nn.Sequential(
            *(Block(d_model, heads, d_ff, context, theta) for _ in range(layers))
        )
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab)

    def forward(self, ids):
        return self.lm_head(self.ln_final(self.layers(self.token_embeddings(ids))))
