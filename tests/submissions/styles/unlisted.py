#!/usr/bin/env python3
"""Plants mistakes that are not on the list, and judges what is said of them.

    unlisted.py --show 7            what the seventh is: its line before and after, and its terms
    unlisted.py --write 7 FOLDER    writes it as a submission

A mutant is an honest submission in which one expression or statement is another: an operator, an axis, a
constant, an order, a layer. It is drawn by a seed, in turn from each component. It counts if its numbers
are clearly wrong, and are those of no slip of the PyTorch styles and of no mutant before it.

LABELS says which terms of the formula a statement holds. A statement that holds several may be blamed
for any of them.
"""

import argparse
import ast
import copy
import fnmatch
import json
import random
import sys
import tomllib
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import submissions  # noqa: E402

STYLES = ("modules", "functions", "einsum")

# --- Labels ---------------------------------------------------------------------------------------

FFN, BLOCKS = "ffn_relu ffn_silu ffn_gelu", "transformer_block transformer_block_post_norm transformer_block_gelu"
HEADS = "multihead_self_attention multihead_self_attention_with_rope multihead_self_attention_fused_qkv"
PROBLEMS = {
    "linear": "linear", "embedding": "embedding", "rmsnorm": "rmsnorm", "activations": "relu silu gelu",
    "glu": "glu", "feed_forward": f"{FFN} ffn_swiglu", "softmax": "softmax", "rope": "rope",
    "attention": "scaled_dot_product_attention", "multihead": HEADS, "block": BLOCKS, "lm": "transformer_lm",
}
ACTIVATION = {"return": "function"}
PLAIN_FFN = {"return": "w1 activation w2"}
BLOCK = {"ln1,ln2": "norm1 norm2", "y": "norm1 attention residual1", "return": "between norm2 ffn residual2"}
# {component: {function: {what a statement assigns: its terms}}}; where that is assigned several times, the
# terms of each time. Other statements stay as they are.
LABELS = {
    "linear": {
        "Linear.forward": {"weight": "weight", "return": "weight axes"},
        "linear": {"return": "weight axes"},
    },
    "embedding": {
        "Embedding.forward": {"return": "ids table"},
        "run_embedding": {"ids": "ids", "return": "ids table"},
    },
    "rmsnorm": {
        "RMSNorm.forward": {"mean": "square mean", "rms": "eps root", "normed": "division", "return": "gain"},
        "rmsnorm": {"mean_square": "square mean", "d": "mean", "mean": "square mean", "scale": "eps root division",
                    "inverse": "eps root division", "return": "division gain"},
    },
    "activations": {
        "ReLU.forward": ACTIVATION, "SiLU.forward": ACTIVATION, "GELU.forward": ACTIVATION,
        "relu": ACTIVATION, "silu": ACTIVATION, "gelu": ACTIVATION,
    },
    "glu": {
        "GLU.forward": {"return": "gate value product"},
        "run_glu": {"w1,w2": "gate value", "gate": "gate", "up": "value", "gate,up": "gate value",
                    "y": "gate value product", "return": "gate value product"},
    },
    "feed_forward": {
        "FeedForward.forward": PLAIN_FFN,
        "run_ffn_relu": PLAIN_FFN, "run_ffn_silu": PLAIN_FFN, "run_ffn_gelu": PLAIN_FFN,
        "SwiGLU.forward": {"gate,value": "w1 product", "return": "activation product w2"},
        "swiglu": {"gate,up": "w1 product", "hidden": "activation product", "gated": "activation product",
                   "return": "w2"},
    },
    "softmax": {
        "Softmax.forward": {"maximum": "maximum axis", "exps": "exponential maximum", "result": "sum axis"},
        "run_softmax": {"x": "axis", "shifted": "maximum axis", "exponentials": "exponential",
                        "e": "exponential maximum axis", "y": "sum axis", "return": "axis"},
    },
    "rope": {
        "RotaryEmbedding.__init__": {"steps": "rate pairs", "frequencies": "rate", "positions": "position",
                                     "angles": "position rate", "call": ["", "rotation", "rotation"]},
        "RotaryEmbedding.forward": {"rows": "position", "cos,sin": "rotation position", "x1,x2": "pairs",
                                    "y1": "rotation", "y2": "rotation", "y": ["", "pairs"]},
        "rope": {"exponents": "rate", "rates": "rate", "places": "position", "angles": "position rate",
                 "cos,sin": "rotation", "first,second": "pairs", "turned": "rotation", "return": "pairs"},
        "rotate": {"k": "rate pairs", "frequency": "rate", "steps": "position", "angles": "position rate",
                   "turn": ["rotation", ""], "pairs": "pairs", "turned": "rotation", "y": "pairs"},
    },
    "attention": {
        "scaled_dot_product_attention": {
            "q,k,v": "scores values", "scores": ["scores scale", "mask"], "largest": "softmax", "exps": "softmax",
            "total": "softmax", "weights": "softmax", "return": "values"},
        "attention": {"scores": ["scores scale", "mask"], "weights": ["softmax", "softmax mask"],
                      "return": "values"},
        "weigh": {"hidden": "mask", "scores": "mask", "keys": "softmax", "weights": "softmax",
                  "return": "softmax mask"},
        "run_scaled_dot_product_attention": {"q,k,v": "scores values", "scores": "scores scale", "return": "values"},
    },
    "multihead": {
        "MultiHeadSelfAttention.split": {"return": "heads"},
        "MultiHeadSelfAttention.merge": {"return": "heads output"},
        "MultiHeadSelfAttention.forward": {
            "positions": "rope", "q,k": ["projections", "projections rope"], "q,k,v": "projections heads",
            "mask": "mask", "attended": "projections attention", "return": "output heads"},
        "split": {"return": "heads"},
        "merge": {"return": "heads output"},
        "multihead": {
            "head_axes": "heads", "each_head": "rope", "turns": "rope", "turn": "rope",
            "q,k,v": ["projections heads", "projections attention"], "q,k": "projections rope",
            "scale": "attention", "scores": "projections attention", "mask": "mask",
            "y": "projections attention", "merged": "heads output", "return": "output heads"},
        "run_multihead_self_attention_with_rope": {"positions": "rope"},
        "run_multihead_self_attention_fused_qkv": {"w_q,w_k,w_v": "projections"},
    },
    "block": {
        "TransformerBlock.forward": {"h": "norm1", "y": "attention residual1", "h2": "between norm2",
                                     "return": "between ffn residual2"},
        "PostNormBlock.forward": {"y": "norm1 attention residual1", "return": "between norm2 ffn residual2"},
        "GELUBlock.forward": {"x": "norm1 attention residual1", "return": "between norm2 ffn residual2"},
        "attend": {"w": "attention", "return": "attention"},
        "run_transformer_block": BLOCK, "run_transformer_block_post_norm": BLOCK,
        "run_transformer_block_gelu": BLOCK,
    },
    "lm": {
        "TransformerLM.forward": {"x": ["embedding", "layers", "final_norm"], "layers": "layers", "for": "layers",
                                  "return": "head"},
        "run_transformer_lm": {"x": ["embedding", "layers", "final_norm"], "order": "layers", "prefix": "layers",
                               "for": "layers", "logits": "head"},
    },
}
# The terms of a composite that a wrong part of it may be blamed by.
PARTS = {
    "linear": "projections output attention w1 w2 product gate value ffn layers head",
    "embedding": "embedding", "rmsnorm": "norm1 norm2 final_norm layers", "activations": "activation ffn layers",
    "feed_forward": "ffn layers", "rope": "rope attention layers", "attention": "attention layers",
    "multihead": "attention layers", "block": "layers", "glu": "", "softmax": "", "lm": "",
}


