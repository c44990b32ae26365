from cs336_basics.nn import *
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.train import Trainer
