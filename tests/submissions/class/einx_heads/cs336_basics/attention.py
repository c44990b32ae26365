import einx
import torch
from torch import nn

from cs336_basics.layers import Embedding, Linear, RMSNorm, SwiGLU
from cs336_basics.layers import dot_product_attention, rotate_pairs


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, theta=None):
        super().__init__()
        self.n_heads, self.theta = n_heads, theta
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)

    def heads(self, x):
        return einx.rearrange("... s (h d) -> ... h s d", x, h=self.n_heads)

    def forward(self, x, positions=None):
        s = x.shape[-2]
        q, k, v = self.heads(self.q_proj(x)), self.heads(self.k_proj(x)), self.heads(self.v_proj(x))
        if self.theta is not None:
            positions = torch.arange(s) if positions is None else positions
            positions = positions.unsqueeze(-2)
            q = rotate_pairs(q, positions, self.theta)
            k = rotate_pairs(k, positions, self.theta)
        mask = torch.ones(s, s, dtype=torch.bool).tril_()
        y = dot_product_attention(q, k, v, mask)
        return self.output_proj(einx.rearrange("... h s d -> ... s (h d)", y))


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, theta):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = CausalSelfAttention(d_model, n_heads, theta)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = self.attn(self.ln1(x)) + x
        return self.ffn(self.ln2(x)) + x


class LM(nn.Module):
    def __init__(self, vocab, d_model, n_layers, n_heads, d_ff, theta):
        super().__init__()
        self.token_embeddings = Embedding(vocab, d_model)
        self.layers = nn.ModuleList([Block(d_model, n_heads, d_ff, theta) for _ in range(n_layers)])
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
