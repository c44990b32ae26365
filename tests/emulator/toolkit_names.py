"""The public names of CUDA's toolkit, as its own headers declare them, and statements that use them.

`python3 toolkit_names.py NVCC PRENORM-CU++` prints for each whether the emulator has it.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h",
           "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "cuComplex.h",
           "math_constants.h", "cuda_profiler_api.h", "cublas_v2.h")
# What these headers take from others: the C++ library, and the implementation's own corners.
NOT_PUBLIC = re.compile(r"/(cccl|details)/|host_runtime|fp128|cuda_tile|cudacc_ext|generated_")
# Not for programs: the implementation's names; and what only names of the C library are.
# What the implementation keeps for itself, and functions of CUDA 1 that only name their successors.
OWN = re.compile(r"_*(nv_(?!bfloat)|nvvm|internal|cudart|cuda_|NV_)|__cuda|__float_simpl|__pm\d|__\w+Atomic|"
                 r"\w+_(ptsz|impl|internal|helper)$|(any|all|ballot|syncthreads_\w+|cudaRound\w+)$|"
                 r"(bool|_T|sizeof|printf)$")
MACRO = re.compile(r"#define (cuda[A-Z]\w*|CUDART_(?!VERSION|CB|DEVICE)\w+|CUBLAS_(?!API_H|V2_H)\w+|"
                   r"cublas[A-Z]\w*) (\S.*)")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_]\w*|\d[\w.]*|::|->|\S')
NOISE = {"extern", "static", "inline", "__inline__", "__inline", "__forceinline__", "constexpr",
         "__extension__", "typename", "noexcept", "__host__", "__device__"}
WORD = re.compile(r"[A-Za-z_]\w*$")


# Members of classes, which are not scanned.
BLOCK, TILE = "cg::this_thread_block()", "cg::tiled_partition<16>(cg::this_thread_block())"
GROUPS = {f"cooperative_groups::{name}": [statement] for name, statement in {
    **{f"thread_block::{each}": f"(void){BLOCK}.{each}();" for each in (
        "sync", "thread_rank", "size", "num_threads", "group_index", "thread_index", "group_dim",
        "dim_threads", "barrier_arrive")},
    **{f"grid_group::{each}": f"(void)cg::this_grid().{each}();" for each in (
        "sync", "thread_rank", "size", "num_threads", "num_blocks", "block_rank", "is_valid",
        "group_dim", "dim_blocks", "block_index")},
    **{f"{kind}::{each}": f"(void){group}.{each};"
       for kind, group in (("thread_block_tile", TILE), ("coalesced_group", "cg::coalesced_threads()"))
       for each in ("sync()", "thread_rank()", "size()", "num_threads()", "meta_group_rank()",
                    "meta_group_size()", "shfl(1.0f, 0)", "shfl_down(1, 1)", "shfl_up(1, 1)", "any(1)",
                    "all(1)", "ballot(1)", "match_any(1)")},
    "thread_block_tile::shfl_xor": f"(void){TILE}.shfl_xor(1, 1);",
    "thread_group": f"cg::thread_group group = {BLOCK}; group.sync(); (void)group.thread_rank();",
    "tiled_partition": f"cg::thread_group group = cg::tiled_partition({BLOCK}, 8); (void)group.size();",
    "labeled_partition": f"(void)cg::labeled_partition({TILE}, 1);",
    "binary_partition": f"(void)cg::binary_partition({TILE}, true);",
    "invoke_one": f"cg::invoke_one({BLOCK}, [] {{}});",
    "invoke_one_broadcast": f"(void)cg::invoke_one_broadcast({TILE}, [] {{ return 1; }});",
    "sync": f"cg::sync({BLOCK});",
    **{each: f"(void)cg::reduce({TILE}, 1, cg::{each}<int>());" for each in (
        "plus", "less", "greater", "bit_and", "bit_or", "bit_xor")},
    **{each: f"(void)cg::{each}({TILE}, 1); (void)cg::{each}({TILE}, 1, cg::less<int>());" for each in (
        "inclusive_scan", "exclusive_scan")},
    "cluster_group": "cg::cluster_group group = cg::this_cluster();",
}.items()}


def preprocess(toolkit, *options):
    source = "".join(f"#include <{name}>\n" for name in HEADERS)
    return subprocess.run(
        ["c++", "-std=c++17", "-E", "-x", "c++", "-D__CUDACC__=1", "-D__NVCC__=1",
         "-D__CUDA_ARCH__=900", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0",
         "-D__CUDACC_VER_BUILD__=0", "-I", toolkit, "-I", f"{toolkit}/cccl", *options, "-"],
        input=source, capture_output=True, text=True, check=True).stdout


def tokens_of(text, toolkit):
    """The tokens that stand in the toolkit's public headers."""
    tokens, wanted = [], False
    for line in text.splitlines():
        if line.startswith("#"):
            found = re.match(r'# \d+ "(.*?)"', line)
            if found:
                wanted = found[1].startswith(toolkit) and not NOT_PUBLIC.search(found[1])
        elif wanted:
            tokens += TOKEN.findall(line)
    return tokens


