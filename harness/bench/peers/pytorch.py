#!/usr/bin/env python3
"""PyTorch at the shapes of prenorm bench: a rival, measured as prenorm measures itself.

  pytorch.py --shapes ../shapes.json --out FILE      by itself: `prenorm bench --peer FILE` reads it
  prenorm bench --pytorch PYTHON                     in turn with the solutions, which is better

Every call gets fresh random values and is timed alone, after warm-up calls. On the CPU the time is
the wall's; on a device that of events around the call, after a write and a read that leave the
caches cold and clean.
Variants: eager; with --compile also torch.compile; on CUDA attention with each backend forced.
Where PyTorch chooses attention's backend by itself, a note names it.
Runs with PyTorch from 1.13 on.
"""

import argparse
import contextlib
import fnmatch
import json
import math
import os
import re
import socket
import struct
import sys
import time
import warnings

# As prenorm does for solutions: large blocks come from the heap and stay there, so that outputs do
# not cost page faults in every call; threads that wait sleep, and have a core each. Read when the
# process starts.
SETTINGS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
            "OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "true"}
if __name__ == "__main__" and any(os.environ.get(k) != v for k, v in SETTINGS.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **SETTINGS})

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16,
          "bfloat16": torch.bfloat16, "int64": torch.int64, "bool": torch.bool}
BACKENDS = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH",
            "cudnn": "CUDNN_ATTENTION"}
NUMBERED = ("math", "flash", "efficient", "cudnn")  # as PyTorch numbers them
chosen = None  # a list, while attention tells which backends are chosen for it


class Absent(Exception):
    """This variant does not compute this problem here; says why."""


# What is timed, in PyTorch's own functions where it has them. `causal` says that the mask is the
# lower triangle: then PyTorch is told so, which is its fastest way.

def rmsnorm(x, weight, eps):
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, weight.shape, weight, eps)
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (normed * weight).to(x.dtype)


def four_axes(tensor):
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0)
    return tensor


def attention(q, k, v, mask=None, causal=False):
    if hasattr(F, "scaled_dot_product_attention"):
        axes = max(tensor.dim() for tensor in (q, k, v, mask) if tensor is not None)
        # Older fused backends take no others.
        q, k, v = (four_axes(tensor) for tensor in (q, k, v))
        mask = None if causal or mask is None else four_axes(mask)
        if chosen is not None:
            chosen.append(torch._fused_sdp_choice(q, k, v, mask, 0.0, causal))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return y.flatten(0, 4 - axes) if axes < 4 else y
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal and mask is None:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ v


def rope_table(s, d_k, device):
    """cos and sin of every angle: built once for a model, so outside of the timing."""
    def count(*bounds):
        return torch.arange(*bounds, dtype=torch.float64, device=device)
    angles = count(s["max_seq_len"])[:, None] * s["theta"] ** (-count(0, d_k, 2) / d_k)
    return angles.cos().float(), angles.sin().float()


def rope(x, positions, table):
    cos, sin = table[0][positions], table[1][positions]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).to(x.dtype)


def heads(x, num_heads):
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(-3, -2)


def attend(q, k, v, w_o, num_heads, positions=None, table=None):
    q, k, v = (heads(tensor, num_heads) for tensor in (q, k, v))
    if table is not None:
        q, k = rope(q, positions, table), rope(k, positions, table)
    return F.linear(attention(q, k, v, causal=True).transpose(-3, -2).flatten(-2), w_o)


def self_attention(x, w_q, w_k, w_v, w_o, num_heads, positions=None, table=None):
    return attend(*(F.linear(x, w) for w in (w_q, w_k, w_v)), w_o, num_heads, positions, table)


def swiglu(x, w1, w2, w3):
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2)


def feed_forward(activation):
    return lambda x, w1, w2: F.linear(activation(F.linear(x, w1)), w2)


