import torch
from torch import nn
from tqdm import tqdm


class Linear(nn.Linear):
    """nn.Linear without a bias and with our start values"""

    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out, bias=False)
        nn.init.trunc_normal_(self.weight, std=(2 / (d_in + d_out)) ** 0.5)


class Embedding(nn.Embedding):
    pass


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        ms = torch.mean(x**2, -1, True)
        return (self.weight * x / torch.sqrt(ms + self.eps)).to(in_dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


def softmax(x, dim):
    return nn.functional.softmax(x, dim=dim)


def scaled_dot_product_attention(q, k, v, mask=None):
    attn = torch.matmul(q, k.transpose(-1, -2)) / (q.size(-1) ** 0.5)
    if mask is not None:
        attn = attn.masked_fill(~mask, float("-inf"))
    return torch.matmul(softmax(attn, -1), v)


class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        inv = theta ** (-torch.arange(0, d_k, 2).float() / d_k)
        ang = torch.arange(max_seq_len).float()[:, None] @ inv[None, :]
        self.register_buffer("cos", ang.cos(), persistent=False)
        self.register_buffer("sin", ang.sin(), persistent=False)

    def forward(self, x, pos):
        cos, sin = self.cos[pos], self.sin[pos]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class MHA(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)
        self.rope = rope

    def forward(self, x, pos=None):
        seq = x.size(-2)
        q, k, v = (
            p(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.rope is not None:
            pos = torch.arange(seq) if pos is None else pos
            q, k = self.rope(q, pos.unsqueeze(-2)), self.rope(k, pos.unsqueeze(-2))
        mask = torch.tril(torch.ones(seq, seq)).bool()
        out = scaled_dot_product_attention(q, k, v)
        return self.output_proj(out.transpose(-2, -3).flatten(-2))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope):
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.attn = MHA(d_model, num_heads, rope)
        self.ln2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, context)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(Block(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))

    @torch.no_grad()
    def generate(self, ids, count):
        for _ in tqdm(range(count)):
            p = softmax(self(ids)[..., -1, :], -1)
            ids = torch.cat([ids, torch.multinomial(p, 1)], -1)
        return ids
