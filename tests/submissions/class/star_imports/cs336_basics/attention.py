import math
import torch
from torch import nn
from cs336_basics.linear import *
from cs336_basics.rope import *

def softmax(x, dim):
    x = x - torch.max(x, dim=dim, keepdim=True)[0]
    return torch.exp(x) / torch.sum(torch.exp(x), dim=dim, keepdim=True)

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q.matmul(k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
    if mask is not None:
        scores[~mask.expand_as(scores)] = float("-inf")
    return softmax(scores, -1).matmul(v)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super(MultiHeadAttention, self).__init__()
        self.num_heads = num_heads
        self.wq = Linear(d_model, d_model)
        self.wk = Linear(d_model, d_model)
        self.wv = Linear(d_model, d_model)
        self.wo = Linear(d_model, d_model)
        self.rope = rope

    def forward(self, x, token_positions=None):
        b, n, d = x.shape
        split = lambda t: t.reshape(b, n, self.num_heads, -1).permute(0, 2, 1, 3)
        q, k, v = split(self.wq(x)), split(self.wk(x)), split(self.wv(x))
        if self.rope:
            if token_positions is None:
                token_positions = torch.arange(n).expand(b, n)
            q = self.rope(q, token_positions.expand(b, n)[:, None])
            k = self.rope(k, token_positions.expand(b, n)[:, None])
        mask = torch.tril(torch.ones(n, n)).bool()
        out = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(out.permute(0, 2, 1, 3).reshape(b, n, d))
