#include "draw.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace prenorm::harness {
namespace {

/// 64 random bits as a double in [0, 1), a whole number of 2^-53.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// A whole number in [0, count), each as likely as the others.
std::uint64_t below(std::uint64_t count, std::mt19937_64& random) {
  const std::uint64_t whole = std::numeric_limits<std::uint64_t>::max() / count * count;
  std::uint64_t bits = random();
  while (bits >= whole) bits = random();
  return bits % count;
}

/// The natural logarithm by +, -, * and / alone, which every machine rounds alike; a C library's
/// own may differ in the last bit from another's. Its error is below 1e-15 on (0, 1).
double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 (s + s^3/3 + s^5/5 + ...) with |s| < 0.172, by Horner's rule.
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int power = 25; power >= 1; power -= 2) sum = sum * (s * s) + 1.0 / power;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

/// Standard normal numbers by Marsaglia's polar method, two at a time.
class Normal {
 public:
  double operator()(std::mt19937_64& random) {
    has_second_ = !has_second_;
    if (!has_second_) return second_;
    double u = 0, v = 0, square = 0;
    do {
      u = 2 * unit(random) - 1;
      v = 2 * unit(random) - 1;
      square = u * u + v * v;
    } while (square >= 1 || square == 0);
    const double scale = std::sqrt(-2 * portable_log(square) / square);
    second_ = v * scale;
    return u * scale;
  }

 private:
  bool has_second_ = false;
  double second_ = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || !letter(text.front())) return false;
  for (const char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A finite number or a name; "nan" and "inf" are numbers that no bound can be.
bool is_bound(std::string_view text) {
  if (const auto number = parse_number(text)) return std::isfinite(*number);
  return is_name(text);
}

struct KindDescription {
  std::string_view word;
  Draw::Kind kind;
  int bounds;
};

constexpr KindDescription kinds[] = {
    {"normal", Draw::Kind::normal, 2},           {"uniform", Draw::Kind::uniform, 2},
    {"integer", Draw::Kind::integer, 2},         {"boolean", Draw::Kind::boolean, 1},
    {"permutation", Draw::Kind::permutation, 0},
};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw SignatureError("draw '" + text + "': " + why);
}

/// A bound as a number: a literal, the size of a dimension, or a scalar of the case.
double bound(const std::string& text, const Case& of, const Signature& signature) {
  if (const auto number = parse_number(text)) return *number;
  if (const auto size = of.binding.sizes.find(text); size != of.binding.sizes.end()) {
    return static_cast<double>(size->second);
  }
  for (std::size_t i = 0; i < signature.scalars.size() && i < of.scalars.size(); ++i) {
    if (signature.scalars[i].name != text) continue;
    return std::visit([](auto value) { return static_cast<double>(value); }, of.scalars[i]);
  }
  refuse(text, "the bound is neither a number nor a dimension or scalar of the problem");
}

void fill_normal(Tensor& tensor, double mean, double deviation, std::mt19937_64& random) {
  Normal normal;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, mean + deviation * normal(random));
  }
}

void fill_uniform(Tensor& tensor, double low, double high, std::mt19937_64& random) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, low + (high - low) * unit(random));
  }
}

void fill_integer(Tensor& tensor, double low, double high, std::mt19937_64& random) {
  if (tensor.size() == 0) return;
  const double first = std::ceil(low);
  const double count = std::ceil(high) - first;
  if (!(count >= 1) || count > 0x1p53 || std::abs(first) > 0x1p53) {
    throw SignatureError("draw: no whole number v with " + std::to_string(low) + " <= v < " +
                         std::to_string(high) + " can be drawn");
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto step = below(static_cast<std::uint64_t>(count), random);
    tensor.set(i, first + static_cast<double>(step));
  }
}

void fill_boolean(Tensor& tensor, double probability, std::mt19937_64& random) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, unit(random) < probability ? 1 : 0);
  }
}

