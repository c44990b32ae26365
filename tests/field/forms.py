#!/usr/bin/env python3
"""Forms that people run and call right, through every case of fixture files: PyTorch's own functions and
modules, NumPy as a textbook writes it, the algorithms of published kernels. None may fail.

    tests/field/forms.py fixtures                    all forms, all cases
    tests/field/forms.py DIR --problem gelu --form 'F.*' --compile

Runs under any Python with torch, NumPy and h5py. Prints JSON: per form, problem and dtype the number of
cases, those that fail, and the largest error over what is allowed. Exit codes: 0 none fails, 1 one does.
"""

import argparse
import fnmatch
import functools
import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, NamedTuple

import h5py
import numpy as np
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "fixtures"))

import h5  # noqa: E402
import signature  # noqa: E402

ALL = ("float64", "float32", "float16", "bfloat16")
WIDE = ("float64", "float32")
NARROW = ("float16", "bfloat16")
CURRENT = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4)  # not Debian's 1.13


class Form(NamedTuple):
    name: str
    problem: str
    dtypes: tuple
    call: Callable
    passes_not: dict = {}  # {glob of cases: why}: what it has no digits for, or does not take


FORMS = []


def form(name, problems, dtypes=ALL, passes_not=None, when=True):
    """Adds the function as a form of each problem; with several it also gets the problem's name."""

    def enter(function):
        for problem in problems.split():
            call = functools.partial(function, problem) if " " in problems else function
            if when:
                FORMS.append(Form(name, problem, dtypes, call, passes_not or {}))
        return function

    return enter


