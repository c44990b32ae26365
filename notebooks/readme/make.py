#!/usr/bin/python3
"""Makes what the README and docs/ show, from real runs: the table of `prenorm verify`, and pictures.

    notebooks/readme/make.py        after ./prenorm test --all (needs chromium, and its newer PyTorch)

The tables are written between their marks in docs/verdicts.md, the pictures into this folder.
"""

import base64
import json
import os
import re
import subprocess
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
MARKS = {"table": ("<!-- table: notebooks/readme/make.py -->\n", "<!-- end of the table -->"),
         "forms": ("<!-- forms: notebooks/readme/make.py -->\n", "<!-- end of the forms -->")}


def table():
    """What `./prenorm verify` prints, without the columns that do not fit."""
    lines = prenorm.run("verify", "--no-color", "--fixtures", ROOT / "fixtures",
                        exit_codes=(0,)).splitlines()
    starts = [match.start() for match in re.finditer(r"-+", lines[1])] + [len(lines[1])]
    fitting = max(start for start in starts if start <= WIDTH)
    end = lines.index("")
    cut = [line[:fitting].rstrip() for line in lines[:end]]
    return "\n".join(["$ ./prenorm verify", *cut, *lines[end:]]) + "\n"


def write(which, text):
    """Between its marks in docs/verdicts.md."""
    begin, end = MARKS[which]
    page = ROOT / "docs/verdicts.md"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + text + end + rest.split(end, 1)[1])


def rows_of_forms():
    """What tests/field/forms.py says of the shipped cases, by Debian's PyTorch and by a current one."""
    current = os.environ.get("PRENORM_TEST_VENV", ROOT / "build/test-venv/bin/python")
    rows = []
    for python in (sys.executable, current):
        done = subprocess.run([python, ROOT / "tests/field/forms.py", ROOT / "fixtures"], check=True,
                              capture_output=True, text=True)
        rows += json.loads(done.stdout)["rows"]
    return rows


def forms(rows):
    """A line per form: what it is of, and the largest share of a tolerance that it uses."""
    lines = ["| form | of | dtypes | largest error / allowed |", "|---|---|---|---|"]
    for name in dict.fromkeys(row["form"] for row in rows):
        its = [row for row in rows if row["form"] == name]
        problems = dict.fromkeys(row["problem"] for row in its)
        of = f"{len(problems)} problems" if len(problems) > 3 else ", ".join(f"`{each}`" for each in problems)
        dtypes = [each for each in prenorm.DTYPES if any(row["dtype"] == each for row in its)]
        of_all = "all" if len(dtypes) == len(prenorm.DTYPES) else ", ".join(dtypes)
        lines.append(f"| {name} | {of} | {of_all} | {max(row['share'] for row in its):.2f} |")
    count = sum(row["cases"] for row in rows)
    failed = sum(len(row["failed"]) for row in rows)
    return "\n".join([*lines, "", f"{count} calls, {failed} failed.", ""])


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
    write("table", "```\n" + table() + "```\n")
    rows = rows_of_forms()
    write("forms", forms(rows))
    (HERE / "tolerances.svg").write_text(tolerances.draw(rows))
    side_by_side()
    error_map()
