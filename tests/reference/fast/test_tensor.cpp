// What tensors and sums of reference/fast/ rest on: batches, rows in parts, long sums.
#include "attention.hpp"
#include "batch.hpp"
#include "elementwise.hpp"
#include "reference_testing.hpp"
#include "sums.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(tensors)

BOOST_AUTO_TEST_CASE(batch_axes_broadcast_from_the_right) {
  Batch batch("somewhere");
  BOOST_TEST(batch.size() == 1u);
  const auto a = filled<float>({2, 1, 4, 9}, 0), b = filled<float>({3, 4, 9, 9}, 0),
             c = filled<float>({9}, 0);
  batch.join(a, 1);
  batch.join(b, 2);
  batch.join(c, 1);
  BOOST_TEST((batch.with({5}) == Shape{2, 3, 4, 5}));
  CHECK_REFUSED(batch.join(filled<float>({5, 9}, 0), 1, "b"),
                "somewhere: batch axes do not broadcast: b is [5, 9]");
}

BOOST_AUTO_TEST_CASE(parts_of_a_batch) {
  const auto a = filled<float>({2, 1, 9}, 0), b = filled<float>({3, 9}, 0),
             c = filled<float>({9}, 0);
  Batch batch;
  batch.join(b, 1);
  batch.join(a, 1);
  batch.join(c, 1);
  BOOST_TEST((batch.with({}) == Shape{2, 3}));
  for (std::size_t i = 0; i < 6; ++i) {
    BOOST_TEST(batch.part(a, 1, i) == i / 3);
    BOOST_TEST(batch.part(b, 1, i) == i % 3);
    BOOST_TEST(batch.part(c, 1, i) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(an_axis_of_size_0_makes_an_empty_batch) {
  Batch batch;
  batch.join(filled<float>({1, 2}, 0), 1);
  batch.join(empty<float>({0, 2}), 1);
  BOOST_TEST(batch.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_tensor_of_the_callers_memory) {
  const std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  const Tensor<float> x = tensor_at(memory.data(), {3, 1, 2});
  BOOST_TEST(x.data() == memory.data());
  BOOST_TEST(same(x, tensor<float>({3, 1, 2}, {1, 2, 3, 4, 5, 6})));
  BOOST_TEST(x(2, 0, 1) == 6.0f);
  Tensor<float> copy = x;
  BOOST_TEST(copy.data() != memory.data());
  copy(0, 0, 0) = 7;
  BOOST_TEST(memory[0] == 1.0f);
}

BOOST_AUTO_TEST_CASE(the_result_lies_in_the_callers_memory) {
  std::vector<float> memory(6, 9);
  const float* const wanted = memory.data();
  {
    const MemoryForResult here(memory.data(), memory.size() * sizeof(float));
    BOOST_TEST(empty<float>({5}).data() != wanted);
    auto first = empty<float>({2, 3});
    BOOST_TEST(first.data() == wanted);
    BOOST_TEST(empty<float>({6}).data() != wanted);  // taken
    const auto moved = std::move(first);
    BOOST_TEST(moved.data() == wanted);
    first = empty<float>({6});
    BOOST_TEST(first.data() != wanted);
  }
  BOOST_TEST(empty<float>({6}).data() != wanted);  // no longer on offer
  {
    const MemoryForResult here(memory.data(), memory.size() * sizeof(float));
    { BOOST_TEST(empty<float>({6}).data() == wanted); }
    BOOST_TEST(empty<double>({3}).data() == static_cast<const void*>(wanted));  // given back
  }
}

BOOST_AUTO_TEST_CASE(rows_and_a_last_row_that_is_not_full) {
  const auto x = random<float>({3, 7}, 1);
  std::vector<std::size_t> sizes(5);
  const auto y = map_rows(x, 5, [&](const auto& a, auto& b) {
    sizes[static_cast<std::size_t>(a.data() - x.data()) / 5] = a.size();
    b = a * 2.0f;
  });
  BOOST_TEST(same(y, Tensor<float>(x * 2.0f)));
  BOOST_TEST(sizes == (std::vector<std::size_t>{5, 5, 5, 5, 1}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slices_along_each_axis, T, AllTypes) {
  // Each slice reversed; 70 slices side by side are more than are gathered at a time.
  const auto x = random<T>({3, 5, 70}, 1);
  const auto reverse = [](const auto& a, auto& b) { b = xt::eval(xt::flip(a, 0)); };
  for (const std::size_t axis : {0u, 1u, 2u}) {
    BOOST_TEST(same(map_slices(x, axis, reverse), Tensor<T>(xt::flip(x, axis))));
  }
}

using ComputeTypes = std::tuple<double, float>;

BOOST_AUTO_TEST_CASE_TEMPLATE(bits_do_not_depend_on_where_a_row_lies, C, ComputeTypes) {
  constexpr std::size_t n = 77;  // no multiple of a SIMD register
  std::vector<C> x(n + 16), y(n + 16), first;
  for (std::size_t start = 0; start < 16; ++start) {
    for (std::size_t i = 0; i < n; ++i) x[start + i] = C(0.37) * static_cast<C>(i) - C(17);
    const auto a = row_view(static_cast<const C*>(&x[start]), n);
    auto b = row_view(&y[start], n);
    xt::noalias(b) = room::exp(a) + room::erfc(a);
    const std::vector<C> now(&y[start], &y[start] + n);
    if (start == 0) first = now;
    BOOST_TEST((now == first));
  }
}

BOOST_AUTO_TEST_CASE(erfc_of_floats) {
  std::vector<float> x;
  for (int i = -6000; i <= 9100; ++i) x.push_back(static_cast<float>(i) * 0.001f);
  std::vector<float> y(x.size());
  auto to = row_view(y.data(), y.size());
  xt::noalias(to) = room::erfc(row_view(static_cast<const float*>(x.data()), x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::erfc(static_cast<double>(x[i])), square = double(x[i]) * x[i];
    const double allowed = (3 + (x[i] > 0 ? square : 0)) * epsilon<float>() * wanted;
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - wanted) / allowed);
  }
  BOOST_TEST(worst < 1);

  const auto limits = tensor<float>({4}, {-infinity, infinity, NaN, 1e30});
  BOOST_TEST(same(Tensor<float>(room::erfc(limits)), tensor<float>({4}, {2, 0, NaN, 0})));
}

BOOST_AUTO_TEST_CASE(every_index_runs_once) {
  for (const std::size_t elements : {std::size_t{0}, std::size_t{1} << 20}) {
    std::vector<int> count(1000);
    parallel_for(count.size(), elements, [&](std::size_t i) { ++count[i]; });
    BOOST_TEST(count == std::vector<int>(1000, 1));
  }
}

BOOST_AUTO_TEST_CASE(sums_of_all_lengths) {
  for (std::size_t n = 0; n < 200; ++n) {
    std::vector<double> list(n);
    for (std::size_t i = 0; i < n; ++i) list[i] = static_cast<double>(i + 1);
    const auto row = row_view(list.data(), n);
    const auto wanted = static_cast<double>(n * (n + 1) / 2);
    BOOST_TEST(total(row) == wanted);
    const auto squares = static_cast<double>(n * (n + 1) * (2 * n + 1) / 6);
    if (n > 0) BOOST_TEST(mean_of_squares(row) == squares / static_cast<double>(n));
    BOOST_TEST(maximum(row) == (n == 0 ? -infinity : static_cast<double>(n)));
  }
}

BOOST_AUTO_TEST_CASE(a_maximum_passes_over_nan) {
  std::vector<float> list(70, -3);
  list[0] = list[69] = std::numeric_limits<float>::quiet_NaN();
  list[40] = -2;
  BOOST_TEST(maximum(row_view(list.data(), list.size())) == -2.0f);
}

BOOST_AUTO_TEST_CASE(products_of_slices) {
  // 2 x 3 matrices that lie 5 apart, without a copy.
  const std::vector<double> a = {1, 2, 3, -9, -9, 4, 5, 6}, b = {1, 0, 2, -9, -9, 0, 1, 1};
  std::vector<double> c(6, -7);
  multiply_transposed<double>({a.data(), 2, 3, 5}, {b.data(), 2, 3, 5}, {c.data(), 2, 2, 4});
  BOOST_TEST(c == (std::vector<double>{7, 5, -7, -7, 16, 11}));
  std::vector<double> d(3);
  multiply<double>({a.data(), 1, 2, 5}, {b.data(), 2, 3, 5}, {d.data(), 1, 3, 3});
  BOOST_TEST(d == (std::vector<double>{1, 2, 4}));
}

BOOST_AUTO_TEST_CASE(products_over_nothing_are_zero) {
  std::vector<float> c(4, 9);
  multiply<float>({nullptr, 2, 0, 0}, {nullptr, 0, 2, 2}, {c.data(), 2, 2, 2});
  BOOST_TEST(c == std::vector<float>(4, 0));
}

BOOST_AUTO_TEST_CASE(texts) {
  BOOST_TEST(to_text(Shape{}) == "[]");
  BOOST_TEST(to_text(Shape{2, 3}) == "[2, 3]");
  BOOST_TEST(to_text(1e-5) == "1e-05");
  BOOST_TEST(to_text(10000.0) == "10000");
  CHECK_REFUSED(require(false, "what"), "what");
  BOOST_CHECK_NO_THROW(require(true, "what"));
}

BOOST_AUTO_TEST_CASE(the_number_of_threads_does_not_change_the_bits) {
  const auto q = random<double>({130, 40}, 1), k = random<double>({700, 40}, 2);
  const auto by = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const Tensor<double> y = room::scaled_dot_product_attention(q, k, k);
    omp_set_num_threads(before);
    return y;
  };
  BOOST_TEST(same(by(1), by(2)));
}

BOOST_AUTO_TEST_SUITE_END()
