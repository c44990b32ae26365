// embedding: rows by hand, bits kept, every id checked.
#include "embedding.hpp"
#include "reference_testing.hpp"

#include <bit>

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;
using Ids = Tensor<std::int64_t>;

BOOST_AUTO_TEST_SUITE(embedding)

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_looked_up, T, AllTypes) {
  const auto ids = tensor<std::int64_t>({2, 2}, {2, 0, 0, 1});
  const auto weight = tensor<T>({3, 2}, {0, 1, 10, 11, 20, 21});
  BOOST_TEST(
      same(room::embedding(ids, weight), tensor<T>({2, 2, 2}, {20, 21, 0, 1, 0, 1, 10, 11})));
}

BOOST_AUTO_TEST_CASE(one_id_without_axes_gives_one_row) {
  const auto y =
      room::embedding(tensor<std::int64_t>({}, {1}), tensor<float>({2, 2}, {1, 2, 3, 4}));
  BOOST_TEST(same(y, tensor<float>({2}, {3, 4})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bits_are_kept, T, SixteenBits) {
  // A NaN with a payload, -0 and the smallest subnormal.
  auto weight = empty<T>({1, 3});
  weight.data()[0].bits = 0x7fc3;
  weight.data()[1].bits = 0x8000;
  weight.data()[2].bits = 0x0001;
  const auto y = room::embedding(tensor<std::int64_t>({1}, {0}), weight);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(y.data()[i].bits == weight.data()[i].bits);
}

BOOST_AUTO_TEST_CASE(the_sign_of_zero_is_kept) {
  const auto y =
      room::embedding(tensor<std::int64_t>({1}, {0}), tensor<float>({1, 2}, {-0.0, 0.0}));
  BOOST_TEST(std::signbit(y.data()[0]));
  BOOST_TEST(!std::signbit(y.data()[1]));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  const auto no_ids = room::embedding(empty<std::int64_t>({0, 3}), filled<float>({4, 2}, 1));
  BOOST_TEST((shape_of(no_ids) == Shape{0, 3, 2}));
  const auto no_width = room::embedding(tensor<std::int64_t>({1}, {3}), empty<float>({4, 0}));
  BOOST_TEST((shape_of(no_width) == Shape{1, 0}));
  const auto no_words = room::embedding(empty<std::int64_t>({0}), empty<float>({0, 2}));
  BOOST_TEST((shape_of(no_words) == Shape{0, 2}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto weight = filled<double>({3, 2}, 1);
  const auto call = [&](double id) {
    return room::embedding(tensor<std::int64_t>({2}, {0, id}), weight);
  };
  BOOST_CHECK_NO_THROW(call(2));
  CHECK_REFUSED(call(3), "embedding: token id 3 is not in [0, 3)");
  CHECK_REFUSED(call(-1), "embedding: token id -1 is not in [0, 3)");
  CHECK_REFUSED(room::embedding(Ids{0}, filled<double>({3}, 1)),
                "embedding: weight must be [vocab_size, d_model], is [3]");
  // An id is checked even where rows have no elements.
  CHECK_REFUSED(room::embedding(Ids{5}, empty<double>({3, 0})), "token id 5");
}

BOOST_AUTO_TEST_SUITE_END()
