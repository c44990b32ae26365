"""One token through a block of the trained model (notebooks/model): every value, computed by the reference.

`steps()` gives what tour.html.j2 shows: per step a sentence, the formula, tables of values, and the
lines of the reference and of the kernel that compute them.
"""

import base64
import html
import json
from dataclasses import dataclass, field

import model
import numpy as np
import prenorm
from prenorm.cpp import steps_of_lines
from prenorm.panes import coloured_lines, numbered

TEXT = "\nki ro, k"  # nonsense that is sung again: i comes next
ROWS = list(TEXT.replace("\n", "↵").replace(" ", "␣"))
FOLLOWED = len(TEXT) - 1  # the position of the token that the tour follows
BLOCK, HEAD = 2, 1  # the block that it goes through, and the head that copies
COLUMNS = 8  # how many numbers of a longer vector are shown
PROMPT = "Tovi has a red lamp. Besa has a blue key. Besa sings: ki ro zu, k"
AROUND = 2  # lines of code shown around those of a step


@dataclass
class Table:
    """Values of one tensor, a row per token. `followed` marks the token's row."""

    caption: str
    values: np.ndarray
    rows: list
    columns: list
    followed: int | None = FOLLOWED

    @property
    def cells(self):
        """[(row's name, whether it is followed, [(text, sign, strength in percent)])]."""
        finite = np.abs(self.values[np.isfinite(self.values)])
        most = finite.max() if finite.size and finite.max() > 0 else 1
        return [(name, number == self.followed, [_cell(value, most) for value in row])
                for number, (name, row) in enumerate(zip(self.rows, self.values))]


@dataclass
class Step:
    """One stop of the tour.

    code     (problem, names of its steps): the lines that are shown lit
    """

    name: str
    title: str
    words: str
    formula: str
    code: tuple
    tables: list
    excerpts: list = field(default_factory=list)


# the model ---------------------------------------------------------------------------------------

def values(solution):
    """All intermediate values, computed by a solution's functions: {name: array}."""
    given, at = model.arguments(float), np.arange(len(TEXT))
    scalars = {name: given[name] for name in ("num_heads", "theta", "max_seq_len", "eps")}
    eps, (*earlier, p) = given["eps"], [{name: given[name][i] for name in model.LAYER} for i in range(BLOCK + 1)]
    v = {"x": solution.embedding(model.ids(TEXT), given["token_embeddings"])}
    v["stream"] = v["x"]
    for block in earlier:
        v["stream"] = solution.transformer_block(v["stream"], **block, **scalars)
    v["a"] = solution.rmsnorm(v["stream"], p["ln1"], eps=eps)
    for name in "qkv":
        v[name] = solution.linear(v["a"], p[f"w_{name}"])
    for name in "qk":
        v[f"turned_{name}"] = [solution.rope(part, at, theta=given["theta"], max_seq_len=given["max_seq_len"])
                               for part in _heads(v[name])]
    later = np.triu(np.ones((len(TEXT), len(TEXT)), dtype=bool), 1)
    v["scores"] = [np.where(later, -np.inf, solution.linear(q, k) / np.sqrt(q.shape[1]))
                   for q, k in zip(v["turned_q"], v["turned_k"])]
    v["weights"] = [solution.softmax(scores, dim=-1) for scores in v["scores"]]
    v["heads"] = np.hstack([solution.linear(weights, np.ascontiguousarray(part.T))
                            for weights, part in zip(v["weights"], _heads(v["v"]))])
    v["attention"] = solution.linear(v["heads"], p["w_o"])
    v["y"] = v["stream"] + v["attention"]
    v["b"] = solution.rmsnorm(v["y"], p["ln2"], eps=eps)
    v["up"], v["other"] = solution.linear(v["b"], p["w1"]), solution.linear(v["b"], p["w3"])
    v["silu"] = solution.silu(v["up"])
    v["gated"] = v["silu"] * v["other"]
    v["down"] = solution.linear(v["gated"], p["w2"])
    v["z"] = v["y"] + v["down"]
    v["final"] = solution.rmsnorm(v["z"], given["ln_final"], eps=eps)
    v["logits"] = solution.linear(v["final"], given["lm_head"])
    v["next"] = solution.softmax(v["logits"], dim=-1)
    return v


def whole_model(solution):
    """The logits by the one function that has all parts in it."""
    return solution.transformer_lm(model.ids(TEXT), **model.arguments(float))


def _heads(tensor):
    return [np.ascontiguousarray(part) for part in np.split(tensor, model.record()["model"]["num_heads"], axis=1)]


# what is shown -----------------------------------------------------------------------------------

def _cell(value, most):
    if value == -np.inf:
        return "−∞", "masked", 0
    text = f"{round(float(value), 2) + 0:.2f}".replace("-", "−")  # 0.00, never −0.00
    return text, "neg" if value < 0 else "pos", round(100 * abs(value) / most)


