#include "check/command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "fixture/fixture.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace prenorm::harness {
namespace {

struct DiffOptions {
  std::string first, second;
  double atol = 0, rtol = 0;
};

/// Equal numbers (0 equals -0), two NaNs, or a difference within the tolerance around the second.
bool agree(double a, double b, const DiffOptions& options) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= options.atol + options.rtol * std::abs(b) && std::isfinite(b);
}

/// Compares elements as double. Large int64 values, which double rounds, are compared as int64.
std::string describe_values(const Tensor& a, const Tensor& b, const DiffOptions& options) {
  std::int64_t different = 0, worst = 0;
  double largest = -1;
  const auto* left = reinterpret_cast<const std::int64_t*>(a.data.data());
  const auto* right = reinterpret_cast<const std::int64_t*>(b.data.data());
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    const bool rounded_away = a.dtype == DType::int64 && left[i] != right[i] && x == y;
    if (agree(x, y, options) && !rounded_away) continue;
    ++different;
    const double difference = std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) : INFINITY;
    if (difference > largest) {
      largest = difference;
      worst = i;
    }
  }
  if (different == 0) return {};
  return fmt::format("{} of {} elements differ, most at {}: {:.9g} and {:.9g}", different, a.size(),
                     to_text(index_of(worst, a.shape)), a.at(worst), b.at(worst));
}

std::string describe_difference(const Tensor& a, const Tensor& b, const DiffOptions& options) {
  if (a.dtype != b.dtype) {
    return fmt::format("type {} and {}", name(a.dtype), name(b.dtype));
  }
  if (a.shape != b.shape) return fmt::format("shape {} and {}", to_text(a.shape), to_text(b.shape));
  return describe_values(a, b, options);
}

OutputsFile read(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw UsageError("no file " + path);
  return as_usage<BadFixture>([&] { return read_outputs(path); });
}

int diff(const DiffOptions& options) {
  const OutputsFile first = read(options.first);
  const OutputsFile second = read(options.second);
  std::string text;
  if (first.problem != second.problem) {
    text += "problem: '" + printable(first.problem) + "' and '" + printable(second.problem) + "'\n";
  }
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::pair<const Tensor*, const Tensor*>> tensors;
  for (const auto& entry : first.entries) {
    tensors[{entry.case_name, entry.tensor}].first = &entry.value;
  }
  for (const auto& entry : second.entries) {
    tensors[{entry.case_name, entry.tensor}].second = &entry.value;
  }
  std::size_t different = 0;
  for (const auto& [key, pair] : tensors) {
    std::string what;
    if (pair.first == nullptr) {
      what = "only in " + options.second;
    } else if (pair.second == nullptr) {
      what = "only in " + options.first;
    } else {
      what = describe_difference(*pair.first, *pair.second, options);
    }
    if (what.empty()) continue;
    ++different;
    text += printable(key.first + "/" + key.second) + ": " + what + "\n";
  }
  text += fmt::format("{} of {} differ\n", different, counted(tensors.size(), "output"));
  print(text);
  return different > 0 || first.problem != second.problem ? 1 : 0;
}

}  // namespace

Command diff_command() {
  const auto options = std::make_shared<DiffOptions>();
  DiffOptions& o = *options;
  return {
      .name = "diff",
      .description = "Compare two files of saved outputs: shapes, dtypes and values",
      .options = {{"A.h5", o.first, "An outputs file, written by verify --save", Trait::required},
                  {"B.h5", o.second, "The outputs file to compare it with", Trait::required},
                  {"--atol ATOL", o.atol, "Accept |a - b| <= ATOL + RTOL |b| (default: 0)",
                   non_negative},
                  {"--rtol RTOL", o.rtol, "See --atol", non_negative}},
      .footer = R"(Example:
  prenorm verify --save out --solution reference --solution ./libmine.so
  prenorm diff out/PROBLEM.reference.h5 out/PROBLEM.libmine.h5 --rtol 1e-6

Exit code: 0 equal, 1 different, 2 a file cannot be used)",
      .run = [options] { return diff(*options); }};
}

}  // namespace prenorm::harness
