// Pictures of errors along an axis, and by units in the last place.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/error_picture.hpp"
#include "explain/power_label.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr double left = 52, top = 22, height = 96, width = 330;

}  // namespace

void label_power(Svg& svg, double x, double y, int power, std::string_view anchor) {
  const Svg::Attribute at{"text-anchor", anchor};
  if (power < 0) return svg.label(x, y, fmt::format("1/{}", 1 << -power), {at});
  if (power <= 12) return svg.label(x, y, std::to_string(1 << power), {at});
  svg.open("text", {{"x", x}, {"y", y}, at});
  svg.add("tspan", {}, "2");
  svg.add("tspan", {{"dy", -4}, {"font-size", 8}}, std::to_string(power));
  svg.close();
}

std::string error_along(const ErrorMap::Axis& axis, const std::string& tensor) {
  if (axis.ratios.size() < 4) return {};  // the map says as much
  constexpr int least = -8, most = 20;    // powers of two that the scale has
  const double base = top + height;
  const auto level = [&](double ratio) {
    const double power = !std::isfinite(ratio) ? most
                         : ratio > 0           ? std::log2(ratio)
                                               : static_cast<double>(least);
    const double clamped = std::clamp(power, static_cast<double>(least), static_cast<double>(most));
    return height * (clamped - least) / (most - least);
  };
  Svg svg;
  for (const int power : {-8, 0, 8, 16}) {
    const double y = base - level(std::ldexp(1.0, power));
    svg.add("path", {{"class", power == 0 ? "axis" : "grid"},
                     {"stroke-dasharray", power == 0 ? "4 3" : "none"},
                     {"d", fmt::format("M{:g} {:g}h{:g}", left, y, width)}});
    label_power(svg, left - 6, y + 4, power, "end");
  }
  const double bar = width / static_cast<double>(axis.ratios.size());
  for (std::size_t i = 0; i < axis.ratios.size(); ++i) {
    const double tall = std::max(1.0, level(axis.ratios[i]));
    const bool passes = axis.ratios[i] <= 1;
    svg.open("rect", {{"class", passes ? "k6" : "k18"},
                      {"x", left + bar * static_cast<double>(i)},
                      {"y", base - tall},
                      {"width", std::max(bar - 1, .6)},
                      {"height", tall}});
    const auto first = static_cast<std::int64_t>(i) * axis.extent / std::ssize(axis.ratios);
    svg.add("title", {},
            fmt::format("index {}: {} times the bound", first, short_number(axis.ratios[i])));
    svg.close();
  }
  svg.label(left, base + 14, "0");
  svg.label(left + width, base + 14, std::to_string(axis.extent - 1), {{"text-anchor", "end"}});
  svg.label(left + width / 2, base + 14, printable(axis.name, 40), {{"text-anchor", "middle"}});
  svg.label(4, 11, "error over its bound");
  return svg.picture(left + width + 12, base + 22,
                     {{"class", "bars"},
                      {"role", "img"},
                      {"aria-label", "Errors of " + printable(tensor, 60) + " along " +
                                         printable(axis.name, 40)}});
}

std::string ulp_histogram(const ErrorMap& map) {
  if (map.ulps.size() < 4) return {};
  const double base = top + height;
  const std::int64_t most = std::max<std::int64_t>(1, std::ranges::max(map.ulps));
  const double decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(most))));
  const auto level = [&](double count) {
    return count < 1 ? 0 : height * (.15 + .85 * std::log10(count) / decades);
  };
  const double bar = width / static_cast<double>(map.ulps.size());
  Svg svg;
  for (int power = 0; power <= static_cast<int>(decades); power += decades > 4 ? 2 : 1) {
    const double y = base - level(std::pow(10.0, power));
    svg.add("path", {{"class", "grid"}, {"d", fmt::format("M{:g} {:g}h{:g}", left, y, width)}});
    svg.label(left - 6, y + 4, fmt::format("{:.0f}", std::pow(10.0, power)),
              {{"text-anchor", "end"}});
  }
  for (std::size_t i = 0; i < map.ulps.size(); ++i) {
    if (map.ulps[i] < 1) continue;
    const double tall = level(static_cast<double>(map.ulps[i]));
    svg.open("rect", {{"class", "k8"},
                      {"x", left + bar * static_cast<double>(i) + 1},
                      {"y", base - tall},
                      {"width", bar - 2},
                      {"height", tall}});
    const int power = static_cast<int>(i) - 2;
    const std::string range = i == 0 ? "exact"
                              : i + 1 == map.ulps.size()
                                  ? "beyond, or not finite"
                                  : "up to " + short_number(std::ldexp(1.0, power)) + " ulp";
    svg.add("title", {}, counted(static_cast<std::size_t>(map.ulps[i]), "element") + ": " + range);
    svg.close();
  }
  svg.add("path", {{"class", "axis"}, {"d", fmt::format("M{:g} {:g}h{:g}", left, base, width)}});
  svg.label(left + bar / 2, base + 14, "0", {{"text-anchor", "middle"}});
  for (const int power : {0, 4, 8, 12, 16, 20}) {
    label_power(svg, left + bar * (power + 2.5), base + 14, power, "middle");
  }
  svg.label(4, 11, "elements, by units in the last place");
  return svg.picture(
      left + width + 24, base + 22,
      {{"class", "bars"},
       {"role", "img"},
       {"aria-label", "Errors of " + printable(map.tensor, 60) + " in units in the last place"}});
}

}  // namespace prenorm::harness
