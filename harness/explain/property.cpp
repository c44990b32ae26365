// What is wrong with an output where no known mistake explains it: a property that it lacks.
#include "base/text.hpp"
#include "explain/diagnosis.hpp"
#include "explain/numbers.hpp"
#include "fixture/verdict.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_properties = 3;
constexpr std::size_t most_cases = 12;                  // that are looked at, small ones and large
constexpr std::int64_t most_looked_at = 1 << 20;        // of a case that is looked at
constexpr double near = 1e-3;                           // relative: the same number, in any type
constexpr std::int64_t most_work_of_scalars = 1 << 17;  // of a case that is computed with others
constexpr std::ptrdiff_t least_pattern = 4;  // elements or values that are no coincidence

/// One output of a wrong case.
struct Seen {
  const Exhibit& exhibit;
  const TensorSpec& spec;
  const Tensor& y;
  const Tensor& expected;
  Tolerance tolerance;

  bool right(std::int64_t i) const {
    return compare_element(y.dtype, y.at(i), expected.at(i), tolerance).passes;
  }
  bool agrees(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::fabs(a - b) <= 4 * tolerance.rounding(b);
  }
  bool all_finite() const {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(y.at(i)) || !std::isfinite(expected.at(i))) return false;
    }
    return true;
  }
  /// Whether y is `other(i)` everywhere, which is not the truth everywhere.
  bool is(const std::function<double(std::int64_t)>& other) const {
    bool same_as_truth = true;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const double value = other(i);
      if (!agrees(y.at(i), value)) return false;
      same_as_truth = same_as_truth && agrees(value, expected.at(i));
    }
    return y.size() > 1 && !same_as_truth;
  }
};

using Sentence = std::optional<std::string>;

Sentence only_zeros(const Seen& seen) {
  if (!seen.is([](std::int64_t) { return 0.0; })) return {};
  return seen.spec.name + " is zero everywhere";
}

Sentence input_unchanged(const Seen& seen, const Signature& signature) {
  const LoadedCase& loaded = seen.exhibit.loaded;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const std::optional<Tensor>& input = loaded.inputs[i];
    if (!input || input->shape != seen.y.shape || !is_floating(input->dtype)) continue;
    if (seen.is([&](std::int64_t at) { return input->at(at); })) {
      return seen.spec.name + " is " + signature.inputs[i].name + ", unchanged";
    }
  }
  return {};
}

/// "the root of d_k": a size, or a function of one, that the factor is.
std::string name_of(double factor, const Binding& binding) {
  const auto is = [factor](double value) { return std::fabs(factor - value) <= near * value; };
  for (const auto& [name, size] : binding.sizes) {
    const auto n = static_cast<double>(size);
    if (n < 2) continue;
    if (is(n)) return ", which is " + name;
    if (is(std::sqrt(n))) return ", which is the root of " + name;
    if (is(1 / n)) return ", which is 1 / " + name;
    if (is(1 / std::sqrt(n))) return ", which is 1 / the root of " + name;
  }
  return "";
}

Sentence factor(const Seen& seen) {
  if (!seen.all_finite()) return {};
  double product = 0, square = 0;
  for (std::int64_t i = 0; i < seen.y.size(); ++i) {
    product += seen.y.at(i) * seen.expected.at(i);
    square += seen.expected.at(i) * seen.expected.at(i);
  }
  const double by = square > 0 ? product / square : 0;
  if (by == 0 || by == 1) return {};
  if (!seen.is([&](std::int64_t i) { return by * seen.expected.at(i); })) return {};
  if (std::fabs(by + 1) < near) return seen.spec.name + " has the wrong sign";
  const bool small = std::fabs(by - 1) < 0.01;  // then its digits matter
  return fmt::format("{} is the truth times {}{}", seen.spec.name,
                     small ? fmt::format("{:.6g}", by) : short_number(by),
                     name_of(by, seen.exhibit.loaded.info.binding));
}

Sentence offset(const Seen& seen) {
  if (!seen.all_finite() || seen.y.size() < 2) return {};
  double by = 0;
  for (std::int64_t i = 0; i < seen.y.size(); ++i) by += seen.y.at(i) - seen.expected.at(i);
  by /= static_cast<double>(seen.y.size());
  if (!seen.is([&](std::int64_t i) { return seen.expected.at(i) + by; })) return {};
  return fmt::format("{} is the truth {} {} everywhere", seen.spec.name, by > 0 ? "plus" : "minus",
                     short_number(std::fabs(by)));
}

