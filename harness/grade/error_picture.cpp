#include "grade/error_picture.hpp"

#include "base/text.hpp"
#include "grade/page_parts.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>

namespace prenorm::harness {
namespace {

// Errors over their bound by powers of two, as ErrorMap counts them: up to 2^-8, ..., up to 1 (the
// last that passes), ..., up to 2^20, beyond. Not-finite ones have a pattern of their own.
constexpr int least_power = -8;
constexpr int colours = 30;
constexpr int within = -least_power + 1;  // how many of them are within the bound
constexpr int not_finite = colours;

int colour_of(double ratio) {
  if (!std::isfinite(ratio)) return not_finite;
  if (ratio <= std::ldexp(1.0, least_power)) return 0;
  const int power = static_cast<int>(std::min(std::ceil(std::log2(ratio)), 1e3));
  return std::min(power - least_power, colours - 1);
}

using Colour = std::array<double, 3>;

/// The colour at `place`, 0 to 1, on a line through the stops.
std::string blend(std::span<const Colour> stops, double place) {
  const double scaled = place * static_cast<double>(stops.size() - 1);
  const std::size_t left = std::min(static_cast<std::size_t>(scaled), stops.size() - 2);
  const double part = scaled - static_cast<double>(left);
  std::string text = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = stops[left][i] + part * (stops[left + 1][i] - stops[left][i]);
    text += fmt::format("{:02x}", static_cast<int>(std::lround(value)));
  }
  return text;
}

std::string colour_rules(std::span<const Colour> passing, std::span<const Colour> failing) {
  std::string rules;
  for (int k = 0; k < colours; ++k) {
    const std::string colour =
        k < within ? blend(passing, k / (within - 1.0))
                   : blend(failing, (k - within) / static_cast<double>(colours - within - 1));
    rules += fmt::format(".k{}{{color:{}}}", k, colour);
  }
  return rules + "\n";
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

/// What stands at a border between two bars: "1/16", "1", "256", "2^20".
std::string power_text(int power) {
  if (power < 0) return fmt::format("1/{}", 1 << -power);
  if (power <= 12) return std::to_string(1 << power);
  return fmt::format("2<tspan dy=\"-4\" font-size=\"8\">{}</tspan>", power);
}

/// "more than 16, up to 32 times the bound".
std::string range_text(int colour, bool exact) {
  if (colour == 0) return exact ? "right" : "up to 1/256 of the bound";
  if (colour == colours - 1) return exact ? "wrong: must be exact" : "beyond, or not finite";
  const auto plain = [](int power) { return short_number(std::ldexp(1.0, power)); };
  return "more than " + plain(least_power + colour - 1) + ", up to " + plain(least_power + colour) +
         " times the bound";
}

}  // namespace

std::string picture_style() {
  constexpr std::array<Colour, 3> passing{{{232, 239, 248}, {168, 203, 230}, {84, 149, 200}}};
  constexpr std::array<Colour, 4> failing{
      {{253, 208, 140}, {250, 141, 73}, {208, 45, 30}, {84, 0, 16}}};
  constexpr std::array<Colour, 3> passing_dark{{{25, 38, 55}, {38, 75, 112}, {58, 120, 172}}};
  constexpr std::array<Colour, 4> failing_dark{
      {{122, 58, 12}, {217, 95, 14}, {254, 196, 79}, {255, 255, 229}}};
  return ".map path{stroke:currentColor;fill:none}.bars rect{fill:currentColor;stroke:var(--line);"
         "stroke-width:.5}\n"
         ".map .nf{fill:url(#cell);stroke:none}.bars .nf{fill:url(#hatch)}\n"
         ".ground{fill:#fff}.mark{stroke:#000;stroke-width:.14;fill:none}\n"
         ".hatch{stroke:#000;stroke-width:2;fill:none}\n"
         ".ring{stroke:currentColor;stroke-width:2;fill:none}"
         ".halo{stroke:Canvas;stroke-width:5}\n" +
         colour_rules(passing, failing) +
         "@media (prefers-color-scheme: dark){.ground{fill:#111}.mark,.hatch{stroke:#eee}\n" +
         colour_rules(passing_dark, failing_dark) + "}\n";
}

std::string picture_definitions() {
  return "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>\n"
         "<pattern id=\"cell\" width=\"1\" height=\"1\" patternUnits=\"userSpaceOnUse\">"
         "<rect class=\"ground\" width=\"1\" height=\"1\"/>"
         "<path class=\"mark\" d=\"M0 0L1 1M1 0L0 1\"/></pattern>\n"
         "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
         "<rect class=\"ground\" width=\"6\" height=\"6\"/>"
         "<path class=\"hatch\" d=\"M-1 5L1 7M-1 -1L7 7M5 -1L7 1\"/></pattern>\n"
         "</defs></svg>\n";
}

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

