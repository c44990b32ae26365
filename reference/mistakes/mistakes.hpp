// Common parts of the known mistakes.
//
// A component computes its problems by steps that can go wrong: struct Steps, the defaults of which
// are right. A mistake is a change of them, void halves(Steps&), so that mistakes combine: where a
// problem is computed with two changes, it has both mistakes. The Steps of a larger component
// derive from those of its parts, whose changes are changes of its own, too.
//
// A mistake is recognized by what it computes, not by how it rounds, so all is computed in float64.
// A mistake of rounding (sums accumulated in T) asks the call's Element, and its change says for
// which types there is such a mistake: void sums_in_t(Steps&, const Element&).
#pragma once

#include "../exports/widened.hpp"

#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::mistakes {

using fast::Element;
using fast::Tensor;
using Wide = Tensor<double>;  // for every type of the call: see widened.hpp

/// What the Steps of every component derive from.
struct AnySteps {
  bool operator==(const AnySteps&) const = default;
};

/// Not std::derived_from: the Steps of a larger component derive from it by each part.
template <class T>
concept OfSteps = std::is_base_of_v<AnySteps, T>;

/// The steps that this thread's call is computed by.
template <OfSteps Steps>
inline thread_local const Steps* current_steps = nullptr;

/// Makes a change, whether it asks for the element type or not.
template <auto change, OfSteps Steps>
void apply(Steps& steps, const Element& t) {
  if constexpr (std::is_invocable_v<decltype(change), Steps&>) {
    change(steps);
  } else {
    change(steps, t);
  }
}

/// A problem, by the function that computes it by its steps.
template <auto function>
struct Problem;
template <class Steps, class... P, Wide (*function)(const Steps&, P...)>
struct Problem<function> {
  using Change = void (*)(Steps&, const Element&);

  template <auto change>
  static constexpr Change change_of = mistakes::apply<change, Steps>;

  /// Computes the problem with these changes.
  static void compute(std::span<const Change> changes, const prenorm_call& call) {
    const Element t{call.outputs[0]->dtype};
    Steps steps;
    for (const Change change : changes) change(steps, t);
    current_steps<Steps> = &steps;
    prenorm::detail::call_function(&fast::Widening<function>::call, call);
  }

  /// Throws not_implemented unless two changes are two mistakes at once: neither undoes a part of
  /// the other, so that their order does not matter, and both can be seen.
  static void require_both(Change a, Change b, const Element& t, const std::string& names) {
    Steps with_a, with_b;
    a(with_a, t), b(with_b, t);
    Steps a_then_b = with_a, b_then_a = with_b;
    b(a_then_b, t), a(b_then_a, t);
    if (a_then_b != b_then_a || a_then_b == with_a || a_then_b == with_b) {
      throw not_implemented("no such combination: two of " + names + " change the same step");
    }
  }

  static std::map<std::string_view, Change>& changes() {
    static std::map<std::string_view, Change> known;
    return known;
  }

  /// Computes the problem with the mistakes "halves+theta_fixed".
  static void combine(const std::string& names, const prenorm_call& call) {
    std::vector<Change> all;
    for (std::size_t first = 0, end; first <= names.size(); first = end + 1) {
      end = std::min(names.find('+', first), names.size());
      const auto found = changes().find(std::string_view(names).substr(first, end - first));
      if (found == changes().end()) {
        throw not_implemented("no such combination: " + names.substr(first, end - first) +
                              " is no known mistake");
      }
      for (const Change other : all) {
        require_both(other, found->second, {call.outputs[0]->dtype}, names);
      }
      all.push_back(found->second);
    }
    compute(all, call);
  }
};

/// {problem: Problem::combine}.
using Combine = void (*)(const std::string& names, const prenorm_call& call);
inline std::map<std::string_view, Combine>& combinations() {
  static std::map<std::string_view, Combine> known;
  return known;
}

/// Notes a mistake for combinations.
template <auto function, auto change>
bool note(std::string_view problem, std::string_view mistake) {
  combinations()[problem] = Problem<function>::combine;
  return Problem<function>::changes()
      .emplace(mistake, Problem<function>::template change_of<change>)
      .second;
}

/// Zeros for subnormal numbers of T.
inline Wide flushed(const Element& t, Wide x) {
  const double smallest = t.is<double>() ? 0x1p-1022 : t.is<float16>() ? 0x1p-14 : 0x1p-126;
  for (double& value : x) value = std::abs(value) < smallest ? 0 : value;
  return x;
}

/// e^a in the compute type: infinite above, and 0 below, what that can hold.
inline double exp_in(const Element& t, double a) {
  if (a > (t.is<double>() ? 709.78 : 88.72)) return std::numeric_limits<double>::infinity();
  return a < (t.is<double>() ? -745.2 : -103.98) ? 0 : std::exp(a);
}

/// What is computed stays 0 from element `first` on, as if later blocks were never launched.
inline Wide only_before(std::size_t first, Wide y) {
  for (std::size_t i = first; i < y.size(); ++i) y.data()[i] = 0;
  return y;
}

/// Throws not_implemented where the element type hides the mistake: computed nevertheless, as
/// PRENORM_HIDDEN_MISTAKES asks for in the environment (which no worker has), it passes every case.
inline void require_shown(bool shown) {
  static const bool hidden_too = std::getenv("PRENORM_HIDDEN_MISTAKES") != nullptr;
  if (!shown && !hidden_too) throw not_implemented("a mistake that the element type hides");
}
inline void require_16_bit(const Element& t) { require_shown(t.is_16_bit()); }

/// A change of a part that only float64, or only wide types, show in the whole.
template <auto change>
inline constexpr auto in_float64 = [](OfSteps auto& steps, const Element& t) {
  require_shown(t.is<double>());
  apply<change>(steps, t);
};
template <auto change>
inline constexpr auto in_wide_types = [](OfSteps auto& steps, const Element& t) {
  require_shown(!t.is_16_bit());
  apply<change>(steps, t);
};

}  // namespace prenorm::mistakes

namespace prenorm {

template <mistakes::OfSteps Steps>
struct argument<Steps> {
  static const Steps& read(Arguments&) { return *mistakes::current_steps<Steps>; }
};

}  // namespace prenorm

/// Exports a mistake as prenorm_<problem>__<mistake>: the change of the steps that has the
/// mistake's name, or the one that is named third.
#define EXPORT_MISTAKE(problem, mistake, ...) \
  EXPORT_CHANGE(problem, mistake, __VA_ARGS__ __VA_OPT__(, ) mistake, )
#define EXPORT_CHANGE(problem, mistake, change, ...)                                    \
  [[maybe_unused]] static const bool noted_##problem##__##mistake =                     \
      prenorm::mistakes::note<&problem, change>(#problem, #mistake);                    \
  extern "C" PRENORM_API int prenorm_##problem##__##mistake(const prenorm_call* call) { \
    return prenorm::detail::guard(call, [call] {                                        \
      using Known = prenorm::mistakes::Problem<&problem>;                               \
      constexpr Known::Change changes[] = {Known::change_of<change>};                   \
      Known::compute(changes, *call);                                                   \
    });                                                                                 \
  }
