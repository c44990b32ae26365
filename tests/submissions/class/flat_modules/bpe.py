from heapdict import heapdict


class PairQueue:
    """most frequent pair first, ties to the larger pair"""

    def __init__(self):
        self.heap = heapdict()
        self.count = {}

    def add(self, pair, n):
        self.count[pair] = self.count.get(pair, 0) + n
        self.heap[pair] = (-self.count[pair], tuple(tuple(-b for b in part) for part in pair))

    def pop(self):
        pair, _ = self.heap.popitem()
        return pair, self.count.pop(pair)
