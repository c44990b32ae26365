// A run of `bench` on a terminal.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "bench/bench_report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness::bench {
namespace {

std::string shapes_text(const Workload& workload) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < workload.info.inputs.size(); ++i) {
    const auto& input = workload.info.inputs[i];
    if (input) parts.push_back(workload.signature.inputs[i].name + to_text(input->type.shape));
  }
  return joined(parts, " ");
}

std::vector<std::string> contestants_of(const BenchReport& report, bool peers) {
  std::vector<std::string> names;
  for (const Row& row : report.rows) {
    if (row.is_peer == peers && std::ranges::find(names, row.contestant) == names.end()) {
      names.push_back(row.contestant);
    }
  }
  return names;
}

std::string ceilings_text(const BenchReport& report) {
  std::string text;
  for (const auto& [place, ceilings] :
       {std::pair{fmt::format("CPU, {}", counted(report.threads, "thread")), &report.cpu},
        std::pair{std::string("device"), &report.device}}) {
    if (!(ceilings->copy > 0)) continue;
    text += "ceilings (" + place + "): copy " + rate_text(ceilings->copy, false);
    for (const auto& [arithmetic, rate] : ceilings->products) {
      text += fmt::format(", {} product {}", arithmetic, rate_text(rate, true));
    }
    text += "\n";
  }
  return text;
}

Table table_of(const BenchReport& report) {
  const std::vector<std::string> solutions = contestants_of(report, false);
  std::vector<std::string> rivals = contestants_of(report, true);
  if (solutions.size() > 1) rivals.insert(rivals.begin(), solutions.begin(), solutions.end());
  Table table{{"shape", "dtype", "solution", "time", "spread", "rate", "of ceiling"}, {}};
  for (const std::string& rival : rivals) table.head.push_back("/ " + rival);
  for (const Row& row : report.rows) {
    if (row.is_peer) continue;
    std::vector<Cell> cells{
        {row.workload->entry.name}, {std::string(name(row.workload->dtype))}, {row.contestant}};
    if (!row.has_time()) {
      const Tone tone = row.verdict == Verdict::absent ? Tone::quiet : Tone::bad;
      cells.push_back({std::string(name(row.verdict)), tone});
      table.rows.push_back(std::move(cells));
      continue;
    }
    const Ceilings& ceilings = report.ceilings(row);
    const bool by_product = roof(*row.workload, row.mode, ceilings).by_product;
    const double of_ceiling = share(row, ceilings);
    cells.push_back({duration(row.times.median), Tone::strong});
    cells.push_back({fmt::format("{:.0f} %", 100 * row.times.spread()), Tone::quiet});
    cells.push_back({rate_text(rate(row, ceilings), by_product)});
    cells.push_back({of_ceiling > 0 ? fmt::format("{:.0f} % of {}", 100 * of_ceiling,
                                                  by_product ? "product" : "copy")
                                    : "-"});
    for (const std::string& name : rivals) {
      const Row* rival = find_rival(report, row, name);
      if (rival == nullptr) {
        cells.push_back({"-", Tone::quiet});
        continue;
      }
      const double ratio = row.times.median / rival->times.median;
      const std::string note = rival->note.empty() ? "" : " " + rival->note;
      cells.push_back(
          {fmt::format("{:.2f}{}", ratio, note), ratio <= 1 ? Tone::good : Tone::plain});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// "flash does not take a float32, b float32: why", a line for each contestant and reason.
std::string absences(const BenchReport& report, bool colour) {
  std::vector<std::pair<const Row*, std::vector<std::string>>> groups;
  for (const Row& row : report.rows) {
    if (row.verdict != Verdict::absent) continue;
    auto group = std::ranges::find_if(groups, [&](const auto& each) {
      return each.first->contestant == row.contestant && each.first->message == row.message;
    });
    if (group == groups.end()) group = groups.insert(group, {&row, {}});
    group->second.push_back(row.workload->key());
  }
  std::string text;
  for (const auto& [row, shapes] : groups) {
    text += toned(row->contestant + " does not take", Tone::quiet, colour) + " " +
            joined(shapes, ", ") + ": " + printable(row->message, 500) + "\n";
  }
  return text;
}

}  // namespace

std::string list_of(const std::vector<std::shared_ptr<const Workload>>& workloads, bool colour) {
  Table table{{"shape", "problem", "dtype", "set", "inputs", "model"}, {}};
  for (const auto& workload : workloads) {
    table.rows.push_back({{workload->entry.name, Tone::strong},
                          {workload->entry.problem},
                          {std::string(name(workload->dtype))},
                          {workload->entry.set},
                          {shapes_text(*workload)},
                          {workload->entry.model, Tone::quiet}});
  }
  return render(table, colour);
}

std::string bench_text(const BenchReport& report, bool colour) {
  std::string text = ceilings_text(report) + "\n" + render(table_of(report), colour);
  text += "\ntime: the median call; spread: half the distance of the quartiles";
  if (!contestants_of(report, true).empty() || contestants_of(report, false).size() > 1) {
    text += "; / RIVAL: this time over the rival's, below 1 is faster";
  }
  text += "\n";
  for (const Row& row : report.rows) {
    if (row.verdict == Verdict::ok || row.verdict == Verdict::absent) continue;
    text += toned(name(row.verdict), Tone::bad, colour) + "  " + row.workload->key() + " by " +
            row.contestant + ": " + printable(row.message, 500) + "\n";
  }
  text += absences(report, colour);
  if (report.compare) {
    const double ours = report.compare->ours.median, numpy = report.compare->numpy.median;
    text += fmt::format(
        "comparing {}M float32: {}, numpy.testing.assert_allclose {}: {:.2f} of its time\n",
        report.compare->elements / 1'000'000, duration(ours), duration(numpy), ours / numpy);
  }
  return text;
}

}  // namespace prenorm::harness::bench
