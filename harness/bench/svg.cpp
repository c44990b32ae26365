#include "bench/bench.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness::bench {
namespace {

constexpr double left = 80, top = 48, plot_width = 560, plot_height = 400, list_left = 670;
constexpr double panel_width = 1120, line_height = 17, radius = 8.5;
constexpr const char* ours = "#1d5fa8";
constexpr const char* theirs = "#b3541e";

/// A logarithmic axis from one power of ten to another, over some pixels.
struct Axis {
  int first, last;
  double from, to;

  double operator()(double value) const {
    return from + (std::log10(value) - first) / (last - first) * (to - from);
  }
};

Axis axis_over(double least, double most, double from, double to) {
  const int first = static_cast<int>(std::floor(std::log10(least)));
  const int last = static_cast<int>(std::ceil(std::log10(most)));
  return {first, std::max(last, first + 1), from, to};
}

void line(Svg& svg, double x1, double y1, double x2, double y2, std::string_view colour,
          double width) {
  svg.add("line", {{"x1", x1},
                   {"y1", y1},
                   {"x2", x2},
                   {"y2", y2},
                   {"stroke", colour},
                   {"stroke-width", width}});
}

/// "1", "100", "10k", "1M": a power of ten.
std::string power_text(int exponent) {
  static const char* const units[] = {"", "k", "M", "G", "T", "P"};
  if (exponent < 0) return fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
  const int unit = std::min(exponent / 3, 5);
  return fmt::format("{:.0f}{}", std::pow(10, exponent - 3 * unit), units[unit]);
}

double intensity(const Row& row) { return row.workload->flops / row.workload->bytes; }
double flops_rate(const Row& row) { return row.workload->flops / row.times.median; }

/// Where a point's circle can stand: at its place, or moved aside where others are already.
double free_place(double x, double y, std::vector<std::pair<double, double>>& taken) {
  const auto is_free = [&](double at) {
    return std::ranges::none_of(taken, [&](const auto& other) {
      return std::hypot(other.first - at, other.second - y) < 2 * radius;
    });
  };
  double at = x;
  for (int step = 1; !is_free(at); ++step) at = x + (step % 2 == 0 ? step : -step);
  taken.emplace_back(at, y);
  return at;
}

class Panel {
 public:
  Panel(Svg& svg, const BenchReport& report, bool on_device, double offset)
      : ceilings_(on_device ? report.device : report.cpu), svg_(svg) {
    for (const Row& row : report.rows) {
      if (row.on_device == on_device && row.has_time() && row.workload->flops > 0) {
        rows_.push_back(&row);
      }
    }
    if (rows_.empty()) return;
    svg_.open("g", {{"transform", fmt::format("translate(0 {:.0f})", offset)}});
    choose_axes();
    draw_grid(on_device ? "device" : fmt::format("CPU, {} threads", report.threads));
    draw_ceilings();
    draw_points();
    svg_.close();
  }

  double height() const {
    if (rows_.empty()) return 0;
    return std::max(top + plot_height + 70, list_end_ + 20);
  }

 private:
  void choose_axes() {
    double least_x = 1, most_x = 10, least_y = 1e30, most_y = 0;
    for (const Row* row : rows_) {
      least_x = std::min(least_x, intensity(*row));
      most_x = std::max(most_x, 1.5 * intensity(*row));
      least_y = std::min(least_y, flops_rate(*row));
      most_y = std::max(most_y, flops_rate(*row));
    }
    for (const auto& [arithmetic, rate] : ceilings_.products) most_y = std::max(most_y, 1.2 * rate);
    x_ = axis_over(least_x, most_x, left, left + plot_width);
    y_ = axis_over(least_y, most_y, top + plot_height, top);
  }

  void draw_grid(const std::string& place) {
    svg_.label(left, 28, "Roofline: " + place, {ink_, {"font-size", 16}});
    for (int power = x_.first; power <= x_.last; ++power) {
      const double x = x_(std::pow(10, power));
      line(svg_, x, y_.to, x, y_.from, "#dddddd", 1);
      svg_.label(x, y_.from + 18, power_text(power), {middle_, ink_});
    }
    for (int power = y_.first; power <= y_.last; ++power) {
      const double y = y_(std::pow(10, power));
      line(svg_, x_.from, y, x_.to, y, "#dddddd", 1);
      svg_.label(x_.from - 8, y + 4, power_text(power), {at_end_, ink_});
    }
    svg_.label((x_.from + x_.to) / 2, y_.from + 40, "operations a byte", {middle_, ink_});
    const double y = (y_.from + y_.to) / 2;
    svg_.label(20, y, "FLOP/s",
               {middle_, ink_, {"transform", fmt::format("rotate(-90 20 {:.0f})", y)}});
  }

