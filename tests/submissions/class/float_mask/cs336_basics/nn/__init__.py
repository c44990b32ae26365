from .attention import CausalAttention, additive_mask, attention, softmax
from .linear import Embedding, Linear
from .mlp import SwiGLU, silu
from .norm import RMSNorm
from .rope import RoPE
from .transformer import Transformer, TransformerLayer
