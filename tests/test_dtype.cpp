// Element types: roundings of the 16-bit types, spacings, thresholds.
#include "fixture/dtype.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <prenorm/float16.hpp>

using namespace prenorm;
using namespace prenorm::harness;

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(names_go_there_and_back) {
  for (const DType type : {DType::float64, DType::float32, DType::float16, DType::bfloat16,
                           DType::int64, DType::boolean}) {
    BOOST_TEST((parse_dtype(name(type)) == type));
  }
  BOOST_TEST(!parse_dtype("float8"));
}

BOOST_AUTO_TEST_CASE(every_16_bit_value_survives_double_and_back) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    bfloat16 brain;
    brain.bits = half.bits;
    const double h = static_cast<double>(half), b = static_cast<double>(brain);
    // NaN keeps being NaN; its payload may become quiet.
    BOOST_REQUIRE(std::isnan(h) ? std::isnan(static_cast<double>(float16(h)))
                                : float16(h).bits == bits);
    BOOST_REQUIRE(std::isnan(b) ? std::isnan(static_cast<double>(bfloat16(b)))
                                : bfloat16(b).bits == bits);
  }
}

BOOST_AUTO_TEST_CASE(rounds_to_nearest_even_once) {
  BOOST_TEST(float16(1.0 + 0x1p-11).bits == float16(1.0).bits);  // tie, to even
  BOOST_TEST(float16(1.0 + 0x1p-11 + 0x1p-40).bits ==
             float16(1.0).bits + 1);  // by way of float: a tie
  BOOST_TEST(float16(1.0 + 0x3p-11).bits == float16(1.0).bits + 2);
  BOOST_TEST(bfloat16(1.0 + 0x1p-8).bits == bfloat16(1.0).bits);
  BOOST_TEST(bfloat16(1.0 + 0x1p-8 + 0x1p-40).bits == bfloat16(1.0).bits + 1);
  BOOST_TEST(bfloat16(1.00390625f).bits == bfloat16(1.0).bits);  // from float: the same tie
}

BOOST_AUTO_TEST_CASE(overflow_and_underflow) {
  BOOST_TEST(round_to(DType::float16, 65519.99) == 65504.0);
  BOOST_TEST(std::isinf(round_to(DType::float16, 65520.0)));
  BOOST_TEST(overflow_threshold(DType::float16) == 65520.0);
  BOOST_TEST(round_to(DType::float16, 0x1p-24) == 0x1p-24);
  BOOST_TEST(round_to(DType::float16, 0x1p-25) == 0.0);  // half a spacing: a tie, to even
  BOOST_TEST(round_to(DType::float16, 0x1.8p-25) == 0x1p-24);
  BOOST_TEST(std::signbit(round_to(DType::float16, -0x1p-30)));
  BOOST_TEST(std::isinf(round_to(DType::bfloat16, overflow_threshold(DType::bfloat16))));
  BOOST_TEST(std::isfinite(
      round_to(DType::bfloat16, std::nextafter(overflow_threshold(DType::bfloat16), 0.0))));
  BOOST_TEST(round_to(DType::bfloat16, 0x1p-133) == 0x1p-133);
}

BOOST_AUTO_TEST_CASE(spacings) {
  BOOST_TEST(spacing(DType::float64, 1.0) == epsilon(DType::float64));
  BOOST_TEST(spacing(DType::float32, 1.0) == 0x1p-23);
  BOOST_TEST(spacing(DType::float16, -3.0) == 0x1p-9);
  BOOST_TEST(spacing(DType::bfloat16, 1.0) == 0x1p-7);
  BOOST_TEST(spacing(DType::float16, 0.0) == 0x1p-24);
  BOOST_TEST(spacing(DType::float32, 1e-44) == 0x1p-149);
  BOOST_TEST(std::isnan(spacing(DType::float32, std::numeric_limits<double>::infinity())));
}

BOOST_AUTO_TEST_SUITE_END()
