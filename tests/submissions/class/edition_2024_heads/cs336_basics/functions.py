import math

import torch


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def softmax(x, dim):
    x = (x - x.max(dim, keepdim=True)[0]).exp()
    return x / x.sum(dim, keepdim=True)


def scaled_dot_product_attention(K, Q, V, mask=None, pdrop=None):
    """mask is True where we must NOT look"""
    scores = Q @ K.transpose(-1, -2) / math.sqrt(K.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    p = softmax(scores, dim=-1)
    if pdrop:
        p = torch.nn.functional.dropout(p, pdrop)
    return p @ V
