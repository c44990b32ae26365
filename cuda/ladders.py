#!/usr/bin/env python3
"""cuda/ladders.py: tells in the head of each kernel file, and in docs/profile.md, what each version
of its ladder does to memory, from the counts in cuda/profiles.json. Run it after those have changed
(PRENORM_WRITE_PROFILES=1 ./prenorm test --all -R '^profile(_slow)?$' does both). It prints which files it changes.

Notebooks and the study site take versions() from here.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Which of the profile's shapes a file tells of.
TOLD = {
    "activations": ["relu float32"],
    "attention": ["attention_causal bfloat16"],
    "embedding": ["embedding float32"],
    "feed_forward": ["ffn_swiglu float32"],
    "linear": ["linear bfloat16"],
    "multihead_self_attention": ["multihead_rope bfloat16"],
    "rmsnorm": ["rmsnorm float32"],
    "rope": ["rope float32"],
    "softmax": ["softmax float32", "softmax_axis_0 float32"],
    "transformer_block": ["block bfloat16"],
    "transformer_lm": ["lm bfloat16"],
}
COLUMNS = {"launches": 8, "sectors/load": 12, "sectors/store": 13, "moved": 6, "footprint": 9,
           "wavefronts": 10, "barriers": 8, "shuffles": 8}  # and how wide they are in a head
COUNTS = "// Counts of "  # how the paragraph of a head begins
BEGIN, END = "<!-- counts: cuda/ladders.py -->\n", "<!-- end of counts -->\n"


def number(value):
    return f"{value:.3g}" if value < 1000 else str(round(value))


@dataclass
class Version:
    """What one version of a kernel does at one shape."""

    solution: str
    kernels: list
    least: int  # bytes that the problem must move
    name: str = ""  # "v2"

    def sum(self, count):
        return sum(kernel[count] for kernel in self.kernels)

    def per_request(self, kind, unit):
        """"21.7 (3)": sectors or wavefronts per request, and the least; "-" without requests."""
        requests, least = self.sum(f"{kind}_requests"), self.sum(f"{kind}_ideal_{unit}")
        if not requests:
            return "-"
        each, least = number(self.sum(f"{kind}_{unit}") / requests), number(least / requests)
        return each if each == least else f"{each} ({least})"

    @property
    def cells(self):
        """Its values for COLUMNS."""
        moved = 32 * (self.sum("load_sectors") + self.sum("store_sectors"))
        return [str(self.sum("launches")), self.per_request("load", "sectors"),
                self.per_request("store", "sectors"), number(moved / self.least),
                number(self.sum("least_bytes") / self.least),
                self.per_request("shared", "wavefronts"), str(self.sum("barriers")),
                str(self.sum("shuffles"))]


class Profiles:
    """cuda/profiles.json, and what the heads say of versions."""

    def __init__(self, folder=HERE):
        self.folder = folder
        self.rows = json.loads((folder / "profiles.json").read_text())
        self.shapes = self.rows.pop("shapes")  # "rmsnorm float32": problem, bytes, what it is

    def versions(self, shape, component):
        """The versions at a shape, "rmsnorm float32", the first one first. The launched one has the
        name that the head gives it, or of another one that does the same in the emulator."""
        least = self.shapes[shape]["bytes"]
        found = [Version(key.rpartition(" ")[2], kernels, least)
                 for key, kernels in self.rows.items() if key.rpartition(" ")[0] == shape]
        order = {"cuda-naive-emulated": 0, "cuda-emulated": 2}
        found.sort(key=lambda each: (order.get(each.solution, 1), each.solution))
        for each in found[:-1]:
            each.name = each.solution.partition("/")[2] or "v1"
        launched = found[-1]
        for each in found[:-1]:
            if launched.kernels == each.kernels:
                each.solution = launched.solution
                return found[:-1]
        launched.name = self.launched(component)
        return found

    def launched(self, component):
        """"v3", as the file's head says."""
        head = (self.folder / f"{component}.cu").read_text().partition("\n#include")[0]
        before, arrow, _ = head.partition("<- launched")
        told = re.findall(r"^//   (v\d+)  ", before if arrow else "", re.M)
        return told[-1] if told else "launched"

    def of_problem(self, problem):
        """The shapes of a problem, "rmsnorm float32"."""
        return [shape for shape, told in self.shapes.items() if told["problem"] == problem]

    def pictures(self, component):
        """A request of the first version and of the launched one: [(Version, path of an SVG)]."""
        versions = self.versions(TOLD[component][0], component)
        return [(version, self.folder / f"pictures/{component}_{place}.svg")
                for version, place in ((versions[0], "first"), (versions[-1], "launched"))]

    def heading(self, shape):
        """"rmsnorm, float32: 128 rows of 1024"; the shape's name is what --shape takes."""
        return f"{', '.join(shape.split())}: {self.shapes[shape]['what']}"


# what is written ---------------------------------------------------------------------------------

def paragraph(profiles, component):
    """The counts as a head has them."""
    def row(name, cells):
        return f"//   {name:<4}" + "  ".join(
            f"{cell:>{width}}" for cell, width in zip(cells, COLUMNS.values()))

    shape = TOLD[component][0]  # of others the page tells: a head is short
    return "\n".join([f"{COUNTS}{profiles.heading(shape)} (docs/profile.md)", row("", COLUMNS),
                      *(row(version.name, version.cells)
                        for version in profiles.versions(shape, component))])


def with_counts(text, counts):
    """A kernel file with the paragraph: in its place, or below the ladder."""
    head, mark, rest = text.partition("\n#include")
    paragraphs = [each for each in head.split("\n//\n") if not each.startswith(COUNTS)]
    ladder = next(i for i, each in enumerate(paragraphs) if re.search(r"^//   v1  ", each, re.M))
    paragraphs.insert(ladder + 1, counts)
    return "\n//\n".join(paragraphs) + mark + rest


def table(profiles):
    """All that the heads say, as Markdown."""
    lines = []
    for component, shapes in TOLD.items():
        for shape in shapes:
            lines += ["", f"{profiles.heading(shape)}", "",
                      "| version | " + " | ".join(COLUMNS) + " |",
                      "|---" * (len(COLUMNS) + 1) + "|"]
            for version in profiles.versions(shape, component):
                lines.append(f"| {version.name} | " + " | ".join(version.cells) + " |")
    return "\n".join(lines) + "\n\n"


def with_table(page, text):
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END, 1)[1]


def texts(root):
    """What the files should be: {path: text}."""
    profiles = Profiles(root / "cuda")
    found = {path: with_counts(path.read_text(), paragraph(profiles, path.stem))
             for path in sorted((root / "cuda").glob("*.cu")) if path.stem in TOLD}
    page = root / "docs/profile.md"
    return {**found, page: with_table(page.read_text(), table(profiles))}


def write(root):
    """Writes them; the paths of those that changed."""
    changed = {path: text for path, text in texts(root).items() if path.read_text() != text}
    for path, text in changed.items():
        path.write_text(text)
    return list(changed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    for path in write(HERE.parent):
        print(path.relative_to(HERE.parent))
