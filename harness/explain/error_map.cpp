#include "explain/error_map.hpp"

#include "base/text.hpp"
#include "explain/numbers.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_cells = 64;  // along each side
// Errors over their bound are counted by powers of two: up to 2^-8, ..., up to 1 (the last that
// passes), ..., up to 2^20, beyond. Each has a colour; not-finite ones a pattern of their own.
constexpr int first_power = -8, last_power = 20;
constexpr int colours = last_power - first_power + 2;
constexpr int within = -first_power + 1;  // how many of them are within the bound
constexpr int no_number = colours;

/// At most 1 where the element passes.
double ratio(double actual, double expected, const ElementReport& judged,
             const Tolerance& tolerance) {
  if (!std::isfinite(actual) || !std::isfinite(expected)) return judged.ulps;  // 0, or infinite
  const double bound = tolerance.bound(expected);
  if (bound > 0) return std::fabs(actual - expected) / bound;
  return judged.passes ? 0 : std::numeric_limits<double>::infinity();
}

int bin(double ratio) {
  for (int power = first_power; power <= last_power; ++power) {
    if (ratio <= std::ldexp(1.0, power)) return power - first_power;
  }
  return colours - 1;
}

/// 0, up to 1/2, 1, 2, ...
std::size_t ulps_bin(double ulps) {
  if (ulps == 0) return 0;
  for (int power = -1; power <= last_power; ++power) {
    if (ulps <= std::ldexp(1.0, power)) return static_cast<std::size_t>(power + 2);
  }
  return static_cast<std::size_t>(last_power + 3);
}

}  // namespace

ErrorMap error_map(const TensorSpec& spec, const Tensor& actual, const Tensor& expected,
                   const Tolerance& tolerance) {
  ErrorMap map;
  map.tensor = spec.name;
  map.shape = actual.shape;
  map.histogram.resize(colours);
  map.ulps.resize(static_cast<std::size_t>(last_power + 4));
  if (actual.size() == 0) return map;
  const std::int64_t width = actual.shape.empty() ? 1 : actual.shape.back();
  const std::int64_t height = actual.size() / width;
  map.rows = std::min(height, most_cells);
  map.columns = std::min(width, most_cells);
  map.cells.resize(static_cast<std::size_t>(map.rows * map.columns));
  for (std::size_t axis = 0; axis < actual.shape.size(); ++axis) {
    const std::int64_t extent = actual.shape[axis];
    ErrorMap::Axis& along = map.axes.emplace_back();
    along.name = axis_of(spec, actual.shape, static_cast<std::ptrdiff_t>(axis));
    along.extent = extent;
    along.ratios.resize(static_cast<std::size_t>(std::min(extent, most_cells)));
  }
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double y = actual.at(i), e = expected.at(i);
    const ElementReport judged = compare_element(actual.dtype, y, e, tolerance);
    const double value = ratio(y, e, judged, tolerance);
    const std::int64_t row = (i / width) * map.rows / height;
    const std::int64_t column = (i % width) * map.columns / width;
    double& cell = map.cells[static_cast<std::size_t>(row * map.columns + column)];
    cell = std::max(cell, value);
    ++map.histogram[static_cast<std::size_t>(bin(value))];
    ++map.ulps[ulps_bin(judged.ulps)];
    std::int64_t rest = i;
    for (std::size_t axis = actual.shape.size(); axis-- > 0;) {
      ErrorMap::Axis& along = map.axes[axis];
      const std::int64_t at = rest % along.extent * std::ssize(along.ratios) / along.extent;
      rest /= along.extent;
      double& most = along.ratios[static_cast<std::size_t>(at)];
      most = std::max(most, value);
    }
  }
  std::erase_if(map.axes, [](const ErrorMap::Axis& along) { return along.extent < 2; });
  return map;
}

std::vector<ErrorMap> error_maps(const Signature& signature, const LoadedCase& loaded,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& mistaken) {
  std::vector<ErrorMap> maps;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tolerance tolerance = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    ErrorMap map = error_map(signature.outputs[i], outputs[i], loaded.expected[i], tolerance);
    const bool wrong = std::ranges::any_of(map.cells, [](double ratio) { return !(ratio <= 1); });
    if (!wrong) continue;
    if (i < mistaken.size()) {
      map.mistake =
          error_map(signature.outputs[i], mistaken[i], loaded.expected[i], tolerance).cells;
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

namespace {

int colour_of(double ratio) { return std::isfinite(ratio) ? bin(ratio) : no_number; }

/// Counts on a logarithmic scale, with room for a single element above the line.
struct CountScale {
  double height, decades;

  CountScale(const std::vector<std::int64_t>& counts, double tall) : height(tall) {
    const auto most = std::max<std::int64_t>(1, std::ranges::max(counts));
    decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(most))));
  }

  double operator()(double count) const {
    return count < 1 ? 0 : height * (.15 + .85 * std::log10(count) / decades);
  }
};