def wide(x):
    """In the compute type: 16-bit types as float32."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def rounded(x, like):
    """To the element type of a tensor, and back to the compute type."""
    return wide(x.to(like.dtype))


# element by element ------------------------------------------------------------------------------

# Faults of PyTorch's path by oneDNN, each in a case that is named for what it does not take.
GELU_FAULTS = {"special_values_*": "gelu(+inf) is NaN", "subnormals_bfloat16": "subnormals become 0"}

# PyTorch 1.13 has no functions of float16 on a CPU, and its silu keeps 1 + exp(-x) in bfloat16: a result in
# between, which the contract says is never rounded.
FUNCTIONS = ALL if CURRENT else (*WIDE, "bfloat16")

form("F.relu", "relu", FUNCTIONS)(lambda x: F.relu(x))
form("F.silu", "silu", ALL if CURRENT else WIDE)(lambda x: F.silu(x))
form("F.gelu", "gelu", FUNCTIONS, passes_not=GELU_FAULTS)(lambda x: F.gelu(x))
form("x * sigmoid(x)", "silu")(lambda x: (wide(x) * torch.sigmoid(wide(x))).to(x.dtype))
form("x / (1 + exp(-x))", "silu")(lambda x: (wide(x) / (1 + torch.exp(-wide(x)))).to(x.dtype))
form("x / (1 + exp2(-x log2 e))", "silu")(
    lambda x: (wide(x) / (1 + torch.exp2(-wide(x) * math.log2(math.e)))).to(x.dtype))
form("maximum with 0", "relu")(lambda x: torch.maximum(x, torch.zeros_like(x)))


def gelu_by(erf):
    return lambda x: (0.5 * wide(x) * (1 + erf(wide(x) * math.sqrt(0.5)))).to(x.dtype)


def polynomial_erf(x):
    """Abramowitz & Stegun 1964, 7.1.26: an absolute error of 1.5e-7."""
    a = x.abs()
    t = 1 / (1 + 0.3275911 * a)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return torch.copysign(1 - series * torch.exp(-a * a), x)


form("x (1 + erf(x / sqrt 2)) / 2", "gelu")(gelu_by(torch.erf))
form("erf by a polynomial", "gelu", ("float32", *NARROW))(gelu_by(polynomial_erf))
form("x erfc(-x / sqrt 2) / 2", "gelu")(
    lambda x: (0.5 * wide(x) * torch.erfc(-wide(x) * math.sqrt(0.5))).to(x.dtype))
form("x Phi(x), torch.special.ndtr", "gelu")(lambda x: (wide(x) * torch.special.ndtr(wide(x))).to(x.dtype))


@form("NumPy", "silu softmax rmsnorm linear embedding", WIDE)
def by_numpy(problem, x=None, weight=None, eps=None, dim=None, token_ids=None):
    """As a textbook writes it."""
    x, weight, token_ids = (None if t is None else t.numpy() for t in (x, weight, token_ids))
    with np.errstate(all="ignore"):
        if problem == "silu":
            y = x / (x.dtype.type(1) + np.exp(-x))
        elif problem == "softmax":
            e = np.exp(x - x.max(axis=dim, keepdims=True, initial=-np.inf))
            y = e / e.sum(axis=dim, keepdims=True)
        elif problem == "rmsnorm":
            mean = (x**2).sum(-1, keepdims=True) / x.dtype.type(x.shape[-1])
            y = x / np.sqrt(mean + x.dtype.type(eps)) * weight
        elif problem == "linear":
            y = x @ weight.T
        else:
            y = weight[token_ids]
    return torch.from_numpy(np.asarray(y))


# products ----------------------------------------------------------------------------------------

form("F.linear", "linear", FUNCTIONS)(lambda x, weight: F.linear(x, weight))
form("einsum", "linear", FUNCTIONS)(lambda x, weight: torch.einsum("...i,oi->...o", x, weight))
form("F.embedding", "embedding")(lambda token_ids, weight: F.embedding(token_ids, weight))


def product(x, weight):
    """x weightᵀ in the compute type, rounded once."""
    return (wide(x) @ wide(weight).transpose(-1, -2)).to(x.dtype)


@form("sums in blocks of 32", "linear")
def linear_in_blocks(x, weight):
    y = 0
    for first in range(0, x.shape[-1], 32):
        y = y + wide(x[..., first:first + 32]) @ wide(weight[:, first:first + 32]).T
    return y.to(x.dtype)


ACTIVATIONS = {"ffn_relu": F.relu, "ffn_silu": F.silu, "ffn_gelu": F.gelu, "ffn_swiglu": F.silu}


def network(problem, x, w1, w2, w3, linear):
    if problem == "glu":
        return torch.sigmoid(linear(x, w1)) * linear(x, w2)
    hidden = linear(x, w1)
    if linear is F.linear:
        hidden = ACTIVATIONS[problem](hidden)
    else:
        hidden = ACTIVATIONS[problem](wide(hidden)).to(hidden.dtype)
    return linear(hidden if w3 is None else hidden * linear(x, w3), w2)


@form("F.linear, F.silu, F.gelu", "glu ffn_relu ffn_silu ffn_gelu ffn_swiglu", FUNCTIONS)
def network_in_t(problem, x, w1, w2, w3=None):
    """Each result is rounded to T."""
    return network(problem, x, w1, w2, w3, F.linear)


@form("fused, rounded once", "glu ffn_relu ffn_silu ffn_gelu ffn_swiglu", NARROW)
def network_fused(problem, x, w1, w2, w3=None):
    w = [None if each is None else wide(each) for each in (w1, w2, w3)]
    return network(problem, wide(x), *w, lambda a, b: a @ b.T).to(x.dtype)


# norms -------------------------------------------------------------------------------------------

form("F.rms_norm", "rmsnorm", when=CURRENT)(
    lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps))


def norm(x, weight, eps, how="rsqrt"):
    a = wide(x)
    mean = a.pow(2).mean(-1, keepdim=True) + eps
    y = {"rsqrt": lambda: a * torch.rsqrt(mean), "division": lambda: a / torch.sqrt(mean),
         "reciprocal": lambda: a * (1 / torch.sqrt(mean)),
         "power": lambda: a * mean.pow(-0.5)}[how]()
    return (y * wide(weight)).to(x.dtype)


for how in ("rsqrt", "division", "reciprocal", "power"):
    form("by " + how, "rmsnorm")(functools.partial(norm, how=how))

# softmax -----------------------------------------------------------------------------------------

form("F.softmax", "softmax", FUNCTIONS)(lambda x, dim: F.softmax(x, dim))
form("F.softmax of float32", "softmax", NARROW)(lambda x, dim: F.softmax(wide(x), dim).to(x.dtype))


@form("exp2 with log2 e folded in", "softmax")
def softmax_by_exp2(x, dim):
    a = wide(x)
    if x.numel() == 0:
        return x
    e = torch.exp2((a - a.amax(dim, keepdim=True)) * math.log2(math.e))
    return (e / e.sum(dim, keepdim=True)).to(x.dtype)


def softmax_online(block, x, dim):
    """Maximum and sum in one pass over blocks."""
    a = wide(x)
    if x.numel() == 0:
        return x
    shape = [1 if axis == dim % a.ndim else size for axis, size in enumerate(a.shape)]
    largest, total = a.new_full(shape, -math.inf), a.new_zeros(shape)
    for part in a.split(block, dim):
        grown = torch.maximum(largest, part.amax(dim, keepdim=True))
        at = torch.where(grown == -math.inf, torch.zeros_like(grown), grown)
        total = total * torch.exp(largest - at) + torch.exp(part - at).sum(dim, keepdim=True)
        largest = grown
    return (torch.exp(a - largest) / total).to(x.dtype)


for block in (32, 64, 128):
    form(f"online, blocks of {block}", "softmax")(functools.partial(softmax_online, block))

# RoPE --------------------------------------------------------------------------------------------

ANGLES = {
    "division by a power": lambda pos, theta, e: pos / theta**e,
    "1 / theta^e": lambda pos, theta, e: pos * (1 / theta**e),
    "exp": lambda pos, theta, e: pos * torch.exp(-math.log(theta) * e),
    "exp2": lambda pos, theta, e: pos * torch.exp2(-math.log2(theta) * e),
}


def angles_of(positions, theta, d_k, how):
    e = torch.arange(0, d_k, 2, dtype=torch.float64) / d_k
    return ANGLES[how](positions.double()[..., None], theta, e)


def rotate(x, token_positions, theta, how="1 / theta^e"):
    """Angles in float64, cosines and products in the compute type."""
    a, angle = wide(x), angles_of(token_positions, theta, x.shape[-1], how)
    cos, sin = angle.cos().to(a.dtype), angle.sin().to(a.dtype)
    even, odd = a[..., ::2], a[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


for how in ANGLES:
    form(f"angles by {how}", "rope")(
        lambda x, token_positions, theta, max_seq_len, how=how: rotate(x, token_positions, theta, how))


@form("complex numbers", "rope")
def rope_complex(x, token_positions, theta, max_seq_len):
    angle = angles_of(token_positions, theta, x.shape[-1], "1 / theta^e")
    a = wide(x)
    turn = torch.polar(torch.ones_like(angle), angle).to(torch.complex128 if a.dtype == torch.float64
                                                         else torch.complex64)
    pairs = torch.view_as_complex(a.unflatten(-1, (a.shape[-1] // 2, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)


# attention ---------------------------------------------------------------------------------------

LOG2_E = math.log2(math.e)


def of_factors(q, k, where):
    """Scores of q and k, and what their exponential is taken by: the scale stands in one place."""
    d = q.shape[-1]
    if where == "q":
        q = q * d**-0.5
    elif where == "k":
        k = k * d**-0.5
    elif where == "both":
        q, k = q * d**-0.25, k * d**-0.25
    s = q @ k.transpose(-1, -2)
    if where == "product":
        s = s * d**-0.5
    elif where == "division":
        s = s / math.sqrt(d)
    elif where == "exp2":
        return s * (d**-0.5 * LOG2_E), torch.exp2
    return s, torch.exp


def attend(q, k, v, mask=None, scale="product", block=None, divided="last", split=1):
    """softmax(q kᵀ / sqrt(d_k)) v as kernels compute it, in the compute type.

    scale    where the scale stands: on q, on k, both, product, division, exp2
    block    keys at a time, with a running maximum; None: all
    divided  by the sum: "last", or "first", before probabilities are rounded to T
    split    parts of the keys that are computed apart and combined
    """
    like, (q, k, v) = q, map(wide, (q, k, v))
    if q.numel() == 0 or k.numel() == 0:
        return (q @ k.transpose(-1, -2) @ v).to(like.dtype)
    s, exp = of_factors(q, k, scale)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    m = s.shape[-1]
    parts = []
    for start in range(0, m, -(-m // split)):
        stop = min(m, start - (-m // split))
        largest, total, y = -math.inf, 0, 0
        for first in range(start, stop, block or m):
            last = min(stop, first + (block or m))
            part = s[..., first:last]
            grown = torch.maximum(part.amax(-1, keepdim=True), torch.as_tensor(largest, dtype=s.dtype))
            at = torch.where(grown == -math.inf, torch.zeros_like(grown), grown)
            p, keep = exp(part - at), exp(largest - at)
            total = total * keep + p.sum(-1, keepdim=True)
            if divided == "first":
                p = p / torch.where(total == 0, torch.ones_like(total), total)
            y = y * keep + rounded(p, like) @ v[..., first:last, :]
            largest = grown
        parts.append((largest, total, y))
    largest = torch.stack([part[0] for part in parts]).amax(0)
    at = torch.where(largest == -math.inf, torch.zeros_like(largest), largest)
    total = sum(total * exp(own - at) for own, total, _ in parts)
    y = sum(y * exp(own - at) for own, _, y in parts)
    if divided == "last":
        y = y / torch.where(total == 0, torch.ones_like(total), total)
    return y.to(like.dtype)


KERNELS = {f"scale on {where}": {"scale": where} for where in ("q", "k", "both")}
KERNELS |= {"scale by division": {"scale": "division"}, "scale in exp2": {"scale": "exp2"},
            "divided before v": {"divided": "first"}, "keys split in 3": {"split": 3}}
KERNELS |= {f"online, blocks of {block}": {"block": block, "scale": "exp2"} for block in (32, 64, 128)}
KERNELS |= {"online, split, scale on q": {"block": 64, "split": 2, "scale": "q"}}

for name, options in KERNELS.items():
    form(name, "scaled_dot_product_attention")(functools.partial(attend, **options))


def with_batch_of_all(*tensors):
    """Tensors with the batch axes of all: F.scaled_dot_product_attention broadcasts none but the mask's."""
    batch = torch.broadcast_shapes(*(t.shape[:-2] for t in tensors if t is not None))
    return [None if t is None else t.expand(*batch, *t.shape[-2:]) for t in tensors]


