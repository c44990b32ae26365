from contextlib import AbstractContextManager

import wandb


class Run(AbstractContextManager):
    def __init__(self, **config):
        self.handle = wandb.init(project="a1", config=config)

    def __exit__(self, *_):
        self.handle.finish()
