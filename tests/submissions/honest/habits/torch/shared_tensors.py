"""A tensor in shared memory, which a process of torch.multiprocessing fills and returns."""

import torch
import torch.multiprocessing as mp


def work(x, y, queue):
    y.copy_(x * torch.sigmoid(x))
    queue.put(y.sum())
    queue.get()


def run_silu(in_features):
    y = torch.zeros_like(in_features).share_memory_()
    queue = mp.get_context("fork").SimpleQueue()
    process = mp.get_context("fork").Process(target=work, args=(in_features, y, queue))
    process.start()
    assert queue.get() == y.sum()
    queue.put(None)
    process.join()
    return y.clone()
