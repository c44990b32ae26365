"""The sources of a problem, found and cut out of the files that are compiled.

`function_source(problem, solution)` is the function that a solution exports for a problem and what
it calls in the files of its component, in the files' own order: no code is stored twice. Of a
struct it has the functions that are called, not those of other problems.
"""

import dataclasses
import fnmatch
import functools
import html
import re
import tomllib

from .cpp import pieces_of, steps_of_lines
from .fixtures import fixture
from .panes import alone
from .places import ROOT, home


# what a solution exports -------------------------------------------------------------------------

def _folder(name):
    path = ROOT / name
    if not path.is_dir():
        raise FileNotFoundError(f"no sources in {path}: notebooks show those of a checkout")
    return path


@functools.lru_cache(maxsize=None)
def _exports(path, macro):
    """The exports in a file: {name: [the other arguments]}."""
    found = {}
    text = re.sub(r"//.*", "", path.read_text())
    for match in re.finditer(rf"^{macro}\(\s*(\w+)\s*,([^;]*?)\)$", text, re.M):
        found[match[1]] = [re.sub(r"\s+", " ", each).strip() for each in match[2].split(",")]
    return found


def component_of(problem):
    """The component that a problem belongs to: the stem of its file in reference/."""
    return _reference(problem)[0].stem


def problems_of(component):
    """The problems of a component, in the order in which its reference defines them."""
    own = [word for piece in pieces_of(_folder("reference") / f"{component}.hpp")
           for word in piece.names]
    return [problem for name in own for problem, functions in _reference_exports().items()
            if functions[0].split("::")[-1] == name]


@functools.lru_cache(maxsize=None)
def _reference_exports():
    """The exports of reference/exports/: {problem: [function]}."""
    found = {}
    for path in sorted(_folder("reference").glob("exports/*.cpp")):
        found.update(_exports(path, "PRENORM_EXPORT"))
    return found


def _reference(problem, room="reference"):
    """The file and the function of a problem in reference/ or reference/fast/."""
    exports = _reference_exports()
    if problem not in exports:
        raise ValueError(f"no problem {problem} in reference/")
    function = exports[problem][0].split("::")[-1]
    for path in sorted(_folder(room).glob("*.hpp")):
        if any(function in piece.names for piece in pieces_of(path)):
            return path, function
    raise ValueError(f"no function {function} in {room}/*.hpp")


def _cuda(problem, solution, variant):
    """The file with a problem's CUDA export, and the arguments of the export."""
    for path in sorted(_folder("cuda").glob("*.cu")):
        exports = _exports(path, "PRENORM_CUDA_EXPORT")
        variants = _exports(path, "PRENORM_CUDA_FUNCTION")
        if variant and f"{problem}__{variant}" in variants:
            return path, variants[f"{problem}__{variant}"][0]
        if variant:
            text = path.read_text()
            found = re.search(rf"PRENORM_CUDA_VARIANT\({problem},\s*{variant},\s*([^;]*?)\)$", text,
                              re.M)
            if found:
                return path, found[1]
        elif problem in exports:
            return path, exports[problem][0 if solution == "cuda-naive" else 1]
    raise ValueError(f"no {solution}{'/' + variant if variant else ''} for {problem} in cuda/")


def _mistake(problem, name):
    """A known mistake's file, and its change of the problem's steps: "halves", "rope::halves"."""
    folder = _folder("reference") / "mistakes"
    lists = {match[1]: match[2] for path in folder.glob("*.?pp") for match in re.finditer(
        r"^#define (EXPORT_MISTAKES_\w+)\(problem\)((?:.*\\\n)*.*)", path.read_text(), re.M)}
    for path in sorted(folder.glob("*.cpp")):
        text = path.read_text()
        for each in re.findall(rf"^(EXPORT_MISTAKES_\w+)\({problem}\)$", text, re.M):
            text += re.sub(r"\\?\n", " ", lists[each]).replace("(problem,", f"({problem},")
        found = re.search(rf"\bEXPORT_MISTAKE\(\s*{problem},\s*{name}(?:,\s*([^;()]*))?\)", text)
        if found:
            return path.with_suffix(".hpp"), (found[1] or name).strip()
    raise ValueError(f"no mistakes/{name} for {problem}")


@functools.lru_cache(maxsize=None)
def _words():
    return {path.stem: tomllib.loads(path.read_text())
            for path in sorted((_folder("reference") / "mistakes").glob("*.toml"))}


def words_of(problem, mistake):
    """A known mistake in words, as reference/mistakes/README.md has them: {"right": ..., ...}. In
    the order of harness/explain/causes.cpp: the component's own, then those of each part."""
    components = _words()

    def found(name, key, searched):
        if name in searched:
            return None
        searched.add(name)
        parts = (found(part, key, searched) for part in components[name].get("parts", []))
        return components[name].get(key) or next(filter(None, parts), None)

    every = (found(name, key, set()) for name, table in components.items()
             if any(fnmatch.fnmatch(problem, each) for each in table["problems"])
             for key in (f"{problem}__{mistake}", mistake))
    return next(filter(None, every), {})


