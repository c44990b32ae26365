Tensor softmax(const Tensor& x, std::int64_t dim) {
  if (x.size() == 0) return x;
  const Tensor largest = xt::amax(x, {dim}, xt::keep_dims);
  const Tensor e = xt::exp(x - largest);
  const Tensor sum = xt::sum(e, {dim}, xt::keep_dims);
  return e / sum;
}
