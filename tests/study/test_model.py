# labels: unit notebooks
# slow labels: unit notebooks
"""The trained model: every solution and the page's JavaScript compute it as PyTorch does, and it has learned."""

import h5py
import numpy as np
import pytest

import model
import prenorm
import tour
from model.text import prompts, stories
from places import ROOT

pytestmark = pytest.mark.usefixtures("home")  # a built program


@pytest.fixture(scope="module")
def pytorch():
    """Prompts, and the logits after the last byte that PyTorch computed in float64: {text: [256]}."""
    with h5py.File(model.HERE / "logits.h5") as file:
        return dict(zip(file["prompts"].asstr(), file["logits"][()], strict=True))


@pytest.mark.parametrize("solution, dtype, tolerance", [
    ("reference", np.float64, 1e-5), ("reference", np.float32, 1e-4), ("fast", np.float32, 1e-4)])
def test_a_solution_has_the_logits_of_pytorch(solution, dtype, tolerance, pytorch):
    transformer_lm, given = prenorm.load(solution).transformer_lm, model.arguments(dtype)
    assert list(pytorch) == prompts()
    for text, expected in pytorch.items():
        np.testing.assert_allclose(transformer_lm(model.ids(text), **given)[-1], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("solution", ["cuda-emulated", "cuda-naive-emulated"])
def test_emulated_kernels_have_the_logits_of_pytorch(solution, pytorch):
    text = list(pytorch)[8]
    np.testing.assert_allclose(prenorm.load(solution).transformer_lm(model.ids(text), **model.arguments())[-1],
                               pytorch[text], rtol=0, atol=1e-4)


@pytest.mark.slow
def test_a_cache_changes_nothing():
    solution, given, token_ids = prenorm.load("reference"), model.arguments(np.float64), model.ids(prompts()[-1])
    cache = {}
    one_by_one = np.vstack([model.forward(solution, token_ids[i:i + 1], given, cache)[0]
                            for i in range(len(token_ids))])
    whole = solution.transformer_lm(token_ids, **given)
    np.testing.assert_allclose(one_by_one, whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.forward(solution, token_ids, given)[0], whole, rtol=0, atol=1e-12)


def test_it_has_learned_what_is_recorded():
    """Unread text; its loss is far below that of pairs of bytes, and about the recorded one."""
    losses, given = model.record()["losses"], model.arguments()
    found = []
    for story in stories(3, 30_000)[0].splitlines():
        token_ids = model.ids(f"\n{story.decode()}\n")[:given["max_seq_len"] + 1]
        logits = prenorm.load("fast").transformer_lm(token_ids[:-1], **given).astype(float)
        found.append(np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(logits)), token_ids[1:]])
    loss = np.concatenate(found).mean()
    assert loss < losses["bigram"] / 3 and abs(loss - losses["model"]) < 0.02


def test_the_page_computes_what_the_reference_computes(chromium, pytorch, tmp_path):
    (tmp_path / "model.js").write_text((ROOT / "notebooks/study/model.js").read_text())
    (tmp_path / "trained_model.js").write_text(tour.trained_model())
    (tmp_path / "page.html").write_text(
        "<title>x</title><script src='model.js'></script><script src='trained_model.js'></script>")
    chromium.open((tmp_path / "page.html").as_uri())
    transformer_lm, given = prenorm.load("reference").transformer_lm, model.arguments()
    chromium.value("trained = new LanguageModel(TRAINED_MODEL), 0")
    for text in pytorch:
        logits = chromium.value(f"trained.restart(), {model.ids(text).tolist()}.map(byte => "
                                "[...trained.read(byte).logits]).at(-1)")
        np.testing.assert_allclose(logits, transformer_lm(model.ids(text), **given)[-1], rtol=0, atol=1e-4)
    assert len(pytorch) == 20 and chromium.complaints == []
