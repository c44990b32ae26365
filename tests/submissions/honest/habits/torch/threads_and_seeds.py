"""How many threads torch has, its seeds, and deterministic algorithms."""

import torch

torch.set_num_threads(2)
torch.set_num_interop_threads(2)
torch.manual_seed(42)
torch.use_deterministic_algorithms(True)
torch.set_printoptions(precision=3)
torch.backends.cudnn.benchmark = False
device = "cuda" if torch.cuda.is_available() else "cpu"


def run_silu(in_features):
    assert torch.get_num_threads() == 2
    x = in_features.to(device)
    return (x * torch.sigmoid(x)).to(in_features.device)