/// The truth with its axes in another order, from the other end, or shifted.
Sentence moved(const Seen& seen) {
  const Shape& shape = seen.y.shape;
  const std::string& name = seen.spec.name;
  const auto axes = static_cast<std::ptrdiff_t>(shape.size());
  const auto axis_name = [&](std::ptrdiff_t axis) { return axis_of(seen.spec, shape, axis); };
  for (std::ptrdiff_t a = 0; a < axes; ++a) {
    for (std::ptrdiff_t b = a + 1; b < axes; ++b) {
      if (shape[a] != shape[b] || shape[a] < 2) continue;
      const auto exchanged = [&](std::int64_t i) {
        Shape index = index_of(i, shape);
        std::swap(index[a], index[b]);
        return seen.expected.at(offset_of(index, shape));
      };
      if (seen.is(exchanged)) {
        return name + " is the truth with " + axis_name(a) + " and " + axis_name(b) + " exchanged";
      }
    }
  }
  for (std::ptrdiff_t axis = 0; axis < axes; ++axis) {
    const std::int64_t n = shape[axis];
    if (n < 2) continue;
    const auto at = [&](auto where) {
      return [&, where](std::int64_t i) {
        Shape index = index_of(i, shape);
        index[axis] = where(index[axis]);
        return seen.expected.at(offset_of(index, shape));
      };
    };
    if (seen.is(at([n](std::int64_t i) { return n - 1 - i; }))) {
      return name + " is the truth in reverse along " + axis_name(axis);
    }
    for (const int by : {1, -1}) {
      if (n > 2 && seen.is(at([n, by](std::int64_t i) { return (i + by + n) % n; }))) {
        return name + " is the truth shifted by one along " + axis_name(axis);
      }
    }
  }
  return {};
}

Sentence sums(const Seen& seen) {
  if (seen.y.shape.empty() || seen.y.shape.back() < 2 || !seen.all_finite()) return {};
  for (std::ptrdiff_t axis = std::ssize(seen.y.shape) - 1; axis >= 0; --axis) {
    double error = 0, wanted = 0;
    for_each_slice(seen.y.shape, axis, [&](const std::vector<std::int64_t>& slice) {
      double of_y = 0, of_truth = 0;
      for (const std::int64_t i : slice) of_y += seen.y.at(i), of_truth += seen.expected.at(i);
      wanted = std::max(wanted, std::fabs(of_truth - 1));
      error = std::max(error, std::fabs(of_y - 1));
    });
    if (wanted > 0.02 || error < 0.03) continue;
    return seen.spec.name + " does not sum to 1 along " + axis_of(seen.spec, seen.y.shape, axis);
  }
  return {};
}

Sentence not_finite(const Seen& seen) {
  std::int64_t nan = 0, infinite = 0, others = 0, right = 0;
  for (std::int64_t i = 0; i < seen.y.size(); ++i) {
    if (seen.right(i)) {
      ++right;
      continue;
    }
    const double y = seen.y.at(i);
    const bool wanted = std::isfinite(seen.expected.at(i));
    nan += wanted && std::isnan(y) ? 1 : 0;
    infinite += wanted && std::isinf(y) ? 1 : 0;
    others += wanted && std::isfinite(y) ? 1 : 0;
  }
  if (nan + infinite == 0) return {};
  const std::string what = infinite == 0 ? "NaN" : nan == 0 ? "infinite" : "NaN or infinite";
  return fmt::format("{} is {} where a number is expected{}", seen.spec.name, what,
                     others == 0 && right > 0 ? ", and right elsewhere" : "");
}

Sentence nan_is_lost(const Seen& seen) {
  for (std::int64_t i = 0; i < seen.y.size(); ++i) {
    if (std::isnan(seen.expected.at(i)) && std::isfinite(seen.y.at(i))) {
      return seen.spec.name + " is a number where NaN is expected";
    }
  }
  return {};
}