def _table(caption, tensor, columns=None, first=0):
    """Some columns of a tensor: those of these names, or the first few of many."""
    if columns is None:
        columns = [str(i) for i in range(first, first + COLUMNS)]
        caption += f", columns {columns[0]} to {columns[-1]} of {tensor.shape[1]}"
        tensor = tensor[:, first:first + COLUMNS]
    return Table(caption, tensor, ROWS, columns)


def steps():
    """The steps of the tour. Raises ValueError if their values are not those of the whole model."""
    reference = prenorm.load("reference")
    v = values(reference)
    if not np.allclose(v["logits"], whole_model(reference), rtol=1e-12, atol=1e-12):
        raise ValueError("the steps of the tour do not give the logits of transformer_lm")
    rope, attention = "multihead_self_attention_with_rope", "scaled_dot_product_attention"
    of_head = HEAD * len(v["turned_q"][HEAD][0])  # its first column
    likeliest = np.argsort(-v["next"][FOLLOWED])[:COLUMNS]
    letters = [chr(byte).replace(" ", "␣") for byte in likeliest]
    _, before = model.forward(reference, model.ids(TEXT), model.arguments(float))
    found = [
        Step("embedding", "Embedding",
             f"Each token's id picks a row of the table. The vector of the last “{TEXT[-1]}” is the last row, and the "
             "same as that of the first. Such vectors, one per token, are the residual stream.",
             r"x_i = E_{\text{id}_i}", ("embedding", ["copy the row"]),
             [_table("x, the residual stream", v["x"])]),
        Step("first-norm", "First norm",
             f"The tour passes by {BLOCK} blocks that have added to the stream, and enters the last. A copy of each "
             "vector is divided by its root mean square, so that its size does not depend on how much the blocks "
             "before have added, and multiplied by a gain. The stream itself is not changed.",
             r"a_i = \frac{x_i}{\sqrt{\frac{1}{d}\sum_j x_{ij}^2 + \epsilon}} \odot g",
             ("rmsnorm", ["mean of squares", "root", "normalize", "gain"]),
             [_table("x, as it is here", v["stream"]), _table("a = rmsnorm(x)", v["a"])]),
        Step("projections", "Query, key and value",
             "Three matrices make three vectors of each token: what it looks for, what it offers to others, and what "
             f"it hands on. The columns shown belong to head {HEAD}, which is followed from here.",
             r"q_i = W_q a_i \qquad k_i = W_k a_i \qquad v_i = W_v a_i", (rope, ["projections"]),
             [_table(f"{name} = linear(a, w_{name})", v[name], first=of_head) for name in "qkv"]),
        Step("rotation", "Rotary position embedding",
             "Pairs of numbers of each query and key are rotated by the token's position times a "
             "frequency. Position 0 is not rotated. Afterwards a product of query and key depends "
             "on the distance of the two tokens only.",
             r"(u, w) \mapsto (u\cos\varphi - w\sin\varphi,\; u\sin\varphi + w\cos\varphi)"
             r"\qquad \varphi = i\,\theta^{-2j/d_k}", ("rope", ["turn", "angle"]),
             [_table(f"rotated {name}, head {HEAD}", v[f"turned_{name}"][HEAD]) for name in "qk"]),
        Step("scores", "Scores and causal mask",
             "Row i, column j: the product of token i's query with token j's key. Later tokens are "
             "masked, because the model must not see what it is to predict.",
             r"s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} \text{ for } j \le i,\quad -\infty "
             r"\text{ for } j > i", (attention, ["scale", "scores", "mask"]),
             [_table(f"scores, head {HEAD}", v["scores"][HEAD], ROWS)]),
        Step("weights", "Weights",
             "Softmax over each row: positive numbers whose sum is 1. The largest score is subtracted first, which "
             f"changes nothing but keeps the exponentials in range. The last “{TEXT[-1]}” looks at what came after "
             "the first. How does it know which? A vowel looks at the letter before it in a head of the block before: "
             f"so the stream of “{TEXT[2]}” says that a “{TEXT[1]}” preceded it, and its key repeats that here.",
             r"p_{ij} = \frac{e^{s_{ij} - \max_l s_{il}}}{\sum_l e^{s_{il} - \max_l s_{il}}}",
             ("softmax", ["maximum", "exponentials", "sum", "normalize"]),
             [_table(f"weights, head {HEAD}", v["weights"][HEAD], ROWS),
              _table("weights of the block before, head 1", before[BLOCK - 1, 1], ROWS)]),
        Step("values", "Heads",
             "Each head adds up the values of the tokens by its weights. The heads' results stand "
             "side by side.",
             r"h_i = \sum_j p_{ij} v_j", (attention, ["values"]),
             [_table("heads", v["heads"], first=of_head)]),
        Step("output", "Output projection", "One matrix mixes what the heads have found.",
             r"o_i = W_o\,[h^{(0)}_i, h^{(1)}_i, \dots]", (rope, ["output projection"]),
             [_table("o = linear(heads, w_o)", v["attention"])]),
        Step("attention-sum", "First residual sum",
             "The result is added to the stream: attention only adds to what a token's vector "
             "already says.",
             r"y_i = x_i + o_i", ("transformer_block", ["residual sum"]),
             [_table("y = x + o", v["y"])]),
        Step("second-norm", "Second norm", "A copy of the sum is normalized as before.",
             r"b_i = \mathrm{RMSNorm}(y_i)",
             ("rmsnorm", ["mean of squares", "root", "normalize", "gain"]),
             [_table("b = rmsnorm(y)", v["b"])]),
        Step("gate", "SiLU and gate",
             f"Two matrices widen the vector to {v['up'].shape[1]} numbers. SiLU of the first "
             "result says how much of each number of the second is let through.",
             r"g_i = \mathrm{SiLU}(W_1 b_i) \odot W_3 b_i \qquad \mathrm{SiLU}(u) = "
             r"\frac{u}{1 + e^{-u}}",
             ("ffn_swiglu", ["product with w1", "activation", "product with w3", "gate"]),
             [_table("linear(b, w1)", v["up"]), _table("silu of it", v["silu"]),
              _table("linear(b, w3)", v["other"]), _table("g, their product", v["gated"])]),
        Step("down", "Back to d_model", f"A third matrix gives {v['down'].shape[1]} numbers again.",
             r"f_i = W_2 g_i", ("ffn_swiglu", ["product with w2"]),
             [_table("f = linear(g, w2)", v["down"])]),
        Step("feed-forward-sum", "Second residual sum",
             "The result is added to the stream. This is the output of the block, and here of the last.",
             r"z_i = y_i + f_i", ("transformer_block", ["residual sum"]),
             [_table("z = y + f", v["z"])]),
        Step("logits", "Logits",
             f"After a last norm, a matrix gives each of {v['logits'].shape[1]} bytes a score: what may come next. "
             f"After the first “{TEXT[1]}” it may be any vowel; after the last it is “{letters[0]}” again.",
             r"\ell_i = W_{\text{head}}\,\mathrm{RMSNorm}(z_i)",
             ("transformer_lm", ["final norm", "head"]),
             [_table(f"logits of the {COLUMNS} likeliest in the last row", v["logits"][:, likeliest], letters),
              _table("softmax of the logits", v["next"][:, likeliest], letters)]),
    ]
    for step in found:
        step.excerpts = excerpts(*step.code)
    return found


