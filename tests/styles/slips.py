"""Submissions with known mistakes: a style's source, with slips switched on.

A slip is written below the line of right code that it replaces:

    rms = torch.sqrt(mean_square + eps)
    # slip rmsnorm.no_eps: rms = torch.sqrt(mean_square)

Lines of the same slip that follow each other replace it together. A slip may occur at several places,
and all of them change. `habit` stands for `slip` where honest code differs. The part before the dot
says what goes wrong, the name after it is that of the known mistake.
"""

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Which file of a style is its source, and what a submission of it is called.
STYLES = {
    "modules": ("torch_modules.py", "adapters.py"),
    "functions": ("torch_functions.py", "adapters.py"),
    "einsum": ("torch_einsum.py", "adapters.py"),
    "numpy": ("numpy_arrays.py", "adapters.py"),
    "cpp": ("loops.cpp", "solution.cpp"),
}

# What has a part inside: the problems that a slip in it concerns.
PROBLEMS = {
    "linear": ["linear"],
    "embedding": ["embedding"],
    "rmsnorm": ["rmsnorm", "transformer_block"],
    "relu": ["relu"],
    "silu": ["silu"],
    "gelu": ["gelu"],
    "glu": ["glu"],
    "ffn_relu": ["ffn_relu"],
    "ffn_silu": ["ffn_silu"],
    "ffn_gelu": ["ffn_gelu"],
    "ffn_swiglu": ["ffn_swiglu", "transformer_block"],
    "softmax": ["softmax"],
    "rope": ["rope", "multihead_self_attention_with_rope", "transformer_block"],
    "attention": ["scaled_dot_product_attention", "multihead_self_attention"],
    "heads": ["multihead_self_attention", "multihead_self_attention_with_rope",
              "transformer_block"],
    "heads_with_rope": ["multihead_self_attention_with_rope", "transformer_block"],
    "fused": ["multihead_self_attention_fused_qkv"],
    "block": ["transformer_block"],
    "block_post_norm": ["transformer_block_post_norm"],
    "block_gelu": ["transformer_block_gelu"],
    "lm": ["transformer_lm"],
}

MARK = re.compile(r"^(?P<indent>\s*)(?:#|//) (?P<kind>slip|habit) (?P<name>[a-z_0-9.]+):(?: (?P<code>.*))?$")


@cache
def source(style):
    return (HERE / STYLES[style][0]).read_text()


def read(text):
    """The lines of right code, each with its other forms: [(line, {name: [line]})]."""
    lines = []
    for line in text.splitlines():
        mark = MARK.match(line)
        if not mark:
            lines.append((line, {}))
            continue
        forms = lines[-1][1]
        forms.setdefault(mark["name"], []).append(mark["indent"] + (mark["code"] or ""))
    return lines


@cache
def names(style, kind="slip"):
    """The slips of a style, in the order of its source."""
    found = (MARK.match(line) for line in source(style).splitlines())
    return list(dict.fromkeys(mark["name"] for mark in found if mark and mark["kind"] == kind))


def part(slip):
    return slip.split(".")[0]


def mistake(slip):
    return slip.split(".")[1]


def problems(slip):
    return PROBLEMS[part(slip)]


def compatible(style, first, second):
    """Whether no line has both slips."""
    return not any(first in forms and second in forms for _, forms in read(source(style)))


def make(style, on=()):
    """A submission's source with the slips and habits `on`."""
    on, used, made = list(on), set(), []
    for line, forms in read(source(style)):
        chosen = [name for name in on if name in forms]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} change the same line of {style}: {line.strip()}")
        used.update(chosen)
        made += forms[chosen[0]] if chosen else [line]
    if missing := [name for name in on if name not in used]:
        raise ValueError(f"{style} has no {', '.join(missing)}")
    return "\n".join(made) + "\n"
