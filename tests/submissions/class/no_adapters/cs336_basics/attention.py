import torch


def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v


def rope(x, positions, theta=10000.0):
    d = x.shape[-1]
    angle = positions[..., None] / theta ** (torch.arange(0, d, 2) / d)
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2))
    return torch.view_as_real(z * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def multihead(x, wq, wk, wv, wo, heads):
    n = x.shape[-2]
    q, k, v = ((x @ w.T).unflatten(-1, (heads, -1)).transpose(-2, -3) for w in (wq, wk, wv))
    y = attention(q, k, v, torch.ones(n, n).tril().bool())
    return y.transpose(-2, -3).flatten(-2) @ wo.T
