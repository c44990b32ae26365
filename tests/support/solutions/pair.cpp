// Problems of the tests' own with several tensors and scalars of each kind:
//   combine  a[..., n], b[..., n]?, ids[...]: int64, flags[...]: bool; k: int, f: float, on: bool
//            -> sum[..., n], count[...]: int64, any[...]: bool
//   outer_sum  a[..., n], b[..., n] -> y[..., n], broadcast
#include <prenorm/prenorm.hpp>

namespace {

template <class T>
void combine(prenorm::View<const T> a, std::optional<prenorm::View<const T>> b,
             prenorm::View<const std::int64_t> ids, prenorm::View<const bool> flags, std::int64_t k,
             double f, bool on, prenorm::View<T> sum, prenorm::View<std::int64_t> count,
             prenorm::View<bool> any) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double other = b ? static_cast<double>((*b)[i]) : 0;
    sum[i] = T(static_cast<double>(a[i]) + f * other);
  }
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    count[i] = ids[i] + k;
    any[i] = flags[i] || on;
  }
}

/// The offset in `of` of the row that is number `row` of y's batch.
template <class T>
std::int64_t row_in(const prenorm::View<const T>& of, const prenorm::View<T>& y, std::int64_t row) {
  std::int64_t offset = 0, stride = 1;
  const std::size_t missing = y.dimension() - of.dimension();
  for (std::size_t axis = y.dimension() - 1; axis-- > missing;) {
    const std::int64_t extent = of.shape(axis - missing);
    if (extent > 1) offset += row % y.shape(axis) * stride;
    row /= y.shape(axis);
    stride *= extent;
  }
  return offset * y.shape(y.dimension() - 1);
}

template <class T>
void outer_sum(prenorm::View<const T> a, prenorm::View<const T> b, prenorm::View<T> y) {
  const std::int64_t n = y.shape(y.dimension() - 1);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const T left = a[row_in(a, y, i / n) + i % n], right = b[row_in(b, y, i / n) + i % n];
    y[i] = T(static_cast<double>(left) + static_cast<double>(right));
  }
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(combine, combine)
PRENORM_EXPORT(outer_sum, outer_sum)
