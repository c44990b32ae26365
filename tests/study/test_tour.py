# labels: unit notebooks
"""The picture of the block and the tour of the site: their links lead somewhere, their numbers are the
model's."""

import numpy as np
import pytest

import block
import model
import prenorm
import search
import tour
from places import ROOT


@pytest.fixture(scope="module")
def steps():
    return tour.steps()


def test_every_part_leads_to_a_notebook_and_to_a_step(steps):
    names = [step.name for step in steps]
    assert len(names) == len(set(names))
    for part in block.parts():
        assert part.page is None or (ROOT / f"notebooks/{part.page}.ipynb").exists(), part
        assert part.step in names, part
    for frame in block.frames():
        assert (ROOT / f"notebooks/{frame.page}.ipynb").exists(), frame


def test_the_picture_meets_the_steps_in_their_order(steps):
    shown = list(dict.fromkeys(part.step for part in block.parts()))
    assert shown == [step.name for step in steps]


def test_boxes_do_not_overlap_and_lie_in_their_frames():
    drawing = block.drawing()
    parts = drawing["parts"]
    assert all(a.bottom < b.y for a, b in zip(parts, parts[1:]))
    for frame in drawing["frames"]:
        inside = [part for part in parts if frame.top < part.y and part.bottom < frame.bottom]
        assert inside == parts[frame.first:frame.last + 1], frame.title
        assert 0 < frame.left and frame.right < drawing["width"]
    assert [parts[into].label for _, into in block.residuals()] == ["+", "+"]


@pytest.mark.parametrize("solution", ["reference", "plain"])
def test_the_steps_give_the_logits_of_the_model(solution):
    loaded = prenorm.load(solution)
    np.testing.assert_allclose(tour.values(loaded)["logits"], tour.whole_model(loaded), rtol=1e-12,
                               atol=1e-12)


def test_the_head_that_is_followed_copies():
    """What the steps say of it, its block and the block before."""
    fast = prenorm.load("fast")
    copying, v = model.heads(fast)["copying"], tour.values(fast)
    assert np.unravel_index(copying.argmax(), copying.shape) == (tour.BLOCK, tour.HEAD)
    assert tour.BLOCK == len(copying) - 1
    last = v["weights"][tour.HEAD][-1]
    assert tour.TEXT[last.argmax()] == "i" == chr(v["next"][-1].argmax())
    assert last.max() > 0.8 and v["next"][-1].max() > 0.9
    np.testing.assert_allclose(v["next"][1][[ord(vowel) for vowel in "aeiou"]], 0.2, atol=0.02)
    _, weights = model.forward(fast, model.ids(tour.TEXT), model.arguments())
    assert all(weights[tour.BLOCK - 1, 1, vowel, vowel - 1] > 0.9 for vowel in map(tour.TEXT.index, "io"))


def test_a_wrong_step_is_noticed(monkeypatch):
    monkeypatch.setattr(tour, "_heads", lambda tensor: np.split(tensor[:, ::-1], 4, axis=1))
    with pytest.raises(ValueError, match="logits of transformer_lm"):
        tour.steps()


def test_tables_show_the_followed_token_and_no_later_one(steps):
    shown = {step.name: step.tables for step in steps}
    for table in (table for step in steps for table in step.tables):
        rows = table.cells
        assert [name for name, followed, _ in rows if followed] == [tour.TEXT[tour.FOLLOWED]]
        assert all(len(cells) == len(table.columns) for _, _, cells in rows), table.caption
        assert not [text for _, _, cells in rows for text, *_ in cells if text == "−0.00"], table.caption
    for name, text in (("scores", "−∞"), ("weights", "0.00")):
        for table in shown[name]:
            assert all(cells[later][0] == text for row, (_, _, cells) in enumerate(table.cells)
                       for later in range(row + 1, len(cells))), table.caption


def test_every_step_lights_lines_of_both_sources(steps):
    for step in steps:
        assert [title for title, _ in step.excerpts] == ["reference", "CUDA, naive"]
        for _, code in step.excerpts:
            assert 0 < code.count('class="lit') <= code.count("<span"), step.name


def test_an_unknown_step_is_an_error():
    with pytest.raises(ValueError, match="has no step"):
        tour.excerpts("rmsnorm", ["no such step"])


def test_a_device_record_becomes_a_count():
    pytest.importorskip("nbconvert")
    import pages

    other = (["cuda-tf32"], "recorded 4/86 passed on X, 2026-11-27")
    count, where = pages._on_a_device([other, (["cuda", "cuda-naive"], "recorded 85/86 passed on X, 2026-11-27; changed")])
    assert (str(count), count.state, where) == ("85/86", "some", "X, 2026-11-27; changed")
    assert pages._on_a_device([other, (["cuda"], "not yet run on a device")]) is None


def test_search_finds_headings_problems_and_mistakes():
    page = ('<h1>RMSNorm</h1><h2 id="a&b">The <code>ladder</code><a class="anchor-link" href="#x">¶</a>'
            '</h2><h3>no place</h3><section class="both" id="code-rmsnorm">\n<h3><code>rmsnorm</code>'
            '</h3></section><section class="wrong" id="mistakes-rmsnorm"><table>'
            '<td class="words"><b>Without eps</b>: x</td></table></section>')
    assert search.entries("rmsnorm.html", page) == [
        ("RMSNorm", "", "rmsnorm.html"), ("The ladder", "RMSNorm", "rmsnorm.html#a&b"),
        ("rmsnorm, side by side", "RMSNorm", "rmsnorm.html#code-rmsnorm"),
        ("Mistake: Without eps", "RMSNorm", "rmsnorm.html#mistakes-rmsnorm")]
