import argparse
import time

import pynvml
import torch
import wandb
from tqdm.auto import tqdm

from cs336_basics.nn import TransformerLM

pynvml.nvmlInit()
run = None


class Trainer:
    def __init__(self, model: TransformerLM, optimizer, get_batch, project="cs336"):
        self.model, self.optimizer, self.get_batch = model, optimizer, get_batch
        self.run = wandb.init(project=project)

    def fit(self, steps: int):
        for step in tqdm(range(steps)):
            start = time.perf_counter()
            x, y = self.get_batch()
            logits = self.model(x)
            loss = torch.logsumexp(logits, -1) - logits.gather(-1, y[..., None]).squeeze(-1)
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
            self.run.log({"loss": loss.mean().item(), "s": time.perf_counter() - start}, step=step)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    print(parser.parse_args())
