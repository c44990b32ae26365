"""Hidden cases are fair: honest work passes what other seeds draw, and nobody is accused."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("seed", [1, 20250, 2**64 - 1])
def test_honest_variants_pass_hidden_cases(program, home, tmp_path, seed):
    library = home / "lib" / "prenorm" / "libprenorm_honest.so"
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                             text=True, check=True).stdout
    variants = defaultdict(list)
    for problem, variant in re.findall(r" prenorm_(\w+?)__(\w+)", symbols):
        variants[variant] += ["--problem", problem]
    asked = 0
    for variant, words in variants.items():
        path = tmp_path / "secret.json"
        subprocess.run([program, "grade", f"{library}/{variant}", "--rubric", "all", "--seed",
                        str(seed), "--instructor", path, *words], capture_output=True, cwd=ROOT)
        report = json.loads(path.read_text())
        hidden = [r for r in report["results"] if r["hidden"]]
        asked += len(hidden)
        failed = [(r["problem"], r["drawn_from"], r["message"]) for r in hidden
                  if r["status"] not in ("PASSED", "NOT_IMPLEMENTED")]  # not written for every type
        assert failed == [], variant
        assert not [item["diagnoses"] for item in report["items"] if item["diagnoses"]]
        assert not [note for note in report["notes"] if "could not be drawn" in note]
    assert asked > 6000
