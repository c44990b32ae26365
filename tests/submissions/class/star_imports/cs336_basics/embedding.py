import torch
from torch import nn

class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, device=None, dtype=None):
        super(Embedding, self).__init__()
        self.lut = nn.Parameter(torch.zeros(num_embeddings, embedding_dim, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.lut, 0, 1)

    def forward(self, token_ids):
        # one-hot times matrix would be slow, so index
        return self.lut[token_ids]
