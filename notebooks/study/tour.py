"""One token through the block: every value of a tiny model, computed by the reference.

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

WORDS = ["a", "the", "cat", "dog", "sat", "ran", "on", "mat"]
TEXT = ["the", "cat", "sat", "on", "the", "mat"]
FOLLOWED = 5  # the position of the token that the tour follows
D_MODEL, NUM_HEADS, D_FF, THETA, EPS = 8, 2, 12, 100.0, 1e-5
D_K = D_MODEL // NUM_HEADS
SEED = 2017
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

def parameters():
    """The weights of the model: random, to one decimal, so that a step can be followed by hand."""
    random = np.random.default_rng(SEED)

    def draw(*shape):
        return np.round(random.normal(0, 0.5, shape), 1)

    square = (D_MODEL, D_MODEL)
    return {"token_embeddings": draw(len(WORDS), D_MODEL), "ln1": np.ones(D_MODEL),
            "w_q": draw(*square), "w_k": draw(*square), "w_v": draw(*square), "w_o": draw(*square),
            "ln2": np.ones(D_MODEL), "w1": draw(D_FF, D_MODEL), "w2": draw(D_MODEL, D_FF),
            "w3": draw(D_FF, D_MODEL), "ln_final": np.ones(D_MODEL),
            "lm_head": draw(len(WORDS), D_MODEL)}


def token_ids():
    return np.array([WORDS.index(word) for word in TEXT])


def values(solution):
    """All intermediate values, computed by a solution's functions: {name: array}."""
    p, at = parameters(), np.arange(len(TEXT))
    v = {"x": solution.embedding(token_ids(), p["token_embeddings"])}
    v["a"] = solution.rmsnorm(v["x"], p["ln1"], eps=EPS)
    for name in "qkv":
        v[name] = solution.linear(v["a"], p[f"w_{name}"])
    for name in "qk":
        v[f"turned_{name}"] = [solution.rope(part, at, theta=THETA, max_seq_len=len(TEXT))
                               for part in _heads(v[name])]
    later = np.triu(np.ones((len(TEXT), len(TEXT)), dtype=bool), 1)
    v["scores"] = [np.where(later, -np.inf, solution.linear(q, k) / np.sqrt(D_K))
                   for q, k in zip(v["turned_q"], v["turned_k"])]
    v["weights"] = [solution.softmax(scores, dim=-1) for scores in v["scores"]]
    v["heads"] = np.hstack([solution.linear(weights, np.ascontiguousarray(part.T))
                            for weights, part in zip(v["weights"], _heads(v["v"]))])
    v["attention"] = solution.linear(v["heads"], p["w_o"])
    v["y"] = v["x"] + v["attention"]
    v["b"] = solution.rmsnorm(v["y"], p["ln2"], eps=EPS)
    v["up"], v["other"] = solution.linear(v["b"], p["w1"]), solution.linear(v["b"], p["w3"])
    v["silu"] = solution.silu(v["up"])
    v["gated"] = v["silu"] * v["other"]
    v["down"] = solution.linear(v["gated"], p["w2"])
    v["z"] = v["y"] + v["down"]
    v["final"] = solution.rmsnorm(v["z"], p["ln_final"], eps=EPS)
    v["logits"] = solution.linear(v["final"], p["lm_head"])
    v["next"] = solution.softmax(v["logits"], dim=-1)
    return v


def whole_model(solution):
    """The logits by the one function that has all parts in it."""
    p = parameters()
    once = ("token_embeddings", "ln_final", "lm_head")
    stacked = {name: value if name in once else value[None] for name, value in p.items()}
    return solution.transformer_lm(token_ids(), **stacked, num_heads=NUM_HEADS, theta=THETA,
                                   max_seq_len=len(TEXT), eps=EPS)


def _heads(tensor):
    return [np.ascontiguousarray(part) for part in np.split(tensor, NUM_HEADS, axis=1)]


# what is shown -----------------------------------------------------------------------------------

def _cell(value, most):
    if value == -np.inf:
        return "−∞", "masked", 0
    text = f"{round(float(value), 2) + 0:.2f}".replace("-", "−")  # 0.00, never −0.00
    return text, "neg" if value < 0 else "pos", round(100 * abs(value) / most)


def _table(caption, tensor, columns=None):
    names = columns or [str(i) for i in range(tensor.shape[1])]
    return Table(caption, tensor, TEXT, names)


def _per_head(caption, tensors, columns=None):
    return [_table(f"{caption}, head {number}", tensor, columns)
            for number, tensor in enumerate(tensors)]


