"""The oracle against values that a person can compute, against torch.nn.functional where that has
the function, and against mpmath where float64 itself is in doubt."""

import inspect
import math
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch
import torch.nn.functional as F

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
sys.path.insert(0, str(FIXTURES))

import oracle  # noqa: E402
import signature  # noqa: E402

mpmath.mp.dps = 50


def random(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def exactly(values):
    """The values as a float64 tensor; torch.tensor alone would round them to float32."""
    return torch.tensor(values, dtype=torch.float64)


def near(actual, expected, rtol=1e-13, atol=1e-14):
    if not isinstance(expected, torch.Tensor):
        expected = exactly(np.array(expected))
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def weights(d_model, seed=0):
    return [random(d_model, d_model, seed=seed + i) / math.sqrt(d_model) for i in range(4)]


# contracts ---------------------------------------------------------------------------------------


def test_all_problems_are_there():
    files = {path.stem for path in FIXTURES.glob("*.h5")}
    assert set(oracle.PROBLEMS) == files and len(files) >= 20


@pytest.mark.parametrize("problem", oracle.PROBLEMS.values(), ids=lambda p: p.name)
def test_arguments_are_the_signature_s(problem):
    contract = signature.parse(problem.signature)
    parameters = inspect.signature(problem.function).parameters
    assert list(parameters) == [t.name for t in contract.inputs] + list(contract.scalars)
    assert problem.scalar_names() == list(contract.scalars)
    for tensor in contract.inputs:
        assert tensor.optional == (parameters[tensor.name].default is None)
    for scalar, has_default in contract.scalars.items():
        assert has_default == (parameters[scalar].default is not inspect.Parameter.empty)
        if has_default:
            text = problem.signature.split(f"{scalar}: float = ")[1]
            assert parameters[scalar].default == float(text.replace(",", " ").split()[0])


def test_the_post_norm_contract_is_the_block_s():
    block, contrast = "transformer_block", "transformer_block_post_norm"
    assert oracle.PROBLEMS[block].signature == oracle.PROBLEMS[contrast].signature


# linear, embedding, rmsnorm ----------------------------------------------------------------------


def test_linear():
    x, weight = random(2, 3, 5), random(4, 5, seed=1)
    near(oracle.linear(x, weight), F.linear(x, weight))
    near(oracle.linear(exactly([1, 2]), exactly([[1, 0], [3, -1], [0, 2]])),
         [1, 1, 4])


def test_linear_of_nothing():
    assert oracle.linear(random(0, 5), random(3, 5)).shape == (0, 3)
    assert oracle.linear(random(2, 0), random(0, 0)).shape == (2, 0)
    with pytest.raises(ValueError, match="d_in"):
        oracle.linear(random(2, 0), random(3, 0))


def test_embedding():
    ids, weight = torch.tensor([[4, 0], [1, 4]]), random(5, 3)
    assert torch.equal(oracle.embedding(ids, weight), F.embedding(ids, weight))
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match="outside"):
            oracle.embedding(torch.tensor([wrong]), weight)


def test_rmsnorm_by_hand():
    near(oracle.rmsnorm(exactly([3, 4]), exactly([1, 2]), eps=12.5), [0.6, 1.6])
    near(oracle.rmsnorm(exactly(np.zeros((2, 3))), exactly([1, 1, 1])), np.zeros((2, 3)))


def test_rmsnorm_in_many_digits():
    x, weight, eps = random(7) * 1e-3, random(7, seed=1), 1e-5
    mean = sum(mpmath.mpf(v) ** 2 for v in x.tolist()) / 7
    expected = [float(mpmath.mpf(a) / mpmath.sqrt(mean + mpmath.mpf(eps)) * mpmath.mpf(w))
                for a, w in zip(x.tolist(), weight.tolist())]
    near(oracle.rmsnorm(x, weight, eps), expected, rtol=1e-15)


# activations -------------------------------------------------------------------------------------

SPECIAL = exactly([0.0, -0.0, 1, -1, math.nan, math.inf, -math.inf])


@pytest.mark.parametrize("name", ["relu", "silu", "gelu"])
def test_activations_against_torch(name):
    function = oracle.PROBLEMS[name].function
    x = torch.linspace(-3, 40, 500, dtype=torch.float64)
    near(function(x), getattr(F, name)(x), atol=1e-15)
    near(function(SPECIAL), getattr(F, name)(SPECIAL))


