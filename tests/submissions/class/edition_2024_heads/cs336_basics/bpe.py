from tqdm import tqdm


def train(corpus: bytes, merges: int):
    """naive: counts all pairs again for every merge"""
    ids, table = list(corpus), {}
    for new in tqdm(range(256, 256 + merges)):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        table[max(counts, key=counts.get)] = new
        pair, out, i = max(counts, key=counts.get), [], 0
        while i < len(ids):
            if tuple(ids[i : i + 2]) == pair:
                out.append(new)
                i += 2
            else:
                out.append(ids[i])
                i += 1
        ids = out
    return table
