import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")

with open(os.path.join(DATA, "tinystories_vocab.json"), encoding="utf-8") as f:
    VOCAB = {bytes.fromhex(token): i for token, i in json.load(f).items()}


class Tokenizer:
    def __init__(self, vocab=VOCAB):
        self.vocab = vocab
        self.longest = max(map(len, vocab))

    def encode(self, text):
        """greedy, longest first; not BPE yet"""
        data, ids = text.encode(), []
        while data:
            for n in range(self.longest, 0, -1):
                if data[:n] in self.vocab:
                    ids.append(self.vocab[data[:n]])
                    data = data[n:]
                    break
            else:
                raise ValueError(data[:1])
        return ids
