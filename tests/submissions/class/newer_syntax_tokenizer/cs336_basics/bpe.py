from collections import defaultdict
from collections.abc import Iterable

type Token = bytes
type Pair = tuple[Token, Token]


def most_frequent[K](counts: dict[K, int]) -> K:
    return max(counts, key=lambda key: (counts[key], key))


class Merger:
    def __init__(self, words: Iterable[str]):
        self.words: defaultdict[tuple[Token, ...], int] = defaultdict(int)
        for word in words:
            self.words[tuple(bytes([b]) for b in word.encode())] += 1

    def pairs(self) -> dict[Pair, int]:
        counts: defaultdict[Pair, int] = defaultdict(int)
        for word, n in self.words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += n
        return counts

    def describe(self) -> str:
        return f"{len(self.words)} words, best {f"{most_frequent(self.pairs())}"}"