@dataclass(frozen=True)
class Mutant:
    style: str
    component: str
    function: str
    operator: str  # the kind of mutation
    terms: tuple
    line: int
    before: str
    after: str
    text: str = field(repr=False)
    own: tuple = ()  # the problems of its component whose numbers are wrong
    failing: tuple = ()  # all whose numbers are wrong

    @staticmethod
    def read(fields):
        """From JSON, which has no tuples."""
        return Mutant(**{name: tuple(each) if isinstance(each, list) else each for name, each in fields.items()})


def assigned(statement):
    """What a statement is called in LABELS."""
    if isinstance(statement, ast.Assign):
        targets = getattr(statement.targets[0], "elts", statement.targets)
        while any(isinstance(each, ast.Subscript) for each in targets):
            targets = [getattr(each, "value", each) for each in targets]
        return ",".join(dict.fromkeys(each.id if isinstance(each, ast.Name) else "" for each in targets))
    return {ast.Return: "return", ast.For: "for", ast.Expr: "call"}.get(type(statement), "")


def blocks(body):
    """Every list of statements below one."""
    yield body
    for statement in body:
        for inner in (getattr(statement, "body", None), getattr(statement, "orelse", None)):
            if isinstance(inner, list) and inner:
                yield from blocks(inner)


@cache
def labelled(style):
    """The statements of a style that have a label: [(component, function, terms, node, block, bound)],
    with the names that are bound there."""
    found, labels = [], {name: (component, of) for component, functions in LABELS.items()
                         for name, of in functions.items()}
    tree = ast.parse(submissions.make(style))
    functions = [(node.name, node) for node in tree.body if isinstance(node, ast.FunctionDef)]
    functions += [(f"{each.name}.{node.name}", node) for each in tree.body if isinstance(each, ast.ClassDef)
                  for node in each.body if isinstance(node, ast.FunctionDef)]
    for name, function in functions:
        component, of = labels.get(name, ("", {}))
        if style == "modules" and name.startswith("run_"):
            continue  # adapters, which are the model itself in the other styles
        seen, bound = defaultdict(int), {each.arg for each in function.args.args}
        placed = [(statement, block) for block in blocks(function.body) for statement in block]
        for statement, block in sorted(placed, key=lambda each: each[0].lineno):
            called = assigned(statement)
            terms = of.get(called, "")
            if isinstance(terms, list):
                terms = terms[min(seen[called], len(terms) - 1)]
            seen[called] += 1
            if terms:
                found.append((component, name, tuple(terms.split()), statement, block, frozenset(bound)))
            bound |= stored(statement)
    return found


