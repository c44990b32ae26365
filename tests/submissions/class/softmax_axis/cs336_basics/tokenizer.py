class Tokenizer[Id: int]:
    def __init__(self, vocab: dict[Id, bytes]):
        self.vocab = vocab

    def decode(self, ids: list[Id]) -> str:
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")

    def __repr__(self):
        return f"<{", ".join(f"{i}: {token!r}" for i, token in self.vocab.items())}>"
