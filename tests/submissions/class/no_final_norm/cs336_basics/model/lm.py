from torch import nn

from .attention import MultiHead, Rope
from .layers import Embedding, Gate, Linear, Norm


class Block(nn.Module):
    def __init__(self, d, h, f, rope):
        super().__init__()
        self.ln1, self.ln2 = Norm(d), Norm(d)
        self.attn, self.ffn = MultiHead(d, h, rope), Gate(d, f)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class LM(nn.Module):
    def __init__(self, v, n, d, layers, h, f, theta):
        super().__init__()
        rope = Rope(theta, d // h, n)
        self.token_embeddings = Embedding(v, d)
        self.layers = nn.Sequential(*[Block(d, h, f, rope) for _ in range(layers)])
        self.ln_final = Norm(d)
        self.lm_head = Linear(d, v)

    def forward(self, i):
        x = self.token_embeddings(i)
        x = self.layers(x)
        return self.lm_head(x)