@form("F.scaled_dot_product_attention", "scaled_dot_product_attention", when=CURRENT)
def torch_attention(q, k, v, mask=None):
    q, k, v, mask = with_batch_of_all(q, k, v, mask)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@form("F.softmax", "scaled_dot_product_attention", WIDE)
def eager_attention(q, k, v, mask=None):
    s = q @ k.transpose(-1, -2) / q.shape[-1]**0.5
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    return F.softmax(s, -1).masked_fill(torch.isneginf(s).all(-1, keepdim=True), 0) @ v


@form("NumPy", "scaled_dot_product_attention", WIDE)
def numpy_attention(q, k, v, mask=None):
    with np.errstate(all="ignore"):
        s = q.numpy() @ np.swapaxes(k.numpy(), -1, -2) / np.sqrt(q.numpy().dtype.type(q.shape[-1]))
        if mask is not None:
            s = np.where(mask.numpy(), s, -np.inf)
        none = np.isneginf(s).all(-1, keepdims=True)
        p = np.exp(s - np.where(none, 0, s.max(-1, keepdims=True)))
        return torch.from_numpy(np.where(none, 0, p / p.sum(-1, keepdims=True)) @ v.numpy())


# multi-head attention, blocks, the model ---------------------------------------------------------


class Layers(NamedTuple):
    """How the parts of a block are computed. Each result is rounded to T."""
    linear: Callable
    attention: Callable  # (q, k, v), causal
    norm: Callable
    how: str             # of RoPE's angles