  void draw_ceilings() {
    const double end_x = std::pow(10, x_.last), least_y = std::pow(10, y_.first);
    double roof = std::pow(10, y_.last);  // the slope ends at the highest product
    if (!ceilings_.products.empty()) {
      roof = 0;
      for (const auto& [arithmetic, rate] : ceilings_.products) roof = std::max(roof, rate);
    }
    for (const auto& [arithmetic, rate] : ceilings_.products) {
      const double begin =
          ceilings_.copy > 0 ? std::max(rate / ceilings_.copy, std::pow(10, x_.first)) : 1;
      if (begin < end_x) line(svg_, x_(begin), y_(rate), x_.to, y_(rate), "#444444", 1.5);
      svg_.label(x_.to - 4, y_(rate) - 6, arithmetic + " product " + rate_text(rate, true),
                 {at_end_, {"fill", "#444444"}});
    }
    if (!(ceilings_.copy > 0)) return;
    const double from = std::max(std::pow(10, x_.first), least_y / ceilings_.copy);
    const double to = std::min(end_x, roof / ceilings_.copy);
    if (from >= to) return;
    const double x1 = x_(from), y1 = y_(from * ceilings_.copy);
    const double x2 = x_(to), y2 = y_(to * ceilings_.copy);
    line(svg_, x1, y1, x2, y2, "#444444", 1.5);
    const double angle = std::atan2(y2 - y1, x2 - x1) * 180 / 3.14159265358979;
    const double x = x1 + 0.55 * (x2 - x1), y = y1 + 0.55 * (y2 - y1);
    svg_.label(x, y - 7, "copy " + rate_text(ceilings_.copy, false),
               {middle_,
                {"fill", "#444444"},
                {"transform", fmt::format("rotate({:.1f} {:.1f} {:.1f})", angle, x, y)}});
  }

  void draw_points() {
    std::vector<std::string> keys;
    std::vector<std::pair<double, double>> taken;
    double list_y = top + 4;
    for (const Row* row : rows_) {
      const std::string key = row->workload->key();
      const auto known = std::ranges::find(keys, key);
      const auto number = static_cast<int>(known - keys.begin()) + 1;
      if (known == keys.end()) keys.push_back(key);
      const char* colour = row->is_peer ? theirs : ours;
      const double true_x = x_(intensity(*row)), y = y_(flops_rate(*row));
      const double x = free_place(true_x, y, taken);
      if (x != true_x) line(svg_, true_x, y, x, y, colour, 1);
      const std::string text = fmt::format("{} {}, {}: {:.0f}% of its ceiling", number, key,
                                           row->contestant, 100 * share(*row, ceilings_));
      svg_.open("circle", {{"class", row->is_peer ? "peer" : "solution"},
                           {"cx", x},
                           {"cy", y},
                           {"r", radius},
                           {"fill", row->is_peer ? "#ffffff" : colour},
                           {"stroke", colour}});
      svg_.add("title", {}, text);
      svg_.close();
      svg_.label(x, y + 3.5, std::to_string(number),
                 {middle_, {"fill", row->is_peer ? colour : "#ffffff"}, {"font-size", 10}});
      svg_.label(list_left, list_y, text, {{"fill", colour}, {"font-size", 11}});
      list_y += line_height;
    }
    list_end_ = list_y;
  }

  const Ceilings& ceilings_;
  Svg& svg_;
  const Svg::Attribute ink_{"fill", "#222222"}, middle_{"text-anchor", "middle"},
      at_end_{"text-anchor", "end"};
  std::vector<const Row*> rows_;
  Axis x_{}, y_{};
  double list_end_ = 0;
};

}  // namespace

std::string to_svg(const BenchReport& report) {
  Svg svg;
  svg.add("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#ffffff"}});
  double height = 0;
  for (const bool on_device : {false, true}) {
    height += Panel(svg, report, on_device, height).height();
  }
  return "<?xml version=\"1.0\"?>\n" + svg.picture(panel_width, std::max(height, 40.0),
                                                   {{"xmlns", "http://www.w3.org/2000/svg"},
                                                    {"font-family", "sans-serif"},
                                                    {"font-size", 12}});
}

}  // namespace prenorm::harness::bench
