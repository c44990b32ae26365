// A class on a terminal: who has how many points, and how the problems went.
#include "base/text.hpp"
#include "class/class_overview.hpp"
#include "explain/causes.hpp"
#include "fixture/describe.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::size_t widest_name = 28, widest_flags = 44;

/// A long name keeps both ends: names often differ at the end.
std::string short_name(const std::string& text) { return shortened(printable(text), widest_name); }

/// As many flags as there is room for, each whole: docs/teaching.md lists them.
std::string shown_flags(const std::vector<std::string>& flags) {
  std::string text;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string flag = printable(flags[i]);
    if (!text.empty() && display_width(text) + display_width(flag) + 2 > widest_flags) {
      return text + fmt::format(", +{}", flags.size() - i);
    }
    text += (text.empty() ? "" : ", ") + (text.empty() ? shortened(flag, widest_flags) : flag);
  }
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return !text.empty() && taken < width ? std::string(width - taken, ' ') + text : text;
}

/// Right-aligns every column but the first and the last.
void align(Table& table) {
  const std::vector<std::size_t> widths = widths_of(table);
  for (std::size_t column = 1; column < widths.size() - 1; ++column) {
    table.head[column] = right(table.head[column], widths[column]);
    for (auto& row : table.rows) row[column].text = right(row[column].text, widths[column]);
  }
}

Table table_of(const Overview& overview, bool numbered) {
  Table table;
  table.head.emplace_back("student");
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    table.head.push_back(numbered ? std::to_string(i + 1) : printable(overview.items[i].name));
  }
  table.head.emplace_back("total");
  if (overview.deadline) table.head.emplace_back("days late");
  table.head.emplace_back("flags");
  for (const OverviewRow& row : overview.rows) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells.push_back({short_name(row.called()), Tone::strong});
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const OverviewPoints& points = row.points[i];
      if (!row.has_points() && !points.set_by_hand) {
        cells.push_back({"-", Tone::quiet});
      } else {
        cells.push_back({(points.set_by_hand ? "*" : "") + points_text(points.earned),
                         tone_of(points.earned, overview.items[i].points)});
      }
    }
    if (row.not_gradeable()) {
      cells.push_back({"-", Tone::quiet});
    } else {
      cells.push_back({points_text(row.total), tone_of(row.total, overview.points)});
    }
    if (overview.deadline) {
      const std::string late = late_text(overview, row);
      cells.push_back({late.empty() ? "-" : late, late.empty() ? Tone::quiet : Tone::plain});
    }
    cells.push_back({shown_flags(row.flags), Tone::plain});
  }
  align(table);
  return table;
}

std::size_t width_of(const Table& table) {
  std::size_t total = 0;
  for (const std::size_t width : widths_of(table)) total += width + 2;
  return total - 2;
}

/// "1 linear (1 point), 2 rope (2 points)", on lines that fit.
std::string legend(const Overview& overview, std::size_t width) {
  std::string text, line;
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    const OverviewItem& item = overview.items[i];
    const std::string next =
        fmt::format("{} {} ({})", i + 1, printable(item.name), points_text(item.points));
    if (!line.empty() && display_width(line) + 3 + display_width(next) > width) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + next;
  }
  return text + line + "\n";
}

std::string by_hand(const Overview& overview, bool colour) {
  std::string text;
  for (const OverviewRow& row : overview.rows) {
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const OverviewPoints& points = row.points[i];
      if (!points.set_by_hand) continue;
      text += fmt::format("* {}, {}: {} set by hand in place of {}: {}\n", short_name(row.called()),
                          printable(overview.items[i].name), points_text(points.earned),
                          points_text(points.graded), printable(points.why));
    }
  }
  return toned(text, Tone::quiet, colour);
}

/// A bar of that part (0 to 1) of the width.
std::string bar(double part, std::size_t width) {
  if (!(part > 0)) return "";
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(width) + 0.5);
  return std::string(std::clamp<std::size_t>(filled, 1, width), '#');
}

/// As many columns as a table without its bars, the last column, leaves of the width.
std::size_t room_for_bars(const Table& table, std::size_t width) {
  constexpr std::size_t least = 10, most = 40;
  if (width == 0) return most;
  return std::clamp(width - std::min(width, width_of(table)), least, most);
}

void add_bars(Table& table, const std::vector<double>& parts, std::size_t width) {
  const std::size_t room = room_for_bars(table, width);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    table.rows[i].back() = {bar(parts[i], room), Tone::good};
  }
}

