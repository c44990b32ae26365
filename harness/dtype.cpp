#include "dtype.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <prenorm/float16.hpp>
#include <stdexcept>

namespace prenorm::harness {
namespace {

struct Description {
  std::string_view name;
  std::uint8_t bytes;
  DLDataType dlpack;
  int mantissa_bits;      // stored ones; 0: no floating type
  int smallest_exponent;  // of a normal number
  int largest_exponent;
};

// In the order of the enumeration.
constexpr std::array<Description, 6> descriptions{{
    {"float64", 8, {kDLFloat, 64, 1}, 52, -1022, 1023},
    {"float32", 4, {kDLFloat, 32, 1}, 23, -126, 127},
    {"float16", 2, {kDLFloat, 16, 1}, 10, -14, 15},
    {"bfloat16", 2, {kDLBfloat, 16, 1}, 7, -126, 127},
    {"int64", 8, {kDLInt, 64, 1}, 0, 0, 0},
    {"bool", 1, {kDLUInt, 8, 1}, 0, 0, 0},
}};

const Description& describe(DType dtype) { return descriptions[static_cast<std::size_t>(dtype)]; }

template <class T>
T element(const void* data, std::int64_t i) {
  return static_cast<const T*>(data)[i];
}

}  // namespace

std::string_view name(DType dtype) { return describe(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    if (descriptions[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t size_of(DType dtype) { return describe(dtype).bytes; }
bool is_floating(DType dtype) { return describe(dtype).mantissa_bits > 0; }
DLDataType to_dlpack(DType dtype) { return describe(dtype).dlpack; }

double epsilon(DType dtype) { return std::ldexp(1.0, -describe(dtype).mantissa_bits); }

double spacing(DType dtype, double value) {
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  const Description& type = describe(dtype);
  int exponent = value == 0 ? type.smallest_exponent : std::ilogb(value);
  exponent = std::clamp(exponent, type.smallest_exponent, type.largest_exponent);
  return std::ldexp(1.0, exponent - type.mantissa_bits);
}

double overflow_threshold(DType dtype) {
  if (dtype == DType::float64) return std::numeric_limits<double>::infinity();
  const Description& type = describe(dtype);
  return std::ldexp(2.0 - std::ldexp(1.0, -type.mantissa_bits - 1), type.largest_exponent);
}

double round_to(DType dtype, double value) {
  alignas(8) std::byte element[8];
  store(dtype, element, 0, value);
  return load(dtype, element, 0);
}

double load(DType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DType::float64: return element<double>(data, i);
    case DType::float32: return static_cast<double>(element<float>(data, i));
    case DType::float16: return static_cast<double>(element<float16>(data, i));
    case DType::bfloat16: return static_cast<double>(element<bfloat16>(data, i));
    case DType::int64: return static_cast<double>(element<std::int64_t>(data, i));
    case DType::boolean: return static_cast<double>(element<std::uint8_t>(data, i));
  }
  throw std::logic_error("unknown element type");
}

void store(DType dtype, void* data, std::int64_t i, double value) {
  switch (dtype) {
    case DType::float64: static_cast<double*>(data)[i] = value; return;
    case DType::float32: static_cast<float*>(data)[i] = static_cast<float>(value); return;
    case DType::float16: static_cast<float16*>(data)[i] = float16(value); return;
    case DType::bfloat16: static_cast<bfloat16*>(data)[i] = bfloat16(value); return;
    case DType::int64: static_cast<std::int64_t*>(data)[i] = std::llround(value); return;
    case DType::boolean: static_cast<std::uint8_t*>(data)[i] = value != 0; return;
  }
}

}  // namespace prenorm::harness
