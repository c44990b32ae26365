from . import init
from .attention import MultiHead, Rope, attention, softmax
from .layers import Embedding, Gate, Linear, Norm
from .lm import Block, LM
from ..logging_utils import Run
