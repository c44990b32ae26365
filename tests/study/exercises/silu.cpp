Tensor silu(const Tensor& x) { return x / (1 + xt::exp(-x)); }
