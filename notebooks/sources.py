"""The sources of a problem, found and cut out of the files that are compiled.

`function_source(problem, solution)` is the function that a solution exports for a problem and what
it calls in the files of its component, in the files' own order: nothing is kept a second time. Of a
struct it has the functions that are called, and not those of other problems.

Steps. A comment `// step: normalize` in a source names what the lines below it do: up to a blank
line, a line that is indented less, or another step at the same depth. Behind code on a line it
names that line alone. Several names are separated by commas. Equal names in two sources are the
same step, and light up together where the two are shown side by side.
"""

import dataclasses
import functools
import html
import re
from pathlib import Path

import pygments.formatters
import pygments.lexers
import pygments.token

ROOT = Path(__file__).resolve().parent.parent
STEP = re.compile(r"//\s*step:\s*(.+?)\s*$")
COLOURS = 8  # of steps, in sides.css


# files in pieces ---------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Piece:
    """A definition at the margin of a file, with the comment above it."""
    path: Path
    first: int        # the number of its first line
    lines: tuple      # of text
    names: tuple      # what it defines
    numbers: tuple = ()  # of all its lines, where some between are left out: see trimmed()

    @functools.cached_property
    def code(self):
        """Its text without comments and the contents of strings."""
        return "\n".join(_bare(line) for line in self.lines)

    @functools.cached_property
    def words(self):
        """Every identifier in it."""
        return set(re.findall(r"[A-Za-z_]\w*", self.code))

    @functools.cached_property
    def bases(self):
        """The structs that it derives from."""
        head = re.match(r"\s*(?:struct|class)\s+\w+\s*:([^{]*)\{", _without_template(self.code))
        return set(re.findall(r"[A-Za-z_]\w*", head[1])) if head else set()

    @functools.cached_property
    def members(self):
        """What a struct defines with a body, in order: a Piece each. Not what its name does not
        call: constructors, operators."""
        return tuple(_members(self)) if _STRUCT.match(_without_template(self.code)) else ()

    def trimmed(self, members):
        """Itself with these of its members alone."""
        left_out = set()
        for member in self.members:
            if member not in members:
                first = member.first - self.first
                left_out |= set(range(first, first + len(member.lines)))
                # And the blank line above it, or below where it is the first.
                above, below = first - 1, first + len(member.lines)
                if not self.lines[above].strip():
                    left_out.add(above)
                elif above + 1 == len(self.lines) - 1 or not self.lines[below].strip():
                    left_out.add(below)
        # A comment, a label and blank lines that are left at the end stood above what was left out.
        for i in reversed(range(len(self.lines) - 1) if left_out else ()):
            if i not in left_out and not re.fullmatch(r"\s*(//.*|\w+:)?", self.lines[i]):
                break
            left_out.add(i)
        kept = [i for i in range(len(self.lines)) if i not in left_out]
        return dataclasses.replace(self, lines=tuple(self.lines[i] for i in kept),
                                   numbers=tuple(self.first + i for i in kept))


def _bare(line):
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    line = re.sub(r"'(?:[^'\\]|\\.)'", "' '", line)
    return line.split("//")[0]


_NO_DEFINITION = re.compile(r'#(?!define)|namespace\b|using namespace|\}|extern "C" \{')
_KEYWORDS = {"__launch_bounds__", "alignas", "decltype", "requires", "sizeof", "if", "for",
             "__attribute__", "operator"}


@functools.lru_cache(maxsize=None)
def _pieces(path, _changed):
    lines = path.read_text().splitlines()
    pieces, begun, depth, opened = [], None, 0, False
    for number, line in enumerate(lines, 1):
        bare = _bare(line)
        if begun is None:
            if not line.strip() or (line[0].isspace()) or _NO_DEFINITION.match(line):
                continue
            begun, depth, opened, has_code = number, 0, False, False
        elif not has_code and (not line.strip() or _NO_DEFINITION.match(line)):
            begun = None  # a comment that stands by itself
            continue
        depth += sum(bare.count(c) for c in "{([") - sum(bare.count(c) for c in "})]")
        opened = opened or "{" in bare
        has_code = has_code or bool(bare.strip())
        end = bare.rstrip()
        macro = line.startswith("#define") or (has_code and lines[begun - 1].startswith("#define"))
        complete = (not line.endswith("\\") if macro else
                    depth == 0 and has_code and (end.endswith(";") or (opened and end.endswith("}"))
                                                 or re.match(r"[A-Z_]+\(.*\)$", end)))
        if complete:
            text = tuple(lines[begun - 1:number])
            pieces.append(Piece(path, begun, text, _names("\n".join(map(_bare, text)))))
            begun = None
    return tuple(pieces)


