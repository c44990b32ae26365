// Products whose versions from v3 on are tested, emulated or on a device: random operands, and what
// must come of them in double.
#pragma once

#include "cuda_testing.hpp"
#include "product.cuh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace prenorm::cuda {

/// Numbers from -1 to 1, so that sums of some hundred products are of that order too.
template <class T>
std::vector<T> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> eighths(-8, 8);
  std::vector<T> all(static_cast<std::size_t>(count));
  for (T& one : all) one = static_cast<T>(static_cast<float>(eighths(random)) / 8.0f);
  return all;
}

/// x [rows, d_in], two weights [d_out, d_in], and y and residual with rows `stride` apart.
template <class T>
struct ProductCase {
  std::int64_t rows, d_out, d_in, stride;
  std::vector<T> x, weight, gate, residual;

  ProductCase(std::int64_t rows_, std::int64_t d_out_, std::int64_t d_in_, std::int64_t padding = 0)
      : rows(rows_),
        d_out(d_out_),
        d_in(d_in_),
        stride(d_out_ + padding),
        x(random_numbers<T>(rows * d_in, 1)),
        weight(random_numbers<T>(d_out * d_in, 2)),
        gate(random_numbers<T>(d_out * d_in, 3)),
        residual(random_numbers<T>(rows * stride, 4)) {}

  double sum(std::int64_t row, std::int64_t column, const std::vector<T>& by) const {
    double all = 0;
    for (std::int64_t k = 0; k < d_in; ++k) {
      all += static_cast<double>(x[static_cast<std::size_t>(row * d_in + k)]) *
             static_cast<double>(by[static_cast<std::size_t>(column * d_in + k)]);
    }
    return all;
  }

  /// multiply(p, gate) gives y.
  using Multiply = std::function<bool(const Product<T>&, const T*)>;
  std::vector<T> run(const Multiply& multiply, bool with_residual, std::int64_t first_row = 0,
                     std::int64_t count = -1) const {
    if (count < 0) count = rows;
    std::vector<T> y(static_cast<std::size_t>(count * stride), static_cast<T>(NAN));
    const Mirror of_x(x.data() + first_row * d_in, count * d_in);
    const Mirror of_weight(weight.data(), d_out * d_in), of_gate(gate.data(), d_out * d_in);
    const Mirror of_residual(residual.data() + first_row * stride, count * stride);
    const Mirror of_y(y.data(), count * stride);
    Product<T> p{"test", of_x.data(), of_weight.data(), of_y.data(), count, d_out, d_in};
    p.y_stride = stride;
    if (with_residual) p.residual = of_residual.data();
    BOOST_TEST_REQUIRE(multiply(p, of_gate.data()));
    of_y.take_back();
    return y;
  }

  /// wanted(sum, sum with gate, residual), to the rounding of T; what is between the rows stays.
  template <class Wanted>
  void check(const std::string& what, const Multiply& multiply, bool with_residual,
             Wanted wanted) const {
    const std::vector<T> y = run(multiply, with_residual);
    double worst = 0;
    for (std::int64_t i = 0; i < rows * stride; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t row = i / stride, column = i % stride;
      const auto found = static_cast<double>(y[at]);
      if (column >= d_out) {
        if (!std::isnan(found)) worst = INFINITY;
        continue;
      }
      const double right = wanted(sum(row, column, weight), sum(row, column, gate),
                                  static_cast<double>(residual[at]));
      const double error = std::abs(right - found) / (1e-2 + std::abs(right));
      if (!(error <= worst)) worst = error;
    }
    const double allowed = sizeof(T) == 8               ? 1e-12
                           : sizeof(T) == 4             ? 1e-5
                           : std::is_same_v<T, float16> ? 6e-4
                                                        : 4.5e-3;
    BOOST_TEST(worst < allowed, what << ", " << rows << " x " << d_out << " x " << d_in << ", "
                                     << stride << " apart: " << worst);
  }

  /// The sums, plain and with the residual; and a row has the same bits alone.
  void check_sums(const std::string& what, const Multiply& multiply) const {
    check(what, multiply, false, [](double a, double, double) { return a; });
    check(what + ", residual", multiply, true, [](double a, double, double r) { return a + r; });
    const std::vector<T> all = run(multiply, true), last = run(multiply, true, rows - 1, 1);
    bool same = true;
    for (std::int64_t column = 0; column < d_out; ++column) {
      const auto at = static_cast<std::size_t>(column);
      same =
          same && static_cast<double>(last[at]) ==
                      static_cast<double>(all[at + static_cast<std::size_t>((rows - 1) * stride)]);
    }
    BOOST_TEST(same, what << ": a row has other bits alone");
  }
};

/// Numbers of all 24 bits, from 1/8 to 8 and of both signs.
inline void fill_bits(std::vector<float>& all, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> power(-3, 3);
  for (float& one : all) one = std::exp2(power(random)) * (random() % 2 == 0 ? 1.0f : -1.0f);
}

/// The largest error of a product, in float32's roundings of the terms' absolute sum.
inline double largest_error(const ProductCase<float>& c,
                            const ProductCase<float>::Multiply& multiply) {
  ProductCase<float> sizes = c;  // of which the sum is that of absolute terms
  for (auto* all : {&sizes.x, &sizes.weight}) {
    for (float& one : *all) one = std::abs(one);
  }
  const std::vector<float> y = c.run(multiply, false);
  double worst = 0;
  for (std::int64_t i = 0; i < c.rows * c.d_out; ++i) {
    const std::int64_t row = i / c.d_out, column = i % c.d_out;
    const double error =
        std::abs(double{y[static_cast<std::size_t>(i)]} - c.sum(row, column, c.weight)) /
        sizes.sum(row, column, sizes.weight);
    worst = std::max(worst, std::isnan(error) ? INFINITY : std::ldexp(error, 24));
  }
  return worst;
}

}  // namespace prenorm::cuda