def test_silu_in_many_digits():
    x = exactly([-1000, -745, -100, -30, -1e-300, 1e-300, 0.5, 30, 1000])
    y = oracle.silu(x)
    assert torch.isfinite(y).all()
    for a, b in zip(x.tolist(), y.tolist()):
        exact = mpmath.mpf(a) / (1 + mpmath.exp(-mpmath.mpf(a)))
        assert abs(b - exact) <= max(abs(exact) * mpmath.mpf(1e-15), mpmath.mpf(2) ** -1060)


def test_gelu_s_tail_in_many_digits():
    x = torch.linspace(-5.5, -4, 301, dtype=torch.float64)
    for a, b in zip(x.tolist(), oracle.gelu(x).tolist()):
        exact = mpmath.mpf(a) * mpmath.erfc(-mpmath.mpf(a) / mpmath.sqrt(2)) / 2
        assert abs(b - exact) <= abs(exact) * mpmath.mpf(1e-14)


# feed_forward ------------------------------------------------------------------------------------


def test_feed_forward_against_torch():
    x, w1, w3, w2 = random(3, 4), random(6, 4, seed=1), random(6, 4, seed=2), random(4, 6, seed=3)
    h1, h3 = F.linear(x, w1), F.linear(x, w3)
    near(oracle.glu(x, w1, w3), F.glu(torch.cat([h3, h1], dim=-1)))  # torch's gate comes second
    near(oracle.ffn_relu(x, w1, w2), F.linear(F.relu(h1), w2))
    near(oracle.ffn_silu(x, w1, w2), F.linear(F.silu(h1), w2))
    near(oracle.ffn_gelu(x, w1, w2), F.linear(F.gelu(h1), w2))
    near(oracle.ffn_swiglu(x, w1, w2, w3), F.linear(F.silu(h1) * h3, w2))


def test_swiglu_by_hand():
    one = exactly([[1]])
    near(oracle.ffn_swiglu(2 * one, w1=3 * one, w2=5 * one, w3=7 * one),
         [[6 / (1 + math.exp(-6)) * 14 * 5]])


# rope --------------------------------------------------------------------------------------------


def test_rope_by_hand():
    x = exactly([[1, 0, 0, 1]])
    turned = oracle.rope(x, torch.tensor([2]), theta=100.0, max_seq_len=3)
    near(turned, [[math.cos(2), math.sin(2), -math.sin(0.2), math.cos(0.2)]])


@pytest.mark.parametrize("theta", [10000.0, 500000.0])
def test_rope_at_131071_in_many_digits(theta):
    x, position = random(1, 64), 131071
    y = oracle.rope(x, torch.tensor([position]), theta, max_seq_len=131072)
    for k in range(32):
        angle = position / mpmath.mpf(theta) ** (mpmath.mpf(2 * k) / 64)
        a, b = mpmath.mpf(float(x[0, 2 * k])), mpmath.mpf(float(x[0, 2 * k + 1]))
        assert abs(float(y[0, 2 * k]) - (a * mpmath.cos(angle) - b * mpmath.sin(angle))) < 1e-10
        assert abs(float(y[0, 2 * k + 1]) - (a * mpmath.sin(angle) + b * mpmath.cos(angle))) < 1e-10


def test_rope_broadcasts_both_ways():
    x, many = random(4, 6), torch.tensor([[0, 1, 2, 3], [9, 5, 5, 0]])
    both = oracle.rope(x, many, max_seq_len=10)
    assert both.shape == (2, 4, 6)
    near(both[1], oracle.rope(x, many[1], max_seq_len=10))
    stacked = torch.stack([x, 2 * x])
    near(oracle.rope(stacked, many[0], max_seq_len=10)[1], 2 * both[0])


def test_rope_errors():
    with pytest.raises(ValueError, match="odd"):
        oracle.rope(random(2, 5), torch.tensor([0, 1]), max_seq_len=2)
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match="outside"):
            oracle.rope(random(2, 4), torch.tensor([0, wrong]), max_seq_len=2)


# softmax and attention ---------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_softmax_against_torch(dim):
    x = random(3, 4, 5) * 5
    x[1, 2, ::2] = -math.inf
    x[2] = -math.inf
    near(oracle.softmax(x, dim), F.softmax(x, dim))


def test_softmax_of_nothing():
    assert oracle.softmax(random(3, 0), 1).shape == (3, 0)
    for wrong in (1, -2):
        with pytest.raises(ValueError, match="dim"):
            oracle.softmax(random(3), wrong)