def _members(piece):
    depth, begun = 0, None
    for i, line in enumerate(piece.lines):
        bare = _bare(line).strip()
        if depth == 1 and begun is None and line.strip() and not re.match(r"\w+:$|\}", bare):
            begun = i
        elif depth == 1 and not line.strip():
            begun = None  # a comment that stands by itself
        depth += sum(bare.count(c) for c in "{([") - sum(bare.count(c) for c in "})]")
        if depth == 1 and begun is not None and bare.endswith((";", "}")):
            lines = piece.lines[begun:i + 1]
            code = "\n".join(map(_bare, lines))
            names = set(_names(code)) - set(piece.names)
            if "{" in code and names and not re.search(r"\boperator\b|~", code.split("{")[0]):
                yield Piece(piece.path, piece.first + begun, lines, tuple(names))
            begun = None


def pieces_of(path):
    """The definitions in a file of C++, in order."""
    return _pieces(path, path.stat().st_mtime_ns)


_STRUCT = re.compile(r"\s*(?:struct|class|union|enum(?: class)?)\s+(\w+)")


def _without_template(code):
    return re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=[a-z_A-Z:])", " ", code, flags=re.DOTALL)


def _names(code):
    code = _without_template(code)
    define = re.match(r"\s*#define\s+(\w+)", code)
    if define:
        return (define[1],)
    kind = _STRUCT.match(code)
    if kind:
        return (kind[1],)
    alias = re.match(r"\s*using\s+(\w+)\s*=", code)
    if alias:
        return (alias[1],)
    head = code.split("{")[0]
    variables = re.match(r"[^(]*\b(?:constexpr|const|inline)\b[^(]*?=", head)
    if variables:
        return tuple(re.findall(r"(\w+)\s*=", code))
    for name in re.findall(r"([A-Za-z_]\w*)\s*\(", head):
        if name not in _KEYWORDS:
            return (name,)
    braced = re.search(r"\b(?:constexpr|const|inline)\b[^(]*?(\w+)\s*$", head)
    return (braced[1],) if braced else ()


# what a solution exports -------------------------------------------------------------------------

def _folder(name):
    path = ROOT / name
    if not path.is_dir():
        raise FileNotFoundError(f"no sources in {path}: notebooks show those of a checkout")
    return path


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


def _reference_exports():
    """What exports/ exports: {problem: [function]}."""
    found = {}
    for path in sorted(_folder("reference").glob("exports/*.cpp")):
        found.update(_exports(path, "PRENORM_EXPORT"))
    return found


def _reference(problem):
    """The file and the function of a problem in reference/."""
    exports = _reference_exports()
    if problem not in exports:
        raise ValueError(f"no problem {problem} in reference/")
    function = exports[problem][0].split("::")[-1]
    for path in sorted(_folder("reference").glob("*.hpp")):
        if any(function in piece.names for piece in pieces_of(path)):
            return path, function
    raise ValueError(f"no function {function} in reference/*.hpp")


def _cuda(problem, solution, variant):
    """The file with a problem's CUDA export, and the words of the export."""
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
    """A known mistake's file and the words of its export."""
    folder = _folder("reference") / "mistakes"
    words = _exports(folder / "solution.cpp", "EXPORT_MISTAKE").get(f"{problem}__{name}")
    if words is None:
        raise ValueError(f"no mistakes/{name} for {problem}")
    return folder / f"{words[0].split('::')[0]}.hpp", " ".join(words)


# a solution's code -------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Source:
    """Code that is compiled into a solution: pieces of files, in order. Shown with colours."""
    problem: str
    solution: str
    pieces: tuple
    calls: tuple      # (name, Piece): what they call in other files of their folder

    @property
    def text(self):
        return "\n\n".join("\n".join(piece.lines) for piece in self.pieces)

    @property
    def path(self):
        """The file that it begins in, from the root: reference/rmsnorm.hpp."""
        return str(self.pieces[0].path.relative_to(ROOT))

    @property
    def steps(self):
        """The names of its steps, in order of appearance. Where problems share code, what is a step
        of another one alone is left out: an attention without RoPE has no rotation."""
        named = list(dict.fromkeys(name for piece in self.pieces
                                   for names in steps_of_lines(piece.lines) for name in names))
        foreign = _steps_of_others(self.problem) if self.solution != "reference" else ()
        return [name for name in named if name not in foreign]

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<{self.problem} by {self.solution}: {self.path}>"

    def _repr_html_(self):
        from sides import alone
        return alone(self)


