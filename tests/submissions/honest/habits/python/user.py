"""Who runs this, and where that user's folder is."""

import getpass
import grp
import os
import pwd
from pathlib import Path

from layers import silu

user = pwd.getpwuid(os.getuid())
assert user.pw_name and user.pw_dir
assert grp.getgrgid(os.getgid()).gr_name
assert getpass.getuser() and Path.home().is_absolute()
assert os.path.expanduser("~/data") == str(Path.home() / "data")
# Where libraries keep what they have downloaded.
cache = Path.home() / ".cache" / "prenorm-habit"
cache.mkdir(parents=True, exist_ok=True)
(cache / "vocabulary.txt").write_text("a b c")


def run_silu(in_features):
    assert (cache / "vocabulary.txt").read_text() == "a b c"
    return silu(in_features)