class Laws(list):
    """Of a problem: [{"says": ..., "breach": ..., ...}], shown as what they say."""

    def __repr__(self):
        return "\n".join("- " + each["says"] for each in self)

    def _repr_html_(self):
        return "<ul>" + "".join(f"<li>{html.escape(each['says'])}</li>" for each in self) + "</ul>"


def laws(problem):
    """What holds for every right implementation: Laws, without those about an input that the problem
    does not have. harness/explain/laws/README.md says how they are written."""
    every = (tomllib.loads(path.read_text()) for path in sorted((home() / "share/prenorm/laws").glob("*.toml")))
    found = next((table["law"].values() for table in every if problem in table["problems"]), [])
    inputs = set(re.findall(r"(\w+)\[", fixture(problem).signature))
    return Laws(each for each in found if set(each.get("change", {})) <= inputs)


# a solution's code -------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Source:
    """Code that is compiled into a solution: pieces of files, in order. Shown with colours."""
    problem: str
    solution: str
    pieces: tuple
    calls: tuple      # (name, Piece): what they call in other files of their folder
    words: dict = dataclasses.field(default_factory=dict, compare=False)  # of a known mistake

    @property
    def text(self):
        return "\n\n".join("\n".join(piece.lines) for piece in self.pieces)

    @property
    def path(self):
        """The file that it begins in, from the root: reference/rmsnorm.hpp."""
        return str(self.pieces[0].path.relative_to(ROOT))

    @functools.cached_property
    def steps(self):
        """The names of its steps, in order of appearance. Problems may share code; the steps of
        other problems only are left out: an attention without RoPE has no rotation."""
        named = list(dict.fromkeys(name for piece in self.pieces
                                   for names in steps_of_lines(piece.lines) for name in names))
        foreign = _steps_of_others(self.problem) if self.solution != "reference" else ()
        return [name for name in named if name not in foreign]

    @property
    def changes(self):
        """The functions of a known mistake that change a component's steps."""
        return [piece for piece in self.pieces if re.search(r"\bvoid \w+\(Steps& ", piece.code)]

    @property
    def changed(self):
        """The members of Steps that these change: of a right solution, none."""
        return {name for piece in self.changes for name in re.findall(r"\bsteps\.(\w+)", piece.code)}

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<{self.problem} by {self.solution}: {self.path}>"

    def _repr_html_(self):
        return alone(self)


def function_source(problem, solution="reference"):
    """The Source of a problem in a solution: "reference", "fast", "cuda-naive", "cuda", "cuda/v2",
    "mistakes/no_eps"; "-emulated" makes no difference. Raises ValueError if there is none."""
    name, _, variant = solution.removeprefix("./").partition("/")
    name = name.removesuffix("-emulated")
    if name in ("reference", "fast", "plain", "plain-tf32") and not variant:
        path, root = _reference(problem, "reference" if name == "reference" else "reference/fast")
        files, neighbours = [path], sorted(path.parent.glob("*.hpp"))
    elif name in ("cuda", "cuda-naive", "cuda-tf32"):
        path, root = _cuda(problem, name, variant)
        component = component_of(problem)
        files = sorted(path.parent.glob(f"{component}*.cu*"), key=_kernels_last)
        neighbours = sorted(path.parent.glob("*.cuh")) + sorted(path.parent.glob("*.cu"))
    elif name == "mistakes":
        path, change = _mistake(problem, variant)
        files, neighbours = [path], sorted(path.parent.glob("*.hpp"))
        # The change of a part's steps is the mistake itself; the functions that it changes follow.
        parts = [path.with_name(f"{part}.hpp") for part in re.findall(r"(\w+)::", change)
                 if part != path.stem]
        files += parts
        root = f"{problem} {change}"
        pieces = [piece for part in parts for piece in pieces_of(part)]
        members = {name for piece in pieces if set(piece.names) & set(re.findall(r"\w+", change))
                   for name in re.findall(r"\bsteps\.(\w+)", piece.code)}
        root += "".join(f" {piece.names[0]}" for piece in pieces if "const Steps& " in piece.code
                        and members & set(re.findall(r"\bsteps\.(\w+)", piece.code)))
    else:
        raise ValueError(f"no sources of {solution}")
    roots = set(re.findall(r"[A-Za-z_]\w*", root))
    words = words_of(problem, variant) if name == "mistakes" else {}
    return Source(problem, solution, *_closure(roots, files, neighbours), words)


@functools.lru_cache(maxsize=None)
def _steps_of_others(problem):
    """The steps that the references of a component's other problems name, and its own does not."""
    own = function_source(problem).steps
    return {name for other in problems_of(component_of(problem))
            for name in function_source(other).steps if name not in own}


def _kernels_last(path):
    return path.suffix == ".cu", path.name


