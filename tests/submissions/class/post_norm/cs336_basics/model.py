import torch
import torch.nn as nn
from einops import rearrange, einsum


# ============================================================
#  Linear
# ============================================================
class Linear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        std = (2 / (in_features + out_features)) ** 0.5
        self.W = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.trunc_normal_(self.W, std=std, a=-3 * std, b=3 * std)

    def forward(self, x):
        return einsum(x, self.W, "... d_in, d_out d_in -> ... d_out")


# ============================================================
#  Embedding
# ============================================================
class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.W = nn.Parameter(torch.empty(num_embeddings, embedding_dim))
        nn.init.trunc_normal_(self.W, std=1, a=-3, b=3)

    def forward(self, token_ids):
        return self.W[token_ids]


# ============================================================
#  RMSNorm
# ============================================================
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d_model))
        self.eps = eps
        self.d_model = d_model

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(1 / self.d_model * torch.sum(x**2, dim=-1, keepdim=True) + self.eps)
        return (x / rms * self.g).to(in_dtype)


# ============================================================
#  SwiGLU
# ============================================================
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W1 = Linear(d_model, d_ff)
        self.W2 = Linear(d_ff, d_model)
        self.W3 = Linear(d_model, d_ff)

    def forward(self, x):
        W1x = self.W1(x)
        SiLU = W1x * torch.sigmoid(W1x)
        return self.W2(SiLU * self.W3(x))


# ============================================================
#  RoPE
# ============================================================
class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        freqs = 1 / theta ** (torch.arange(0, d_k, 2) / d_k)
        angles = einsum(torch.arange(max_seq_len), freqs, "i, k -> i k")
        self.register_buffer("cos", torch.cos(angles), persistent=False)
        self.register_buffer("sin", torch.sin(angles), persistent=False)

    def forward(self, x, token_positions):
        cos = self.cos[token_positions]
        sin = self.sin[token_positions]
        x = rearrange(x, "... (k two) -> ... k two", two=2)
        out0 = x[..., 0] * cos - x[..., 1] * sin
        out1 = x[..., 0] * sin + x[..., 1] * cos
        return rearrange([out0, out1], "two ... k -> ... (k two)")


# ============================================================
#  Softmax and attention
# ============================================================
def softmax(x, dim):
    max_val = torch.max(x, dim=dim, keepdim=True)[0]
    exp = torch.exp(x - max_val)
    return exp / torch.sum(exp, dim=dim, keepdim=True)


def scaled_dot_product_attention(Q, K, V, mask=None):
    QK = einsum(Q, K, "... q d, ... k d -> ... q k") / Q.shape[-1] ** 0.5
    if mask is not None:
        QK = QK.masked_fill(mask == 0, -torch.inf)
    return einsum(softmax(QK, -1), V, "... q k, ... k d -> ... q d")


# ============================================================
#  Multi-head self-attention
# ============================================================
class MultiheadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.Q = Linear(d_model, d_model)
        self.K = Linear(d_model, d_model)
        self.V = Linear(d_model, d_model)
        self.O = Linear(d_model, d_model)
        self.num_heads = num_heads
        self.rope = rope

    def forward(self, x, token_positions=None):
        Q = rearrange(self.Q(x), "b s (h d) -> b h s d", h=self.num_heads)
        K = rearrange(self.K(x), "b s (h d) -> b h s d", h=self.num_heads)
        V = rearrange(self.V(x), "b s (h d) -> b h s d", h=self.num_heads)
        s = x.shape[1]
        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(s)
            if token_positions.ndim == 2:
                token_positions = rearrange(token_positions, "b s -> b 1 s")
            Q = self.rope(Q, token_positions)
            K = self.rope(K, token_positions)
        mask = torch.tril(torch.ones(s, s))
        out = scaled_dot_product_attention(Q, K, V, mask)
        return self.O(rearrange(out, "b h s d -> b s (h d)"))


# ============================================================
#  Block: attention, add & norm, feed-forward, add & norm
# ============================================================
class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.attention = MultiheadSelfAttention(d_model, num_heads, rope)
        self.norm1 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)
        self.norm2 = RMSNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        x = self.norm2(x + self.ffn(x))
        return x


# ============================================================
#  The model
# ============================================================
class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, context_length)
        self.embedding = Embedding(vocab_size, d_model)
        blocks = [TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = RMSNorm(d_model)
        self.linear = Linear(d_model, vocab_size)

    def forward(self, token_ids):
        return self.linear(self.norm(self.blocks(self.embedding(token_ids))))
