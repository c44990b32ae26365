"""Trains the language model of the course with PyTorch, and the same without one of its parts.

    python notebooks/model/train.py              writes tiny.h5, logits.h5 and training.json
    python notebooks/model/train.py --ablations  adds the ablations to training.json

The first takes a quarter of an hour with one thread, the second two to five minutes for each part. The model is
that of `reference/transformer_lm.hpp`, a byte per token; it reads windows of the text of `text.py`. The trained
weights are rounded to float16 and stored as float32, which compresses well and needs no reader of its own; the
recorded losses are of the rounded ones.
"""

import argparse
import json
import math
import pathlib
import re
import time

import h5py
import numpy as np
import torch
from text import prompts, stories
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).parent
D_MODEL, D_FF, LAYERS, HEADS, CONTEXT, THETA, EPS = 64, 192, 3, 4, 160, 10000.0, 1e-5
BATCH, RATE, WARM_UP, DECAY = 16, 3e-3, 100, 0.01
# Parts of which one is left out or changed.
ABLATIONS = ["no_norm", "no_rope", "post_norm", "no_residual", "no_attention", "one_layer", "no_ffn", "no_gate",
             "no_scale", "one_head"]


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.weight


def linear(d_in, d_out):
    layer = nn.Linear(d_in, d_out, bias=False)
    sigma = math.sqrt(2 / (d_in + d_out))
    nn.init.trunc_normal_(layer.weight, std=sigma, a=-3 * sigma, b=3 * sigma)
    return layer


def rotated(x):
    """RoPE of x[..., seq, d_k]: neighbours (x_2k, x_2k+1) are turned by position / theta^(2k / d_k)."""
    seq, d_k = x.shape[-2:]
    pair = torch.arange(0, d_k, 2, dtype=torch.float64)
    angle = torch.arange(seq)[:, None] / THETA ** (pair / d_k)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, without):
        super().__init__()
        self.without, self.heads = without, 1 if without == "one_head" else HEADS
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = (linear(D_MODEL, D_MODEL) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
                   for part in (self.q_proj, self.k_proj, self.v_proj))
        if self.without != "no_rope":
            q, k = rotated(q), rotated(k)
        scale = 1.0 if self.without == "no_scale" else None
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        return self.output_proj(y.transpose(-3, -2).flatten(-2))


class SwiGLU(nn.Module):
    def __init__(self, without):
        super().__init__()
        self.w1, self.w2 = linear(D_MODEL, D_FF), linear(D_FF, D_MODEL)
        self.w3 = None if without == "no_gate" else linear(D_MODEL, D_FF)

    def forward(self, x):
        hidden = functional.silu(self.w1(x))
        return self.w2(hidden if self.w3 is None else hidden * self.w3(x))


class Block(nn.Module):
    def __init__(self, without):
        super().__init__()
        self.without = without
        norm = nn.Identity if without == "no_norm" else RMSNorm
        self.ln1, self.attn, self.ln2, self.ffn = norm(), Attention(without), norm(), SwiGLU(without)

    def forward(self, x):
        for norm, part, name in ((self.ln1, self.attn, "no_attention"), (self.ln2, self.ffn, "no_ffn")):
            if self.without == "post_norm":
                x = norm(x + part(x))
            elif self.without == "no_residual":
                x = part(norm(x))
            elif self.without != name:
                x = x + part(norm(x))
        return x


class TransformerLM(nn.Module):
    """token_ids[..., seq] -> logits[..., seq, 256]; the parameters have the reference's names."""

    def __init__(self, without=None):
        super().__init__()
        self.token_embeddings = nn.Embedding(256, D_MODEL)
        nn.init.trunc_normal_(self.token_embeddings.weight, std=1, a=-3, b=3)
        layers = 1 if without == "one_layer" else LAYERS
        self.layers = nn.Sequential(*(Block(without) for _ in range(layers)))
        self.ln_final = nn.Identity() if without == "no_norm" else RMSNorm()
        self.lm_head = linear(D_MODEL, 256)

    def forward(self, token_ids):
        return self.lm_head(self.ln_final(self.layers(self.token_embeddings(token_ids))))


def windows(text, count, seed):
    """Windows of CONTEXT + 1 bytes: every other one begins with a story, at the end of the line before."""
    ids = torch.tensor(list(b"\n" + text))
    line_ends = (ids[:-CONTEXT - 1] == ord("\n")).nonzero().flatten()
    random = torch.Generator().manual_seed(seed)
    at = torch.randint(len(ids) - CONTEXT, (count,), generator=random)
    at[::2] = line_ends[torch.randint(len(line_ends), (len(at[::2]),), generator=random)]
    return ids[at[:, None] + torch.arange(CONTEXT + 1)]


def loss_of(model, batch):
    """The mean cross-entropy of a byte given those before it in its window, in nats."""
    return functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


@torch.no_grad()
def held_out_loss(model, batches):
    return float(np.mean([loss_of(model, batch) for batch in batches.split(BATCH)]))