std::string across(double x, double y, double width) {
  return fmt::format("M{:g} {:g}h{:g}", x, y, width);
}

/// A picture that is read out as `label`.
std::string picture(const Svg& svg, double width, double height, const std::string& kind,
                    const std::string& label) {
  return svg.picture(width, height, {{"class", kind}, {"role", "img"}, {"aria-label", label}});
}

/// A bar of a chart; `meaning` shows where a pointer rests on it.
void add_bar(Svg& svg, const Svg::Attribute& kind, double x, double base, double width, double tall,
             const std::string& meaning) {
  svg.open("rect", {kind, {"x", x}, {"y", base - tall}, {"width", width}, {"height", tall}});
  svg.add("title", {}, meaning);
  svg.close();
}

/// The class of the colour in failures.css.
std::string css_class_of(int colour) {
  return colour == no_number ? "nf" : fmt::format("k{}", colour);
}

/// The bound is 0: an element is right, or not.
bool is_exact(const OutputReport* report) {
  return report != nullptr && report->atol == 0 && report->rtol == 0;
}

/// Where the element stands in the map.
struct Place {
  std::int64_t row = 0, column = 0;
};

std::optional<Place> place_in(const ErrorMap& map, const Shape& index) {
  if (index.size() != map.shape.size() || index.empty()) return std::nullopt;
  std::int64_t row = 0, rows = 1;
  for (std::size_t axis = 0; axis + 1 < index.size(); ++axis) {
    row = row * map.shape[axis] + index[axis];
    rows *= map.shape[axis];
  }
  const std::int64_t columns = map.shape.back();
  if (row < 0 || row >= rows || index.back() < 0 || index.back() >= columns) return std::nullopt;
  return Place{row * map.rows / rows, index.back() * map.columns / columns};
}

std::string count_text(std::int64_t count) {
  return counted(static_cast<std::size_t>(count), "element");
}

/// "more than 16, up to 32 times the bound".
std::string range_text(int colour, bool exact) {
  if (colour == 0) return exact ? "right" : "up to 1/256 of the bound";
  if (colour == colours - 1) return exact ? "wrong: must be exact" : "beyond, or not finite";
  const auto plain = [](int power) { return short_number(std::ldexp(1.0, power)); };
  return "more than " + plain(first_power + colour - 1) + ", up to " + plain(first_power + colour) +
         " times the bound";
}

/// "1/16", "1", "256", 2 to the 16th; `anchor` as SVG has it: "middle", "end".
void label_power(Svg& svg, double x, double y, int power, std::string_view anchor) {
  const Svg::Attribute at{"text-anchor", anchor};
  if (power < 0) return svg.label(x, y, fmt::format("1/{}", 1 << -power), {at});
  if (power <= 12) return svg.label(x, y, std::to_string(1 << power), {at});
  svg.open("text", {{"x", x}, {"y", y}, at});
  svg.add("tspan", {}, "2");
  svg.add("tspan", {{"dy", -4}, {"font-size", 8}}, std::to_string(power));
  svg.close();
}

}  // namespace

