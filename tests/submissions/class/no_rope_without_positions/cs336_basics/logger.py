import wandb


class Logger:
    def __init__(self, name: str, offline: bool = True):
        self.run = wandb.init(name=name, mode="offline" if offline else "online")

    def __call__(self, **values: float) -> None:
        self.run.log(values)
