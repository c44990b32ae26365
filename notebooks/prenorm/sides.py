"""Sources side by side, as HTML that needs neither a script nor a server.

`side_by_side(problem, left, rights)`: two panes, the right one switched by tabs. Lines of one step
have the same colour in their margin. They light up in all panes while the pointer or the focus is
on one of them, or on the step's name above the panes.
"""

import html
import uuid

from .panes import COLOURS, pane, style
from .sources import function_source, versions

MOST_TABS = 6  # in sides.css


class View:
    """HTML for a notebook or a page."""

    def __init__(self, markup):
        self.markup = markup

    def _repr_html_(self):
        return style() + self.markup

    def __repr__(self):
        return "sources, shown as HTML"


def side_by_side(problem, left="reference", rights=None, name=None):
    """The code of two solutions side by side, step by step; of several on the right, one is shown
    at a time. A View.

    left, rights   solutions, as prenorm.source takes them (default: the reference, all versions in CUDA)
    name           tells this view from others of a page (default: a random number)
    """
    titles = versions(problem)
    rights = [rights] if isinstance(rights, str) else list(rights or titles)
    if len(rights) > MOST_TABS:
        raise ValueError(f"{len(rights)} solutions on the right, wanted {MOST_TABS} at most")
    sources = [function_source(problem, name) for name in (left, *rights)]
    # In the formula's order, so that a step of a problem has the same colour in all views.
    steps = list(dict.fromkeys(function_source(problem).steps + sources[0].steps))
    steps += [step for source in sources[1:] for step in source.steps if step not in steps]
    number = name or uuid.uuid4().hex[:8]  # no two views of a page may share their tabs
    tabs = "".join(_tab(number, i, _title(source.solution, titles))
                   for i, source in enumerate(sources[1:]))
    panes = "".join(pane(source, steps) for source in sources[1:])
    legend = "".join(f'<span class="step s{i % COLOURS}" tabindex="0" data-step="{i}">'
                     f"{html.escape(step)}</span>" for i, step in enumerate(steps))
    legend = f'<p class="steps">Steps: {legend}</p>' if steps else ""
    # Pointing at a step lights up all its lines in this view.
    rules = "".join(
        f'#sides{number}:has([data-step~="{i}"]:is(:hover, :focus)) [data-step~="{i}"] '
        "{ background-color: var(--lit) }\n" for i in range(len(steps)))
    return View(f'<style>{rules}</style><div class="sides two" id="sides{number}">{legend}'
                f'<div class="panes"><div class="left"><p class="tabs"><b>'
                f'{html.escape(_title(left, titles))}</b></p>{pane(sources[0], steps)}</div>'
                f'<div class="right">{tabs}{panes}</div></div></div>')


def _title(solution, versions):
    """"v3, launched", or "no eps" of a known mistake."""
    return versions.get(solution) or solution.removeprefix("mistakes/").replace("_", " ")


def _tab(view, i, title):
    checked = " checked" if i == 0 else ""
    return (f'<input type="radio" name="tab{view}" id="tab{view}_{i}" class="tab t{i}"{checked}>'
            f'<label for="tab{view}_{i}">{html.escape(title)}</label>')
