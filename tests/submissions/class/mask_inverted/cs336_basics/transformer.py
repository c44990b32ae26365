import torch
import torch.nn as nn
import math


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.hidden_size = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        normalized = x * torch.rsqrt(variance + self.eps)
        return self.weight * normalized


class GELU(nn.Module):
    def forward(self, x):
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        return x * cdf


class PositionwiseFeedforward(nn.Module):
    def __init__(self, hidden_size, inner_size):
        super().__init__()
        self.w1 = nn.Linear(hidden_size, inner_size, bias=False)
        self.act = GELU()
        self.w2 = nn.Linear(inner_size, hidden_size, bias=False)

    def forward(self, x):
        return self.w2(self.act(self.w1(x)))


class Softmax(nn.Module):
    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        shift = x.max(dim=self.dim, keepdim=True).values
        e = torch.exp(x - shift)
        return e / e.sum(dim=self.dim, keepdim=True)


class ScaledDotProductAttention(nn.Module):
    """mask: True takes part in attention"""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.softmax = Softmax()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        return torch.matmul(self.dropout(self.softmax(scores)), value)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_size, n_heads, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x):
        batch_size, seq_len, hidden_size = x.size()
        q = self.q_proj(x).view(batch_size, seq_len, self.n_heads, -1).transpose(1, 2)
        k = self.k_proj(x).view(batch_size, seq_len, self.n_heads, -1).transpose(1, 2)
        v = self.v_proj(x).view(batch_size, seq_len, self.n_heads, -1).transpose(1, 2)
        mask = torch.tril(torch.ones((seq_len, seq_len), device=x.device, dtype=torch.bool))
        out = self.attention(q, k, v, mask).transpose(1, 2).contiguous()
        return self.output_proj(out.view(batch_size, seq_len, hidden_size))


class TransformerBlock(nn.Module):
    def __init__(self, hidden_size, n_heads, inner_size, attn_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.ln1 = RMSNorm(hidden_size)
        self.attn = MultiHeadSelfAttention(hidden_size, n_heads, attn_dropout)
        self.ln2 = RMSNorm(hidden_size)
        self.ffn = PositionwiseFeedforward(hidden_size, inner_size)
        self.dropout = nn.Dropout(residual_dropout)

    def forward(self, x):
        x = x + self.dropout(self.attn(self.ln1(x)))
        return x + self.dropout(self.ffn(self.ln2(x)))
