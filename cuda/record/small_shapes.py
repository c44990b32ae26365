"""small_shapes.py FILE...: makes the shapes of bench so small that the emulator takes them, for
record.sh --rehearse. Names, draws and dtypes stay."""

import json
import sys
from pathlib import Path

HEADS = 2
SIZES = {"d_model": 16, "d_k": 8, "d_qkv": 48, "d_ff": 24, "vocab_size": 40}
OTHERS = 6  # at most


def small(entry):
    dims = {name: SIZES.get(name, min(size, OTHERS)) for name, size in entry["dims"].items()}
    if entry.get("product_ceiling"):
        dims = dict.fromkeys(dims, 96)  # no smaller product is as fast
    entry = {**entry, "dims": dims}
    if "num_heads" in entry.get("scalars", {}):
        entry["scalars"] = {**entry["scalars"], "num_heads": HEADS}
    return entry


for name in sys.argv[1:]:
    path = Path(name)
    shapes = json.loads(path.read_text())
    shapes["shapes"] = [small(entry) for entry in shapes["shapes"]]
    path.write_text(json.dumps(shapes, indent=1) + "\n")
