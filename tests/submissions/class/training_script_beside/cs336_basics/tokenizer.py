# runs as `python tokenizer.py` from this folder
from train_bpe import merge


class Tokenizer:
    def __init__(self, vocab, merges):
        self.ids = {token: i for i, token in vocab.items()}
        self.vocab, self.merges = vocab, merges

    def encode(self, text):
        word = tuple(bytes([b]) for b in text.encode())
        for pair in self.merges:
            word = merge(word, pair)
        return [self.ids[token] for token in word]

    def decode(self, ids):
        return b"".join(self.vocab[i] for i in ids).decode(errors="replace")
