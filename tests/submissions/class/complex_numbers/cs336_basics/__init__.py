from .config import ModelConfig
from .transformer import Transformer