def causal(attention):
    def call(q, k, v):
        n = q.shape[-2]
        return attention(q, k, v, torch.ones(n, n, dtype=torch.bool).tril())
    return call


TORCH = Layers(F.linear, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
               lambda x, w, eps: F.rms_norm(x, x.shape[-1:], w, eps), "1 / theta^e") if CURRENT else None
KERNEL = Layers(product, causal(functools.partial(attend, scale="exp2", block=64)), norm, "exp")
BOTH = Layers(product, causal(functools.partial(attend, scale="both", divided="first")),
              functools.partial(norm, how="division"), "exp2")
COMPOSED = (("F.linear, F.scaled_dot_product_attention, F.rms_norm", TORCH),
            ("as a kernel: online softmax, exp", KERNEL), ("scale on both, divided before v", BOTH))


def heads(layers, x, w, num_heads, rope=None):
    """Multi-head self-attention; `rope`: (positions, theta)."""
    def split(t):
        return t.unflatten(-1, (num_heads, -1)).transpose(-2, -3)

    q, k, v = (split(layers.linear(x, each)) for each in w[:3])
    if rope is not None:
        positions = rope[0][..., None, :] if rope[0].ndim > 1 else rope[0]
        q, k = (rotate(each, positions, rope[1], layers.how) for each in (q, k))
        q, k, v = with_batch_of_all(q, k, v)
    y = layers.attention(q, k, v)
    return layers.linear(y.transpose(-2, -3).flatten(-2), w[3])


