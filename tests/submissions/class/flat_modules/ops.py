import torch


def matvec(w, x):
    """w: (out, in), x: (..., in)"""
    return torch.nn.functional.linear(x, w)


def swish(x):
    return x.sigmoid() * x


def softmax(x, dim):
    # exp(x - max) / sum, but in float64 for the sum
    y = (x - x.amax(dim, keepdim=True)).exp()
    total = y.sum(dim, keepdim=True, dtype=torch.float64)
    return (y / total).to(x.dtype)