/// Each row along the last axis becomes 0 .. n-1 in an order of its own (Fisher and Yates).
void fill_permutation(Tensor& tensor, std::mt19937_64& random) {
  if (tensor.shape.empty()) throw SignatureError("draw 'permutation': the tensor has no axis");
  const std::int64_t n = tensor.shape.back();
  std::vector<std::int64_t> row(static_cast<std::size_t>(n));
  for (std::int64_t begin = 0; begin < tensor.size(); begin += n) {
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t last = row.size(); last > 1; --last) {
      std::swap(row[last - 1], row[below(last, random)]);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      tensor.set(begin + i, static_cast<double>(row[static_cast<std::size_t>(i)]));
    }
  }
}

/// The stored values made smaller by up to 1%: never beyond the type's range, and what is 0,
/// infinite or NaN stays so.
Tensor perturbed(const Tensor& stored, std::mt19937_64& random) {
  Tensor tensor = stored;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, stored.at(i) * (1 - 0.01 * unit(random)));
  }
  return tensor;
}

}  // namespace

Draw parse_draw(const std::string& text) {
  const std::string_view whole = trimmed(text);
  const std::size_t open = whole.find('(');
  const std::string_view word = trimmed(whole.substr(0, open));
  std::vector<std::string> bounds;
  if (open != std::string_view::npos) {
    if (whole.back() != ')') refuse(text, "wanted a ')' at its end");
    std::string_view rest = whole.substr(open + 1, whole.size() - open - 2);
    while (!trimmed(rest).empty() || !bounds.empty()) {
      const std::size_t comma = rest.find(',');
      bounds.emplace_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  for (const KindDescription& known : kinds) {
    if (known.word != word) continue;
    if (bounds.size() != static_cast<std::size_t>(known.bounds)) {
      refuse(text, "wanted " + std::to_string(known.bounds) + " bounds, got " +
                       std::to_string(bounds.size()));
    }
    for (const std::string& each : bounds) {
      if (!is_bound(each)) refuse(text, "'" + each + "' is neither a number nor a name");
    }
    bounds.resize(2);
    return {known.kind, bounds[0], bounds[1]};
  }
  refuse(text, "wanted normal(m,s), uniform(a,b), integer(a,b), boolean(p) or permutation");
}

std::mt19937_64 generator(std::uint64_t seed, const std::string& words) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  // The finalizer of splitmix64, so that neighbouring seeds have nothing in common.
  std::uint64_t mixed = hash + 0x9e3779b97f4a7c15u * (seed + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return std::mt19937_64(mixed ^ (mixed >> 31));
}

Tensor draw(const Draw& how, const TensorType& type, const Case& of, const Signature& signature,
            std::mt19937_64& random) {
  Tensor tensor(type.dtype, type.shape);
  const auto first = [&] { return bound(how.first, of, signature); };
  const auto second = [&] { return bound(how.second, of, signature); };
  const bool continuous = how.kind == Draw::Kind::normal || how.kind == Draw::Kind::uniform;
  if (continuous && !is_floating(type.dtype)) {
    throw SignatureError("draw: normal and uniform are for floating types, not " +
                         std::string(name(type.dtype)));
  }
  switch (how.kind) {
    case Draw::Kind::normal: fill_normal(tensor, first(), second(), random); break;
    case Draw::Kind::uniform: fill_uniform(tensor, first(), second(), random); break;
    case Draw::Kind::integer: fill_integer(tensor, first(), second(), random); break;
    case Draw::Kind::boolean: fill_boolean(tensor, first(), random); break;
    case Draw::Kind::permutation: fill_permutation(tensor, random); break;
  }
  return tensor;
}

std::vector<std::optional<Tensor>> redraw(const LoadedCase& stored, const Signature& signature,
                                          bool perturb, std::mt19937_64& random) {
  const Case& info = *stored.info;
  std::vector<std::optional<Tensor>> inputs(info.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!info.inputs[i]) continue;
    const InputInfo& input = *info.inputs[i];
    if (!input.draw.empty()) {
      inputs[i] = draw(parse_draw(input.draw), input.type, info, signature, random);
    } else if (perturb && is_floating(input.type.dtype)) {
      inputs[i] = perturbed(*stored.inputs[i], random);
    } else {
      inputs[i] = stored.inputs[i];
    }
  }
  return inputs;
}

}  // namespace prenorm::harness
