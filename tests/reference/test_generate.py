# labels: unit fixtures
"""reference/examples/generate.cpp: it writes what PyTorch's model would, from the same state dict."""

import os
import subprocess

import h5py
import oracle
import pytest
import torch

from places import ROOT

NAMES = ["ln1", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj", "ln2", "ffn.w1", "ffn.w2",
         "ffn.w3"]
D, D_FF, LAYERS, HEADS, CONTEXT, THETA = 16, 24, 2, 2, 12, 500.0


def generate(*words, code=0):
    done = subprocess.run([os.environ["PRENORM_GENERATE"], *map(str, words)], capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr.decode()


@pytest.fixture(scope="module")
def state_dict():
    torch.manual_seed(3)
    shapes = {"ln": (D,), "ffn.w2": (D, D_FF), "ffn": (D_FF, D), "attn": (D, D)}
    state = {"token_embeddings.weight": torch.randn(256, D), "ln_final.weight": 1 + torch.rand(D),
             "lm_head.weight": torch.randn(256, D)}
    for i in range(LAYERS):
        for name in NAMES:
            shape = next(shape for start, shape in shapes.items() if name.startswith(start))
            state[f"layers.{i}.{name}.weight"] = torch.randn(*shape) / 3
    return state


@pytest.fixture(scope="module")
def weights(state_dict, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "lm.h5"
    with h5py.File(path, "w") as file:
        for name, value in state_dict.items():
            file[name] = value.numpy()
    return path


def greedy(state, text, tokens):
    stacked = [torch.stack([state[f"layers.{i}.{name}.weight"] for i in range(LAYERS)]) for name in NAMES]
    for _ in range(tokens):
        ids = torch.tensor(list(text[-CONTEXT:]))
        logits = oracle.transformer_lm(
            ids, *(each.double() for each in (state["token_embeddings.weight"], *stacked,
                                              state["ln_final.weight"], state["lm_head.weight"])),
            HEADS, THETA, max_seq_len=CONTEXT)[-1]
        best = torch.topk(logits, 2).values
        assert best[0] - best[1] > 1e-3, "float32 may choose another byte: take another seed"
        text += bytes([int(logits.argmax())])
    return text


def test_greedy_text_is_that_of_pytorch(state_dict, weights):
    out, said = generate(weights, "norm", 20, 0, 1, HEADS, CONTEXT, THETA)
    assert out == greedy(state_dict, b"norm", 20) + b"\n"
    assert said == ""


def test_sampled_text_depends_on_the_seed(weights):
    drawn = {seed: generate(weights, "norm", 20, 2, seed, HEADS, CONTEXT, THETA)[0] for seed in (1, 2)}
    assert drawn[1] != drawn[2] and len(drawn[1]) == len(b"norm") + 20 + 1
    assert drawn[1] == generate(weights, "norm", 20, 2, 1, HEADS, CONTEXT, THETA)[0]
    # The colder, the nearer to the likeliest.
    assert generate(weights, "norm", 20, 1e-4, 1, HEADS, CONTEXT, THETA) == \
        generate(weights, "norm", 20, 0, 1, HEADS, CONTEXT, THETA)


def test_the_trained_model_copies_a_song():
    begun = "\nKuso has a red lamp. Kuso sings: mi to la, m"
    out, _ = generate(ROOT / "notebooks/model/tiny.h5", begun, 8, 0, 1, 4, 160)
    assert out.endswith(b" mi to la, mi to la!\n")


def test_without_a_file_the_weights_are_random():
    out, said = generate("", "a", 5)
    assert len(out) == 7 and out == generate("", "a", 5)[0]
    assert said == "No weights are given: these are random, so expect noise.\n"


@pytest.mark.parametrize("words, message", [
    (["--help"], "no such arguments"),
    (["", "a", "many"], "no number: many"),
    (["none.h5"], "none.h5: cannot load parameters"),
])
def test_what_is_wrong_is_said_with_the_usage(words, message):
    said = generate(*words, code=1)[1]
    assert message in said and "usage: generate [WEIGHTS.h5" in said


def test_another_model_is_refused(state_dict, tmp_path):
    path = tmp_path / "lm.h5"
    with h5py.File(path, "w") as file:
        for name, value in state_dict.items():
            file[name] = value.numpy()[:100]
    assert "token_embeddings.weight is float32[100, 16], wanted float32[256, 16]" in generate(path, code=1)[1]
