"""Byte-level BPE."""
import regex as re

WORDS = re.compile(r" ?\p{L}+| ?\p{N}+|\s+|[^\s\p{L}\p{N}]+")
DIGITS = re.compile(r"\p{N}{1,3}")


class BPETokenizer:
    """Encodes word by word, with a cache."""

    def __init__(self, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]], special=None):
        self.vocab = vocab
        self.inverse = {v: k for k, v in vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.special = special or []
        self.cache: dict[str, list[int]] = {}

    def _word(self, word: str) -> list[int]:
        parts = [bytes([b]) for b in word.encode("utf-8")]
        while len(parts) > 1:
            ranked = [(self.ranks.get(p, 1 << 60), i) for i, p in enumerate(zip(parts, parts[1:]))]
            rank, i = min(ranked)
            if rank == 1 << 60:
                break
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        return [self.inverse[p] for p in parts]

    def encode(self, text: str) -> list[int]:
        out = []
        for word in WORDS.findall(text):
            if word not in self.cache:
                self.cache[word] = self._word(word)
            out += self.cache[word]
        return out
