"""Submissions for the tests, each written where a test wants it.

Two kinds, both below tests/submissions:

* by hand: a folder of class/ or honest/, as it is;
* a row of class/class.toml or honest/honest.toml: a style with slips and habits switched on, laid
  out as a repository, with files beside it (class/README.md tells the format).

A style is a complete submission of tests/submissions/styles whose right lines have other forms
below them:

    rms = torch.sqrt(mean_square + eps)
    # slip rmsnorm.no_eps: rms = torch.sqrt(mean_square)

Lines of the same slip that follow each other replace the line together; `slip rmsnorm.no_eps,
no_root` is the form of both. A slip may occur at several places, and all of them change. `habit`
stands for `slip` where honest code differs. The part before the dot says what goes wrong, the name
after it is that of the known mistake.

    submissions.py class/eps_outside FOLDER     writes that one into FOLDER
"""

import ast
import atexit
import re
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from places import SUBMISSIONS

# --- Styles ---------------------------------------------------------------------------------------

SOURCES = SUBMISSIONS / "styles"

# Which file of a style is its source.
STYLES = {
    "modules": "torch_modules.py",
    "functions": "torch_functions.py",
    "einsum": "torch_einsum.py",
    "numpy": "numpy_arrays.py",
    "cpp": "loops.cpp",
}
# Those of plain functions, and what they lack of the slips in styles/common.py.
OF_FUNCTIONS = {
    "functions": [],
    "einsum": ["block_gelu.residual_from_normed", "block_post_norm.pre_norm", "lm.norm_before_last_block"],
    "numpy": ["lm.norm_before_last_block"],
}
# Adapters of the 2024 edition, which call those of a style.
ADAPTERS_2024 = "adapters_2024"

# What has a part inside: the problems that a slip in it concerns.
PROBLEMS = {
    "linear": ["linear"],
    "embedding": ["embedding"],
    "rmsnorm": ["rmsnorm", "transformer_block"],
    "relu": ["relu"],
    "silu": ["silu"],
    "gelu": ["gelu"],
    "glu": ["glu"],
    "ffn_relu": ["ffn_relu"],
    "ffn_silu": ["ffn_silu"],
    "ffn_gelu": ["ffn_gelu"],
    "ffn_swiglu": ["ffn_swiglu", "transformer_block"],
    "softmax": ["softmax"],
    "rope": ["rope", "multihead_self_attention_with_rope", "transformer_block"],
    "attention": ["scaled_dot_product_attention", "multihead_self_attention"],
    "heads": ["multihead_self_attention", "multihead_self_attention_with_rope",
              "transformer_block"],
    "heads_with_rope": ["multihead_self_attention_with_rope", "transformer_block"],
    "fused": ["multihead_self_attention_fused_qkv"],
    "block": ["transformer_block"],
    "block_post_norm": ["transformer_block_post_norm"],
    "block_gelu": ["transformer_block_gelu"],
    "lm": ["transformer_lm"],
}

MARK = re.compile(r"^(?P<indent>\s*)(?:#|//) (?P<kind>slip|habit) (?P<name>[a-z_0-9., ]+):"
                  r"(?: (?P<code>.*))?$")


@cache
def source(style):
    text = (SOURCES / STYLES.get(style, f"{style}.py")).read_text()
    if style not in OF_FUNCTIONS:
        return text
    lines = [line for line in source("common").splitlines()
             if not (mark := MARK.match(line)) or mark["name"] not in OF_FUNCTIONS[style]]
    added = [each for each in "\n".join(lines).split("\n\n\n")[1:]
             if each[:each.index("(") + 1] not in text]
    return "\n\n\n".join([text.rstrip("\n"), *added]) + "\n"


def marked(mark):
    """The slips or habits of a mark."""
    first, *more = mark["name"].split(", ")
    return [first, *(f"{part(first)}.{name}" for name in more)]


def read(text):
    """The lines of right code, each with its other forms: [(line, {name: [line]})]."""
    lines = []
    for line in text.splitlines():
        mark = MARK.match(line)
        if not mark:
            lines.append((line, {}))
            continue
        forms = lines[-1][1]
        for name in marked(mark):
            forms.setdefault(name, []).append(mark["indent"] + (mark["code"] or ""))
    return lines


