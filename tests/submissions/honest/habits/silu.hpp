// SiLU, which the habits in C++ compute, in float32. A source holds several; which one a copy of
// the library has, a test writes over the word between the @.
#pragma once

#include <prenorm/prenorm.hpp>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

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

inline volatile char habit[256] = "@HABIT@";

struct Habit {
  std::string_view name;
  void (*run)(View<const float> x, View<float> y);
};

inline std::string chosen_name() {
  std::string name;
  for (std::size_t i = 0; habit[i] != '\0'; ++i) name += habit[i];
  return name;
}

/// The one of a source's habits that the test has chosen, or the first.
inline auto chosen(std::initializer_list<Habit> habits) {
  const std::string name = chosen_name();
  if (name.starts_with('@')) return habits.begin()->run;
  for (const Habit& each : habits) {
    if (each.name == name) return each.run;
  }
  throw std::runtime_error("no habit " + name);
}