def stored(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


# --- Mutations ------------------------------------------------------------------------------------

OPERATORS = {ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add], ast.Div: [ast.Mult],
             ast.Pow: [ast.Mult]}
COMPARED = {ast.GtE: [ast.Gt, ast.LtE], ast.Gt: [ast.GtE, ast.Lt], ast.Eq: [ast.NotEq]}
# Functions that one may take for another, and what has the same role.
FUNCTIONS = [["cos", "sin"], ["mean", "sum", "amax"], ["amax", "amin"], ["max", "min"], ["sqrt", "rsqrt"],
             ["sigmoid", "tanh"], ["exp", "exp2"], ["erf", "tanh"], ["erfc", "erf"], ["relu", "silu", "gelu"],
             ["tril", "triu"], ["softmax", "log_softmax", "sigmoid"], ["any", "all"], ["maximum", "minimum"]]
OF_BLOCKS = ["x", "y", "h", "h2"]
ROLES = [["w1", "w2", "w3"], ["w1_weight", "w2_weight"], ["q", "k", "v"], ["ln1", "ln2"], ["cos", "sin"],
         ["gate", "up", "value"], ["first", "second"], ["x1", "x2"], ["y1", "y2"], ["w_q", "w_k", "w_v", "w_o"],
         ["q_proj", "k_proj", "v_proj", "output_proj"], ["a", "g"], ["exps", "total"]]
LEFT_OUT = set("""relu silu gelu sigmoid softmax sqrt rsqrt exp cos sin erf erfc mean sum square pow rmsnorm rope
    rotate turn tril triu transpose t logical_not ln1 ln2 ln_final weigh movedim activation""".split())
LAYERS = ["{}[1:]", "{}[::2]", "[*{0}[1:], *{0}[:1]]", "[*{0}, *{0}[-1:]]", "[*{0}[:1], *{0}]", "[*{0}, *{0}]",
          "[*{0}[:1], *{0}[:0:-1]]"]
# Where little can change, tensors are also turned round, shifted and scaled.
FEW = {"linear": ["x", "w", "weight"], "embedding": ["weight", "weights", "token_ids", "ids"]}
TURNED = ["{}.flip(-1)", "{}.flip(0)", "{}.roll(1, -1)"]


def others(groups, name):
    return [each for group in groups if name in group for each in group if each != name]