@cache
def names(style, kind="slip"):
    """The slips of a style, in the order of its source."""
    found = (MARK.match(line) for line in source(style).splitlines())
    return list(dict.fromkeys(name for mark in found if mark and mark["kind"] == kind
                              for name in marked(mark)))


def part(slip):
    return slip.split(".")[0]


def mistake(slip):
    return slip.split(".")[1]


def problems(slip):
    return PROBLEMS[part(slip)]


def compatible(style, first, second):
    """Whether no line has both slips."""
    return not any(first in forms and second in forms for _, forms in read(source(style)))


def make(style, on=()):
    """A submission's source with the slips and habits `on`."""
    on, used, made = list(on), set(), []
    for line, forms in read(source(style)):
        chosen = [name for name in on if name in forms]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} change the same line of {style}: {line.strip()}")
        used.update(chosen)
        made += forms[chosen[0]] if chosen else [line]
    if missing := [name for name in on if name not in used]:
        raise ValueError(f"{style} has no {', '.join(missing)}")
    return "\n".join(made) + "\n"


# --- Repositories ---------------------------------------------------------------------------------


@dataclass
class Definition:
    """Something at the top level of a Python source: an import, a function, a class, or a constant."""

    text: str
    names: set  # that it defines
    uses: set
    undone: str = ""  # a function's text where its work is still to be done

    @property
    def is_import(self):
        return self.text.startswith(("import ", "from "))

    @property
    def is_adapter(self):
        return any(name.startswith("run_") for name in self.names)


def definitions(text):
    """Those of a Python source, in its order."""
    lines, found = text.splitlines(), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Expr):  # a docstring
            continue
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) - 1
        defines = {node.name} if hasattr(node, "name") else {
            name for each in ast.walk(node)
            for name in ([(each.asname or each.name).split(".")[0]] if isinstance(each, ast.alias) else
                         [each.id] if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) else [])}
        uses = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        undone = ""
        if isinstance(node, ast.FunctionDef):
            signature = lines[first:node.body[0].lineno - 1]
            undone = "\n".join([*signature, "    raise NotImplementedError"])
        found.append(Definition("\n".join(lines[first:node.end_lineno]), defines, uses, undone))
    return found


def module(imports, homes, chosen, star=False, more=()):
    """A module's text: the imports that it needs; what it needs from other modules of the repository,
    {module: its definitions}, and the names `more` of these; its own definitions."""
    uses = set(more).union(*(each.uses for each in chosen))
    lines = [each.text for each in imports if each.names & uses]
    for home, others in homes.items():
        defined = [name for each in others for name in sorted(each.names) if name in uses]
        if defined:
            lines.append(f"from {home} import {'*' if star else ', '.join(defined)}")
    return "\n\n\n".join(["\n".join(lines), *(each.text for each in chosen)]).strip() + "\n"


def split(everything, modules):
    """{module: its definitions}, where `modules` has each one's first; "" is from the start."""
    parts = {name: [] for name in modules}
    starts, current = {first: name for name, first in modules.items()}, None
    for each in everything:
        current = next((starts[name] for name in each.names if name in starts), current or starts[""])
        parts[current].append(each)
    return parts


def reached(everything, chosen):
    """What is chosen, and all that it uses."""
    while more := [each for each in everything if each not in chosen
                   and any(each.names & other.uses for other in chosen)]:
        chosen = [each for each in everything if each in chosen or each in more]
    return chosen


def adapters_2025(imports, homes, chosen, row):
    """The text of the adapters that no module has; those that one has are imported."""
    for each in chosen:
        if row.get("undone") == "all" or each.names & set(row.get("undone", [])):
            each.text, each.uses = each.undone, set()
    elsewhere = {name for others in homes.values() for each in others if each.is_adapter for name in each.names}
    return module(imports, homes, chosen, row.get("star"), elsewhere)


def packaging(folder, row):
    """{path: text} of what makes packages of folders."""
    found = {f"{path}/__init__.py": "" for path in (folder, *folder.parents) if str(path) not in (".", "src")}
    if "asks_version" in row:
        version = f'importlib.metadata.version("{row["asks_version"]}")'
        found[f"{folder}/__init__.py"] = f"import importlib.metadata\n\n__version__ = {version}\n"
    if row.get("layout") != "src":
        found["tests/__init__.py"] = ""
    packages = ", ".join(f'"{name}"' for name in ["torch", *row.get("needs", []), *row.get("unneeded", [])])
    name = row.get("package", "cs336_basics")
    found["pyproject.toml"] = f'[project]\nname = "{name}"\nversion = "1.0.0"\ndependencies = [{packages}]\n'
    if row.get("layout") == "src":
        found["pyproject.toml"] += '\n[tool.setuptools.packages.find]\nwhere = ["src"]\n'
    return found


