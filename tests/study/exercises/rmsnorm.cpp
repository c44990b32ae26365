Tensor rmsnorm(const Tensor& x, const Tensor& weight, double eps) {
  const Tensor root = xt::sqrt(xt::mean(xt::square(x), {-1}, xt::keep_dims) + eps);
  return x / root * weight;
}
