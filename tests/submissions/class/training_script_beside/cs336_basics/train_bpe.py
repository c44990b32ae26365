from collections import Counter

from tqdm import trange


def count_pairs(words: Counter) -> Counter:
    pairs = Counter()
    for word, n in words.items():
        for a, b in zip(word, word[1:]):
            pairs[a, b] += n
    return pairs


def merge(word: tuple, pair: tuple) -> tuple:
    out = []
    for token in word:
        if out and (out[-1], token) == pair:
            out[-1] = out[-1] + token
        else:
            out.append(token)
    return tuple(out)


def train_bpe(words: Counter, n_merges: int) -> list:
    merges = []
    for _ in trange(n_merges):
        pairs = count_pairs(words)
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        words = Counter({merge(w, best): n for w, n in words.items()})
    return merges