/// Right in some slices of an axis and in no others.
Sentence right_slices(const Seen& seen) {
  const Shape& shape = seen.y.shape;
  for (std::ptrdiff_t axis = 0; axis < std::ssize(shape); ++axis) {
    const std::vector<bool> right = right_along(shape, axis, [&](auto i) { return seen.right(i); });
    const auto count = std::ranges::count(right, true);
    const auto n = std::ssize(right);
    if (count == 0 || count == n) continue;
    const std::string where = axis_of(seen.spec, shape, axis);
    if (n >= least_pattern && std::ranges::adjacent_find(right) == right.end()) {
      return fmt::format("{} is right for every second index of {} only", seen.spec.name, where);
    }
    if (n - count == 1) {
      const auto wrong = std::ranges::find(right, false) - right.begin();
      return fmt::format("{} is wrong at index {} of {} only", seen.spec.name, wrong, where);
    }
    const bool first = std::ranges::is_sorted(right, std::greater<>());
    if (first || std::ranges::is_sorted(right)) {
      const std::string number = count == 1 ? "index" : fmt::format("{} indices", count);
      return fmt::format("{} is right for the {} {} of {} only", seen.spec.name,
                         first ? "first" : "last", number, where);
    }
  }
  return {};
}

/// Each slice along an axis is the truth times a number of its own, or plus one.
Sentence slices_of_their_own(const Seen& seen) {
  const Shape& shape = seen.y.shape;
  if (!seen.all_finite()) return {};
  for (std::ptrdiff_t axis = std::ssize(shape) - 1; axis >= 0; --axis) {
    if (shape[axis] < least_pattern || shape[axis] == seen.y.size()) continue;
    bool times = true, plus = true, is_truth = true;
    for_each_slice(shape, axis, [&](const std::vector<std::int64_t>& slice) {
      double product = 0, square = 0, difference = 0;
      for (const std::int64_t i : slice) {
        product += seen.y.at(i) * seen.expected.at(i);
        square += seen.expected.at(i) * seen.expected.at(i);
        difference += seen.y.at(i) - seen.expected.at(i);
      }
      const double factor = square > 0 ? product / square : 1;
      const double offset = difference / static_cast<double>(slice.size());
      for (const std::int64_t i : slice) {
        is_truth = is_truth && seen.agrees(seen.y.at(i), seen.expected.at(i));
        times = times && factor != 0 && seen.agrees(seen.y.at(i), factor * seen.expected.at(i));
        plus = plus && seen.agrees(seen.y.at(i), seen.expected.at(i) + offset);
      }
    });
    if (is_truth || (!times && !plus)) continue;
    return fmt::format("each slice of {} along {} is the truth {} a number of its own",
                       seen.spec.name, axis_of(seen.spec, shape, axis), times ? "times" : "plus");
  }
  return {};
}

/// What is wrong is what integers of an input select: one of them, or those beyond some.
Sentence selected(const Seen& seen, const Signature& signature) {
  const LoadedCase& loaded = seen.exhibit.loaded;
  for (std::size_t number = 0; number < loaded.inputs.size(); ++number) {
    const std::optional<Tensor>& input = loaded.inputs[number];
    if (!input || input->dtype != DType::int64 || input->size() == 0 || seen.y.shape.empty())
      continue;
    // Its elements belong to rows of y: it has the axes before the last, or the last ones of these.
    const Shape& shape = input->shape;
    const auto rows = seen.y.shape.end() - 1;
    if (rows - seen.y.shape.begin() < std::ssize(shape)) continue;
    if (!std::equal(shape.begin(), shape.end(), rows - std::ssize(shape))) continue;
    const std::int64_t width = seen.y.shape.back();
    std::set<std::int64_t> right, wrong;
    std::set<std::int64_t> places;  // of what is wrong, in the input
    for (std::int64_t row = 0; row * width < seen.y.size(); ++row) {
      const std::int64_t place = row % input->size();
      bool all = true;
      for (std::int64_t i = 0; i < width; ++i) all = all && seen.right(row * width + i);
      (all ? right : wrong).insert(static_cast<std::int64_t>(input->at(place)));
      if (!all) places.insert(place);
    }
    const bool apart =
        std::ranges::none_of(wrong, [&](auto value) { return right.contains(value); });
    if (wrong.empty() || std::ssize(right) < least_pattern || !apart) continue;
    const std::string where =
        seen.spec.name + " is wrong only where " + signature.inputs[number].name + " is ";
    const std::int64_t least = *wrong.begin(), most = *wrong.rbegin();
    // What belongs to an index as well is told of the index; but 0 is often a value of its own.
    if (least == 0 && most == 0) return where + "0";
    if (right_slices(seen)) continue;
    if (least == most && places.size() > 1) return where + std::to_string(least);
    if (std::ssize(wrong) < least_pattern) continue;
    if (const std::int64_t last = *right.rbegin(); least > last) {
      // A power of 2 between them is what many cases have in common.
      const auto power =
          static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(least)));
      return where + std::to_string(power > last ? power : least) + " or more";
    }
    if (most < *right.begin()) return where + std::to_string(most) + " or less";
  }
  return {};
}

