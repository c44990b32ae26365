"""The rival's numbers: torch.matmul (cuBLAS) at the shapes of exp/product.cu, CUDA events, median of 20."""
import torch
import torch.nn.functional as F

def median(work, sets):
    turn = 0
    def go():
        nonlocal turn
        work(sets[turn % len(sets)])
        turn += 1
    for _ in range(4): go()
    torch.cuda.synchronize()
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record(); go(); b.record(); torch.cuda.synchronize()
    each = 1 if a.elapsed_time(b) > 1 else 3
    events = [torch.cuda.Event(enable_timing=True) for _ in range(21)]
    events[0].record()
    for e in events[1:]:
        for _ in range(each): go()
        e.record()
    torch.cuda.synchronize()
    times = sorted(x.elapsed_time(y) / each for x, y in zip(events, events[1:]))
    return times[10], times[0]

print(torch.cuda.get_device_name(), torch.__version__)
for name, m, n, k in [("4096^3", 4096, 4096, 4096), ("8192^3", 8192, 8192, 8192),
                      ("8192x14336x4096", 8192, 14336, 4096), ("16384x3072x768", 16384, 3072, 768)]:
    count = (200 << 20) // (2 * (m * k + n * k + m * n)) + 2
    new = lambda *s: torch.randn(*s, device="cuda", dtype=torch.bfloat16)
    sets = [dict(x=new(m, k), w=new(n, k) / k**.5, w3=new(n, k) / k**.5, r=new(m, n),
                 y=new(m, n), y2=new(m, n)) for _ in range(count)]
    def plain(s): torch.matmul(s["x"], s["w"].t(), out=s["y"])
    def residual(s): torch.addmm(s["r"], s["x"], s["w"].t(), out=s["y"])
    def two(s):
        plain(s); torch.matmul(s["x"], s["w3"].t(), out=s["y2"])
    def silu(s):
        plain(s); F.silu(s["y"], inplace=True)
    def gelu(s):
        plain(s); s["y2"] = F.gelu(s["y"])
    def gate(s):
        two(s); F.silu(s["y"], inplace=True).mul_(s["y2"])
    for what, work, products in [("matmul", plain, 1), ("addmm", residual, 1), ("matmul, silu", silu, 1),
                                 ("matmul, gelu", gelu, 1), ("two matmul", two, 2),
                                 ("two matmul, silu, mul", gate, 2)]:
        med, least = median(work, sets)
        print(f"torch {what:22} {name:18} {med*1e3:9.1f} us  (least {least*1e3:9.1f}) "
              f"{products*2*m*n*k/med/1e9:7.1f} TFLOP/s", flush=True)
    del sets
