"""The code of one source as HTML: a pane, and the style of all panes."""

import functools
import html
import itertools
import re
from pathlib import Path

import pygments.lexers
import pygments.token

from .cpp import steps_of_lines
from .places import ROOT

COLOURS = 8  # of steps, in sides.css


@functools.lru_cache(maxsize=None)
def style():
    """What every pane needs once per page, with its tags."""
    css = (Path(__file__).resolve().parent / "sides.css").read_text()
    return f"<style>{css}</style>\n"


@functools.lru_cache(maxsize=None)
def styled():
    """The classes of Pygments that have a colour. Spans of others would only make pages larger."""
    return frozenset(re.findall(r"\.sides \.([a-z]{1,3}\d?)\b", style()))


def alone(source):
    """The HTML of one Source."""
    return f'{style()}<div class="sides">{pane(source, source.steps)}</div>'


def pane(source, steps):
    """The code of one source: its pieces, under the names of their files. If some of them have
    steps, those without (declarations, helpers, launches) are folded under the names that they
    define. The problem's own function is never folded, and neither are the changes of a known
    mistake, whose words stand above the code."""
    parts = [_words(source.words)] if source.words else []
    changed = _changed(source) if source.words else {}
    for path, pieces in itertools.groupby(source.pieces, key=lambda piece: piece.path):
        parts.append(f'<p class="file">{html.escape(str(path.relative_to(ROOT)))}</p>')
        codes = [(piece, _code(piece, steps, changed)) for piece in pieces]
        for folded, group in itertools.groupby(
                codes, key=lambda each: bool(source.steps) and "data-step" not in each[1]
                and source.problem not in each[0].names and each[0] not in source.changes):
            group = list(group)
            code = "".join(text for _, text in group)
            names = ", ".join(dict.fromkeys(name for piece, _ in group for name in piece.names))
            parts.append(f"<details><summary>{html.escape(names)}</summary>{code}</details>"
                         if folded else code)
    if source.calls:
        parts.append("<details><summary>What it calls in other files: " + ", ".join(
            html.escape(name) for name, _ in source.calls) + "</summary>")
        for piece in dict.fromkeys(piece for _, piece in source.calls):
            name = html.escape(str(piece.path.relative_to(ROOT)))
            parts.append(f'<p class="file">{name}</p>{_code(piece, steps, changed)}')
        parts.append("</details>")
    label = html.escape(f"{source.problem}, {source.solution}")
    return (f'<div class="pane" tabindex="0" role="region" aria-label="{label}">'
            f'{"".join(parts)}</div>')


def _words(words):
    """The formula as it should be and as a known mistake has it."""
    right, wrong = (html.escape(words[key], quote=False) for key in ("right", "wrong"))
    return (f'<p class="words"><b>{html.escape(words["name"], quote=False)}</b><br>'
            f"right: <code>{right}</code><br>wrong: <code>{wrong}</code></p>")


def _changed(source):
    """The lines that a known mistake computes otherwise, {(piece, line): names of its steps}, and
    those that call such a line in another file. The function that says so has the steps of all."""
    called = [piece for _, piece in source.calls if piece not in source.changes]
    member = rf"\bsteps\.({'|'.join(source.changed) or '(?!)'})\b"
    found = _lines(called, member)
    names = "|".join(name for piece, _ in found for name in piece.names)
    own = [piece for piece in source.pieces if piece not in source.changes]
    found |= _lines(own, rf"{member}|::({names or '(?!)'})\(")
    every = list(dict.fromkeys(name for steps in found.values() for name in steps))
    return found | {(piece, i): every for piece in source.changes
                    for i, line in enumerate(piece.lines) if "steps" in line}


def _lines(pieces, pattern):
    """The lines with something, {(piece, line): names of its steps}."""
    return {(piece, i): names for piece in pieces
            for i, (line, names) in enumerate(zip(piece.lines, steps_of_lines(piece.lines)))
            if re.search(pattern, line)}


def _code(piece, steps, changed):
    lines = []
    numbers = piece.numbers or range(piece.first, piece.first + len(piece.lines))
    for i, (number, text, names) in enumerate(zip(numbers, coloured_lines(piece.lines),
                                                  steps_of_lines(piece.lines))):
        names = changed.get((piece, i), names)
        shown = [steps.index(name) for name in names if name in steps]
        colour = f"s{shown[-1] % COLOURS}" if shown else ""
        marks = {"data-step": " ".join(map(str, shown)),
                 "class": f"{colour} changed".strip() if (piece, i) in changed else colour,
                 "style": f"--margin: {_stripes(shown)}" if len(shown) > 1 else ""}
        lines.append((number, text, marks))
    return numbered(lines, piece.first)


def numbered(lines, first):
    """A listing of lines, [(number, HTML, attributes)], the first of which should be `first`. The
    style counts them, which keeps pages small: a number is written only where lines are left out,
    and the line has the class "gap"."""
    spans, expected = [], first
    for number, text, attributes in lines:
        if number != expected:
            attributes = {**attributes, "class": f"{attributes.get('class', '')} gap".strip(),
                          "style": f"counter-set: line {number};{attributes.get('style', '')}"}
        expected = number + 1
        marks = "".join(f' {name}="{value}"' for name, value in attributes.items() if value)
        spans.append(f"<span{marks}>{text or ' '}</span>")
    return f'<pre class="code" style="counter-reset: line {first - 1}">{"".join(spans)}</pre>'


def _stripes(steps):
    """The margin of a line with several steps: their colours side by side."""
    width = 100 / len(steps)
    return "linear-gradient(to right, " + ", ".join(
        f"var(--c{step % COLOURS}) {i * width:.0f}% {(i + 1) * width:.0f}%"
        for i, step in enumerate(steps)) + ")"


@functools.lru_cache(maxsize=None)
def coloured_lines(lines):
    """The lines of a piece of C++ as HTML, one string per line, with classes of Pygments."""
    out, current = [], []
    lexer = pygments.lexers.get_lexer_by_name("cpp", stripnl=False, ensurenl=False)
    for kind, text in lexer.get_tokens("\n".join(lines)):
        css = pygments.token.STANDARD_TYPES.get(kind, "")
        for i, part in enumerate(text.split("\n")):
            if i:
                out.append("".join(current))
                current = []
            if part:
                part = html.escape(part, quote=False)
                current.append(f"<i class={css}>{part}</i>" if css in styled() else part)
    return out + ["".join(current)]