Sentence constant(const Seen& seen) {
  const Shape& shape = seen.y.shape;
  for (std::ptrdiff_t axis = 0; axis < std::ssize(shape); ++axis) {
    if (shape[axis] < 2) continue;
    bool y_varies = false, truth_varies = false;
    for_each_slice(shape, axis, [&](const std::vector<std::int64_t>& slice) {
      for (const std::int64_t i : slice) {
        y_varies = y_varies || !(seen.y.at(i) == seen.y.at(slice.front()));
        truth_varies =
            truth_varies || !seen.agrees(seen.expected.at(i), seen.expected.at(slice.front()));
      }
    });
    if (y_varies || !truth_varies) continue;
    return seen.spec.name + " is the same all along " + axis_of(seen.spec, shape, axis);
  }
  return {};
}

/// "right to 3 digits, as where something is computed in bfloat16".
Sentence digits(const Seen& seen) {
  if (!seen.all_finite()) return {};
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < seen.y.size(); ++i) {
    error += std::pow(seen.y.at(i) - seen.expected.at(i), 2);
    size += std::pow(seen.expected.at(i), 2);
  }
  const double relative = size > 0 ? std::sqrt(error / size) : 1;
  if (relative > 0.01 || relative <= 0) return {};
  const int right = static_cast<int>(std::floor(-std::log10(relative)));
  std::string text = fmt::format("{} is right to {} digits", seen.spec.name, right);
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16}) {
    // Narrower than the case's own, by what one or some roundings make.
    if (epsilon(type) <= epsilon(seen.y.dtype)) continue;
    if (relative > epsilon(type) / 32 && relative < epsilon(type)) {
      return text + ", as where something is computed in " + std::string(name(type));
    }
  }
  return text;
}

/// The error of each quarter of a named axis is several times that of the one before.
Sentence growing(const Seen& seen) {
  const Shape& shape = seen.y.shape;
  if (!seen.all_finite()) return {};
  for (std::ptrdiff_t axis = 0; axis < std::ssize(shape); ++axis) {
    if (shape[axis] < 8) continue;
    std::array<double, 4> quarters{};
    for (std::int64_t i = 0; i < seen.y.size(); ++i) {
      const std::int64_t at = index_of(i, shape)[static_cast<std::size_t>(axis)];
      double& most = quarters[static_cast<std::size_t>(4 * at / shape[axis])];
      most = std::max(most, std::fabs(seen.y.at(i) - seen.expected.at(i)));
    }
    if (quarters[0] * 8 < quarters[3] && quarters[0] <= quarters[1] && quarters[1] < quarters[2] &&
        quarters[2] < quarters[3]) {
      return fmt::format("the error of {} grows along {}", seen.spec.name,
                         axis_of(seen.spec, shape, axis));
    }
  }
  return {};
}

/// What people take for a scalar: a value, and what it is called.
struct Other {
  Scalar value;
  std::string words;
};

/// Its default, 0, what is usual, its square and root; the last axis, the first.
std::vector<Other> others_for(const ScalarSpec& spec, const Scalar& given) {
  std::vector<Other> others;
  const auto add = [&](const Scalar& value) {
    others.push_back(
        {value, fmt::format("{} = {} gives, whatever the call says", spec.name, to_text(value))});
  };
  if (spec.default_value) add(*spec.default_value);
  if (const double* value = std::get_if<double>(&given)) {
    const std::vector<double> usual =
        *value < 1 ? std::vector{0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3} : std::vector{1e4, 5e5, 1e6};
    for (const double other : usual) add(other);
    const std::string in_its_place = spec.name + " gives in its place";
    others.push_back({*value * *value, "the square of " + in_its_place});
    others.push_back({std::sqrt(std::fabs(*value)), "the root of " + in_its_place});
  }
  if (spec.kind == ScalarKind::integer) {
    for (const std::int64_t value : {-1, 0, 1}) add(value);
  }
  std::erase_if(others, [&](const Other& other) { return other.value == given; });
  return others;
}

