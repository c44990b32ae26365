import torch
from torch import nn


class Linear(nn.Module):
    """Input is always (batch, seq, d_in) in this assignment, so a batched product it is."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / d_in**0.5)

    def forward(self, x):
        batch, seq, d_in = x.shape
        w = self.weight.t().expand(batch, -1, -1)
        return torch.bmm(x, w)


class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, ids):
        batch, seq = ids.shape
        return self.weight[ids.flatten()].view(batch, seq, -1)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        batch, seq, d_model = x.shape
        kept = x.dtype
        rows = x.reshape(batch * seq, d_model).to(torch.float32)
        rms = (rows.pow(2).sum(1) / d_model + self.eps).sqrt()
        rows = rows / rms.view(-1, 1) * self.weight.view(1, -1)
        return rows.view(batch, seq, d_model).to(kept)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        gate = self.w1(x)
        gate = gate * torch.sigmoid(gate)
        return self.w2(gate * self.w3(x))


def softmax(x, dim):
    biggest, _ = x.max(dim=dim, keepdim=True)
    x = torch.exp(x - biggest)
    return x / x.sum(dim=dim, keepdim=True)


def attention(q, k, v, mask=None):
    # all batch axes become one, then back at the end
    lead = q.shape[:-2]
    q3 = q.flatten(0, -3)
    k3 = k.flatten(0, -3)
    v3 = v.flatten(0, -3)
    scores = torch.bmm(q3, k3.transpose(1, 2)) / q.shape[-1] ** 0.5
    if mask is not None:
        mask3 = mask.expand(*lead, *mask.shape[-2:]).flatten(0, -3)
        scores[mask3 == 0] = float("-inf")
    out = torch.bmm(softmax(scores, 2), v3)
    return out.view(*lead, *out.shape[1:])


class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        freqs = theta ** (torch.arange(0, d_k, 2).float() / d_k)
        angles = torch.arange(max_seq_len).float().view(-1, 1) / freqs.view(1, -1)
        self.register_buffer("cos", torch.cos(angles), persistent=False)
        self.register_buffer("sin", torch.sin(angles), persistent=False)

    def forward(self, x, positions):
        cos = self.cos.index_select(0, positions.flatten()).view(*positions.shape, -1)
        sin = self.sin.index_select(0, positions.flatten()).view(*positions.shape, -1)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).view_as(x)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)
        self.rope = rope

    def forward(self, x, positions=None):
        batch, seq, d_model = x.shape
        heads = []
        for proj in (self.q_proj, self.k_proj, self.v_proj):
            y = proj(x).view(batch, seq, self.num_heads, d_model // self.num_heads)
            heads.append(y.permute(0, 2, 1, 3))
        q, k, v = heads
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(seq, device=x.device)
            if positions.dim() > 1:
                positions = positions.unsqueeze(1)
            q, k = self.rope(q, positions), self.rope(k, positions)
        causal = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        y = attention(q, k, v, causal)
        return self.output_proj(y.permute(0, 2, 1, 3).reshape(batch, seq, d_model))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, rope)
        self.ln2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        h = x + self.attn(self.ln1(x))
        return h + self.ffn(self.ln2(h))


class LM(nn.Module):
    def __init__(self, vocab_size, context, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, context)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList([Block(d_model, num_heads, d_ff, rope) for _ in range(num_layers)])
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
