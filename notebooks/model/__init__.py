"""The language model that train.py has trained: its weights and what was measured."""

import json
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
# transformer_lm's names of what belongs to each layer, and PyTorch's.
LAYER = {"ln1": "ln1", "w_q": "attn.q_proj", "w_k": "attn.k_proj", "w_v": "attn.v_proj",
         "w_o": "attn.output_proj", "ln2": "ln2", "w1": "ffn.w1", "w2": "ffn.w2", "w3": "ffn.w3"}


def record():
    """training.json: sizes, the training curve, losses and ablations, in nats per byte."""
    return json.loads((HERE / "training.json").read_text())


def state_dict():
    """tiny.h5: {PyTorch's name: float32 array}."""
    with h5py.File(HERE / "tiny.h5") as file:
        return {name: dataset[()] for name, dataset in file.items()}


def arguments(dtype=np.float32):
    """All arguments of transformer_lm but token_ids; what belongs to the layers is stacked."""
    state, sizes = state_dict(), record()["model"]
    stacked = {name: np.stack([state[f"layers.{i}.{part}.weight"] for i in range(sizes["num_layers"])])
               for name, part in LAYER.items()}
    whole = {name: state[f"{name}.weight"] for name in ("token_embeddings", "ln_final", "lm_head")}
    return {**{name: value.astype(dtype) for name, value in (stacked | whole).items()},
            "num_heads": sizes["num_heads"], "theta": sizes["theta"], "eps": sizes["eps"],
            "max_seq_len": sizes["context_length"]}


def ids(text):
    """The token ids of a text, its bytes; int64[seq]."""
    return np.frombuffer(text.encode(), np.uint8).astype(np.int64)


def forward(solution, token_ids, given, cache=None):
    """The model from a solution's parts, which shows what happens inside and can go on from a cache.

    token_ids  int64[seq], those that follow the ones in the cache
    given      arguments()
    cache      {(layer, "k" or "v"): [heads, all earlier, d_k]}, which gets those of token_ids too; None: there
               are no earlier ones
    -> (logits[seq, vocab_size], weights[layers, heads, seq, all]): of each token, what is attended to
    """
    cache = {} if cache is None else cache
    earlier = cache[0, "k"].shape[1] if cache else 0
    at = np.arange(earlier, earlier + len(token_ids))
    mask = at[:, None] >= np.arange(at[-1] + 1)
    x = solution.embedding(token_ids, given["token_embeddings"])
    weights = []
    for i in range(len(given["ln1"])):
        a = solution.rmsnorm(x, given["ln1"][i], eps=given["eps"])
        q, k, v = (np.stack(np.split(solution.linear(a, given[name][i]), given["num_heads"], axis=1))
                   for name in ("w_q", "w_k", "w_v"))
        q, k = (solution.rope(part, at, theta=given["theta"], max_seq_len=given["max_seq_len"])
                for part in (q, k))
        for name, part in (("k", k), ("v", v)):
            cache[i, name] = np.concatenate([cache[i, name], part], axis=1) if earlier else part
        unit = np.broadcast_to(np.eye(len(mask[0]), dtype=x.dtype), (len(q), *2 * mask.shape[1:]))
        y, seen = (solution.scaled_dot_product_attention(q, cache[i, "k"], values, mask=mask)
                   for values in (cache[i, "v"], np.ascontiguousarray(unit)))
        weights.append(seen)
        x = x + solution.linear(np.concatenate(y, axis=1), given["w_o"][i])
        b = solution.rmsnorm(x, given["ln2"][i], eps=given["eps"])
        x = x + solution.ffn_swiglu(b, given["w1"][i], given["w2"][i], given["w3"][i])
    final = solution.rmsnorm(x, given["ln_final"], eps=given["eps"])
    return solution.linear(final, given["lm_head"]), np.array(weights)


def write(solution, text, count, temperature=0.0, seed=0):
    """A text and up to `count` bytes more, each the likeliest, or drawn at a temperature."""
    given, random, cache = arguments(), np.random.default_rng(seed), {}
    logits, _ = forward(solution, ids(text), given, cache)
    for _ in range(min(count, given["max_seq_len"] - len(ids(text)))):
        if temperature:
            p = solution.softmax(logits[-1] / np.float32(temperature), dim=-1).astype(float)
            chosen = int(random.choice(256, p=p / p.sum()))
        else:
            chosen = int(logits[-1].argmax())
        text += chr(chosen)
        logits, _ = forward(solution, np.array([chosen]), given, cache)
    return text


def heads(solution, songs=20):
    """What each head does on nonsense that is sung twice: the mean weight of a vowel of the first singing on the
    byte before it, and of a consonant of the second on what came after it in the first.
    {"previous", "copying": [layers, heads]}"""
    random, found = np.random.default_rng(0), {"previous": [], "copying": []}
    for _ in range(songs):
        song = " ".join(random.choice(list("bdfgklmnprstvz")) + random.choice(list("aeiou")) for _ in range(5))
        start = "\nKuso has a red lamp. Kuso sings: "
        _, weights = forward(solution, ids(f"{start}{song}, {song}!"), arguments())
        first = len(start) + np.arange(0, len(song), 3)  # its consonants
        second = first + len(song) + 2
        found["previous"].append(weights[:, :, first + 1, first].mean(-1))
        found["copying"].append(weights[:, :, second, first + 1].mean(-1))
    return {name: np.mean(each, axis=0) for name, each in found.items()}