@pytest.mark.parametrize("shift", [0, 1000, -1000, 1e6])
def test_softmax_far_from_zero_in_many_digits(shift):
    x = random(6) * 3 + shift
    exps = [mpmath.exp(mpmath.mpf(v)) for v in x.tolist()]
    near(oracle.softmax(x, 0), [float(e / sum(exps)) for e in exps], rtol=1e-14)


def attention_by_loops(q, k, v, mask):
    """One query at a time, over just the keys that it attends to."""
    y = torch.zeros(q.shape[0], v.shape[1], dtype=torch.float64)
    for i in range(q.shape[0]):
        allowed = [j for j in range(k.shape[0]) if mask[i, j]]
        if allowed:
            scores = exactly([float(q[i] @ k[j]) / math.sqrt(q.shape[1]) for j in allowed])
            y[i] = F.softmax(scores, 0) @ v[allowed]
    return y


def test_attention_against_loops():
    q, k, v = random(4, 3), random(6, 3, seed=1), random(6, 2, seed=2)
    mask = torch.from_numpy(np.random.default_rng(3).random((4, 6)) < 0.5)
    mask[1], mask[2] = False, True
    expected = attention_by_loops(q, k, v, mask)
    near(oracle.scaled_dot_product_attention(q, k, v, mask), expected)
    assert not oracle.scaled_dot_product_attention(q, k, v, mask)[1].any()
    full = oracle.scaled_dot_product_attention(q, k, v)
    near(full, F.softmax(q @ k.T / math.sqrt(3), -1) @ v)
    near(full[2], oracle.scaled_dot_product_attention(q, k, v, mask)[2])


def test_attention_broadcasts():
    q, k, v = random(2, 1, 4, 3), random(5, 6, 3, seed=1), random(6, 2, seed=2)
    mask = torch.ones(2, 1, 4, 6, dtype=torch.bool).tril()
    y = oracle.scaled_dot_product_attention(q, k, v, mask)
    assert y.shape == (2, 5, 4, 2)
    near(y[1, 3], oracle.scaled_dot_product_attention(q[1, 0], k[3], v, mask[1, 0]))


def test_attention_of_infinite_scores():
    q, k, v = exactly([[1, 1], [-math.inf, 1]]), exactly(np.ones((3, 2))), random(3, 2)
    y = oracle.scaled_dot_product_attention(q, k, v)
    near(y[0], v.mean(0))  # all keys alike
    near(y[1], [0, 0])
    k[1, 0] = -math.inf
    near(oracle.scaled_dot_product_attention(q[:1], k, v)[0], (v[0] + v[2]) / 2)


def test_attention_of_nothing():
    with pytest.raises(ValueError, match="axis m"):
        oracle.scaled_dot_product_attention(random(2, 3), random(0, 3), random(0, 4))
    with pytest.raises(ValueError, match="d_k"):
        oracle.scaled_dot_product_attention(random(2, 0), random(5, 0), random(5, 4))
    y = oracle.scaled_dot_product_attention(random(0, 3), random(0, 3), random(0, 4))
    assert y.shape == (0, 4)


def test_multihead_against_torch_s_module():
    d_model, num_heads, seq = 12, 3, 5
    x, (w_q, w_k, w_v, w_o) = random(2, seq, d_model, seed=9), weights(d_model)
    module = torch.nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w_q, w_k, w_v]))
        module.out_proj.weight.copy_(w_o)
        hidden = torch.ones(seq, seq, dtype=torch.bool).triu(1)  # there True hides
        expected, _ = module(x, x, x, attn_mask=hidden)
    near(oracle.multihead_self_attention(x, w_q, w_k, w_v, w_o, num_heads), expected)
    near(oracle.multihead_self_attention_fused_qkv(x, torch.cat([w_q, w_k, w_v]), w_o, num_heads),
         expected)


def test_multihead_with_rope_is_relative_and_causal():
    x, w = random(2, 5, 8, seed=9), weights(8)

    def attend(positions, x=x):
        return oracle.multihead_self_attention_with_rope(x, *w, positions, num_heads=2,
                                                         max_seq_len=100)

    default = attend(None)
    near(default, attend(torch.arange(5)))
    near(default, attend(torch.arange(5) + 50), rtol=1e-12, atol=1e-12)
    near(attend(torch.full((5,), 7)), oracle.multihead_self_attention(x, *w, 2))
    permuted = torch.tensor([3, 0, 4, 1, 2])
    assert (attend(permuted) - default).abs().max() > 1e-3
    near(attend(permuted)[:, :3], attend(permuted[:3], x[:, :3]))  # causal by index
    near(attend(torch.stack([torch.arange(5), permuted]))[1], attend(permuted)[1])
    near(attend(torch.tensor([9]), x[:, :1]), x[:, :1] @ w[2].T @ w[3].T)  # v is not turned