def python_files(row):
    """{path: text} of a row in Python."""
    on = [*row.get("slips", []), *row.get("habits", [])]
    on_2024 = [name for name in on if part(name) == ADAPTERS_2024]
    text = make(row.get("style", "modules"), [name for name in on if name not in on_2024])
    checks = source("checks") if row.get("checked") else ""
    if row.get("layout") == "file":
        return {"adapters.py": text + checks}
    everything = definitions(text)
    imports = [each for each in everything if each.is_import]
    everything = [each for each in everything if not each.is_import]
    model = reached(everything, [each for each in everything if not each.is_adapter or row.get("edition")])

    flat, package = row.get("layout") == "flat", row.get("package", "cs336_basics")
    folder = Path() if flat else Path("src" if row.get("layout") == "src" else "", *package.split("."))
    modules, found, homes = row.get("modules", {"model": ""}), {}, {}
    for name, chosen in split(model, modules).items() if modules else ():
        found[str(folder / f"{name}.py")] = module(imports, homes, chosen, row.get("star"))
        homes[name if flat else f"{package}.{name}"] = chosen
    if row.get("edition"):
        adapters = make(ADAPTERS_2024, on_2024).replace("MODEL", next(iter(homes)))
    else:
        adapters = adapters_2025(imports, homes, [each for each in everything if each not in model], row)
    found["tests/adapters.py"] = "\n".join([*row.get("adapters", []), adapters]) + checks
    return found if flat else found | packaging(folder, row)


PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project({name} LANGUAGES CXX)

find_package(prenorm 0.1 REQUIRED)
prenorm_add_solution({name} solution.cpp)
"""
# With a statement in its loop; right is RIGHT_RELU.
RELU = """\
#include <prenorm/prenorm.hpp>
template <class T>
void relu(prenorm::View<const T> x, prenorm::View<T> y) {
  for (std::int64_t i = 0; i < x.size(); ++i) %s;
}
PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(relu, relu)
"""
RIGHT_RELU = "y[i] = x[i] < 0 ? T(0) : x[i]"


@cache
def table(kind):
    return tomllib.loads((SUBMISSIONS / kind / f"{kind}.toml").read_text())


def project(name, row):
    """{path: text} of a row in C++."""
    lines = make("cpp", row["habits"]).splitlines(keepends=True)
    if "only" in row:
        exported = (re.match(r"PRENORM_EXPORT\w*\((\w+),", line) for line in lines)
        lines = [line for line, of in zip(lines, exported) if not of or of[1] in row["only"]]
    return {"CMakeLists.txt": PROJECT.format(name=name), "solution.cpp": "".join(lines)}


@cache
def files(name):
    """{path: text} of a submission that is not kept as a folder."""
    kind, _, name = name.partition("/")
    row = table(kind)[name]
    made = project(name, row) if row.get("style") == "cpp" else python_files(row)
    made |= row.get("beside", {})
    return {path: text for path, text in made.items() if path not in row.get("removed", [])}


def by_hand(name):
    return (SUBMISSIONS / name).is_dir()


def write(name, folder):
    """Writes a submission, as "class/eps_outside", into a folder."""
    if by_hand(name):
        return Path(shutil.copytree(SUBMISSIONS / name, folder, dirs_exist_ok=True))
    kind, _, row = name.partition("/")
    newline = "\r\n" if table(kind)[row].get("crlf") else "\n"
    for path, text in files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, newline=newline)
    return folder


@cache
def made():
    """Where those are that tests only read."""
    folder = Path(tempfile.mkdtemp(prefix="submissions-"))
    atexit.register(shutil.rmtree, folder)
    return folder


@cache
def folder_of(name):
    """The folder of a submission that is only read."""
    return SUBMISSIONS / name if by_hand(name) else write(name, made() / name)


def main():
    name, folder = sys.argv[1:]
    write(name, Path(folder))


if __name__ == "__main__":
    main()
