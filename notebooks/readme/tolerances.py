"""The README's picture: how much of its tolerance each honest variant, each form of the field and each
known mistake uses."""

import html
import math
from collections import Counter

import numpy as np
import prenorm

LARGEST = 300_000  # elements of a case's inputs
WIDTH, LEFT, RIGHT = 840, 24, 690  # of the picture, and of its axis
FIRST, LAST = -2, 8  # powers of ten of the axis
BASE = {"honest": 160, "field": 258, "mistakes": 443}  # where the dots of a group stand
TALL = {"honest": 142, "field": 80, "mistakes": 158}
STEP, RADIUS = 4.4, 1.8
# Mistakes that are named in the picture: {(problem, mistake): (words, height of the words)}.
NAMED = {("multihead_self_attention_with_rope", "float32_angles"): ("attention, RoPE's angles in float32", 128),
         ("gelu", "tanh_form"): ("GELU by tanh", 62),
         ("rope", "float32_angles"): ("RoPE, angles in float32", 84),
         ("silu", "zero_far_below"): ("SiLU, 0 far below 0", 106)}
STYLE = """
  text { font: 13px system-ui, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; fill: #1f2328 }
  .quiet { fill: #59636e; font-size: 12px } .line { stroke: #8c959f } .lead { stroke: #8c959f; stroke-width: 0.8 }
  .room { fill: #1a7f37; opacity: 0.1 } .honest, .field { fill: #1a7f37 } .mistakes { fill: #c21c2b }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .quiet { fill: #9198a1 } .honest, .field { fill: #56d364 } .mistakes { fill: #ff8179 }
    .room { fill: #56d364 } .paper { fill: #0d1117 }
  }
"""


def used(problem, solution):
    """The largest error over what is allowed, of all cases in float32; infinity for a wrong NaN or
    infinity, None if it is no mistake in float32."""
    function = getattr(prenorm.load(solution), problem)
    most = None
    for case in prenorm.fixture(problem).of_dtype("float32"):
        if not case.y.size or sum(v.size for v in case.inputs.values()) > LARGEST:
            continue
        try:
            compared = prenorm.compare(function(**case.arguments), case)
        except NotImplementedError:  # not every mistake is one in every dtype
            return None
        error = np.abs(compared.error)
        with np.errstate(all="ignore"):
            shares = np.where(error > 0, error / compared.allowed, 0)
        shares = np.where(np.isfinite(error), shares, np.where(compared.passes, 0, np.inf))
        most = max(most or 0.0, float(shares.max()))
    return most


def all_used(names_of):
    """{(problem, variant): used()}, of those that are variants in float32."""
    found = {(problem, name.partition("/")[2]): used(problem, name)
             for problem in prenorm.problems() for name in names_of(problem)}
    return {key: value for key, value in found.items() if value is not None}


def x_of(value):
    power = math.log10(min(max(value, 10.0**FIRST), 10.0**LAST))
    return LEFT + (RIGHT - LEFT) * (power - FIRST) / (LAST - FIRST)


def dots(group, values):
    """The group's dots, in stacks on its base; those beyond the axis in a block at its right.
    (SVG, {key: (x, y)})."""
    stacks, beyond, parts, places = Counter(), 0, [], {}
    for key, value in sorted(values.items(), key=lambda item: (item[1], item[0])):
        if value > 10.0**LAST:
            x, y = RIGHT + 34 + STEP * (beyond % 12), BASE[group] - 6 - STEP * (beyond // 12)
            beyond += 1
        else:
            column = round((x_of(value) - LEFT) / STEP)
            x, y = LEFT + STEP * column, BASE[group] - 6 - STEP * stacks[column]
            stacks[column] += 1
        places[key] = x, y
        parts.append(f'<circle class="{group}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>')
    return "\n".join(parts), places


def axis(base):
    powers = range(FIRST, LAST + 1, 2)
    ticks = "".join(
        f'<text class="quiet" x="{x_of(10.0**p):.1f}" y="{base + 16}" text-anchor="middle">'
        + ("1" if p == 0 else f'10<tspan dy="-4" font-size="9">{p}</tspan>'.replace("-2<", "−2<"))
        + "</text>" for p in powers)
    return f'<line class="line" x1="{LEFT}" x2="{RIGHT}" y1="{base}" y2="{base}"/>{ticks}'


def picture(honest, field, mistakes):
    """The SVG."""
    parts, places = [], {}
    for group, values, title in (
            ("honest", honest, f"{len(honest)} honest variants: correct, with other last digits"),
            ("field", field, f"{len(field)} forms that people run: PyTorch, NumPy, published kernels"),
            ("mistakes", mistakes, f"{len(mistakes)} known mistakes: nearly right")):
        top, base = BASE[group] - TALL[group], BASE[group]
        drawn, found = dots(group, values)
        places |= {(group, *key): place for key, place in found.items()}
        parts += [f'<rect class="room" x="{LEFT}" width="{x_of(1) - LEFT:.1f}" y="{top}" '
                  f'height="{base - top}"/>',
                  f'<line class="line" stroke-dasharray="3 3" x1="{x_of(1):.1f}" x2="{x_of(1):.1f}" '
                  f'y1="{top}" y2="{base}"/>',
                  axis(base), f'<text x="{x_of(1) + 10:.1f}" y="{top + 14}" font-weight="600">'
                  f'{html.escape(title)}</text>', drawn]
    for mistake, (label, above) in NAMED.items():
        x, y = places["mistakes", *mistake]
        left = above < 128  # of its line, where no other line crosses the words
        parts.append(f'<line class="lead" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 4:.1f}" '
                     f'y2="{BASE["mistakes"] - above + 4}"/><text class="quiet" '
                     f'x="{x - 4 if left else x + 4:.1f}" text-anchor="{"end" if left else "start"}" '
                     f'y="{BASE["mistakes"] - above + 2}">{html.escape(label)}</text>')
    if any(value > 10.0**LAST for value in mistakes.values()):
        parts.append(f'<text class="quiet" x="{RIGHT + 30}" y="{BASE["mistakes"] + 16}">more, or NaN</text>')
    parts += [f'<text class="quiet" x="{LEFT + 8}" y="{BASE["honest"] - 128}">accepted</text>',
              f'<text class="quiet" x="{LEFT}" y="{BASE["mistakes"] + 40}">largest error, divided by the '
              f'tolerance, of all cases of a problem in float32 (logarithmic)</text>']
    height = BASE["mistakes"] + 52
    told = (f"Of {len(honest)} honest variants and {len(field)} forms that people run all stay within the "
            f"tolerance; of {len(mistakes)} known mistakes {sum(value > 1 for value in mistakes.values())} exceed it.")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-label="{told}">\n<title>{told}</title>\n'
            f"<style>{STYLE}</style>\n"
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def draw(rows):
    """Computes the shares and returns the SVG. `rows`: what tests/field/forms.py prints."""
    field = {}
    for row in rows:
        key = row["problem"], row["form"]
        if row["dtype"] == "float32":
            field[key] = max(field.get(key, 0.0), row["share"])
    return picture(all_used(prenorm.names_of_honest), field, all_used(prenorm.names_of_mistakes))
