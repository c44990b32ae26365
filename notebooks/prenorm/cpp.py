"""Files of C++ cut into definitions, and the steps that their comments name.

Steps. A comment `// step: normalize` in a source names what the lines below it do: up to a blank
line, a line that is indented less, or another step at the same depth. A comment at the end of a
line of code names that line only. Several names are separated by commas. Equal names in two sources
are the same step, and light up together where the two are shown side by side.
"""

import dataclasses
import functools
import re
from pathlib import Path

STEP = re.compile(r"//\s*step:\s*(.+?)\s*$")


@dataclasses.dataclass(frozen=True)
class Piece:
    """A definition at a file's outermost level, with the comment above it."""
    path: Path
    first: int        # the number of its first line
    lines: tuple      # of text
    names: tuple      # what it defines
    numbers: tuple = ()  # of all its lines, if some are left out: see trimmed()

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
        """What a struct defines with a body, in order: one Piece each. Without constructors and
        operators, which are not called by name."""
        return tuple(_members(self)) if _STRUCT.match(_without_template(self.code)) else ()

    def trimmed(self, members):
        """This piece with only these of its members."""
        left_out = set()
        for member in self.members:
            if member not in members:
                first = member.first - self.first
                left_out |= set(range(first, first + len(member.lines)))
                # And the blank line above it, or below it if it is the first.
                above, below = first - 1, first + len(member.lines)
                if not self.lines[above].strip():
                    left_out.add(above)
                elif above + 1 == len(self.lines) - 1 or not self.lines[below].strip():
                    left_out.add(below)
        # Comments, labels and blank lines at the end belonged to what was left out.
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
            begun = None  # a separate comment
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
            begun = None  # a separate comment
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


def steps_of_lines(lines):
    """The names of the steps of each line, outer ones first: a list of lists."""
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