def trained_model():
    """The trained model as a script for model.js. Raises ValueError if float16 does not hold its weights."""
    state = model.state_dict()
    halves = [value.astype("<f2") for value in state.values()]
    if not all((half == value).all() for half, value in zip(halves, state.values())):
        raise ValueError("tiny.h5: float16 does not hold all weights")
    told = {"sizes": model.record()["model"], "shown": {"layer": BLOCK, "head": HEAD},
            "shapes": {name: value.shape for name, value in state.items()},
            "float16": base64.b64encode(b"".join(half.tobytes() for half in halves)).decode()}
    return f"const TRAINED_MODEL = {json.dumps(told)};\n"


# code --------------------------------------------------------------------------------------------

def excerpts(problem, names):
    """The lines of these steps in the reference and in the naive kernel, which does the same one
    element at a time: [(title, HTML)]."""
    return [(title, excerpt(prenorm.source(problem, solution), names))
            for title, solution in (("reference", "reference"), ("CUDA, naive", "cuda-naive"))]


def excerpt(source, names):
    """The lines of some steps of a source, lit, with a few lines around them, as HTML."""
    parts, file = [], None
    for piece in source.pieces:
        lit = [bool(set(found) & set(names)) for found in steps_of_lines(piece.lines)]
        shown = [any(lit[max(0, i - AROUND):i + AROUND + 1]) for i in range(len(lit))]
        if not any(lit):
            continue
        numbers = piece.numbers or range(piece.first, piece.first + len(piece.lines))
        lines = []
        for i, (number, text) in enumerate(zip(numbers, coloured_lines(piece.lines))):
            if shown[i]:
                lines.append((number, text, {"class": "lit" * lit[i]}))
        if piece.path != file:
            file = piece.path
            parts.append(f'<p class="file">{html.escape(str(file.relative_to(prenorm.ROOT)))}</p>')
        parts.append(numbered(lines, lines[0][0]))
    if not parts:
        raise ValueError(f"{source!r} has no step {', '.join(names)}")
    return "".join(parts)
