"""300 files are open at once: shards of a data set."""

import contextlib
import tempfile

from layers import silu


def run_silu(in_features):
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(300)]
        for index, file in enumerate(files):
            file.write(bytes([index % 256]))
        for file in files:
            file.seek(0)
        assert [file.read()[0] for file in files] == [i % 256 for i in range(300)]
    return silu(in_features)