  // A path for each colour; neighbours in a row are one piece of it.
  std::map<int, std::string> paths;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const double* cells = map.cells.data() + row * map.columns;
    for (std::int64_t begin = 0, end = 0; begin < map.columns; begin = end) {
      const int colour = colour_of(cells[begin]);
      while (end < map.columns && colour_of(cells[end]) == colour) ++end;
      paths[colour] += colour == not_finite
                           ? fmt::format("M{} {}h{}v1h-{}z", begin, row, end - begin, end - begin)
                           : fmt::format("M{} {}.5h{}", begin, row, end - begin);
    }
  }
  std::string text = fmt::format(
      "<svg class=\"map\" role=\"img\" aria-label=\"Map of the errors in {}\" width=\"{:g}\" "
      "height=\"{:g}\" viewBox=\"0 0 {:g} {:g}\">\n",
      escaped(map.tensor, 100), left + width + 12, top + height + 6, left + width + 12,
      top + height + 6);
  text += fmt::format(
      "<g transform=\"translate({:g} {:g}) scale({:g} {:g})\" shape-rendering=\"crispEdges\">\n",
      left, top, cell_width, cell_height);
  for (const auto& [colour, path] : paths) {
    text += colour == not_finite ? fmt::format("<path class=\"nf\" d=\"{}\"/>\n", path)
                                 : fmt::format("<path class=\"k{}\" d=\"{}\"/>\n", colour, path);
  }
  text += "</g>\n";
  text += fmt::format("<rect class=\"axis\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>",
                      left - .5, top - .5, width + 1, height + 1);
  const std::optional<Place> worst =
      report == nullptr ? std::nullopt : place_in(map, report->worst_index);
  if (worst) {
    const double radius = std::max(6.0, .45 * std::min(cell_width, cell_height));
    for (const char* kind : {"ring halo", "ring"}) {
      text += fmt::format("<circle class=\"{}\" cx=\"{:g}\" cy=\"{:g}\" r=\"{:g}\"/>", kind,
                          left + (static_cast<double>(worst->column) + .5) * cell_width,
                          top + (static_cast<double>(worst->row) + .5) * cell_height, radius);
    }
  }
  // The first and the last row and column, as they count in the output.
  std::int64_t all_rows = 1;
  for (std::size_t axis = 0; axis + 1 < map.shape.size(); ++axis) all_rows *= map.shape[axis];
  const std::int64_t all_columns = map.shape.empty() ? 1 : map.shape.back();
  text += svg_label(left, top - 5, "0");
  if (all_columns > 1 && width > 40) {
    text +=
        svg_label(left + width, top - 5, std::to_string(all_columns - 1), "text-anchor=\"end\"");
  }
  text += svg_label(left - 6, top + 10, "0", "text-anchor=\"end\"");
  if (all_rows > 1 && height > 24) {
    text += svg_label(left - 6, top + height, std::to_string(all_rows - 1), "text-anchor=\"end\"");
  }
  return text + "</svg>\n";
}

std::string histogram(const ErrorMap& map, const OutputReport* report) {
  if (map.histogram.size() != static_cast<std::size_t>(colours)) return {};
  constexpr double left = 44, top = 26, bar = 11, height = 120, key = 10;
  constexpr double width = bar * colours, base = top + height;
  const bool exact = is_exact(report);
  std::int64_t most = 1;
  for (const std::int64_t count : map.histogram) most = std::max(most, count);
  // Logarithmic, with room for a single element above the line.
  const double decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(most))));
  const auto level = [&](double count) {
    return count < 1 ? 0 : height * (.15 + .85 * std::log10(count) / decades);
  };
  std::string text = fmt::format(
      "<svg class=\"bars\" role=\"img\" aria-label=\"How many elements of {} are how far off\" "
      "width=\"{:g}\" height=\"{:g}\" viewBox=\"0 0 {:g} {:g}\">\n",
      escaped(map.tensor, 100), left + width + 14, base + key + 38, left + width + 14,
      base + key + 38);
  for (int power = 0; power <= static_cast<int>(decades); ++power) {
    const double y = base - level(std::pow(10.0, power));
    text += fmt::format("<path class=\"grid\" d=\"M{:g} {:g}h{:g}\"/>", left, y, width);
    if (decades <= 4 || power % 2 == 0) {
      text += svg_label(left - 6, y + 4, fmt::format("{:.0f}", std::pow(10.0, power)),
                        "text-anchor=\"end\"");
    }
  }
  const bool some_not_finite =
      std::ranges::any_of(map.cells, [](double ratio) { return !std::isfinite(ratio); });
  for (int k = 0; k < colours; ++k) {
    const double x = left + bar * k;
    const std::int64_t count = map.histogram[static_cast<std::size_t>(k)];
    const std::string kind = k == colours - 1 && some_not_finite ? "nf" : fmt::format("k{}", k);
    text += fmt::format(
        "<g class=\"{}\"><rect{} x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" "
        "height=\"{:g}\"/>",
        kind == "nf" ? "" : kind, kind == "nf" ? " class=\"nf\"" : "", x, base, bar, key);
    if (count > 0) {
      const double tall = level(static_cast<double>(count));
      text += fmt::format(
          "<rect{} x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"><title>{}: {}</title>"
          "</rect>",
          kind == "nf" ? " class=\"nf\"" : "", x + 1, base - tall, bar - 2, tall, count_text(count),
          range_text(k, exact));
    }
    text += "</g>\n";
  }
  text += fmt::format("<path class=\"axis\" d=\"M{:g} {:g}h{:g}\"/>", left, base, width);
  const double bound = left + bar * within;
  text += fmt::format("<path class=\"axis\" stroke-dasharray=\"4 3\" d=\"M{:g} {:g}V{:g}\"/>",
                      bound, top - 4, base + key);
  text += svg_label(bound + 5, top + 4, exact ? "must be exact" : "bound");
  if (!exact) {
    for (const int power : {-8, -4, 0, 4, 8, 12, 16}) {
      text += svg_label(left + bar * (power - least_power + 1), base + key + 13, power_text(power),
                        "text-anchor=\"middle\"");
    }
    text += svg_label(left + width - bar / 2, base + key + 13, "∞", "text-anchor=\"middle\"");
  }
  text += svg_label(left, base + key + 31,
                    exact ? "right (left) or wrong (right)" : "error over its bound");
  text += svg_label(4, 11, "elements");
  return text + "</svg>\n";
}

}  // namespace prenorm::harness
