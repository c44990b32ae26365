"""The picture of a pre-norm Transformer language model, drawn from the list of its parts."""

from dataclasses import dataclass

WIDTH = 440
COLUMN, BOX, HEIGHT = 250, 196, 30  # the middle of the boxes, their width and height
ARROW, HEADING = 26, 30             # below a box; above the first box in a frame
STREAM = 54                         # where the residual stream passes a branch


@dataclass
class Part:
    """One box: what happens to the vector of each token.

    page       the component, whose page the box links to, or None
    step       the step of the tour that shows it
    shape      of what leaves it
    sentence   what it does, as one line of a list
    """

    label: str
    page: str | None
    step: str
    shape: str
    sentence: str
    y: float = 0

    @property
    def is_sum(self):
        return self.label == "+"

    @property
    def is_box(self):
        return self.page is not None

    @property
    def bottom(self):
        return self.y + HEIGHT


@dataclass
class Frame:
    """A component made of several parts: those from `first` to `last`."""

    title: str
    page: str
    first: int
    last: int
    left: float
    right: float
    top: float = 0
    bottom: float = 0

    @property
    def width(self):
        return self.right - self.left

    @property
    def height(self):
        return self.bottom - self.top


def parts():
    """The parts of the model in the order in which a token's vector meets them."""
    stream, heads = "[seq, d_model]", "[heads, seq, d_k]"
    return [
        Part("token ids", None, "embedding", "[seq]", "A text is a list of token ids."),
        Part("Embedding", "embedding", "embedding", stream,
             "Each id becomes a vector: its row of a table."),
        Part("RMSNorm", "rmsnorm", "first-norm", stream,
             "A copy of the vector is scaled to root mean square 1."),
        Part("Linear: q, k, v", "linear", "projections", "3 × " + stream,
             "Three matrices make a query, a key and a value of it."),
        Part("RoPE on q and k", "rope", "rotation", heads,
             "Query and key are rotated by angles that grow with the position."),
        Part("Scores and causal mask", "attention", "scores", "[heads, seq, seq]",
             "Each query is compared with the keys up to its own position."),
        Part("Softmax", "softmax", "weights", "[heads, seq, seq]",
             "The scores become weights whose sum is 1."),
        Part("Weighted sum of v", "attention", "values", heads,
             "Each head adds up the values by these weights."),
        Part("Linear: output", "linear", "output", stream, "A matrix mixes the heads."),
        Part("+", None, "attention-sum", stream, "The result is added to the vector."),
        Part("RMSNorm", "rmsnorm", "second-norm", stream, "A copy of the sum is scaled again."),
        Part("Linear: w1 and w3", "linear", "gate", "2 × [seq, d_ff]",
             "Two matrices widen it to d_ff numbers."),
        Part("SiLU and gate", "activations", "gate", "[seq, d_ff]",
             "SiLU of the first is multiplied by the second."),
        Part("Linear: w2", "linear", "down", stream, "A matrix brings it back to d_model numbers."),
        Part("+", None, "feed-forward-sum", stream, "The result is added to the vector."),
        Part("RMSNorm", "rmsnorm", "logits", stream,
             "After the last block the vector is scaled once more."),
        Part("Linear: lm_head", "linear", "logits", "[seq, vocab_size]",
             "A matrix gives a score for every token that may come next."),
        Part("logits", None, "logits", "", ""),
    ]


def frames():
    """The components that hold several parts; the outer one first."""
    return [Frame("Transformer block × num_layers", "transformer_block", 2, 14, 16, 424),
            Frame("Multi-head self-attention", "multihead_self_attention", 3, 8, 84, 402),
            Frame("SwiGLU feed-forward", "feed_forward", 11, 13, 84, 402)]


def residuals():
    """The ways round a branch: (the part before which one leaves, the sum that it enters)."""
    return [(2, 9), (10, 14)]


def drawing():
    """All that block.svg.j2 needs."""
    placed, boxes = parts(), frames()
    y = 4.0
    for number, part in enumerate(placed):
        if any(frame.first == number for frame in boxes):
            y += HEADING
        part.y = y
        y += HEIGHT + ARROW
    for frame in boxes:
        frame.top = placed[frame.first].y - HEADING - 4
        frame.bottom = placed[frame.last].bottom + 8
    ways = [{"from": placed[before].y - 9, "to": placed[into].y + HEIGHT / 2}
            for before, into in residuals()]
    return {"parts": placed, "frames": boxes, "ways": ways, "width": WIDTH, "column": COLUMN,
            "box": BOX, "height": HEIGHT, "stream": STREAM, "total": placed[-1].bottom + 4}
