Tensor embedding(const Integers& token_ids, const Tensor& weight) {
  const auto shape = with(shape_of(token_ids), {weight.shape(1)});
  if (token_ids.size() == 0 || weight.shape(1) == 0) return empty<float>(shape);
  const Tensor rows = xt::view(weight, xt::keep(token_ids.storage()), xt::all());
  return reshape(rows, shape);
}