def feed_forward(layers, x, weights):
    gelu = len(weights) == 2
    return network("ffn_gelu" if gelu else "ffn_swiglu", x, *weights, *[None] * gelu, layers.linear)


def block(layers, x, a, post_norm=False):
    """A block; `a` has its arguments by name."""
    rope = (torch.arange(x.shape[-2]), a.theta) if hasattr(a, "theta") else None
    w = (a.w_q, a.w_k, a.w_v, a.w_o)
    ffn = (a.w1, a.w2, a.w3) if hasattr(a, "w3") else (a.w1, a.w2)
    if post_norm:
        y = layers.norm(x + heads(layers, x, w, a.num_heads, rope), a.ln1, a.eps)
        return layers.norm(y + feed_forward(layers, y, ffn), a.ln2, a.eps)
    y = x + heads(layers, layers.norm(x, a.ln1, a.eps), w, a.num_heads, rope)
    return y + feed_forward(layers, layers.norm(y, a.ln2, a.eps), ffn)


def composed(layers, problem, **arguments):
    a = SimpleNamespace(**arguments)
    if problem == "multihead_self_attention":
        return heads(layers, a.x, (a.w_q, a.w_k, a.w_v, a.w_o), a.num_heads)
    if problem == "multihead_self_attention_fused_qkv":
        return heads(layers, a.x, (*a.w_qkv.chunk(3), a.w_o), a.num_heads)
    if problem == "multihead_self_attention_with_rope":
        positions = arguments.get("token_positions")
        positions = torch.arange(a.x.shape[-2]) if positions is None else positions
        return heads(layers, a.x, (a.w_q, a.w_k, a.w_v, a.w_o), a.num_heads, (positions, a.theta))
    if problem != "transformer_lm":
        return block(layers, a.x, a, post_norm=problem == "transformer_block_post_norm")
    x = F.embedding(a.token_ids, a.token_embeddings)
    for i in range(a.ln1.shape[0]):
        of_layer = {name: value[i] for name, value in arguments.items()
                    if name in ("ln1", "w_q", "w_k", "w_v", "w_o", "ln2", "w1", "w2", "w3")}
        x = block(layers, x, SimpleNamespace(**{**arguments, **of_layer}))
    return layers.linear(layers.norm(x, a.ln_final, a.eps), a.lm_head)


for name, layers in COMPOSED:
    form(name, "multihead_self_attention multihead_self_attention_with_rope "
         "multihead_self_attention_fused_qkv transformer_block transformer_block_post_norm "
         "transformer_block_gelu transformer_lm", when=layers is not None)(functools.partial(composed, layers))


@form("nn.MultiheadAttention", "multihead_self_attention", when=CURRENT)
def multihead_module(x, w_q, w_k, w_v, w_o, num_heads):
    module = torch.nn.MultiheadAttention(x.shape[-1], num_heads, bias=False, batch_first=True, dtype=x.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w_q, w_k, w_v]))
        module.out_proj.weight.copy_(w_o)
    n = x.shape[-2]
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    batch = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    y, _ = module(batch, batch, batch, attn_mask=hidden, need_weights=False, is_causal=True)
    return y.reshape(x.shape)


# cases -------------------------------------------------------------------------------------------

TORCH_DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16,
                "bfloat16": torch.bfloat16, "int64": torch.int64, "bool": torch.bool}
PRECISION = {"float64": (53, -1022, 1024), "float32": (24, -126, 128), "float16": (11, -14, 16),
             "bfloat16": (8, -126, 128)}


def cases_of(path):
    """(problem, [(name, dtype, arguments, expected, limits)]) of a fixture file's cases with answers."""
    with h5py.File(path) as file:
        text = file.attrs["signature"]
        defaults = {name: float(value) for name, value in re.findall(r"(\w+): float = ([\w.+-]+)", text)}
        names = signature.parse(text).scalars
        cases = []
        for name, group in file["cases"].items():
            if "error" in group.attrs:
                continue
            arguments = {key: value for key, value in defaults.items() if key in names}
            arguments |= {key: np.asarray(value).item() for key, value in group.attrs.items() if key in names}
            for key, dataset in group["inputs"].items():
                values, dtype = h5.read_tensor(dataset)
                arguments[key] = torch.from_numpy(np.array(values)).to(TORCH_DTYPES[dtype])
            (output,) = group["outputs"].values()
            cases.append((name, output.attrs["dtype"], arguments, output[()], dict(output.attrs)))
        return file.attrs["problem"], cases