@torch.no_grad()
def loss_on_stories(model, text):
    """The same, of stories that each begin the context; what is longer than that is left out."""
    stories_ids = [torch.tensor([list(b"\n" + line + b"\n")[:CONTEXT + 1]]) for line in text.splitlines()]
    sums = [float(loss_of(model, ids)) * (ids.shape[1] - 1) for ids in stories_ids]
    return sum(sums) / sum(ids.shape[1] - 1 for ids in stories_ids)


@torch.no_grad()
def share_of_right_answers(model, text):
    """Of the questions in the first window of each story: every byte of the answer is the likeliest."""
    right = []
    for story in text.decode().splitlines():
        story = f"\n{story}"[:CONTEXT]
        best = model(torch.tensor([list(story.encode())]))[0].argmax(-1)
        for answer in re.finditer(r"\? (\w+)", story):
            first, last = answer.span(1)
            right.append(bytes(best[first - 1:last - 1].tolist()) == answer[1].encode())
    return float(np.mean(right))


def train(without, steps, tell_every=100):
    """A trained model, and what it had learned after how many steps."""
    torch.manual_seed(0)
    model = TransformerLM(without)
    text, _ = stories(0, steps * BATCH * CONTEXT)
    held_out = windows(stories(1, 100_000)[0], 128, 1)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    gains = [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY},
                                   {"params": gains, "weight_decay": 0.0}], lr=RATE, betas=(0.9, 0.98))
    # Up in a line, then down in half a cosine to a fiftieth.
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, 0.51 + 0.49 * math.cos(math.pi * step / steps)))
    curve, recent, start = [], [], time.monotonic()
    for step, batch in enumerate(windows(text, steps * BATCH, 0).split(BATCH), 1):
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        recent.append(loss.item())
        if step % tell_every == 0 or step == steps:
            curve.append({"step": step, "training": round(float(np.mean(recent)), 4),
                          "held_out": round(held_out_loss(model, held_out), 4)})
            print(without or "model", curve[-1], f"{time.monotonic() - start:.0f} s", flush=True)
            recent = []
    return model, curve


def counted_losses():
    """The held-out loss of a unigram and of a bigram model, their counts plus 1, from 4 MB of text."""
    read, held_out = (np.frombuffer(stories(*each)[0], np.uint8) for each in ((0, 4_000_000), (1, 100_000)))
    pairs = np.ones((256, 256))
    np.add.at(pairs, (read[:-1], read[1:]), 1)
    unigram, bigram = np.log(pairs.sum(0) / pairs.sum()), np.log(pairs / pairs.sum(1, keepdims=True))
    return {"unigram": -float(unigram[held_out[1:]].mean()),
            "bigram": -float(bigram[held_out[:-1], held_out[1:]].mean())}


def save(model):
    """tiny.h5: the state dict, rounded to float16, as float32 in compressed datasets."""
    with torch.no_grad(), h5py.File(HERE / "tiny.h5", "w") as file:
        for name, value in model.state_dict().items():
            value.copy_(value.half().float())
            file.create_dataset(name, data=value.numpy(), compression="gzip", compression_opts=9, shuffle=True)


def save_logits(model):
    """logits.h5: what PyTorch computes in float64 for the prompts of text.py, after their last byte."""
    with torch.no_grad(), h5py.File(HERE / "logits.h5", "w") as file:
        texts = prompts()
        logits = [model.double()(torch.tensor([list(text.encode())]))[0, -1].numpy() for text in texts]
        file["prompts"], file["logits"] = texts, np.array(logits, np.float32)
        model.float()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ablations", action="store_true")
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    record_path = HERE / "training.json"
    if arguments.ablations:
        record = json.loads(record_path.read_text())
        steps = arguments.steps or 800
        record["ablations"] = {"steps": steps}
        for without in [None, *ABLATIONS]:
            record["ablations"][without or "nothing"] = train(without, steps)[1][-1]["held_out"]
            record_path.write_text(json.dumps(record, indent=1) + "\n")
        return
    steps = arguments.steps or 7000
    model, curve = train(None, steps)
    save(model)
    save_logits(model)
    text, choices = stories(1, 100_000)
    losses = {"uniform": math.log(256), **counted_losses(),
              "model": loss_on_stories(model, text), "choices of the program": choices}
    record_path.write_text(json.dumps({
        "model": {"d_model": D_MODEL, "d_ff": D_FF, "num_layers": LAYERS, "num_heads": HEADS,
                  "context_length": CONTEXT, "theta": THETA, "eps": EPS,
                  "parameters": sum(p.numel() for p in model.parameters())},
        "text": "stories(0, ...) of text.py, held-out stories(1, 100000)", "bytes_read": steps * BATCH * CONTEXT,
        "right_answers": round(share_of_right_answers(model, text), 4),
        "losses": {name: round(loss, 4) for name, loss in losses.items()}, "curve": curve}, indent=1) + "\n")


if __name__ == "__main__":
    main()
