Tensor linear(const Tensor& x, const Tensor& weight) {
  const std::size_t d_out = weight.shape(0), d_in = weight.shape(1);
  if (x.size() == 0) return empty<float>(with(batch_of(x, 1), {d_out}));
  const Tensor rows = reshape(x, {x.size() / d_in, d_in});
  const Tensor y = xt::linalg::dot(rows, xt::transpose(weight));
  return reshape(y, with(batch_of(x, 1), {d_out}));
}
