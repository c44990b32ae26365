"""Parameters are created in one place (class Weights) and all computation is in functions of the
same names as in the handout. I wanted to see the formulas."""
from __future__ import annotations

import torch
from torch import Tensor, logsumexp, nn


def Linear(W: Tensor, x: Tensor) -> Tensor:
    # y = W x
    return (W @ x[..., None])[..., 0] if x.ndim == 1 else x @ W.transpose(0, 1)


def RMSNorm(g: Tensor, a: Tensor, eps: float) -> Tensor:
    # a_i / RMS(a) * g_i, computed in float32
    a = a.to(torch.float32)
    RMS = torch.sqrt((a * a).mean(-1, keepdim=True) + eps)
    return a / RMS * g.to(torch.float32)


def SiLU(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def FFN(W1: Tensor, W2: Tensor, W3: Tensor, x: Tensor) -> Tensor:
    # W2 (SiLU(W1 x) * W3 x)
    return Linear(W2, SiLU(Linear(W1, x)) * Linear(W3, x))


def softmax(v: Tensor, i: int) -> Tensor:
    # exp(v_i) / sum exp(v_j) = exp(v_i - log sum exp(v_j))
    return torch.exp(v - logsumexp(v, i, keepdim=True))


def Attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    # softmax(Q^T K / sqrt(d_k)) V
    d_k = Q.shape[-1]
    QK = Q @ K.transpose(-1, -2) / d_k**0.5
    if mask is not None:
        QK = QK.masked_fill(~mask, -torch.inf)
    return softmax(QK, -1) @ V


def RoPE(Theta: float, x: Tensor, i: Tensor) -> Tensor:
    # theta_{i,k} = i / Theta^{(2k-2)/d}, k = 1 .. d/2
    d = x.shape[-1]
    k = torch.arange(1, d // 2 + 1)
    theta = i[..., None] / Theta ** ((2 * k - 2) / d)
    R = torch.stack(
        [
            torch.stack([torch.cos(theta), -torch.sin(theta)], -1),
            torch.stack([torch.sin(theta), torch.cos(theta)], -1),
        ],
        -2,
    )
    pairs = x.unflatten(-1, (d // 2, 2))
    return torch.einsum("...kab,...kb->...ka", R.to(x.dtype), pairs).flatten(-2)


def MultiHeadSelfAttention(WQ, WK, WV, WO, h: int, x, Theta: float | None = None, i=None) -> Tensor:
    # head_i = Attention(Q_i, K_i, V_i), then W_O (head_1 | ... | head_h)
    n = x.shape[-2]
    mask = torch.tril(torch.ones(n, n, dtype=torch.bool))
    i = torch.arange(n) if i is None else i
    heads = []
    for Q, K, V in zip(*(Linear(W, x).chunk(h, dim=-1) for W in (WQ, WK, WV))):
        if Theta is not None:
            Q, K = RoPE(Theta, Q, i), RoPE(Theta, K, i)
        heads.append(Attention(Q, K, V, mask))
    return Linear(WO, torch.cat(heads, dim=-1))


class Weights(nn.Module):
    """A tree of parameters made from names such as "layers.0.ln1.weight"."""

    def __init__(self, tensors: dict[str, Tensor]):
        super().__init__()
        for name, tensor in tensors.items():
            self.register_parameter(name.replace(".", "/"), nn.Parameter(tensor, requires_grad=False))

    def __getitem__(self, name: str) -> Tensor:
        return getattr(self, name.replace(".", "/"))


def TransformerBlock(w: Weights, at: str, h: int, Theta: float, x: Tensor, eps=1e-5) -> Tensor:
    W = [w[f"{at}attn.{p}_proj.weight"] for p in ("q", "k", "v", "output")]
    y = x + MultiHeadSelfAttention(*W, h, RMSNorm(w[at + "ln1.weight"], x, eps), Theta)
    W = [w[f"{at}ffn.w{n}.weight"] for n in (1, 2, 3)]
    return y + FFN(*W, RMSNorm(w[at + "ln2.weight"], y, eps))


def TransformerLM(w: Weights, layers: int, h: int, Theta: float, ids: Tensor, eps=1e-5) -> Tensor:
    x = w["token_embeddings.weight"][ids]
    for n in range(layers):
        x = TransformerBlock(w, f"layers.{n}.", h, Theta, x, eps)
    return Linear(w["lm_head.weight"], RMSNorm(w["ln_final.weight"], x, eps))