def name_of(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def changed(node, **fields):
    return type(node)(**(dict(ast.iter_fields(node)) | fields))


def renamed(node, name):
    return changed(node, **{"attr" if isinstance(node, ast.Attribute) else "id": name})


def exchanged(items, may=lambda first, second: True):
    """Two neighbours exchanged, wherever they may be."""
    for i, (first, second) in enumerate(pairwise(items)):
        if may(first, second):
            yield [*items[:i], second, first, *items[i + 2:]]


def axis_of(node):
    """2 of -2: an axis from the end, mostly."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = getattr(node.operand, "value", None) if negative else None
    return value if isinstance(value, int) else 0


def of_call(node):
    """What may stand for a call: (kind, node)."""
    name, of = name_of(node.func), name_of(getattr(node.func, "value", None))
    for new in others(FUNCTIONS, name):
        yield "function", changed(node, func=renamed(node.func, new))
    if name in LEFT_OUT:
        function = isinstance(node.func, ast.Name) or of in ("torch", "self", "math")
        yield from (("left out", each) for each in (node.args[:1] if function else [node.func.value]))
    for args in exchanged(node.args, lambda first, second: name in ("complex", "where", "movedim")
                          or name_of(second) in others(ROLES, name_of(first))):
        yield "order", changed(node, args=args)
    for keyword in node.keywords:
        if keyword.arg in ("diagonal", "keepdim"):
            yield "axis", changed(node, keywords=[each for each in node.keywords if each is not keyword])


def of_expression(node, component, bound):
    """What may stand for an expression: (kind, node)."""
    def parsed(forms):
        return [ast.parse(form.format(f"({ast.unparse(node)})"), mode="eval").body for form in forms]

    kind, made = "", []
    if isinstance(node, ast.BinOp):
        yield from (("operator", changed(node, op=new())) for new in OPERATORS.get(type(node.op), []))
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult)):
            yield "operands", changed(node, left=node.right, right=node.left)
        second = isinstance(node.op, (ast.Add, ast.Mult)) or isinstance(node.left, ast.Constant)
        kind, made = "left out", [node.left, node.right][:1 + second]
    elif axis_of(node):
        kind, made = "axis", [ast.Constant(axis) for axis in {1: (-2, 0), 2: (-1, 2)}.get(axis_of(node), ())]
    elif isinstance(node, ast.UnaryOp):
        kind, made = "sign", [node.operand]
    elif isinstance(node, ast.Compare):
        kind, made = "comparison", [changed(node, ops=[new()]) for new in COMPARED.get(type(node.ops[0]), [])]
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        other = {0: [1], 1: [0, 2], 2: [1, 3]}.get(node.value, [node.value * 2, node.value - 1])
        kind = "axis" if isinstance(node.value, bool) else "constant"
        made = [ast.Constant(value) for value in ([not node.value] if kind == "axis" else other)]
    elif isinstance(node, ast.Slice) and node.step:
        first = node.lower.value if node.lower else 0
        kind, made = "axis", [changed(node, lower=ast.Constant(1 - first)), changed(node, step=None)]
    elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        kind, made = "order", [changed(node, elts=elts) for elts in exchanged(node.elts)]
    elif isinstance(node, ast.Attribute):
        yield from (("name", renamed(node, name)) for name in others(ROLES, node.attr))
        kind, made = "axis", [node.value] * (node.attr in ("T", "mT"))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        roles = ROLES + [OF_BLOCKS] * (component == "block")
        yield from (("name", renamed(node, name)) for name in others(roles, node.id) if name in bound)
        if node.id in FEW.get(component, []):
            scaled = ["{} // 2"] if "ids" in node.id else ["{} * 2", "-{}"]
            yield from (("constant", each) for each in parsed(scaled))
            yield from (("order", each) for each in parsed(TURNED))
        kind, made = "axis", parsed(["{}.mT"] * (node.id in ("q", "k", "v", "scores", "mask")))
    elif isinstance(node, ast.Call):
        yield from of_call(node)
        kind, made = "layers", parsed(LAYERS * (name_of(node.func) in ("range", "list")))
    yield from ((kind, each) for each in made)


def places(node):
    """The nodes of a statement, without what is in strings and in other statements."""
    for _, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and not isinstance(each, (ast.JoinedStr, ast.stmt)):
                yield each
                if not axis_of(each):
                    yield from places(each)


def rebuilt(node, old, new):
    """A copy of a tree with a node in another's place."""
    if node is old:
        return new
    if isinstance(node, list):
        return [rebuilt(each, old, new) for each in node]
    if isinstance(node, ast.AST):
        return type(node)(**{name: rebuilt(value, old, new) for name, value in ast.iter_fields(node)})
    return node


def of_statement(statement, component, block, bound):
    """What may stand for a statement and those up to another: (kind, [statement], the other)."""
    for node in places(statement):
        for kind, new in of_expression(node, component, bound):
            yield kind, [rebuilt(statement, node, new)], statement
    names, used = stored(statement), {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)
                                      and isinstance(each.ctx, ast.Load)}
    following = block[block.index(statement) + 1:]
    if isinstance(statement, ast.For) or names & used and names <= bound:
        yield "left out", [ast.Pass()], statement
        yield "repeated", [statement, statement], statement
    if names and names <= bound and following and not isinstance(following[0], ast.Return):
        yield "order", [following[0], statement], following[0]
    if isinstance(statement, ast.Return) and component in (*FEW, "activations"):
        for form in ("return 2 * ({})", "return -({})"):
            yield "constant", ast.parse(form.format(ast.unparse(statement.value))).body, statement


