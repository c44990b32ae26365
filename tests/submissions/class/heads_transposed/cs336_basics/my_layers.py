import torch
from torch import nn


class MyLinear(nn.Module):
    # y = x W^T
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n_out, n_in) - 0.5)

    def forward(self, x):
        return torch.inner(x, self.weight)


class MyEmbedding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n, d) - 0.5)

    def forward(self, ids):
        return torch.embedding(self.weight, ids)


class MyRMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        y = x.to(torch.float32)
        ms = y.square().mean(dim=-1, keepdim=True)
        y = y / (ms + self.eps).sqrt() * self.weight
        return y.to(x.dtype)


class MySwiGLU(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.w1 = MyLinear(d, f)
        self.w2 = MyLinear(f, d)
        self.w3 = MyLinear(d, f)

    def forward(self, x):
        return self.w2(my_silu(self.w1(x)) * self.w3(x))


def my_silu(x):
    return x * torch.sigmoid(x)


def my_softmax(x, dim):
    e = torch.exp(x - torch.amax(x, dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def my_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.matmul(my_softmax(scores, -1), v)


class MyRope(nn.Module):
    def __init__(self, theta, d, n):
        super().__init__()
        # one row of angles for each position, one column for each pair
        angles = []
        for k in range(d // 2):
            angles.append(torch.arange(n) / theta ** (2 * k / d))
        angles = torch.stack(angles, dim=1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, positions):
        cos = self.cos[positions]
        sin = self.sin[positions]
        a = x[..., 0::2]
        b = x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


class MyAttention(nn.Module):
    def __init__(self, d, heads, rope=None):
        super().__init__()
        self.heads = heads
        self.q_proj = MyLinear(d, d)
        self.k_proj = MyLinear(d, d)
        self.v_proj = MyLinear(d, d)
        self.output_proj = MyLinear(d, d)
        self.rope = rope

    def forward(self, x, positions=None):
        batch, seq, d = x.shape
        # batch, heads, seq, d_k
        q = self.q_proj(x).reshape(batch, self.heads, seq, d // self.heads)
        k = self.k_proj(x).reshape(batch, self.heads, seq, d // self.heads)
        v = self.v_proj(x).reshape(batch, self.heads, seq, d // self.heads)
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(seq)
            q = self.rope(q, positions.reshape(-1, 1, seq))
            k = self.rope(k, positions.reshape(-1, 1, seq))
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool))
        y = my_attention(q, k, v, mask)
        return self.output_proj(y.reshape(batch, seq, d))


class MyBlock(nn.Module):
    def __init__(self, d, heads, f, rope):
        super().__init__()
        self.ln1 = MyRMSNorm(d)
        self.attn = MyAttention(d, heads, rope)
        self.ln2 = MyRMSNorm(d)
        self.ffn = MySwiGLU(d, f)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.ffn(self.ln2(x))
        return x


class MyLM(nn.Module):
    def __init__(self, vocab, n, d, layers, heads, f, theta):
        super().__init__()
        rope = MyRope(theta, d // heads, n)
        self.token_embeddings = MyEmbedding(vocab, d)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(MyBlock(d, heads, f, rope))
        self.ln_final = MyRMSNorm(d)
        self.lm_head = MyLinear(d, vocab)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        x = self.ln_final(x)
        return self.lm_head(x)
