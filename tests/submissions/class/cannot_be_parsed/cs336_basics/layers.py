import torch


def linear(x, w):
    return x @ w.T


def rmsnorm(x, w, eps):
    y = x.float()
    return (y / (y.pow(2).mean(-1, keepdim=True) + eps).sqrt() * w).to(x.dtype)


def swiglu(x, w1, w2, w3):
    a = linear(x, w1)
    return linear(a * torch.sigmoid(a) * linear(x, w3), w2)


def softmax(x, dim):
    e = torch.exp(x - x.max(dim, keepdim=True).values)
    return e / e.sum(dim, keepdim=True)