def mutants(style):
    """Every mutant of a style."""
    lines = submissions.make(style).splitlines()
    for component, function, terms, statement, block, bound in labelled(style):
        for kind, new, last in of_statement(statement, component, block, bound):
            first, end = statement.lineno - 1, last.end_lineno
            made = [" " * statement.col_offset + line for each in new
                    for line in ast.unparse(ast.fix_missing_locations(each)).splitlines()]
            text = "\n".join([*lines[:first], *made, *lines[end:]]) + "\n"
            yield Mutant(style, component, function, kind, terms, first + 1,
                         "\n".join(lines[first:end]).strip(), "\n".join(made).strip(), text)


# --- Drawing --------------------------------------------------------------------------------------


def cases():
    """{problem: [arguments]} of the shapes that the course has."""
    import torch

    made = torch.Generator().manual_seed(1)

    def drawn(*shape):
        return torch.randn(*shape, generator=made)

    def weight(*shape):
        return drawn(*shape) / shape[-1] ** 0.5

    def gain():
        return 1 + drawn(16) / 2

    def block(prefix="", swiglu=True):
        each = {f"attn.{name}_proj.weight": weight(16, 16) for name in ("q", "k", "v", "output")}
        each |= {"ln1.weight": gain(), "ln2.weight": gain(), "ffn.w1.weight": weight(24, 16),
                 "ffn.w2.weight": weight(16, 24)} | ({"ffn.w3.weight": weight(24, 16)} if swiglu else {})
        return {prefix + name: value for name, value in each.items()}

    found = defaultdict(list)
    for batch in ((2, 3), (1,), ()):
        x, positions = drawn(*batch, 6, 16), torch.tensor([0, 3, 4, 7, 9, 30])
        w1, w2, w3, qkvo = weight(24, 16), weight(16, 24), weight(24, 16), [weight(16, 16) for _ in range(4)]
        ids = torch.randint(11, (*batch, 6), generator=made)
        found["linear"] += [(16, 24, w1, each) for each in (x, x.flatten()[:16])]
        found["embedding"] += [(11, 16, drawn(11, 16), each) for each in (ids, ids.flatten()[0])]
        found["rmsnorm"].append((16, 1e-3, gain(), x * torch.tensor([[1.0], [2], [1], [0.03], [1], [0.3]])))
        for name in ("relu", "silu", "gelu"):
            found[name].append((3 * x,))
            found[f"ffn_{name}"].append((w1, w2, x))
        found["glu"].append((w1, w3, x))
        found["ffn_swiglu"].append((16, 24, w1, w2, w3, x))
        found["softmax"] += [(3 * x, dim) for dim in range(-1, len(batch) + 1)]
        found["softmax"].append((x.flatten()[:9], 0))
        found["rope"].append((16, 10000.0, 64, x, positions))
        mask = torch.rand(*batch, 6, 9, generator=made) < 0.6
        mask[..., 0] = True
        found["scaled_dot_product_attention"] += [
            (2 * drawn(*batch, 6, 16), drawn(*batch, 9, 16), drawn(*batch, 9, 10), each) for each in (mask, None)]
        found["multihead_self_attention"].append((16, 4, *qkvo, 2 * x))
        found["multihead_self_attention_with_rope"] += [
            (16, 4, 64, 10000.0, *qkvo, 2 * x, each) for each in (positions, None)]
        found["multihead_self_attention_fused_qkv"].append((16, 4, torch.cat(qkvo[:3]), qkvo[3], 2 * x))
        found["transformer_block"].append((16, 4, 24, 64, 10000.0, block(), x))
        found["transformer_block_post_norm"].append((16, 4, 24, 64, 10000.0, block(), x))
        found["transformer_block_gelu"].append((16, 4, 24, block(swiglu=False), x))
        layers = {name: value for n in range(3) for name, value in block(f"layers.{n}.").items()}
        layers |= {"token_embeddings.weight": drawn(11, 16), "ln_final.weight": gain(),
                   "lm_head.weight": weight(11, 16)}
        found["transformer_lm"].append((11, 64, 16, 3, 4, 24, 10000.0, layers, ids))
    return dict(found)


