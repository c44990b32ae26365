// Versions 3 and 4 of the product, emulated and in the kit on a device.
#include "product_testing.hpp"

#include <tuple>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

// Within a tile, one more, tails of terms, rows that are not aligned, rows of y that are not side
// by side.
const std::tuple<int, int, int, int> sizes[] = {
    {1, 1, 1, 0}, {7, 130, 33, 3}, {129, 100, 72, 0}, {260, 128, 200, 8}};

template <class T>
void check_v3() {
  for (const auto& [rows, d_out, d_in, padding] : sizes) {
    ProductCase<T>(rows, d_out, d_in, padding).check_sums("v3", [](const auto& p, const T*) {
      product_v3(p, Stream{});
      return true;
    });
  }
}
template <class T>
void check_v4() {
  for (const auto& [rows, d_out, d_in, padding] : sizes) {
    ProductCase<T>(rows, d_out, d_in, padding).check_sums("v4", [](const auto& p, const T*) {
      return product_v4(p, Stream{});
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_steps)

BOOST_AUTO_TEST_CASE(register_tiles) {
  check_v3<float>();
  check_v3<double>();
  check_v3<bfloat16>();
}

BOOST_AUTO_TEST_CASE(tensor_cores) {
  check_v4<float16>();
  check_v4<bfloat16>();
  BOOST_TEST(!product_v4(Product<float>{"test", nullptr, nullptr, nullptr, 1, 1, 1}, Stream{}));
}

BOOST_AUTO_TEST_SUITE_END()
