from .blocks import TransformerBlock
from .bpe import train
