"""The locale, and text that is not ASCII, in files and in their names."""

import locale
from pathlib import Path

from layers import silu

assert locale.setlocale(locale.LC_ALL, "")
assert locale.getpreferredencoding()
NAME = Path("größe–σ.txt")
NAME.write_text("SiLU: x·σ(x)\n", encoding="utf-8")


def run_silu(in_features):
    assert NAME.name in {path.name for path in Path().iterdir()}
    print("σ(x)")
    assert NAME.read_text(encoding="utf-8").strip().endswith("x·σ(x)")
    return silu(in_features)
