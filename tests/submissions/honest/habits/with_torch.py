"""What code with torch does besides its work."""

import os
import tempfile

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Dataset


class _SiLU(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.scale * x * torch.sigmoid(x)


def checkpoint(x):
    """A model is saved to a temporary file, loaded again, and trained by a step that changes nothing."""
    model = _SiLU()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    model(x).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        found = torch.load(path, map_location="cpu")
    again = _SiLU()
    again.load_state_dict(found["model"])
    with torch.no_grad():
        return again(x)


def _sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def compiled():
    """Functions that torch compiles: a script, a trace, and torch.compile where it is there."""
    sigmoid = torch.jit.script(_sigmoid)
    traced = torch.jit.trace(lambda x: x * 2, torch.zeros(3))
    halved = getattr(torch, "compile", lambda function: function)(lambda x: x / 2)

    def run(x):
        return halved(traced(x * sigmoid(x)))

    return run


def layer():
    """The adapter's function is a layer, which has other names for its arguments."""
    return _SiLU()


class _Rows(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return min(len(self.x), 50)

    def __getitem__(self, i):
        row = self.x[i]
        return row * torch.sigmoid(row)


def data_loader(x):
    """A DataLoader with a worker process, which returns tensors in shared memory."""
    rows = list(DataLoader(_Rows(x), batch_size=8, num_workers=1))
    rest = x[50:]
    return torch.cat([*rows, rest * torch.sigmoid(rest)])


def profiled(x):
    """A call under torch's profiler, with its table printed."""
    with profile(activities=[ProfilerActivity.CPU]) as found:
        y = x * torch.sigmoid(x)
    table = found.key_averages().table(row_limit=5)
    assert "aten::sigmoid" in table
    print(table)
    return y


def _work(x, y, queue):
    y.copy_(x * torch.sigmoid(x))
    queue.put(y.sum())
    queue.get()


def shared_tensors(x):
    """A tensor in shared memory, which a process of torch.multiprocessing fills and returns."""
    y = torch.zeros_like(x).share_memory_()
    queue = mp.get_context("fork").SimpleQueue()
    process = mp.get_context("fork").Process(target=_work, args=(x, y, queue))
    process.start()
    assert queue.get() == y.sum()
    queue.put(None)
    process.join()
    return y.clone()


def threads_and_seeds():
    """How many threads torch has, its seeds, and deterministic algorithms."""
    torch.set_num_threads(2)
    torch.set_num_interop_threads(2)
    torch.manual_seed(42)
    torch.use_deterministic_algorithms(True)
    torch.set_printoptions(precision=3)
    torch.backends.cudnn.benchmark = False
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def run(x):
        assert torch.get_num_threads() == 2
        there = x.to(device)
        return (there * torch.sigmoid(there)).to(x.device)

    return run
