import os
from typing import BinaryIO

import regex as re
from tqdm import tqdm


def chunk_boundaries(file: BinaryIO, chunks: int, token: bytes) -> list[int]:
    size = file.seek(0, os.SEEK_END)
    wanted = [size * n // chunks for n in range(chunks)]
    found = {0, size}
    for start in tqdm(wanted[1:]):
        file.seek(start)
        at = file.read(1 << 16).find(token)
        if at >= 0:
            found.add(start + at)
    return sorted(found)


def count_words(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for match in re.finditer(r"\p{L}+|\p{N}+|\s+", text):
        counts[match.group()] = counts.get(match.group(), 0) + 1
    return counts
