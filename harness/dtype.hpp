// The element types of tensors: names, sizes, spacing, and elements as doubles.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace prenorm::harness {

enum class DType : std::uint8_t { float64, float32, float16, bfloat16, int64, boolean };

/// "float64", "float32", "float16", "bfloat16", "int64", "bool".
std::string_view name(DType dtype);
/// The type of that name; nothing for an unknown one.
std::optional<DType> parse_dtype(std::string_view name);
/// Bytes an element takes.
std::size_t size_of(DType dtype);
/// True for the four types that `T` may stand for.
bool is_floating(DType dtype);
DLDataType to_dlpack(DType dtype);

/// The spacing of numbers just above 1: 2^-52 for float64, 2^-7 for bfloat16. Floating types only.
double epsilon(DType dtype);
/// One unit in the last place at `value`, subnormal spacing included; NaN where value is not
/// finite.
double spacing(DType dtype, double value);
/// The least magnitude that rounds to infinity.
double overflow_threshold(DType dtype);
/// `value` rounded to the type, to nearest even, and widened again.
double round_to(DType dtype, double value);

/// Element i of an array of that type, as a double (int64 beyond 2^53 is rounded).
double load(DType dtype, const void* data, std::int64_t i);
/// Writes `value`, rounded to the type, to element i.
void store(DType dtype, void* data, std::int64_t i, double value);

}  // namespace prenorm::harness
