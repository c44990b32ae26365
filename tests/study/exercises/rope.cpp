#include <rope.hpp>

Tensor rope(const Tensor& x, const Integers& token_positions, double theta, std::int64_t) {
  const auto by = prenorm::reference::rotations(token_positions, size(x, -1), theta);
  const Tensor cos = by.cos, sin = by.sin;
  const auto even = [](auto& t) {
    return xt::strided_view(t, {xt::ellipsis(), xt::range(0, _, 2)});
  };
  const auto odd = [](auto& t) {
    return xt::strided_view(t, {xt::ellipsis(), xt::range(1, _, 2)});
  };
  const auto batch = prenorm::reference::broadcast("rope", {batch_of(x, 2), batch_of(cos, 2)});
  Tensor y = empty<float>(with(batch, {size(x, -2), size(x, -1)}));
  xt::noalias(even(y)) = even(x) * cos - odd(x) * sin;
  xt::noalias(odd(y)) = even(x) * sin + odd(x) * cos;
  return y;
}