def closing(tokens, at):
    """The index of the bracket that ends the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] in "([{") - (tokens[i] in ")]}")
        if depth == 0:
            return i
    return len(tokens) - 1


def without_attributes(tokens):
    kept, i = [], 0
    while i < len(tokens):
        if tokens[i] in ("__attribute__", "__declspec", "__attribute", "alignas", "asm", "throw"):
            i = closing(tokens, i + 1) + 1 if tokens[i + 1:i + 2] == ["("] else i + 1
            continue
        if tokens[i] not in NOISE:
            kept.append(tokens[i])
        i += 1
    return kept


def split(tokens):
    """By commas, except those in brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{<") - (token in ")]}>")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def parameter(tokens):
    """The type of a parameter, without its name and value."""
    if "=" in tokens:
        tokens = tokens[:tokens.index("=")]
    if "(" in tokens or "..." in tokens:
        return None
    if tokens == ["const", "void", "*", "symbol"]:  # a variable of the device
        return "int &"
    stars = ["*"] * tokens.count("[")
    if stars:
        tokens = tokens[:tokens.index("[")]
    if len(tokens) > 1 and WORD.match(tokens[-1]) and tokens[-2] not in ("::", "const", "struct", "enum") \
            and tokens[-1] not in ("int", "char", "long", "short", "const", "double"):
        tokens = tokens[:-1]
    elif len(tokens) > 2 and tokens[-2] == "const" and WORD.match(tokens[-1]) and any(map(WORD.match, tokens[:-2])):
        tokens = tokens[:-1]
    return " ".join(tokens + stars)