def test_multihead_with_rope_by_hand():
    eye = exactly(np.eye(2))
    y = oracle.multihead_self_attention_with_rope(eye, eye, eye, eye, eye, num_heads=1,
                                                  max_seq_len=2)
    low, high = math.exp(-math.sin(1) / math.sqrt(2)), math.exp(1 / math.sqrt(2))
    near(y, [[1, 0], [low / (low + high), high / (low + high)]])


def test_multihead_errors():
    x, w = random(3, 8), weights(8)
    with pytest.raises(ValueError, match="num_heads"):
        oracle.multihead_self_attention(x, *w, 3)
    with pytest.raises(ValueError, match="odd"):
        oracle.multihead_self_attention_with_rope(x, *w, num_heads=8, max_seq_len=3)
    with pytest.raises(ValueError, match="position"):
        oracle.multihead_self_attention_with_rope(x, *w, num_heads=2, max_seq_len=2)
    with pytest.raises(ValueError, match="d_qkv"):
        oracle.multihead_self_attention_fused_qkv(x, random(16, 8), w[3], 2)


# transformer_block -------------------------------------------------------------------------------

HAND = {"x": [[2., -2.]], "ln1": [1., 1.], "ln2": [1., 1.], "w1": [[1., 0.]], "w2": [[1.], [1.]],
        **{name: [[1., 0.], [0., 1.]] for name in ("w_q", "w_k", "w_v", "w_o")}}


def test_blocks_by_hand():
    scalars = {"num_heads": 1, "eps": 0.0}
    gated = HAND | {"w3": [[0., -1.]]}
    silu = 1 / (1 + math.exp(-1))
    arrays = {name: np.array(values) for name, values in gated.items()}
    near(exactly(oracle.evaluate("transformer_block", arrays, scalars | {"max_seq_len": 1})),
         [[3 + silu, silu - 3]])
    post = np.array([1 + silu, silu - 1])
    near(exactly(oracle.evaluate("transformer_block_post_norm", arrays,
                                         scalars | {"max_seq_len": 1})),
         [post / np.sqrt((post**2).mean())])
    arrays.pop("w3")
    cdf = (1 + math.erf(1 / math.sqrt(2))) / 2
    near(exactly(oracle.evaluate("transformer_block_gelu", arrays, scalars)),
         [[3 + cdf, cdf - 3]])


def test_a_block_without_output_weights_is_its_residual():
    x, w, ones, zero = random(2, 3, 8), weights(8), exactly(np.ones(8)), exactly(np.zeros((8, 8)))
    w[3] = zero
    y = oracle.transformer_block(x, ones, *w, ones, random(8, 8), zero, random(8, 8), num_heads=2,
                                 max_seq_len=3)
    assert torch.equal(y, x)
    near(oracle.transformer_block_post_norm(x, ones, *w, 2 * ones, random(8, 8), zero,
                                            random(8, 8), num_heads=2, max_seq_len=3, eps=0.0),
         2 * x / x.square().mean(-1, keepdim=True).sqrt())


# transformer_lm ----------------------------------------------------------------------------------


def test_a_model_without_layers_is_embedding_norm_and_head():
    table, head, gain = random(5, 4), random(5, 4), random(4)
    square, wide, back, gains = (torch.zeros(0, *shape, dtype=torch.float64)
                                 for shape in ((4, 4), (6, 4), (4, 6), (4,)))
    ids = torch.tensor([[4, 0], [2, 2]])
    y = oracle.transformer_lm(ids, table, gains, square, square, square, square, gains, wide, back,
                              wide, gain, head, num_heads=2, max_seq_len=2)
    near(y, oracle.linear(oracle.rmsnorm(table[ids], gain), head))


def test_a_model_is_its_blocks_in_order():
    table, head, gain = random(5, 4), random(5, 4), random(4)
    layers = [random(3, *shape) for shape in ((4,), (4, 4), (4, 4), (4, 4), (4, 4), (4,), (6, 4),
                                              (4, 6), (6, 4))]
    ids = torch.tensor([1, 3, 3])
    x = table[ids]
    for layer in range(3):
        x = oracle.transformer_block(x, *(each[layer] for each in layers), 2, max_seq_len=3)
    near(oracle.transformer_lm(ids, table, *layers, gain, head, num_heads=2, max_seq_len=3),
         oracle.linear(oracle.rmsnorm(x, gain), head))
