import torch

from cs336_basics.parts import Layer, RootMeanSquareNorm, Rotary, matmul_last, params


class LanguageModel(torch.nn.Module):

    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rotary = Rotary(theta, d_model // num_heads, context_length)
        self.p = params(token_embeddings=(vocab_size, d_model), lm_head=(vocab_size, d_model))
        self.layers = torch.nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(Layer(d_model, num_heads, d_ff, rotary))
        self.ln_final = RootMeanSquareNorm(d_model)

    def forward(self, token_ids):
        x = self.p["token_embeddings"][token_ids]
        for layer in self.layers:
            x = layer(x)
        return matmul_last(self.ln_final(x), self.p["lm_head"])
