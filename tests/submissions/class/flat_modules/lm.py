import torch

from attn import Heads, Rope
from norm import Norm
from ops import matvec, swish


class Gated(torch.nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(2, f, d) / d**0.5)
        self.down = torch.nn.Parameter(torch.randn(d, f) / f**0.5)

    def set(self, w1, w2, w3):
        self.up.data, self.down.data = torch.stack([w1, w3]), w2
        return self

    def forward(self, x):
        return matvec(self.down, swish(matvec(self.up[0], x)) * matvec(self.up[1], x))


class Layer(torch.nn.Module):
    def __init__(self, d, h, f, n, theta):
        super().__init__()
        self.norms = torch.nn.ModuleList([Norm(d), Norm(d)])
        self.heads = Heads(d, h, Rope(theta, d // h, n))
        self.gated = Gated(d, f)

    def set(self, w, at=""):
        self.norms[0].scale.data = w[at + "ln1.weight"]
        self.norms[1].scale.data = w[at + "ln2.weight"]
        names = ("q_proj", "k_proj", "v_proj", "output_proj")
        self.heads.set(*(w[f"{at}attn.{name}.weight"] for name in names))
        self.gated.set(*(w[f"{at}ffn.w{n}.weight"] for n in (1, 2, 3)))
        return self

    def forward(self, x):
        x = x + self.heads(self.norms[0](x))
        return x + self.gated(self.norms[1](x))


class Model(torch.nn.Module):
    def __init__(self, v, n, d, layers, h, f, theta):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(v, d))
        self.layers = torch.nn.Sequential(*[Layer(d, h, f, n, theta) for _ in range(layers)])
        self.norm = Norm(d)
        self.head = torch.nn.Parameter(torch.randn(v, d))

    def set(self, w):
        self.table.data = w["token_embeddings.weight"]
        self.norm.scale.data = w["ln_final.weight"]
        self.head.data = w["lm_head.weight"]
        for n, layer in enumerate(self.layers):
            layer.set(w, f"layers.{n}.")
        return self

    def forward(self, ids):
        return matvec(self.head, self.norm(self.layers(self.table[ids])))