def rope_of_heads(i, s):
    """Positions along the sequence, and the table, of a block's or an attention's heads."""
    x = i["x"]
    return (torch.arange(x.shape[-2], device=x.device),
            rope_table(s, x.shape[-1] // s["num_heads"], x.device))


def make_self_attention(i, s):
    return lambda x, w_q, w_k, w_v, w_o: self_attention(x, w_q, w_k, w_v, w_o, s["num_heads"])


def make_self_attention_with_rope(i, s):
    along, table = rope_of_heads(i, s)

    def with_rope(x, w_q, w_k, w_v, w_o, token_positions=None):
        positions = along if token_positions is None else token_positions.unsqueeze(-2)
        return self_attention(x, w_q, w_k, w_v, w_o, s["num_heads"], positions, table)
    return with_rope


def make_self_attention_fused_qkv(i, s):
    return lambda x, w_qkv, w_o: attend(*F.linear(x, w_qkv).chunk(3, -1), w_o, s["num_heads"])


def make_block(i, s):
    positions, table = rope_of_heads(i, s)

    def block(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3):
        y = x + self_attention(rmsnorm(x, ln1, s["eps"]), w_q, w_k, w_v, w_o, s["num_heads"],
                               positions, table)
        return y + swiglu(rmsnorm(y, ln2, s["eps"]), w1, w2, w3)
    return block


def make_block_post_norm(i, s):
    positions, table = rope_of_heads(i, s)

    def block(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3):
        y = rmsnorm(x + self_attention(x, w_q, w_k, w_v, w_o, s["num_heads"], positions, table),
                    ln1, s["eps"])
        return rmsnorm(y + swiglu(y, w1, w2, w3), ln2, s["eps"])
    return block


def make_block_gelu(i, s):
    def block(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2):
        y = x + self_attention(rmsnorm(x, ln1, s["eps"]), w_q, w_k, w_v, w_o, s["num_heads"])
        return y + feed_forward(F.gelu)(rmsnorm(y, ln2, s["eps"]), w1, w2)
    return block


def make_lm(i, s):
    ids = i["token_ids"]
    along = torch.arange(ids.shape[-1], device=ids.device)
    table = rope_table(s, i["ln1"].shape[-1] // s["num_heads"], ids.device)

    def lm(token_ids, token_embeddings, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, ln_final,
           lm_head):
        x = F.embedding(token_ids, token_embeddings)
        for n1, q, k, v, o, n2, gate, down, up in zip(ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3):
            x = x + self_attention(rmsnorm(x, n1, s["eps"]), q, k, v, o, s["num_heads"], along,
                                   table)
            x = x + swiglu(rmsnorm(x, n2, s["eps"]), gate, down, up)
        return F.linear(rmsnorm(x, ln_final, s["eps"]), lm_head)
    return lm


def make_rope(i, s):
    table = rope_table(s, i["x"].shape[-1], i["x"].device)
    return lambda x, token_positions: rope(x, token_positions, table)


def make_attention(i, s):
    return lambda q, k, v, mask=None: attention(q, k, v, mask, s["causal"])


# For each problem: (inputs, scalars) -> a function of the inputs by their names in the signature.
# The making is not timed.
PROBLEMS = {
    "linear": lambda i, s: lambda x, weight: F.linear(x, weight),
    "embedding": lambda i, s: lambda token_ids, weight: F.embedding(token_ids, weight),
    "rmsnorm": lambda i, s: lambda x, weight: rmsnorm(x, weight, s["eps"]),
    "relu": lambda i, s: lambda x: F.relu(x),
    "silu": lambda i, s: lambda x: F.silu(x),
    "gelu": lambda i, s: lambda x: F.gelu(x),
    "softmax": lambda i, s: lambda x: torch.softmax(x, s["dim"]),
    "glu": lambda i, s: lambda x, w1, w2: torch.sigmoid(F.linear(x, w1)) * F.linear(x, w2),
    "ffn_relu": lambda i, s: feed_forward(F.relu),
    "ffn_silu": lambda i, s: feed_forward(F.silu),
    "ffn_gelu": lambda i, s: feed_forward(F.gelu),
    "ffn_swiglu": lambda i, s: swiglu,
    "rope": make_rope,
    "scaled_dot_product_attention": make_attention,
    "multihead_self_attention": make_self_attention,
    "multihead_self_attention_with_rope": make_self_attention_with_rope,
    "multihead_self_attention_fused_qkv": make_self_attention_fused_qkv,
    "transformer_block": make_block,
    "transformer_block_post_norm": make_block_post_norm,
    "transformer_block_gelu": make_block_gelu,
    "transformer_lm": make_lm,
}
WITH_ATTENTION = [name for name in PROBLEMS if "attention" in name or "transformer" in name]


def variants(device, compiles):
    """The variants, each with the problems that it is for; None: all."""
    compiles = compiles and hasattr(torch, "compile")
    found = {"eager": None, **({"compile": None} if compiles else {})}
    if device == "cuda":
        with contextlib.suppress(ImportError):
            from torch.nn.attention import SDPBackend
            for name, word in BACKENDS.items():
                if hasattr(SDPBackend, word):
                    found[name] = ["scaled_dot_product_attention"]
                    if compiles and name in ("flash", "cudnn"):
                        found["compile_" + name] = WITH_ATTENTION
    return found


def only(backend):
    """Inside of this attention takes that backend, or none."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel(getattr(SDPBackend, BACKENDS[backend]))


def refusal(caught):
    """Why a forced backend took no call: PyTorch says so in warnings."""
    said = [re.sub(r"\s*\(Triggered internally.*", "", str(each.message), flags=re.DOTALL)
            for each in caught]
    why = [text for text in dict.fromkeys(said)
           if "kernel not used because" not in text and "runtime disabled" not in text]
    return "; ".join(why) or "this backend takes no such call"


@contextlib.contextmanager
def refusals_are_absences():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except RuntimeError as error:
            if "No available kernel" in str(error) or "No viable backend" in str(error):
                raise Absent(refusal(caught)) from error
            raise


class Runner:
    """Calls a problem in one of the variants, and times the call."""

    def __init__(self, threads):
        torch.set_num_threads(threads)
        torch.backends.cuda.matmul.allow_tf32 = False
        # On a device, before each call: one is written over, the other read, so that the cache holds
        # nothing that has yet to be written to memory.
        self.flush = self.clean = None
        self.compiled, self.compiled_for = {}, None
        self.notes = {}

    def call(self, variant, problem, inputs, scalars):
        """Returns (output, seconds, note). Throws Absent."""
        if problem not in PROBLEMS:
            raise Absent("the peer has no " + problem)
        function = PROBLEMS[problem](inputs, scalars)
        if variant in BACKENDS:
            with torch.no_grad(), refusals_are_absences(), only(variant):
                return *self.timed(function, inputs), ""
        key = json.dumps([problem, scalars, [[str(t.dtype), list(t.shape)]
                                             for t in inputs.values()]])
        with torch.no_grad(), refusals_are_absences():
            note = self.note(variant, problem, function, inputs, key)
            if variant.startswith("compile"):
                function = self.compiled_once(function, variant, key)
            return *self.timed(function, inputs), note

    def note(self, variant, problem, function, inputs, key):
        """"takes flash": what attention chooses, asked once for a key in a call that is not timed.

        Nothing where PyTorch does not tell: before 2.0, and of attention in a compiled block.
        """
        global chosen
        known = WITH_ATTENTION if variant == "eager" else (
            ["scaled_dot_product_attention"] if variant == "compile" else [])
        if problem not in known or not hasattr(torch, "_fused_sdp_choice"):
            return ""
        if key not in self.notes:
            chosen = []
            try:
                function(**inputs)
                names = [NUMBERED[number] if 0 <= number < len(NUMBERED) else f"backend {number}"
                         for number in chosen]
            finally:
                chosen = None
            self.notes[key] = "takes " + ", ".join(dict.fromkeys(names)) if names else ""
        return self.notes[key]

    def compiled_once(self, function, variant, key):
        if key != self.compiled_for:  # of the call before, what was compiled is needed no more
            torch._dynamo.reset()
            self.compiled, self.compiled_for = {}, key
        if variant not in self.compiled:
            backend = variant.removeprefix("compile").removeprefix("_")

            def forced(**inputs):
                with only(backend):
                    return function(**inputs)
            self.compiled[variant] = torch.compile(forced if backend else function, dynamic=False)
        return self.compiled[variant]

    def timed(self, function, inputs):
        if not any(tensor.is_cuda for tensor in inputs.values()):
            start = time.perf_counter()
            output = function(**inputs)
            return output, time.perf_counter() - start
        if self.flush is None:
            torch.cuda.set_per_process_memory_fraction(0.75)  # the rest is for the solutions
            size = 4 * torch.cuda.get_device_properties(0).L2_cache_size
            self.flush = torch.empty(size, dtype=torch.int8, device="cuda")
            self.clean = torch.zeros_like(self.flush)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # While the device writes this, Python is already at the call: launches cost little time, as
        # in prenorm's own worker.
        self.flush.random_()
        self.clean.max()
        begin.record()
        output = function(**inputs)
        end.record()
        torch.cuda.synchronize()
        return output, begin.elapsed_time(end) / 1e3


def load(tensor, device="cpu"):
    """A tensor from its file; bfloat16 has no NumPy type."""
    kind = {"bfloat16": np.int16}.get(tensor["dtype"]) or np.dtype(tensor["dtype"])
    array = np.fromfile(tensor["file"], kind).reshape(tensor["shape"])
    value = torch.from_numpy(array)
    if tensor["dtype"] == "bfloat16":
        value = value.view(torch.bfloat16)
    return value.to(device)


def save(value, path):
    value = value.detach().cpu().contiguous()
    if value.dtype == torch.bfloat16:
        value = value.view(torch.int16)
    value.numpy().tofile(path)


def with_causal(scalars, inputs):
    """Scalars, and whether the mask is the lower triangle."""
    return {**scalars, "causal": inputs.get("mask", {}).get("draw") == "lower_triangle"}


# --serve: requests over descriptor 3; what is said stands in bench.hpp.

def receive(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            sys.exit(0)  # prenorm has no more work
        data += part
    return data


def answer(connection, value):
    text = json.dumps(value).encode()
    connection.sendall(struct.pack("<I", len(text)) + text)


def serve_call(runner, request):
    inputs = {name: load(tensor, request["device"]) for name, tensor in request["inputs"].items()}
    output, seconds, note = runner.call(request["variant"], request["problem"], inputs,
                                        with_causal(request["scalars"], request["inputs"]))
    save(output, request["outputs"][0]["file"])
    return {"seconds": seconds, "note": note}


def serve_compare(request):
    actual, expected = (load(request[which]).numpy() for which in ("actual", "expected"))
    start = time.perf_counter()
    np.testing.assert_allclose(actual, expected, rtol=request["rtol"], atol=request["atol"])
    return {"seconds": time.perf_counter() - start}


def serve(arguments):
    connection = socket.socket(fileno=3)
    runner = Runner(arguments.threads)
    answer(connection, {"name": "pytorch " + torch.__version__,
                        "variants": variants(arguments.device, arguments.compile),
                        "threads": torch.get_num_threads()})
    while True:
        size, = struct.unpack("<I", receive(connection, 4))
        request = json.loads(receive(connection, size))
        try:
            answer(connection, serve_call(runner, request) if request["do"] == "call"
                   else serve_compare(request))
        except Absent as why:
            answer(connection, {"absent": str(why)})
        except Exception as error:  # noqa: BLE001  any failure is this call's, not the run's
            answer(connection, {"error": f"{type(error).__name__}: {error}"[:500]})
            if torch.cuda.is_initialized():
                torch.cuda.empty_cache()  # what ran out of memory holds none of it


# By itself.

def extent(text, dims):
    return int(dims[text]) if text in dims else int(text)


def specification(entry, dtype):
    """The inputs as prenorm's JSON tells them: dtype, shape and draw by name."""
    inputs = {}
    for name, text in entry["inputs"].items():
        shape, draw = re.fullmatch(r"\s*\[(.*)\]\s*~\s*(.*?)\s*", text).groups()
        is_index = draw.startswith(("integer", "arange", "permutation"))
        is_bool = draw.startswith(("boolean", "lower_triangle", "block_diagonal"))
        inputs[name] = {
            "dtype": "int64" if is_index else "bool" if is_bool else dtype,
            "shape": [extent(part.strip(), entry["dims"]) for part in shape.split(",")
                      if part.strip()],
            "draw": draw}
    return inputs


def draw_input(tensor, dims, generator):
    shape, draw = tensor["shape"], tensor["draw"]
    word, _, rest = draw.partition("(")
    bounds = [float(dims.get(b.strip(), b)) for b in rest.rstrip(")").split(",") if b.strip()]
    if word == "arange":
        return torch.arange(shape[-1]).expand(shape).contiguous()
    if word == "lower_triangle":
        return torch.ones(shape, dtype=torch.bool).tril()
    if word == "block_diagonal":
        count = int(bounds[0])
        query, key = ((torch.arange(n) // (n // count)).clamp(max=count - 1) for n in shape[-2:])
        return (query[:, None] == key).expand(shape).contiguous()
    if word == "integer":
        return torch.randint(int(bounds[0]), int(bounds[1]), shape, generator=generator)
    if word == "boolean":
        return torch.rand(shape, generator=generator) < bounds[0]
    value = torch.empty(shape)
    if word == "normal":
        value.normal_(bounds[0], bounds[1], generator=generator)
    elif word == "uniform":
        value.uniform_(bounds[0], bounds[1], generator=generator)
    else:
        raise ValueError("no draw " + draw)
    return value.to(DTYPES[tensor["dtype"]])


# The scalars that an entry may leave out, as the signatures have them.
DEFAULTS = {"rmsnorm": {"eps": 1e-5}, "rope": {"theta": 10000.0},
            "multihead_self_attention_with_rope": {"theta": 10000.0},
            "transformer_block": {"theta": 10000.0, "eps": 1e-5},
            "transformer_block_post_norm": {"theta": 10000.0, "eps": 1e-5},
            "transformer_block_gelu": {"eps": 1e-5},
            "transformer_lm": {"theta": 10000.0, "eps": 1e-5}}


def processor():
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(": ", 1)[1].rstrip("\n")
    return ""


def measure(runner, arguments, entry, dtype, variant):
    inputs = specification(entry, dtype)
    scalars = {**DEFAULTS.get(entry["problem"], {}), **entry.get("scalars", {})}
    row = {"shape": entry["name"], "problem": entry["problem"], "dtype": dtype, "inputs": inputs,
           "scalars": scalars, "contestant": f"pytorch {torch.__version__} {variant}",
           "peer": True, "place": "device" if arguments.device == "cuda" else "cpu",
           "status": "OK", "message": "", "note": "", "samples": []}
    generator = torch.Generator().manual_seed(arguments.seed)
    try:
        for turn in range(-arguments.warm_ups, arguments.samples):
            values = {name: draw_input(tensor, entry["dims"], generator).to(arguments.device)
                      for name, tensor in inputs.items()}
            output, seconds, row["note"] = runner.call(variant, entry["problem"], values,
                                                       with_causal(scalars, inputs))
            if not bool(torch.isfinite(output).all()):
                raise ValueError("an output is not finite")
            if turn >= 0:
                row["samples"].append(seconds)
    except Absent as why:
        row.update(status="NOT_IMPLEMENTED", message=str(why))
    except Exception as error:  # noqa: BLE001  a row of its own tells of it
        row.update(status="FAILED", message=f"{type(error).__name__}: {error}"[:500])
    return row


def by_itself(arguments):
    runner = Runner(arguments.threads)
    with open(arguments.shapes) as file:
        entries = json.load(file)["shapes"]
    wanted = "device" if arguments.device == "cuda" else "cpu"
    rows = []
    for entry in entries:
        if entry["set"] != (arguments.set or wanted) or (arguments.shape and not any(
                fnmatch.fnmatch(entry["name"], pattern) for pattern in arguments.shape)):
            continue
        for dtype in entry["dtypes"]:
            for variant, problems in variants(arguments.device, arguments.compile).items():
                if problems is not None and entry["problem"] not in problems:
                    continue
                print(entry["name"], dtype, variant, file=sys.stderr)
                rows.append(measure(runner, arguments, entry, dtype, variant))
    result = {"version": 1, "command": "bench",
              "environment": {"program": "pytorch " + torch.__version__,
                              "processor": processor(), "cores": str(os.cpu_count())},
              "threads": torch.get_num_threads(), "rows": rows}
    with open(arguments.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help="answer prenorm (descriptor 3)")
    parser.add_argument("--shapes", help="the file of shapes")
    parser.add_argument("--set", choices=["cpu", "device"], help="default: what --device means")
    parser.add_argument("--shape", action="append", help="only these (globs)")
    parser.add_argument("--out", default="/dev/stdout", help="where the JSON goes")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--samples", type=int, default=11)
    parser.add_argument("--warm-ups", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments)
    elif arguments.shapes:
        by_itself(arguments)
    else:
        parser.error("--shapes FILE or --serve")


if __name__ == "__main__":
    main()
