import torch
from torch import nn

from .nn_utils import Embedding, Linear, RMSNorm, SwiGLU, scaled_dot_product_attention
from .rope import RotaryPositionalEmbedding


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.d_k = d_model // num_heads
        self.W_q, self.W_k = Linear(d_model, d_model), Linear(d_model, d_model)
        self.W_v, self.W_o = Linear(d_model, d_model), Linear(d_model, d_model)
        self.rope = rope

    def _split(self, x):
        return x.reshape(*x.shape[:-1], self.num_heads, self.d_k).transpose(-3, -2)

    def forward(self, x, token_positions=None):
        seq_len = x.shape[-2]
        Q, K, V = self._split(self.W_q(x)), self._split(self.W_k(x)), self._split(self.W_v(x))
        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq_len, device=x.device)
            token_positions = token_positions.unsqueeze(-2)
            Q = self.rope(Q, token_positions)
            K = self.rope(K, token_positions)
        mask = ~torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool, device=x.device), 1)
        out = scaled_dot_product_attention(Q, K, V, mask).transpose(-3, -2)
        return self.W_o(out.reshape(*out.shape[:-2], self.d_model))

    def set_weights(self, q, k, v, o):
        with torch.no_grad():
            self.W_q.W.copy_(q)
            self.W_k.W.copy_(k)
            self.W_v.W.copy_(v)
            self.W_o.W.copy_(o)


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.norm1 = RMSNorm(d_model)
        self.attention = MultiHeadSelfAttention(d_model, num_heads, rope)
        self.norm2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        y = x + self.attention(self.norm1(x))
        return y + self.ffn(self.norm2(y))

    @torch.no_grad()
    def set_weights(self, weights, prefix=""):
        get = lambda name: weights[f"{prefix}{name}.weight"]  # noqa: E731
        self.norm1.gain.copy_(get("ln1"))
        self.norm2.gain.copy_(get("ln2"))
        self.attention.set_weights(
            get("attn.q_proj"), get("attn.k_proj"), get("attn.v_proj"), get("attn.output_proj")
        )
        self.ffn.linear1.W.copy_(get("ffn.w1"))
        self.ffn.linear2.W.copy_(get("ffn.w2"))
        self.ffn.linear3.W.copy_(get("ffn.w3"))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RotaryPositionalEmbedding(theta, d_model // num_heads, context_length)
        self.embedding = Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            [TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers)]
        )
        self.norm = RMSNorm(d_model)
        self.output = Linear(d_model, vocab_size)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))
