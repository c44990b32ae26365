# labels: unit
"""harness/cli/help/: what the launcher prints for `COMMAND --help` is what the program would. What has changed is
written there by

PRENORM_WRITE_HELP=1 ./prenorm test -R '^help$'
"""

import os
import re
import shutil

from places import ROOT, found_some

FOLDER = ROOT / "harness/cli/help"
LAUNCHER = {"build", "clean", "packages", "test"}  # its own words, whose files are written by hand
# What the texts of the command `study`, by Python's argparse, and of `grade` hang on.
SAME = {"COLUMNS": "80", "VIRTUAL_ENV": None, "PRENORM_LAUNCHER": None}


def texts(run):
    """{"fixtures/make": text}, of all commands and theirs."""
    def commands(*words):
        text = run(*words, "--help", code=0, **SAME).stdout
        listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
        below = re.findall(r"^  (\w+) ", listed[1], re.M) if listed else []
        return {"/".join(words): text} | {name: each for word in below for name, each in commands(*words, word).items()}

    found = commands()
    del found[""]  # the launcher's own: docs/commands.md
    return found


def test_the_launcher_has_the_help_of_every_command(run):
    own = texts(run)
    assert len(own) > 20 and "fixtures/make" in own
    if os.environ.get("PRENORM_WRITE_HELP"):
        for path in FOLDER.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.stem not in LAUNCHER:
                path.unlink()
        for name, text in own.items():
            path = FOLDER / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    stored = {path.relative_to(FOLDER).with_suffix("").as_posix(): path.read_text()
              for path in found_some(FOLDER.rglob("*.txt"))}
    assert LAUNCHER < set(stored)
    assert {name: text for name, text in stored.items() if name not in LAUNCHER} == own, (
        "PRENORM_WRITE_HELP=1 ./prenorm test -R '^help$' writes harness/cli/help/ anew")


def test_no_line_is_wider_than_a_terminal():
    for path in found_some(FOLDER.rglob("*.txt")):
        wide = [line for line in path.read_text().splitlines() if len(line) > 80]
        assert all(re.match("  [^ -]", line) for line in wide), (path, wide)  # examples, to be copied
