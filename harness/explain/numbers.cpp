#include "explain/numbers.hpp"

#include "base/text.hpp"
#include "fixture/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_elements = 16;
constexpr std::size_t most_worst = 3;
constexpr std::int64_t neighbours = 1;  // along the last axis, on either side
constexpr std::size_t widest = 96;      // columns

std::string number(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return std::isfinite(value) ? fmt::format("{:.8g}", value) : short_number(value);
}

struct Row {
  std::string element, expected, got;
  bool wrong = false;
};

Row row_of(const std::string& tensor, std::int64_t i, const Tensor& got, const Tensor& expected,
           const Tolerance& tolerance) {
  const bool passes = compare_element(got.dtype, got.at(i), expected.at(i), tolerance).passes;
  auto [y, e] = told_apart(got.at(i), expected.at(i));
  if (passes) y = number(got.at(i), got.dtype), e = number(expected.at(i), got.dtype);
  return {got.shape.empty() ? tensor : tensor + to_text(index_of(i, got.shape)), e, y, !passes};
}

/// The elements to show: all, or the worst and those beside them, in memory order.
std::vector<std::int64_t> elements_of(const Tensor& got, const Tensor& expected,
                                      const Tolerance& tolerance) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(got.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  if (got.size() <= most_elements) return all;
  const auto badness = [&](std::int64_t i) {
    if (compare_element(got.dtype, got.at(i), expected.at(i), tolerance).passes) return -1.0;
    const double error = std::fabs(got.at(i) - expected.at(i));
    return std::isfinite(error) ? error / tolerance.bound(expected.at(i)) : INFINITY;
  };
  std::vector<std::pair<double, std::int64_t>> worst;
  for (const std::int64_t i : all) {
    const double bad = badness(i);
    if (bad < 0 || (worst.size() == most_worst && bad <= worst.back().first)) continue;
    worst.insert(std::ranges::find_if(worst, [&](const auto& w) { return w.first < bad; }),
                 {bad, i});
    if (worst.size() > most_worst) worst.pop_back();
  }
  std::vector<std::int64_t> shown;
  const std::int64_t width = got.shape.empty() ? 1 : got.shape.back();
  for (const auto& [bad, i] : worst) {
    const std::int64_t row = i / width * width;
    const std::int64_t first = std::max(row, i - neighbours);
    const std::int64_t last = std::min(row + width - 1, i + neighbours);
    for (std::int64_t at = first; at <= last; ++at) shown.push_back(at);
  }
  std::ranges::sort(shown);
  shown.erase(std::ranges::unique(shown).begin(), shown.end());
  return shown;
}

std::string table_of(const std::vector<Row>& rows) {
  std::size_t element = 0, expected = 8, got = 3;
  for (const Row& row : rows) {
    element = std::max(element, row.element.size());
    expected = std::max(expected, row.expected.size());
    got = std::max(got, row.got.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:>{}}  {:>{}}\n", "", element, "expected", expected, "got", got);
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:>{}}  {:>{}}{}\n", row.element, element, row.expected, expected,
                        row.got, got, row.wrong ? "  *" : "");
  }
  return text;
}

}  // namespace

std::int64_t offset_of(const Shape& index, const Shape& shape) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset = offset * shape[axis] + index[axis];
  }
  return offset;
}

std::string axis_of(const TensorSpec& spec, const Shape& shape, std::ptrdiff_t axis) {
  const std::ptrdiff_t batch = std::ssize(shape) - std::ssize(spec.dims);
  if (axis >= batch) return spec.dims[static_cast<std::size_t>(axis - batch)];
  if (shape.size() > 1 && axis + 1 == std::ssize(shape)) return "the last axis";
  return "axis " + std::to_string(axis);
}

void for_each_slice(const Shape& shape, std::ptrdiff_t axis,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t stride = 1;
  for (std::size_t i = at + 1; i < shape.size(); ++i) stride *= shape[i];
  const std::int64_t n = shape[at], all = element_count(shape);
  std::vector<std::int64_t> slice(static_cast<std::size_t>(n));
  for (std::int64_t outer = 0; outer < all; outer += n * stride) {
    for (std::int64_t inner = 0; inner < stride; ++inner) {
      for (std::int64_t i = 0; i < n; ++i) {
        slice[static_cast<std::size_t>(i)] = outer + i * stride + inner;
      }
      visit(slice);
    }
  }
}

std::vector<bool> right_along(const Shape& shape, std::ptrdiff_t axis,
                              const std::function<bool(std::int64_t)>& right) {
  std::vector<bool> all(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]), true);
  for_each_slice(shape, axis, [&](const std::vector<std::int64_t>& slice) {
    for (std::size_t i = 0; i < slice.size(); ++i) all[i] = all[i] && right(slice[i]);
  });
  return all;
}

std::pair<std::string, std::string> told_apart(double a, double b) {
  const auto text = [](double value, int digits) {
    if (!std::isfinite(value)) return short_number(value);
    return fmt::format("{:.{}g}", value, digits);
  };
  for (int digits = 8;; ++digits) {
    std::pair texts{text(a, digits), text(b, digits)};
    if (texts.first != texts.second || a == b || digits == 17) return texts;
  }
}

std::string nested(const Tensor& tensor, const std::function<std::string(double)>& number) {
  std::string text;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::int64_t extent = 1;
    std::string opened, closed;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
      extent *= tensor.shape[axis];
      if (i % extent == 0) opened += '[';
      if (i % extent == extent - 1) closed += ']';
    }
    text += (i > 0 ? ", " : "") + opened + number(tensor.at(i)) + closed;
  }
  return text;
}

std::string numbers_of(const Signature& signature, const LoadedCase& loaded,
                       const std::vector<Tensor>& outputs) {
  std::string text;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const std::optional<Tensor>& input = loaded.inputs[i];
    if (!input || input->size() > most_elements || input->size() == 0) continue;
    const auto written = [&](double value) { return number(value, input->dtype); };
    const std::string line = signature.inputs[i].name + " = " + nested(*input, written);
    if (line.size() <= widest) text += line + "\n";
  }
  for (std::size_t i = 0; i < outputs.size() && i < loaded.expected.size(); ++i) {
    const Tensor &got = outputs[i], &expected = loaded.expected[i];
    if (got.shape != expected.shape || got.size() == 0) continue;
    const Tolerance tolerance = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    std::vector<Row> rows;
    for (const std::int64_t at : elements_of(got, expected, tolerance)) {
      rows.push_back(row_of(signature.outputs[i].name, at, got, expected, tolerance));
    }
    if (!rows.empty()) text += table_of(rows);
  }
  return text;
}

}  // namespace prenorm::harness