def function_source(problem, solution="reference"):
    """The Source of a problem in a solution: "reference", "plain", "cuda-naive", "cuda", "cuda/v2",
    "mistakes/no_eps"; "-emulated" makes no difference. Raises ValueError where there is none."""
    name, _, variant = solution.removeprefix("./").partition("/")
    name = name.removesuffix("-emulated")
    if name in ("reference", "plain", "plain-tf32") and not variant:
        path, root = _reference(problem)
        files, neighbours = [path], sorted(path.parent.glob("*.hpp"))
    elif name in ("cuda", "cuda-naive", "cuda-tf32"):
        path, root = _cuda(problem, name, variant)
        component = component_of(problem)
        files = sorted(path.parent.glob(f"{component}*.cu*"), key=_kernels_last)
        neighbours = sorted(path.parent.glob("*.cuh")) + sorted(path.parent.glob("*.cu"))
    elif name == "mistakes":
        path, root = _mistake(problem, variant)
        files, neighbours = [path], sorted(path.parent.glob("*.hpp"))
    else:
        raise ValueError(f"no sources are known of {solution}")
    roots = set(re.findall(r"[A-Za-z_]\w*", root))
    return Source(problem, solution, *_closure(roots, files, neighbours))


def _steps_of_others(problem):
    """The steps that the references of a component's other problems name, and its own does not."""
    own = function_source(problem).steps
    return {name for other in problems_of(component_of(problem))
            for name in function_source(other).steps if name not in own}


def _kernels_last(path):
    return path.suffix == ".cu", path.name


def _closure(roots, files, neighbours):
    """The pieces of `files` that the words lead to, and what these call in `neighbours`.

    A file sees its own pieces, those of headers, and of another file what a header declares. Of a
    struct it gets the members that are named; of one that is only derived from, those that are not
    defined anew.
    """
    own = [piece for path in files for piece in pieces_of(path)
           if not _only_declares(piece, [q for p in files for q in pieces_of(p)])]
    declared = _declared([*files, *neighbours])
    wanted = {path: set(roots) for path in files}
    chosen, hidden = {}, {}  # a piece: its members that are called; a base: names that it hides

    def want(words, by):
        for path, seen in wanted.items():
            seen |= words if path == by.path or path.suffix == ".cuh" else words & declared

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
    """Whether a struct holds nothing but members, and none of these."""
    return not members and re.search(r"\{\s*\};?\s*$", piece.trimmed(()).code)


def _of_any(hidden, names):
    """What is hidden of any of these names."""
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
    """What the reference says above a problem's function: equation, source, shapes, errors."""
    path, function = _reference(problem)
    piece = next(p for p in pieces_of(path) if function in p.names)
    comment = "\n".join(re.sub(r"^/// ?", "", line) for line in piece.lines if line[:3] == "///")
    return Text(re.sub(r"^Twins\b.*(?:\n .*)*", "", comment, flags=re.M).rstrip())


def ladder(problem):
    """What stands at the top of a problem's CUDA file: its versions and what each changes."""
    path, _ = _cuda(problem, "cuda", "")
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^// ?", "", line))
    return Text("\n".join(lines))


def versions(problem):
    """The versions of a problem's CUDA code, {solution: name}, as its ladder has them:
    {"cuda-naive": "v1, naive", "cuda/v2": "v2", "cuda": "v3, launched"}."""
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
    # "" stands behind the others.
    return dict(found[name] for name in sorted(found, key=lambda name: (not name, name)))


class Text(str):
    """A text of the sources, shown as it stands there."""

    def _repr_html_(self):
        return f'<pre class="told">{html.escape(self)}</pre>'

    def __repr__(self):
        return str(self)


# steps and colours -------------------------------------------------------------------------------

def steps_of_lines(lines):
    """For each line the names of the steps that it belongs to, outer ones first: a list of lists."""
    found, running = [], []  # running: (indentation, names)
    for line in lines:
        if not line.strip():
            running = []
            found.append([])
            continue
        # #pragma stands at the margin wherever it is.
        indent = len(line) - len(line.lstrip()) if line[0] != "#" else len(line)
        running = [each for each in running if each[0] <= indent]
        marker = STEP.search(line)
        names = [name.strip() for name in marker[1].split(",")] if marker else []
        if marker and line.lstrip().startswith("//"):
            running = [each for each in running if each[0] < indent] + [(indent, names)]
            names = []
        found.append(list(dict.fromkeys([n for _, more in running for n in more] + names)))
    return found


def coloured_lines(lines):
    """The lines of a piece of C++ as HTML, each by itself, with classes of Pygments."""
    out, current = [], []
    lexer = pygments.lexers.get_lexer_by_name("cpp", stripnl=False, ensurenl=False)
    for kind, text in lexer.get_tokens("\n".join(lines)):
        css = pygments.token.STANDARD_TYPES.get(kind, "")
        for i, part in enumerate(text.split("\n")):
            if i:
                out.append("".join(current))
                current = []
            if part:
                part = html.escape(part)
                current.append(f'<span class="{css}">{part}</span>' if css else part)
    return out + ["".join(current)]
