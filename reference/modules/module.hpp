// Common parts of the modules: their parameters by name, initial values, descriptions.
//
// A module is a class with public parameters. Its static member visit_parts(self, visit) calls
// visit(name, part) for each parameter (a tensor) and each module inside it; names, initial values,
// descriptions, loading and saving all use that one list.
#pragma once

#include "../tensor.hpp"

#include <cmath>
#include <ostream>
#include <random>
#include <string_view>

namespace prenorm::reference {

template <class Part>
concept IsModule = requires(const Part& part) {
  part.description();
};

/// Calls visit(name, tensor) for each parameter of a module and of the modules inside it, under its
/// name in PyTorch's state dict: "attn.q_proj.weight".
template <class Module, class Visit>
void for_each_parameter(Module& module, const Visit& visit, const std::string& prefix = "") {
  std::remove_const_t<Module>::visit_parts(module, [&](const std::string& name, auto& part) {
    if constexpr (IsModule<std::remove_cvref_t<decltype(part)>>) {
      for_each_parameter(part, visit, prefix + name + ".");
    } else {
      visit(prefix + name, part);
    }
  });
}

/// Where initial values begin. A type of its own, so that no size is taken for it: SwiGLU(512, 7)
/// has d_ff = 7, SwiGLU(512, Seed(7)) the seed. In every constructor it follows the sizes (and the
/// rope); options with a default come after it.
struct Seed {
  std::uint64_t value;
  explicit constexpr Seed(std::uint64_t number) : value(number) {}

  /// The seed of a part, different for each name (FNV-1a), so that no two parameters are equal.
  Seed of(std::string_view part) const {
    Seed seed = *this;
    for (const char letter : part) {
      seed.value = (seed.value ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    }
    return seed;
  }
};

/// Gives every parameter of the modules inside a module its initial value, the one that it has from
/// its constructor.
template <class Module>
void reset_parts(Module& module, Seed seed) {
  Module::visit_parts(
      module, [&](const std::string& name, auto& part) { part.reset_parameters(seed.of(name)); });
}

/// Draws from N(0, 1) truncated at +-3: a value outside is drawn again, not clamped. The numbers
/// depend on the seed only; std::normal_distribution differs between libraries.
class TruncatedNormal {
 public:
  explicit TruncatedNormal(Seed seed) : generator_(seed.value) {}

  double operator()() {
    constexpr double pi = 3.14159265358979323846;
    for (;;) {  // Box-Muller; only one of its two numbers is used
      const double radius = std::sqrt(-2 * std::log(uniform()));
      const double value = radius * std::cos(2 * pi * uniform());
      if (std::abs(value) <= 3) return value;
    }
  }

 private:
  /// Uniform in (0, 1].
  double uniform() { return static_cast<double>((generator_() >> 11) + 1) * 0x1p-53; }

  std::mt19937_64 generator_;
};

/// Sets every element to sigma times a number of TruncatedNormal, rounded to T.
template <class T>
void fill_truncated_normal(Tensor<T>& x, double sigma, Seed seed) {
  TruncatedNormal normal(seed);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<T>(sigma * normal());
}

/// A size as std::size_t; throws unless it is positive.
inline std::size_t positive(std::int64_t size, const std::string& what) {
  require(size > 0, what, " must be positive, is ", size);
  return static_cast<std::size_t>(size);
}

/// "SwiGLU(", one indented line per inner module as PyTorch prints them, and ")". `own` describes
/// what is not in a part, on its own line.
template <class Module>
std::string describe_parts(const Module& module, const std::string& name,
                           const std::string& own = "") {
  std::string text = name + "(\n" + (own.empty() ? "" : "  " + own + "\n");
  Module::visit_parts(module, [&](const std::string& part_name, const auto& part) {
    text += "  (" + part_name + "): ";
    for (const char letter : part.description())
      text += letter == '\n' ? "\n  " : std::string(1, letter);
    text += "\n";
  });
  return text + ")";
}

template <IsModule Module>
std::ostream& operator<<(std::ostream& out, const Module& module) {
  return out << module.description();
}

}  // namespace prenorm::reference
