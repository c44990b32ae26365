from torch import nn
from cs336_basics.attention import *
from cs336_basics.embedding import *
from cs336_basics.rmsnorm import *
from cs336_basics.swiglu import *

class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super(TransformerBlock, self).__init__()
        self.norm_a = RMSNorm(d_model)
        self.mha = MultiHeadAttention(d_model, num_heads, rope)
        self.norm_b = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = x + self.mha(self.norm_a(x))
        x = x + self.ffn(self.norm_b(x))
        return x

class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super(TransformerLM, self).__init__()
        self.rope = RoPE(theta, d_model // num_heads, context_length)
        self.emb = Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            [TransformerBlock(d_model, num_heads, d_ff, self.rope) for i in range(num_layers)])
        self.norm = RMSNorm(d_model)
        self.head = Linear(d_model, vocab_size)

    def forward(self, ids):
        h = self.emb(ids)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))