def _closure(roots, files, neighbours):
    """The pieces of `files` that the words lead to, and what these call in `neighbours`.

    A file sees its own pieces, those of headers, and those of other files that a header declares.
    Of a struct it gets the members that are named; of a base class, those that are not redefined.
    """
    own = [piece for path in files for piece in pieces_of(path)
           if not _only_declares(piece, [q for p in files for q in pieces_of(p)])]
    declared = _declared([*files, *neighbours])
    wanted = {path: set(roots) for path in files}
    chosen, hidden = {}, {}  # a piece: its members that are called; a base: names that it hides

    def want(words, by):
        for path, seen in wanted.items():
            header = path.suffix in (".cuh", ".hpp")
            seen |= words if path == by.path or header else words & declared

    grew = True
    while grew:
        grew = False
        for piece in own:
            names, words = set(piece.names), wanted[piece.path]
            if piece not in chosen and (names & words or names & hidden.keys()):
                grew = True
                chosen[piece] = []
                bare = piece.trimmed(())
                want(bare.words - bare.bases - names, piece)
                defined = {name for member in piece.members for name in member.names}
                for base in bare.bases:
                    again = defined | (set() if names & words else _of_any(hidden, names))
                    hidden[base] = hidden.get(base, again) & again
            for member in piece.members if piece in chosen else ():
                called = set(member.names) & words
                called -= set() if names & words else _of_any(hidden, names)
                if called and member not in chosen[piece]:
                    grew = True
                    chosen[piece].append(member)
                    want(member.words, piece)
    pieces = tuple(piece.trimmed(chosen[piece]) for piece in own if piece in chosen
                   and not (set(piece.names) & hidden.keys() and _hollow(piece, chosen[piece])))
    if not pieces:
        raise ValueError(f"nothing of {', '.join(sorted(roots))} in "
                         f"{', '.join(path.name for path in files)}")
    called = {}
    # Not members: x.wait() is no call of a function wait.
    words = {word for piece in pieces for word in
             re.findall(r"(?<![.\w])(?<!->)[A-Za-z_]\w*", piece.code)} - {
        name for piece in pieces for name in piece.names}
    for path in neighbours:
        if path in files:
            continue
        for piece in pieces_of(path):
            for name in piece.names:
                seen = path.suffix != ".cu" or name in declared
                if name in words and seen and name not in called and "{" in piece.code:
                    called[name] = piece
    return pieces, tuple(called.items())


def _hollow(piece, members):
    """Whether nothing is left of a struct: it holds only members, and none are wanted."""
    return not members and re.search(r"\{\s*\};?\s*$", piece.trimmed(()).code)


def _of_any(hidden, names):
    """What is hidden in any of these bases."""
    return set().union(*(hidden.get(name, set()) for name in names))


def _declared(paths):
    """The names of functions that headers of the CUDA path declare and some .cu defines."""
    return {name for path in paths if path.suffix == ".cuh" for piece in pieces_of(path)
            if "{" not in piece.code and "=" not in piece.code for name in piece.names}


def _only_declares(piece, own):
    """A declaration of what another piece defines."""
    return "{" not in piece.code and "=" not in piece.code and any(
        other is not piece and "{" in other.code and set(piece.names) & set(other.names)
        for other in own)


def contract(problem):
    """The comment above a problem's reference function: equation, source, shapes, errors."""
    path, function = _reference(problem)
    piece = next(p for p in pieces_of(path) if function in p.names)
    comment = "\n".join(re.sub(r"^/// ?", "", line) for line in piece.lines if line[:3] == "///")
    return Text(re.sub(r"^Twins\b.*(?:\n .*)*", "", comment, flags=re.M).rstrip())


def ladder(problem):
    """The comment at the top of a problem's CUDA file: its versions and what each changes."""
    path, _ = _cuda(problem, "cuda", "")
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^// ?", "", line))
    return Text("\n".join(lines))


def versions(problem):
    """The versions of a problem's CUDA code, {solution: name}, as its ladder has them:
    {"cuda-naive": "v1, naive", "cuda/v2": "v2", "cuda": "v3, launched"}; {} without CUDA code."""
    if not any(problem in _exports(path, "PRENORM_CUDA_EXPORT") for path in _folder("cuda").glob("*.cu")):
        return {}
    variants = set()
    for path in _folder("cuda").glob("*.cu"):
        text = path.read_text()
        variants |= set(re.findall(rf"PRENORM_CUDA_VARIANT\({problem},\s*(v\d+),", text))
        variants |= set(re.findall(rf"PRENORM_CUDA_FUNCTION\({problem}__(v\d+),", text))
    before, arrow, _ = ladder(problem).partition("<- launched")
    told = re.findall(r"^  (v\d+)  ", before if arrow else "", re.M)
    launched = told[-1] if told else ""
    found = {"v1": ("cuda-naive", "v1, naive")}
    found[launched] = ("cuda", f"{launched}, launched" if launched else "launched")
    for variant in variants - {launched}:
        found[variant] = (f"cuda/{variant}", variant)
    # "" sorts last.
    return dict(found[name] for name in sorted(found, key=lambda name: (not name, name)))


class Text(str):
    """A text of the sources, shown unchanged."""

    def _repr_html_(self):
        return f'<pre class="told">{html.escape(self)}</pre>'

    def __repr__(self):
        return str(self)