std::string items_part(const Overview& overview, bool colour, std::size_t width) {
  Table table;
  table.head = {"item", "points earned", "full marks", ""};
  std::vector<double> shares;
  for (const OverviewItem& item : overview.items) {
    if (item.rows == 0) continue;
    table.rows.push_back({{printable(item.name)},
                          {right(fmt::format("{:.0f}%", 100 * item.share()), 13)},
                          {fmt::format("{} of {}", item.full, item.rows)},
                          {}});
    shares.push_back(item.share());
  }
  align(table);
  add_bars(table, shares, width);
  return render(table, colour);
}

std::string mistakes_part(const Overview& overview, bool colour) {
  if (overview.mistakes.empty()) return "No known mistake was found.\n";
  constexpr std::size_t most = 15;
  Table table;
  table.head = {"submissions", "known mistake", "problem"};
  std::size_t told = 0;
  for (const OverviewMistake& mistake : overview.mistakes) {
    if (told++ == most) break;
    table.rows.push_back({{right(std::to_string(mistake.submissions), 11), Tone::strong},
                          {printable(words_of(mistake.problem, mistake.mistake).name)},
                          {printable(mistake.problem)}});
  }
  std::string text = render(table, colour);
  if (overview.mistakes.size() > most) {
    text += fmt::format("and {} more: --json\n", overview.mistakes.size() - most);
  }
  return text;
}

/// Nothing where no case decides about several.
std::string decisions_part(const Overview& overview, std::size_t width) {
  if (overview.decisions.empty()) return "";
  std::string text = "One case decides:\n";
  for (const OverviewDecision& decision : overview.decisions) {
    text += "  " + wrapped(decision_text(decision), 4, width == 0 ? 110 : width) + "\n";
  }
  return text + "  (a group of its own in the rubric makes such a case cost less)\n\n";
}

std::string histogram_part(const Overview& overview, bool colour, std::size_t width) {
  const std::size_t count = overview.histogram.size();
  const std::int64_t most = std::ranges::max(overview.histogram);
  Table table;
  table.head = {"points", "students", ""};
  std::vector<double> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto edge = [&](std::size_t number) {
      return points_text(overview.points * static_cast<double>(number) /
                         static_cast<double>(count));
    };
    const bool last = i + 1 == count;
    table.rows.push_back({{edge(i) + (last ? " to " : " to below ") + edge(i + 1)},
                          {std::to_string(overview.histogram[i])},
                          {}});
    parts.push_back(static_cast<double>(overview.histogram[i]) / static_cast<double>(most));
  }
  align(table);
  add_bars(table, parts, width);
  return render(table, colour);
}

}  // namespace

std::string class_table(const Overview& overview, bool colour, std::size_t width) {
  std::string text;
  if (!overview.rubric.empty()) {
    text = toned(printable(overview.gradebook), Tone::strong, colour) + " by " +
           printable(overview.rubric) + ": " + printable(overview.title) + "\n\n";
  }
  Table table = table_of(overview, false);
  const bool numbered = width > 0 && width_of(table) > width;
  if (numbered) {
    table = table_of(overview, true);
    text += legend(overview, width) + "\n";
  }
  text += render(table, colour, width) + "\n";
  const std::string set = by_hand(overview, colour);
  if (!set.empty()) text += set + "\n";
  if (!overview.go_on.empty()) {
    text += "not graded whole; go on with: " + printable(overview.go_on, 4000) + "\n\n";
  }
  return text;
}

std::string class_summary(const Overview& overview, bool colour, std::size_t width) {
  const auto graded = std::ranges::count_if(overview.rows, &OverviewRow::graded);
  const auto no_work = std::ranges::count_if(overview.rows, &OverviewRow::not_gradeable);
  std::string text = fmt::format("{}, {} graded", counted(overview.rows.size(), "student"), graded);
  if (no_work > 0) text += fmt::format(", {} of them not gradeable", no_work);
  const auto partly = std::ranges::count_if(overview.rows, lacks_cases);
  if (partly > 0) text += fmt::format(", {} of them not whole", partly);
  if (graded == 0) return text + "\n";
  text +=
      fmt::format("\nof {} points the mean is {}, the median {}\n\n", points_text(overview.points),
                  points_text(overview.mean), points_text(overview.median));
  return text + items_part(overview, colour, width) + "\n" + mistakes_part(overview, colour) +
         "\n" + decisions_part(overview, width) + histogram_part(overview, colour, width);
}

}  // namespace prenorm::harness
