import math

import torch
import torch.nn as nn

# B = batch, T = time, C = channels (d_model), H = heads, D = C // H


class MyLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        # TODO initialise as the handout says (truncated normal) before training
        self.W = nn.Parameter(torch.randn(d_out, d_in) * 0.02)

    def forward(self, x):
        return x @ self.W.T


class MyEmbedding(nn.Module):
    def __init__(self, n_vocab, d_model):
        super().__init__()
        self.E = nn.Parameter(torch.randn(n_vocab, d_model))

    def forward(self, idx):
        return self.E[idx]


class MyRMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        t = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt((x ** 2).mean(-1, keepdim=True) + self.eps)
        x = x / rms * self.g
        return x.to(t)


def my_softmax(x, dim):
    x = x - x.max(dim=dim, keepdim=True)[0]
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def attend(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1)
    s = s / math.sqrt(k.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == False, float('-inf'))  # noqa: E712
    return my_softmax(s, -1) @ v


class MyRope(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        pos = torch.arange(max_seq_len).unsqueeze(1)                     # T, 1
        k = torch.arange(d_k // 2).unsqueeze(0)                          # 1, D/2
        ang = pos / torch.pow(torch.tensor(float(theta)), 2 * k / d_k)   # T, D/2
        self.register_buffer('cos', torch.cos(ang), persistent=False)
        self.register_buffer('sin', torch.sin(ang), persistent=False)

    def forward(self, x, pos):
        c = self.cos[pos]
        s = self.sin[pos]
        x0 = x[..., ::2]
        x1 = x[..., 1::2]
        y = torch.zeros_like(x)
        y[..., ::2] = x0 * c - x1 * s
        y[..., 1::2] = x0 * s + x1 * c
        return y


class MyFFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.l1 = MyLinear(d_model, d_ff)
        self.l2 = MyLinear(d_ff, d_model)
        self.l3 = MyLinear(d_model, d_ff)

    def forward(self, x):
        a = self.l1(x)
        return self.l2(a * torch.sigmoid(a) * self.l3(x))


class MyAttention(nn.Module):
    def __init__(self, d_model, n_head, rope=None):
        super().__init__()
        assert d_model % n_head == 0
        self.n_head = n_head
        self.q = MyLinear(d_model, d_model)
        self.k = MyLinear(d_model, d_model)
        self.v = MyLinear(d_model, d_model)
        self.o = MyLinear(d_model, d_model)
        self.rope = rope

    def forward(self, x, pos=None):
        B, T, C = x.shape
        H = self.n_head
        D = C // H
        q = self.q(x).view(B, T, H, D).transpose(1, 2)  # B, H, T, D
        k = self.k(x).view(B, T, H, D).transpose(1, 2)
        v = self.v(x).view(B, T, H, D).transpose(1, 2)
        if self.rope is not None:
            if pos is None:
                pos = torch.arange(T, device=x.device)
            if pos.dim() == 2:
                pos = pos.unsqueeze(1)  # B, 1, T
            q = self.rope(q, pos)
            k = self.rope(k, pos)
        mask = torch.tril(torch.ones(T, T, device=x.device)).bool()
        y = attend(q, k, v, mask)  # B, H, T, D
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.o(y)


class MyBlock(nn.Module):
    def __init__(self, d_model, n_head, d_ff, rope):
        super().__init__()
        self.n1 = MyRMSNorm(d_model)
        self.att = MyAttention(d_model, n_head, rope)
        self.n2 = MyRMSNorm(d_model)
        self.ff = MyFFN(d_model, d_ff)

    def forward(self, x):
        x = x + self.att(self.n1(x))
        x = x + self.ff(self.n2(x))
        return x

    def fill(self, w, prefix=''):
        """copy the course's weights; our names are shorter"""
        names = {
            'n1.g': 'ln1', 'n2.g': 'ln2',
            'att.q.W': 'attn.q_proj', 'att.k.W': 'attn.k_proj', 'att.v.W': 'attn.v_proj',
            'att.o.W': 'attn.output_proj',
            'ff.l1.W': 'ffn.w1', 'ff.l2.W': 'ffn.w2', 'ff.l3.W': 'ffn.w3',
        }
        own = dict(self.named_parameters())
        for ours, theirs in names.items():
            own[ours].data.copy_(w[prefix + theirs + '.weight'])


class MyTransformer(nn.Module):
    def __init__(self, n_vocab, T_max, d_model, n_layer, n_head, d_ff, theta):
        super().__init__()
        rope = MyRope(theta, d_model // n_head, T_max)  # shared by all blocks
        self.emb = MyEmbedding(n_vocab, d_model)
        self.blocks = nn.ModuleList([MyBlock(d_model, n_head, d_ff, rope) for _ in range(n_layer)])
        self.norm = MyRMSNorm(d_model)
        self.head = MyLinear(d_model, n_vocab)

    def forward(self, idx):
        B, T = idx.shape
        x = self.emb(idx)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))
