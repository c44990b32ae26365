// SiLU, which the habits in C++ compute, in float32.
#pragma once

#include <prenorm/prenorm.hpp>

#include <cmath>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

using prenorm::View;

inline float silu(float x) { return x / (1 + std::exp(-x)); }

/// y[i] = silu(x[i]) for i in [begin, end).
inline void silu(View<const float> x, View<float> y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) y[i] = silu(x[i]);
}

/// Throws if something that the answer depends on did not work.
inline void must(bool worked, std::source_location where = std::source_location::current()) {
  if (!worked) throw std::runtime_error("failed in line " + std::to_string(where.line()));
}
