"""Files of the site, written beside and renamed: a disk that fills up, or an interrupt, leaves what was there."""

import os


def put(path, content):
    """Writes text or bytes, unless the file holds them already."""
    content = content.encode() if isinstance(content, str) else content
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def copy(path, target):
    put(target, path.read_bytes())