/// The sum of squares of what two tensors are apart, where that is finite.
double distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double apart = a.at(i) - b.at(i);
    if (std::isfinite(apart)) sum += apart * apart;
  }
  return sum;
}

/// y is what the truth gives for another value of a scalar: the one that comes nearest. One that
/// comes as near as another, but for rounding, is no better.
Sentence other_scalar(const Seen& seen, const Evidence& evidence, std::size_t output,
                      Solution& truth) {
  const Signature& signature = *evidence.signature;
  if (seen.exhibit.loaded.info.work() > most_work_of_scalars) return {};
  LoadedCase loaded = seen.exhibit.loaded;
  for (std::size_t s = 0; s < loaded.info.scalars.size(); ++s) {
    const Scalar given = loaded.info.scalars[s];
    std::optional<std::string> nearest;
    double least = 0;
    for (const Other& other : others_for(signature.scalars[s], given)) {
      loaded.info.scalars[s] = other.value;
      const std::vector<Tensor> outputs = outputs_of(evidence.problem, signature, loaded, truth);
      if (outputs.empty()) continue;
      if (!seen.is([&](std::int64_t i) { return outputs[output].at(i); })) continue;
      const double off = distance(seen.y, outputs[output]);
      if (nearest && !(off < least / 4)) continue;
      nearest = other.words;
      least = off;
    }
    if (nearest) return seen.spec.name + " is what " + *nearest;
    loaded.info.scalars[s] = given;
  }
  return {};
}

Sentence property_of(const Seen& seen, const Evidence& evidence, std::size_t output,
                     Solution& truth) {
  const auto first_of = [&](auto... ask) {
    Sentence found;
    ((found || (found = ask(seen))), ...);
    return found;
  };
  if (const Sentence found = first_of(only_zeros)) return found;
  if (const Sentence found = input_unchanged(seen, *evidence.signature)) return found;
  if (const Sentence found = first_of(factor, offset)) return found;
  if (const Sentence found = other_scalar(seen, evidence, output, truth)) return found;
  if (const Sentence found = first_of(moved, not_finite, nan_is_lost, constant, sums)) return found;
  if (const Sentence found = selected(seen, *evidence.signature)) return found;
  return first_of(right_slices, slices_of_their_own, growing, digits);
}

}  // namespace

std::vector<Property> properties(const Evidence& evidence,
                                 const std::vector<std::size_t>& unexplained, Solution& truth) {
  std::map<std::string, std::int64_t> counts;
  std::int64_t looked_at = 0;
  const std::size_t step = (unexplained.size() + most_cases - 1) / most_cases;
  for (std::size_t at = 0; at < unexplained.size(); at += step) {
    const Evidence::Wrong& wrong = evidence.wrong[unexplained[at]];
    if (wrong.outputs.empty()) continue;
    const Exhibit exhibit{evidence.load(wrong.number), &wrong.outputs};
    if (exhibit.loaded.info.work() > most_looked_at) continue;
    ++looked_at;
    for (std::size_t i = 0; i < wrong.outputs.size(); ++i) {
      const Seen seen{exhibit, evidence.signature->outputs[i], wrong.outputs[i],
                      exhibit.loaded.expected[i],
                      exhibit.loaded.info.outputs[i].tolerance.value_or(Tolerance{})};
      const Sentence sentence = property_of(seen, evidence, i, truth);
      if (sentence) ++counts[*sentence];
    }
  }
  std::vector<Property> found;
  for (const auto& [sentence, count] : counts) {
    if (2 * count <= looked_at) continue;  // what few cases have misleads
    found.push_back({evidence.problem, sentence, count, looked_at});
  }
  std::ranges::stable_sort(found, std::greater<>(), &Property::holds);
  if (found.size() > most_properties) found.resize(most_properties);
  return found;
}

}  // namespace prenorm::harness