std::string heat_map(const ErrorMap& map, const OutputReport* report) {
  if (map.rows < 1 || map.columns < 1 ||
      map.cells.size() != static_cast<std::size_t>(map.rows * map.columns)) {
    return {};
  }
  constexpr double left = 34, top = 18, most_width = 352, most_height = 220;
  const double rows = static_cast<double>(map.rows), columns = static_cast<double>(map.columns);
  const double cell_width = std::clamp(most_width / columns, 1.0, 28.0);
  const double cell_height = std::clamp(most_height / rows, 1.0, 28.0);
  const double width = cell_width * columns, height = cell_height * rows;

  // A path per colour; neighbours in a row are one piece of it.
  std::map<int, std::string> paths;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const double* cells = map.cells.data() + row * map.columns;
    for (std::int64_t begin = 0, end = 0; begin < map.columns; begin = end) {
      const int colour = colour_of(cells[begin]);
      while (end < map.columns && colour_of(cells[end]) == colour) ++end;
      paths[colour] += colour == no_number
                           ? fmt::format("M{} {}h{}v1h-{}z", begin, row, end - begin, end - begin)
                           : fmt::format("M{} {}.5h{}", begin, row, end - begin);
    }
  }
  Svg svg;
  svg.open("g", {{"transform", fmt::format("translate({:g} {:g}) scale({:g} {:g})", left, top,
                                           cell_width, cell_height)},
                 {"shape-rendering", "crispEdges"}});
  for (const auto& [colour, path] : paths) {
    svg.add("path", {{"class", css_class_of(colour)}, {"d", path}});
  }
  svg.close();
  svg.add("rect", {{"class", "axis"},
                   {"x", left - .5},
                   {"y", top - .5},
                   {"width", width + 1},
                   {"height", height + 1}});
  if (const auto worst = report ? place_in(map, report->worst_index) : std::nullopt) {
    for (const char* kind : {"ring halo", "ring"}) {
      svg.add("circle", {{"class", kind},
                         {"cx", left + (static_cast<double>(worst->column) + .5) * cell_width},
                         {"cy", top + (static_cast<double>(worst->row) + .5) * cell_height},
                         {"r", std::max(6.0, .45 * std::min(cell_width, cell_height))}});
    }
  }
  // The first and the last row and column, as they count in the output.
  std::int64_t all_rows = 1;
  for (std::size_t axis = 0; axis + 1 < map.shape.size(); ++axis) all_rows *= map.shape[axis];
  const std::int64_t all_columns = map.shape.empty() ? 1 : map.shape.back();
  const Svg::Attribute at_end{"text-anchor", "end"};
  svg.label(left, top - 5, "0");
  if (all_columns > 1 && width > 40) {
    svg.label(left + width, top - 5, std::to_string(all_columns - 1), {at_end});
  }
  svg.label(left - 6, top + 10, "0", {at_end});
  if (all_rows > 1 && height > 24) {
    svg.label(left - 6, top + height, std::to_string(all_rows - 1), {at_end});
  }
  return picture(svg, left + width + 12, top + height + 6, "map",
                 "Map of the errors in " + printable(map.tensor, 100));
}

std::string mistake_map(const ErrorMap& map) {
  ErrorMap mistake = map;
  mistake.cells = map.mistake;
  return heat_map(mistake, nullptr);
}

std::string histogram(const ErrorMap& map, const OutputReport* report) {
  if (map.histogram.size() != static_cast<std::size_t>(colours)) return {};
  constexpr double left = 44, top = 26, bar = 11, height = 120, key = 10;
  constexpr double width = bar * colours, base = top + height;
  const bool exact = is_exact(report);
  const CountScale level(map.histogram, height);
  const Svg::Attribute at_end{"text-anchor", "end"}, axis{"class", "axis"};
  Svg svg;
  for (int power = 0; power <= static_cast<int>(level.decades); ++power) {
    const double y = base - level(std::pow(10.0, power));
    svg.add("path", {{"class", "grid"}, {"d", across(left, y, width)}});
    if (level.decades <= 4 || power % 2 == 0) {
      svg.label(left - 6, y + 4, fmt::format("{:.0f}", std::pow(10.0, power)), {at_end});
    }
  }
  const bool some_not_finite =
      std::ranges::any_of(map.cells, [](double ratio) { return !std::isfinite(ratio); });
  for (int k = 0; k < colours; ++k) {
    const double x = left + bar * k;
    const std::int64_t count = map.histogram[static_cast<std::size_t>(k)];
    const Svg::Attribute kind{"class",
                              css_class_of(k == colours - 1 && some_not_finite ? no_number : k)};
    svg.add("rect", {kind, {"x", x}, {"y", base}, {"width", bar}, {"height", key}});
    if (count < 1) continue;
    add_bar(svg, kind, x + 1, base, bar - 2, level(static_cast<double>(count)),
            count_text(count) + ": " + range_text(k, exact));
  }
  svg.add("path", {axis, {"d", across(left, base, width)}});
  const double bound = left + bar * within;
  svg.add("path", {axis,
                   {"stroke-dasharray", "4 3"},
                   {"d", fmt::format("M{:g} {:g}V{:g}", bound, top - 4, base + key)}});
  svg.label(bound + 5, top + 4, exact ? "must be exact" : "bound");
  if (!exact) {
    for (const int power : {-8, -4, 0, 4, 8, 12, 16}) {
      label_power(svg, left + bar * (power - first_power + 1), base + key + 13, power, "middle");
    }
    svg.label(left + width - bar / 2, base + key + 13, "∞", {{"text-anchor", "middle"}});
  }
  svg.label(left, base + key + 31,
            exact ? "right (left) or wrong (right)" : "error over its bound");
  svg.label(4, 11, "elements");
  return picture(
      svg, left + width + 14, base + key + 38, "bars",
      fmt::format("How many elements of {} are how far off", printable(map.tensor, 100)));
}