def steps():
    """The steps of the tour. Raises ValueError if their values are not those of the whole model."""
    reference = prenorm.load("reference")
    v = values(reference)
    if not np.allclose(v["logits"], whole_model(reference), rtol=1e-12, atol=1e-12):
        raise ValueError("the steps of the tour do not give the logits of transformer_lm")
    token = TEXT[FOLLOWED]
    rope, attention = "multihead_self_attention_with_rope", "scaled_dot_product_attention"
    found = [
        Step("embedding", "Embedding",
             f"Each token's id picks a row of the table. The vector of “{token}” is the last row. "
             "Such vectors, one per token, are the residual stream.",
             r"x_i = E_{\text{id}_i}", ("embedding", ["copy the row"]),
             [_table("x, the residual stream", v["x"])]),
        Step("first-norm", "First norm",
             "A copy of each vector is divided by its root mean square, so that its size does not "
             "depend on how much earlier blocks have added. The stream itself is not changed.",
             r"a_i = \frac{x_i}{\sqrt{\frac{1}{d}\sum_j x_{ij}^2 + \epsilon}} \odot g",
             ("rmsnorm", ["mean of squares", "root", "normalize", "gain"]),
             [_table("a = rmsnorm(x)", v["a"])]),
        Step("projections", "Query, key and value",
             "Three matrices make three vectors of each token: what it looks for, what it offers to "
             f"others, and what it hands on. Columns 0 to {D_K - 1} belong to head 0, the others to "
             "head 1.",
             r"q_i = W_q a_i \qquad k_i = W_k a_i \qquad v_i = W_v a_i", (rope, ["projections"]),
             [_table(f"{name} = linear(a, w_{name})", v[name]) for name in "qkv"]),
        Step("rotation", "Rotary position embedding",
             "Pairs of numbers of each query and key are rotated by the token's position times a "
             "frequency. Position 0 is not rotated. Afterwards a product of query and key depends "
             "on the distance of the two tokens only.",
             r"(u, w) \mapsto (u\cos\varphi - w\sin\varphi,\; u\sin\varphi + w\cos\varphi)"
             r"\qquad \varphi = i\,\theta^{-2j/d_k}", ("rope", ["turn", "angle"]),
             _per_head("rotated q", v["turned_q"]) + _per_head("rotated k", v["turned_k"])),
        Step("scores", "Scores and causal mask",
             "Row i, column j: the product of token i's query with token j's key. Later tokens are "
             "masked, because the model must not see what it is to predict.",
             r"s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} \text{ for } j \le i,\quad -\infty "
             r"\text{ for } j > i", (attention, ["scale", "scores", "mask"]),
             _per_head("scores", v["scores"], TEXT)),
        Step("weights", "Weights",
             "Softmax over each row: positive numbers whose sum is 1. The largest score is "
             "subtracted first, which changes nothing but keeps the exponentials in range.",
             r"p_{ij} = \frac{e^{s_{ij} - \max_l s_{il}}}{\sum_l e^{s_{il} - \max_l s_{il}}}",
             ("softmax", ["maximum", "exponentials", "sum", "normalize"]),
             _per_head("weights", v["weights"], TEXT)),
        Step("values", "Heads",
             "Each head adds up the values of the tokens by its weights. The heads' results stand "
             "side by side.",
             r"h_i = \sum_j p_{ij} v_j", (attention, ["values"]),
             [_table("heads 0 and 1", v["heads"])]),
        Step("output", "Output projection", "One matrix mixes what the heads have found.",
             r"o_i = W_o\,[h^{(0)}_i, h^{(1)}_i]", (rope, ["output projection"]),
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
             f"Two matrices widen the vector from {D_MODEL} to {D_FF} numbers. SiLU of the first "
             "result says how much of each number of the second is let through.",
             r"g_i = \mathrm{SiLU}(W_1 b_i) \odot W_3 b_i \qquad \mathrm{SiLU}(u) = "
             r"\frac{u}{1 + e^{-u}}",
             ("ffn_swiglu", ["product with w1", "activation", "product with w3", "gate"]),
             [_table("linear(b, w1)", v["up"]), _table("silu of it", v["silu"]),
              _table("linear(b, w3)", v["other"]), _table("g, their product", v["gated"])]),
        Step("down", "Back to d_model", f"A third matrix gives {D_MODEL} numbers again.",
             r"f_i = W_2 g_i", ("ffn_swiglu", ["product with w2"]),
             [_table("f = linear(g, w2)", v["down"])]),
        Step("feed-forward-sum", "Second residual sum",
             "The result is added to the stream. This is the output of the block; a larger model "
             "has many blocks, one after another.",
             r"z_i = y_i + f_i", ("transformer_block", ["residual sum"]),
             [_table("z = y + f", v["z"])]),
        Step("logits", "Logits",
             f"After a last norm, a matrix gives each of the {len(WORDS)} words a score. The row of "
             f"“{token}” says what may come after it. The weights of this model are random, so it "
             "predicts nothing; training changes the weights and nothing else, as the next step shows.",
             r"\ell_i = W_{\text{head}}\,\mathrm{RMSNorm}(z_i)",
             ("transformer_lm", ["final norm", "head"]),
             [_table("logits", v["logits"], WORDS),
              _table("softmax of the logits", v["next"], WORDS)]),
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
    copying = model.heads(prenorm.load("fast"))["copying"]
    layer, head = map(int, np.unravel_index(copying.argmax(), copying.shape))
    told = {"sizes": model.record()["model"], "shown": {"layer": layer, "head": head},
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
