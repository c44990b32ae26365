#!/usr/bin/python3
"""Makes what the README and docs/ show, from real runs: the table of `prenorm verify`, and pictures.

    notebooks/readme/make.py        after ./prenorm study or ./prenorm test (needs chromium)

The table is written between its marks in docs/verdicts.md, the pictures into this folder.
"""

import base64
import re
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "notebooks"), str(ROOT / "tests/support")]

import browser  # noqa: E402
import pictures  # noqa: E402
import prenorm  # noqa: E402
import tolerances  # noqa: E402

WIDTH = 105  # columns of the page
BEGIN, END = "<!-- table: notebooks/readme/make.py -->\n", "<!-- end of the table -->"


def table():
    """What `./prenorm verify` prints, without the columns that do not fit."""
    lines = prenorm.run("verify", "--no-color", "--fixtures", ROOT / "fixtures",
                        exit_codes=(0,)).splitlines()
    starts = [match.start() for match in re.finditer(r"-+", lines[1])] + [len(lines[1])]
    fitting = max(start for start in starts if start <= WIDTH)
    end = lines.index("")
    cut = [line[:fitting].rstrip() for line in lines[:end]]
    rest = [line.split(";")[0] if len(line) > WIDTH else line for line in lines[end:]]
    return "\n".join(["$ ./prenorm verify", *cut, *rest]) + "\n"


def write_table():
    page = ROOT / "docs/verdicts.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END, 1)[1]
    page.write_text(before + BEGIN + "```\n" + table() + "```\n" + END + after)


def side_by_side():
    """The two panes of RMSNorm, one step of it lit."""
    page = f"""<!doctype html><meta charset="utf-8"><title>RMSNorm</title>
        <body style="margin: 12px; font-family: sans-serif; background: white">
        {prenorm.side_by_side("rmsnorm", "reference", ["cuda-naive", "cuda"])._repr_html_()}"""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.html").write_text(page)
        opened = browser.Browser(Path(folder) / "profile")
        try:
            opened.look(width=1240, height=620)
            opened.open((Path(folder) / "page.html").as_uri())
            assert opened.complaints == [], opened.complaints
            x, y = opened.value("(box => [box.x + 9, box.y + 9])([...document.querySelectorAll("
                                "'.step')].find(each => each.innerText == 'normalize')"
                                ".getBoundingClientRect())")
            # The formula stands below the contract.
            opened.value("(panes => panes.forEach(pane => pane.scrollTop = pane.scrollHeight))("
                         "[...document.querySelectorAll('.pane, .pane *')].slice(0, 40))")
            opened.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
            bottom = opened.value("document.body.getBoundingClientRect().bottom")
            shot = opened.ask("Page.captureScreenshot", captureBeyondViewport=True, clip={
                "x": 0, "y": 0, "width": 1240, "height": bottom, "scale": 1})
            (HERE / "side_by_side.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            opened.close()


def error_map():
    """RoPE with angles in float32, beside two that are right."""
    case = prenorm.fixture("rope").cases["theta_500000_float32"]
    pictures.error_map(case, "reference", "cuda-emulated", "mistakes/float32_angles")
    plt.gcf().savefig(HERE / "error_map.png", dpi=110)


if __name__ == "__main__":
    write_table()
    (HERE / "tolerances.svg").write_text(tolerances.draw())
    side_by_side()
    error_map()
