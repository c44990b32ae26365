"""Disks that are full."""

import os
import subprocess

import pytest

def on_small_disk(folder, kilobytes, *words, **variables):
    """Runs a command in a folder whose subfolder "disk" has so little room: (the finished command, {name:
    bytes} of what is on the disk in the end)."""
    (folder / "disk").mkdir()
    # In a mount namespace of its own: the disk is gone when the command has ended.
    enter = ["unshare", "--mount", "--user", "--map-root-user"]
    mount = f"mount -t tmpfs -o size={kilobytes}k none disk"
    if subprocess.run([*enter, "sh", "-c", mount], cwd=folder, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    script = f'{mount} && "$@"; code=$?; cp -r disk kept; exit $code'
    done = subprocess.run([*enter, "sh", "-c", script, "sh", *map(str, words)], cwd=folder,
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, **{name: str(value) for name, value in variables.items()}})
    kept = folder / "kept"
    return done, {path.relative_to(kept).as_posix(): path.read_bytes() for path in kept.rglob("*")
                  if path.is_file()}
