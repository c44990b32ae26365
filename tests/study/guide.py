"""Pages of documentation as a reader follows them: their blocks, and a terminal for the commands."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field

from places import ROOT, home, program


@dataclass
class Block:
    language: str
    line: int
    before: str  # the paragraph before it
    text: str = ""

    @property
    def file_name(self):
        """Of a block that the reader saves: "Save it as `rubric.toml`:". None if it is not saved."""
        names = re.findall(r"\bas\s+`([^`\s]+)`", self.before)
        assert len(names) < 2, f"line {self.line}: saved as {names}"
        return names[0] if names else None

    @property
    def commands(self):
        """(line of the page, command), lines that end in \\ with the next. Of a console, those after
        the prompt."""
        found, command, begun = [], "", None
        for number, line in enumerate(self.text.splitlines(), self.line + 1):
            if self.language == "console" and not command:
                if not line.startswith("$ "):
                    continue
                line = line[2:]
            begun = begun or number
            command += line.removesuffix("\\")
            if not line.endswith("\\"):
                found.append((begun, command))
                command, begun = "", None
        assert not command, f"line {self.line}: the last command is cut off"
        return found

    @property
    def output(self):
        """The lines that a console shows."""
        if self.language != "console":
            return []
        return [line for line in self.text.splitlines() if not line.startswith("$ ")]


def blocks(page):
    """The fenced blocks of a page."""
    found, paragraph, last, block = [], "", "", None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None and line.startswith("```"):
            block = Block(line[3:], number, paragraph)
        elif line == "```":
            found.append(block)
            block = None
        elif block is not None:
            block.text += line + "\n"
        elif line:
            paragraph = paragraph + line + "\n" if last else line + "\n"
        last = line
    assert block is None, f"line {block.line}: a block that does not end"
    return found


@dataclass
class Shell:
    """A reader's terminal: its folder, its PATH and PYTHONPATH stay from one command to the next."""

    home: object
    folder: object
    environment: dict = field(default_factory=dict)

    def run(self, command):
        state = self.home / ".state"
        script = f"""{command}
code=$?
{{ pwd; echo "$PATH"; echo "$PYTHONPATH"; }} > {shlex.quote(str(state))}
exit $code
"""
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600)
        (self.folder, self.environment["PATH"],
         self.environment["PYTHONPATH"]) = state.read_text().splitlines()
        return done.returncode, done.stdout


def terminal(home_folder, checkout, linked):
    """A terminal in a home folder, with the project in the folder `checkout`, built. `linked` are
    the parts of the project that it has."""
    (checkout / "build/release/bin").mkdir(parents=True)
    (checkout / "build/release/bin/prenorm").symlink_to(program())
    for name in linked:
        (checkout / name).symlink_to(ROOT / name)
    launcher = checkout / "prenorm"
    launcher.write_text(f'#!/bin/sh\nPRENORM_LAUNCHER=$0 exec {shlex.quote(str(program()))} "$@"\n')
    launcher.chmod(0o755)
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("GITHUB_", "PRENORM_", "SLURM", "SBATCH_"))}
    # The build folder of a test is not in the checkout.
    return Shell(home_folder, home_folder,
                 {**kept, "HOME": str(home_folder), "PRENORM_HOME": str(home())})


def plain(text):
    """With single spaces."""
    return re.sub(r"\s+", " ", text).strip()
