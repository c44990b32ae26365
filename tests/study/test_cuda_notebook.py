# labels: notebooks emulated slow
# timeout: 1200
# processors: 2
"""The notebook that writes a kernel in five steps: what docs/cuda-submissions.md tells of them is what
emulator and profiler say."""
import re

import pytest
from conftest import not_sanitized
from grading import grade
from guide import blocks, plain
from notebook_runs import ROOT, executed, written

pytestmark = [pytest.mark.usefixtures("home"),
              not_sanitized("there is no emulator for submissions")]


def test_the_guide_tells_what_the_notebook_of_kernels_says(tmp_path):
    """The table of the five steps in docs/cuda-submissions.md, from one execution."""
    outputs = executed("cuda_without_a_gpu", tmp_path)
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 2
    told = ["".join(output.get("text", "")) for output in outputs]
    text = " ".join(" ".join(told).split())
    guide = ROOT / "docs/cuda-submissions.md"
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in guide.read_text().splitlines() if re.match(r"\| (an empty|\d\.)", line)]
    assert len(rows) == 6
    assert rows[0][1].strip("`") in text
    for number, row in enumerate(rows[1:], 1):
        judged = next(each for each in told if each.startswith(f"step{number}.cu: "))
        if "cases pass" not in row[1]:
            assert re.sub(r"…:", f"step{number}.cu:", row[1].strip("`")) in " ".join(judged.split())
            continue
        assert judged.startswith(f"step{number}.cu: {int(row[1].split()[0])} PASSED, 1 SKIPPED")
        loads, stores = row[2].split(", ")
        profile = next(each for each in told if f"\nstep{number}.cu  " in each)
        [whole] = re.findall(rf"^step{number}\.cu .*", profile, re.M)
        kernel = profile.split(whole)[1].splitlines()[1]
        assert whole.split()[2] == row[3]
        cells = re.split(r"  +", kernel.strip())
        assert [cells[2], cells[3]] == [loads, stores]
        assert [cells[6].strip("-"), cells[7].strip("-")] == [row[4], row[5]]
    # The finding of step 2, and the advice on step 1.
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "host.cuh").write_text(written("cuda_without_a_gpu", ".cuh")["host"])
    (mine / "step1.cu").write_text(written("cuda_without_a_gpu", ".cu")["step1"])
    _, _, said = grade(mine, "--rubric", "cuda-intro", "--problem", "rmsnorm", tmp=tmp_path)
    shown = [plain(block.text) for block in blocks(guide) if not block.language]
    assert len(shown) == 2 and shown[0] in text and shown[1] in plain(said), said
    # The exercises are graded, and earn nothing before they are written.
    assert text.count("0 of 1 points; 0 passed") == text.count("0 of 3 points; 0 passed") == 1