class Names(dict):
    """{name: statements that use it}, read from tokens."""

    def give(self, name, probe):
        plain = name.split("::")[-1].split(".")[0]
        if not OWN.match(plain) and not (plain.startswith("_") and "::" in name):
            probes = self.setdefault(name, [])
            if probe not in probes:
                probes.append(probe)

    def scan(self, tokens, scope=""):
        i = begin = 0
        while i < len(tokens):
            if tokens[i] == "(" or tokens[i] == "[":
                i = closing(tokens, i) + 1
                continue
            if tokens[i] == ";":
                self.statement(without_attributes(tokens[begin:i]), None, scope)
            elif tokens[i] == "{":
                end = closing(tokens, i)
                head = without_attributes(tokens[begin:i])
                if head in ([], ['"C"'], ['"C++"']):
                    self.scan(tokens[i + 1:end], scope)
                elif "namespace" in head:
                    if head[-1] == "namespace":
                        self.scan(tokens[i + 1:end], scope)
                else:
                    kind = set(head) & {"struct", "class", "enum", "union"} and "(" not in head
                    if kind:  # up to its semicolon: it may be a typedef's
                        stop = end + 1
                        while stop < len(tokens) and tokens[stop] != ";":
                            stop += 1
                        self.statement(head, tokens[i + 1:end], scope,
                                       without_attributes(tokens[end + 1:stop]))
                        end = stop
                    else:
                        self.statement(head, None, scope)
                i = end
            else:
                i += 1
                continue
            i += 1
            begin = i

    def statement(self, head, body, scope, tail=()):
        if not head or head[0] in ("friend", "static_assert", "using", "return") and "=" not in head:
            return
        if "operator" in head or "~" in head:
            return
        template = head[0] == "template"
        if body is not None:
            name = next((t for t in reversed(tail) if WORD.match(t)), None) or next(
                (t for t in head[::1] if WORD.match(t) and t not in
                 ("typedef", "enum", "struct", "class", "union", "template", "T")), None)
            if "enum" in head:
                for entry in split(body):
                    entry = without_attributes(entry)
                    if entry:
                        self.give(scope + entry[0], f"(void){scope}{entry[0]};")
            if name and not template and WORD.match(name):
                self.give(scope + name, f"using type = {scope}{name};")
                if "struct" in head and not scope and name.startswith("cuda"):
                    self.members(name, without_attributes(body))
            elif name and template and not scope:
                self.give(scope + name, f"using {scope or '::'}{name};")
            return
        if head[0] == "typedef" or head[0] == "using":
            names = [t for t in head if WORD.match(t)]
            name = names[1] if head[0] == "using" and "=" in head else names[-1]
            if "(" in head and head[0] == "typedef":
                name = head[head.index("*") + 1] if "*" in head else names[-1]
            self.give(scope + name, f"using type = {scope}{name};")
            return
        if "(" not in head:
            return
        if template:
            depth = 0
            for k, token in enumerate(head[1:], 1):
                depth += (token == "<") - (token == ">")
                if depth == 0:
                    break
            head = head[k + 1:]
        if "(" not in head:
            return
        open_ = head.index("(")
        if open_ == 0 or not WORD.match(head[open_ - 1]) or open_ == 1:
            return
        name = head[open_ - 1]
        if head[open_ - 2] == "::":  # a member's definition
            return
        types = [parameter(p) for p in split(head[open_ + 1:closing(head, open_)])]
        if types == ["void"]:
            types = []
        if "enum cudaRoundMode" in types:  # of CUDA 1
            return
        if template or None in types or scope:
            self.give(scope + name, f"using {scope or '::'}{name};")
            return
        arguments = ", ".join(f"value<{each}>()" for each in types)
        self.give(name, f"using type = decltype({name}({arguments}));")

    def members(self, name, body):
        i = begin = 0
        while i < len(body):
            if body[i] in "([{":
                i = closing(body, i)
            elif body[i] == ";":
                for part in split(body[begin:i]):
                    part = part[:part.index("[")] if "[" in part else part
                    if part and WORD.match(part[-1]) and "(" not in part and "reserved" not in part[-1]:
                        self.give(f"{name}.{part[-1]}", f"using type = decltype(value<{name}>().{part[-1]});")
                begin = i + 1
            i += 1


def names(nvcc):
    """{name: [statement, ...]}: functions have one for each overload, which calls it with values of its
    parameters' types."""
    toolkit = str(Path(nvcc).resolve().parent.parent / "include")
    found = Names(GROUPS)
    found.scan(tokens_of(preprocess(toolkit), toolkit))
    for name, value in MACRO.findall(preprocess(toolkit, "-dM")):
        if value.strip() in found:  # another name of a function, or of a type
            for probe in found[value.strip()]:
                found.give(name, re.sub(rf"\b{value.strip()}\b", name, probe))
        elif not re.fullmatch(r"cublas\w+", value.strip()):  # of a function that is not declared
            found.give(name, f"(void)({name});")
    return found


def program(statements):
    """A source with one of them to a line."""
    lines = [f"#include <{name}>" for name in HEADERS]
    lines += ["namespace cg = cooperative_groups;", "template <class T> __host__ __device__ T value();"]
    for statement in statements:
        lines.append(f"__device__ void of_{len(lines) + 1}() {{ {statement} }}")
    return "\n".join(lines) + "\nint main() {}\n"


def compile_(front_door, source, folder):
    path = Path(folder) / "names.cu"
    path.write_text(source)
    return subprocess.run([front_door, "c++", "-std=c++17", "-w", "-fsyntax-only", "-fmax-errors=0",
                           "-c", path], capture_output=True, text=True)


def refused(front_door, statements, folder):
    """The names that the emulator refuses, and the rest of the statements."""
    said = compile_(front_door, program(statements), folder).stderr
    if not said:
        return set(), statements
    words = {re.sub(r" .*|^\S*:\d+: ", "", re.sub(r"^\S*:\d+: ", "", each))
             for each in re.split(r" is not emulated|, (?:nor )?", said.strip()) if each}
    plain = {word.split("::")[-1] for word in words}
    return words, [each for each in statements if not plain & set(re.findall(r"\w+", each))]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        table = names(sys.argv[1])
        left = set(refused(sys.argv[2], [each for probes in table.values() for each in probes], folder)[1])
        for name, probes in table.items():
            print(f"{name:60} {'works' if left & set(probes) else 'refused by name'}")