def outputs(text, inputs, problems):
    """{problem: what its cases give, or the exception}."""
    import torch

    module, found = {"__name__": "adapters"}, {}
    exec(compile(text, "adapters.py", "exec"), module)
    for problem in problems:
        solve = module[f"run_{problem}".replace("ffn_swiglu", "swiglu")]
        try:
            with torch.no_grad():
                found[problem] = [solve(*copy.deepcopy(each)).double() for each in inputs[problem]]
        except Exception as error:
            found[problem] = error
    return found


def shapes(answers):
    """Of the answers to the cases of one problem; or the exception."""
    return answers if isinstance(answers, Exception) else [each.shape for each in answers]


def differ(first, second, tolerance):
    """Whether the answers to the cases of one problem do."""
    if shapes(first) != shapes(second):
        return True
    for a, b in zip(first, second):
        finite = b.isfinite()
        if (a.isfinite() != finite).any():
            return True
        if finite.any() and (a - b)[finite].abs().max() > tolerance * b[finite].abs().max():
            return True
    return False


def of_slips(inputs):
    """{problem: [what a slip gives]} of the slips of all styles, for the components that they are in."""
    found = defaultdict(list)
    for style in STYLES:
        for slip in submissions.names(style):
            components = [component for component, name in terms_of_mistakes() if name == submissions.mistake(slip)]
            problems = {problem for each in components for problem in PROBLEMS[each].split()}
            given = outputs(submissions.make(style, [slip]), inputs, problems | set(submissions.problems(slip)))
            for problem, answers in given.items():
                found[problem].append(answers)
    return found


def draw(count, seed):
    """`count` mutants, and how many only raise an exception: ([Mutant], {component: number})."""
    import torch

    torch.set_num_threads(1)  # the work is small
    inputs, chance, drawn, seen, raised = cases(), random.Random(seed), [], set(), defaultdict(int)
    right, known = outputs(submissions.make(STYLES[0]), inputs, inputs), of_slips(inputs)
    left = {component: [] for component in LABELS}
    for style in STYLES:
        for mutant in mutants(style):
            left[mutant.component].append(mutant)

    def one_of(several, key):
        """Those of one key, each as likely as the others, however many it has."""
        chosen = chance.choice(sorted({key(each) for each in several}))
        return [each for each in several if key(each) == chosen]

    def counted(mutant):
        """The mutant with what is wrong in it, if it is one that counts."""
        given = outputs(mutant.text, inputs, inputs)
        if any(shapes(given[problem]) != shapes(right[problem]) for problem in right):
            raised[mutant.component] += 1
            return None
        own = [problem for problem in PROBLEMS[mutant.component].split()
               if differ(given[problem], right[problem], 1e-2)]
        if all(any(not differ(given[problem], each, 1e-3) for each in known[problem]) for problem in own):
            return None
        for problem in own:
            known[problem].append(given[problem])
        failing = tuple(problem for problem in right if differ(given[problem], right[problem], 1e-4))
        return replace(mutant, own=tuple(own), failing=failing)

    def next_of(component):
        while left[component]:
            of_style = one_of(left[component], lambda each: each.style)
            mutant = chance.choice(one_of(of_style, lambda each: each.operator))
            left[component].remove(mutant)
            if (mutant.function, mutant.after) not in seen:
                seen.add((mutant.function, mutant.after))
                if found := counted(mutant):
                    return found

    while len(drawn) < count and any(left.values()):
        drawn += filter(None, map(next_of, LABELS))
    return drawn[:count], dict(raised)


