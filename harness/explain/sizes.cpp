// What tells the cases that pass from those that fail: a rule in one size or scalar.
#include "explain/diagnosis.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace prenorm::harness {
namespace {

/// Of each kind, so that a rule is no coincidence.
constexpr std::size_t least_cases = 3;

/// A case's numbers by name: sizes, whole scalars, batch axes.
using Numbers = std::map<std::string, std::int64_t>;

Numbers numbers_of(const Case& info, const Signature& signature) {
  Numbers numbers(info.binding.sizes.begin(), info.binding.sizes.end());
  for (std::size_t i = 0; i < info.scalars.size(); ++i) {
    const auto* whole = std::get_if<std::int64_t>(&info.scalars[i]);
    if (whole != nullptr) numbers[signature.scalars[i].name] = *whole;
  }
  numbers["the number of batch axes"] = std::ssize(info.binding.batch);
  return numbers;
}

/// Whether the rule holds for all that pass and for none that fails.
template <class Rule>
bool separates(const std::vector<Numbers>& pass, const std::vector<Numbers>& fail, Rule rule) {
  return std::ranges::all_of(pass, rule) && std::ranges::none_of(fail, rule);
}

/// "n is 1", of what passes.
std::optional<std::string> rule_of(const std::string& name, const std::vector<Numbers>& pass,
                                   const std::vector<Numbers>& fail) {
  const auto value = [&](const Numbers& numbers) { return numbers.at(name); };
  const auto bounds = [&](const std::vector<Numbers>& all) {
    return std::ranges::minmax(all, {}, value);
  };
  const auto [least_pass, most_pass] = bounds(pass);
  const auto [least_fail, most_fail] = bounds(fail);
  const std::int64_t low = value(least_pass), high = value(most_pass);
  if (low == high && separates(pass, fail, [&](const auto& each) { return value(each) == low; })) {
    return fmt::format("{} is {}", name, low);
  }
  if (high < value(least_fail)) return fmt::format("{} is at most {}", name, high);
  if (low > value(most_fail)) return fmt::format("{} is at least {}", name, low);
  for (const std::int64_t by : {128, 64, 32, 16, 8, 4, 2}) {
    if (separates(pass, fail, [&](const auto& each) { return value(each) % by == 0; })) {
      return fmt::format("{} is a multiple of {}", name, by);
    }
  }
  for (const auto& [other, of_first] : pass.front()) {
    if (other <= name) continue;
    const auto equals_other = [&](const Numbers& each) {
      const auto found = each.find(other);  // not where the input that has it is absent
      return found != each.end() && value(each) == found->second;
    };
    if (separates(pass, fail, equals_other)) return fmt::format("{} and {} are equal", name, other);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> rule_in_sizes(const std::vector<const Case*>& passing,
                                         const std::vector<const Case*>& failing,
                                         const Signature& signature) {
  std::vector<Numbers> pass, fail;
  for (const Case* info : passing) pass.push_back(numbers_of(*info, signature));
  for (const Case* info : failing) fail.push_back(numbers_of(*info, signature));
  if (pass.size() < least_cases || fail.size() < least_cases) return std::nullopt;
  for (const auto& [name, of_first] : pass.front()) {
    const auto lacks = [&name](const Numbers& numbers) { return !numbers.contains(name); };
    if (std::ranges::any_of(pass, lacks) || std::ranges::any_of(fail, lacks)) continue;
    if (const auto rule = rule_of(name, pass, fail)) return "passes only where " + *rule;
    if (const auto rule = rule_of(name, fail, pass)) return "fails only where " + *rule;
  }
  return std::nullopt;
}

}  // namespace prenorm::harness