std::string error_along(const ErrorMap::Axis& axis, const std::string& tensor) {
  if (axis.ratios.size() < 4) return {};  // the map shows as much
  constexpr double left = 52, top = 22, height = 96, width = 330;
  const double base = top + height;
  const auto level = [&](double ratio) {
    constexpr double least = first_power, most = last_power;
    const double power = std::isfinite(ratio) ? std::log2(ratio) : most;  // -infinity of 0
    return height * (std::clamp(power, least, most) - least) / (most - least);
  };
  Svg svg;
  for (const int power : {-8, 0, 8, 16}) {
    const double y = base - level(std::ldexp(1.0, power));
    svg.add("path", {{"class", power == 0 ? "axis" : "grid"},
                     {"stroke-dasharray", power == 0 ? "4 3" : "none"},
                     {"d", across(left, y, width)}});
    label_power(svg, left - 6, y + 4, power, "end");
  }
  const double bar = width / static_cast<double>(axis.ratios.size());
  for (std::size_t i = 0; i < axis.ratios.size(); ++i) {
    const auto first = static_cast<std::int64_t>(i) * axis.extent / std::ssize(axis.ratios);
    add_bar(svg, {"class", axis.ratios[i] <= 1 ? "k6" : "k18"}, left + bar * static_cast<double>(i),
            base, std::max(bar - 1, .6), std::max(1.0, level(axis.ratios[i])),
            fmt::format("index {}: {} times the bound", first, short_number(axis.ratios[i])));
  }
  svg.label(left, base + 14, "0");
  svg.label(left + width, base + 14, std::to_string(axis.extent - 1), {{"text-anchor", "end"}});
  svg.label(left + width / 2, base + 14, printable(axis.name, 40), {{"text-anchor", "middle"}});
  svg.label(4, 11, "error over its bound");
  return picture(svg, left + width + 12, base + 22, "bars",
                 "Errors of " + printable(tensor, 60) + " along " + printable(axis.name, 40));
}

std::string ulp_histogram(const ErrorMap& map) {
  if (map.ulps.size() < 4) return {};
  constexpr double left = 52, top = 22, height = 96, width = 330;
  const double base = top + height;
  const CountScale level(map.ulps, height);
  const double bar = width / static_cast<double>(map.ulps.size());
  Svg svg;
  for (int power = 0; power <= static_cast<int>(level.decades);
       power += level.decades > 4 ? 2 : 1) {
    const double y = base - level(std::pow(10.0, power));
    svg.add("path", {{"class", "grid"}, {"d", across(left, y, width)}});
    svg.label(left - 6, y + 4, fmt::format("{:.0f}", std::pow(10.0, power)),
              {{"text-anchor", "end"}});
  }
  for (std::size_t i = 0; i < map.ulps.size(); ++i) {
    if (map.ulps[i] < 1) continue;
    const int power = static_cast<int>(i) - 2;
    const std::string range = i == 0 ? "exact"
                              : i + 1 == map.ulps.size()
                                  ? "beyond, or not finite"
                                  : "up to " + short_number(std::ldexp(1.0, power)) + " ulp";
    add_bar(svg, {"class", "k8"}, left + bar * static_cast<double>(i) + 1, base, bar - 2,
            level(static_cast<double>(map.ulps[i])), count_text(map.ulps[i]) + ": " + range);
  }
  svg.add("path", {{"class", "axis"}, {"d", across(left, base, width)}});
  svg.label(left + bar / 2, base + 14, "0", {{"text-anchor", "middle"}});
  for (const int power : {0, 4, 8, 12, 16, 20}) {
    label_power(svg, left + bar * (power + 2.5), base + 14, power, "middle");
  }
  svg.label(4, 11, "elements, by units in the last place");
  return picture(svg, left + width + 24, base + 22, "bars",
                 "Errors of " + printable(map.tensor, 60) + " in units in the last place");
}

}  // namespace prenorm::harness
