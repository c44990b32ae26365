"""Sources beside each other, as HTML that needs neither a script nor a server.

`side_by_side(problem, left, rights)`: two panes, the right one switched by tabs. Lines of one step
have one colour at their margin, and light up in all panes while one of them, or the step's name
above the panes, is pointed at or has the focus.
"""

import functools
import html
import itertools
import uuid
from pathlib import Path

from sources import COLOURS, ROOT, coloured_lines, function_source, steps_of_lines

@functools.lru_cache(maxsize=None)
def _style():
    return (Path(__file__).resolve().parent / "sides.css").read_text()


class View:
    """HTML for a notebook or a page."""

    def __init__(self, markup):
        self.markup = markup

    def _repr_html_(self):
        return f"<style>{_style()}</style>\n{self.markup}"

    def __repr__(self):
        return "sources, shown as HTML"


def alone(source):
    """The HTML of one Source."""
    return View(f'<div class="sides">{_pane(source, source.steps)}</div>')._repr_html_()


def side_by_side(problem, left="reference", rights=("cuda-naive", "cuda"), titles=None, name=None):
    """Two solutions' code beside each other, step by step; of several on the right one is shown at a
    time. A View.

    left, rights   solutions, as prenorm.source takes them
    titles         what the tabs are called, {solution: title}
    name           what tells this view from others of a page; by itself a number
    """
    rights = [rights] if isinstance(rights, str) else list(rights)
    if len(rights) > MOST_TABS:
        raise ValueError(f"{len(rights)} solutions on the right, wanted {MOST_TABS} at most")
    sources = [function_source(problem, name) for name in (left, *rights)]
    # In the formula's order, so that a step of a problem has one colour in all views.
    steps = list(dict.fromkeys(function_source(problem).steps + sources[0].steps))
    steps += [step for source in sources[1:] for step in source.steps if step not in steps]
    number = name or uuid.uuid4().hex[:8]  # no two views of a page may share their tabs
    titles = {**TITLES, **(titles or {})}
    tabs = "".join(_tab(number, i, titles.get(source.solution, source.solution))
                   for i, source in enumerate(sources[1:]))
    panes = "".join(_pane(source, steps) for source in sources[1:])
    legend = "".join(f'<span class="step s{i % COLOURS}" tabindex="0" data-step="{i}">'
                     f"{html.escape(step)}</span>" for i, step in enumerate(steps))
    legend = f'<p class="steps">Steps: {legend}</p>' if steps else ""
    # What is pointed at lights its equals, wherever they stand in this view.
    rules = "".join(
        f'#sides{number}:has([data-step~="{i}"]:is(:hover, :focus)) [data-step~="{i}"] '
        "{ background-color: var(--lit) }\n" for i in range(len(steps)))
    left_title = titles.get(left, left)
    return View(f'<style>{rules}</style><div class="sides two" id="sides{number}">{legend}'
                f'<div class="panes"><div class="left"><p class="tabs"><b>{html.escape(left_title)}'
                f'</b></p>{_pane(sources[0], steps)}</div>'
                f'<div class="right">{tabs}{panes}</div></div></div>')


MOST_TABS = 6  # that sides.css knows
TITLES = {"reference": "reference", "cuda-naive": "CUDA, naive", "cuda": "CUDA, launched"}


def _tab(view, i, title):
    checked = " checked" if i == 0 else ""
    return (f'<input type="radio" name="tab{view}" id="tab{view}_{i}" class="tab t{i}"{checked}>'
            f'<label for="tab{view}_{i}">{html.escape(title)}</label>')


def _pane(source, steps):
    """The code of one source: its pieces, under the names of their files. Pieces without steps,
    where others have them, are folded under what they define: declarations, helpers, launches. The
    problem's own function is not."""
    parts = []
    for path, pieces in itertools.groupby(source.pieces, key=lambda piece: piece.path):
        parts.append(f'<p class="file">{html.escape(str(path.relative_to(ROOT)))}</p>')
        codes = [(piece, _code(piece, steps)) for piece in pieces]
        for folded, group in itertools.groupby(
                codes, key=lambda each: bool(source.steps) and "data-step" not in each[1]
                and source.problem not in each[0].names):
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
            parts.append(f'<p class="file">{name}</p>{_code(piece, steps)}')
        parts.append("</details>")
    label = html.escape(f"{source.problem}, {source.solution}")
    return (f'<div class="pane" tabindex="0" role="region" aria-label="{label}">'
            f'{"".join(parts)}</div>')


def _code(piece, steps):
    lines, expected = [], piece.first
    numbers = piece.numbers or range(piece.first, piece.first + len(piece.lines))
    for number, text, names in zip(numbers, coloured_lines(piece.lines),
                                   steps_of_lines(piece.lines)):
        shown = [steps.index(name) for name in names if name in steps]
        classes = [f"s{shown[-1] % COLOURS}"] if shown else []
        classes += ["gap"] if number != expected else []  # lines of other problems are left out
        expected = number + 1
        marks = f' data-step="{" ".join(map(str, shown))}"' if shown else ""
        marks += f' class="{" ".join(classes)}"' if classes else ""
        marks += f' style="--margin: {_stripes(shown)}"' if len(shown) > 1 else ""
        lines.append(f'<span data-line="{number}"{marks}>{text or " "}</span>')
    return f'<pre class="code">{"".join(lines)}</pre>'


def _stripes(steps):
    """The colours of several steps beside each other, as the margin of a line."""
    width = 100 / len(steps)
    return "linear-gradient(to right, " + ", ".join(
        f"var(--c{step % COLOURS}) {i * width:.0f}% {(i + 1) * width:.0f}%"
        for i, step in enumerate(steps)) + ")"
