"""Solutions of the notebooks' exercises, {notebook: one text per exercise}: each definition replaces that
of the same name in the exercise's cell. Those in CUDA are files in solutions/."""

SOLUTIONS = {
    "00_start_here": ["""
def my_relu(x):
    return np.maximum(prenorm.widen(x), 0)
""", "x = [0.0, 1000.0]"],
    "rmsnorm": ["""
def my_rmsnorm(x, weight, eps):
    x = prenorm.widen(x)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * prenorm.widen(weight)
""", "x = 1e-3 * np.ones((2, 32))", "x = np.resize([1.0, -1.0], (1, 32))"],
    "floating_point": ["""
def my_linear(x, weight):
    total = np.zeros((*x.shape[:-1], len(weight)), np.float32)
    for a, b in zip(np.moveaxis(prenorm.widen(x), -1, 0), prenorm.widen(weight).T):
        total += (a[..., None] * b).astype(np.float32)
    return total
""", "x = np.array([[256.0, 1.0, -256.0]])", """
def my_passes(y, e, atol, rtol, dtype):
    close = np.abs(y - e) <= atol + rtol * np.abs(e)
    overflows = np.isfinite(e) & (rounded(e, dtype) == y)
    return np.where(np.isfinite(e), close | overflows, (y == e) | np.isnan(y) & np.isnan(e))
"""],
    "linear": ["""
def my_linear(x, weight):
    return prenorm.widen(x) @ prenorm.widen(weight).T
""", "d_in = 273", """
def my_sum(terms):
    while len(terms) > 1:
        terms = terms[::2] + terms[1::2]
    return terms[0]
"""],
    "embedding": ["""
def my_embedding(token_ids, weight):
    return weight[token_ids]
""", "weight = np.array([[1.0, 2.0], [1.0, 2.0], [5.0, 6.0], [5.0, 6.0]])", """
def my_one_hot(token_ids, weight):
    chosen = (np.asarray(token_ids)[..., None] == np.arange(len(weight)))[..., None]
    return np.where(chosen, prenorm.widen(weight), 0).sum(axis=-2)
"""],
    "activations": ["""
def my_gelu(x):
    import math
    x = prenorm.widen(x)
    return x * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2)) / 2
""", """
def my_silu(x):
    x = prenorm.widen(x).astype(np.float32)
    return x / (1 + np.exp(-x))
""", "x = np.linspace(-5.5, -4, 8)"],
    "feed_forward": ["""
def my_swiglu(x, w1, w2, w3):
    dtype = prenorm.dtype_name(x)

    def product(a, b):
        return prenorm.widen(prenorm.to(prenorm.widen(a) @ prenorm.widen(b).T, dtype))

    gate = product(x, w1)
    return product(gate / (1 + np.exp(-gate)) * product(x, w3), w2)
""", """
x, w1, w2 = (rng.normal(size=size) for size in ((5, 4), (4, 4), (4, 4)))
w1, w2 = np.concatenate([w1, -w1]), np.concatenate([w2, -w2], axis=1)
""", """
x, w1, w2, w3 = (rng.normal(size=size) for size in ((5, 4), (4, 4), (4, 4), (4, 4)))
w1, w3, w2 = np.concatenate([w1, w3]), np.concatenate([w3, w1]), np.concatenate([w2, w2], axis=1)
"""],
    "softmax": ["""
def my_softmax(x, dim):
    x = prenorm.widen(x)
    e = np.exp(x - x.max(axis=dim, keepdims=True, initial=np.finfo(float).min))
    return e / e.sum(axis=dim, keepdims=True)
""", """
def merged(a, b):
    (m1, s1), (m2, s2) = a, b
    m = np.maximum(m1, m2)
    return m, s1 * np.exp(m1 - m) + s2 * np.exp(m2 - m)
""", "x = np.array([[0.0, 1.0], [1.0, 0.0]])"],
    "rope": ["""
def my_rope(x, token_positions, theta, max_seq_len):
    x = prenorm.widen(x)
    angles = np.asarray(token_positions)[..., None] / theta ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    even, odd, c, s = x[..., ::2], x[..., 1::2], np.cos(angles), np.sin(angles)
    y = np.stack([even * c - odd * s, even * s + odd * c], axis=-1)
    return y.reshape(*y.shape[:-2], x.shape[-1])
""", """
def rope_by_halves(x, token_positions, theta, max_seq_len):
    d = x.shape[-1]
    order = np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])
    y = halves(np.ascontiguousarray(x[..., order]), token_positions, theta=theta, max_seq_len=max_seq_len)
    return y[..., np.argsort(order)]
""", "position = 355"],
    "attention": ["""
def my_attention(q, k, v, mask):
    q, k, v = map(prenorm.widen, (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    s = np.where(True if mask is None else mask, s, -np.inf)
    w = np.exp(s - s.max(axis=-1, keepdims=True, initial=np.finfo(float).min))
    total = w.sum(axis=-1, keepdims=True)
    return w / np.where(total == 0, 1, total) @ v
""", """
mine = {"q": np.ones((2, 4)), "k": np.eye(3, 4), "v": np.resize([1.0, -1.0, 0.0], (2, 3)).T,
        "mask": np.array([[True, True, True], [False, False, False]])}
""", """
def my_online_attention(q, k, v, mask):
    q, k, v = map(prenorm.widen, (q, k, v))
    shape = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2],
                                () if mask is None else mask.shape[:-2])
    rows = (*shape, q.shape[-2], 1)
    largest, total = np.full(rows, np.finfo(float).min), np.zeros(rows)
    out = np.zeros((*rows[:-1], v.shape[-1]))
    for first in range(0, k.shape[-2], 16):
        part = slice(first, first + 16)
        s = q @ np.swapaxes(k[..., part, :], -1, -2) / np.sqrt(q.shape[-1])
        s = np.where(True if mask is None else mask[..., part], s, -np.inf)
        now = np.maximum(largest, s.max(axis=-1, keepdims=True))
        p, correction = np.exp(s - now), np.exp(largest - now)
        largest, total = now, total * correction + p.sum(axis=-1, keepdims=True)
        out = out * correction + p @ v[..., part, :]
    return out / np.where(total == 0, 1, total)
"""],
    "multihead_self_attention": ["""
def my_attention(x, w_q, w_k, w_v, w_o, num_heads):
    dtype, seq = prenorm.dtype_name(x), x.shape[-2]

    def linear(a, w):
        return prenorm.widen(prenorm.to(prenorm.widen(a) @ prenorm.widen(w).T, dtype))

    def heads(w):
        y = linear(x, w)
        return np.swapaxes(y.reshape(*y.shape[:-1], num_heads, y.shape[-1] // num_heads), -2, -3)

    q, k, v = map(heads, (w_q, w_k, w_v))
    s = np.where(np.tri(seq, dtype=bool), q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    w = np.exp(s - s.max(axis=-1, keepdims=True, initial=np.finfo(float).min))
    y = w / w.sum(axis=-1, keepdims=True) @ v
    return linear(prenorm.to(np.swapaxes(y, -2, -3).reshape(x.shape), dtype), w_o)
""", "token_positions = np.arange(6) + 50", """
w_qkv = np.concatenate([weights["w_q"], weights["w_q"], weights["w_q"]])
"""],
    "transformer_block": ["""
def my_block(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, num_heads, eps):
    def add(a, b):
        return prenorm.to(prenorm.widen(a) + prenorm.widen(b), prenorm.dtype_name(x))

    y = add(x, reference.multihead_self_attention(reference.rmsnorm(x, ln1, eps), w_q, w_k, w_v, w_o, num_heads))
    return add(y, reference.ffn_gelu(reference.rmsnorm(y, ln2, eps), w1, w2))
""", """
x, weights = rng.normal(size=(16, 32)), prenorm.random_weights("transformer_block", rng, d_model=32, d_ff=88)
weights["w_o"] = np.zeros((32, 32))
""", """
x, weights = np.sign(rng.normal(size=(16, 32))), prenorm.random_weights(
    "transformer_block", rng, d_model=32, d_ff=88)
"""],
    "transformer_lm": ["""
def my_model(token_ids, token_embeddings, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, ln_final, lm_head,
             num_heads, theta, max_seq_len, eps):
    x = reference.embedding(token_ids, token_embeddings)
    for layer in zip(ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3):
        x = reference.transformer_block(x, *layer, num_heads=num_heads, theta=theta, max_seq_len=max_seq_len,
                                        eps=eps)
    return reference.linear(reference.rmsnorm(x, ln_final, eps), lm_head)
""", """
model = prenorm.random_weights("transformer_lm", rng, vocab_size=50, d_model=32, d_ff=64, num_layers=2)
model["lm_head"] = model["token_embeddings"]
"""],
    "cuda_without_a_gpu": ["relu.cu", "softmax.cu", "rmsnorm.cu"],
}
