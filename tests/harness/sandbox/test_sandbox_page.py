# labels: unit
"""docs/sandbox.md shows the system calls that the sandbox allows."""

import subprocess

from places import ROOT, home


def test_the_page_has_the_table_of_the_program():
    confine = home() / "libexec" / "prenorm" / "prenorm-confine"
    table = subprocess.run([confine, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    page = (ROOT / "docs" / "sandbox.md").read_text()
    assert page.partition("<!-- system calls -->\n")[2] == table, (
        "prenorm-confine --list prints another table: put it at the end of docs/sandbox.md")
    assert "`ptrace`" in table and "| process before Linux 6.12 |" in table
