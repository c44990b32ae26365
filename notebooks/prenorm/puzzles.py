"""The puzzles of CUDA without a GPU: a program runs in the emulator, is right, and meets its targets."""

import concurrent.futures
import dataclasses
import math
import re
from pathlib import Path

from .places import HERE
from .program import run
from .solutions import Error

# What a kernel can be asked to reach: its words, and how it follows from a row of the profile.
_TARGETS = {
    "load": ("sectors per load request", lambda row: row["load s/r"]),
    "store": ("sectors per store request", lambda row: row["store s/r"]),
    "traffic": ("sectors moved per sector of the footprint", lambda row: row["sectors"] / row["footprint"]),
    "shared": ("wavefronts per request of shared memory", lambda row: row["shared w/r"]),
    "barriers": ("barriers per block", lambda row: row["barriers"] / row["blocks"]),
    "shuffles": ("shuffles per warp",
                 lambda row: row["shuffles"] / row["blocks"] / math.ceil(row["threads"] / 32)),
}


@dataclasses.dataclass
class Tried:
    """What puzzle() found. A notebook shows the text and, if a target is missed, the picture (SVG) of
    the request that costs most."""
    solved: bool
    text: str
    picture: str = ""

    def _ipython_display_(self):
        from IPython.display import SVG, display
        print(self.text)
        if self.picture:
            display(SVG(self.picture))


def puzzle(file, **targets):
    """Runs a CUDA program of one kernel in the emulator, which looks for what is undefined and for races,
    and counts what the kernel does to memory.

    targets     the most that is allowed of load, store, traffic, shared, barriers, shuffles

    Raises KeyError for an unknown target.
    """
    reached = {name: _TARGETS[name] for name in targets}
    ways = ("--check", "init"), ("--check", "race"), ("--profile",)
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            *_, profile = pool.map(lambda way: _emulate(file, *way), ways)
    except Error as error:
        return Tried(False, f"{str(error).replace(f'{HERE}/', '')}\nNot yet.")
    row = _kernel(profile)
    lines, solved = ["The results are right."], True
    for name, (words, count) in reached.items():
        value, most = count(row), targets[name]
        solved &= value <= most
        lines.append(f"{words}: {value:.3g}, wanted {'at most ' * (most > 0)}{most:.3g}"
                     + ("" if value <= most else "  <-- too many"))
    lines.append("Solved." if solved else "Not yet.")
    return Tried(solved, "\n".join(lines), "" if solved else _emulate(file, "--svg", "-"))


def _emulate(file, *options):
    return run("emulate", file, "-I", HERE, *options, exit_codes=(0,))


def _kernel(profile):
    """The numbers of the only kernel, by the names of the table's columns; 0 where nothing was counted."""
    names, _, cells = (re.split(r"  +", line.strip()) for line in profile.splitlines()[:3])
    return {name: 0 if cell == "-" else float(cell.split()[0])
            for name, cell in zip(names[1:], cells[1:])}