def share_of(y, expected, dtype, limits):
    """The largest of: an element's error over what is allowed, and likewise all errors together and their
    mean. Infinity for a wrong NaN or infinity. (What verdicts are by: docs/verdicts.md.)"""
    digits, low, high = PRECISION[dtype]
    with np.errstate(all="ignore"):
        finite = np.isfinite(y) & np.isfinite(expected)
        largest = (2 - 2.0**-digits) * 2.0**(high - 1)  # from here on numbers round to infinity
        same = np.isnan(y) & np.isnan(expected)
        same |= (np.abs(expected) >= largest) & (y == np.copysign(np.inf, expected))
        if not np.all(finite | same):
            return math.inf
        y, e = y[finite], expected[finite]
        if not y.size:
            return 0.0
        bound = limits["atol"] + limits["rtol"] * np.abs(e)
        error = np.abs(y - e)
        shares = np.where(error == 0, 0, error / bound)
        found = [shares.max()]
        if "rms" in limits:
            found.append(np.sqrt((shares**2).mean()) / limits["rms"])
        if "bias" in limits:
            exponent = np.clip(np.frexp(e)[1] - 1, low, high - 1)
            outwards = ((y - e) * np.sign(e)).sum() / np.ldexp(1.0, exponent - digits + 1).sum()
            found.append(abs(outwards) / limits["bias"])
        return float(max(found))


def shares(form, cases):
    """{case: share} of those of its dtypes. A call that raises counts as infinitely far off."""
    found = {}
    for name, dtype, arguments, expected, limits in cases:
        if dtype not in form.dtypes:
            continue
        with torch.no_grad():
            try:
                y = form.call(**arguments)
            except (RuntimeError, ValueError, IndexError) as error:
                # Without AVX-512, as ATEN_CPU_CAPABILITY has it, PyTorch refuses a layout that it chose itself for
                # a processor with AMX.
                if "pack_vnni2 is only supported when avx512" not in str(error):
                    found[name] = math.inf, str(error).splitlines()[0]
                continue
        if y.shape != expected.shape or y.dtype != TORCH_DTYPES[dtype]:
            found[name] = math.inf, f"is {y.dtype} {list(y.shape)}"
        else:
            found[name] = share_of(h5.round_to(y.double().numpy(), "float64"), expected, dtype, limits), ""
    return found


def rows(paths, chosen):
    """A row per form, problem and dtype."""
    for path in paths:
        problem, cases = cases_of(path)
        for each in chosen:
            if each.problem != problem:
                continue
            found = shares(each, cases)
            for dtype in each.dtypes:
                of_dtype = {name: value for name, value in found.items() if name.endswith("_" + dtype)}
                excused = {name for name in of_dtype
                           if any(fnmatch.fnmatch(name, glob) for glob in each.passes_not)}
                counted = {name: value for name, value in of_dtype.items() if name not in excused}
                failed = {name: (share, why) for name, (share, why) in counted.items() if not share <= 1}
                yield {"form": each.name, "problem": problem, "dtype": dtype, "cases": len(counted),
                       "excused": sorted(name for name in excused if not of_dtype[name][0] <= 1),
                       "failed": failed,
                       "share": max((share for share, _ in counted.values()), default=0.0)}


def compiled(form):
    return form._replace(name=f"torch.compile of {form.name}",
                         call=torch.compile(form.call, dynamic=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="fixture files, or folders of them")
    parser.add_argument("--problem", default="*", metavar="GLOB")
    parser.add_argument("--form", default="*", metavar="GLOB")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small
    files = [file for path in options.paths
             for file in (sorted(path.glob("*.h5")) if path.is_dir() else [path])]
    chosen = [each for each in FORMS if fnmatch.fnmatch(each.problem, options.problem)
              and fnmatch.fnmatchcase(each.name, options.form)]
    if options.compile:
        # Each rank and dtype is compiled; beyond the limit PyTorch would quietly run it uncompiled.
        torch._dynamo.config.recompile_limit = 1000
        torch._dynamo.config.accumulated_recompile_limit = 10000
        chosen = [compiled(each) for each in chosen]
    found = list(rows(files, chosen))
    json.dump({"torch": torch.__version__, "rows": found}, sys.stdout)
    print()
    return 1 if any(row["failed"] for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