# --- Judging --------------------------------------------------------------------------------------

FILES = {"multihead_self_attention": "multihead", "transformer_block": "block", "transformer_lm": "lm"}


@cache
def words(folder):
    """{file: its words} of the known mistakes."""
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))}


def component_of(folder, problem, mistake):
    """The component whose mistake this is, as README.md there says where it is looked up."""
    own = next(file for file, each in words(folder).items()
               if any(fnmatch.fnmatch(problem, pattern) for pattern in each["problems"]))
    for file in (own, *words(folder)[own].get("parts", [])):
        if {mistake, f"{problem}__{mistake}"} & set(words(folder)[file]):
            return "glu" if problem == "glu" and file == "feed_forward" else FILES.get(file, file)
    return FILES.get(own, own)


@cache
def terms_of_mistakes():
    """{(component, mistake): its terms}, those of the statements whose slip it is."""
    found = defaultdict(set)
    for style in STYLES:
        for number, (_, forms) in enumerate(submissions.read(submissions.source(style)), 1):
            for component, _, terms, statement, _, _ in labelled(style):
                if statement.lineno <= number <= statement.end_lineno and not isinstance(statement, ast.For):
                    for name in set(forms) & set(submissions.names(style)):
                        found[component, submissions.mistake(name)].update(terms)
    return dict(found)


def statements(mutant, problem, one, folder):
    """Whether each thing that is said of a problem names the right term or part: [bool]."""
    own, terms = problem in mutant.own, set(mutant.terms)
    # In a composite, every part that has the mutant inside is wrong.
    parts = {name for name in LABELS if set(PROBLEMS[name].split()) & set(mutant.failing)} | {*mutant.failing}
    right = terms if own else (parts | {*PARTS[mutant.component].split()}) - {problem}
    for clue in one.get("clues", []):
        yield bool(right & set(clue["terms"]))
    for diagnosis in one["diagnoses"]:
        if diagnosis["agrees"] == diagnosis["of"]:
            continue  # it has those numbers
        names = {part for name in (diagnosis["mistake"], *diagnosis.get("also", [])) for part in name.split("+")}
        of = {(component_of(folder, problem, name), name) for name in names}
        yield any(terms & (terms_of_mistakes().get((component, name), terms) if component == mutant.component
                           else {*PARTS[component].split()}) for component, name in of)
    if own and mutant.component in (*FEW, "activations"):
        yield from (True for _ in one["properties"])


def listed(mutant, problems):
    """Whether it has the numbers of a known mistake after all, of one that no slip of these styles is."""
    return any(one["agrees"] == one["of"] for name in mutant.own if name in problems
               for one in problems[name]["diagnoses"])


def judge(mutant, problems, folder):
    """(problems of which something true is said, problems of which only something false is)."""
    right, wrong = set(), set()
    for problem, one in problems.items():
        said = list(statements(mutant, problem, one, folder))
        if any(said) and (all(said) or problem not in mutant.own):
            right.add(problem)
        elif said:
            wrong.add(problem)
    return right, wrong


def described(number, mutant):
    return (f"{number}. {mutant.style} {mutant.component} {mutant.function}:{mutant.line} ({mutant.operator}); "
            f"terms: {', '.join(mutant.terms)}; wrong: {', '.join(mutant.failing)}\n"
            f"    - {mutant.before}\n    + {mutant.after}".replace("\n    ", "\n      "))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=int, metavar="COUNT", help="print so many, for run.py")
    parser.add_argument("--show", type=int, metavar="K")
    parser.add_argument("--write", nargs=2, metavar=("K", "FOLDER"))
    options = parser.parse_args()
    count = options.json or options.show or int(options.write[0])
    drawn, raised = draw(count, options.seed)
    if options.json:
        print(json.dumps({"mutants": [asdict(each) for each in drawn], "raised": raised}))
    elif options.show:
        print(described(count, drawn[-1]))
    else:
        Path(options.write[1]).mkdir(parents=True, exist_ok=True)
        (Path(options.write[1]) / "adapters.py").write_text(drawn[-1].text)


if __name__ == "__main__":
    main()
